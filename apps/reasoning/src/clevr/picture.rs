//! Pictures of scenes, as a network reads them.

use std::path::PathBuf;

use cotangent::engine::rng::Rng;
use cotangent_apps_common::error::Result;
use cotangent_apps_pictures::resample::resample;
use cotangent_apps_pictures::{Fit, Raster, codec};
use rand::RngExt;

use super::drawing;
use super::scene::Scene;

/// A training picture is moved by up to this part of its size, which is 4 of 128 pixels, and turned by up to
/// this angle in radians: Santoro et al. 2017, appendix.
const SHIFT: f32 = 4.0 / 128.0;
const TURN: f32 = 0.05;

/// A picture of a scene.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it shows.
    pub scene: Scene,
    /// Its file, and a checksum of it; if there is none, it is drawn.
    pub file: Option<(PathBuf, u32)>,
    /// Height and width that it is brought to, in pixels.
    pub side: usize,
}

impl Picture {
    /// Its pixels: red, green and blue, or grey if its file is.
    ///
    /// # Errors
    /// If the file cannot be read, or is no picture.
    pub fn raster(&self) -> Result<Raster> {
        match &self.file {
            Some((file, _)) => Ok(codec::read(file)?.square(Fit::Squeezed, self.side)),
            None => Ok(drawing::draw(&self.scene, self.side)),
        }
    }

    /// Red, green and blue of every pixel, from 0 to 1, into `[3, side, side]`. With a random stream the
    /// picture is moved and turned a little.
    ///
    /// # Errors
    /// As [`raster`](Self::raster).
    pub(crate) fn draw(&self, to: &mut [f32], rng: Option<&mut Rng>) -> Result<()> {
        let mut pixels: Vec<f32> =
            self.raster()?.into_pixels(3).iter().map(|&byte| f32::from(byte) / 255.0).collect();
        if let Some(rng) = rng {
            let [down, right] = [(); 2].map(|()| rng.random_range(-SHIFT..=SHIFT));
            let (sin, cos) = rng.random_range(-TURN..=TURN).sin_cos();
            resample(&mut pixels, [self.side, self.side, 3], [[cos, -sin, down], [sin, cos, right]]);
        }
        for (channel, to) in to.chunks_exact_mut(self.side * self.side).enumerate() {
            to.iter_mut().zip(pixels[channel..].iter().step_by(3)).for_each(|(to, &x)| *to = x);
        }
        Ok(())
    }
}

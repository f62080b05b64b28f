//! Pictures side by side, as the model reads them.

use cotangent::engine::rng::Rng;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_pictures::Pictures;

use super::Augmentation;
use crate::patches::cut_patches;

/// Pictures side by side.
pub(super) struct Batch {
    /// `[n, side, side, channels]`, numbers from 0 to 1.
    pixels: Vec<f32>,
    side: usize,
    channels: usize,
    /// The classes of the pictures, and of those that they are mixed with.
    pub(super) labels: [Vec<u32>; 2],
    /// The share of its own class in a picture.
    pub(super) share: f64,
}

impl Batch {
    /// Pictures as they are.
    ///
    /// # Errors
    /// If a file cannot be read, or is no picture.
    pub(super) fn plain(pictures: &Pictures, items: &[u32]) -> Result<Self> {
        let mut pixels = Vec::with_capacity(items.len() * pictures.size());
        for &item in items {
            let picture = pictures.picture(item as usize)?;
            pixels.extend(picture.iter().map(|&byte| f32::from(byte) / 255.0));
        }
        Ok(Batch::new(pictures, items, pixels))
    }

    /// Pictures for training: changed, and mixed with one another.
    ///
    /// # Errors
    /// If a file cannot be read, or is no picture.
    pub(super) fn augmented(
        pictures: &Pictures,
        items: &[u32],
        by: &Augmentation,
        rng: &mut Rng,
    ) -> Result<Self> {
        let extents = [pictures.side, pictures.side, pictures.channels];
        let mut pixels = vec![0.0; items.len() * pictures.size()];
        for (to, &item) in pixels.chunks_exact_mut(pictures.size()).zip(items) {
            by.apply(pictures, item as usize, to, rng)?;
        }
        let share = by.mix(&mut pixels, extents, rng);
        Ok(Batch { share, ..Batch::new(pictures, items, pixels) })
    }

    fn new(pictures: &Pictures, items: &[u32], pixels: Vec<f32>) -> Self {
        let labels: Vec<u32> = items.iter().map(|&item| pictures.labels[item as usize]).collect();
        let others = labels.iter().rev().copied().collect();
        let (side, channels) = (pictures.side, pictures.channels);
        Batch { pixels, side, channels, labels: [labels, others], share: 1.0 }
    }

    /// The pictures cut into square patches, row by row: `[n, patches, patch · patch · channels]`, numbers
    /// from −1 to 1.
    pub(super) fn patches<'t>(&self, tape: &'t Tape<f32>, patch: usize) -> Var<'t, f32> {
        let grid = self.side / patch;
        let shape = [self.labels[0].len(), grid * grid, patch * patch * self.channels];
        tape.constant_with(shape, |numbers| {
            let extents = [self.side, self.channels, patch];
            cut_patches(&self.pixels, extents, numbers, |x| 2.0 * x - 1.0);
        })
    }
}

//! What is done to pictures while training.

use std::ops::Range;

use clap::Args;
use cotangent::engine::rng::Rng;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options;
use rand::RngExt;
use rand_distr::{Beta, Distribution};
use serde::{Deserialize, Serialize};

use super::config::by_size;

/// What is done to pictures while training. DeiT has random crops of other sizes and random operations
/// (RandAugment, random erasing) beside mirroring, mixup and cutmix; here pictures are moved, and their
/// colours are changed.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Augmentation {
    /// Probability with which a picture is mirrored, left to right, from 0 to 1. For digits and letters take
    /// 0.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub flip: f64,
    /// A picture is moved by up to this many pixels in each direction, over black: a random crop of the
    /// picture with a margin [default: by --size: 4, or 28].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.crop_padding))]
    #[arg(help_heading = "Augmentation")]
    pub crop_padding: usize,
    /// Brightness, contrast and saturation are changed by factors of up to 1 ± this number, from 0 to 1.
    #[arg(long, default_value_t = 0.3, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub jitter: f64,
    /// Probability with which the pictures of a batch are mixed in pairs, with their classes, from 0 to 1: by
    /// mixup or cutmix, each half of the time [default: by --size: 0.5, or 1].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.mix), allow_negative_numbers = true)]
    #[arg(help_heading = "Augmentation")]
    pub mix: f64,
    /// α of mixup (Zhang et al. 2018), whose shares are drawn from the beta distribution of α and α; with
    /// 0 there is none.
    #[arg(long, default_value_t = 0.8, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub mixup: f64,
    /// α of cutmix (Yun et al. 2019), where a rectangle comes from the other picture; with 0 there is none.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub cutmix: f64,
    /// Share of the target probability that is spread evenly over all classes, from 0 to below 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub label_smoothing: f64,
}

/// Height, width and channels of a picture.
pub(super) type Extents = [usize; 3];

impl Augmentation {
    /// Checks the options.
    ///
    /// # Errors
    /// If a number is out of its range; the error names the option.
    pub(super) fn check(&self) -> Result<()> {
        options::shares(&[("flip", self.flip), ("jitter", self.jitter), ("mix", self.mix)])?;
        options::not_negative(&[("mixup", self.mixup), ("cutmix", self.cutmix)])?;
        options::below_one(&[("label-smoothing", self.label_smoothing)])
    }

    /// Mirrors, moves and recolours a picture: bytes to numbers from 0 to 1.
    pub(super) fn apply(&self, picture: &[u8], extents: Extents, to: &mut [f32], rng: &mut Rng) {
        let [height, width, channels] = extents;
        let is_mirrored = rng.random_bool(self.flip);
        let [down, right] = [(); 2].map(|()| {
            let padding = i64::try_from(self.crop_padding.min(height)).expect("a side of a picture");
            rng.random_range(-padding..=padding)
        });
        for (at, pixel) in to.chunks_exact_mut(channels).enumerate() {
            let (row, column) = (at / width, at % width);
            let column = if is_mirrored { width - 1 - column } else { column };
            let [row, column] = [(row, down, height), (column, right, width)].map(|(place, shift, size)| {
                place.checked_add_signed(shift as isize).filter(|&place| place < size)
            });
            match row.zip(column) {
                Some((row, column)) => {
                    let from = &picture[(row * width + column) * channels..][..channels];
                    pixel.iter_mut().zip(from).for_each(|(to, &from)| *to = f32::from(from) / 255.0);
                }
                None => pixel.fill(0.0),
            }
        }
        self.recolour(to, channels, rng);
    }

    /// Changes brightness, contrast and saturation.
    fn recolour(&self, pixels: &mut [f32], channels: usize, rng: &mut Rng) {
        if self.jitter == 0.0 {
            return;
        }
        let [brightness, contrast, saturation] =
            [(); 3].map(|()| rng.random_range(1.0 - self.jitter..=1.0 + self.jitter) as f32);
        let blend = |x: f32, from: f32, factor: f32| (from + factor * (x - from)).clamp(0.0, 1.0);
        pixels.iter_mut().for_each(|x| *x = blend(*x, 0.0, brightness));
        let mean =
            pixels.chunks_exact(channels).map(grey).sum::<f32>() * channels as f32 / pixels.len() as f32;
        pixels.iter_mut().for_each(|x| *x = blend(*x, mean, contrast));
        for pixel in pixels.chunks_exact_mut(channels).filter(|pixel| pixel.len() > 1) {
            let grey = grey(pixel);
            pixel.iter_mut().for_each(|x| *x = blend(*x, grey, saturation));
        }
    }

    /// Mixes each picture with the one at its place from the end. Returns the share of a picture in its
    /// mixture; the share of the other one is what is missing to 1.
    pub(super) fn mix(&self, pictures: &mut [f32], extents: Extents, rng: &mut Rng) -> f64 {
        let alphas = [self.mixup, self.cutmix];
        if !rng.random_bool(self.mix) || alphas == [0.0; 2] {
            return 1.0;
        }
        let cuts = match alphas {
            [_, 0.0] => false,
            [0.0, _] => true,
            _ => rng.random_bool(0.5),
        };
        let alpha = alphas[usize::from(cuts)];
        let share = Beta::new(alpha, alpha).expect("α is positive").sample(rng);
        let mixture = if cuts { Mixture::cut(share, extents, rng) } else { Mixture::Blend(share as f32) };
        let size: usize = extents.iter().product();
        let count = pictures.len() / size;
        let (first, last) = pictures.split_at_mut(count.div_ceil(2) * size);
        let pairs = first.chunks_exact_mut(size).zip(last.chunks_exact_mut(size).rev());
        pairs.for_each(|(a, b)| mixture.apply(a, b, extents));
        mixture.own(extents)
    }
}

/// How two pictures are mixed.
enum Mixture {
    /// Each is a sum of this share of itself and what is missing of the other one.
    Blend(f32),
    /// They exchange these rows and columns.
    Cut([Range<usize>; 2]),
}

impl Mixture {
    /// A rectangle that leaves this share of a picture, if it is not cut off at the edges. Yun et al. 2019,
    /// eq. 2.
    fn cut(share: f64, [height, width, _]: Extents, rng: &mut Rng) -> Self {
        let side = (1.0 - share).sqrt();
        Mixture::Cut([height, width].map(|size| {
            let (centre, half) = (rng.random_range(0..size) as f64, side * size as f64 / 2.0);
            let [start, end] = [centre - half, centre + half].map(|edge| edge.round().max(0.0) as usize);
            start..end.min(size)
        }))
    }

    fn apply(&self, a: &mut [f32], b: &mut [f32], [_, width, channels]: Extents) {
        match self {
            Mixture::Blend(share) => a.iter_mut().zip(b).for_each(|(a, b)| {
                (*a, *b) = (share * *a + (1.0 - share) * *b, share * *b + (1.0 - share) * *a);
            }),
            Mixture::Cut([rows, columns]) => {
                for row in rows.clone() {
                    let place = |column: usize| (row * width + column) * channels;
                    let range = place(columns.start)..place(columns.end);
                    a[range.clone()].swap_with_slice(&mut b[range]);
                }
            }
        }
    }

    /// The share of a picture that is its own.
    fn own(&self, [height, width, _]: Extents) -> f64 {
        match self {
            Mixture::Blend(share) => f64::from(*share),
            Mixture::Cut([rows, columns]) => {
                1.0 - (rows.len() * columns.len()) as f64 / (height * width) as f64
            }
        }
    }
}

/// The brightness of a pixel (ITU-R BT.601).
fn grey(pixel: &[f32]) -> f32 {
    match *pixel {
        [red, green, blue] => 0.299 * red + 0.587 * green + 0.114 * blue,
        _ => pixel[0],
    }
}

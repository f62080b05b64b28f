//! What is done to pictures while training.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use clap::Args;
use cotangent::engine::rng::Rng;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_pictures::{Pictures, Region};
use rand::RngExt;
use rand_distr::{Beta, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::colour::{Extents, brighten, contrast, saturate};
use super::config::by_size;
use super::rand_augment;

/// What is done to pictures while training.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Augmentation {
    /// Probability with which a picture is mirrored, left to right, from 0 to 1. For digits and letters take
    /// 0.
    #[arg(long, default_value_t = 0.5, allow_negative_numbers = true, help_heading = "Augmentation")]
    pub flip: f64,
    /// A picture is moved by up to this many pixels in each direction, over black: a random crop of the
    /// picture with a margin [default: by --size: 4, or 0].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.crop_padding))]
    #[arg(help_heading = "Augmentation")]
    pub crop_padding: usize,
    /// A picture is a random part of the one it was, of a random area between this share and all of it, from
    /// 0 to 1: a random resized crop (Szegedy et al. 2015). With --lazy it is a part of the whole picture in
    /// its file, otherwise of the middle square that was read. With 0 there is none [default: by --size: 0,
    /// or 0.08].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.crop_scale))]
    #[arg(allow_negative_numbers = true, help_heading = "Augmentation")]
    #[serde(default)]
    pub crop_scale: f64,
    /// Strength of random operations, from 0 to 10: RandAugment (Cubuk et al. 2020). Two are drawn for each
    /// picture, and each is applied half of the time, with a strength around this. With 0 there is none
    /// [default: by --size: 0, or 9].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.rand_augment))]
    #[arg(allow_negative_numbers = true, help_heading = "Augmentation")]
    #[serde(default)]
    pub rand_augment: f64,
    /// Probability with which a rectangle of a picture becomes noise, from 0 to 1: random erasing (Zhong et
    /// al. 2020) [default: by --size: 0, or 0.25].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.erase), allow_negative_numbers = true)]
    #[arg(help_heading = "Augmentation")]
    #[serde(default)]
    pub erase: f64,
    /// How often a picture comes in a row, each time changed in another way: repeated augmentation (Hoffer et
    /// al. 2020). An epoch has as many items as before, so it shows only some of the pictures [default: by
    /// --size: 1, or 3].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.repeats), help_heading = "Augmentation")]
    #[serde(default = "once")]
    pub repeats: usize,
    /// Brightness, contrast and saturation are changed by factors of up to 1 ± this number, from 0 to 1
    /// [default: by --size: 0.3, or 0].
    #[arg(long, required = false, default_value_ifs = by_size(|d| d.jitter), allow_negative_numbers = true)]
    #[arg(help_heading = "Augmentation")]
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

impl Augmentation {
    /// Checks the options.
    ///
    /// # Errors
    /// If a number is out of its range for batches of this size; the error names the option.
    pub(super) fn check(&self, batch: usize) -> Result<()> {
        options::shares(&[
            ("flip", self.flip),
            ("crop-scale", self.crop_scale),
            ("erase", self.erase),
            ("jitter", self.jitter),
            ("mix", self.mix),
        ])?;
        options::at_least_one(&[("repeats", self.repeats as u64)])?;
        if !(0.0..=rand_augment::STRONGEST).contains(&self.rand_augment) {
            let (strength, strongest) = (self.rand_augment, rand_augment::STRONGEST);
            let message = format!("--rand-augment {strength}: from 0 to {strongest} is needed");
            return Err(AppError::usage(message));
        }
        if self.repeats > batch {
            let message = format!("--repeats {}: more than --batch {batch}", self.repeats);
            return Err(AppError::usage(message));
        }
        options::not_negative(&[("mixup", self.mixup), ("cutmix", self.cutmix)])?;
        options::below_one(&[("label-smoothing", self.label_smoothing)])
    }

    /// A picture for training, as numbers from 0 to 1.
    ///
    /// # Errors
    /// If its file cannot be read, or is no picture.
    pub(super) fn apply(
        &self,
        pictures: &Pictures,
        number: usize,
        to: &mut [f32],
        rng: &mut Rng,
    ) -> Result<()> {
        let extents = [pictures.side, pictures.side, pictures.channels];
        let picture = match self.crop_scale {
            0.0 => pictures.picture(number)?,
            scale => Cow::Owned(pictures.resized_part(number, |size| random_part(size, scale, rng))?),
        };
        self.moved(&picture, extents, to, rng);
        if self.rand_augment > 0.0 {
            rand_augment::apply(self.rand_augment, to, extents, rng);
        }
        self.recolour(to, pictures.channels, rng);
        if self.erase > 0.0 && rng.random_bool(self.erase) {
            erase(to, extents, rng);
        }
        Ok(())
    }

    /// Mirrors and moves a picture: bytes to numbers from 0 to 1.
    fn moved(&self, picture: &[u8], extents: Extents, to: &mut [f32], rng: &mut Rng) {
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
    }

    /// Changes brightness, contrast and saturation.
    fn recolour(&self, pixels: &mut [f32], channels: usize, rng: &mut Rng) {
        if self.jitter == 0.0 {
            return;
        }
        let factors = [(); 3].map(|()| rng.random_range(1.0 - self.jitter..=1.0 + self.jitter) as f32);
        brighten(pixels, factors[0]);
        contrast(pixels, channels, factors[1]);
        saturate(pixels, channels, factors[2]);
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

/// A random part of a picture with these numbers of rows and columns: of an area between a share of the
/// whole and all of it, and three quarters to four thirds as wide as it is high. If ten tries do not fit, the
/// middle, with the ratio of the picture as far as that is allowed.
pub(super) fn random_part([height, width]: [usize; 2], scale: f64, rng: &mut Rng) -> Region {
    let (rows, columns) = (height as f64, width as f64);
    let widest = (4.0_f64 / 3.0).ln();
    for _ in 0..TRIES {
        let [height, width] = random_sides(rows * columns, scale..=1.0, widest, rng).map(|x| x.max(1.0));
        if height <= rows && width <= columns {
            let [top, left] = [(rows, height), (columns, width)]
                .map(|(all, own)| rng.random_range(0..=(all - own) as usize));
            return Region { top, left, height: height as usize, width: width as usize };
        }
    }
    let ratio = (columns / rows).clamp((-widest).exp(), widest.exp());
    let (height, width) = (rows.min(columns / ratio).round(), columns.min(rows * ratio).round());
    let [height, width] = [height, width].map(|length| length.max(1.0) as usize);
    let [top, left] = [(rows as usize - height) / 2, (columns as usize - width) / 2];
    Region { top, left, height, width }
}

/// Fills a random rectangle with noise: of an area between a fiftieth and a third of the picture's, and 0.3
/// to 1/0.3 times as wide as it is high. Noise has mean 0 and standard deviation 1 for a model, whose numbers
/// are from −1 to 1. If ten tries do not fit, nothing is changed.
fn erase(pixels: &mut [f32], [height, width, channels]: Extents, rng: &mut Rng) {
    let widest = (1.0_f64 / 0.3).ln();
    for _ in 0..TRIES {
        let area = (height * width) as f64;
        let [rows, columns] = random_sides(area, 0.02..=1.0 / 3.0, widest, rng).map(|x| x as usize);
        if rows < height && columns < width {
            let (top, left) = (rng.random_range(0..=height - rows), rng.random_range(0..=width - columns));
            for row in top..top + rows {
                let place = (row * width + left) * channels;
                let erased = &mut pixels[place..place + columns * channels];
                for x in erased {
                    let noise: f32 = StandardNormal.sample(rng);
                    *x = 0.5 + 0.5 * noise;
                }
            }
            return;
        }
    }
}

/// Height and width of a random rectangle, rounded: of a share of an area, and of a ratio of width to height
/// whose logarithm is at most `widest` away from 0.
fn random_sides(area: f64, shares: RangeInclusive<f64>, widest: f64, rng: &mut Rng) -> [f64; 2] {
    let area = area * rng.random_range(shares);
    let ratio = rng.random_range(-widest..=widest).exp();
    [(area / ratio).sqrt(), (area * ratio).sqrt()].map(f64::round)
}

/// Number of tries to place a rectangle in a picture.
const TRIES: usize = 10;

/// How often a picture is in a batch, for files that do not say it.
fn once() -> usize {
    1
}

//! RandAugment (Cubuk et al. 2020): random operations on a picture, all of about one strength. The operations
//! and their ranges are those of DeiT's training (Touvron et al. 2021). What is ours: pictures are sheared
//! around their middle, what comes in from outside is grey, pixels are interpolated linearly, and histograms
//! are evened out up to their last value.

use std::f32::consts::PI;

use cotangent::engine::rng::Rng;
use cotangent_apps_pictures::resample::resample;
use rand::RngExt;
use rand_distr::{Distribution, Normal};

use super::colour::{Extents, blend, brighten, contrast, saturate};

/// Number of operations that are drawn for a picture.
const DRAWN: usize = 2;
/// Probability with which one that is drawn is applied.
const APPLIED: f64 = 0.5;
/// Standard deviation of the strength of an operation around that of all.
const DEVIATION: f64 = 0.5;
/// The largest strength.
pub(super) const STRONGEST: f64 = 10.0;

/// An operation on pixels from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Each channel is stretched to reach from 0 to 1.
    AutoContrast,
    /// Each channel gets an even histogram.
    Equalise,
    /// 1 − x.
    Invert,
    /// Turned by up to 30 degrees.
    Rotate,
    /// Only the first bits of a byte are kept: 4, and fewer with more strength.
    Posterise,
    /// What is brighter than a threshold is inverted.
    Solarise,
    /// What is darker than a half becomes brighter by up to 110 of 255.
    SolariseAdd,
    /// Colours, contrast, brightness or sharpness become less or more, by up to nine tenths.
    Colour,
    Contrast,
    Brightness,
    Sharpness,
    /// Sheared by up to 0.3, along rows or columns.
    ShearRows,
    ShearColumns,
    /// Moved by up to 0.45 of its size, along rows or columns.
    MoveAlongRows,
    MoveAlongColumns,
}

use Operation::*;

impl Operation {
    pub(super) const ALL: [Operation; 15] = [
        AutoContrast,
        Equalise,
        Invert,
        Rotate,
        Posterise,
        Solarise,
        SolariseAdd,
        Colour,
        Contrast,
        Brightness,
        Sharpness,
        ShearRows,
        ShearColumns,
        MoveAlongRows,
        MoveAlongColumns,
    ];

    /// Applies the operation with a strength from 0 to 1; some take its opposite if the sign is −1.
    pub(super) fn apply(self, pixels: &mut [f32], extents: Extents, strength: f32, sign: f32) {
        let [_, _, channels] = extents;
        let (signed, factor) = (sign * strength, (1.0 + 0.9 * sign * strength).max(0.1));
        match self {
            AutoContrast => each_channel(pixels, channels, stretched),
            Equalise => each_channel(pixels, channels, equalised),
            Invert => pixels.iter_mut().for_each(|x| *x = 1.0 - *x),
            Rotate => {
                let (sin, cos) = (signed * PI / 6.0).sin_cos();
                resample(pixels, extents, [[cos, -sin, 0.0], [sin, cos, 0.0]]);
            }
            Posterise => {
                let step = f32::powi(2.0, 4 + (4.0 * strength) as i32);
                pixels.iter_mut().for_each(|x| *x = ((255.0 * *x).round() / step).floor() * step / 255.0);
            }
            Solarise => {
                // Without strength the threshold is beyond the brightest byte.
                let threshold = 256.0 * (1.0 - strength);
                let inverted = |x: f32| if (255.0 * x).round() >= threshold { 1.0 - x } else { x };
                pixels.iter_mut().for_each(|x| *x = inverted(*x));
            }
            SolariseAdd => {
                let added = |x: f32| if x < 0.5 { (x + strength * 110.0 / 255.0).min(1.0) } else { x };
                pixels.iter_mut().for_each(|x| *x = added(*x));
            }
            Colour => saturate(pixels, channels, factor),
            Contrast => contrast(pixels, channels, factor),
            Brightness => brighten(pixels, factor),
            Sharpness => sharpen(pixels, extents, factor),
            ShearRows => resample(pixels, extents, [[1.0, 0.0, 0.0], [0.3 * signed, 1.0, 0.0]]),
            ShearColumns => resample(pixels, extents, [[1.0, 0.3 * signed, 0.0], [0.0, 1.0, 0.0]]),
            MoveAlongRows => resample(pixels, extents, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.45 * signed]]),
            MoveAlongColumns => resample(pixels, extents, [[1.0, 0.0, 0.45 * signed], [0.0, 1.0, 0.0]]),
        }
    }
}

/// Applies random operations with strengths around one from 0 to [`STRONGEST`].
pub(super) fn apply(strength: f64, pixels: &mut [f32], extents: Extents, rng: &mut Rng) {
    let near = Normal::new(strength, DEVIATION).expect("a strength that is finite");
    for _ in 0..DRAWN {
        let operation = Operation::ALL[rng.random_range(0..Operation::ALL.len())];
        if rng.random_bool(APPLIED) {
            let strength = near.sample(rng).clamp(0.0, STRONGEST) / STRONGEST;
            let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
            operation.apply(pixels, extents, strength as f32, sign);
        }
    }
}

/// Replaces each channel by what `map` makes of it.
fn each_channel(pixels: &mut [f32], channels: usize, map: impl Fn(&[f32]) -> Vec<f32>) {
    for channel in 0..channels {
        let own: Vec<f32> = pixels.iter().skip(channel).step_by(channels).copied().collect();
        pixels.iter_mut().skip(channel).step_by(channels).zip(map(&own)).for_each(|(x, new)| *x = new);
    }
}

/// A channel from 0 to 1.
fn stretched(channel: &[f32]) -> Vec<f32> {
    let least = channel.iter().copied().fold(f32::INFINITY, f32::min);
    let range = channel.iter().copied().fold(0.0, f32::max) - least;
    if range <= 0.0 { channel.to_vec() } else { channel.iter().map(|x| (x - least) / range).collect() }
}

/// A channel whose values are spread evenly: each becomes the share of values up to it, among those above the
/// least one.
fn equalised(channel: &[f32]) -> Vec<f32> {
    let byte = |x: &f32| (255.0 * x).round().clamp(0.0, 255.0) as usize;
    let mut counts = [0_usize; 256];
    channel.iter().for_each(|x| counts[byte(x)] += 1);
    let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
    let others = channel.len() - counts[first];
    if others == 0 {
        return channel.to_vec();
    }
    let mut up_to = 0;
    let shares = counts.map(|count| {
        up_to += count;
        up_to.saturating_sub(counts[first]) as f32 / others as f32
    });
    channel.iter().map(|x| shares[byte(x)]).collect()
}

/// Blends a picture with a smoothed one, in which a pixel inside weighs 5 and each of its neighbours 1.
fn sharpen(pixels: &mut [f32], [height, width, channels]: Extents, factor: f32) {
    let before = pixels.to_vec();
    for row in 1..height.saturating_sub(1) {
        for column in 1..width.saturating_sub(1) {
            for channel in 0..channels {
                let place = |row: usize, column: usize| (row * width + column) * channels + channel;
                let around = (row - 1..=row + 1).flat_map(|r| (column - 1..=column + 1).map(move |c| (r, c)));
                let sum: f32 = around.map(|(r, c)| before[place(r, c)]).sum();
                let own = before[place(row, column)];
                pixels[place(row, column)] = blend(own, (sum + 4.0 * own) / 13.0, factor);
            }
        }
    }
}

//! Single pictures: their pixels, sizes and channels.

use std::ops::Range;

/// A picture of bytes: grey, with one channel, or red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raster {
    height: usize,
    width: usize,
    channels: usize,
    /// `[height, width, channels]`.
    pixels: Vec<u8>,
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first row.
    pub top: usize,
    /// Its first column.
    pub left: usize,
    /// Number of rows.
    pub height: usize,
    /// Number of columns.
    pub width: usize,
}

/// How a picture of any size is brought to a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its middle is taken.
    Middle,
    /// The whole of it is squeezed.
    Squeezed,
}

impl Raster {
    /// A picture of pixels `[height, width, channels]`.
    ///
    /// # Panics
    /// If there are not as many pixels, or neither one nor three channels.
    pub fn new([height, width, channels]: [usize; 3], pixels: Vec<u8>) -> Self {
        assert!(matches!(channels, 1 | 3), "Raster: {channels} channels");
        assert_eq!(pixels.len(), height * width * channels, "Raster: {height} x {width} pixels");
        Raster { height, width, channels, pixels }
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// 1 (grey) or 3 (red, green, blue).
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// `[height, width, channels]`.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels in this number of channels, 1 or 3.
    pub fn into_pixels(self, channels: usize) -> Vec<u8> {
        if channels == self.channels {
            self.pixels
        } else {
            in_channels(&self.pixels, self.channels, channels)
        }
    }

    /// A square of this side.
    pub fn square(&self, fit: Fit, side: usize) -> Raster {
        let Raster { height, width, .. } = *self;
        self.resized(
            match fit {
                Fit::Middle => {
                    let shorter = height.min(width);
                    let [top, left] = [height, width].map(|length| (length - shorter) / 2);
                    Region { top, left, height: shorter, width: shorter }
                }
                Fit::Squeezed => Region { top: 0, left: 0, height, width },
            },
            side,
        )
    }

    /// A part as a square of this side. A pixel of the result is a mean of pixels around its place, each with
    /// a weight that falls linearly to 0 over one pixel, of the larger of both pictures.
    ///
    /// # Panics
    /// If the part is not within the picture, or is empty.
    pub fn resized(&self, region: Region, side: usize) -> Raster {
        let Region { top, left, height, width } = region;
        assert!(top + height <= self.height && left + width <= self.width, "Raster: {region:?} is outside");
        let channels = self.channels;
        let row =
            |row: usize| &self.pixels[((top + row) * self.width + left) * channels..][..width * channels];
        if [height, width] == [side, side] {
            let pixels = (0..side).flat_map(row).copied().collect();
            return Raster::new([side, side, channels], pixels);
        }
        let (rows, columns) = (Taps::new(height, side), Taps::new(width, side));
        let mut pixels = Vec::with_capacity(side * side * channels);
        let mut sums = vec![0.0; width * channels];
        for (from, weights) in &rows.0 {
            sums.fill(0.0);
            for (number, weight) in from.clone().zip(weights) {
                sums.iter_mut().zip(row(number)).for_each(|(sum, &x)| *sum += weight * f32::from(x));
            }
            for (from, weights) in &columns.0 {
                for channel in 0..channels {
                    let terms = from.clone().zip(weights);
                    let sum: f32 =
                        terms.map(|(column, weight)| weight * sums[column * channels + channel]).sum();
                    pixels.push(sum.round().clamp(0.0, 255.0) as u8);
                }
            }
        }
        Raster::new([side, side, channels], pixels)
    }
}

/// For each pixel of a resized axis, the pixels that it comes from, and their weights, whose sum is 1.
struct Taps(Vec<(Range<usize>, Vec<f32>)>);

impl Taps {
    fn new(from: usize, to: usize) -> Self {
        assert!(from > 0, "Raster: an empty part");
        let ratio = from as f32 / to as f32;
        let reach = ratio.max(1.0);
        let tap = |i: usize| {
            let centre = (i as f32 + 0.5) * ratio;
            let first = ((centre - reach).floor().max(0.0) as usize).min(from - 1);
            let end = ((centre + reach).ceil() as usize).clamp(first + 1, from);
            let weight = |place: usize| (1.0 - (place as f32 + 0.5 - centre).abs() / reach).max(0.0);
            let weights: Vec<f32> = (first..end).map(weight).collect();
            let sum: f32 = weights.iter().sum();
            (first..end, weights.into_iter().map(|weight| weight / sum).collect())
        };
        Taps((0..to).map(tap).collect())
    }
}

/// Pixels in another number of channels: grey ones get three equal colours, colours become their brightness
/// (ITU-R BT.709).
pub(crate) fn in_channels(pixels: &[u8], from: usize, to: usize) -> Vec<u8> {
    let grey = |pixel: &[u8]| {
        let [red, green, blue] = [0, 1, 2].map(|channel| u32::from(pixel[channel]));
        ((2126 * red + 7152 * green + 722 * blue + 5_000) / 10_000) as u8
    };
    match (from, to) {
        (1, 3) => pixels.iter().flat_map(|&x| [x; 3]).collect(),
        (3, 1) => pixels.chunks_exact(3).map(grey).collect(),
        _ => pixels.to_vec(),
    }
}

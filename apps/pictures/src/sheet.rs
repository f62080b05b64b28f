//! Pictures side by side.

use crate::pictures::Pictures;
use crate::raster::Raster;

/// Pictures side by side in so many columns, on white. Small ones are enlarged by a whole number.
///
/// # Panics
/// If there are no columns, or the pictures are in files.
pub fn sheet(pictures: &Pictures, columns: usize) -> Raster {
    let (side, channels) = (pictures.side, pictures.channels);
    let scale = (SHOWN / side).max(1);
    let cell = side * scale + GAP;
    let [width, height] = [columns, pictures.len().div_ceil(columns)].map(|count| count * cell + GAP);
    let mut pixels = vec![255; width * height * channels];
    for number in 0..pictures.len() {
        let (left, top) = (GAP + number % columns * cell, GAP + number / columns * cell);
        let picture = &pictures.pixels()[number * pictures.size()..];
        for (y, x) in (0..side * scale).flat_map(|y| (0..side * scale).map(move |x| (y, x))) {
            let to = ((top + y) * width + left + x) * channels;
            let from = (y / scale * side + x / scale) * channels;
            pixels[to..to + channels].copy_from_slice(&picture[from..from + channels]);
        }
    }
    Raster::new([height, width, channels], pixels)
}

/// Bytes that each picture of a sheet takes, the file that is written of it included.
pub fn sheet_bytes(side: usize, channels: usize) -> f64 {
    let cell = side * (SHOWN / side.max(1)).max(1) + GAP;
    2.0 * (cell * cell * channels) as f64
}

/// Pixels that a picture of a sheet has along a side, or nearly, and pixels between two.
const SHOWN: usize = 64;
const GAP: usize = 2;

//! Single pictures: PNG and JPEG files, their sizes and channels.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use image::imageops::FilterType;
use image::{DynamicImage, GrayImage, ImageDecoder, ImageError, ImageFormat, ImageReader, RgbImage};

use crate::Pictures;

/// Reads a PNG or JPEG file; its content says which it is.
///
/// # Errors
/// If it cannot be read, or is no such picture.
pub fn read(path: &Path) -> Result<DynamicImage> {
    let bytes = std::fs::read(path).map_err(AppError::io(path))?;
    reader(path, Cursor::new(bytes))?.decode().map_err(damaged(path))
}

/// Whether a PNG or JPEG file has colours, by its header.
///
/// # Errors
/// If it cannot be read, or its header is none of such a picture.
pub(crate) fn has_colour(path: &Path) -> Result<bool> {
    let file = File::open(path).map_err(AppError::io(path))?;
    let decoder = reader(path, BufReader::new(file))?.into_decoder().map_err(damaged(path))?;
    Ok(decoder.color_type().has_color())
}

fn reader<R: BufRead + Seek>(path: &Path, content: R) -> Result<ImageReader<R>> {
    let reader = ImageReader::new(content).with_guessed_format().map_err(AppError::io(path))?;
    match reader.format() {
        Some(ImageFormat::Png | ImageFormat::Jpeg) => Ok(reader),
        _ => Err(AppError::content(path, "neither a PNG nor a JPEG file")),
    }
}

fn damaged(path: &Path) -> impl FnOnce(ImageError) -> AppError + '_ {
    move |error| AppError::content(path, format!("a damaged picture: {error}"))
}

/// How a picture of any size is brought to a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Its middle is taken.
    Middle,
    /// The whole of it is squeezed.
    Squeezed,
}

impl Fit {
    /// A picture as a square of this side.
    pub fn apply(self, image: &DynamicImage, side: usize) -> DynamicImage {
        match self {
            Fit::Middle => square(image, side),
            Fit::Squeezed => {
                let whole = Region { top: 0, left: 0, height: image.height(), width: image.width() };
                resized_part(image, whole, side)
            }
        }
    }
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first row.
    pub top: u32,
    /// Its first column.
    pub left: u32,
    /// Number of rows.
    pub height: u32,
    /// Number of columns.
    pub width: u32,
}

/// The middle of a picture, as a square of this side.
pub fn square(image: &DynamicImage, side: usize) -> DynamicImage {
    let shorter = image.width().min(image.height());
    let [left, top] = [image.width(), image.height()].map(|length| (length - shorter) / 2);
    resized_part(image, Region { top, left, height: shorter, width: shorter }, side)
}

/// A part of a picture, as a square of this side.
pub fn resized_part(image: &DynamicImage, region: Region, side: usize) -> DynamicImage {
    let (Region { top, left, height, width }, side) = (region, side as u32);
    // Cut first: a picture that is thousands of times as long as it is wide would be enlarged as a whole.
    let part = image.crop_imm(left, top, width, height);
    if (width, height) == (side, side) { part } else { part.resize_exact(side, side, FilterType::Triangle) }
}

/// The pixels of a picture, `[height, width, channels]`, grey or in three colours. Transparency is left out.
pub fn pixels(image: &DynamicImage, channels: usize) -> Vec<u8> {
    match channels {
        1 => image.to_luma8().into_raw(),
        _ => image.to_rgb8().into_raw(),
    }
}

/// A picture of pixels `[height, width, channels]`.
///
/// # Panics
/// If there are not as many pixels.
pub fn from_pixels(pixels: Vec<u8>, [height, width, channels]: [usize; 3]) -> DynamicImage {
    let (width, height) = (width as u32, height as u32);
    match channels {
        1 => GrayImage::from_raw(width, height, pixels).map(DynamicImage::from),
        _ => RgbImage::from_raw(width, height, pixels).map(DynamicImage::from),
    }
    .expect("as many pixels as the size says")
}

/// Pixels in another number of channels: grey ones get three equal colours, colours become their brightness.
pub(crate) fn in_channels(pixels: &[u8], from: usize, to: usize) -> Vec<u8> {
    // In parts, because a picture has fewer than 2³² rows.
    let convert = |part: &[u8]| self::pixels(&from_pixels(part.to_vec(), [part.len() / from, 1, from]), to);
    pixels.chunks(from << 20).flat_map(convert).collect()
}

/// Pictures side by side in so many columns, on white. Small ones are enlarged by a whole number.
///
/// # Panics
/// If there are no columns, or the pictures are in files.
pub fn sheet(pictures: &Pictures, columns: usize) -> DynamicImage {
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
    from_pixels(pixels, [height, width, channels])
}

/// Bytes that each picture of a sheet takes, the file that is written of it included.
pub fn sheet_bytes(side: usize, channels: usize) -> f64 {
    let cell = side * (SHOWN / side.max(1)).max(1) + GAP;
    2.0 * (cell * cell * channels) as f64
}

/// Pixels that a picture of a sheet has along a side, or nearly, and pixels between two.
const SHOWN: usize = 64;
const GAP: usize = 2;

/// A picture as a PNG file.
///
/// # Panics
/// If it cannot be written to memory.
pub fn png(image: &DynamicImage) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).expect("a picture in memory");
    file.into_inner()
}

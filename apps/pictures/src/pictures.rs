//! Pictures of one size, each with a class.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use cotangent_apps_common::error::Result;
use cotangent_apps_common::memory;
use crc32fast::Hasher;

use crate::codec::Header;
use crate::raster::in_channels;
use crate::{Fit, Raster, Region, codec};

/// Pictures of one size, each with a class: of bytes, or of floats. They are in memory, or in files that are
/// read whenever a picture is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pictures<N = u8> {
    /// Height and width, in pixels.
    pub side: usize,
    /// 1 (grey) or 3 (red, green, blue); latents have any number.
    pub channels: usize,
    /// The number of the class of each picture.
    pub labels: Vec<u32>,
    pixels: Pixels<N>,
}

/// Where pixels are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Pixels<N> {
    /// Here: `[n, side, side, channels]`.
    Memory(Vec<N>),
    /// In files, one for each picture.
    Files(Vec<Arc<PictureFile>>, Fit),
}

/// The file of a picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PictureFile {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
}

/// A number of a picture.
pub trait PictureNumber: Copy {
    /// The number of a byte.
    fn from_byte(byte: u8) -> Self;

    /// Adds numbers to a checksum.
    fn fingerprint(numbers: &[Self], hasher: &mut Hasher);
}

/// From 0 to 255.
impl PictureNumber for u8 {
    fn from_byte(byte: u8) -> Self {
        byte
    }

    fn fingerprint(numbers: &[Self], hasher: &mut Hasher) {
        hasher.update(numbers);
    }
}

/// From −1 to 1.
impl PictureNumber for f32 {
    fn from_byte(byte: u8) -> Self {
        2.0 * (f32::from(byte) / 255.0) - 1.0
    }

    fn fingerprint(numbers: &[Self], hasher: &mut Hasher) {
        numbers.iter().for_each(|number| hasher.update(&number.to_le_bytes()));
    }
}

impl<N: PictureNumber> Pictures<N> {
    /// Pictures in memory: pixels `[n, side, side, channels]`, and the numbers of their n classes.
    ///
    /// # Panics
    /// If there are not as many pixels as the sizes say.
    pub fn new([side, channels]: [usize; 2], pixels: Vec<N>, labels: Vec<u32>) -> Self {
        let needed = labels.len() * side * side * channels;
        assert_eq!(pixels.len(), needed, "Pictures::new: pixels of {} pictures", labels.len());
        Pictures { side, channels, labels, pixels: Pixels::Memory(pixels) }
    }

    /// Pictures that stay in their files.
    pub(crate) fn in_files(
        [side, channels]: [usize; 2],
        files: Vec<Arc<PictureFile>>,
        fit: Fit,
        labels: Vec<u32>,
    ) -> Self {
        Pictures { side, channels, labels, pixels: Pixels::Files(files, fit) }
    }

    /// The same pictures with the numbers of other classes.
    pub(crate) fn with_labels(self, labels: Vec<u32>) -> Self {
        Pictures { labels, ..self }
    }

    /// Number of pictures.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no picture.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of numbers of a picture.
    pub fn size(&self) -> usize {
        self.side * self.side * self.channels
    }

    /// Whether each picture is read from its file whenever it is asked for.
    pub fn is_lazy(&self) -> bool {
        matches!(self.pixels, Pixels::Files(..))
    }

    /// The pixels of a picture, `[side, side, channels]`.
    ///
    /// # Errors
    /// If its file cannot be read, or is no picture.
    ///
    /// # Panics
    /// If there are not so many pictures.
    pub fn picture(&self, number: usize) -> Result<Cow<'_, [N]>> {
        match &self.pixels {
            Pixels::Memory(pixels) => Ok(Cow::Borrowed(&pixels[number * self.size()..][..self.size()])),
            Pixels::Files(files, fit) => {
                let image = codec::read(&files[number].path)?.square(*fit, self.side);
                let bytes = image.into_pixels(self.channels);
                Ok(bytes.into_iter().map(N::from_byte).collect())
            }
        }
    }

    /// All pixels, `[n, side, side, channels]`.
    ///
    /// # Panics
    /// If they are in files.
    pub fn pixels(&self) -> &[N] {
        match &self.pixels {
            Pixels::Memory(pixels) => pixels,
            Pixels::Files(..) => panic!("Pictures::pixels: they are in files"),
        }
    }

    /// Some of the pictures.
    pub(crate) fn select(&self, numbers: &[u32]) -> Self {
        let pixels = match &self.pixels {
            Pixels::Memory(pixels) => {
                let picture = |&i: &u32| &pixels[i as usize * self.size()..][..self.size()];
                Pixels::Memory(numbers.iter().map(picture).collect::<Vec<_>>().concat())
            }
            Pixels::Files(files, fit) => {
                Pixels::Files(numbers.iter().map(|&i| files[i as usize].clone()).collect(), *fit)
            }
        };
        let labels = numbers.iter().map(|&i| self.labels[i as usize]).collect();
        Pictures { labels, pixels, ..*self }
    }

    /// Checks that so many pictures fit in memory, before they are read or resized.
    pub(crate) fn check_memory(count: usize, side: usize, channels: usize) -> Result<()> {
        let bytes = memory::bytes::<N>(&[count, side, side, channels]);
        memory::check(&[("image-size", side)], &format!("{count} pictures"), bytes)
    }

    /// Adds the pictures to a checksum; of files, their names, lengths and both ends.
    pub fn fingerprint(&self, hasher: &mut Hasher) {
        hasher.update(&(self.size() as u64).to_le_bytes());
        match &self.pixels {
            Pixels::Memory(pixels) => N::fingerprint(pixels, hasher),
            Pixels::Files(files, _) => files.iter().for_each(|file| {
                hasher.update(file.path.file_name().unwrap_or_default().as_encoded_bytes());
                hasher.update(&file.header.checksum.to_le_bytes());
            }),
        }
        self.labels.iter().for_each(|label| hasher.update(&label.to_le_bytes()));
    }
}

impl Pictures {
    /// A part of a picture, brought to the side of all: `[side, side, channels]`. `region` chooses the part,
    /// given height and width: of the whole picture if it is in a file, otherwise of its square in memory.
    ///
    /// # Errors
    /// If its file cannot be read, or is no picture.
    ///
    /// # Panics
    /// If there are not so many pictures, or the part is not within the picture.
    pub fn resized_part(&self, number: usize, region: impl FnOnce([usize; 2]) -> Region) -> Result<Vec<u8>> {
        let image = match &self.pixels {
            Pixels::Memory(_) => {
                let pixels = self.picture(number)?.into_owned();
                Raster::new([self.side, self.side, self.channels], pixels)
            }
            Pixels::Files(files, _) => codec::read(&files[number].path)?,
        };
        let region = region([image.height(), image.width()]);
        Ok(image.resized(region, self.side).into_pixels(self.channels))
    }

    /// The same pictures in another number of channels.
    pub fn in_channels(self, channels: usize) -> Self {
        let pixels = match self.pixels {
            Pixels::Memory(pixels) if self.channels != channels => {
                Pixels::Memory(in_channels(&pixels, self.channels, channels))
            }
            pixels => pixels,
        };
        Pictures { channels, pixels, ..self }
    }

    /// The same pictures as numbers from −1 to 1.
    pub fn to_numbers(self) -> Pictures<f32> {
        let pixels = match self.pixels {
            Pixels::Memory(bytes) => Pixels::Memory(bytes.into_iter().map(f32::from_byte).collect()),
            Pixels::Files(files, fit) => Pixels::Files(files, fit),
        };
        Pictures { side: self.side, channels: self.channels, labels: self.labels, pixels }
    }
}

impl Pictures<f32> {
    /// Numbers in memory from −1 to 1 as bytes; what is beyond is brought to the end.
    pub fn to_bytes(&self) -> Pictures {
        let byte = |x: &f32| (255.0 * (0.5 * x + 0.5)).round().clamp(0.0, 255.0) as u8;
        let pixels = self.pixels().iter().map(byte).collect();
        Pictures::new([self.side, self.channels], pixels, self.labels.clone())
    }
}

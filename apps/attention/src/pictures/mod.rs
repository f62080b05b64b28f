//! Pictures with classes, read from files: folders of PNG and JPEG by class, or arrays (IDX as MNIST comes,
//! npy), each plain or gzip.

use std::path::Path;

use cotangent::prelude::rng;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use crc32fast::Hasher;
use rand::seq::SliceRandom;

mod arrays;
mod folders;
mod idx;
pub mod raster;
#[cfg(test)]
mod tests;

/// Pictures of one size, each with a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// Height and width, in pixels.
    pub side: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    /// `[n, side, side, channels]`.
    pub pixels: Vec<u8>,
    /// The number of the class of each picture.
    pub labels: Vec<u32>,
}

impl Pictures {
    /// Number of pictures.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no picture.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of bytes of a picture.
    pub fn bytes(&self) -> usize {
        self.side * self.side * self.channels
    }

    /// The pixels of a picture, `[side, side, channels]`.
    ///
    /// # Panics
    /// If there are not so many pictures.
    pub fn picture(&self, number: usize) -> &[u8] {
        &self.pixels[number * self.bytes()..][..self.bytes()]
    }

    /// Some of the pictures.
    fn select(&self, numbers: &[u32]) -> Self {
        let pictures: Vec<&[u8]> = numbers.iter().map(|&i| self.picture(i as usize)).collect();
        let labels = numbers.iter().map(|&i| self.labels[i as usize]).collect();
        Pictures { pixels: pictures.concat(), labels, ..*self }
    }

    /// Checks that so many pictures fit in memory, before they are read or resized.
    fn check_memory(count: usize, side: usize, channels: usize) -> Result<()> {
        let bytes = memory::bytes::<u8>(&[count, side, side, channels]);
        memory::check(&[("image-size", side)], &format!("{count} pictures"), bytes)
    }

    /// The same pictures in another number of channels.
    pub fn in_channels(self, channels: usize) -> Self {
        if self.channels == channels {
            return self;
        }
        let pixels = raster::in_channels(&self.pixels, self.channels, channels);
        Pictures { channels, pixels, ..self }
    }

    /// Adds the pictures to a checksum.
    pub fn fingerprint(&self, hasher: &mut Hasher) {
        hasher.update(&(self.bytes() as u64).to_le_bytes());
        hasher.update(&self.pixels);
        self.labels.iter().for_each(|label| hasher.update(&label.to_le_bytes()));
    }
}

/// How pictures are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The side that pictures are brought to. If there is none, arrays keep theirs.
    pub side: Option<usize>,
    /// The side of pictures from folders if no other is wanted.
    pub folder_side: usize,
    /// Share of the training pictures that is held out for each part that is missing.
    pub held_out: f64,
    /// Seed of that choice.
    pub seed: u64,
}

/// Pictures for training, validation and testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureData {
    /// The name of the directory.
    pub name: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Pictures for training.
    pub train: Pictures,
    /// Pictures for validation.
    pub validation: Pictures,
    /// Pictures for testing.
    pub test: Pictures,
    /// Parts that were held out of the training pictures, because the directory has none: "test".
    pub held_out: Vec<&'static str>,
}

/// What a directory has.
struct Parts {
    classes: Vec<String>,
    train: Pictures,
    /// For validation and testing.
    others: [Option<Pictures>; 2],
}

impl PictureData {
    /// Reads a directory. It has the folders `train`, `val` and `test`, each with a folder of PNG and JPEG
    /// files for every class; or the folders of the classes themselves; or arrays: `train-images-idx3-ubyte`
    /// and `train-labels-idx1-ubyte`, `t10k-..` or `test-..`, or `train_images.npy` (`[n, height, width]` or
    /// `[n, height, width, 3]`) and `train_labels.npy`, `val_..`, `test_..`, each plain or with `.gz`, and
    /// the names of classes in `classes.txt`.
    ///
    /// Pictures for validation are those for testing if there are no others. What is missing beyond that is
    /// drawn from the training pictures, by the random stream `"split"`.
    ///
    /// # Errors
    /// If nothing of this is there, a file cannot be read or is no picture, a folder of a class has no
    /// picture, labels are not those of the classes, the sizes of arrays differ, or too few pictures are
    /// left for training.
    pub fn read(directory: &Path, reading: &Reading) -> Result<Self> {
        let parts = match arrays::read(directory, reading.side)? {
            Some(parts) => Some(parts),
            None => folders::read(directory, reading.side.unwrap_or(reading.folder_side))?,
        };
        let parts = parts.ok_or_else(|| {
            let formats = "neither folders of PNG or JPEG files by class (train/CLASS/1.png, or CLASS/1.png) \
                nor train-images-idx3-ubyte nor train_images.npy, plain or .gz, is there";
            match std::fs::read_dir(directory) {
                Ok(_) => AppError::content(directory, formats),
                Err(error) => AppError::io(directory)(error),
            }
        })?;
        let name = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let name = name.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        parts.split(reading, name).map_err(|message| AppError::content(directory, message))
    }

    /// A number that differs for other pictures or classes of training and validation.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = Hasher::new();
        self.classes.iter().for_each(|class| hasher.update(format!("{class:?}").as_bytes()));
        [&self.train, &self.validation].into_iter().for_each(|part| part.fingerprint(&mut hasher));
        hasher.finalize()
    }
}

impl Parts {
    /// All three parts. Those that are missing are held out of the training pictures.
    fn split(self, reading: &Reading, name: String) -> std::result::Result<PictureData, String> {
        let Parts { classes, train, others: [validation, test] } = self;
        // A single other part is for testing.
        let (validation, test) = if test.is_some() { (validation, test) } else { (None, validation) };
        let missing = [validation.is_none().then_some("validation"), test.is_none().then_some("test")];
        let mut order: Vec<u32> = (0..).take(train.len()).collect();
        order.shuffle(&mut rng::stream(reading.seed, "split", 0));
        let count = ((reading.held_out * train.len() as f64).round() as usize).max(1);
        let mut draw = |given: Option<Pictures>| match given {
            Some(part) => Ok(part),
            None if order.len() <= count => {
                Err(format!("{} pictures are too few to hold {count} out for each part", train.len()))
            }
            None => Ok(train.select(&order.split_off(order.len() - count))),
        };
        let (test, validation) = (draw(test)?, draw(validation)?);
        let held_out: Vec<&str> = missing.into_iter().flatten().collect();
        let train = if held_out.is_empty() {
            train
        } else {
            order.sort_unstable();
            train.select(&order)
        };
        Ok(PictureData { name, classes, train, validation, test, held_out })
    }
}

//! The pictures of a directory.

use std::path::Path;

use cotangent::prelude::rng;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::say;
use cotangent_apps_common::table::name_of;
use crc32fast::Hasher;
use rand::seq::SliceRandom;

use crate::reading::{Parts, Reading};
use crate::{PictureNumber, Pictures, arrays, folders, rows};

/// Pictures for training, validation and testing.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureData<N = u8> {
    /// The name of the directory, or the file.
    pub name: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Pictures for training.
    pub train: Pictures<N>,
    /// Pictures for validation.
    pub validation: Pictures<N>,
    /// Pictures for testing.
    pub test: Pictures<N>,
    /// Parts that were held out of the training pictures, because the directory has none: "test".
    pub held_out: Vec<&'static str>,
    /// The value that is white, if they are from a table.
    pub white: Option<f32>,
}

impl PictureData {
    /// Reads a directory. It has the folders `train`, `val` and `test`, each with a folder of PNG and JPEG
    /// files for every class; or the folders of the classes themselves; or arrays: `train-images-idx3-ubyte`
    /// and `train-labels-idx1-ubyte`, `t10k-..` or `test-..`, or `train_images.npy` (`[n, height, width]` or
    /// `[n, height, width, 3]`) and `train_labels.npy`, `val_..`, `test_..`, each plain or with `.gz`, and
    /// the names of classes in `classes.txt`; or a single table, `.tsv` or `.tsv.gz`, which may also be given
    /// itself: its rows are the values of a square grey picture, row by row, and its class, and the last
    /// fifth of the rows is for testing.
    ///
    /// Pictures for validation are those for testing if there are no others. What is missing beyond that is
    /// drawn from the training pictures, by the random stream `"split"`.
    ///
    /// # Errors
    /// If nothing of this is there, a file cannot be read or is no picture, a folder of a class has no
    /// picture, labels are not those of the classes, the sizes of arrays differ, a line of a table is wrong,
    /// or too few pictures are left for training.
    pub fn read(directory: &Path, reading: &Reading) -> Result<Self> {
        let read = || {
            if let Some(parts) = arrays::read(directory, reading.side)? {
                return Ok(Some(parts));
            }
            if let Some(parts) = folders::read(directory, reading)? {
                return Ok(Some(parts));
            }
            rows::read(directory, reading)
        };
        let parts = read()?.ok_or_else(|| {
            let formats = "neither folders of PNG or JPEG files by class (train/CLASS/1.png, or CLASS/1.png) \
                nor train-images-idx3-ubyte nor train_images.npy, plain or .gz, nor one .tsv is there";
            match std::fs::read_dir(directory) {
                Ok(_) => AppError::content(directory, formats),
                Err(error) => AppError::io(directory)(error),
            }
        })?;
        parts.split(reading, directory)
    }

    /// Same as [`read`](Self::read), to test a model that knows these classes: a folder `test` is enough, and
    /// need not have all of them.
    ///
    /// # Errors
    /// As [`read`](Self::read), or if the classes are others.
    pub fn read_to_test(directory: &Path, reading: &Reading, classes: &[String]) -> Result<Self> {
        let Some(test) = folders::read_test(directory, reading, classes)? else {
            let data = Self::read(directory, reading)?;
            data.has_classes(directory, classes)?;
            return Ok(data);
        };
        let none = || Pictures::new([test.side, test.channels], Vec::new(), Vec::new());
        Ok(PictureData {
            name: name_of(directory),
            classes: classes.to_vec(),
            train: none(),
            validation: none(),
            test,
            held_out: Vec::new(),
            white: None,
        })
    }

    /// The same pictures as numbers from −1 to 1.
    pub fn to_numbers(self) -> PictureData<f32> {
        let PictureData { name, classes, train, validation, test, held_out, white } = self;
        let [train, validation, test] = [train, validation, test].map(Pictures::to_numbers);
        PictureData { name, classes, train, validation, test, held_out, white }
    }
}

impl PictureData<f32> {
    /// Reads a directory of latents, if it has any: `train_latents.npy` (`[n, side, side, channels]` of
    /// floats) and `train_labels.npy`, `val_..`, `test_..`, and the names of classes in `classes.txt`. What
    /// is missing is as in [`PictureData::read`].
    ///
    /// # Errors
    /// If a file cannot be read, a latent is not finite, labels are not those of the classes, the sizes of
    /// arrays differ, or too few latents are left for training.
    pub fn read_latents(directory: &Path, reading: &Reading) -> Result<Option<Self>> {
        arrays::latents(directory)?.map(|parts| parts.split(reading, directory)).transpose()
    }
}

impl<N: PictureNumber> PictureData<N> {
    /// Number of pictures for training, validation and testing.
    pub fn counts(&self) -> [usize; 3] {
        [&self.train, &self.validation, &self.test].map(|part| part.len())
    }

    /// Says what there is. `what` is what the pictures are called.
    pub fn describe(&self, what: &str) {
        let ([train, validation, test], Pictures { side, channels, .. }) = (self.counts(), &self.train);
        let what = match (what, channels) {
            ("pictures", 1) => format!("grey pictures of {side} x {side} pixels"),
            ("pictures", _) => format!("coloured pictures of {side} x {side} pixels"),
            _ => format!("{what} of {side} x {side} numbers in {channels} channels"),
        };
        say!(
            "{}: {} classes, {what}; {train} for training, {validation} for validation, {test} for testing",
            self.name,
            self.classes.len()
        );
        if !self.held_out.is_empty() {
            say!("held out of the training pictures: {}", self.held_out.join(" and "));
        }
    }

    /// Checks that the classes are those of a model. `directory` is for the error.
    ///
    /// # Errors
    /// If they are others.
    pub fn has_classes(&self, directory: &Path, known: &[String]) -> Result<()> {
        if self.classes == known {
            return Ok(());
        }
        let cause = match self.classes.iter().find(|class| !known.contains(class)) {
            Some(class) => format!("the model does not know the class {class:?}"),
            None if self.classes.len() == known.len() => {
                "the classes are those of the model, but in another order".to_owned()
            }
            None => format!("{} classes; the model has {}", self.classes.len(), known.len()),
        };
        Err(AppError::content(directory, cause))
    }

    /// A number that differs for other pictures or classes of training and validation.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = Hasher::new();
        self.classes.iter().for_each(|class| hasher.update(format!("{class:?}").as_bytes()));
        [&self.train, &self.validation].into_iter().for_each(|part| part.fingerprint(&mut hasher));
        hasher.finalize()
    }
}

impl<N: PictureNumber> Parts<N> {
    /// All three parts. Those that are missing are held out of the training pictures.
    fn split(self, reading: &Reading, directory: &Path) -> Result<PictureData<N>> {
        let Parts { classes, train, others: [validation, test], white } = self;
        // A single other part is for testing.
        let (validation, test) = if test.is_some() { (validation, test) } else { (None, validation) };
        let missing = [validation.is_none().then_some("validation"), test.is_none().then_some("test")];
        let mut order: Vec<u32> = (0..).take(train.len()).collect();
        order.shuffle(&mut rng::stream(reading.seed, "split", 0));
        let count = ((reading.held_out * train.len() as f64).round() as usize).max(1);
        let mut draw = |given: Option<Pictures<N>>| match given {
            Some(part) => Ok(part),
            None if order.len() <= count => {
                let message =
                    format!("{} pictures are too few to hold {count} out for each part", train.len());
                Err(AppError::content(directory, message))
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
        let name = name_of(directory);
        Ok(PictureData { name, classes, train, validation, test, held_out, white })
    }
}

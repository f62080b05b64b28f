//! Pictures and labels as arrays in files: IDX or npy.

use std::path::{Path, PathBuf};

use cotangent::engine::files::npy;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{content, plain_or_packed, read_lines};
use rayon::prelude::*;

use super::{Parts, Pictures, idx, raster};

/// The largest number of classes.
const CLASSES: u32 = 1 << 16;

/// What the files of a part can be called, for training, validation and testing.
const PARTS: [&[&str]; 3] = [&["train"], &["val", "valid", "validation"], &["test", "t10k"]];

/// Reads the arrays of a directory, if it has any. With a side, pictures are brought to it.
pub(super) fn read(directory: &Path, side: Option<usize>) -> Result<Option<Parts>> {
    let [train, validation, test] = PARTS.map(|names| names.iter().find_map(|name| find(directory, name)));
    let Some(train) = train else { return Ok(None) };
    let names = class_names(directory)?;
    let train = train.read(side)?;
    let largest = train.pictures.labels.iter().copied().max().unwrap_or(0).min(CLASSES);
    let classes = names.unwrap_or_else(|| (0..=largest).map(|label| label.to_string()).collect());
    train.has_classes(classes.len())?;
    let other = |files: Option<Files>| {
        files.map(|files| files.read(side)?.fits(&train.pictures, classes.len())).transpose()
    };
    let others = [other(validation)?, other(test)?];
    Ok(Some(Parts { classes, train: train.pictures, others }))
}

/// The names in `classes.txt`, if it is there.
fn class_names(directory: &Path) -> Result<Option<Vec<String>>> {
    let path = plain_or_packed(directory, "classes.txt");
    if !path.exists() {
        return Ok(None);
    }
    let mut names = Vec::new();
    read_lines(&path, |_, line| {
        names.push(line.trim().to_owned());
        if line.trim().is_empty() { Err("a class without a name".to_owned()) } else { Ok(()) }
    })?;
    Ok(Some(names))
}

/// The files of a part.
struct Files {
    images: PathBuf,
    labels: PathBuf,
}

/// The files of a part of this name, if its pictures are there. Its labels may be missing.
fn find(directory: &Path, part: &str) -> Option<Files> {
    let npy = |what: &str| format!("{part}_{what}.npy");
    let idx = |what: &str, axes: u8, separator: char| format!("{part}-{what}{separator}idx{axes}-ubyte");
    let names = [
        [npy("images"), npy("labels")],
        [idx("images", 3, '-'), idx("labels", 1, '-')],
        [idx("images", 3, '.'), idx("labels", 1, '.')],
        [idx("images", 4, '-'), idx("labels", 1, '-')],
    ];
    let mut files = names.iter().map(|names| names.each_ref().map(|name| plain_or_packed(directory, name)));
    files.find(|[images, _]| images.exists()).map(|[images, labels]| Files { images, labels })
}

/// A part, and the files that it is from.
struct Part {
    files: Files,
    pictures: Pictures,
}

impl Files {
    fn read(self, side: Option<usize>) -> Result<Part> {
        let pictures = images(&self.images, side)?;
        let (shape, labels) = array(&self.labels, |bytes| bytes.into_iter().map(u32::from).collect())?;
        if shape != [pictures.len()] {
            let message = format!("labels of shape {shape:?} for {} pictures", pictures.len());
            return Err(AppError::content(&self.labels, message));
        }
        Ok(Part { files: self, pictures: Pictures { labels, ..pictures } })
    }
}

impl Part {
    /// Checks that all labels are below the number of classes.
    fn has_classes(&self, classes: usize) -> Result<()> {
        let most = classes.min(CLASSES as usize);
        match self.pictures.labels.iter().position(|&label| label as usize >= most) {
            Some(at) => {
                let (label, last) = (self.pictures.labels[at], most - 1);
                let message = format!("label {at}, counted from 0, is {label}; classes are 0 to {last}");
                Err(AppError::content(&self.files.labels, message))
            }
            None => Ok(()),
        }
    }

    /// The pictures, if they are like those for training.
    fn fits(self, train: &Pictures, classes: usize) -> Result<Pictures> {
        self.has_classes(classes)?;
        let [ours, theirs] = [&self.pictures, train].map(|part| (part.side, part.channels));
        if ours != theirs {
            let size = |(side, channels)| format!("{side} x {side} pixels with {channels} channels");
            let message = format!("pictures of {}; those for training have {}", size(ours), size(theirs));
            return Err(AppError::content(&self.files.images, message));
        }
        Ok(self.pictures)
    }
}

/// The shape and the elements of a file: npy by its name, otherwise IDX, which has bytes.
fn array<N: TryFrom<i128> + Copy>(
    path: &Path,
    from: impl FnOnce(Vec<u8>) -> Vec<N>,
) -> Result<(Vec<usize>, Vec<N>)> {
    let bytes = content(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.trim_end_matches(".gz").ends_with(".npy") {
        return Ok(npy::integers(path, &bytes)?);
    }
    let (shape, elements) = idx::parse(&bytes).map_err(|message| AppError::content(path, message))?;
    Ok((shape, from(elements)))
}

/// The pictures of a file, without labels.
fn images(path: &Path, side: Option<usize>) -> Result<Pictures> {
    let (shape, pixels): (Vec<usize>, Vec<u8>) = array(path, |bytes| bytes)?;
    let wrong = |message: String| Err(AppError::content(path, message));
    let [count, height, width, channels] = match shape[..] {
        [count, height, width] => [count, height, width, 1],
        [count, height, width, channels @ (1 | 3)] => [count, height, width, channels],
        _ => {
            let needed = "[n, height, width], or [n, height, width, 1 or 3], is needed";
            return wrong(format!("an array of shape {shape:?}; {needed}"));
        }
    };
    if pixels.is_empty() {
        return wrong(format!("an array of shape {shape:?} has no pictures"));
    }
    let side = match side {
        None if height != width => {
            return wrong(format!("pictures of {height} x {width} pixels; --image-size makes them squares"));
        }
        side => side.unwrap_or(height),
    };
    Pictures::check_memory(count, side, channels)?;
    let pixels = if [height, width] == [side, side] {
        pixels
    } else {
        let resized = |picture: &[u8]| {
            let picture = raster::from_pixels(picture, [height, width, channels]);
            raster::pixels(&raster::square(&picture, side), channels)
        };
        pixels.par_chunks(height * width * channels).flat_map_iter(resized).collect()
    };
    Ok(Pictures { side, channels, pixels, labels: vec![0; count] })
}

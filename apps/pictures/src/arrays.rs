//! Pictures or latents, and labels, as arrays in files: IDX or npy.

use std::path::{Path, PathBuf};

use cotangent::engine::files::npy;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{content, plain_or_packed, read_lines};
use rayon::prelude::*;

use crate::reading::Parts;
use crate::{Fit, PictureNumber, Pictures, Raster, idx};

/// The largest number of classes.
const CLASSES: u32 = 1 << 16;

/// What the files of a part can be called, for training, validation and testing.
const PARTS: [&[&str]; 3] = [&["train"], &["val", "valid", "validation"], &["test", "t10k"]];

/// Reads the arrays of a directory, if it has any. With a side, pictures are brought to it.
pub(crate) fn read(directory: &Path, side: Option<usize>) -> Result<Option<Parts>> {
    parts(directory, picture_names, |path| images(path, side))
}

/// Reads the latents of a directory, if it has any.
pub(crate) fn latents(directory: &Path) -> Result<Option<Parts<f32>>> {
    parts(directory, |part| vec![[format!("{part}_latents.npy"), format!("{part}_labels.npy")]], floats)
}

/// Reads the parts of a directory, if it has any. `names` are what the files of a part can be called, and
/// `read` reads one of pictures.
fn parts<N: PictureNumber>(
    directory: &Path,
    names: impl Fn(&str) -> Vec<[String; 2]>,
    read: impl Fn(&Path) -> Result<Pictures<N>>,
) -> Result<Option<Parts<N>>> {
    let [train, validation, test] =
        PARTS.map(|parts| parts.iter().find_map(|part| find(directory, &names(part))));
    let Some(train) = train else { return Ok(None) };
    let names = class_names(directory)?;
    let train = train.read(&read)?;
    let largest = train.pictures.labels.iter().copied().max().unwrap_or(0).min(CLASSES);
    let classes = names.unwrap_or_else(|| (0..=largest).map(|label| label.to_string()).collect());
    train.has_classes(classes.len())?;
    let other = |files: Option<Files>| {
        files.map(|files| files.read(&read)?.fits(&train.pictures, classes.len())).transpose()
    };
    let others = [other(validation)?, other(test)?];
    Ok(Some(Parts { classes, train: train.pictures, others, white: None }))
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

/// What the files of pictures and labels of a part can be called.
fn picture_names(part: &str) -> Vec<[String; 2]> {
    let npy = |what: &str| format!("{part}_{what}.npy");
    let idx = |what: &str, axes: u8, separator: char| format!("{part}-{what}{separator}idx{axes}-ubyte");
    vec![
        [npy("images"), npy("labels")],
        [idx("images", 3, '-'), idx("labels", 1, '-')],
        [idx("images", 3, '.'), idx("labels", 1, '.')],
        [idx("images", 4, '-'), idx("labels", 1, '-')],
    ]
}

/// The files of a part that have one of these names, if its pictures are there. Its labels may be missing.
fn find(directory: &Path, names: &[[String; 2]]) -> Option<Files> {
    let mut files = names.iter().map(|names| names.each_ref().map(|name| plain_or_packed(directory, name)));
    files.find(|[images, _]| images.exists()).map(|[images, labels]| Files { images, labels })
}

/// A part, and the files that it is from.
struct Part<N> {
    files: Files,
    pictures: Pictures<N>,
}

impl Files {
    fn read<N: PictureNumber>(self, read: impl Fn(&Path) -> Result<Pictures<N>>) -> Result<Part<N>> {
        let pictures = read(&self.images)?;
        let (shape, labels) = array(&self.labels, |bytes| bytes.into_iter().map(u32::from).collect())?;
        if shape != [pictures.len()] {
            let message = format!("labels of shape {shape:?} for {} pictures", pictures.len());
            return Err(AppError::content(&self.labels, message));
        }
        Ok(Part { files: self, pictures: pictures.with_labels(labels) })
    }
}

impl<N: PictureNumber> Part<N> {
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
    fn fits(self, train: &Pictures<N>, classes: usize) -> Result<Pictures<N>> {
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
    if side.is_none() && height != width {
        return wrong(format!("pictures of {height} x {width} pixels; --image-size makes them squares"));
    }
    resized(pixels, [count, height, width, channels], side)
}

/// Pictures `[n, height, width, channels]` without labels, brought to a side. Without one they are squares.
pub(crate) fn resized(pixels: Vec<u8>, shape: [usize; 4], side: Option<usize>) -> Result<Pictures> {
    let [count, height, width, channels] = shape;
    let side = side.unwrap_or(height);
    Pictures::<u8>::check_memory(count, side, channels)?;
    let pixels = if [height, width] == [side, side] {
        pixels
    } else {
        let resized = |picture: &[u8]| {
            let picture = Raster::new([height, width, channels], picture.to_vec());
            picture.square(Fit::Middle, side).into_pixels(channels)
        };
        pixels.par_chunks(height * width * channels).flat_map_iter(resized).collect()
    };
    Ok(Pictures::new([side, channels], pixels, vec![0; count]))
}

/// The latents of a file, without labels.
fn floats(path: &Path) -> Result<Pictures<f32>> {
    let latents = npy::read::<f32>(path)?;
    let shape = latents.shape();
    let wrong = |message: String| Err(AppError::content(path, message));
    let [count, side, channels] = match *shape.axes() {
        [count, height, width, channels] if height == width => [count, height, channels],
        _ => return wrong(format!("an array of shape {shape}; [n, side, side, channels] is needed")),
    };
    if latents.data().is_empty() {
        return wrong(format!("an array of shape {shape} has no latents"));
    }
    if let Some(at) = latents.data().iter().position(|x| !x.is_finite()) {
        let number = at / (side * side * channels);
        return wrong(format!("latent {number}, counted from 0, has the number {}", latents.data()[at]));
    }
    Ok(Pictures::new([side, channels], latents.data().to_vec(), vec![0; count]))
}

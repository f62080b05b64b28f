//! Folders of PNG and JPEG files, one for each class.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotangent_apps_common::error::{AppError, Result};
use rayon::prelude::*;

use crate::pictures::PictureFile;
use crate::reading::Parts;
use crate::{Fit, Pictures, Raster, Reading, codec};

/// What the folder of a part can be called, for validation and testing.
const OTHERS: [&[&str]; 2] = [&["val", "valid", "validation"], &["test"]];

/// Reads the folders of a directory, if it has any.
pub(crate) fn read(directory: &Path, reading: &Reading) -> Result<Option<Parts>> {
    let folder = |names: &[&str]| names.iter().map(|name| directory.join(name)).find(|path| path.is_dir());
    let (train, others) = (folder(&["train"]), OTHERS.map(folder));
    if let (None, Some(other)) = (&train, others.iter().flatten().next()) {
        let message = format!("{} is there, but no folder \"train\"", other.display());
        return Err(AppError::content(directory, message));
    }
    let root = train.clone().unwrap_or_else(|| directory.to_owned());
    let classes = entries(&root, Path::is_dir).unwrap_or_default();
    if classes.is_empty() {
        return match train {
            Some(root) => Err(AppError::content(&root, "no folders of classes")),
            None => Ok(None),
        };
    }
    let list = |root: &Path| Listing::new(root, &classes);
    let train = list(&root)?;
    let others = others.map(|root| root.map(|root| list(&root)).transpose());
    let [validation, test] = others;
    let (validation, test) = (validation?, test?);
    let listings = [Some(train), validation, test];
    let count = listings.iter().flatten().map(|listing| listing.files.len()).sum();
    reading.check_memory(count)?;
    let [train, validation, test] = listings.map(|listing| listing.map(|it| it.read(reading)).transpose());
    let parts = [train?, validation?, test?];
    let channels = parts.iter().flatten().map(|part| part.channels).max().unwrap_or(1);
    let [train, validation, test] = parts.map(|part| part.map(|part| part.in_channels(channels)));
    let train = train.expect("it is listed");
    Ok(Some(Parts { classes, train, others: [validation, test], white: None }))
}

/// Reads the folder `test` of a directory, if it has one and no other part. Its classes are some of these.
pub(crate) fn read_test(directory: &Path, reading: &Reading, classes: &[String]) -> Result<Option<Pictures>> {
    let root = directory.join("test");
    let others = OTHERS[0].iter().chain(&["train"]);
    if !root.is_dir() || others.map(|name| directory.join(name)).any(|path| path.is_dir()) {
        return Ok(None);
    }
    let listing = Listing::new(&root, classes)?;
    reading.check_memory(listing.files.len())?;
    Ok(Some(listing.read(reading)?))
}

/// All PNG and JPEG files of a directory and of the folders in it, as pictures of one class. They stay in
/// their files.
///
/// # Errors
/// If there is none, or the header of one is none of a picture.
pub fn read_all(directory: &Path, side: usize) -> Result<Pictures> {
    let (mut folders, mut files) = (vec![directory.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        files.extend(entries(&folder, is_picture)?.iter().map(|name| (folder.join(name), 0)));
        folders.extend(entries(&folder, Path::is_dir)?.iter().rev().map(|name| folder.join(name)));
    }
    if files.is_empty() {
        return Err(AppError::content(directory, "no PNG or JPEG files"));
    }
    Listing { files }.in_files(side)
}

/// The names of what a directory has of this kind, but hidden ones, in order.
fn entries(directory: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(AppError::io(directory))? {
        let path = entry.map_err(AppError::io(directory))?.path();
        let name = path.file_name().unwrap_or_default().to_str().map(str::to_owned);
        let name = name.ok_or_else(|| AppError::content(&path, "a name that is not UTF-8"))?;
        if !name.starts_with('.') && is_wanted(&path) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    ["png", "jpg", "jpeg"].iter().any(|known| extension == *known)
}

/// The files of a part, with the numbers of their classes.
struct Listing {
    files: Vec<(PathBuf, u32)>,
}

impl Listing {
    /// The pictures of the classes' folders. Other files are left out.
    fn new(root: &Path, classes: &[String]) -> Result<Self> {
        let mut files = Vec::new();
        for name in entries(root, Path::is_dir)? {
            let folder = root.join(&name);
            let class = classes.iter().position(|class| *class == name);
            let unknown = || AppError::content(&folder, "a class that training does not have");
            let class = class.ok_or_else(unknown)?;
            let pictures = entries(&folder, is_picture)?;
            if pictures.is_empty() {
                return Err(AppError::content(&folder, "a class without PNG or JPEG files"));
            }
            files.extend(pictures.iter().map(|name| (folder.join(name), class as u32)));
        }
        if files.is_empty() {
            return Err(AppError::content(root, "no folders of classes"));
        }
        Ok(Listing { files })
    }

    /// Reads the files, or leaves the pictures in them. Pictures have one channel if all are grey.
    fn read(self, reading: &Reading) -> Result<Pictures> {
        let side = reading.folder_side();
        if reading.lazy {
            return self.in_files(side);
        }
        let read =
            |(path, _): &(PathBuf, u32)| codec::read(path).map(|image| image.square(Fit::Middle, side));
        let images = first_error(self.files.par_iter().map(read).collect())?;
        let channels = images.iter().map(Raster::channels).max().unwrap_or(1);
        let pixels = images.into_par_iter().flat_map_iter(|image| image.into_pixels(channels)).collect();
        Ok(Pictures::new([side, channels], pixels, self.labels()))
    }

    /// The pictures, which stay in the files.
    fn in_files(self, side: usize) -> Result<Pictures> {
        let header = |(path, _): &(PathBuf, u32)| codec::read_header(path);
        let headers = first_error(self.files.par_iter().map(header).collect())?;
        let channels = headers.iter().map(|header| header.channels).max().unwrap_or(1);
        let labels = self.labels();
        let files = self.files.into_iter().zip(headers);
        let files = files.map(|((path, _), header)| Arc::new(PictureFile { path, header })).collect();
        Ok(Pictures::in_files([side, channels], files, Fit::Middle, labels))
    }

    fn labels(&self) -> Vec<u32> {
        self.files.iter().map(|&(_, class)| class).collect()
    }
}

/// The values, or the first error by their order, whatever thread met one first.
fn first_error<T>(results: Vec<Result<T>>) -> Result<Vec<T>> {
    results.into_iter().collect()
}

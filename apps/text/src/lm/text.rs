//! Text for training, validation and testing: files of lines.

use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{plain_or_packed, read_lines};

/// The lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The file.
    pub path: PathBuf,
    /// Its lines, blank ones included.
    pub lines: Vec<String>,
}

impl Lines {
    /// Reads a file, plain or gzip.
    ///
    /// # Errors
    /// If it cannot be read, is not UTF-8, or has no words.
    pub fn read(path: &Path) -> Result<Self> {
        let mut lines = Vec::new();
        read_lines(path, |_, line| {
            lines.push(line.to_owned());
            Ok(())
        })?;
        if lines.iter().all(|line| line.trim().is_empty()) {
            return Err(AppError::content(path, "no words"));
        }
        Ok(Lines { path: path.to_owned(), lines })
    }

    /// Reads a file, or the part of this name (`test`) if it is a directory: see [`LmText::read`].
    ///
    /// # Errors
    /// As [`read`](Self::read), or if the directory has no such file.
    pub fn read_part(path: &Path, part: &str) -> Result<Self> {
        if path.is_dir() { Lines::read(&find(path, part)?) } else { Lines::read(path) }
    }
}

/// Text for training, validation and testing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LmText {
    /// Text for training.
    pub train: Lines,
    /// Text for validation.
    pub validation: Lines,
    /// Text for testing.
    pub test: Lines,
}

impl LmText {
    /// Reads the files `train.txt`, `valid.txt` and `test.txt` of a directory, or, as WikiText is
    /// distributed, `wiki.train.tokens` and so on; each plain or with `.gz`. `given` has files to read
    /// instead, for training, validation and testing.
    ///
    /// # Errors
    /// As [`Lines::read`], or if neither a directory nor files are given.
    pub fn read(directory: Option<&Path>, given: [Option<&Path>; 3]) -> Result<Self> {
        let part = |name: &str, file: Option<&Path>| match (file, directory) {
            (Some(file), _) => Lines::read(file),
            (None, Some(directory)) => Lines::read(&find(directory, name)?),
            (None, None) => Err(AppError::usage(
                "--path (a directory with train.txt, valid.txt and test.txt), or --train, --validation and \
                 --test, is needed",
            )),
        };
        let [train, validation, test] = given;
        Ok(LmText {
            train: part("train", train)?,
            validation: part("valid", validation)?,
            test: part("test", test)?,
        })
    }
}

/// The file of a part of a text.
fn find(directory: &Path, part: &str) -> Result<PathBuf> {
    let names = [format!("{part}.txt"), format!("wiki.{part}.tokens"), format!("wiki.{part}.raw")];
    let mut paths = names.iter().map(|name| plain_or_packed(directory, name));
    paths.find(|path| path.exists()).ok_or_else(|| {
        let message = format!("none of {} is there, plain or with .gz", names.join(", "));
        AppError::content(directory, message)
    })
}

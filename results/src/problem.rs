//! What is wrong, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// A fault of a file of the record; displayed as `file:line: what is wrong`.
#[derive(Debug)]
pub(crate) struct Problem {
    file: PathBuf,
    line: Option<usize>,
    what: String,
}

impl Problem {
    /// A fault of a whole file.
    pub(crate) fn in_file(file: &Path, what: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), line: None, what: what.to_string() }
    }

    /// A fault of one line of a file; lines count from 1.
    pub(crate) fn in_line(file: &Path, line: usize, what: impl fmt::Display) -> Self {
        Self { file: file.to_owned(), line: Some(line), what: what.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// The text of a file.
pub(crate) fn read(file: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(file).map_err(|error| Problem::in_file(file, error))
}

/// The files in a folder with an ending (without the dot), sorted by name.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Problem> {
    let in_folder = |error| Problem::in_file(folder, error);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(in_folder)? {
        let path = entry.map_err(in_folder)?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

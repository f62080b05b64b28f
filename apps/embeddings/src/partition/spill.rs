//! Records that are spread over several files, each of which is read back alone: so records are sorted, or
//! come to their places, in a fraction of the memory that all of them need.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use cotangent_apps_common::error::{AppError, Result};

/// Files of records. They are deleted once they have been read, and with the directory.
pub(crate) struct Spill {
    paths: Vec<PathBuf>,
    files: Vec<BufWriter<File>>,
}

/// Bytes that are written to one file together.
const BUFFER: usize = 1 << 15;

impl Spill {
    /// So many files in a directory.
    ///
    /// # Errors
    /// If they cannot be created.
    pub(crate) fn new(directory: &Path, name: &str, count: usize) -> Result<Self> {
        let paths: Vec<PathBuf> = (0..count).map(|i| directory.join(format!("{name}-{i}"))).collect();
        let create = |path: &PathBuf| {
            let file = File::create(path).map_err(AppError::io(path))?;
            Ok(BufWriter::with_capacity(BUFFER, file))
        };
        let files = paths.iter().map(create).collect::<Result<_>>()?;
        Ok(Spill { paths, files })
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Adds bytes to a file.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn write(&mut self, file: usize, bytes: &[u8]) -> Result<()> {
        self.files[file].write_all(bytes).map_err(AppError::io(&self.paths[file]))
    }

    /// Ends the writing of all files.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn written(mut self) -> Result<Spilled> {
        for (file, path) in self.files.iter_mut().zip(&self.paths) {
            file.flush().map_err(AppError::io(path))?;
        }
        Ok(Spilled { paths: self.paths })
    }
}

/// Files of records that have been written.
pub(crate) struct Spilled {
    paths: Vec<PathBuf>,
}

impl Spilled {
    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(crate) fn read(&self, file: usize) -> Result<Records> {
        let path = self.paths[file].clone();
        let file = File::open(&path).map_err(AppError::io(&path))?;
        Ok(Records { file: BufReader::with_capacity(1 << 16, file), path })
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// If it cannot be deleted.
    pub(crate) fn remove(&self, file: usize) -> Result<()> {
        let path = &self.paths[file];
        std::fs::remove_file(path).map_err(AppError::io(path))
    }
}

/// The records of a file.
pub(crate) struct Records {
    path: PathBuf,
    file: BufReader<File>,
}

impl Records {
    /// Reads the first bytes of a record; `false` if there is none.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn next(&mut self, bytes: &mut [u8]) -> Result<bool> {
        match self.file.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(AppError::io(&self.path)(error)),
        }
    }

    /// Reads the other bytes of a record.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn bytes(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact(bytes).map_err(AppError::io(&self.path))
    }
}

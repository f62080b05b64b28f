//! Errors of files of tensors.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file of tensors could not be written or read. Shown as the file's name and the cause.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The content is not in the format, or cannot be put into it.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the tensor's name if the file has names.
        message: String,
    },
}

impl FileError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| FileError::Io { path: path.into(), source }
    }

    pub(super) fn content(path: &Path) -> impl FnOnce(String) -> Self + '_ {
        move |message| FileError::Content { path: path.into(), message }
    }
}

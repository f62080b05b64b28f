//! The output directory of a run. Only one run at a time writes there.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::error::{AppError, Result};

/// The locked file. It stays after the run, but the system releases the lock when the process ends, even
/// if it is killed.
const LOCK: &str = ".lock";

/// Keeps other runs out of a directory until it is dropped.
#[must_use = "the directory is free when this is dropped"]
#[derive(Debug)]
pub struct Held {
    _lock: File,
}

/// Creates an output directory if it does not exist, and locks it.
///
/// # Errors
/// If it cannot be written to, or another run holds it.
pub fn hold(directory: &Path) -> Result<Held> {
    std::fs::create_dir_all(directory).map_err(AppError::io(directory))?;
    let path = directory.join(LOCK);
    let file = File::options().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(AppError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Held { _lock: file }),
        Err(TryLockError::WouldBlock) => {
            Err(AppError::content(directory, "another run writes there; choose another --out"))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(Held { _lock: file }),
        Err(TryLockError::Error(error)) => Err(AppError::io(&path)(error)),
    }
}

/// A text that identifies a run: checksums of the options that must be the same when the run is resumed,
/// and of its data.
///
/// # Panics
/// If the options cannot be written as JSON.
pub fn fingerprint(options: &impl Serialize, data: u32) -> String {
    let options = serde_json::to_vec(options).expect("options are JSON");
    format!("{:08x}-{data:08x}", crc32fast::hash(&options))
}

//! The output directory of a run. Only one run at a time writes there.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use cotangent::optim::train::{CHECKPOINT, MODEL};

use crate::error::{AppError, Result};
use crate::{curves, say};

/// The locked file. It stays after the run, but the system releases the lock when the process ends, even
/// if it is killed.
const LOCK: &str = ".lock";

/// Keeps other runs out of a directory until it is dropped.
#[must_use = "the directory is free when this is dropped"]
#[derive(Debug)]
pub struct Held {
    lock: File,
}

impl Drop for Held {
    /// Closing the file is not enough: a process that was started in between may still have it open for a
    /// moment.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Creates an output directory if it does not exist, and locks it.
///
/// # Errors
/// If it cannot be written to, or another run holds it.
pub fn hold(directory: &Path) -> Result<Held> {
    hold_for(directory, "--out")
}

/// Same as [`hold`], for the directory of another option.
///
/// # Errors
/// As [`hold`].
pub fn hold_for(directory: &Path, option: &str) -> Result<Held> {
    std::fs::create_dir_all(directory).map_err(AppError::io(directory))?;
    let path = directory.join(LOCK);
    let file = File::options().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(AppError::io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(Held { lock: file }),
        Err(TryLockError::WouldBlock) => {
            Err(AppError::content(directory, format!("another run writes there; choose another {option}")))
        }
        // Some file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(Held { lock: file }),
        Err(TryLockError::Error(error)) => Err(AppError::io(&path)(error)),
    }
}

/// Same as [`hold`], for a program that is no training. Its `metrics.json` and other files would replace
/// those of a trained model, which could not be loaded then.
///
/// # Errors
/// As [`hold`]; if a model or a checkpoint is there.
pub fn hold_without_model(directory: &Path) -> Result<Held> {
    let held = hold(directory)?;
    match [MODEL, CHECKPOINT].into_iter().find(|name| directory.join(name).exists()) {
        Some(name) => {
            let message = format!("a trained model is there ({name}); choose another --out");
            Err(AppError::content(directory, message))
        }
        None => Ok(held),
    }
}

/// The figures of several seeds. Their own files are in the subdirectories [`of_seed`].
pub(crate) const SEEDS: &str = "seeds.json";

/// The subdirectory of one of several seeds.
pub(crate) fn of_seed(seed: u64) -> String {
    format!("seed-{seed}")
}

/// Whether a subdirectory has a name of [`of_seed`], and a file beside its lock.
fn is_of_seed(directory: &Path, name: &str) -> bool {
    let entries = || std::fs::read_dir(directory.join(name)).into_iter().flatten().flatten();
    name.strip_prefix("seed-").is_some_and(|seed| seed.parse::<u64>().is_ok())
        && entries().any(|entry| entry.file_name() != LOCK)
}

/// Moves what an earlier training has written in this directory to a new subdirectory, `previous-1` or the
/// next number that is free: the checkpoint, the model, `metrics.json`, what several seeds have left, and the
/// other files that the training `writes`. So a new training loses nothing, and does not mix its files with
/// those of another. Does nothing if there is no checkpoint, no model, no seed and no file that it `writes`:
/// `metrics.json` and `curves.svg` alone may be of another program.
///
/// # Errors
/// If a file cannot be moved.
pub fn set_aside(directory: &Path, writes: &dyn Fn(&str) -> bool) -> Result<()> {
    let entries = std::fs::read_dir(directory).map_err(AppError::io(directory))?;
    let names =
        entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<std::io::Result<Vec<_>>>();
    let names = names.map_err(AppError::io(directory))?;
    let writes = |name: &str| writes(name) || is_of_seed(directory, name);
    let is_of_a_training = |name: &str| [CHECKPOINT, MODEL, SEEDS].contains(&name) || writes(name);
    if !names.iter().any(|name| is_of_a_training(&name.to_string_lossy())) {
        return Ok(());
    }
    let mut numbered = (1..).map(|number| directory.join(format!("previous-{number}")));
    let previous = numbered.find(|path| !path.exists()).expect("numbers have no end");
    let error = |error| AppError::io(&previous)(error);
    std::fs::create_dir(&previous).map_err(error)?;
    for name in names {
        let text = name.to_string_lossy();
        if TRAINING.contains(&&*text) || writes(&text) {
            rename(&directory.join(&name), &previous.join(&name)).map_err(error)?;
        }
    }
    // Last, so that what an interruption has left is moved the next time.
    if directory.join(CHECKPOINT).exists() {
        std::fs::rename(directory.join(CHECKPOINT), previous.join(CHECKPOINT)).map_err(error)?;
    }
    say!("the files of an earlier run are now in {}", previous.display());
    Ok(())
}

/// Moves a file or a directory. Of a directory that a run holds, the first seed's, the content is moved
/// without the lock.
fn rename(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() || hold(from).is_ok() {
        return std::fs::rename(from, to);
    }
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != LOCK {
            std::fs::rename(from.join(&name), to.join(&name))?;
        }
    }
    Ok(())
}

/// What several programs write beside the checkpoint.
const TRAINING: [&str; 6] = ["checkpoint.next", MODEL, "model.next", "metrics.json", SEEDS, curves::FILE];

/// A text that identifies a run: checksums of the options that must be the same when the run is resumed,
/// and of its data.
///
/// # Panics
/// If the options cannot be written as JSON.
pub fn fingerprint(options: &impl Serialize, data: u32) -> String {
    let options = serde_json::to_vec(options).expect("options are JSON");
    format!("{:08x}-{data:08x}", crc32fast::hash(&options))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a process has one that was started meanwhile.
    #[test]
    fn a_directory_is_free_though_its_lock_is_still_open_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let held = hold(dir.path()).unwrap();
        let copy = held.lock.try_clone().unwrap();
        assert!(hold(dir.path()).is_err());
        drop(held);
        let _next = hold(dir.path()).unwrap();
        drop(copy);
    }

    /// Only a directory with a checkpoint, a model or another file that the training writes has a training's
    /// files, and only those are moved.
    #[test]
    fn the_files_of_an_earlier_training_are_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        let start = || set_aside(directory.path(), &|name| name.starts_with("epoch-")).unwrap();
        write("metrics.json", "1");
        start();
        assert!(path("metrics.json").exists() && !path("previous-1").exists());
        let moved = ["checkpoint.bin", "metrics.json", "epoch-3.safetensors"];
        for text in ["1", "2"] {
            moved.iter().chain(&["pairs.tsv"]).for_each(|name| write(name, text));
            start();
            assert!(moved.iter().all(|name| !path(name).exists()) && path("pairs.tsv").exists());
        }
        for (previous, text) in [("previous-1", "1"), ("previous-2", "2")] {
            for name in moved {
                assert_eq!(std::fs::read_to_string(path(previous).join(name)).unwrap(), text);
            }
        }
        // Without a checkpoint too, which may have been deleted.
        for (previous, name) in [("previous-3", MODEL), ("previous-4", "epoch-9.safetensors")] {
            write(name, "");
            start();
            assert!(!path(name).exists() && path(previous).join(name).exists());
        }
    }

    /// Also an empty subdirectory of a seed that has begun, whose lock stays.
    #[test]
    fn seeds_of_an_earlier_training_are_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let held = hold(&path("seed-7")).unwrap();
        let start = || set_aside(directory.path(), &|_| false).unwrap();
        start();
        assert!(!path("previous-1").exists(), "there is only a lock");
        drop(hold(&path("seed-8")).unwrap());
        for name in ["seeds.json", "seed-7/checkpoint.bin", "seed-8/checkpoint.bin", "seed-x"] {
            std::fs::write(path(name), "").unwrap();
        }
        start();
        for name in ["seeds.json", "seed-7/checkpoint.bin", "seed-8/checkpoint.bin"] {
            assert!(path("previous-1").join(name).exists() && !path(name).exists(), "{name}");
        }
        assert!(path("seed-x").exists() && path("seed-7").exists() && !path("seed-8").exists());
        assert!(hold(&path("seed-7")).is_err());
        drop(held);
    }

    /// Whether it has ended or not.
    #[test]
    fn a_directory_of_a_training_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("metrics.json"), "").unwrap();
        drop(hold_without_model(directory.path()).unwrap());
        for name in [MODEL, CHECKPOINT] {
            std::fs::write(path(name), "").unwrap();
            let error = hold_without_model(directory.path()).unwrap_err().to_string();
            assert!(error.ends_with(&format!("is there ({name}); choose another --out")), "{error}");
            std::fs::remove_file(path(name)).unwrap();
        }
    }

    /// A second run is refused while the first holds the directory, also from the same process.
    #[test]
    fn a_directory_is_held_by_one_run() {
        let directory = tempfile::tempdir().unwrap();
        let held = hold(directory.path()).unwrap();
        assert!(hold(directory.path()).unwrap_err().to_string().ends_with("choose another --out"));
        drop(held);
        assert!(hold(directory.path()).is_ok());
    }
}

//! The parts of an embedding on the disk, where they are while nobody trains them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};

use crate::partition::frame::{self, Holds, Reader};

const POINTS: Holds = b"ROWS";

/// Parts in files of a directory. A part has a file for each step after which it was stored: that of the last
/// checkpoint stays until the next one, so that parts of one moment are always there.
pub(crate) struct DiskParts {
    directory: PathBuf,
    /// Number of elements of each part.
    elements: Vec<usize>,
    fingerprint: u32,
    steps: Mutex<Steps>,
    /// Bytes that were read and written.
    traffic: AtomicU64,
}

/// For each part the step after which it was stored.
struct Steps {
    last: Vec<Option<u64>>,
    /// In the last checkpoint.
    kept: Vec<Option<u64>>,
}

impl DiskParts {
    /// Parts of so many elements each; nothing is stored yet. `fingerprint` is that of the run.
    pub(crate) fn new(directory: &Path, elements: Vec<usize>, fingerprint: u32) -> Self {
        let none = vec![None; elements.len()];
        let steps = Mutex::new(Steps { last: none.clone(), kept: none });
        DiskParts {
            directory: directory.to_path_buf(),
            elements,
            fingerprint,
            steps,
            traffic: AtomicU64::new(0),
        }
    }

    /// The parts of a checkpoint, which were stored after these steps.
    pub(crate) fn resumed(self, steps: &[u64]) -> Self {
        let kept: Vec<Option<u64>> = steps.iter().copied().map(Some).collect();
        DiskParts { steps: Mutex::new(Steps { last: kept.clone(), kept }), ..self }
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the parts as they were stored last are on the disk, so that a checkpoint can name them.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(crate) fn sync(&self) -> Result<()> {
        let steps = self.steps();
        for part in 0..steps.last.len() {
            let (last, kept) = (steps.last[part], steps.kept[part]);
            if let Some(step) = last.filter(|_| last != kept) {
                frame::sync(&self.path(part, step))?;
            }
        }
        frame::sync(&self.directory)
    }

    /// Says that a checkpoint names the parts as they were stored last. Files of earlier steps are deleted.
    ///
    /// # Errors
    /// If one cannot be deleted.
    pub(crate) fn keep(&self) -> Result<()> {
        let mut steps = self.steps();
        for part in 0..steps.last.len() {
            let (last, kept) = (steps.last[part], steps.kept[part]);
            steps.kept[part] = last;
            if kept != last
                && let Some(step) = kept
            {
                self.remove(part, step)?;
            }
        }
        Ok(())
    }

    /// Deletes the files of parts that no checkpoint names: those of a run that was killed.
    ///
    /// # Errors
    /// If one cannot be deleted.
    pub(crate) fn remove_others(&self) -> Result<()> {
        let steps = self.steps();
        let named = |name: &str| {
            let mut kept = steps.kept.iter().enumerate();
            kept.any(|(part, step)| step.is_some_and(|step| file_name(part, step) == name))
        };
        for entry in std::fs::read_dir(&self.directory).map_err(AppError::io(&self.directory))? {
            let entry = entry.map_err(AppError::io(&self.directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_part(&name) && !named(&name) {
                std::fs::remove_file(entry.path()).map_err(AppError::io(&entry.path()))?;
            }
        }
        Ok(())
    }

    /// The rows of a part as they were stored last.
    ///
    /// # Errors
    /// If they cannot be read.
    ///
    /// # Panics
    /// If the part is not stored.
    pub(crate) fn load<T: Float>(&self, part: usize) -> Result<Vec<T>> {
        let step = self.steps().last[part].expect("a part is stored before it is loaded");
        let (path, count) = (self.path(part, step), self.elements[part]);
        let mut reader = Reader::open(&path, (POINTS, self.fingerprint))?;
        let mut rows = Vec::with_capacity(count);
        reader.elements(count, size_of::<T>(), |x| rows.push(x), T::read_le)?;
        reader.finish()?;
        self.traffic.fetch_add((count * size_of::<T>()) as u64, Ordering::Relaxed);
        Ok(rows)
    }

    /// Stores the rows of a part as they are after so many steps of the training.
    ///
    /// # Errors
    /// If they cannot be written. What was stored before stays.
    pub(crate) fn store<T: Float>(&self, part: usize, step: u64, rows: &[T]) -> Result<()> {
        if self.steps().last[part] == Some(step) {
            return Ok(());
        }
        let bytes = size_of_val(rows) as u64;
        frame::write_unsynced(&self.path(part, step), (POINTS, self.fingerprint), bytes, |content| {
            content.elements(rows, |x, bytes| x.write_le(bytes))
        })?;
        self.traffic.fetch_add(bytes, Ordering::Relaxed);
        let mut steps = self.steps();
        let before = steps.last[part].replace(step);
        match before.filter(|_| before != steps.kept[part]) {
            Some(before) => self.remove(part, before),
            None => Ok(()),
        }
    }

    /// Forgets a part as it was stored last, because another rank has it now. What the last checkpoint names
    /// stays.
    ///
    /// # Errors
    /// If its file cannot be deleted.
    pub(crate) fn forget(&self, part: usize) -> Result<()> {
        let mut steps = self.steps();
        let kept = steps.kept[part];
        match std::mem::replace(&mut steps.last[part], kept).filter(|&last| Some(last) != kept) {
            Some(last) => self.remove(part, last),
            None => Ok(()),
        }
    }

    /// Bytes that were read and written.
    pub(crate) fn traffic(&self) -> u64 {
        self.traffic.load(Ordering::Relaxed)
    }

    fn path(&self, part: usize, step: u64) -> PathBuf {
        self.directory.join(file_name(part, step))
    }

    fn remove(&self, part: usize, step: u64) -> Result<()> {
        let path = self.path(part, step);
        std::fs::remove_file(&path).map_err(AppError::io(&path))
    }
}

/// The name of the file of a part after a step.
fn file_name(part: usize, step: u64) -> String {
    format!("part-{part:04}-{step:012}")
}

/// Whether a file has such a name.
pub(crate) fn is_part(name: &str) -> bool {
    name.starts_with("part-") && name.len() == "part-0000-000000000000".len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// At most two files of a part are there, and always those of the last checkpoint.
    #[test]
    fn the_parts_of_a_checkpoint_stay_until_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let parts = DiskParts::new(directory.path(), vec![2, 1], 5);
        let store = |part, step, rows: &[f32]| parts.store(part, step, rows).unwrap();
        store(0, 0, &[1.0, 2.0]);
        store(1, 0, &[3.0]);
        parts.keep().unwrap();
        store(0, 1, &[4.0, 5.0]);
        store(0, 2, &[6.0, 7.0]);
        let names = ["part-0000-000000000000", "part-0000-000000000002", "part-0001-000000000000"];
        assert_eq!(files(directory.path()), names);
        assert_eq!(parts.load::<f32>(0).unwrap(), [6.0, 7.0]);
        // As after a kill.
        let new = || DiskParts::new(directory.path(), vec![2, 1], 5);
        let parts_then = new().resumed(&[0, 0]);
        assert_eq!(parts_then.load::<f32>(0).unwrap(), [1.0, 2.0]);
        parts.keep().unwrap();
        assert_eq!(files(directory.path()), names[1..]);
        store(1, 3, &[8.0]);
        new().resumed(&[2, 0]).remove_others().unwrap();
        assert_eq!(files(directory.path()), names[1..]);
        // Another rank has the parts now.
        store(0, 4, &[9.0, 9.0]);
        parts.forget(0).unwrap();
        parts.forget(0).unwrap();
        assert_eq!(files(directory.path()), names[1..]);
    }
}

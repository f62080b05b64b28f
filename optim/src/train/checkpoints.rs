//! Checkpoints of a training that may diverge.
//!
//! A checkpoint is good if the loss of the step after it is finite. Until that is known, it is kept
//! beside the last good one. Then it replaces the last good one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;
use crate::train::error::{Cause, Kept, TrainError};

/// The checkpoint's name in the output directory.
pub const CHECKPOINT: &str = "checkpoint.bin";

/// The best model's name in the output directory.
const MODEL: &str = "model.safetensors";

/// The last good checkpoint of a run, and possibly the next; and the best model that it knows of, and
/// possibly the next. So a model and a checkpoint on disk are always of the same course of training.
pub struct Checkpoints {
    directory: PathBuf,
    unit: &'static str,
    /// Number of steps or epochs done at the good checkpoint, and at the next one if there is one.
    good: u64,
    pending: Option<u64>,
    /// Whether there is a next best model. The next checkpoint knows of it.
    better_model: bool,
    last: Instant,
}

impl Checkpoints {
    /// Checkpoints of a run in a directory. `unit` is "step" or "epoch", and `done` the number of them so
    /// far. Writes the first checkpoint at once, so that a directory that cannot be written
    /// to is found before the work.
    ///
    /// # Errors
    /// If `write` fails.
    pub fn new(
        directory: &Path,
        unit: &'static str,
        done: u64,
        write: impl FnOnce(&Path) -> Result<(), CheckpointError>,
    ) -> Result<Self, TrainError> {
        write(&directory.join(CHECKPOINT))?;
        Ok(Checkpoints {
            directory: directory.to_path_buf(),
            unit,
            good: done,
            pending: None,
            better_model: false,
            last: Instant::now(),
        })
    }

    /// The file of the best model that the good checkpoint knows of.
    pub(super) fn model(&self) -> PathBuf {
        self.directory.join(MODEL)
    }

    fn next_model(&self) -> PathBuf {
        self.directory.join("model.next")
    }

    fn next(&self) -> PathBuf {
        self.directory.join("checkpoint.next")
    }

    /// Writes the best model so far. It replaces the one before together with the next checkpoint.
    pub(super) fn write_model<E>(&mut self, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        write(&self.next_model())?;
        self.better_model = true;
        Ok(())
    }

    /// Whether this much time has passed since the last checkpoint.
    pub fn due(&self, time: Duration) -> bool {
        self.last.elapsed() >= time
    }

    /// Writes the next checkpoint.
    ///
    /// # Errors
    /// If `write` fails.
    pub fn write(
        &mut self,
        done: u64,
        write: impl FnOnce(&Path) -> Result<(), CheckpointError>,
    ) -> Result<(), TrainError> {
        write(&self.next())?;
        (self.pending, self.last) = (Some(done), Instant::now());
        Ok(())
    }

    /// Takes the loss of a step (counted from 1) or its validation, `what`, or the reason why the step was
    /// refused, and so learns whether the checkpoint before it is good.
    ///
    /// # Errors
    /// If training cannot go on. The last good checkpoint is kept.
    pub fn checked(
        &mut self,
        step: u64,
        what: &'static str,
        value: Result<f64, OptimError>,
    ) -> Result<f64, TrainError> {
        let cause = match finite(what, value) {
            Ok(value) => return self.keep().map(|()| value),
            Err(cause) => cause,
        };
        // It does no harm if these files stay.
        if self.pending.take().is_some() {
            let _ = std::fs::remove_file(self.next());
        }
        if std::mem::take(&mut self.better_model) {
            let _ = std::fs::remove_file(self.next_model());
        }
        let kept = Kept { path: self.directory.join(CHECKPOINT), unit: self.unit, done: self.good };
        Err(TrainError::Diverged { step, cause, kept: Some(kept) })
    }

    /// Marks the next checkpoint, if there is one, and the best model that it knows of as good.
    ///
    /// # Errors
    /// If they cannot replace the last ones.
    pub fn keep(&mut self) -> Result<(), TrainError> {
        if let Some(done) = self.pending.take() {
            if std::mem::take(&mut self.better_model) {
                let model = self.model();
                std::fs::rename(self.next_model(), &model).map_err(TrainError::io(&model))?;
            }
            let path = self.directory.join(CHECKPOINT);
            std::fs::rename(self.next(), &path).map_err(TrainError::io(&path))?;
            self.good = done;
        }
        Ok(())
    }
}

/// A finite number, or why training cannot go on.
pub(super) fn finite(what: &'static str, value: Result<f64, OptimError>) -> Result<f64, Box<Cause>> {
    match value {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => Err(Box::new(Cause::NotFinite { what, value })),
        Err(error) => Err(Box::new(Cause::Step(error))),
    }
}

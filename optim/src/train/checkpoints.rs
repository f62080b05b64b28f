//! Checkpoints of a training that may diverge.
//!
//! A checkpoint is good if the loss of the step after it is finite. Until that is known, it is kept
//! beside the last good one. Then it replaces the last good one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;
use crate::train::error::TrainError;

/// The checkpoint's name in the output directory.
pub const CHECKPOINT: &str = "checkpoint.bin";

/// The last good checkpoint of a run, and possibly the next.
pub struct Checkpoints {
    path: PathBuf,
    next: PathBuf,
    what: &'static str,
    /// Number of steps or epochs done at the good checkpoint, and at the next one if there is one.
    good: u64,
    pending: Option<u64>,
    last: Instant,
}

impl Checkpoints {
    /// Checkpoints of a run in a directory. `what` is the unit, "step" or "epoch", and `done` the number
    /// of them so far. Writes the first checkpoint at once, so that a directory that cannot be written
    /// to is found before the work.
    ///
    /// # Errors
    /// If `write` fails.
    pub fn new(
        directory: &Path,
        what: &'static str,
        done: u64,
        write: impl FnOnce(&Path) -> Result<(), CheckpointError>,
    ) -> Result<Self, TrainError> {
        let (path, next) = (directory.join(CHECKPOINT), directory.join("checkpoint.next"));
        write(&path)?;
        Ok(Checkpoints { path, next, what, good: done, pending: None, last: Instant::now() })
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
        write(&self.next)?;
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
        what: &str,
        value: Result<f64, OptimError>,
    ) -> Result<f64, TrainError> {
        let cause = match finite(what, value) {
            Ok(value) => return self.keep().map(|()| value),
            Err(cause) => cause,
        };
        if self.pending.take().is_some() {
            // It does no harm if this file stays.
            let _ = std::fs::remove_file(&self.next);
        }
        let kept = format!("; {} is that of {} {}", self.path.display(), self.what, self.good);
        Err(TrainError::Diverged { step, cause, kept })
    }

    /// Marks the next checkpoint, if there is one, as good.
    ///
    /// # Errors
    /// If it cannot replace the last one.
    pub fn keep(&mut self) -> Result<(), TrainError> {
        if let Some(done) = self.pending.take() {
            std::fs::rename(&self.next, &self.path).map_err(TrainError::io(&self.path))?;
            self.good = done;
        }
        Ok(())
    }
}

/// A finite number, or why training cannot go on.
pub(super) fn finite(what: &str, value: Result<f64, OptimError>) -> Result<f64, String> {
    match value {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => Err(format!("the {what} is {value}")),
        Err(error) => Err(error.to_string()),
    }
}

//! Checkpoints of a training that may diverge.
//!
//! A checkpoint is good if the loss of the step after it is finite. Until that is known, the new checkpoint
//! is kept in a second file beside the last good one; then it replaces the last good one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;
use crate::train::error::{Cause, Kept, TrainError};

/// The file name of the checkpoint in the output directory.
pub const CHECKPOINT: &str = "checkpoint.bin";

/// The file name of the best model in the output directory.
pub const MODEL: &str = "model.safetensors";

/// The checkpoint files of a run: the last good checkpoint, and the next one until it is known to be good.
/// The best model is handled alike: a better model replaces it only together with the next checkpoint. So the
/// model and the checkpoint on disk belong to the same history, unless the process is killed between the two
/// renames.
pub(super) struct Checkpoints {
    directory: PathBuf,
    unit: &'static str,
    /// Number of steps done at the last good checkpoint.
    good: u64,
    /// The same for the next checkpoint, if there is one.
    pending: Option<u64>,
    /// Whether there is a better model, which replaces the best one together with the next checkpoint.
    better_model: bool,
    /// When the last checkpoint was written.
    last: Instant,
}

impl Checkpoints {
    /// Checkpoints of a run in a directory. `unit` is what a step is called, and `done` is the number of them
    /// done so far. Writes the first checkpoint at once, so that a directory that cannot be written to is
    /// reported before any work is done.
    ///
    /// # Errors
    /// If `write` fails.
    pub(super) fn new(
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

    /// The file of the best model up to the last good checkpoint.
    pub(super) fn model(&self) -> PathBuf {
        self.directory.join(MODEL)
    }

    fn next_model(&self) -> PathBuf {
        self.directory.join("model.next")
    }

    fn next(&self) -> PathBuf {
        self.directory.join("checkpoint.next")
    }

    /// Writes the best model so far, to a second file. It replaces the previous one when the next checkpoint
    /// is good.
    pub(super) fn write_model<E>(&mut self, write: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), E> {
        write(&self.next_model())?;
        self.better_model = true;
        Ok(())
    }

    /// Whether this much time has passed since the last checkpoint.
    pub(super) fn due(&self, time: Duration) -> bool {
        self.last.elapsed() >= time
    }

    /// Writes the next checkpoint, after `done` steps.
    ///
    /// # Errors
    /// If `write` fails.
    pub(super) fn write(
        &mut self,
        done: u64,
        write: impl FnOnce(&Path) -> Result<(), CheckpointError>,
    ) -> Result<(), TrainError> {
        write(&self.next())?;
        (self.pending, self.last) = (Some(done), Instant::now());
        Ok(())
    }

    /// Checks the result of step `step`, counted from 1: its loss or validation (`what` says which), or the
    /// optimiser's reason to refuse it. If the value is finite, it is returned, and the checkpoint before the
    /// step is good.
    ///
    /// # Errors
    /// If the value is not finite, or the step was refused. The last good checkpoint is kept, the next one is
    /// deleted.
    pub(super) fn checked(
        &mut self,
        step: u64,
        what: &'static str,
        value: Result<f64, OptimError>,
    ) -> Result<f64, TrainError> {
        let cause = match finite(what, value) {
            Ok(value) => return self.keep().map(|()| value),
            Err(cause) => cause,
        };
        // Errors are ignored, because these files do no harm.
        if self.pending.take().is_some() {
            let _ = std::fs::remove_file(self.next());
        }
        if std::mem::take(&mut self.better_model) {
            let _ = std::fs::remove_file(self.next_model());
        }
        let kept = Kept { path: self.directory.join(CHECKPOINT), unit: self.unit, done: self.good };
        Err(TrainError::Diverged { unit: self.unit, step, cause, kept: Some(kept) })
    }

    /// Takes the next checkpoint, if there is one, as good: it and its better model replace the last ones.
    ///
    /// # Errors
    /// If the files cannot be renamed.
    pub(super) fn keep(&mut self) -> Result<(), TrainError> {
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

/// The value if it is finite, else why training cannot continue.
pub(super) fn finite(what: &'static str, value: Result<f64, OptimError>) -> Result<f64, Box<Cause>> {
    match value {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => Err(Box::new(Cause::NotFinite { what, value })),
        Err(error) => Err(Box::new(Cause::Step(error))),
    }
}

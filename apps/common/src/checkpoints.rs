//! Checkpoints of a training that may diverge.
//!
//! A checkpoint is good when the loss of the step that follows it is finite. Until that is known it stands
//! beside the last good one, and then takes its place.

use std::path::{Path, PathBuf};
use std::time::Instant;

use cotangent::engine::files::checkpoint::CheckpointError;
use cotangent::optim::OptimError;

use crate::error::{AppError, Result};

/// The checkpoint's name in the output directory.
pub const CHECKPOINT: &str = "checkpoint.bin";

/// The last good checkpoint of a run, and perhaps the next.
pub struct Checkpoints {
    path: PathBuf,
    next: PathBuf,
    what: &'static str,
    /// How many steps or epochs were done at the good one, and at the next if there is one.
    good: u64,
    pending: Option<u64>,
    last: Instant,
}

impl Checkpoints {
    /// Those of a run in a directory that has done so many of what it counts: "step" or "epoch". Writes the
    /// first at once, so that a directory that cannot be written to is found before the work.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn new(
        directory: &Path,
        what: &'static str,
        done: u64,
        write: impl FnOnce(&Path) -> std::result::Result<(), CheckpointError>,
    ) -> Result<Self> {
        let (path, next) = (directory.join(CHECKPOINT), directory.join("checkpoint.next"));
        write(&path)?;
        Ok(Checkpoints { path, next, what, good: done, pending: None, last: Instant::now() })
    }

    /// Whether so many seconds have passed since the last one.
    pub fn due(&self, seconds: u64) -> bool {
        self.last.elapsed().as_secs() >= seconds
    }

    /// Writes the next one.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn write(
        &mut self,
        done: u64,
        write: impl FnOnce(&Path) -> std::result::Result<(), CheckpointError>,
    ) -> Result<()> {
        write(&self.next)?;
        (self.pending, self.last) = (Some(done), Instant::now());
        Ok(())
    }

    /// The loss of a step, counted from 1, or why it was not taken: says whether the checkpoint before it is
    /// good.
    ///
    /// # Errors
    /// If training cannot go on: the last good checkpoint stays.
    pub fn checked(&mut self, step: u64, loss: std::result::Result<f64, OptimError>) -> Result<f64> {
        let error = match loss {
            Ok(loss) if loss.is_finite() => return self.keep().map(|()| loss),
            Ok(loss) => format!("the loss is {loss}"),
            Err(error) => error.to_string(),
        };
        if self.pending.take().is_some() {
            // A file that stays is no harm.
            let _ = std::fs::remove_file(&self.next);
        }
        let kept = format!("; {} is that of {} {}", self.path.display(), self.what, self.good);
        Err(AppError::Diverged { step, cause: error, kept })
    }

    /// The next checkpoint, if there is one, is good.
    ///
    /// # Errors
    /// If it cannot take the place of the last.
    pub fn keep(&mut self) -> Result<()> {
        if let Some(done) = self.pending.take() {
            std::fs::rename(&self.next, &self.path).map_err(AppError::io(&self.path))?;
            self.good = done;
        }
        Ok(())
    }
}

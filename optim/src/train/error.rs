//! Errors of the training loop.

use std::path::{Path, PathBuf};

use cotangent_engine::files::FileError;
use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;
use crate::exchange::ExchangeError;

/// Why a training stopped or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A loss or validation that is not finite, or a step that the optimiser refused.
    #[error("training stopped at {unit} {step}: {cause}{}", after_semicolon(kept))]
    Diverged {
        /// What a step is called: see [`Trainer::unit`](crate::train::Trainer::unit).
        unit: &'static str,
        /// The step, from 1.
        step: u64,
        /// What happened.
        #[source]
        cause: Box<Cause>,
        /// The last good checkpoint, if checkpoints are written.
        kept: Option<Kept>,
    },
    /// An epoch without batches; or, after a resume, an epoch whose batches are all done.
    #[error("epoch {epoch}: no batch is left to train on ({found} batches, {done} of them done)")]
    Batches {
        /// The epoch, from 1.
        epoch: u64,
        /// The number of its batches.
        found: usize,
        /// The number of batches that are done.
        done: u64,
    },
    /// A checkpoint that cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file of parameters that cannot be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another file or directory that cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A setting that the optimiser refuses.
    #[error(transparent)]
    Setting(#[from] OptimError),
    /// Ranks that do not train the same, or cannot reach each other.
    #[error(transparent)]
    Ranks(#[from] ExchangeError),
    /// An error of the caller's evaluation.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// `"; "` and the checkpoint that was kept, or nothing.
fn after_semicolon(kept: &Option<Kept>) -> String {
    kept.as_ref().map_or(String::new(), |kept| format!("; {kept}"))
}

/// Why training stopped at a step.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// A loss or validation that is not finite.
    #[error("the {what} is {value}")]
    NotFinite {
        /// `"loss"` or `"validation"`.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The optimiser refused the step.
    #[error(transparent)]
    Step(OptimError),
}

/// The last good checkpoint of a training that stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is the checkpoint after {unit} {done}", path.display())]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// What a step is called.
    pub unit: &'static str,
    /// The number of steps done at this checkpoint; 0 if it is from the start.
    pub done: u64,
}

impl TrainError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| TrainError::Io { path: path.into(), source }
    }
}

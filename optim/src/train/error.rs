//! What can go wrong in a training.

use std::path::{Path, PathBuf};

use cotangent_engine::files::FileError;
use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;

/// Why a training stopped or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A loss or a validation that is not finite, or a step that was refused.
    #[error("training stopped at step {step}: {cause}{}", after_semicolon(kept))]
    Diverged {
        /// The step, from 1.
        step: u64,
        /// What happened.
        #[source]
        cause: Box<Cause>,
        /// The last good checkpoint, if checkpoints are written.
        kept: Option<Kept>,
    },
    /// An epoch without batches, or with no more than a checkpoint says are done.
    #[error("epoch {epoch} has {found} batches, and {done} of them are done")]
    Batches {
        /// The epoch, from 1.
        epoch: u64,
        /// Its batches.
        found: usize,
        /// Those that are done.
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
        /// What the system says.
        source: std::io::Error,
    },
    /// A setting that makes no sense.
    #[error(transparent)]
    Setting(#[from] OptimError),
    /// What the program itself reports, when it evaluates a model.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// `"; "` and the checkpoint that is left, or nothing.
fn after_semicolon(kept: &Option<Kept>) -> String {
    kept.as_ref().map_or(String::new(), |kept| format!("; {kept}"))
}

/// Why a step could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// A loss or a validation that is not finite.
    #[error("the {what} is {value}")]
    NotFinite {
        /// `"loss"` or `"validation"`.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// What the optimiser reports.
    #[error(transparent)]
    Step(OptimError),
}

/// The last good checkpoint of a training that stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is that of {unit} {done}", path.display())]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// What is counted: `"step"` or `"epoch"`.
    pub unit: &'static str,
    /// How many were done.
    pub done: u64,
}

impl TrainError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| TrainError::Io { path: path.into(), source }
    }
}

//! What can go wrong in a training.

use std::path::{Path, PathBuf};

use cotangent_engine::files::FileError;
use cotangent_engine::files::checkpoint::CheckpointError;

use crate::error::OptimError;

/// Why a training stopped or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A loss or a step that is not finite.
    #[error("training stopped at step {step}: {cause}{kept}")]
    Diverged {
        /// The step, from 1.
        step: u64,
        /// What happened.
        cause: String,
        /// The checkpoint that is left, `; FILE is that of step N`, or nothing.
        kept: String,
    },
    /// An epoch without batches, or with fewer than a checkpoint says are done.
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

impl TrainError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| TrainError::Io { path: path.into(), source }
    }
}

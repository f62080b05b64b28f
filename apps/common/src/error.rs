//! Errors that an application shows to its user: one line that names the file, the line and the cause.

use std::path::{Path, PathBuf};

use cotangent::engine::files::{FileError, checkpoint::CheckpointError};
use cotangent::optim::OptimError;
use cotangent::optim::exchange::ExchangeError;
use cotangent::optim::train::TrainError;

use crate::{print, ranks};

/// The result type of the applications.
pub type Result<T> = std::result::Result<T, AppError>;

/// An error that stops an application. It is shown as one line; the exit code is 2.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// A wrong option.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file whose content is wrong.
    #[error("{}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A line of a file that is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// A checkpoint that cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A file of tensors that cannot be written or read.
    #[error(transparent)]
    Tensors(#[from] FileError),
    /// A setting that an optimiser refuses.
    #[error(transparent)]
    Optimiser(#[from] OptimError),
    /// Another rank has ended, or does not do the same.
    #[error(transparent)]
    Ranks(#[from] ExchangeError),
    /// Training that cannot go on.
    #[error("training stopped at {unit} {step}: {cause}; a lower --lr may help{kept}")]
    Diverged {
        /// What a step is called.
        unit: &'static str,
        /// The step, from 1.
        step: u64,
        /// What happened.
        cause: String,
        /// What was kept, such as a checkpoint: empty, or a text that begins with "; ".
        kept: String,
    },
}

impl From<TrainError> for AppError {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Diverged { unit, step, cause, kept } => {
                let kept = kept.map_or(String::new(), |kept| format!("; {kept}"));
                AppError::Diverged { unit, step, cause: cause.to_string(), kept }
            }
            TrainError::Checkpoint(error) => error.into(),
            TrainError::File(error) => error.into(),
            TrainError::Io { path, source } => AppError::Io { path, source },
            TrainError::Setting(error) => error.into(),
            TrainError::Ranks(error) => AppError::Usage(error.to_string()),
            TrainError::Batches { .. } => AppError::Usage(error.to_string()),
            TrainError::Other(error) => match error.downcast::<AppError>() {
                Ok(error) => *error,
                Err(error) => AppError::Usage(error.to_string()),
            },
        }
    }
}

/// For errors of an application inside the evaluation of a [`Trainer`](cotangent::prelude::Trainer).
impl From<AppError> for TrainError {
    fn from(error: AppError) -> Self {
        TrainError::Other(Box::new(error))
    }
}

/// Returns the loss of a step, counted from 1.
///
/// # Errors
/// If the loss is not finite.
pub fn finite(step: u64, loss: f64) -> Result<f64> {
    if loss.is_finite() { Ok(loss) } else { Err(AppError::diverged(step, format!("the loss is {loss}"))) }
}

impl AppError {
    /// The error for a step (counted from 1) after which training cannot go on.
    pub fn diverged(step: u64, cause: impl ToString) -> Self {
        AppError::Diverged { unit: "step", step, cause: cause.to_string(), kept: String::new() }
    }
    /// The error for a wrong option.
    pub fn usage(message: impl Into<String>) -> Self {
        AppError::Usage(message.into())
    }
    /// The error for a file that cannot be read or written.
    pub fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| AppError::Io { path: path.into(), source }
    }
    /// The error for a file whose content is wrong.
    pub fn content(path: &Path, message: impl Into<String>) -> Self {
        AppError::Content { path: path.into(), message: message.into() }
    }
    /// The error for a wrong line, counted from 1.
    pub fn line(path: &Path, line: u64, message: impl Into<String>) -> Self {
        AppError::Line { path: path.into(), line, message: message.into() }
    }
}

/// Prints the error, if any, as one line to standard error; with `--json` also as an event `error`. Returns
/// the exit code of the process: 0, or 2 after an error. A failure to write to standard output is an error
/// too, unless its reader closed it.
pub fn exit_code(result: Result<()>) -> std::process::ExitCode {
    report(result).into()
}

/// Same as [`exit_code`], as a number.
pub(crate) fn report(result: Result<()>) -> u8 {
    let printed =
        || print::failure().map_or(Ok(()), |error| Err(AppError::io(Path::new("standard output"))(error)));
    match result.and_then(|()| printed()) {
        Ok(()) => 0,
        Err(error) => {
            let message = error.to_string().replace('\n', " ");
            print::event("error", &serde_json::json!({ "message": message }));
            ranks::fail(&message, 2);
            print::error(format_args!("error: {message}"));
            2
        }
    }
}

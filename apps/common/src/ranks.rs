//! A process that is one of several ranks of a job: see [`cotangent::optim::exchange`].
//!
//! Rank 0 prints and writes the results. The others print only errors, and have an output directory of their
//! own, which is removed at the end. An error of any rank ends all of them.

use std::convert::Infallible;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cotangent::optim::exchange::Exchange;

use crate::error::{AppError, Result};
use crate::print;

struct Job {
    ranks: Arc<dyn Exchange>,
    arguments: Vec<OsString>,
    /// The parent of this rank's output directories, except of rank 0.
    scratch: PathBuf,
}

static JOB: OnceLock<Job> = OnceLock::new();

/// Makes this process a rank, which runs an application with these arguments. The first is the name of the
/// program. To be called once, before the application.
pub fn start(ranks: Arc<dyn Exchange>, arguments: Vec<OsString>) {
    let scratch = std::env::temp_dir().join(format!("cotangent-{}", std::process::id()));
    let _ = JOB.set(Job { ranks, arguments, scratch });
}

/// Removes the output directory of this rank, unless it is that of rank 0.
pub fn end() {
    if let Some(job) = JOB.get() {
        // What is left does no harm.
        let _ = std::fs::remove_dir_all(&job.scratch);
    }
}

/// The ranks of this job, if it is one.
pub(crate) fn ranks() -> Option<&'static Arc<dyn Exchange>> {
    JOB.get().map(|job| &job.ranks)
}

/// Whether this process is a rank that prints only errors.
pub(crate) fn is_silent() -> bool {
    ranks().is_some_and(|ranks| ranks.rank() > 0)
}

/// The arguments of the application: those of the process, unless it is a rank.
pub(crate) fn arguments() -> Vec<OsString> {
    JOB.get().map_or_else(|| std::env::args_os().collect(), |job| job.arguments.clone())
}

/// The output directory for what the command line says: the directory itself, or that of this rank. It is a
/// parser of values for clap.
pub(crate) fn output(text: &str) -> std::result::Result<PathBuf, Infallible> {
    Ok(match JOB.get() {
        Some(job) if is_silent() => job.scratch.join("run"),
        _ => PathBuf::from(text),
    })
}

/// A directory that the command line names besides the output: itself for rank 0, and a subdirectory for each
/// other rank. It is a parser of values for clap.
///
/// # Errors
/// Never.
pub fn subdirectory(text: &str) -> std::result::Result<PathBuf, Infallible> {
    Ok(match ranks().map_or(0, |ranks| ranks.rank()) {
        0 => PathBuf::from(text),
        rank => Path::new(text).join(format!("rank-{rank}")),
    })
}

/// Copies what rank 0 has in a directory to the same directory of every other rank, so that all resume alike.
/// The files of earlier runs stay.
///
/// # Errors
/// If a file cannot be read or written, or another rank has ended.
pub(crate) fn copy_output(directory: &Path) -> Result<()> {
    let Some(ranks) = ranks() else { return Ok(()) };
    let lost = |error| AppError::usage(format!("--resume: {error}"));
    let files = if ranks.rank() == 0 { files(directory, directory)? } else { Vec::new() };
    let names = serde_json::to_vec(&files).expect("names are JSON");
    let names = ranks.broadcast(0, &names).map_err(lost)?;
    let names: Vec<String> = serde_json::from_slice(&names).expect("rank 0 sent them");
    for name in names {
        let path = directory.join(&name);
        let own =
            if ranks.rank() == 0 { std::fs::read(&path).map_err(AppError::io(&path))? } else { Vec::new() };
        let bytes = ranks.broadcast(0, &own).map_err(lost)?;
        if ranks.rank() > 0 {
            let parent = path.parent().expect("a directory and a name");
            std::fs::create_dir_all(parent).map_err(AppError::io(parent))?;
            std::fs::write(&path, bytes).map_err(AppError::io(&path))?;
        }
    }
    Ok(())
}

/// The files in a directory and its subdirectories, except those that were set aside, by their names relative
/// to `top`. None if there is no such directory.
fn files(top: &Path, directory: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if !directory.exists() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(directory).map_err(AppError::io(directory))? {
        let entry = entry.map_err(AppError::io(directory))?;
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with("previous-") {
            continue;
        }
        if path.is_dir() {
            found.extend(files(top, &path)?);
        } else if let Some(name) = path.strip_prefix(top).ok().and_then(Path::to_str) {
            found.push(name.to_owned());
        }
    }
    found.sort();
    Ok(found)
}

/// How long another rank waits before it reports an error that rank 0 may report too.
const PATIENCE: Duration = Duration::from_millis(500);

/// Reports an error of this rank and ends all of them. Does nothing in a process that is no rank. Ranks other
/// than 0 wait first: if all have the same error, rank 0 reports it and ends the job before they do.
pub(crate) fn fail(message: &str, code: u8) {
    let Some(job) = JOB.get() else { return };
    match job.ranks.rank() {
        0 => print::error(format_args!("error: {message}")),
        rank => {
            std::thread::sleep(PATIENCE);
            print::error(format_args!("error: rank {rank}: {message}"));
        }
    }
    end();
    job.ranks.abort(code.into())
}

//! The option `--threads`.

use crate::command_line::RUN;
use crate::error::{AppError, Result};

/// `--threads`, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Debug)]
pub struct ThreadsOption {
    /// Number of threads [default: one for each processor].
    #[arg(long, help_heading = RUN)]
    threads: Option<usize>,
}

impl ThreadsOption {
    /// Starts a pool of this many threads.
    ///
    /// # Errors
    /// If their number is 0, or they cannot be started.
    pub fn start(&self) -> Result<Threads> {
        Threads::new(self.threads)
    }
}

/// A pool of threads.
pub struct Threads(rayon::ThreadPool);

impl Threads {
    /// `count` threads, or one for each processor.
    fn new(count: Option<usize>) -> Result<Self> {
        if count == Some(0) {
            return Err(AppError::usage("--threads 0: at least 1 is needed"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0)).build();
        Ok(Threads(pool.map_err(|e| AppError::usage(format!("--threads: {e}")))?))
    }

    /// Runs a closure in the pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

//! The option `--threads`.

use crate::error::{AppError, Result};

/// A pool of threads.
pub struct Threads(rayon::ThreadPool);

impl Threads {
    /// `count` threads, or one per processor.
    ///
    /// # Errors
    /// If `count` is 0, or the threads cannot be started.
    pub fn new(count: Option<usize>) -> Result<Self> {
        if count == Some(0) {
            return Err(AppError::usage("--threads 0: at least 1 is needed"));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0)).build();
        Ok(Threads(pool.map_err(|e| AppError::usage(format!("--threads: {e}")))?))
    }

    /// Runs some work in the pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

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
    /// If their number is 0 or above 1024, or they cannot be started.
    pub fn start(&self) -> Result<Threads> {
        Threads::new(self.threads)
    }
}

/// The largest number of threads: starting tens of thousands of them seems to hang.
const THREADS: usize = 1024;

/// Bytes of a thread's stack. Without optimisation, formulas of nested dual numbers take more than the usual
/// 2 MiB.
const STACK: usize = 16 << 20;

/// A pool of threads.
pub struct Threads(rayon::ThreadPool);

impl Threads {
    /// `count` threads, or one for each processor.
    fn new(count: Option<usize>) -> Result<Self> {
        if count == Some(0) {
            return Err(AppError::usage("--threads 0: at least 1 is needed"));
        }
        if let Some(count) = count.filter(|&count| count > THREADS) {
            return Err(AppError::usage(format!("--threads {count}: at most {THREADS} are possible")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0)).stack_size(STACK);
        Ok(Threads(pool.build().map_err(|e| AppError::usage(format!("--threads: {e}")))?))
    }

    /// Runs a closure in the pool.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.0.install(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_threads_has_bounds() {
        for (count, needed) in
            [(0, "at least 1 is needed"), (THREADS + 1, "at most 1024"), (usize::MAX, "at most")]
        {
            let error = Threads::new(Some(count)).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with(&format!("--threads {count}: {needed}")), "{error}");
        }
        assert_eq!(Threads::new(Some(2)).unwrap().run(rayon::current_num_threads), 2);
    }
}

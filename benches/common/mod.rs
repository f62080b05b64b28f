//! Command-line options of the benchmarks.

/// The number of threads, and the only measurements to run.
pub(crate) struct Options {
    pub(crate) threads: usize,
    pub(crate) only: Option<String>,
}

/// Runs measurements in a pool with as many threads as `--threads` says (default 1). Under `cargo test`
/// the benchmarks are compiled but not run.
pub(crate) fn run(measure: impl FnOnce(Options) + Send) {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).cloned()
    };
    if !arguments.iter().any(|a| a == "--bench") {
        return;
    }
    let threads = value("--threads").map_or(1, |n| n.parse().expect("a number of threads"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| measure(Options { threads, only: value("--only") }));
}

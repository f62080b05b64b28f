//! Several runs with different seeds: `--seeds N`.

use std::path::{Path, PathBuf};

use cotangent::optim::train::CHECKPOINT;
use serde::Serialize;

use crate::error::{AppError, Result};
use crate::interval::Interval;
use crate::output::{self, Held};
use crate::{metrics, options, print, say};

/// `--seeds`, to be flattened into the options of an application.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct SeedsOption {
    /// Number of runs, with consecutive seeds. Two or more go to the subdirectories seed-N of the output
    /// directory, and their figures to its seeds.json.
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    seeds: u64,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its seed.
    pub seed: u64,
    /// Its output directory.
    pub out: PathBuf,
    /// Whether it continues from the checkpoint in that directory.
    pub resume: bool,
}

impl SeedsOption {
    /// Keeps other runs out of `out`, if several seeds, or `several` models, write to subdirectories of it. A
    /// single run does that itself.
    ///
    /// # Errors
    /// As [`output::hold`].
    pub fn hold(self, out: &Path, several: bool) -> Result<Option<Held>> {
        (several || self.seeds > 1).then(|| output::hold(out)).transpose()
    }

    /// The runs, whose seeds are `first` and the numbers after it. A single run writes to `out` itself. With
    /// `resume`, each of several runs continues from its checkpoint if it has one, and starts otherwise. A
    /// single run must have a checkpoint, unless it is one of a table's.
    ///
    /// # Errors
    /// If the number of runs is 0, the last seed would be too large, or a single run has no checkpoint to
    /// continue from.
    pub fn runs(self, first: u64, out: &Path, resume: bool, in_table: bool) -> Result<Vec<Run>> {
        let single = self.seeds == 1;
        let checkpoint = |out: &Path| out.join(CHECKPOINT);
        if single && resume && !in_table {
            let checkpoint = checkpoint(out);
            std::fs::metadata(&checkpoint).map_err(AppError::io(&checkpoint))?;
        }
        let run = |seed| {
            let out = if single { out.into() } else { out.join(output::of_seed(seed)) };
            Run { seed, resume: resume && checkpoint(&out).exists(), out }
        };
        Ok(options::seeds(first, self.seeds)?.map(run).collect())
    }
}

/// A result of several runs: that of the best run, and the mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// What the result is: "test accuracy".
    pub figure: &'static str,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// By what the best run is chosen: "validation".
    pub best_by: &'static str,
    /// The seed of the best run.
    pub best_seed: u64,
    /// The result of that run.
    pub best: f64,
    /// The mean over all runs.
    pub mean: Interval,
}

impl Summary {
    /// The summary of runs: (seed, result, number that the best is chosen by) each. The run with the largest
    /// such number is the best; of equal ones the first. `best_by` says what that number is.
    ///
    /// # Panics
    /// If there are no runs.
    pub fn new(figure: &'static str, best_by: &'static str, runs: &[(u64, f64, f64)]) -> Self {
        let best =
            runs.iter().copied().reduce(|a, b| if b.2 > a.2 { b } else { a }).expect("at least one run");
        let figures: Vec<f64> = runs.iter().map(|run| run.1).collect();
        let seeds = runs.iter().map(|run| run.0).collect();
        Summary { figure, seeds, best_by, best_seed: best.0, best: best.1, mean: Interval::mean(&figures) }
    }
}

/// Prints the summaries and writes them to `seeds.json` in the directory `out`. Does nothing for a single
/// run. `digits` is the number of digits after the decimal point.
///
/// # Errors
/// If the file cannot be written.
pub fn report(summaries: &[Summary], out: &Path, digits: usize) -> Result<()> {
    let several: Vec<&Summary> = summaries.iter().filter(|summary| summary.seeds.len() > 1).collect();
    if several.is_empty() {
        return Ok(());
    }
    for Summary { figure, seeds, best_by, best_seed, best, mean } in &several {
        let (count, half) = (seeds.len(), mean.half_width.unwrap_or(f64::NAN));
        say!(
            "{figure} of {count} seeds: mean {:.digits$} ± {half:.digits$}; \
             {best:.digits$} with seed {best_seed}, the best by {best_by}",
            mean.mean
        );
    }
    print::event("seeds", &Figures { figures: &several });
    metrics::write_json(&out.join(output::SEEDS), &Figures { figures: &several })
}

#[derive(Serialize)]
struct Figures<'a> {
    figures: &'a [&'a Summary],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_directories_and_seeds_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path();
        let runs = |seeds, resume| SeedsOption { seeds }.runs(7, out, resume, false).unwrap();
        let alone = SeedsOption { seeds: 1 }.runs(7, out, true, false);
        assert!(alone.unwrap_err().to_string().contains("checkpoint.bin: No such file"));
        let [run] = &SeedsOption { seeds: 1 }.runs(7, out, true, true).unwrap()[..] else {
            panic!("one run")
        };
        assert!(!run.resume, "a run of a table that has not begun");
        std::fs::write(out.join("checkpoint.bin"), "").unwrap();
        assert_eq!(runs(1, true), [Run { seed: 7, out: out.into(), resume: true }]);
        std::fs::create_dir(out.join("seed-8")).unwrap();
        std::fs::write(out.join("seed-8/checkpoint.bin"), "").unwrap();
        let found: Vec<_> = runs(3, true).iter().map(|run| (run.seed, run.resume)).collect();
        assert_eq!(found, [(7, false), (8, true), (9, false)]);
        assert!(runs(3, false).iter().all(|run| !run.resume && run.out.starts_with(out)));
        assert!(SeedsOption { seeds: 0 }.runs(7, out, false, false).is_err());
        assert!(SeedsOption { seeds: 2 }.runs(u64::MAX, out, false, false).is_err());
    }

    #[test]
    fn several_runs_keep_others_out_of_their_common_directory() {
        let dir = tempfile::tempdir().unwrap();
        let hold = |seeds, several| SeedsOption { seeds }.hold(dir.path(), several);
        assert!(hold(1, false).unwrap().is_none());
        let held = hold(2, false).unwrap();
        assert!(held.is_some() && hold(1, true).is_err());
    }

    /// The best run is chosen by its validation result, not by its test result.
    #[test]
    fn the_best_is_best_by_validation() {
        let summary = Summary::new(
            "test accuracy",
            "validation",
            &[(1, 0.5, 0.9), (2, 0.25, 0.95), (3, 0.75, f64::NAN)],
        );
        assert_eq!((summary.best_seed, summary.best), (2, 0.25));
        assert_eq!(summary.mean.mean, 0.5);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("seeds.json");
        report(&[Summary::new("test accuracy", "validation", &[(1, 0.5, 0.9)])], dir.path(), 2).unwrap();
        assert!(!path.exists(), "a single run has no interval");
        report(&[summary], dir.path(), 2).unwrap();
        let written: serde_json::Value = metrics::read_json(&path).unwrap();
        let figure = &written["figures"][0];
        assert_eq!((&figure["best_seed"], &figure["seeds"][2]), (&2.into(), &3.into()));
    }
}

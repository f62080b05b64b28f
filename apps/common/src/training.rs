//! What the trainings of the applications have in common: the options of a run, its seeds, its trainer, what
//! is shown of it. An application brings its configuration, its model, its data and its metric.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use cotangent::optim::train::{Progress, Trainer};
use cotangent::prelude::Device;
use serde::Serialize;
use serde_json::Value;

use crate::command_line::{OUT, RUN};
use crate::config;
use crate::device::DeviceOption;
use crate::error::Result;
use crate::options::{self, RunOptions};
use crate::progress::Figure;
use crate::ranks;
use crate::seeds::{Run, SeedsOption};
use crate::threads::ThreadsOption;

/// How a training runs, to be flattened into the options of an application.
#[derive(Args, Clone, Debug)]
pub struct TrainingOptions {
    /// The number of seeds.
    #[command(flatten)]
    pub seeds: SeedsOption,
    /// The number of threads.
    #[command(flatten)]
    pub threads: ThreadsOption,
    /// The device.
    #[command(flatten)]
    pub device: DeviceOption,
    /// Output directory. The files of an earlier run there go to its subdirectory "previous-1", or the next
    /// number that is free.
    #[arg(long, default_value = OUT, value_parser = ranks::output, help_heading = RUN)]
    pub out: PathBuf,
    /// Continue from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    pub resume: bool,
    /// Seconds between checkpoints; 0 writes one after every step. One is also written at the end.
    #[arg(long, default_value_t = 30, help_heading = RUN)]
    pub checkpoint_every: u64,
}

impl TrainingOptions {
    /// Calls `train` with each seed, from `first` on, and returns its results with their seeds. Several seeds
    /// have subdirectories of `out`. `in_table` says whether the training is one of several of a command.
    ///
    /// # Errors
    /// As [`SeedsOption::runs`], and any of `train`.
    pub fn each_seed<M>(
        &self,
        first: u64,
        out: &Path,
        in_table: bool,
        device: &Device,
        mut train: impl FnMut(u64, &RunOptions) -> Result<M>,
    ) -> Result<Vec<(u64, M)>> {
        if self.resume {
            ranks::copy_output(out)?;
        }
        let mut results = Vec::new();
        let runs = self.seeds.runs(first, out, self.resume, in_table)?;
        let mut all_seeds = (runs.len() > 1 && !self.resume).then(|| out.to_path_buf());
        for Run { seed, out, resume } in runs {
            let all_seeds = all_seeds.take();
            let options = RunOptions { out, resume, all_seeds, ..self.run(device.clone()) };
            results.push((seed, train(seed, &options)?));
        }
        Ok(results)
    }

    /// A run with one seed.
    pub fn run(&self, device: Device) -> RunOptions {
        RunOptions {
            out: self.out.clone(),
            all_seeds: None,
            resume: self.resume,
            checkpoint_every: self.checkpoint_every,
            device,
            ranks: ranks::ranks().cloned(),
        }
    }
}

/// The configuration of a training. The checkpoint of a trainer holds it as JSON, as `metrics.json` does.
pub trait TrainingConfig: Args + Clone + Serialize {
    /// What errors call the data: "pairs".
    const DATA: &'static str;

    /// The number of epochs, and the seed.
    fn epochs_and_seed(&self) -> (u64, u64);

    /// The name of the first option whose value differs between two configurations, given as JSON, if any:
    /// that of a checkpoint, and that of the run that is to continue it. A run is resumed only if there is
    /// none.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        config::json_difference::<Self>(theirs, ours, &[])
    }
}

/// The name of the first option that keeps a run of one configuration from continuing one of another, if any.
///
/// # Panics
/// If a configuration cannot be written as JSON.
pub fn difference<C: TrainingConfig>(theirs: &C, ours: &C) -> Option<String> {
    C::difference(&serde_json::json!(theirs), &serde_json::json!(ours))
}

/// What a checkpoint says of its run: the configuration as JSON, and the fingerprint of the data.
type RunText = (String, u32);

/// Checks that a checkpoint is of a run of this configuration on this data.
fn same_run<C: TrainingConfig>(found: &RunText, ours: &RunText) -> std::result::Result<(), String> {
    let value = |text: &str| serde_json::from_str(text).map_err(|error| format!("no configuration: {error}"));
    let difference = C::difference(&value(&found.0)?, &value(&ours.0)?);
    options::same_run(difference.as_deref(), [found.1, ours.1], C::DATA)
}

/// The trainer of a run, which resumes only a run of the same configuration on the same data. `data` is the
/// fingerprint of the data.
///
/// # Panics
/// If the configuration cannot be written as JSON.
pub fn trainer<'a, C: TrainingConfig>(config: &C, data: u32, run: &RunOptions) -> Trainer<'a> {
    let (epochs, seed) = config.epochs_and_seed();
    let text = serde_json::to_string(config).expect("a configuration as JSON");
    let mut trainer = Trainer::for_run(epochs, (text, data), same_run::<C>);
    if let Some(ranks) = &run.ranks {
        trainer = trainer.ranks(ranks.clone());
    }
    trainer
        .seed(seed)
        .device(run.device.clone())
        .directory(&run.out)
        .resume(run.resume)
        .checkpoint_every(Duration::from_secs(run.checkpoint_every))
}

/// The figures that are shown with the progress: finished epochs, loss and validation of the last one, and
/// items per second. `validation` and `rate` are the names of the last two.
pub fn figures(now: &Progress<'_>, validation: &'static str, rate: &'static str) -> Vec<Figure> {
    let epochs = &now.history.epochs;
    let mut figures = vec![Figure::new("epochs", epochs.len() as f64, 0)];
    if let Some(epoch) = epochs.last() {
        figures.push(Figure::new("loss", epoch.loss, 4));
        figures.push(Figure::new(validation, epoch.validation, 4));
    }
    figures.push(Figure::new(rate, now.rate, 0));
    figures
}

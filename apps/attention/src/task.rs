//! The one training loop of `lm`, `vit` and `dit`. Whoever adds another writes its model, its data and its
//! metric, as a [`Task`].

use std::path::Path;

use cotangent::optim::train::{Goal, History, Progress, Shuffled};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::progress::{self, Figure};
use cotangent_apps_common::seeds::{self, Summary};
use cotangent_apps_common::threads::Threads;
use cotangent_apps_common::training::{TrainingConfig, TrainingOptions, trainer};
use cotangent_apps_common::{curves, metrics, output, say};
use serde::Serialize;

use crate::saved::{CONFIG, Saved};

/// What an application brings to a training: its data, its loss, its metric, its files.
pub(crate) trait Task: Sync {
    /// Everything that determines the result, except the data.
    type Config: TrainingConfig;
    /// What `config.json` holds.
    type Settings: Serialize;
    /// The model.
    type Model: Module<f32> + Sync;
    /// What `metrics.json` holds.
    type Metrics: Serialize;

    /// Which of two validations is the better one.
    const GOAL: Goal;
    /// What the curve of the validation is called.
    const VALIDATION: &'static str;
    /// The files of the model beside `config.json`.
    const FILES: &'static [&'static str] = &[];

    /// The configuration, of which the checkpoint says whether it is the same.
    fn config(&self) -> &Self::Config;

    /// The content of `config.json`.
    fn settings(&self) -> Self::Settings;

    /// The fingerprint of the vocabulary, if there is one.
    fn tokenizer(&self) -> Option<u32> {
        None
    }

    /// Writes [`FILES`](Self::FILES).
    ///
    /// # Errors
    /// If one cannot be written.
    fn write_files(&self, out: &Path) -> Result<()> {
        let _ = out;
        Ok(())
    }

    /// How the model is trained.
    ///
    /// # Errors
    /// If a number is out of its range.
    fn recipe(&self) -> Result<Recipe>;

    /// The mean loss of training items.
    fn loss<'t>(&self, model: &Self::Model, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32>;

    /// The validation. NaN ends the training.
    fn validate(&self, model: &Self::Model) -> f64;

    /// What is shown with the progress.
    fn figures(&self, now: &Progress<'_>) -> Vec<Figure>;

    /// Tests the best model. `best` is its epoch, counted from 1, and its validation.
    fn metrics(&self, model: &Self::Model, history: &History, best: (u64, f64)) -> Self::Metrics;

    /// The title of the curves.
    fn title(&self, metrics: &Self::Metrics) -> String;
}

/// How a model is trained.
pub(crate) struct Recipe {
    /// Number of training items.
    pub(crate) items: usize,
    /// Number of items in a batch.
    pub(crate) batch: usize,
    pub(crate) optimiser: RiemannianAdam<f32>,
    /// Steps in which the learning rate rises.
    pub(crate) warm_up: u64,
    /// Whether it falls to 0 afterwards, along half a cosine; otherwise it stays.
    pub(crate) falls: bool,
    /// The decay of the average of the parameters; 0 if none is kept.
    pub(crate) ema: f64,
}

/// Trains a model, tests the best one by validation, and writes all results: the settings, the checkpoint,
/// `model.safetensors`, `metrics.json`, `curves.svg`. `data` is the fingerprint of the data.
///
/// # Errors
/// If the output cannot be written, the checkpoint belongs to another run, or training diverges.
pub(crate) fn fit<K: Task>(
    task: &K,
    mut model: K::Model,
    data: u32,
    options: &RunOptions,
) -> Result<K::Metrics> {
    let history = epochs(task, &mut model, data, options)?;
    let best = history.best(K::GOAL).expect("at least one epoch");
    let metrics = task.metrics(&model, &history, best);
    metrics::write(&options.out, &metrics)?;
    let better = match K::GOAL {
        Goal::Least => f64::min,
        Goal::Greatest => f64::max,
    };
    let path = options.out.join("curves.svg");
    curves::training(&path, &task.title(&metrics), &history.epochs, K::VALIDATION, better)?;
    Ok(metrics)
}

/// Trains the model. Afterwards it is the best one by validation.
fn epochs<K: Task>(task: &K, model: &mut K::Model, data: u32, options: &RunOptions) -> Result<History> {
    let Recipe { items, batch, mut optimiser, warm_up, falls, ema } = task.recipe()?;
    let (total, seed) = task.config().epochs_and_seed();
    let steps = options::steps(total, items.div_ceil(batch) as u64)?;
    let mut schedule = Schedule::Constant.warm_up(warm_up);
    if falls {
        schedule = schedule.cosine(steps.saturating_sub(warm_up), 0.0);
    }
    // The name of the run, in the file of its parameters.
    let name = output::fingerprint(task.config(), data);
    let mut progress = progress::Progress::new("step", 0, steps);
    let mut trainer = trainer(task.config(), data, options)
        .schedule(schedule)
        .parts(4, 1)
        .best(K::GOAL)
        .named(&name)
        .display(|now| progress.update(now.history.steps, || task.figures(&now)));
    if ema > 0.0 {
        trainer = trainer.average(ema);
    }
    trainer.check()?;
    begin(task, name, options)?;
    let history = trainer.run(
        model,
        &mut optimiser,
        &Shuffled { items, batch, seed },
        |model, tape, items| task.loss(model, tape, items),
        |model, _| Ok(task.validate(model)),
    )?;
    drop(trainer);
    progress.finish();
    Ok(history)
}

/// Takes the directory for a run: moves the files of an earlier one, and writes those of the model. That
/// shows whether the directory can be written to.
fn begin<K: Task>(task: &K, name: String, options: &RunOptions) -> Result<()> {
    let (out, path) = (&options.out, options.out.join(CONFIG));
    let saved = Saved { config: task.settings(), run: Some(name), tokenizer: task.tokenizer() };
    if options.resume {
        return saved.resumes(&path);
    }
    output::set_aside(out, |name| name == CONFIG || K::FILES.contains(&name))?;
    task.write_files(out)?;
    metrics::write_json(&path, &saved)
}

/// A figure of a run's test, as it is summed up over seeds.
#[derive(Clone, Copy)]
pub(crate) struct Reported<M> {
    /// What it is called: "test perplexity".
    pub(crate) name: &'static str,
    /// Digits after the decimal point.
    pub(crate) digits: usize,
    /// The figure, and the validation: of two runs, the one with the larger validation is the better.
    pub(crate) figures: fn(&M) -> [f64; 2],
}

/// Trains a model with each seed, from `first` on, in a pool of threads, and sums up their figures.
///
/// # Errors
/// As [`TrainingOptions::each_seed`], and any of `train`.
pub(crate) fn run<M: Send>(
    options: &TrainingOptions,
    threads: &Threads,
    device: &Device,
    first: u64,
    reported: Reported<M>,
    train: impl Fn(u64, &RunOptions) -> Result<M> + Sync,
) -> Result<()> {
    let out = &options.out;
    let _held = options.seeds.hold(out, false)?;
    threads.run(|| {
        let runs = options.each_seed(first, out, false, device, &train)?;
        let result = |(seed, run): &(u64, M)| {
            let [figure, validation] = (reported.figures)(run);
            (*seed, figure, validation)
        };
        let results: Vec<_> = runs.iter().map(result).collect();
        seeds::report(&[Summary::new(reported.name, "validation", &results)], out, reported.digits)
    })?;
    say!("written to {}", out.display());
    Ok(())
}

//! The one training loop of the applications. Whoever adds another writes its model, its data and its metric,
//! as a [`Task`].

use std::path::Path;
use std::time::Instant;

use cotangent::optim::train::{Batches, Goal, History, Progress, TrainError};
use cotangent::prelude::*;
use serde::Serialize;

use crate::error::Result;
use crate::options::RunOptions;
use crate::progress::{self, Figure};
use crate::seeds::{self, Summary};
use crate::threads::Threads;
use crate::training::{TrainingConfig, TrainingOptions, trainer};
use crate::{curves, metrics, output, say};

/// What an application brings to a training: its data, its loss, its metric, its files.
pub trait Task: Sync {
    /// Everything that determines the result, except the data.
    type Config: TrainingConfig;
    /// The type of the model's numbers.
    type Number: Float;
    /// The model.
    type Model: Module<Self::Number> + Sync;
    /// The training items, epoch by epoch.
    type Batches: Batches;
    /// What `metrics.json` holds.
    type Metrics: Serialize;

    /// Which of two validations is the better one.
    const GOAL: Goal;
    /// What the curve of the validation is called.
    const VALIDATION: &'static str;

    /// The configuration, of which the checkpoint says whether it is the same.
    fn config(&self) -> &Self::Config;

    /// The fingerprint of the data; 0 if the configuration says all of them.
    fn data(&self) -> u32 {
        0
    }

    /// The name of the run, in the files of its parameters.
    fn name(&self) -> String {
        output::fingerprint(self.config(), self.data())
    }

    /// How the model is trained.
    ///
    /// # Errors
    /// If a number is out of its range.
    fn recipe(&self) -> Result<Recipe<Self::Number, Self::Batches>>;

    /// Takes the directory for the run: moves the files of an earlier one, and writes those that have to be
    /// there before the first step. If the run is resumed, it changes nothing, and may check these files.
    ///
    /// # Errors
    /// If the output cannot be written, or a file belongs to another run.
    fn begin(&self, options: &RunOptions) -> Result<()> {
        options.set_aside(|_| false)
    }

    /// The mean loss of training items.
    fn loss<'t>(
        &self,
        model: &Self::Model,
        tape: &'t Tape<Self::Number>,
        items: &[u32],
    ) -> Var<'t, Self::Number>;

    /// The validation after an epoch. NaN ends the training. `before` has the earlier epochs.
    ///
    /// # Errors
    /// If a file cannot be written, or for another reason to end the training.
    fn validate(&self, model: &mut Self::Model, before: &History) -> std::result::Result<f64, TrainError>;

    /// Whether the training ends before its last epoch. It is asked before every epoch.
    fn ends(&self, history: &History) -> bool {
        let _ = history;
        false
    }

    /// What is shown with the progress.
    fn figures(&self, now: &Progress<'_>) -> Vec<Figure>;

    /// Tests the trained model, and writes the files of its own.
    ///
    /// # Errors
    /// If a file cannot be written, or a number is not finite.
    fn test(&self, model: &mut Self::Model, history: &History) -> Result<Self::Metrics>;

    /// The title of the curves.
    fn title(&self, metrics: &Self::Metrics) -> String;

    /// Draws the curves of the training.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn curves(&self, path: &Path, metrics: &Self::Metrics, history: &History) -> Result<()> {
        let better = match Self::GOAL {
            Goal::Least => f64::min,
            Goal::Greatest => f64::max,
        };
        curves::training(path, &self.title(metrics), &history.epochs, Self::VALIDATION, better)
    }

    /// The best epoch by validation, counted from 1, and its validation.
    fn best(&self, history: &History) -> (u64, f64) {
        history.best(Self::GOAL).expect("at least one epoch")
    }
}

/// How a model is trained.
pub struct Recipe<T: Float, B> {
    /// The training items.
    pub batches: B,
    /// The optimiser.
    pub optimiser: RiemannianAdam<T>,
    /// The factor of its learning rate at each step.
    pub schedule: Schedule,
    /// The parts of a batch: see [`Trainer::parts`](cotangent::optim::train::Trainer::parts).
    pub parts: [usize; 2],
    /// The number of steps in all.
    pub steps: u64,
    /// What a step is called.
    pub unit: &'static str,
    /// Whether the model after the training is the best one by validation, which has a file, or the last one.
    pub keeps_best: bool,
    /// The decay of the average of the parameters; 0 if none is kept.
    pub average: f64,
    /// Whether a checkpoint is written after every epoch too.
    pub checkpoint_each_epoch: bool,
}

impl<T: Float, B> Recipe<T, B> {
    /// A constant rate, the parts of the library, no average, and the best model is kept.
    pub fn new(batches: B, steps: u64, optimiser: RiemannianAdam<T>) -> Self {
        Recipe {
            batches,
            optimiser,
            schedule: Schedule::Constant,
            parts: [8, 16],
            steps,
            unit: "step",
            keeps_best: true,
            average: 0.0,
            checkpoint_each_epoch: false,
        }
    }
}

/// Trains a model, tests it, and writes all results: the checkpoint, the model, `metrics.json`, `curves.svg`
/// and the files of the task. The directory is [held](output::hold) by the caller.
///
/// # Errors
/// If the output cannot be written, the checkpoint belongs to another run, or training diverges.
pub fn fit<K: Task>(task: &K, mut model: K::Model, options: &RunOptions) -> Result<K::Metrics> {
    let history = epochs(task, &mut model, options)?;
    finish(task, &mut model, &history, options)
}

/// Trains the model. Afterwards it is the best one by validation, or the last one, as the recipe says.
///
/// # Errors
/// As [`fit`].
pub fn epochs<K: Task>(task: &K, model: &mut K::Model, options: &RunOptions) -> Result<History> {
    let recipe = task.recipe()?;
    let Recipe { batches, mut optimiser, steps, unit, .. } = recipe;
    let mut progress = progress::Progress::new(unit, 0, steps);
    let mut start = None;
    let mut trainer = trainer(task.config(), task.data(), options)
        .schedule(recipe.schedule)
        .parts(recipe.parts[0], recipe.parts[1])
        .unit(unit)
        .named(task.name())
        .stop(|history| task.ends(history))
        .display(|now| {
            let done = now.history.steps;
            let &mut (first, time) = start.get_or_insert_with(|| (done, Instant::now()));
            progress.update(done, || {
                let mut figures = task.figures(&now);
                if done > first {
                    let pace = time.elapsed().as_secs_f64() / (done - first) as f64;
                    figures.push(Figure::new("seconds_left", steps.saturating_sub(done) as f64 * pace, 0));
                }
                figures
            });
        });
    if recipe.keeps_best {
        trainer = trainer.best(K::GOAL);
    }
    if recipe.average > 0.0 {
        trainer = trainer.average(recipe.average);
    }
    if recipe.checkpoint_each_epoch {
        trainer = trainer.checkpoint_each_epoch();
    }
    task.begin(options)?;
    let history = trainer.run(
        model,
        &mut optimiser,
        &batches,
        |model, tape, items| task.loss(model, tape, items),
        |model, before| task.validate(model, before),
    )?;
    drop(trainer);
    progress.finish();
    Ok(history)
}

/// Tests the trained model and writes all results.
///
/// # Errors
/// If a file cannot be written, and any of the task.
pub fn finish<K: Task>(
    task: &K,
    model: &mut K::Model,
    history: &History,
    options: &RunOptions,
) -> Result<K::Metrics> {
    let metrics = task.test(model, history)?;
    metrics::write(&options.out, &metrics)?;
    task.curves(&options.out.join("curves.svg"), &metrics, history)?;
    Ok(metrics)
}

/// A figure of a run's test, as it is summed up over seeds.
#[derive(Clone, Copy)]
pub struct Reported<M> {
    /// What it is called: "test perplexity".
    pub name: &'static str,
    /// Digits after the decimal point.
    pub digits: usize,
    /// The figure, and the validation: of two runs, the one with the larger validation is the better.
    pub figures: fn(&M) -> [f64; 2],
}

/// Trains a model with each seed, from `first` on, in a pool of threads, and sums up their figures.
///
/// # Errors
/// As [`TrainingOptions::each_seed`], and any of `train`.
pub fn run<M: Send>(
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

//! The one training loop of the applications. Whoever adds another writes its model, its data and its metric,
//! as a [`Task`].

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cotangent::optim::train::{Batches, Goal, History, Progress, TrainError};
use cotangent::prelude::*;
use serde::Serialize;

use crate::error::{AppError, Result};
use crate::options::{self, RunOptions};
use crate::progress::{self, Figure};
use crate::seeds::{self, Summary};
use crate::threads::Threads;
use crate::training::{TrainingConfig, TrainingOptions, figures, trainer};
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
    /// What the curve of the validation is called: "validation accuracy".
    const VALIDATION: &'static str;
    /// What the validation and the items per second are called in the progress: "validation_accuracy".
    const SHOWN: [&'static str; 2];
    /// Files that it writes beside those of every training. A new run moves them out of the way.
    const FILES: &'static [&'static str] = &[];

    /// The configuration. A run is resumed only with the same one.
    fn config(&self) -> &Self::Config;

    /// The fingerprint of the data; 0 if the configuration determines them.
    fn data(&self) -> u32 {
        0
    }

    /// The name of the run, in the files of its parameters, for data with this fingerprint.
    fn name(&self, data: u32) -> String {
        output::fingerprint(self.config(), data)
    }

    /// The training items. Every epoch has the same number of batches.
    fn batches(&self) -> Self::Batches;

    /// How the model is trained. `steps` is the number of steps of all epochs.
    ///
    /// # Errors
    /// If a number is out of its range.
    fn recipe(&self, steps: u64) -> Result<Recipe<Self::Number>>;

    /// Takes the directory for the run of this name: moves the files of an earlier one, and writes those that
    /// have to be there before the first step. The checkpoint of a resumed run has been checked.
    ///
    /// # Errors
    /// If the output cannot be written, or a file belongs to another run.
    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        let _ = name;
        options.set_aside(&|name| Self::FILES.contains(&name))
    }

    /// Gives the model what it needs for its first step. It is not called for a resumed run, which has it
    /// from its checkpoint.
    ///
    /// # Errors
    /// If training cannot begin.
    fn prepare(&self, model: &mut Self::Model, tape: &mut Tape<Self::Number>) -> Result<()> {
        let _ = (model, tape);
        Ok(())
    }

    /// The mean loss of training items.
    ///
    /// # Errors
    /// If an item cannot be read.
    fn loss<'t>(
        &self,
        model: &Self::Model,
        tape: &'t Tape<Self::Number>,
        items: &[u32],
    ) -> Result<Var<'t, Self::Number>>;

    /// The validation after an epoch. NaN ends the training. `before` has the earlier epochs, and `tape` is
    /// free for its work.
    ///
    /// # Errors
    /// If a file cannot be written, or for another reason to end the training.
    fn validate(
        &self,
        model: &mut Self::Model,
        before: &History,
        tape: &mut Tape<Self::Number>,
    ) -> Result<f64>;

    /// Called before every epoch, also the first one after a resume. True ends the training; then the seconds
    /// left in the progress were an upper bound.
    fn before_epoch(&self, history: &History) -> bool {
        let _ = history;
        false
    }

    /// What is shown with the progress of every training.
    fn figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        let [validation, rate] = Self::SHOWN;
        figures(now, validation, rate)
    }

    /// What is shown besides.
    fn more_figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        let _ = now;
        Vec::new()
    }

    /// Tests the trained model.
    ///
    /// # Errors
    /// If a file cannot be written, or a number is not finite.
    fn test(
        &self,
        model: &mut Self::Model,
        history: &History,
        tape: &mut Tape<Self::Number>,
    ) -> Result<Self::Metrics>;

    /// The title of the pictures.
    fn title(&self, metrics: &Self::Metrics) -> String;

    /// Draws the pictures, after `metrics.json` is written: the curves alone, if nothing else is said.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn draw(&self, out: &Path, trained: Trained<'_, Self>, tape: &mut Tape<Self::Number>) -> Result<()> {
        let _ = tape;
        trained.curves(&self.title(trained.metrics), out)
    }
}

/// A model after its training, and what came of it.
pub struct Trained<'a, K: Task + ?Sized> {
    /// The model.
    pub model: &'a K::Model,
    /// The course of the training.
    pub history: &'a History,
    /// The test.
    pub metrics: &'a K::Metrics,
}

impl<K: Task + ?Sized> Trained<'_, K> {
    /// Draws training loss and validation of each epoch, as `curves.svg`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn curves(&self, title: &str, out: &Path) -> Result<()> {
        let better = match K::GOAL {
            Goal::Least => f64::min,
            Goal::Greatest => f64::max,
        };
        curves::training(&out.join(curves::FILE), title, &self.history.epochs, K::VALIDATION, better)
    }
}

/// How a model is trained.
pub struct Recipe<T: Float> {
    /// The optimiser.
    pub optimiser: RiemannianAdam<T>,
    /// The factor of its learning rate at each step.
    pub schedule: Schedule,
    /// The parts of a batch: see [`Trainer::parts`](cotangent::optim::train::Trainer::parts).
    pub parts: [usize; 2],
    /// What a step is called.
    pub unit: &'static str,
    /// Whether the model after the training is the best one by validation, which has a file, or the last one.
    pub keeps_best: bool,
    /// The decay of the average of the parameters; 0 if none is kept.
    pub average: f64,
    /// Whether a checkpoint is written after every epoch too.
    pub checkpoint_each_epoch: bool,
}

impl<T: Float> Recipe<T> {
    /// A constant rate, the parts of the library, no average, and the best model is kept.
    pub fn new(optimiser: RiemannianAdam<T>) -> Self {
        Recipe {
            optimiser,
            schedule: Schedule::Constant,
            parts: [8, 16],
            unit: "step",
            keeps_best: true,
            average: 0.0,
            checkpoint_each_epoch: false,
        }
    }
}

/// The best epoch by validation, counted from 1, and its validation.
pub fn best<K: Task>(history: &History) -> (u64, f64) {
    history.best(K::GOAL).expect("at least one epoch")
}

/// Trains a model, tests it, and writes all results: the checkpoint, the model, `metrics.json`, `curves.svg`
/// and the files of the task. The directory is [held](output::hold) by the caller.
///
/// # Errors
/// If the output cannot be written, the checkpoint belongs to another run, or training diverges.
pub fn fit<K: Task>(task: &K, mut model: K::Model, options: &RunOptions) -> Result<K::Metrics> {
    let mut tape = Tape::with_device(options.device.clone());
    let history = epochs(task, &mut model, options, &mut tape)?;
    let metrics = task.test(&mut model, &history, &mut tape)?;
    metrics::write(&options.out, &metrics)?;
    let trained = Trained { model: &model, history: &history, metrics: &metrics };
    task.draw(&options.out, trained, &mut tape)?;
    Ok(metrics)
}

/// Trains the model. Afterwards it is the best one by validation, or the last one, as the recipe says.
fn epochs<K: Task>(
    task: &K,
    model: &mut K::Model,
    options: &RunOptions,
    tape: &mut Tape<K::Number>,
) -> Result<History> {
    let (batches, data) = (task.batches(), task.data());
    let epochs = task.config().epochs_and_seed().0;
    let steps = options::steps(epochs, batches.epoch(0).len() as u64)?;
    let Recipe { mut optimiser, unit, schedule, parts, keeps_best, average, checkpoint_each_epoch } =
        task.recipe(steps)?;
    let name = task.name(data);
    let mut progress = progress::Progress::new(unit, 0, steps);
    let (start, mut first) = (Instant::now(), None);
    let mut trainer = trainer(task.config(), data, options)
        .schedule(schedule)
        .parts(parts[0], parts[1])
        .unit(unit)
        .named(&name)
        .stop(|history| task.before_epoch(history))
        .display(|now| {
            let done = now.history.steps;
            let before = *first.get_or_insert(done - 1);
            progress.update(done, || {
                let mut figures = task.figures(&now);
                figures.extend(task.more_figures(&now));
                let left = seconds_left(start.elapsed().as_secs_f64(), [before, done, steps]);
                figures.push(Figure::new("seconds_left", left, 0));
                figures
            });
        });
    if keeps_best {
        trainer = trainer.best(K::GOAL);
    }
    if average > 0.0 {
        trainer = trainer.average(average);
    }
    if checkpoint_each_epoch {
        trainer = trainer.checkpoint_each_epoch();
    }
    trainer.check()?;
    task.begin(&name, options)?;
    if !options.resume {
        task.prepare(model, tape)?;
    }
    // A loss that cannot be computed is NaN, which ends the training; then its cause is the error. Of several
    // parts of a batch that fail, the one with the least item is reported, whichever failed first.
    let failure = Mutex::new(None::<(u32, AppError)>);
    let history = trainer.run(
        model,
        &mut optimiser,
        &batches,
        |model, tape, items| {
            task.loss(model, tape, items).unwrap_or_else(|error| {
                let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                let least = items.iter().copied().min().unwrap_or(u32::MAX);
                if failure.as_ref().is_none_or(|&(item, _)| least < item) {
                    *failure = Some((least, error));
                }
                tape.scalar(f64::NAN)
            })
        },
        |model, before| Ok(task.validate(model, before, tape)?),
    );
    drop(trainer);
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    let history = history.map_err(|error| cause_of(error, failure, options))?;
    progress.finish();
    Ok(history)
}

/// The error of a training: the failure of a loss, of whichever rank, and what was kept; or the one that
/// ended it.
fn cause_of(error: TrainError, failure: Option<(u32, AppError)>, options: &RunOptions) -> AppError {
    let TrainError::Diverged { ref kept, .. } = error else { return error.into() };
    let own = failure.map_or(String::new(), |(_, failure)| failure.to_string());
    let all = match &options.ranks {
        Some(ranks) => ranks.all_gather(own.as_bytes()).unwrap_or_default(),
        None => vec![own.into_bytes()],
    };
    match all.iter().find(|text| !text.is_empty()) {
        Some(text) => {
            let kept = kept.as_ref().map_or(String::new(), |kept| format!("; {kept}"));
            AppError::usage(format!("{}{kept}", String::from_utf8_lossy(text)))
        }
        None => error.into(),
    }
}

/// The seconds that the steps after `done` take, if each takes as long as those between `before` and `done`,
/// which took `elapsed` together.
fn seconds_left(elapsed: f64, [before, done, all]: [u64; 3]) -> f64 {
    all.saturating_sub(done) as f64 * elapsed / (done - before) as f64
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

impl<M> Reported<M> {
    /// Trains a model with each seed, from `first` on, and sums up their figures. Arguments and errors are
    /// those of [`TrainingOptions::each_seed`]. Returns the runs with their seeds, and the summary.
    ///
    /// # Errors
    /// If `seeds.json` cannot be written, and those of the runs.
    pub fn each_seed(
        self,
        options: &TrainingOptions,
        first: u64,
        out: &Path,
        in_table: bool,
        device: &Device,
        train: impl FnMut(u64, &RunOptions) -> Result<M>,
    ) -> Result<(Vec<(u64, M)>, Summary)> {
        let runs = options.each_seed(first, out, in_table, device, train)?;
        let result = |(seed, run): &(u64, M)| {
            let [figure, validation] = (self.figures)(run);
            (*seed, figure, validation)
        };
        let results: Vec<_> = runs.iter().map(result).collect();
        let summary = Summary::new(self.name, "validation", &results);
        seeds::report(std::slice::from_ref(&summary), out, self.digits)?;
        Ok((runs, summary))
    }
}

/// Trains a model with each seed, from `first` on, in a pool of threads, and sums up their figures.
///
/// # Errors
/// As [`Reported::each_seed`]; if another run holds the directory.
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
    threads.run(|| reported.each_seed(options, first, out, false, device, &train).map(drop))?;
    say!("written to {}", out.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use cotangent::optim::train::{Epoch, Shuffled};
    use serde::Deserialize;

    use super::*;
    use crate::config;
    use crate::error::AppError;

    #[derive(clap::Args, Clone, Debug, Serialize, Deserialize)]
    struct ToyConfig {
        #[arg(long, default_value_t = 4)]
        epochs: u64,
    }

    impl TrainingConfig for ToyConfig {
        const DATA: &'static str = "numbers";
        fn epochs_and_seed(&self) -> (u64, u64) {
            (self.epochs, 1)
        }
    }

    /// Moves a number to 3, in five steps an epoch.
    struct Toy {
        config: ToyConfig,
        keeps_best: bool,
        average: f64,
        checkpoint_each_epoch: bool,
        /// The validations of the epochs. It fails after the last one.
        validations: Vec<f64>,
        /// The number of epochs after which it ends.
        ends: usize,
        /// The step, counted from 0, whose loss cannot be computed.
        fails: usize,
        /// Whether the loss is infinite.
        infinite: bool,
        steps: AtomicUsize,
        prepared: AtomicUsize,
        /// The number after each epoch.
        seen: Mutex<Vec<f64>>,
    }

    impl Toy {
        fn new(validations: &[f64]) -> Self {
            Toy {
                config: config::parse(&[]),
                keeps_best: false,
                average: 0.0,
                checkpoint_each_epoch: false,
                validations: validations.to_vec(),
                ends: usize::MAX,
                fails: usize::MAX,
                infinite: false,
                steps: AtomicUsize::new(0),
                prepared: AtomicUsize::new(0),
                seen: Mutex::new(Vec::new()),
            }
        }

        fn fit(&self, out: &Path, resume: bool) -> Result<(Vec<Epoch>, f64)> {
            let number = Param::new("number", Euclidean, Tensor::new([1], vec![0.0]));
            let device = Device::cpu();
            let options = RunOptions {
                out: out.into(),
                all_seeds: None,
                resume,
                checkpoint_every: 1000,
                device,
                ranks: None,
            };
            fit(self, number, &options)
        }
    }

    impl Task for Toy {
        type Config = ToyConfig;
        type Number = f64;
        type Model = Param<Euclidean, f64>;
        type Batches = Shuffled;
        type Metrics = (Vec<Epoch>, f64);

        const GOAL: Goal = Goal::Least;
        const VALIDATION: &'static str = "validation";
        const SHOWN: [&'static str; 2] = ["validation", "items_per_second"];
        const FILES: &'static [&'static str] = &["own"];

        fn config(&self) -> &ToyConfig {
            &self.config
        }
        fn batches(&self) -> Shuffled {
            Shuffled { items: 5, batch: 1, seed: 1 }
        }
        fn recipe(&self, steps: u64) -> Result<Recipe<f64>> {
            assert_eq!(steps, 20);
            let Toy { keeps_best, average, checkpoint_each_epoch, .. } = *self;
            let recipe = Recipe::new(RiemannianAdam::new(0.1)?);
            Ok(Recipe { keeps_best, average, checkpoint_each_epoch, ..recipe })
        }
        fn prepare(&self, _: &mut Self::Model, _: &mut Tape<f64>) -> Result<()> {
            self.prepared.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn loss<'t>(&self, model: &Self::Model, tape: &'t Tape<f64>, _: &[u32]) -> Result<Var<'t, f64>> {
            if self.steps.fetch_add(1, Ordering::Relaxed) == self.fails {
                return Err(AppError::usage("no such number"));
            }
            let factor = if self.infinite { f64::INFINITY } else { 1.0 };
            Ok((*model.on(tape) - 3.0).square().sum() * factor)
        }
        fn validate(&self, model: &mut Self::Model, before: &History, _: &mut Tape<f64>) -> Result<f64> {
            let found = self.validations.get(before.epochs.len()).copied();
            self.seen.lock().unwrap().push(model.value().data()[0]);
            found.ok_or_else(|| AppError::usage("no further validation"))
        }
        fn before_epoch(&self, history: &History) -> bool {
            history.epochs.len() >= self.ends
        }
        fn test(
            &self,
            model: &mut Self::Model,
            history: &History,
            _: &mut Tape<f64>,
        ) -> Result<Self::Metrics> {
            Ok((history.epochs.clone(), model.value().data()[0]))
        }
        fn title(&self, metrics: &Self::Metrics) -> String {
            metrics.1.to_string()
        }
    }

    #[test]
    fn the_best_model_by_validation_is_tested_or_the_last_one() {
        for (keeps_best, tested) in [(true, 1), (false, 3)] {
            let toy = Toy { keeps_best, ..Toy::new(&[2.0, 1.0, 3.0, 4.0]) };
            let (epochs, number) = toy.fit(tempfile::tempdir().unwrap().path(), false).unwrap();
            let seen = toy.seen.into_inner().unwrap();
            assert_eq!((epochs.len(), number), (4, seen[tested]));
        }
    }

    #[test]
    fn an_average_is_validated_and_the_steps_are_the_same() {
        let run = |average| {
            let toy = Toy { average, ..Toy::new(&[1.0; 4]) };
            let (epochs, _) = toy.fit(tempfile::tempdir().unwrap().path(), false).unwrap();
            (epochs.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(), toy.seen.into_inner().unwrap())
        };
        let ((losses, last), (same, averages)) = (run(0.0), run(0.9));
        assert_eq!(losses, same);
        assert!(last.iter().zip(&averages).all(|(last, average)| average < last), "{last:?} {averages:?}");
    }

    #[test]
    fn a_task_ends_when_it_says_so() {
        let toy = Toy { ends: 2, ..Toy::new(&[1.0; 4]) };
        assert_eq!(toy.fit(tempfile::tempdir().unwrap().path(), false).unwrap().0.len(), 2);
    }

    /// Without a checkpoint after each epoch, the first one is the only one here.
    #[test]
    fn a_checkpoint_after_each_epoch_saves_the_epochs_before_a_failure() {
        for (checkpoint_each_epoch, steps) in [(true, 10), (false, 20)] {
            let directory = tempfile::tempdir().unwrap();
            let failing = Toy { checkpoint_each_epoch, ..Toy::new(&[1.0; 2]) };
            let error = failing.fit(directory.path(), false).unwrap_err().to_string();
            assert!(error.contains("no further validation"), "{error}");
            let toy = Toy { checkpoint_each_epoch, ..Toy::new(&[1.0; 4]) };
            toy.fit(directory.path(), true).unwrap();
            assert_eq!(toy.steps.load(Ordering::Relaxed), steps);
            assert_eq!([failing, toy].map(|toy| toy.prepared.into_inner()), [1, 0]);
        }
    }

    /// The error is that of the loss, and says what was kept; a loss that is no number has its own.
    #[test]
    fn a_loss_that_fails_ends_the_training() {
        let directory = tempfile::tempdir().unwrap();
        let failing = Toy { checkpoint_each_epoch: true, fails: 7, ..Toy::new(&[1.0; 4]) };
        let error = failing.fit(directory.path(), false).unwrap_err().to_string();
        assert!(error.starts_with("no such number; ") && error.contains("step 5"), "{error}");
        let toy = Toy { checkpoint_each_epoch: true, ..Toy::new(&[1.0; 4]) };
        toy.fit(directory.path(), true).unwrap();
        assert_eq!(toy.steps.load(Ordering::Relaxed), 15);
        let infinite = Toy { infinite: true, ..Toy::new(&[1.0; 4]) };
        let error = infinite.fit(directory.path(), false).unwrap_err().to_string();
        assert!(error.starts_with("training stopped at step 1: "), "{error}");
    }

    #[test]
    fn files_of_an_earlier_run_are_moved() {
        let directory = tempfile::tempdir().unwrap();
        let toy = Toy::new(&[1.0; 4]);
        toy.fit(directory.path(), false).unwrap();
        std::fs::write(directory.path().join("own"), "").unwrap();
        toy.fit(directory.path(), false).unwrap();
        for name in ["own", "metrics.json", curves::FILE] {
            assert!(directory.path().join("previous-1").join(name).exists(), "{name}");
        }
        assert!(!directory.path().join("own").exists());
    }

    #[test]
    fn the_time_left_follows_the_pace() {
        assert_eq!(seconds_left(30.0, [100, 110, 150]), 120.0);
        assert_eq!(seconds_left(30.0, [100, 110, 110]), 0.0);
    }
}

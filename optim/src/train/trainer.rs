//! The training loop.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path as File, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cotangent_engine::files::atomic;
use cotangent_engine::files::checkpoint::CheckpointError;
use cotangent_engine::{Device, Float, Tape, Var, rng};
use cotangent_manifolds::Module;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::algorithm::Algorithm;
use crate::average::AverageState;
use crate::checkpoint::Content;
use crate::data_parallel::DataParallel;
use crate::error::OptimError;
use crate::exchange::Exchange;
use crate::optimiser::Optimiser;
use crate::schedule::Schedule;
use crate::train::batches::Batches;
use crate::train::checkpoints::CHECKPOINT;
use crate::train::course::{Course, Taken, Task};
use crate::train::error::TrainError;
use crate::train::model_file::load_model;

/// The result of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The mean loss of the training items, each computed before its own step.
    pub loss: f64,
    /// What `evaluate` returned after the epoch.
    pub validation: f64,
}

/// The course of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The result of every finished epoch.
    pub epochs: Vec<Epoch>,
    /// Number of steps taken.
    pub steps: u64,
    /// Seconds of training and evaluation, including those before a resume.
    pub seconds: f64,
}

impl History {
    /// The best epoch, counted from 1, and its validation; of equal ones the first. `None` without epochs.
    pub fn best(&self, goal: Goal) -> Option<(u64, f64)> {
        let mut best: Option<(u64, f64)> = None;
        for (number, epoch) in (1..).zip(&self.epochs) {
            if best.is_none_or(|(_, best)| goal.better(epoch.validation, best)) {
                best = Some((number, epoch.validation));
            }
        }
        best
    }

    /// Writes the history as JSON.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &File) -> Result<(), TrainError> {
        atomic::write(file, |w| {
            serde_json::to_writer_pretty(&mut *w, self)?;
            w.write_all(b"\n")
        })
        .map_err(TrainError::io(file))
    }
}

/// Which of two validations is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Goal {
    /// The smaller: a loss.
    Least,
    /// The larger: an accuracy.
    Greatest,
}

impl Goal {
    pub(super) fn better(self, a: f64, b: f64) -> bool {
        match self {
            Goal::Least => a < b,
            Goal::Greatest => a > b,
        }
    }
}

/// How far a training has come, for its display.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The finished epochs.
    pub history: &'a History,
    /// The total number of epochs.
    pub epochs: u64,
    /// The number of finished batches of the current epoch (0 after its last batch), and of all its batches.
    pub batch: [u64; 2],
    /// Items per second since the training started or resumed, evaluation included. Each item counts with its
    /// [weight](Batches::weight).
    pub rate: f64,
}

type Display<'a> = Box<dyn FnMut(Progress<'_>) + 'a>;

type Stop<'a> = Box<dyn Fn(&History) -> bool + 'a>;

/// Compares the description of a checkpoint's run with this one; the error says what differs.
type SameRun<'a> = Box<dyn Fn(&str) -> Result<(), String> + 'a>;

/// What a checkpoint holds besides the model and the optimiser.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// The description of the run, as JSON.
    run: String,
    settings: Settings,
    pub(super) history: History,
    /// Finished batches of the current epoch.
    pub(super) batch: u64,
    /// The sum over this epoch's items so far of loss times weight.
    pub(super) loss: f64,
    /// The average of the parameters, if it is kept, once there is one.
    pub(super) average: Option<AverageState>,
}

/// What must be the same when a run is resumed, besides the caller's description of it.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) seed: u64,
    /// The largest number of parts of a batch, and the smallest number of items in a part.
    pub(super) parts: [usize; 2],
    pub(super) best: Option<Goal>,
    /// The decay of the average of the parameters, if it is kept.
    pub(super) average: Option<f64>,
}

/// Trains a model: see [`train`](crate::train) for an example.
pub struct Trainer<'a> {
    /// The description of the run, as JSON.
    run: String,
    same: SameRun<'a>,
    pub(super) epochs: u64,
    pub(super) schedule: Schedule,
    pub(super) settings: Settings,
    pub(super) name: Option<String>,
    pub(super) unit: &'static str,
    pub(super) device: Device,
    ranks: Option<Arc<dyn Exchange>>,
    pub(super) directory: Option<PathBuf>,
    resume: bool,
    pub(super) checkpoint_every: Duration,
    pub(super) checkpoint_each_epoch: bool,
    pub(super) stop: Option<Stop<'a>>,
    pub(super) display: Option<Display<'a>>,
}

impl<'a> Trainer<'a> {
    /// Trains for this many epochs, at a constant learning rate, without files.
    pub fn new(epochs: u64) -> Self {
        Trainer::for_run(epochs, (), |(), ()| Ok(()))
    }

    /// Same as [`new`](Trainer::new), with a description of the run, so that only the same run continues from
    /// its checkpoint, which stores the description as JSON. On resuming, `same` compares the checkpoint's
    /// description with this one; its error says what differs.
    ///
    /// # Panics
    /// If the description cannot be written as JSON and read back. JSON has no NaN and no infinity: such a
    /// number panics or, in an `Option`, is lost.
    #[track_caller]
    pub fn for_run<R: Serialize + DeserializeOwned + 'a>(
        epochs: u64,
        run: R,
        same: fn(&R, &R) -> Result<(), String>,
    ) -> Self {
        let text = serde_json::to_string(&run).expect("the description of a run is written as JSON");
        // The description in a checkpoint has been JSON too.
        let ours: R = match serde_json::from_str(&text) {
            Ok(ours) => ours,
            Err(error) => panic!("the description of a run is JSON that can be read back: {error}"),
        };
        let same = move |found: &str| {
            let found =
                serde_json::from_str(found).map_err(|error| format!("a run of another kind: {error}"))?;
            same(&found, &ours)
        };
        Trainer::described(epochs, text, Box::new(same))
    }

    fn described(epochs: u64, run: String, same: SameRun<'a>) -> Self {
        Trainer {
            run,
            same,
            epochs,
            schedule: Schedule::Constant,
            settings: Settings { seed: 42, parts: [8, 16], best: None, average: None },
            name: None,
            unit: "step",
            device: Device::cpu(),
            ranks: None,
            directory: None,
            resume: false,
            checkpoint_every: Duration::from_secs(30),
            checkpoint_each_epoch: false,
            stop: None,
            display: None,
        }
    }

    /// Sets the factor of the optimiser's learning rate at each step.
    pub fn schedule(self, schedule: Schedule) -> Self {
        Trainer { schedule, ..self }
    }

    /// Sets the seed of dropout, by default 42. The random stream is named `"dropout"`.
    pub fn seed(self, seed: u64) -> Self {
        Trainer { settings: Settings { seed, ..self.settings }, ..self }
    }

    /// Sets the device to compute on, by default the CPU.
    pub fn device(self, device: Device) -> Self {
        Trainer { device, ..self }
    }

    /// Trains as one of several ranks, each of which computes a share of the [parts](Self::parts) of every
    /// batch. A batch and a rate mean what they mean in one process. The results have the same bits for any
    /// number of ranks, if every batch has two parts or more. Every rank has the whole model, runs
    /// `evaluate`, and writes to its own directory. Only [`run`](Self::run) shares its work, on the CPU.
    ///
    /// The ranks of a killed job may have checkpoints of different steps. To resume it, give each of them the
    /// directory of rank 0, or a copy: they refuse to start from different steps.
    pub fn ranks(self, ranks: Arc<dyn Exchange>) -> Self {
        Trainer { ranks: Some(ranks), ..self }
    }

    /// Sets how a batch is split into parts, which are computed in parallel: at most `largest_count` parts
    /// (default: 8), each of at least `smallest_part` items (default: 16) except the last. On a device, a
    /// batch is a single part.
    pub fn parts(self, largest_count: usize, smallest_part: usize) -> Self {
        let parts = [largest_count.max(1), smallest_part.max(1)];
        Trainer { settings: Settings { parts, ..self.settings }, ..self }
    }

    /// Sets where checkpoints are written, and the best model if it is [kept](Self::best).
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Trainer { directory: Some(directory.into()), ..self }
    }

    /// Sets whether to continue from the checkpoint in the [directory](Self::directory).
    pub fn resume(self, resume: bool) -> Self {
        Trainer { resume, ..self }
    }

    /// Sets the time between checkpoints, by default 30 seconds. One is also written at the start and at the
    /// end.
    pub fn checkpoint_every(self, time: Duration) -> Self {
        Trainer { checkpoint_every: time, ..self }
    }

    /// Also writes a checkpoint at the end of every epoch.
    pub fn checkpoint_each_epoch(self) -> Self {
        Trainer { checkpoint_each_epoch: true, ..self }
    }

    /// Keeps the model of the best epoch, as `model.safetensors` in the directory. [`run`](Self::run) loads
    /// it at the end. It needs a [directory](Self::directory).
    pub fn best(self, goal: Goal) -> Self {
        Trainer { settings: Settings { best: Some(goal), ..self.settings }, ..self }
    }

    /// Keeps the exponential average of the parameters (EMA) with this decay, which is updated by every step:
    /// see [`Average::exponential`](crate::Average::exponential). The average is what is evaluated, what the
    /// best model is, and what the model is after [`run`](Self::run). Tarvainen & Valpola 2017.
    pub fn average(self, decay: f64) -> Self {
        Trainer { settings: Settings { average: Some(decay), ..self.settings }, ..self }
    }

    /// Stores a name of the run in the file of the best model. A file with another name is refused.
    pub fn named(self, name: impl Into<String>) -> Self {
        Trainer { name: Some(name.into()), ..self }
    }

    /// Sets a function that says, after every epoch and before the first, whether the training ends now,
    /// before its last epoch.
    pub fn stop(self, stop: impl Fn(&History) -> bool + 'a) -> Self {
        Trainer { stop: Some(Box::new(stop)), ..self }
    }

    /// Sets a function that is called after every step.
    pub fn display(self, display: impl FnMut(Progress<'_>) + 'a) -> Self {
        Trainer { display: Some(Box::new(display)), ..self }
    }

    /// Checks the checkpoint that [`run`](Self::run) would resume from, if any. Writes nothing, so a program
    /// can call it before it writes files of its own; `run` checks again.
    ///
    /// # Errors
    /// If the checkpoint cannot be read, or belongs to another run.
    pub fn check(&self) -> Result<(), TrainError> {
        match &self.directory {
            Some(directory) if self.resume => self.content(&directory.join(CHECKPOINT)).map(drop),
            _ => Ok(()),
        }
    }

    /// Sets what messages call a step: by default "step". With one batch an epoch it is "epoch".
    pub fn unit(self, unit: &'static str) -> Self {
        Trainer { unit, ..self }
    }

    /// Trains a model. `loss` returns a single number: the mean loss of the given items, weighted by
    /// [`Batches::weight`]. `evaluate` is called after every epoch, with the model and the history of the
    /// earlier epochs, and returns the validation. It may set what no gradient reaches, such as the running
    /// statistics of batch normalisation, from a sample of the training items; the best model and the
    /// checkpoints have them. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// If a loss, a validation or a step is not finite; the last good checkpoint is kept. If an epoch has no
    /// batches, or the decay of the average is not in `[0, 1)`. If a file cannot be written, or the
    /// checkpoint to resume from belongs to another run. Any error of `evaluate`. If the
    /// [ranks](Self::ranks) do not train the same, or one has ended.
    ///
    /// # Panics
    /// If `loss` does not return a single number, or a batch is empty. If no directory is set, and the best
    /// model is to be kept or the run is to be resumed.
    pub fn run<A, T, N>(
        &mut self,
        model: &mut N,
        optimiser: &mut Optimiser<A, T>,
        batches: &impl Batches,
        loss: impl for<'t> Fn(&N, &'t Tape<T>, &[u32]) -> Var<'t, T> + Sync,
        evaluate: impl FnMut(&mut N, &History) -> Result<f64, TrainError>,
    ) -> Result<History, TrainError>
    where
        A: Algorithm,
        T: Float,
        N: Module<T> + Sync,
    {
        let mut parallel = DataParallel::new(self.device.clone());
        if let Some(ranks) = &self.ranks {
            parallel = parallel.over(ranks.clone());
        }
        let Settings { seed, parts: [largest_count, smallest_part], .. } = self.settings;
        let is_split = self.device == Device::cpu();
        let weight = |items: &[u32]| items.iter().map(|&item| batches.weight(item)).sum::<f64>();
        let step = |model: &mut N, optimiser: &mut Optimiser<A, T>, taken: &mut Taken<'_>| {
            let (items, number, count) = (taken.items, taken.number, taken.items.len());
            let part = if is_split { count.div_ceil(largest_count).max(smallest_part) } else { count };
            let whole = weight(items);
            let parts: Vec<(u64, &[u32], f64)> =
                (0..).zip(items.chunks(part)).map(|(i, part)| (i, part, weight(part) / whole)).collect();
            parallel.step(model, optimiser, &parts, |model, tape, &(part, items, share)| {
                tape.training(rng::stream(seed, "dropout", number * largest_count as u64 + part));
                loss(model, tape, items) * share
            })
        };
        self.run_by(model, optimiser, batches, step, evaluate)
    }

    /// Same as [`run`](Self::run), by steps of one's own: for a model that is not trained on a tape, or not
    /// by one loss a step. `step` takes a step for the [items](Taken::items) and returns their mean loss. A
    /// long step calls [`Taken::goes_well`] after its first loss.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and any of `step`.
    ///
    /// # Panics
    /// If no directory is set, and the best model is to be kept or the run is to be resumed.
    pub fn run_by<A, T, N>(
        &mut self,
        model: &mut N,
        optimiser: &mut Optimiser<A, T>,
        batches: &impl Batches,
        mut step: impl FnMut(&mut N, &mut Optimiser<A, T>, &mut Taken<'_>) -> Result<f64, OptimError>,
        mut evaluate: impl FnMut(&mut N, &History) -> Result<f64, TrainError>,
    ) -> Result<History, TrainError>
    where
        A: Algorithm,
        T: Float,
        N: Module<T>,
    {
        assert!(
            self.directory.is_some() || (self.settings.best.is_none() && !self.resume),
            "Trainer: resuming and the best model need a directory"
        );
        let rate = optimiser.rate();
        let state = match &self.directory {
            Some(directory) if self.resume => self.load(&directory.join(CHECKPOINT), model, optimiser)?,
            _ => State {
                run: self.run.clone(),
                settings: self.settings,
                history: History::default(),
                batch: 0,
                loss: 0.0,
                average: None,
            },
        };
        if let Some(ranks) = &self.ranks {
            self.agree(&**ranks, model, (optimiser.settings(), rate), &state)?;
        }
        let keeps_best = self.settings.best.is_some();
        let name = self.name.clone();
        let task = Task { model, optimiser, batches, step: &mut step, evaluate: &mut evaluate };
        let mut course = Course::new(self, task, rate, state)?;
        course.run()?;
        let Course { state: State { history, .. }, checkpoints, .. } = course;
        if let Some(checkpoints) = checkpoints.filter(|_| keeps_best && !history.epochs.is_empty()) {
            load_model(model, &checkpoints.model(), name.as_deref())?;
        }
        Ok(history)
    }

    /// Checks that all ranks train the same model in the same way from the same step, by optimisers with the
    /// same settings and rate.
    fn agree<T: Float>(
        &self,
        ranks: &dyn Exchange,
        model: &impl Module<T>,
        optimiser: (Vec<(String, String)>, f64),
        state: &State,
    ) -> Result<(), TrainError> {
        let progress = (self.epochs, state.history.steps, state.batch);
        let own = (&self.run, self.settings, &self.schedule);
        let settings = serde_json::to_vec(&(env!("CARGO_PKG_VERSION"), own, optimiser, progress));
        let mut hasher = DefaultHasher::new();
        settings.expect("settings are JSON").hash(&mut hasher);
        for (name, value) in model.state() {
            name.hash(&mut hasher);
            bytemuck::cast_slice::<T, u8>(value.data()).hash(&mut hasher);
        }
        Ok(ranks.agree(hasher.finish())?)
    }

    /// Reads the checkpoint of this run into the model and the optimiser. The run may have more epochs now.
    fn load<A: Algorithm, T: Float>(
        &self,
        path: &File,
        model: &mut impl Module<T>,
        optimiser: &mut Optimiser<A, T>,
    ) -> Result<State, TrainError> {
        let content = self.content(path)?;
        Ok(State { run: self.run.clone(), ..content.into_model(path, model, optimiser)? })
    }

    /// Reads the checkpoint, and checks that it belongs to this run. It depends on no type of the model, so
    /// decoding is compiled once.
    fn content(&self, path: &File) -> Result<Content<State>, TrainError> {
        let refused = |message| CheckpointError::Content { path: path.to_path_buf(), message };
        let content: Content<State> = Content::read(path)?;
        let found = &content.progress;
        (self.same)(&found.run).map_err(refused)?;
        let (theirs, ours) = (found.settings, self.settings);
        let differs = [
            ("another seed", theirs.seed != ours.seed),
            ("another split of its batches", theirs.parts != ours.parts),
            ("another goal for its best model", theirs.best != ours.best),
            ("another average of its parameters", theirs.average != ours.average),
        ];
        if let Some((what, _)) = differs.iter().find(|(_, differs)| *differs) {
            return Err(refused(format!("a run with {what}")).into());
        }
        let done = found.history.epochs.len() as u64;
        if done > self.epochs || (done == self.epochs && found.batch > 0) {
            let part = if found.batch > 0 { " and a part of the next" } else { "" };
            let message = format!("{done} epochs{part} are done, and this run has only {}", self.epochs);
            return Err(refused(message).into());
        }
        Ok(content)
    }
}

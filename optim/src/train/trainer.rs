//! The training loop.

use std::path::{Path as File, PathBuf};
use std::time::{Duration, Instant};

use cotangent_engine::files::atomic;
use cotangent_engine::files::checkpoint::CheckpointError;
use cotangent_engine::{Device, Float, Tape, Var, rng};
use cotangent_manifolds::Module;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::algorithm::Algorithm;
use crate::checkpoint;
use crate::data_parallel::DataParallel;
use crate::optimiser::Optimiser;
use crate::schedule::Schedule;
use crate::train::batches::Batches;
use crate::train::checkpoints::{CHECKPOINT, Checkpoints};
use crate::train::error::TrainError;

/// The result of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// The mean loss of the training items, each as it was when its step was taken.
    pub loss: f64,
    /// What the model was evaluated to after the epoch.
    pub validation: f64,
}

/// The course of a training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The result of every finished epoch.
    pub epochs: Vec<Epoch>,
    /// Number of steps taken.
    pub steps: u64,
    /// Seconds of training, summed over all resumed parts.
    pub seconds: f64,
}

impl History {
    /// The best epoch so far, counted from 1, and its validation; of equal ones the first.
    pub fn best(&self, goal: Goal) -> Option<(u64, f64)> {
        let mut best: Option<(u64, f64)> = None;
        for (number, epoch) in (1..).zip(&self.epochs) {
            if best.is_none_or(|(_, best)| goal.better(epoch.validation, best)) {
                best = Some((number, epoch.validation));
            }
        }
        best
    }

    /// Writes it as JSON.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The smaller: a loss.
    Least,
    /// The larger: an accuracy.
    Greatest,
}

impl Goal {
    fn better(self, a: f64, b: f64) -> bool {
        match self {
            Goal::Least => a < b,
            Goal::Greatest => a > b,
        }
    }
}

/// Where a training stands, for its display.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The finished epochs.
    pub history: &'a History,
    /// All epochs.
    pub epochs: u64,
    /// Finished batches of the current epoch, and all of them.
    pub batch: [u64; 2],
    /// The weight of the items of a second: see [`Batches::weight`].
    pub rate: f64,
}

type Display<'a> = Box<dyn FnMut(Progress<'_>) + 'a>;

/// What a checkpoint has beside the model and the optimiser.
#[derive(Clone, Serialize, Deserialize)]
struct State<R> {
    run: R,
    history: History,
    /// Finished batches of the current epoch.
    batch: u64,
    /// The loss of the items of this epoch so far, each times its weight.
    loss: f64,
}

/// Trains a model: see [`train`](crate::train) for an example.
///
/// `R` describes a run, so that a checkpoint is resumed by the same run only.
pub struct Trainer<'a, R = ()> {
    run: R,
    /// Why a run that is found in a checkpoint is another one.
    same: fn(&R, &R) -> Result<(), String>,
    epochs: u64,
    schedule: Schedule,
    seed: u64,
    device: Device,
    parts: [usize; 2],
    directory: Option<PathBuf>,
    resume: bool,
    checkpoint_every: Duration,
    best: Option<Goal>,
    display: Option<Display<'a>>,
}

/// The file of the best model.
const MODEL: &str = "model.safetensors";

impl Trainer<'_> {
    /// For so many epochs, at a constant rate, without files.
    pub fn new(epochs: u64) -> Self {
        Trainer::of_run(epochs, (), |(), ()| Ok(()))
    }
}

impl<'a, R: Clone + Serialize + DeserializeOwned> Trainer<'a, R> {
    /// As [`new`](Trainer::new), for a run that a checkpoint must agree with. `same` compares the one that
    /// a checkpoint has with this one, and says in which they differ.
    pub fn of_run(epochs: u64, run: R, same: fn(&R, &R) -> Result<(), String>) -> Self {
        Trainer {
            run,
            same,
            epochs,
            schedule: Schedule::Constant,
            seed: 42,
            device: Device::cpu(),
            parts: [8, 16],
            directory: None,
            resume: false,
            checkpoint_every: Duration::from_secs(30),
            best: None,
            display: None,
        }
    }

    /// The factor of the optimiser's rate at each step.
    pub fn schedule(self, schedule: Schedule) -> Self {
        Trainer { schedule, ..self }
    }

    /// The seed of dropout, 42 if it is not set. The stream is `"dropout"`.
    pub fn seed(self, seed: u64) -> Self {
        Trainer { seed, ..self }
    }

    /// The device to compute on.
    pub fn device(self, device: Device) -> Self {
        Trainer { device, ..self }
    }

    /// A batch is split into `most` parts, which are computed in parallel, each of at least `least`
    /// items: 8 and 16 if they are not set. On a device a batch is one part.
    pub fn parts(self, most: usize, least: usize) -> Self {
        Trainer { parts: [most.max(1), least.max(1)], ..self }
    }

    /// Where checkpoints are written, and the best model if it is [kept](Self::best).
    pub fn directory(self, directory: impl Into<PathBuf>) -> Self {
        Trainer { directory: Some(directory.into()), ..self }
    }

    /// Whether to go on from the directory's checkpoint.
    pub fn resume(self, resume: bool) -> Self {
        Trainer { resume, ..self }
    }

    /// The time between checkpoints: half a minute if it is not set.
    pub fn checkpoint_every(self, time: Duration) -> Self {
        Trainer { checkpoint_every: time, ..self }
    }

    /// Keeps the model of the best epoch, as `model.safetensors` in the directory. After
    /// [`run`](Self::run) the model is that one.
    pub fn best(self, goal: Goal) -> Self {
        Trainer { best: Some(goal), ..self }
    }

    /// Called after every step.
    pub fn display(self, display: impl FnMut(Progress<'_>) + 'a) -> Self {
        Trainer { display: Some(Box::new(display)), ..self }
    }

    /// Refuses to go on from a checkpoint of another run. Writes nothing, so a program can ask before it
    /// writes files of its own; [`run`](Self::run) asks again.
    ///
    /// # Errors
    /// If the checkpoint cannot be read, or is not one of this run.
    pub fn check(&self) -> Result<(), TrainError> {
        match &self.directory {
            Some(directory) if self.resume => self.state(&directory.join(CHECKPOINT)).map(drop),
            _ => Ok(()),
        }
    }

    /// Trains a model by the mean of `loss` over the items of a batch, and evaluates it after every epoch:
    /// `evaluate` has the model and the epochs before. The result does not depend on the number of
    /// threads.
    ///
    /// # Errors
    /// If a loss or a step is not finite: the last good checkpoint stays. If a file cannot be written, or
    /// the checkpoint to go on from is not one of this run. What `evaluate` reports.
    pub fn run<A, T, N>(
        &mut self,
        model: &mut N,
        optimiser: &mut Optimiser<A, T>,
        batches: &impl Batches,
        loss: impl for<'t> Fn(&N, &'t Tape<T>, &[u32]) -> Var<'t, T> + Sync,
        mut evaluate: impl FnMut(&N, &History) -> Result<f64, TrainError>,
    ) -> Result<History, TrainError>
    where
        A: Algorithm,
        T: Float,
        N: Module<T> + Sync,
    {
        let rate = optimiser.rate();
        let mut state = State { run: self.run.clone(), history: History::default(), batch: 0, loss: 0.0 };
        if let Some(directory) = &self.directory {
            std::fs::create_dir_all(directory).map_err(TrainError::io(directory))?;
            if self.resume {
                state = self.load(&directory.join(CHECKPOINT), model, optimiser)?;
            }
        }
        let mut checkpoints = match &self.directory {
            Some(directory) => Some(Checkpoints::new(directory, "step", state.history.steps, |path| {
                checkpoint::save(path, model, optimiser, &state)
            })?),
            None => None,
        };
        let mut parallel = DataParallel::new(self.device.clone());
        let (start, before, mut done) = (Instant::now(), state.history.seconds, 0.0);
        while (state.history.epochs.len() as u64) < self.epochs {
            let epoch = batches.of_epoch(state.history.epochs.len() as u64);
            let total: f64 = epoch.iter().flatten().map(|&item| batches.weight(item)).sum();
            while (state.batch as usize) < epoch.len() {
                let items = &epoch[state.batch as usize];
                optimiser.set_rate(rate * self.schedule.factor(state.history.steps))?;
                let weight = |items: &[u32]| items.iter().map(|&item| batches.weight(item)).sum::<f64>();
                let (all, step) = (weight(items), state.history.steps);
                let parts = (0..).zip(items.chunks(self.part_size(items.len())));
                let parts: Vec<(u64, &[u32], f64)> =
                    parts.map(|(part, items)| (part, items, weight(items) / all)).collect();
                let (seed, most) = (self.seed, self.parts[0] as u64);
                let found = parallel.step(model, optimiser, &parts, |model, tape, &(part, items, share)| {
                    tape.training(rng::stream(seed, "dropout", step * most + part));
                    loss(model, tape, items) * share
                });
                state.history.steps += 1;
                let found = checked(&mut checkpoints, state.history.steps, found)?;
                state.loss += found * all;
                state.batch += 1;
                done += all;
                if state.batch as usize == epoch.len() {
                    let validation = evaluate(model, &state.history)?;
                    let validation = checked(&mut checkpoints, state.history.steps, Ok(validation))?;
                    self.keep(model, &state.history, validation)?;
                    state.history.epochs.push(Epoch { loss: state.loss / total, validation });
                    (state.loss, state.batch) = (0.0, 0);
                }
                let last = state.history.epochs.len() as u64 == self.epochs;
                state.history.seconds = before + start.elapsed().as_secs_f64();
                if let Some(checkpoints) = &mut checkpoints
                    && (last || checkpoints.due(self.checkpoint_every))
                {
                    checkpoints.write(state.history.steps, |path| {
                        checkpoint::save(path, model, optimiser, &state)
                    })?;
                }
                if let Some(display) = &mut self.display {
                    let rate = done / start.elapsed().as_secs_f64();
                    let batch = [state.batch, epoch.len() as u64];
                    display(Progress { history: &state.history, epochs: self.epochs, batch, rate });
                }
                if state.batch == 0 {
                    break;
                }
            }
        }
        if let Some(checkpoints) = &mut checkpoints {
            checkpoints.keep()?;
        }
        optimiser.set_rate(rate)?;
        if let (Some(_), Some(directory)) = (self.best, &self.directory) {
            model.load(&directory.join(MODEL))?;
        }
        Ok(state.history)
    }

    fn part_size(&self, batch: usize) -> usize {
        let [most, least] = self.parts;
        if self.device == Device::cpu() { batch.div_ceil(most).max(least) } else { batch }
    }

    /// Saves the model if it is the best so far. That is before the checkpoint that knows of it: a run
    /// resumed from the earlier checkpoint comes here again.
    fn keep<T: Float>(
        &self,
        model: &impl Module<T>,
        before: &History,
        validation: f64,
    ) -> Result<(), TrainError> {
        match (self.best, &self.directory) {
            (Some(goal), Some(directory))
                if before.best(goal).is_none_or(|(_, best)| goal.better(validation, best)) =>
            {
                Ok(model.save(&directory.join(MODEL))?)
            }
            _ => Ok(()),
        }
    }

    /// Reads the checkpoint of this run. The run may have more epochs now.
    fn load<A: Algorithm, T: Float>(
        &self,
        path: &File,
        model: &mut impl Module<T>,
        optimiser: &mut Optimiser<A, T>,
    ) -> Result<State<R>, TrainError> {
        self.state(path)?;
        Ok(State { run: self.run.clone(), ..checkpoint::load(path, model, optimiser)? })
    }

    /// Where the checkpoint of this run stands.
    fn state(&self, path: &File) -> Result<State<R>, TrainError> {
        let refused = |message| CheckpointError::Content { path: path.to_path_buf(), message };
        let found: State<R> = checkpoint::progress(path)?;
        (self.same)(&found.run, &self.run).map_err(refused)?;
        let done = found.history.epochs.len() as u64;
        if done > self.epochs || (done == self.epochs && found.batch > 0) {
            let message = format!("checkpoint after epoch {done}, beyond the {} of this run", self.epochs);
            return Err(refused(message).into());
        }
        Ok(found)
    }
}

/// The loss of a step, if it is finite: see [`Checkpoints::checked`].
fn checked(
    checkpoints: &mut Option<Checkpoints>,
    step: u64,
    loss: Result<f64, crate::OptimError>,
) -> Result<f64, TrainError> {
    if let Some(checkpoints) = checkpoints {
        return checkpoints.checked(step, loss);
    }
    let diverged = |cause: String| TrainError::Diverged { step, cause, kept: String::new() };
    match loss {
        Ok(loss) if loss.is_finite() => Ok(loss),
        Ok(loss) => Err(diverged(format!("the loss is {loss}"))),
        Err(error) => Err(diverged(error.to_string())),
    }
}

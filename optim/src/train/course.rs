//! A training under way.

use std::path::Path;
use std::time::Instant;

use cotangent_engine::Float;
use cotangent_engine::files::checkpoint::CheckpointError;
use cotangent_manifolds::Module;

use crate::algorithm::Algorithm;
use crate::average::Average;
use crate::checkpoint::Content;
use crate::error::OptimError;
use crate::optimiser::Optimiser;
use crate::train::batches::Batches;
use crate::train::checkpoints::{Checkpoints, finite};
use crate::train::error::TrainError;
use crate::train::model_file::save_model;
use crate::train::trainer::{Epoch, History, Progress, State, Trainer};

/// What is trained, as the caller of [`Trainer::run`] gives it.
pub(super) struct Task<'r, A, T: Float, N> {
    pub(super) model: &'r mut N,
    pub(super) optimiser: &'r mut Optimiser<A, T>,
    pub(super) batches: &'r dyn Batches,
    pub(super) step: &'r mut Step<'r, A, T, N>,
    pub(super) evaluate: &'r mut Evaluate<'r, N>,
}

/// Takes a step by the loss of items, and returns this loss.
type Step<'r, A, T, N> =
    dyn FnMut(&mut N, &mut Optimiser<A, T>, &mut Taken<'_>) -> Result<f64, OptimError> + 'r;

/// A step that is taken.
pub struct Taken<'a> {
    /// The numbers of its training examples.
    pub items: &'a [u32],
    /// Number of steps before it.
    pub number: u64,
    checkpoints: Option<&'a mut Checkpoints>,
    kept: Result<(), TrainError>,
}

impl Taken<'_> {
    /// Says, in a long step, that its first loss is finite: the checkpoint before it is good, and replaces
    /// the one before at once. Without this call it does so when the step has ended.
    pub fn goes_well(&mut self) {
        if let (Some(checkpoints), Ok(())) = (&mut self.checkpoints, &self.kept) {
            self.kept = checkpoints.keep();
        }
    }
}

/// Writes a checkpoint. It depends on no type of the model, so encoding is compiled once.
fn save(path: &Path, content: &Content<&State>) -> Result<(), CheckpointError> {
    content.write(path)
}

/// The validation of a model after an epoch.
type Evaluate<'r, N> = dyn FnMut(&mut N, &History) -> Result<f64, TrainError> + 'r;

/// A training under way: how it is done, what is trained, and how far it has come.
pub(super) struct Course<'r, 'a, A, T: Float, N> {
    trainer: &'r mut Trainer<'a>,
    task: Task<'r, A, T, N>,
    /// The learning rate, of which the schedule says a factor.
    rate: f64,
    pub(super) state: State,
    average: Option<Average<T>>,
    pub(super) checkpoints: Option<Checkpoints>,
    /// When it started or was resumed, the seconds before that, and the weight of the items since.
    start: Instant,
    seconds_before: f64,
    weight_done: f64,
}

impl<'r, 'a, A, T, N> Course<'r, 'a, A, T, N>
where
    A: Algorithm,
    T: Float,
    N: Module<T>,
{
    /// Starts or goes on from a state, with this learning rate. Writes the first checkpoint, if there are to
    /// be any.
    pub(super) fn new(
        trainer: &'r mut Trainer<'a>,
        task: Task<'r, A, T, N>,
        rate: f64,
        state: State,
    ) -> Result<Self, TrainError> {
        let mut average = trainer.settings.average.map(Average::exponential).transpose()?;
        if let (Some(average), Some(saved)) = (&mut average, &state.average) {
            average.load_state(task.model, saved)?;
        }
        let checkpoints = match &trainer.directory {
            Some(directory) => {
                std::fs::create_dir_all(directory).map_err(TrainError::io(directory))?;
                Some(Checkpoints::new(directory, trainer.unit, state.history.steps, |path| {
                    save(path, &Content::new(task.model, task.optimiser, &state))
                })?)
            }
            None => None,
        };
        Ok(Course {
            rate,
            start: Instant::now(),
            seconds_before: state.history.seconds,
            weight_done: 0.0,
            trainer,
            task,
            state,
            average,
            checkpoints,
        })
    }

    /// Trains the remaining epochs. Afterwards the optimiser has its own learning rate, and the model is the
    /// average, if one is kept.
    pub(super) fn run(&mut self) -> Result<(), TrainError> {
        let finished = self.epochs();
        self.task.optimiser.set_rate(self.rate)?;
        finished.and_then(|()| self.swap_average())
    }

    /// Exchanges the parameters and their average, if one is kept.
    fn swap_average(&mut self) -> Result<(), TrainError> {
        Ok(self.average.as_mut().map_or(Ok(()), |average| average.swap(self.task.model))?)
    }

    fn epochs(&mut self) -> Result<(), TrainError> {
        while !self.is_finished() {
            self.epoch()?;
        }
        self.checkpoints.as_mut().map_or(Ok(()), Checkpoints::keep)
    }

    /// Whether all epochs are done, or the run ends before its last epoch.
    fn is_finished(&self) -> bool {
        let history = &self.state.history;
        let stops = self.trainer.stop.as_ref().is_some_and(|stop| stop(history));
        history.epochs.len() as u64 >= self.trainer.epochs || (stops && self.state.batch == 0)
    }

    /// Takes the remaining steps of an epoch.
    fn epoch(&mut self) -> Result<(), TrainError> {
        let number = self.state.history.epochs.len() as u64;
        let epoch = self.task.batches.epoch(number);
        let (found, done) = (epoch.len(), self.state.batch);
        if done as usize >= found {
            return Err(TrainError::Batches { epoch: number + 1, found, done });
        }
        let epoch_weight: f64 = epoch.iter().map(|items| self.weight(items)).sum();
        for items in &epoch[done as usize..] {
            self.step(items)?;
            let ends = self.state.batch as usize == found;
            if ends {
                self.end_epoch(epoch_weight)?;
            }
            self.state.history.seconds = self.seconds_before + self.start.elapsed().as_secs_f64();
            self.write_checkpoint(ends)?;
            self.show(found as u64);
        }
        Ok(())
    }

    fn weight(&self, items: &[u32]) -> f64 {
        items.iter().map(|&item| self.task.batches.weight(item)).sum()
    }

    /// Takes a step by the loss of a batch.
    fn step(&mut self, items: &[u32]) -> Result<(), TrainError> {
        let (weight, number) = (self.weight(items), self.state.history.steps);
        let Task { model, optimiser, step, .. } = &mut self.task;
        optimiser.set_rate(self.rate * self.trainer.schedule.factor(number))?;
        let mut taken = Taken { items, number, checkpoints: self.checkpoints.as_mut(), kept: Ok(()) };
        let loss = step(model, optimiser, &mut taken);
        taken.kept?;
        let loss = loss.and_then(|loss| {
            self.average.as_mut().map_or(Ok(()), |average| average.update(*model)).map(|()| loss)
        });
        self.state.history.steps += 1;
        self.state.loss += self.checked("loss", loss)? * weight;
        self.state.batch += 1;
        self.weight_done += weight;
        Ok(())
    }

    /// Evaluates the model, or its average, keeps it if it is the best, and adds the epoch to the history.
    fn end_epoch(&mut self, epoch_weight: f64) -> Result<(), TrainError> {
        self.swap_average()?;
        let Task { model, evaluate, .. } = &mut self.task;
        let validation = evaluate(model, &self.state.history)?;
        let validation = self.checked("validation", Ok(validation))?;
        let history = &mut self.state.history;
        if let (Some(goal), Some(checkpoints)) = (self.trainer.settings.best, self.checkpoints.as_mut())
            && history.best(goal).is_none_or(|(_, best)| goal.better(validation, best))
        {
            let name = self.trainer.name.as_deref();
            checkpoints.write_model(|path| save_model(self.task.model, path, name))?;
        }
        history.epochs.push(Epoch { loss: self.state.loss / epoch_weight, validation });
        (self.state.loss, self.state.batch) = (0.0, 0);
        self.swap_average()
    }

    /// Writes a checkpoint if it is time, after the last epoch, and if that is wanted after every one.
    fn write_checkpoint(&mut self, epoch_ends: bool) -> Result<(), TrainError> {
        let due = epoch_ends && (self.trainer.checkpoint_each_epoch || self.is_finished());
        let Some(checkpoints) = &mut self.checkpoints else { return Ok(()) };
        if due || checkpoints.due(self.trainer.checkpoint_every) {
            self.state.average = self.average.as_ref().map(|average| average.state(self.task.model));
            let content = Content::new(self.task.model, self.task.optimiser, &self.state);
            checkpoints.write(self.state.history.steps, |path| save(path, &content))?;
        }
        Ok(())
    }

    /// Shows how far it has come. `batches` is the number of the epoch's.
    fn show(&mut self, batches: u64) {
        if let Some(display) = &mut self.trainer.display {
            let rate = self.weight_done / self.start.elapsed().as_secs_f64();
            let batch = [self.state.batch, batches];
            display(Progress { history: &self.state.history, epochs: self.trainer.epochs, batch, rate });
        }
    }

    /// Same as [`Checkpoints::checked`], for a run with or without checkpoints.
    fn checked(&mut self, what: &'static str, value: Result<f64, OptimError>) -> Result<f64, TrainError> {
        let step = self.state.history.steps;
        match &mut self.checkpoints {
            Some(checkpoints) => checkpoints.checked(step, what, value),
            None => {
                let unit = self.trainer.unit;
                finite(what, value).map_err(|cause| TrainError::Diverged { unit, step, cause, kept: None })
            }
        }
    }
}

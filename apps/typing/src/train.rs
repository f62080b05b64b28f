//! Training: López & Strube 2020, sections 4.6 and 5.2.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cotangent::optim::train::{Epoch, Goal, History, Progress, TrainError};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics as files;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Figure;
use cotangent_apps_common::task::{self, Recipe, Task};
use cotangent_apps_common::training::figures;
use serde::{Deserialize, Serialize};

use crate::batches::{Batch, Cycles};
use crate::config::TypingConfig;
use crate::data::Data;
use crate::examples::Example;
use crate::loss::TypingLoss;
use crate::metrics::Figures;
use crate::model::{Counts, TypingModel};
use crate::typer::{DESCRIPTION, Description, MODEL, evaluate};

/// The figures of an epoch on the dev mentions. They are kept in this file, for a run that is resumed.
const EPOCHS: &str = "epochs.json";

/// The result of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochFigures {
    /// The mean loss of the training mentions, each computed before its own step.
    pub loss: f64,
    /// The figures on the dev mentions.
    pub dev: Figures,
    /// The mean distance of the dev mentions' text vectors from the origin: appendix H, Figure 6.
    pub text_norm: f64,
}

/// What `epochs.json` has of an epoch. Its loss is in the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct DevFigures {
    dev: Figures,
    text_norm: f64,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypingMetrics {
    /// Settings and seed.
    pub config: TypingConfig,
    /// Number of mentions to train on, to select by and to test on.
    pub mentions: [usize; 3],
    /// In each part the number of mentions without types, which were left out.
    pub untyped: [usize; 3],
    /// Number of types.
    pub types: usize,
    /// Number of words with vectors.
    pub words: usize,
    /// Number of parameters of encoder, attention, concatenation and logistic regression.
    pub parameters: [usize; 4],
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the model was trained on.
    pub device: String,
    /// The result of every epoch.
    pub epochs: Vec<EpochFigures>,
    /// The epoch, counted from 1, with the best total macro F1 on dev. Its model is kept and tested.
    pub best_epoch: usize,
    /// The figures of that model on the dev mentions.
    pub dev: Figures,
    /// The figures of that model on the test mentions, if there are any.
    pub test: Option<Figures>,
    /// Seconds of training and evaluation on dev, summed over all resumed parts.
    pub seconds: f64,
}

/// Trains a model and writes `metrics.json`, `model.safetensors` and `typing.json` (the model with the best
/// total macro F1 on dev), `curves.svg`, `epochs.json` and the checkpoint. It uses the current thread pool;
/// the result does not depend on the pool's size.
///
/// # Errors
/// If a setting is wrong, the output cannot be written, the checkpoint belongs to another run, `epochs.json`
/// does not fit it, or training diverges.
pub fn train(data: &Data, config: &TypingConfig, run: &RunOptions) -> Result<TypingMetrics> {
    config.check()?;
    let parameters = config.least_parameters(data.words.width(), data.types.len());
    memory::training(&config.sizes(), parameters, config.precision)?;
    // The batches of an epoch are drawn together.
    let (cycles, mentions) = (usize::try_from(config.cycles).unwrap_or(usize::MAX), data.parts[0].len());
    let batches = memory::bytes::<Vec<u32>>(&[cycles, mentions.div_ceil(config.batch)]);
    let order = batches + memory::bytes::<u32>(&[cycles, mentions]);
    memory::check(&[("cycles", cycles)], "the order of an epoch", order)?;
    match config.precision {
        Precision::F32 => fit::<f32>(data, config, run),
        Precision::F64 => fit::<f64>(data, config, run),
    }
}

fn fit<T: Float>(data: &Data, config: &TypingConfig, run: &RunOptions) -> Result<TypingMetrics> {
    let _held = output::hold(&run.out)?;
    let epochs = Mutex::new(Epochs::new(&run.out, run.resume)?);
    let task = TypingTask::<T> { data, config, run, epochs, number: PhantomData };
    task::fit(&task, task.model(), run)
}

struct TypingTask<'a, T> {
    data: &'a Data,
    config: &'a TypingConfig,
    run: &'a RunOptions,
    epochs: Mutex<Epochs>,
    number: PhantomData<fn() -> T>,
}

impl<T: Float> TypingTask<'_, T> {
    /// The model before the first step.
    fn model(&self) -> TypingModel<T> {
        let TypingTask { data, config, .. } = *self;
        let points = data.words.points(config.vectors, config.spaces.encoder, config.word_radius);
        let counts = Counts { characters: data.characters.places(), types: data.types.len() };
        TypingModel::new(points, counts, config)
    }

    fn schedule(&self, steps: u64) -> Schedule {
        match self.config.lr_floor {
            1.0 => Schedule::Constant,
            floor => Schedule::Cosine { steps, floor },
        }
    }

    fn describe(&self) -> Description {
        let TypingTask { data, config, .. } = *self;
        let word_file = std::path::absolute(&data.word_file).unwrap_or_else(|_| data.word_file.clone());
        Description {
            config: config.clone(),
            types: data.types.clone(),
            characters: data.characters.clone(),
            word_file,
            words: data.words.fingerprint(),
            width: data.words.width(),
            run: self.name(),
        }
    }

    fn tape(&self) -> Tape<T> {
        Tape::with_device(self.run.device.clone())
    }

    fn epochs(&self) -> MutexGuard<'_, Epochs> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Float> Task for TypingTask<'_, T> {
    type Config = TypingConfig;
    type Number = T;
    type Model = TypingModel<T>;
    type Batches = Cycles;
    type Metrics = TypingMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "macro F1 on dev";

    fn config(&self) -> &TypingConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint()
    }

    fn recipe(&self) -> Result<Recipe<T, Cycles>> {
        let TypingConfig { epochs, batch, cycles, seed, lr, clip, .. } = *self.config;
        let batches = Cycles { items: self.data.parts[0].len(), batch, cycles, seed };
        let steps = options::steps(epochs, batches.steps())?;
        let recipe = Recipe::new(batches, steps, RiemannianAdam::new(lr)?.clip(clip)?);
        // One part: the loss is of the whole batch, and its large products use all threads by themselves.
        Ok(Recipe { schedule: self.schedule(steps), parts: [1, batch], ..recipe })
    }

    fn begin(&self, options: &RunOptions) -> Result<()> {
        options.set_aside(|name| [DESCRIPTION, EPOCHS].contains(&name))?;
        if options.resume { Ok(()) } else { self.describe().write(&options.out) }
    }

    fn loss<'t>(&self, model: &TypingModel<T>, tape: &'t Tape<T>, items: &[u32]) -> Var<'t, T> {
        let &TypingConfig { loss, reduction, .. } = self.config;
        let examples: Vec<&Example> = items.iter().map(|&i| &self.data.parts[0][i as usize]).collect();
        let loss = TypingLoss { types: &self.data.types, loss, reduction };
        loss.compute(model.forward(tape, &Batch::new(&examples)).logits, &examples)
    }

    /// The total macro F1 on dev. NaN if a logit is no finite number.
    fn validate(&self, model: &mut TypingModel<T>, before: &History) -> std::result::Result<f64, TrainError> {
        let (data, threshold) = (self.data, self.config.threshold);
        let Ok(found) = evaluate(model, &data.parts[1], &data.types, threshold, &mut self.tape()) else {
            return Ok(f64::NAN);
        };
        self.epochs().add(before, DevFigures { dev: found.figures, text_norm: found.text_norm })?;
        Ok(found.figures.total.by_mention.f1)
    }

    fn figures(&self, now: &Progress<'_>) -> Vec<Figure> {
        figures(now, "dev_macro_f1", "mentions_per_second")
    }

    fn test(&self, model: &mut TypingModel<T>, history: &History) -> Result<TypingMetrics> {
        let TypingTask { data, config, run, .. } = *self;
        let test = &data.parts[2];
        let tested = (!test.is_empty())
            .then(|| evaluate(model, test, &data.types, config.threshold, &mut self.tape()))
            .transpose()
            .map_err(|message| AppError::content(&run.out.join(MODEL), message))?;
        // A resumed run may find its files in another place.
        self.describe().write(&run.out)?;
        let epochs = self.epochs().with_losses(history)?;
        let (best_epoch, _) = self.best(history);
        Ok(TypingMetrics {
            config: config.clone(),
            mentions: [0, 1, 2].map(|i| data.parts[i].len()),
            untyped: data.untyped,
            types: data.types.len(),
            words: data.words.len(),
            parameters: model.parts(),
            threads: rayon::current_num_threads(),
            device: run.device.to_string(),
            best_epoch: best_epoch as usize,
            dev: epochs[best_epoch as usize - 1].dev,
            epochs,
            test: tested.map(|found| found.figures),
            seconds: history.seconds,
        })
    }

    fn title(&self, metrics: &TypingMetrics) -> String {
        format!("total macro F1 on dev: {:.2} %", 100.0 * metrics.dev.total.by_mention.f1)
    }

    /// With the norm of text vectors.
    fn curves(&self, path: &Path, metrics: &TypingMetrics, _: &History) -> Result<()> {
        let values = |f: fn(&EpochFigures) -> f64| metrics.epochs.iter().map(f).collect::<Vec<f64>>();
        let norm = values(|epoch| epoch.text_norm);
        let series = [
            Series { name: "training loss", values: values(|epoch| epoch.loss), better: f64::min },
            Series {
                name: Self::VALIDATION,
                values: values(|epoch| epoch.dev.total.by_mention.f1),
                better: f64::max,
            },
            Series { name: "norm of text vectors", values: norm, better: curves::NEITHER },
        ];
        curves::plot(path, &self.title(metrics), &series)
    }
}

impl TypingMetrics {
    /// Number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters.iter().sum()
    }
}

/// The figures of the epochs so far, in memory and in their file.
struct Epochs {
    path: std::path::PathBuf,
    list: Vec<DevFigures>,
}

impl Epochs {
    /// For a run in a directory. If it is resumed, the figures of the earlier epochs are read.
    fn new(directory: &Path, resume: bool) -> Result<Self> {
        let path = directory.join(EPOCHS);
        let list = if resume && path.exists() { files::read_json(&path)? } else { Vec::new() };
        Ok(Epochs { path, list })
    }

    /// Adds an epoch after those of the history. Epochs after the checkpoint of an interrupted run, which are
    /// done again, are replaced.
    fn add(&mut self, history: &History, epoch: DevFigures) -> std::result::Result<(), TrainError> {
        let done = history.epochs.len();
        if self.list.len() < done {
            return Err(self.wrong(done).into());
        }
        self.list.truncate(done);
        self.list.push(epoch);
        Ok(files::write_json(&self.path, &self.list)?)
    }

    /// All epochs, with the losses of the history.
    fn with_losses(&self, history: &History) -> Result<Vec<EpochFigures>> {
        let done = history.epochs.len();
        if self.list.len() != done {
            return Err(self.wrong(done));
        }
        let epoch = |(&DevFigures { dev, text_norm }, &Epoch { loss, .. }): (&DevFigures, &Epoch)| {
            EpochFigures { loss, dev, text_norm }
        };
        Ok(self.list.iter().zip(&history.epochs).map(epoch).collect())
    }

    fn wrong(&self, done: usize) -> AppError {
        AppError::content(&self.path, format!("{} epochs, but {done} are done", self.list.len()))
    }
}

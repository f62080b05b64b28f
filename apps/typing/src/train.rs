//! Training: López & Strube 2020, sections 4.6 and 5.2.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use cotangent::optim::train::{Epoch, Goal, History, MODEL};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics as files;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use serde::{Deserialize, Serialize};

use crate::batches::{Batch, Cycles};
use crate::config::TypingConfig;
use crate::data::Data;
use crate::examples::Example;
use crate::loss::TypingLoss;
use crate::metrics::Figures;
use crate::model::{Counts, TypingModel};
use crate::typer::{DESCRIPTION, Description, evaluate};

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
    let cycles = usize::try_from(config.cycles).unwrap_or(usize::MAX);
    let mentions = data.parts[0].len() - data.distant;
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
    let task = TypingTask::<T> { data, config, run, number: PhantomData };
    task::fit(&task, task.model(), run)
}

struct TypingTask<'a, T> {
    data: &'a Data,
    config: &'a TypingConfig,
    run: &'a RunOptions,
    number: PhantomData<fn() -> T>,
}

impl<T: Float> TypingTask<'_, T> {
    fn epochs(&self) -> Epochs {
        Epochs { path: self.run.out.join(EPOCHS) }
    }

    /// The model before the first step.
    fn model(&self) -> TypingModel<T> {
        let TypingTask { data, config, .. } = *self;
        let points = data.words.points(config.vectors, config.spaces.encoder, config.word_radius);
        let counts = Counts { characters: data.characters.places(), types: data.types.len() };
        TypingModel::new(points, counts, config)
    }

    fn describe(&self, run: &str) -> Description {
        let TypingTask { data, config, .. } = *self;
        let word_file = std::path::absolute(&data.word_file).unwrap_or_else(|_| data.word_file.clone());
        Description {
            config: config.clone(),
            types: data.types.clone(),
            characters: data.characters.clone(),
            word_file,
            words: data.words.fingerprint(),
            width: data.words.width(),
            run: run.to_owned(),
        }
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
    const SHOWN: [&'static str; 2] = ["dev_macro_f1", "mentions_per_second"];
    const FILES: &'static [&'static str] = &[DESCRIPTION, EPOCHS];

    fn config(&self) -> &TypingConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint()
    }

    fn batches(&self) -> Cycles {
        let TypingConfig { batch, cycles, seed, .. } = *self.config;
        Cycles { distant: self.data.distant, items: self.data.parts[0].len(), batch, cycles, seed }
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<T>> {
        let TypingConfig { batch, lr, lr_floor, clip, .. } = *self.config;
        let schedule = match lr_floor {
            1.0 => Schedule::Constant,
            floor => Schedule::Cosine { steps, floor },
        };
        // One part: the loss is of the whole batch, and its large products use all threads by themselves.
        Ok(Recipe { schedule, parts: [1, batch], ..Recipe::new(RiemannianAdam::new(lr)?.clip(clip)?) })
    }

    fn begin(&self, name: &str, options: &RunOptions) -> Result<()> {
        options.set_aside(&|name| Self::FILES.contains(&name))?;
        self.describe(name).write(&options.out)
    }

    fn loss<'t>(&self, model: &TypingModel<T>, tape: &'t Tape<T>, items: &[u32]) -> Result<Var<'t, T>> {
        let &TypingConfig { loss, reduction, .. } = self.config;
        let examples: Vec<&Example> = items.iter().map(|&i| &self.data.parts[0][i as usize]).collect();
        let loss = TypingLoss { types: &self.data.types, loss, reduction };
        Ok(loss.compute(model.forward(tape, &Batch::new(&examples)).logits, &examples))
    }

    /// The total macro F1 on dev. NaN if a logit is no finite number.
    fn validate(&self, model: &mut TypingModel<T>, before: &History, tape: &mut Tape<T>) -> Result<f64> {
        let (data, threshold) = (self.data, self.config.threshold);
        let Ok(found) = evaluate(model, &data.parts[1], &data.types, threshold, tape) else {
            return Ok(f64::NAN);
        };
        self.epochs().add(before, DevFigures { dev: found.figures, text_norm: found.text_norm })?;
        Ok(found.figures.total.by_mention.f1)
    }

    fn test(
        &self,
        model: &mut TypingModel<T>,
        history: &History,
        tape: &mut Tape<T>,
    ) -> Result<TypingMetrics> {
        let TypingTask { data, config, run, .. } = *self;
        let (epochs, test) = (self.epochs().with_losses(history)?, &data.parts[2]);
        let tested = (!test.is_empty())
            .then(|| evaluate(model, test, &data.types, config.threshold, tape))
            .transpose()
            .map_err(|message| AppError::content(&run.out.join(MODEL), message))?;
        let (best_epoch, _) = task::best::<Self>(history);
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
    fn draw(&self, out: &Path, trained: Trained<'_, Self>, _: &mut Tape<T>) -> Result<()> {
        let metrics = trained.metrics;
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
        curves::plot(&out.join(curves::FILE), &self.title(metrics), &series)
    }
}

impl TypingMetrics {
    /// Number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters.iter().sum()
    }
}

/// The file with the figures of the epochs so far.
struct Epochs {
    path: PathBuf,
}

impl Epochs {
    /// Adds an epoch after those of the history. Epochs after the checkpoint of an interrupted run, which are
    /// done again, are replaced.
    fn add(&self, history: &History, epoch: DevFigures) -> Result<()> {
        let done = history.epochs.len();
        let mut list = self.list(done)?;
        list.truncate(done);
        list.push(epoch);
        files::write_json(&self.path, &list)
    }

    /// All epochs, with the losses of the history.
    fn with_losses(&self, history: &History) -> Result<Vec<EpochFigures>> {
        let list = self.list(history.epochs.len())?;
        let epoch = |(DevFigures { dev, text_norm }, &Epoch { loss, .. }): (DevFigures, &Epoch)| {
            EpochFigures { loss, dev, text_norm }
        };
        Ok(list.into_iter().zip(&history.epochs).map(epoch).collect())
    }

    /// At least `done` epochs.
    fn list(&self, done: usize) -> Result<Vec<DevFigures>> {
        let exists = done > 0 && self.path.exists();
        let list: Vec<DevFigures> = if exists { files::read_json(&self.path)? } else { Vec::new() };
        match list.len() < done {
            true => Err(AppError::content(&self.path, format!("{} epochs, but {done} are done", list.len()))),
            false => Ok(list),
        }
    }
}

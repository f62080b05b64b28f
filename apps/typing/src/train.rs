//! Training: López & Strube 2020, sections 4.6 and 5.2.

use std::path::Path;

use cotangent::optim::train::{Epoch, Goal, History, TrainError};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics as files;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::{figures, trainer};
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
        Precision::F32 => Training { data, config, run }.start::<f32>(),
        Precision::F64 => Training { data, config, run }.start::<f64>(),
    }
}

struct Training<'a> {
    data: &'a Data,
    config: &'a TypingConfig,
    run: &'a RunOptions,
}

impl Training<'_> {
    /// Trains a model and tests it.
    fn start<T: Float>(&self) -> Result<TypingMetrics> {
        let Training { data, config, run } = *self;
        let _held = output::hold(&run.out)?;
        let mut model = self.model::<T>();
        let mut tape = Tape::with_device(run.device.clone());
        let (history, epochs) = self.epochs(&mut model, &mut tape)?;
        let test = &data.parts[2];
        let tested = (!test.is_empty())
            .then(|| evaluate(&model, test, &data.types, config.threshold, &mut tape))
            .transpose()
            .map_err(|message| AppError::content(&run.out.join(MODEL), message))?;
        self.finish(model.parts(), &history, epochs, tested.map(|found| found.figures))
    }

    /// Trains the model. Afterwards it is the one with the best total macro F1 on dev.
    fn epochs<T: Float>(
        &self,
        model: &mut TypingModel<T>,
        tape: &mut Tape<T>,
    ) -> Result<(History, Vec<EpochFigures>)> {
        let Training { data, config, run } = *self;
        let (out, fingerprint) = (&run.out, data.fingerprint());
        let name = output::fingerprint(config, fingerprint);
        let mut adam = RiemannianAdam::new(config.lr)?.clip(config.clip)?;
        let batches = self.cycles();
        let steps = options::steps(config.epochs, batches.steps())?;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(config, fingerprint, run)
            .schedule(self.schedule(steps))
            // One part: the loss is of the whole batch, and its large products use all threads by themselves.
            .parts(1, config.batch)
            .best(Goal::Greatest)
            .named(name.clone())
            .display(|now| {
                let shown = || figures(&now, "dev_macro_f1", "mentions_per_second");
                progress.update(now.history.steps, shown);
            });
        trainer.check()?;
        if !run.resume {
            output::set_aside(out, |name| [DESCRIPTION, EPOCHS].contains(&name))?;
        }
        self.describe(name).write(out)?;
        let mut epochs = Epochs::new(out, run.resume)?;
        let [train, dev, _] = &data.parts;
        let loss = TypingLoss { types: &data.types, loss: config.loss, reduction: config.reduction };
        let history = trainer.run(
            model,
            &mut adam,
            &batches,
            |model, tape, items| {
                let examples: Vec<&Example> = items.iter().map(|&i| &train[i as usize]).collect();
                loss.compute(model.forward(tape, &Batch::new(&examples)).logits, &examples)
            },
            |model, history| {
                // A validation that is no number ends the training.
                let Ok(found) = evaluate(model, dev, &data.types, config.threshold, tape) else {
                    return Ok(f64::NAN);
                };
                epochs.add(history, DevFigures { dev: found.figures, text_norm: found.text_norm })?;
                Ok(found.figures.total.by_mention.f1)
            },
        )?;
        drop(trainer);
        progress.finish();
        let epochs = epochs.with_losses(&history)?;
        Ok((history, epochs))
    }

    /// The model before the first step.
    fn model<T: Float>(&self) -> TypingModel<T> {
        let Training { data, config, .. } = *self;
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

    fn cycles(&self) -> Cycles {
        let TypingConfig { batch, cycles, seed, .. } = *self.config;
        Cycles { items: self.data.parts[0].len(), batch, cycles, seed }
    }

    fn describe(&self, run: String) -> Description {
        let Training { data, config, .. } = *self;
        let word_file = std::path::absolute(&data.word_file).unwrap_or_else(|_| data.word_file.clone());
        Description {
            config: config.clone(),
            types: data.types.clone(),
            characters: data.characters.clone(),
            word_file,
            words: data.words.fingerprint(),
            width: data.words.width(),
            run,
        }
    }

    /// Writes all results.
    fn finish(
        &self,
        parameters: [usize; 4],
        history: &History,
        epochs: Vec<EpochFigures>,
        test: Option<Figures>,
    ) -> Result<TypingMetrics> {
        let Training { data, config, run } = *self;
        let (best_epoch, _) = history.best(Goal::Greatest).expect("at least one epoch");
        let metrics = TypingMetrics {
            config: config.clone(),
            mentions: [0, 1, 2].map(|i| data.parts[i].len()),
            untyped: data.untyped,
            types: data.types.len(),
            words: data.words.len(),
            parameters,
            threads: rayon::current_num_threads(),
            device: run.device.to_string(),
            best_epoch: best_epoch as usize,
            dev: epochs[best_epoch as usize - 1].dev,
            epochs,
            test,
            seconds: history.seconds,
        };
        files::write(&run.out, &metrics)?;
        metrics.plot(&run.out.join("curves.svg"))?;
        Ok(metrics)
    }
}

impl TypingMetrics {
    /// Number of parameters.
    pub fn parameter_count(&self) -> usize {
        self.parameters.iter().sum()
    }

    fn plot(&self, path: &Path) -> Result<()> {
        let values = |f: fn(&EpochFigures) -> f64| self.epochs.iter().map(f).collect::<Vec<f64>>();
        let f1 = 100.0 * self.dev.total.by_mention.f1;
        curves::plot(
            path,
            &format!("total macro F1 on dev: {f1:.2} %"),
            &[
                Series { name: "training loss", values: values(|epoch| epoch.loss), better: f64::min },
                Series {
                    name: "macro F1 on dev",
                    values: values(|epoch| epoch.dev.total.by_mention.f1),
                    better: f64::max,
                },
                Series {
                    name: "norm of text vectors",
                    values: values(|epoch| epoch.text_norm),
                    better: curves::NEITHER,
                },
            ],
        )
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
    fn with_losses(self, history: &History) -> Result<Vec<EpochFigures>> {
        let done = history.epochs.len();
        if self.list.len() != done {
            return Err(self.wrong(done));
        }
        let epoch = |(DevFigures { dev, text_norm }, &Epoch { loss, .. }): (_, &Epoch)| EpochFigures {
            loss,
            dev,
            text_norm,
        };
        Ok(self.list.into_iter().zip(&history.epochs).map(epoch).collect())
    }

    fn wrong(&self, done: usize) -> AppError {
        AppError::content(&self.path, format!("{} epochs, but {done} are done", self.list.len()))
    }
}

//! Training and testing a model.

use cotangent::layers::Score;
use cotangent::optim::train::History;
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::training::{figures, trainer};
use cotangent_apps_common::{config, curves, metrics, output};

use super::answers::answer;
use super::batch::Batch;
use super::config::{PARTS, ReasonConfig};
use super::dataset::{Dataset, Example};
use super::model::Reasoner;
use super::{ReasonMetrics, pictures};

/// The pictures beside the learning curves.
const PICTURES: [&str; 2] = ["accuracy.svg", "answers.svg"];

/// Training scenes that the running statistics of maps are computed from.
const OBSERVED: usize = 512;

/// Trains a model and writes `metrics.json`, `model.safetensors` (the model with the best validation
/// accuracy), `curves.svg`, `accuracy.svg`, `answers.svg` and the checkpoint. It uses the current thread
/// pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(
    data: &Dataset,
    config: &ReasonConfig,
    scores: &Scores,
    options: &RunOptions,
) -> Result<ReasonMetrics> {
    let score = config.check(scores)?;
    let _held = output::hold(&options.out)?;
    Run { data, config, options }.fit(&*score)
}

struct Run<'a> {
    data: &'a Dataset,
    config: &'a ReasonConfig,
    options: &'a RunOptions,
}

impl Run<'_> {
    /// Trains the model, tests the best one and writes all results.
    fn fit(&self, score: &dyn Score<f32>) -> Result<ReasonMetrics> {
        let out = &self.options.out;
        let mut model = Reasoner::new(self.config, self.data, score);
        let mut tape = Tape::with_device(self.options.device.clone());
        let history = self.epochs(&mut model, &mut tape)?;
        let metrics = self.metrics(&model, &history, &mut tape);
        metrics::write(out, &metrics)?;
        let title = self.title(metrics.accuracy);
        let curves = out.join("curves.svg");
        curves::training(&curves, &title, &history.epochs, "validation accuracy", f64::max)?;
        let [accuracy, answers] = PICTURES.map(|name| out.join(name));
        pictures::accuracy(&accuracy, &title, &metrics.test)?;
        pictures::answers(&answers, &title, &model, self.data, &mut tape)?;
        Ok(metrics)
    }

    fn title(&self, accuracy: f64) -> String {
        let (data, matching) = (&self.data.name, config::name(self.config.matching));
        let units = self.config.units;
        format!("{data}, {units} units, matching {matching}: test accuracy {:.1} %", 100.0 * accuracy)
    }

    /// Trains the model. Afterwards it is the one with the best validation accuracy.
    fn epochs(&self, model: &mut Reasoner, tape: &mut Tape<f32>) -> Result<History> {
        let Run { data, config, options } = *self;
        let fingerprint = data.fingerprint();
        let mut adam = RiemannianAdam::new(config.lr)?.clip(config.clip)?;
        let steps = options::steps(config.epochs, data.train.len().div_ceil(config.batch) as u64)?;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = trainer(config, fingerprint, options)
            .schedule(Schedule::Cosine { steps, floor: 0.0 })
            .parts(PARTS[0], PARTS[1])
            .best(Goal::Greatest)
            .named(output::fingerprint(config, fingerprint))
            .display(|now| {
                progress.update(now.history.steps, || {
                    let left = (steps - now.history.steps) as f64 * config.batch as f64 / now.rate;
                    let mut figures = figures(&now, "validation_accuracy", "scenes_per_second");
                    figures.push(Figure::new("seconds_left", left, 0));
                    figures
                })
            });
        trainer.check()?;
        if !options.resume {
            output::set_aside(&options.out, |name| PICTURES.contains(&name))?;
        }
        let batches = Shuffled { items: data.train.len(), batch: config.batch, seed: config.seed };
        let history = trainer.run(
            model,
            &mut adam,
            &batches,
            |model, tape, items| {
                let examples: Vec<&Example> = items.iter().map(|&i| &data.train[i as usize]).collect();
                model.loss(tape, &Batch::new(&examples))
            },
            |model, _| Ok(self.validate(model, tape)),
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// The accuracy on the scenes for validation, after the running statistics are those of the model. NaN if
    /// a logit is no finite number, which ends the training.
    fn validate(&self, model: &mut Reasoner, tape: &mut Tape<f32>) -> f64 {
        let observed = self.data.train.len().min(OBSERVED);
        model.observe(tape, &self.data.train[..observed]);
        let answers = answer(model, self.data, &self.data.validation, tape);
        if answers.not_finite > 0 { f64::NAN } else { answers.accuracy() }
    }

    /// Tests the model.
    fn metrics(&self, model: &Reasoner, history: &History, tape: &mut Tape<f32>) -> ReasonMetrics {
        let answers = answer(model, self.data, &self.data.test, tape);
        let (best_epoch, validation) = history.best(Goal::Greatest).expect("at least one epoch");
        ReasonMetrics {
            config: self.config.clone(),
            data: self.data.name.clone(),
            sizes: self.data.sizes(),
            parameters: model.count(),
            relation_parameters: model.relation_parameters(),
            threads: rayon::current_num_threads(),
            device: self.options.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch,
            validation,
            accuracy: answers.accuracy(),
            constant: answers.constant(),
            test: answers,
            seconds: history.seconds,
        }
    }
}

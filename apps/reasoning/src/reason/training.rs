//! Training and testing a model.

use std::path::Path;

use cotangent::optim::train::{Goal, History, Shuffled};
use cotangent::prelude::*;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use cotangent_apps_common::{config, output};

use super::answers::answer;
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
    let model = Reasoner::new(config, data, &*score);
    task::fit(&ReasonTask { data, config, options }, model, options)
}

/// A training and its test.
#[derive(Clone, Copy)]
struct ReasonTask<'a> {
    data: &'a Dataset,
    config: &'a ReasonConfig,
    options: &'a RunOptions,
}

impl Task for ReasonTask<'_> {
    type Config = ReasonConfig;
    type Number = f32;
    type Model = Reasoner;
    type Batches = Shuffled;
    type Metrics = ReasonMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "validation accuracy";
    const SHOWN: [&'static str; 2] = ["validation_accuracy", "scenes_per_second"];
    const FILES: &'static [&'static str] = &PICTURES;

    fn config(&self) -> &ReasonConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint()
    }

    fn batches(&self) -> Shuffled {
        Shuffled { items: self.data.train.len(), batch: self.config.batch, seed: self.config.seed }
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<f32>> {
        let adam = RiemannianAdam::new(self.config.lr)?.clip(self.config.clip)?;
        let schedule = Schedule::Cosine { steps, floor: 0.0 };
        Ok(Recipe { schedule, parts: PARTS, ..Recipe::new(adam) })
    }

    fn loss<'t>(&self, model: &Reasoner, tape: &'t Tape<f32>, items: &[u32]) -> Result<Var<'t, f32>> {
        let examples: Vec<&Example> = items.iter().map(|&i| &self.data.train[i as usize]).collect();
        // The stream of dropout also moves the pictures.
        let mut rng = tape.evaluation().expect("a tape that is training");
        let batch = model.batch(&examples, Some(&mut rng))?;
        tape.training(rng);
        Ok(model.loss(tape, &batch))
    }

    /// The accuracy on the scenes for validation, after the running statistics are those of the model. NaN if
    /// a logit is no finite number.
    fn validate(&self, model: &mut Reasoner, _: &History, tape: &mut Tape<f32>) -> Result<f64> {
        let data = self.data;
        model.observe(tape, &data.train[..data.train.len().min(OBSERVED)])?;
        let answers = answer(model, data, &data.validation, tape)?;
        Ok(if answers.not_finite > 0 { f64::NAN } else { answers.accuracy() })
    }

    fn test(&self, model: &mut Reasoner, history: &History, tape: &mut Tape<f32>) -> Result<ReasonMetrics> {
        let ReasonTask { data, config, options } = *self;
        let answers = answer(model, data, &data.test, tape)?;
        let (best_epoch, validation) = task::best::<Self>(history);
        Ok(ReasonMetrics {
            config: config.clone(),
            training: Training::new(model, history, &options.device),
            data: data.name.clone(),
            sizes: data.sizes(),
            relation_parameters: model.relation_parameters(),
            best_epoch,
            validation,
            accuracy: answers.accuracy(),
            constant: answers.constant(),
            test: answers,
        })
    }

    fn title(&self, metrics: &ReasonMetrics) -> String {
        let (data, matching) = (&self.data.name, config::name(self.config.matching));
        let (units, accuracy) = (self.config.units, 100.0 * metrics.accuracy);
        format!("{data}, {units} units, matching {matching}: test accuracy {accuracy:.1} %")
    }

    fn draw(&self, out: &Path, trained: Trained<'_, Self>, tape: &mut Tape<f32>) -> Result<()> {
        let (title, [accuracy, answers]) = (self.title(trained.metrics), PICTURES.map(|name| out.join(name)));
        trained.curves(&title, out)?;
        pictures::accuracy(&accuracy, &title, &trained.metrics.test)?;
        pictures::answers(&answers, &title, trained.model, self.data, tape)
    }
}

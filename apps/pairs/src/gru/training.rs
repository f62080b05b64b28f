//! Training and testing a model.

use std::marker::PhantomData;
use std::path::Path;

use cotangent::optim::train::{Goal, History};
use cotangent::prelude::*;
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use cotangent_apps_common::{memory, output};

use super::batches::PairBatches;
use super::model::{GruModel, classify, side_by_side};
use super::{GruConfig, GruMetrics, Space};
use crate::sentence_pairs::{Pair, SentencePairs};

/// The picture of a model in two dimensions.
const SENTENCES: &str = "sentences.svg";

/// Trains a model and writes `metrics.json`, `model.safetensors` (the model with the best validation
/// accuracy), `curves.svg`, the checkpoint and, in two dimensions, `sentences.svg`. It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(data: &SentencePairs, config: &GruConfig, options: &RunOptions) -> Result<GruMetrics> {
    config.check()?;
    memory::training(&[("dim", config.dim)], config.least_parameters(data.words.len()), config.precision)?;
    match config.precision {
        Precision::F32 => in_precision::<f32>(data, config, options),
        Precision::F64 => in_precision::<f64>(data, config, options),
    }
}

/// Trains the model, tests the best one and writes all results, in the precision `T`.
fn in_precision<T: Float>(
    data: &SentencePairs,
    config: &GruConfig,
    options: &RunOptions,
) -> Result<GruMetrics> {
    let model = GruModel::new(config, [data.words.len(), data.classes.len()]);
    let _held = output::hold(&options.out)?;
    task::fit(&GruTask::<T> { data, config, options, number: PhantomData }, model, options)
}

/// The training of a model of numbers `T`.
struct GruTask<'a, T> {
    data: &'a SentencePairs,
    config: &'a GruConfig,
    options: &'a RunOptions,
    number: PhantomData<T>,
}

impl<T: Float> GruTask<'_, T> {
    /// Draws the hyperplanes of the logistic regression, and its input points for the first test pairs.
    fn picture(&self, model: &GruModel<T>, title: &str, tape: &mut Tape<T>) -> Result<()> {
        const SHOWN: usize = 2000;
        let pairs: Vec<&Pair> = self.data.test.iter().take(SHOWN).collect();
        let (sentences, classes) = side_by_side(&pairs);
        tape.reset();
        let [inputs, _] = model.forward(tape, &sentences);
        let [points, normals] = model.hyperplanes(tape);
        let rows = |x: Var<'_, T>| -> Vec<[f64; 2]> {
            x.to_tensor().rows().map(|row| [row[0].to_f64(), row[1].to_f64()]).collect()
        };
        let kappa = match self.config.architecture.head {
            Space::Euclidean => 0.0,
            Space::Hyperbolic => {
                let [.., head] = model.learned_kappa();
                head.unwrap_or(self.config.kappa)
            }
        };
        // With two classes, the hyperplane of the positive one is drawn.
        let hyperplanes: Vec<_> = rows(points).into_iter().zip(rows(normals)).collect();
        let hyperplanes = if self.data.classes.len() == 2 { &hyperplanes[1..] } else { &hyperplanes };
        disk::classes(
            &self.options.out.join(SENTENCES),
            &Classes {
                points: &rows(inputs),
                labels: &classes,
                names: &self.data.classes,
                hyperplanes,
                coloured: false,
                kappa,
                geodesics: kappa < 0.0,
                title,
            },
        )
    }
}

impl<T: Float> Task for GruTask<'_, T> {
    type Config = GruConfig;
    type Number = T;
    type Model = GruModel<T>;
    type Batches = PairBatches;
    type Metrics = GruMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "validation accuracy";
    const SHOWN: [&'static str; 2] = ["validation_accuracy", "pairs_per_second"];
    const FILES: &'static [&'static str] = &[SENTENCES];

    fn config(&self) -> &GruConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.data.fingerprint()
    }

    fn batches(&self) -> PairBatches {
        PairBatches::new(self.data.train.len(), self.config)
    }

    fn recipe(&self, steps: u64) -> Result<Recipe<T>> {
        let adam = self.config.protocol.optimiser(self.config, self.data.classes.len())?;
        let schedule = Schedule::Cosine { steps, floor: self.config.lr_floor };
        Ok(Recipe { schedule, parts: [8, 32], ..Recipe::new(adam) })
    }

    fn loss<'t>(&self, model: &GruModel<T>, tape: &'t Tape<T>, items: &[u32]) -> Result<Var<'t, T>> {
        let pairs: Vec<&Pair> = items.iter().map(|&i| &self.data.train[i as usize]).collect();
        let (sentences, classes) = side_by_side(&pairs);
        let [_, logits] = model.forward(tape, &sentences);
        Ok(loss::cross_entropy(logits, &classes, 0.0))
    }

    fn validate(&self, model: &mut GruModel<T>, _: &History, tape: &mut Tape<T>) -> Result<f64> {
        let SentencePairs { validation, classes, .. } = self.data;
        Ok(classify(model, validation, classes.len(), tape).accuracy())
    }

    fn test(&self, model: &mut GruModel<T>, history: &History, tape: &mut Tape<T>) -> Result<GruMetrics> {
        let GruTask { data, config, options, .. } = *self;
        let confusion = classify(model, &data.test, data.classes.len(), tape);
        let (best_epoch, validation) = task::best::<Self>(history);
        Ok(GruMetrics {
            config: config.clone(),
            training: Training::new(model, history, &options.device),
            data: data.name.clone(),
            read_as: data.read_as.clone(),
            pairs: [data.train.len(), data.validation.len(), data.test.len()],
            words: data.words.len(),
            classes: data.classes.clone(),
            best_epoch: best_epoch as usize,
            validation,
            test: confusion.accuracy(),
            confusion,
            learned_kappa: model.learned_kappa(),
        })
    }

    fn title(&self, metrics: &GruMetrics) -> String {
        format!("{}: test accuracy {:.2} %", self.data.name, 100.0 * metrics.test)
    }

    /// In two dimensions with the picture of the model.
    fn draw(&self, out: &Path, trained: Trained<'_, Self>, tape: &mut Tape<T>) -> Result<()> {
        let title = self.title(trained.metrics);
        trained.curves(&title, out)?;
        if self.config.dim == 2 { self.picture(trained.model, &title, tape) } else { Ok(()) }
    }
}

//! Training and testing a model.

use std::marker::PhantomData;
use std::path::Path;

use cotangent::optim::train::{Goal, History};
use cotangent::prelude::*;
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task, Trained};
use cotangent_apps_common::{memory, output};

use super::batches::PairBatches;
use super::model::{Classifier, GruModel, classify, side_by_side};
use super::{Architecture, Encoder, GruConfig, GruMetrics, Nonlinearity, Space};
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
        Precision::F32 => Run { data, config, options }.in_precision::<f32>(),
        Precision::F64 => Run { data, config, options }.in_precision::<f64>(),
    }
}

struct Run<'a> {
    data: &'a SentencePairs,
    config: &'a GruConfig,
    options: &'a RunOptions,
}

impl Run<'_> {
    /// Trains in the precision `T`: chooses the geometries of body and head.
    fn in_precision<T: Float>(&self) -> Result<GruMetrics> {
        let ball =
            PoincareBall::try_new(self.config.kappa).map_err(|e| AppError::usage(format!("--kappa: {e}")))?;
        let Architecture { body, head, .. } = self.config.architecture;
        let learned_curvature = || Curvature::<T>::new(self.config.kappa);
        use Space::{Euclidean as E, Hyperbolic as H};
        match (body, head, self.config.learn_kappa) {
            (E, E, _) => self.with::<T, _, _>(Euclidean, Euclidean),
            (E, H, false) => self.with::<T, _, _>(Euclidean, ball),
            (H, E, false) => self.with::<T, _, _>(ball, Euclidean),
            (H, H, false) => self.with::<T, _, _>(ball, ball),
            (E, H, true) => self.with::<T, _, _>(Euclidean, learned_curvature()),
            (H, E, true) => self.with::<T, _, _>(learned_curvature(), Euclidean),
            (H, H, true) => self.with::<T, _, _>(learned_curvature(), learned_curvature()),
        }
    }

    /// Trains with these geometries: chooses the encoder.
    fn with<T: Float, B: Geometry<T>, H: Geometry<T>>(&self, body: B, head: H) -> Result<GruMetrics> {
        let (dim, sizes) = (self.config.dim, [self.data.words.len(), self.data.classes.len()]);
        let protocol = self.config.protocol;
        let activation = self.config.cell.unwrap_or(Nonlinearity::Identity).activation();
        match self.config.architecture.encoder {
            Encoder::Rnn => {
                let cell = |m, rng: &mut _| {
                    let mut rnn = Rnn { activation, ..Rnn::new(m, dim, dim, rng) };
                    protocol.start(&mut rnn.hidden, dim, rng);
                    rnn
                };
                self.fit(GruModel::new(body, head, cell, self.config, sizes))
            }
            Encoder::Gru => {
                let cell = |m, rng: &mut _| {
                    let mut gru = Gru { activation, ..Gru::new(m, dim, dim, rng) };
                    protocol.start(&mut gru.gates, dim, rng);
                    protocol.start(&mut gru.hidden, dim, rng);
                    gru
                };
                self.fit(GruModel::new(body, head, cell, self.config, sizes))
            }
        }
    }

    /// Trains the model, tests the best one and writes all results.
    fn fit<T: Float>(&self, model: impl Classifier<T>) -> Result<GruMetrics> {
        let Run { data, config, options } = *self;
        let _held = output::hold(&options.out)?;
        task::fit(&GruTask { data, config, options, model: PhantomData }, model, options)
    }
}

/// The training of a model `C`.
struct GruTask<'a, T, C> {
    data: &'a SentencePairs,
    config: &'a GruConfig,
    options: &'a RunOptions,
    model: PhantomData<fn() -> (T, C)>,
}

impl<T: Float, C: Classifier<T>> GruTask<'_, T, C> {
    /// Draws the hyperplanes of the logistic regression, and its input points for the first test pairs.
    fn picture(&self, model: &C, title: &str, tape: &mut Tape<T>) -> Result<()> {
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
            Space::Hyperbolic => model.learned_kappa()[1].unwrap_or(self.config.kappa),
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

impl<T: Float, C: Classifier<T>> Task for GruTask<'_, T, C> {
    type Config = GruConfig;
    type Number = T;
    type Model = C;
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

    fn loss<'t>(&self, model: &C, tape: &'t Tape<T>, items: &[u32]) -> Result<Var<'t, T>> {
        let pairs: Vec<&Pair> = items.iter().map(|&i| &self.data.train[i as usize]).collect();
        let (sentences, classes) = side_by_side(&pairs);
        let [_, logits] = model.forward(tape, &sentences);
        Ok(loss::cross_entropy(logits, &classes, 0.0))
    }

    fn validate(&self, model: &mut C, _: &History, tape: &mut Tape<T>) -> Result<f64> {
        let SentencePairs { validation, classes, .. } = self.data;
        Ok(classify(model, validation, classes.len(), tape).accuracy())
    }

    fn test(&self, model: &mut C, history: &History, tape: &mut Tape<T>) -> Result<GruMetrics> {
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

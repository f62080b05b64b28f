//! Classification of sentence pairs by hyperbolic or Euclidean recurrent networks: Ganea, Bécigneul, Hofmann
//! 2018, section 4.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use cotangent::optim::train::{Epoch, Goal, History, Trainer};
use cotangent::prelude::*;
use cotangent_apps_common::config::{self, name};
use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::disk::{self, Classes};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::memory;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
pub use cotangent_apps_common::space::Space;
use serde::{Deserialize, Serialize};

use crate::sentence_pairs::{Pair, SentencePairs};

mod batches;
mod command;
mod model;
#[cfg(test)]
mod tests;

use batches::PairBatches;
pub use command::{APP, run};
use model::{Model, classify, learned_kappa, side_by_side};

/// The recurrent layer that reads sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoder {
    /// A simple recurrent layer.
    Rnn,
    /// A gated recurrent unit.
    Gru,
}

/// The nonlinearity φ of recurrent and feed-forward layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nonlinearity {
    /// x itself: no nonlinearity.
    Identity,
    /// tanh(x), the hyperbolic tangent.
    Tanh,
    /// max(x, 0).
    Relu,
}

impl Nonlinearity {
    /// The nonlinearity of the recurrent cells in the authors' own program.
    pub fn of_authors(body: Space) -> Self {
        match body {
            Space::Euclidean => Nonlinearity::Tanh,
            Space::Hyperbolic => Nonlinearity::Identity,
        }
    }

    fn activation<T: Float>(self) -> Activation<T> {
        match self {
            Nonlinearity::Identity => Activation::IDENTITY,
            Nonlinearity::Tanh => Activation::TANH,
            Nonlinearity::Relu => Activation::RELU,
        }
    }
}

/// The architecture of a model: its encoder, the geometry of words, encoders and feed-forward layer (the
/// body), and the geometry of the logistic regression (the head).
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    /// The recurrent layer that reads the sentences [default: by --model].
    #[arg(long, value_enum, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = by_model(|part| name(part.encoder)))]
    pub encoder: Encoder,
    /// Geometry of word vectors, recurrent layers and feed-forward layer [default: by --model].
    #[arg(long, value_enum, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = by_model(|part| name(part.body)))]
    pub body: Space,
    /// Geometry of the logistic regression, the last layer [default: by --model].
    #[arg(long, value_enum, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = by_model(|part| name(part.head)))]
    pub head: Space,
}

/// The default of an option for each model of Table 1.
fn by_model(part: fn(Architecture) -> String) -> [(&'static str, &'static str, String); 6] {
    TABLE_1.map(|row| ("model", row.name, part(row.architecture)))
}

/// A model of Table 1.
pub struct Published {
    /// The name for `--model`.
    pub name: &'static str,
    /// The architecture.
    pub architecture: Architecture,
    /// Published test accuracies in percent on SNLI, PREFIX-10%, PREFIX-30% and PREFIX-50%.
    pub accuracies: [f64; 4],
}

/// Ganea et al. 2018, Table 1.
pub const TABLE_1: [Published; 6] = {
    use Encoder::{Gru, Rnn};
    use Space::{Euclidean as E, Hyperbolic as H};
    const fn row(
        name: &'static str,
        encoder: Encoder,
        body: Space,
        head: Space,
        accuracies: [f64; 4],
    ) -> Published {
        Published { name, architecture: Architecture { encoder, body, head }, accuracies }
    }
    [
        row("euclidean-rnn", Rnn, E, E, [79.34, 89.62, 81.71, 72.10]),
        row("hyperbolic-rnn-euclidean-mlr", Rnn, H, E, [79.18, 96.36, 87.83, 76.50]),
        row("hyperbolic-rnn", Rnn, H, H, [78.21, 96.91, 87.25, 62.94]),
        row("euclidean-gru", Gru, E, E, [81.52, 95.96, 86.47, 75.04]),
        row("hyperbolic-gru-euclidean-mlr", Gru, H, E, [79.76, 97.36, 88.47, 76.87]),
        row("hyperbolic-gru", Gru, H, H, [81.19, 97.14, 88.26, 76.44]),
    ]
};

/// How a model is trained, and how it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Riemannian Adam for all parameters, at a rate that falls.
    Adam,
    /// As in the authors' own program: Adam for Euclidean parameters; for points Riemannian SGD, at 10 times
    /// that rate, and words at 100 times. The gradient of each matrix and point is clipped by itself. The
    /// bias of the feed-forward layer is added before the distance. Words start near
    /// the origin, each matrix and each class's normal by Glorot's rule. Batches are drawn up once, in the
    /// order of the data, so both pairs of a first sentence of PREFIX are in one batch; only the order of
    /// batches changes. SNLI is validated on all pairs of dev_2class.
    Released,
}

impl Protocol {
    /// The name of the file of SNLI that has the validation pairs.
    pub fn snli_validation(self) -> &'static str {
        match self {
            Protocol::Adam => "val",
            Protocol::Released => "dev_2class",
        }
    }

    /// The optimiser of a model for so many classes. In the authors' program each matrix and bias of a cell,
    /// and the point and the normal of each class, is a parameter of its own; here they are stacked.
    fn optimiser<T: Float>(self, config: &Config, classes: usize) -> Result<RiemannianAdam<T>> {
        let adam = RiemannianAdam::new(config.lr)?;
        if self == Protocol::Adam {
            return Ok(adam.clip(config.clip)?);
        }
        let mut adam = adam.sgd_on_curved(10.0)?.clip_each(config.clip)?.stacked("regression", classes);
        if config.architecture.encoder == Encoder::Gru {
            for encoder in ["first", "second"] {
                for (part, blocks) in [("input", 3), ("gates", 2), ("gate_biases", 2)] {
                    adam = adam.stacked(&format!("{encoder}.{part}"), blocks);
                }
            }
        }
        match config.architecture.body {
            Space::Euclidean => Ok(adam),
            Space::Hyperbolic => Ok(adam.group("words", 10.0, 0.0)?),
        }
    }
}

/// A curvature as the command line says it: "-0.5", "learned" or "learned:-0.5".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvatureOption {
    /// The sectional curvature, or its initial value.
    pub kappa: f64,
    /// Whether it is learned.
    pub learned: bool,
}

impl FromStr for CurvatureOption {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (number, learned) = match text.strip_prefix("learned") {
            Some("") => ("-1", true),
            // Without a colon it is no number, and the error says so.
            Some(initial) => (initial.strip_prefix(':').unwrap_or(text), true),
            None => (text, false),
        };
        let kappa = number.parse().map_err(|_| "a number, learned, or learned:NUMBER is needed")?;
        Ok(CurvatureOption { kappa, learned })
    }
}

/// Everything that determines the result of a run, except the data.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// A model of Table 1. --encoder, --body and --head override its parts.
    #[arg(long, default_value = "hyperbolic-gru", help_heading = "Model")]
    #[arg(value_parser = TABLE_1.map(|row| row.name))]
    #[serde(skip)]
    pub model: String,
    /// Encoder and geometries.
    #[command(flatten)]
    pub architecture: Architecture,
    /// Dimension of word vectors, sentence vectors and the feed-forward layer.
    #[arg(long, default_value_t = 5, help_heading = "Model")]
    pub dim: usize,
    /// Sectional curvature of the hyperbolic parts, from -1e6 to -1e-6; or "learned:NUMBER" to learn it from
    /// this initial value; or "learned", which starts at -1 [default: -1].
    #[arg(id = "kappa", long = "kappa", value_name = "KAPPA")]
    #[arg(allow_negative_numbers = true, help_heading = "Model")]
    #[serde(skip)]
    pub curvature: Option<CurvatureOption>,
    /// Sectional curvature of the hyperbolic parts; if it is learned, its initial value.
    #[arg(skip = -1.0)]
    pub kappa: f64,
    /// Whether the curvatures are learned, one for the body and one for the head.
    #[arg(skip)]
    pub learn_kappa: bool,
    /// Nonlinearity of the recurrent cells [default: as in the authors' program, identity in hyperbolic
    /// space and tanh in Euclidean space].
    #[arg(long, value_enum, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub cell: Option<Nonlinearity>,
    /// Nonlinearity of the feed-forward layer.
    #[arg(long, value_enum, default_value_t = Nonlinearity::Identity, help_heading = "Model")]
    pub feed_forward: Nonlinearity,
    /// How the model is trained, and how it starts.
    #[arg(long, value_enum, default_value_t = Protocol::Adam, help_heading = "Training")]
    pub protocol: Protocol,
    /// Passes over the training pairs [default: 10; 30 with --protocol released].
    #[arg(long, default_value_t = 10, default_value_if("protocol", "released", "30"))]
    #[arg(hide_default_value = true, help_heading = "Training")]
    pub epochs: u64,
    /// Number of pairs in a batch.
    #[arg(long, default_value_t = 64, help_heading = "Training")]
    pub batch: usize,
    /// Floating-point type of all numbers [default: f32; f64 with --protocol released].
    #[arg(long, value_enum, default_value_t = Precision::F32, hide_default_value = true)]
    #[arg(default_value_if("protocol", "released", "f64"), help_heading = "Model")]
    pub precision: Precision,
    /// Initial learning rate of Adam [default: 0.01; 0.001 with --protocol released].
    #[arg(long, default_value_t = 0.01, default_value_if("protocol", "released", "0.001"))]
    #[arg(hide_default_value = true, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Final learning rate as a factor of the initial one, from 0 to 1. The rate falls along half a cosine;
    /// 1 keeps it constant [default: 0.01; 1 with --protocol released].
    #[arg(long, default_value_t = 0.01, default_value_if("protocol", "released", "1"))]
    #[arg(hide_default_value = true, allow_negative_numbers = true, help_heading = "Training")]
    pub lr_floor: f64,
    /// Largest norm of a step's gradient: over all parameters together, or with --protocol released of each
    /// parameter. Longer gradients are scaled down to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Seed of the initial model and of the order of the pairs. Same seed, same result, for any number of
    /// threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

impl Config {
    /// Fills in what follows from other options: the curvature, and the nonlinearity of the cells.
    pub fn complete(mut self) -> Self {
        if let Some(CurvatureOption { kappa, learned }) = self.curvature {
            (self.kappa, self.learn_kappa) = (kappa, learned);
        }
        self.cell.get_or_insert(Nonlinearity::of_authors(self.architecture.body));
        self
    }

    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does.
    fn difference(&self, other: &Config) -> Option<String> {
        // One option says the curvature and whether it is learned.
        config::difference(self, other, &[]).map(|name| name.replace("learn-kappa", "kappa"))
    }

    /// A lower bound on the number of a model's parameters, with so many words: the words, and two matrices
    /// in each of two encoders and in the layer behind them.
    fn least_parameters(&self, words: usize) -> f64 {
        let dim = self.dim as f64;
        dim * (words as f64 + 6.0 * dim)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        let counts = [("dim", self.dim as u64), ("epochs", self.epochs), ("batch", self.batch as u64)];
        options::at_least_one(&counts)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        if !(0.0..=1.0).contains(&self.lr_floor) {
            return Err(AppError::usage(format!("--lr-floor {}: from 0 to 1 is needed", self.lr_floor)));
        }
        if !(-1e6..=-1e-6).contains(&self.kappa) {
            let message = format!("--kappa {}: a number from -1e6 to -1e-6 is needed", self.kappa);
            return Err(AppError::usage(message));
        }
        options::parameters(&[("dim", self.dim)], self.least_parameters(0))?;
        Ok(())
    }
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seed.
    pub config: Config,
    /// Name of the data.
    pub data: String,
    /// How a file of the user was read; `None` for PREFIX and SNLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Number of pairs for training, validation and testing.
    pub pairs: [usize; 3],
    /// Number of words in the vocabulary.
    pub words: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Number of parameters of the model.
    pub parameters: usize,
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the model was trained on.
    pub device: String,
    /// The result of every epoch.
    pub epochs: Vec<Epoch>,
    /// The epoch, counted from 1, with the best validation accuracy. Its model is kept and tested.
    pub best_epoch: usize,
    /// Validation accuracy of that model, from 0 to 1.
    pub validation: f64,
    /// Test accuracy of that model, from 0 to 1.
    pub test: f64,
    /// The confusion matrix of that model on the test pairs.
    pub confusion: Confusion,
    /// Seconds of training and validation, summed over all resumed parts.
    pub seconds: f64,
    /// Curvatures of body and head at the end, if they were learned.
    pub learned_kappa: [Option<f64>; 2],
}

/// The picture of a model in two dimensions.
const SENTENCES: &str = "sentences.svg";

mod purpose {
    pub(super) const INITIAL: u64 = 22;
}

/// Trains a model and writes `metrics.json`, `model.safetensors` (the model with the best validation
/// accuracy), `curves.svg`, the checkpoint and, in two dimensions, `sentences.svg`. It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(data: &SentencePairs, config: &Config, options: &RunOptions) -> Result<Metrics> {
    config.check()?;
    memory::training(&[("dim", config.dim)], config.least_parameters(data.words.len()), config.precision)?;
    match config.precision {
        Precision::F32 => Run { data, config, options }.in_precision::<f32>(),
        Precision::F64 => Run { data, config, options }.in_precision::<f64>(),
    }
}

struct Run<'a> {
    data: &'a SentencePairs,
    config: &'a Config,
    options: &'a RunOptions,
}

impl Run<'_> {
    /// Trains in the precision `T`: chooses the geometries of body and head.
    fn in_precision<T: Float>(&self) -> Result<Metrics> {
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
    fn with<T: Float, B: Geometry<T>, H: Geometry<T>>(&self, body: B, head: H) -> Result<Metrics> {
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
                self.train(Model::new(body, head, cell, self.config, sizes))
            }
            Encoder::Gru => {
                let cell = |m, rng: &mut _| {
                    let mut gru = Gru { activation, ..Gru::new(m, dim, dim, rng) };
                    protocol.start(&mut gru.gates, dim, rng);
                    protocol.start(&mut gru.hidden, dim, rng);
                    gru
                };
                self.train(Model::new(body, head, cell, self.config, sizes))
            }
        }
    }

    fn train<T, B, H, C>(&self, mut model: Model<T, B, H, C>) -> Result<Metrics>
    where
        T: Float,
        B: Geometry<T>,
        H: Geometry<T>,
        C: Cell<B::Learned, T>,
    {
        let Run { data, config, options } = *self;
        let out = &options.out;
        let _held = output::hold(out)?;
        let fingerprint = data.fingerprint();
        let mut adam = config.protocol.optimiser(config, data.classes.len())?;
        let steps = options::steps(config.epochs, data.train.len().div_ceil(config.batch) as u64)?;
        let mut progress = Progress::new("step", 0, steps);
        let mut trainer = Trainer::of_run(config.epochs, (config.clone(), fingerprint), |found, ours| {
            options::same_run(found.0.difference(&ours.0).as_deref(), [found.1, ours.1], "pairs")
        })
        .schedule(Schedule::Cosine { steps, floor: config.lr_floor })
        .seed(config.seed)
        .device(options.device.clone())
        .parts(8, 32)
        .directory(out)
        .resume(options.resume)
        .checkpoint_every(Duration::from_secs(options.checkpoint_every))
        .best(Goal::Greatest)
        .named(output::fingerprint(config, fingerprint))
        .display(|now| {
            progress.update(now.history.steps, || {
                let mut figures = vec![Figure::new("epochs", now.history.epochs.len() as f64, 0)];
                if let Some(epoch) = now.history.epochs.last() {
                    figures.push(Figure::new("loss", epoch.loss, 4));
                    figures.push(Figure::new("validation_accuracy", epoch.validation, 4));
                }
                let left = (steps - now.history.steps) as f64 * config.batch as f64 / now.rate;
                figures.push(Figure::new("pairs_per_second", now.rate, 0));
                figures.push(Figure::new("seconds_left", left, 0));
                figures
            })
        });
        if !options.resume {
            output::set_aside(out, |name| name == SENTENCES)?;
        }
        let mut tape = Tape::with_device(options.device.clone());
        let history = trainer.run(
            &mut model,
            &mut adam,
            &PairBatches::new(data.train.len(), config),
            |model, tape, items| {
                let pairs: Vec<&Pair> = items.iter().map(|&i| &data.train[i as usize]).collect();
                let (sentences, classes) = side_by_side(&pairs);
                let [_, logits] = model.forward(tape, &sentences);
                loss::cross_entropy(logits, &classes, 0.0)
            },
            |model, _| {
                let confusion = classify(model, &data.validation, data.classes.len(), &mut tape);
                Ok(confusion.accuracy())
            },
        )?;
        drop(trainer);
        progress.finish();
        self.finish(&model, &history, &mut tape)
    }

    /// Tests the best model and writes all results.
    fn finish<T, B, H, C>(
        &self,
        model: &Model<T, B, H, C>,
        history: &History,
        tape: &mut Tape<T>,
    ) -> Result<Metrics>
    where
        T: Float,
        B: Geometry<T>,
        H: Geometry<T>,
        C: Cell<B::Learned, T>,
    {
        let Run { data, config, options } = *self;
        let confusion = classify(model, &data.test, data.classes.len(), tape);
        let (best_epoch, validation) = history.best(Goal::Greatest).expect("at least one epoch");
        let metrics = Metrics {
            config: config.clone(),
            data: data.name.clone(),
            read_as: data.read_as.clone(),
            pairs: [data.train.len(), data.validation.len(), data.test.len()],
            words: data.words.len(),
            classes: data.classes.clone(),
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: options.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch: best_epoch as usize,
            validation,
            test: confusion.accuracy(),
            confusion,
            seconds: history.seconds,
            learned_kappa: [learned_kappa(&model.body), learned_kappa(&model.head)],
        };
        metrics::write(&options.out, &metrics)?;
        let title = format!("{}: test accuracy {:.2} %", data.name, 100.0 * metrics.test);
        let values = |f: fn(&Epoch) -> f64| history.epochs.iter().map(f).collect::<Vec<f64>>();
        curves::plot(
            &options.out.join("curves.svg"),
            &title,
            &[
                Series { name: "training loss", values: values(|epoch| epoch.loss), better: f64::min },
                Series {
                    name: "validation accuracy",
                    values: values(|epoch| epoch.validation),
                    better: f64::max,
                },
            ],
        )?;
        if config.dim == 2 {
            self.picture(model, &title, tape)?;
        }
        Ok(metrics)
    }

    /// Draws the hyperplanes of the logistic regression, and its input points for the first test pairs.
    fn picture<T, B, H, C>(&self, model: &Model<T, B, H, C>, title: &str, tape: &mut Tape<T>) -> Result<()>
    where
        T: Float,
        B: Geometry<T>,
        H: Geometry<T>,
        C: Cell<B::Learned, T>,
    {
        const SHOWN: usize = 2000;
        let pairs: Vec<&Pair> = self.data.test.iter().take(SHOWN).collect();
        let (sentences, classes) = side_by_side(&pairs);
        tape.reset();
        let [inputs, _] = model.forward(tape, &sentences);
        let head = model.head.on(tape);
        let [points, normals] =
            [head.parameter(tape, &model.regression.points), *model.regression.normals.on(tape)];
        let rows = |x: Var<'_, T>| -> Vec<[f64; 2]> {
            x.to_tensor().rows().map(|row| [row[0].to_f64(), row[1].to_f64()]).collect()
        };
        let kappa = match self.config.architecture.head {
            Space::Euclidean => 0.0,
            Space::Hyperbolic => learned_kappa(&model.head).unwrap_or(self.config.kappa),
        };
        // Of two classes, the hyperplane of the positive one is drawn.
        let hyperplanes: Vec<_> = rows(points).into_iter().zip(rows(normals)).collect();
        let hyperplanes = if self.data.classes.len() == 2 { &hyperplanes[1..] } else { &hyperplanes };
        let path = self.options.out.join(SENTENCES);
        disk::classes(
            &path,
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

/// The published test accuracy of an architecture in percent, on the data of this name.
pub fn published(architecture: Architecture, data: &str) -> Option<f64> {
    let column = ["SNLI", "PREFIX-10%", "PREFIX-30%", "PREFIX-50%"].iter().position(|&name| name == data)?;
    let row = TABLE_1.iter().find(|row| row.architecture == architecture)?;
    Some(row.accuracies[column])
}

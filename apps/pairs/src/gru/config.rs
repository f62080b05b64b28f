//! The settings of a model and its training, the models of the paper, and their published results.

use clap::{Args, ValueEnum};
use cotangent::prelude::*;
use cotangent_apps_common::config::{self, name};
pub use cotangent_apps_common::curvature::CurvatureOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
pub use cotangent_apps_common::space::Space;
use cotangent_apps_common::training::TrainingConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// 1/(1 + e^-x), the logistic function.
    Sigmoid,
}

impl Nonlinearity {
    /// The nonlinearity of the recurrent cells in the authors' own program.
    pub fn released(body: Space) -> Self {
        match body {
            Space::Euclidean => Nonlinearity::Tanh,
            Space::Hyperbolic => Nonlinearity::Identity,
        }
    }

    pub(super) fn activation<T: Float>(self) -> Activation<T> {
        match self {
            Nonlinearity::Identity => Activation::IDENTITY,
            Nonlinearity::Tanh => Activation::TANH,
            Nonlinearity::Relu => Activation::RELU,
            Nonlinearity::Sigmoid => Activation::SIGMOID,
        }
    }
}

/// The architecture of a model: its encoder, the geometry of words and encoders (the body), that of the
/// feed-forward layer, and that of the logistic regression (the head).
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    /// The recurrent layer that reads the sentences [default: by --model].
    #[arg(long, value_enum, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = by_model(|part| name(part.encoder)))]
    pub encoder: Encoder,
    /// Geometry of word vectors and recurrent layers, and of the feed-forward layer if nothing else is said
    /// [default: by --model].
    #[arg(long, value_enum, required = false, help_heading = "Model")]
    #[arg(default_value_ifs = by_model(|part| name(part.body)))]
    pub body: Space,
    /// Geometry of the feed-forward layer [default: that of the body].
    #[arg(long, value_enum, help_heading = "Model")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed_forward_space: Option<Space>,
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
        let architecture = Architecture { encoder, body, feed_forward_space: None, head };
        Published { name, architecture, accuracies }
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
    pub(super) fn optimiser<T: Float>(self, config: &GruConfig, classes: usize) -> Result<RiemannianAdam<T>> {
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

/// Everything that determines the result of a run, except the data.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GruConfig {
    /// A model of Table 1. --encoder, --body, --feed-forward-space and --head override its parts.
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
    /// Whether the curvatures are learned: one for the body, one for the head, and one for the feed-forward
    /// layer if it has a geometry of its own.
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

impl GruConfig {
    /// Fills in what follows from other options: the curvature, the nonlinearity of the cells, and that the
    /// feed-forward layer has no geometry of its own if it has that of the body.
    pub fn complete(mut self) -> Self {
        if let Some(CurvatureOption { kappa, learned }) = self.curvature {
            (self.kappa, self.learn_kappa) = (kappa, learned);
        }
        let Architecture { body, feed_forward_space, .. } = &mut self.architecture;
        *feed_forward_space = feed_forward_space.filter(|space| space != body);
        self.cell.get_or_insert(Nonlinearity::released(*body));
        self
    }

    /// The curvature of the hyperbolic parts.
    pub(super) fn curvature(&self) -> CurvatureOption {
        CurvatureOption { kappa: self.kappa, learned: self.learn_kappa }
    }

    /// A lower bound on the number of a model's parameters, with so many words: the words, and two matrices
    /// in each of two encoders and in the layer behind them.
    pub(super) fn least_parameters(&self, words: usize) -> f64 {
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
        self.curvature().check()?;
        options::parameters(&[("dim", self.dim)], self.least_parameters(0))?;
        Ok(())
    }
}

impl TrainingConfig for GruConfig {
    const DATA: &'static str = "pairs";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }

    /// One option says the curvature and whether it is learned.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        config::json_difference::<Self>(theirs, ours, &[]).map(|name| name.replace("learn-kappa", "kappa"))
    }
}

/// The published test accuracy of an architecture in percent, on the data of this name.
pub fn published(architecture: Architecture, data: &str) -> Option<f64> {
    let column = ["SNLI", "PREFIX-10%", "PREFIX-30%", "PREFIX-50%"].iter().position(|&name| name == data)?;
    let row = TABLE_1.iter().find(|row| row.architecture == architecture)?;
    Some(row.accuracies[column])
}

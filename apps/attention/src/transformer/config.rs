//! The settings that determine the result of a training.

use clap::ValueEnum;
use cotangent::layers::Score;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{options, output};
use serde::{Deserialize, Serialize};

use crate::attention::{AttentionOptions, Scores};

/// Named sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Two layers each of 128 units, 4 heads, 512 hidden units.
    Tiny,
    /// Four layers each of 256 units, 4 heads, 1024 hidden units.
    Small,
    /// Six layers each of 512 units, 8 heads, 2048 hidden units: the base model of Vaswani et al. 2017.
    Base,
}

impl Size {
    /// Layers, width, heads, hidden units.
    pub fn numbers(self) -> [usize; 4] {
        match self {
            Size::Tiny => [2, 128, 4, 512],
            Size::Small => [4, 256, 4, 1024],
            Size::Base => [6, 512, 8, 2048],
        }
    }
}

/// The largest number of layers, and the largest number of parameters of a model, which take 16 GiB.
const LAYERS: usize = 1024;
const NUMBERS: f64 = 4e9;

/// Where residual blocks normalise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormOption {
    /// Before their sublayer.
    Pre,
    /// After their sum.
    Post,
}

/// Positions of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionsOption {
    /// Sines and cosines.
    Sinusoidal,
    /// A table that is learned.
    Learned,
    /// Points of the Poincaré ball that are learned, from near the origin on: a word and its position
    /// are x ⊕ p (López & Strube 2020, section 4.4), for words x by exp₀ of their table's rows, and
    /// layers are given log₀ of that.
    Hyperbolic,
}

/// Everything that determines the result of a run, except the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The name of the attention's score.
    pub attention: String,
    /// The other options of the attention.
    pub options: AttentionOptions,
    /// Number of layers of the encoder, and also of the decoder.
    pub layers: usize,
    /// Whether all layers are one and the same. Models trained before this option existed can be used
    /// but not resumed, because the checkpoint's format has no names.
    #[serde(default)]
    pub recursive: bool,
    /// Width of a layer's rows.
    pub width: usize,
    /// Number of heads of each attention.
    pub heads: usize,
    /// Dimensions of a head.
    pub head_dim: usize,
    /// Hidden units of the feed-forward networks.
    pub hidden: usize,
    /// Where residual blocks normalise.
    pub norm: NormOption,
    /// Positions of words.
    pub positions: PositionsOption,
    /// Number of parts of words.
    pub vocabulary: usize,
    /// Length of the longest training sentences, in parts.
    pub longest: usize,
    /// Passes over the training sentences.
    pub epochs: u64,
    /// Numbers per batch, on either side.
    pub batch_tokens: usize,
    /// Learning rate at the end of the warm-up.
    pub lr: f64,
    /// Steps in which the rate rises; then it falls as the inverse square root of the step.
    pub warm_up: u64,
    /// The part of the target probability that is spread over all words.
    pub label_smoothing: f64,
    /// Rate of dropout.
    pub dropout: f64,
    /// Weight decay, independent of the gradient.
    pub decay: f64,
    /// Largest norm of a step's gradient.
    pub clip: f64,
    /// Number of last epochs whose parameters are averaged.
    pub average: u64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Config {
    /// The first option in which two runs differ, if there is one. A resumed run must not differ.
    pub(super) fn difference(&self, other: &Config) -> Option<&'static str> {
        let differs = [
            ("attention", self.attention != other.attention),
            ("layers", self.layers != other.layers),
            ("recursive", self.recursive != other.recursive),
            ("width", self.width != other.width),
            ("heads", self.heads != other.heads),
            ("head-dim", self.head_dim != other.head_dim),
            ("hidden", self.hidden != other.hidden),
            ("norm", self.norm != other.norm),
            ("positions", self.positions != other.positions),
            ("vocabulary", self.vocabulary != other.vocabulary),
            ("longest", self.longest != other.longest),
            ("batch-tokens", self.batch_tokens != other.batch_tokens),
            ("lr", self.lr != other.lr),
            ("warm-up", self.warm_up != other.warm_up),
            ("label-smoothing", self.label_smoothing != other.label_smoothing),
            ("dropout", self.dropout != other.dropout),
            ("decay", self.decay != other.decay),
            ("clip", self.clip != other.clip),
            ("average", self.average != other.average),
            ("seed", self.seed != other.seed),
        ];
        options::first_true(&differs).or_else(|| self.options.difference(&other.options))
    }

    /// A text that tells this run from others; it contains the checksum of its text. The number of
    /// epochs is not part of it, because a run may go on for more epochs.
    pub(super) fn fingerprint(&self, text: u32) -> String {
        output::fingerprint(&Config { epochs: 0, ..self.clone() }, text)
    }

    /// A lower bound on the number of a model's parameters: those of its tables, of queries, keys and
    /// values, and of hidden units. It is a float, so that no number in a file can make it wrap.
    pub(super) fn least_numbers(&self, vocabulary: usize) -> f64 {
        let layers = 2.0 * if self.recursive { 1.0 } else { self.layers as f64 };
        let of_layer = 3.0 * self.heads as f64 * self.head_dim as f64 + 2.0 * self.hidden as f64;
        let positions = if self.positions == PositionsOption::Sinusoidal { 0.0 } else { self.longest as f64 };
        self.width as f64 * (vocabulary as f64 + positions + layers * of_layer)
    }

    /// Refuses settings that make no sense, and finds the score.
    ///
    /// # Errors
    /// Names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        options::at_least_one(&[
            ("layers", self.layers as u64),
            ("width", self.width as u64),
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("hidden", self.hidden as u64),
            ("longest", self.longest as u64),
            ("epochs", self.epochs),
            ("batch-tokens", self.batch_tokens as u64),
            ("warm-up", self.warm_up),
            ("average", self.average),
        ])?;
        if self.layers > LAYERS {
            return Err(AppError::usage(format!("--layers {}: at most {LAYERS} are possible", self.layers)));
        }
        let numbers = self.least_numbers(self.vocabulary);
        if numbers > NUMBERS {
            let message = format!("a model of {numbers:.1e} numbers: fewer or narrower layers are needed");
            return Err(AppError::usage(message));
        }
        let score = self.options.score(&self.attention, scores, self.head_dim)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[("label-smoothing", self.label_smoothing), ("dropout", self.dropout)])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }
}

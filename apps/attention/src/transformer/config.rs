//! The settings of a translation model and its training.

use clap::ValueEnum;
use cotangent::layers::Score;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{options, output};
use serde::{Deserialize, Serialize};

use crate::attention::{AttentionOptions, Scores};

/// Named sizes of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// 2 layers in encoder and decoder each, width 128, 4 heads, 512 hidden units.
    Tiny,
    /// 4 layers in encoder and decoder each, width 256, 4 heads, 1024 hidden units.
    Small,
    /// 6 layers in encoder and decoder each, width 512, 8 heads, 2048 hidden units: the base model of Vaswani
    /// et al. 2017.
    Base,
    /// 6 layers in encoder and decoder each, width 1024, 16 heads, 4096 hidden units: the big model of
    /// Vaswani et al. 2017.
    Big,
    /// 6 layers in encoder and decoder each, width 512, 4 heads, 1024 hidden units: the sizes of Tseng et al.
    /// 2023 for translation, fairseq's transformer_iwslt_de_en. That model has `--norm post`, too.
    Iwslt,
}

impl Size {
    /// Number of layers, width, number of heads, number of hidden units.
    pub fn numbers(self) -> [usize; 4] {
        match self {
            Size::Tiny => [2, 128, 4, 512],
            Size::Small => [4, 256, 4, 1024],
            Size::Base => [6, 512, 8, 2048],
            Size::Big => [6, 1024, 16, 4096],
            Size::Iwslt => [6, 512, 4, 1024],
        }
    }
}

/// The largest number of layers.
const LAYERS: usize = 1024;

/// Where residual blocks apply layer normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormOption {
    /// Before each sublayer: x + f(norm(x)).
    Pre,
    /// After each sum: norm(x + f(x)).
    Post,
}

/// How the positions of tokens are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionsOption {
    /// Sines and cosines of different frequencies (Vaswani et al. 2017).
    Sinusoidal,
    /// A learned vector for each position.
    Learned,
    /// A learned point p of the Poincaré ball for each position, initially near the origin. A token's vector
    /// x becomes √width · log₀(exp₀(x) ⊕ p) (López & Strube 2020, section 4.4).
    Hyperbolic,
}

/// Everything that determines the result of a run, except the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The name of the attention score.
    pub attention: String,
    /// The other options of the attention.
    pub options: AttentionOptions,
    /// Number of layers of the encoder, and also of the decoder.
    pub layers: usize,
    /// Whether all layers share their parameters. Models trained before this option existed can be used but
    /// not resumed, because their checkpoints lack this field.
    #[serde(default)]
    pub recursive: bool,
    /// Width of the layers: the dimension of a token's vector.
    pub width: usize,
    /// Number of heads of each attention.
    pub heads: usize,
    /// Dimensions of a head's values.
    pub head_dim: usize,
    /// Dimensions of a head's queries and keys, if they differ from those of its values. Models trained
    /// before this option and `attention_dropout` existed can be used but not resumed.
    #[serde(default)]
    pub key_dim: Option<usize>,
    /// Number of hidden units of the feed-forward networks.
    pub hidden: usize,
    /// Where residual blocks apply layer normalisation.
    pub norm: NormOption,
    /// How the positions of tokens are encoded.
    pub positions: PositionsOption,
    /// Largest number of tokens in the vocabulary, which both languages share.
    pub vocabulary: usize,
    /// Length of the longest sentences for training and validation, in tokens.
    pub longest: usize,
    /// Passes over the training sentences.
    pub epochs: u64,
    /// Largest number of tokens in a batch, padding included, of the sources and of the targets each.
    pub batch_tokens: usize,
    /// Learning rate at the end of the warm-up.
    pub lr: f64,
    /// Steps in which the learning rate rises; then it falls with the inverse square root of the step.
    pub warm_up: u64,
    /// The share of the target probability that is spread evenly over all tokens.
    pub label_smoothing: f64,
    /// Dropout rate of embeddings and of each sublayer's result.
    pub dropout: f64,
    /// Dropout rate of attention weights.
    #[serde(default)]
    pub attention_dropout: f64,
    /// Weight decay, decoupled from the gradient (AdamW).
    pub decay: f64,
    /// Largest norm of a step's gradient, over all parameters together.
    pub clip: f64,
    /// Number of last epochs whose parameters are averaged for the final model.
    pub average: u64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Config {
    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does; the number of epochs may differ.
    pub(super) fn difference(&self, other: &Config) -> Option<&'static str> {
        let differs = [
            ("attention", self.attention != other.attention),
            ("layers", self.layers != other.layers),
            ("recursive", self.recursive != other.recursive),
            ("width", self.width != other.width),
            ("heads", self.heads != other.heads),
            ("head-dim", self.head_dim != other.head_dim),
            ("key-dim", self.head() != other.head()),
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
            ("attention-dropout", self.attention_dropout != other.attention_dropout),
            ("decay", self.decay != other.decay),
            ("clip", self.clip != other.clip),
            ("average", self.average != other.average),
            ("seed", self.seed != other.seed),
        ];
        options::first_true(&differs).or_else(|| self.options.difference(&other.options))
    }

    /// A text that identifies this run, for training text with the fingerprint `text`. It does not depend on
    /// the number of epochs, because a resumed run may have more.
    pub(super) fn fingerprint(&self, text: u32) -> String {
        output::fingerprint(&Config { epochs: 0, ..self.clone() }, text)
    }

    /// A lower bound on the number of a model's parameters: those of its tables, of queries, keys and values,
    /// and of the feed-forward networks. It is a float, because sizes read from a file could overflow an
    /// integer.
    pub(super) fn least_parameters(&self, vocabulary: usize) -> f64 {
        let layers = 2.0 * if self.recursive { 1.0 } else { self.layers as f64 };
        let [key, value] = self.head().map(|d| d as f64);
        let per_layer = self.heads as f64 * (2.0 * key + value) + 2.0 * self.hidden as f64;
        let positions = if self.positions == PositionsOption::Sinusoidal { 0.0 } else { self.longest as f64 };
        self.width as f64 * (vocabulary as f64 + positions + layers * per_layer)
    }

    /// The options that the number of parameters depends on. One that has no effect is 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 8] {
        [
            ("layers", self.layers),
            ("width", self.width),
            ("heads", self.heads),
            ("head-dim", self.head_dim),
            ("key-dim", self.key_dim.unwrap_or(0)),
            ("hidden", self.hidden),
            ("vocabulary", self.vocabulary),
            ("longest", if self.positions == PositionsOption::Sinusoidal { 0 } else { self.longest }),
        ]
    }

    /// Dimensions of a head's queries and keys, and of its values.
    pub fn head(&self) -> [usize; 2] {
        [self.key_dim.unwrap_or(self.head_dim), self.head_dim]
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        options::at_least_one(&[
            ("layers", self.layers as u64),
            ("width", self.width as u64),
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("key-dim", self.head()[0] as u64),
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
        options::parameters(&self.sizes(), self.least_parameters(self.vocabulary))?;
        let key = if self.key_dim.is_some() { "key-dim" } else { "head-dim" };
        let score = self.options.score(&self.attention, scores, (key, self.head()[0]), self.head_dim)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[
            ("label-smoothing", self.label_smoothing),
            ("dropout", self.dropout),
            ("attention-dropout", self.attention_dropout),
        ])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }
}

#[cfg(test)]
impl Config {
    /// A model of a named size, with normalisation after each sum and dropout of weights; otherwise the
    /// default options of the command line.
    pub(super) fn of_size(size: Size, layers: usize, key_dim: Option<usize>) -> Self {
        let [_, width, heads, hidden] = size.numbers();
        Config {
            attention: "dot".to_owned(),
            options: AttentionOptions::default(),
            layers,
            recursive: false,
            width,
            heads,
            head_dim: width / heads,
            key_dim,
            hidden,
            norm: NormOption::Post,
            positions: PositionsOption::Sinusoidal,
            vocabulary: 4000,
            longest: 128,
            epochs: 10,
            batch_tokens: 4096,
            lr: 0.002,
            warm_up: 1000,
            label_smoothing: 0.1,
            dropout: 0.1,
            attention_dropout: 0.1,
            decay: 0.0001,
            clip: 1.0,
            average: 5,
            seed: 42,
        }
    }
}

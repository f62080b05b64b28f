//! The settings of a translation model and its training.

use clap::{Args, ValueEnum};
use cotangent::layers::Score;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, options};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use cotangent_apps_attention::body::{Body, NormOption, PositionsOption, head_dims};
use cotangent_apps_common::attention::{AttentionOptions, Scores};

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

/// Everything that determines the result of a run, except the text.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformerConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "dot", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// A named choice of layers, width, heads and hidden units. --layers, --width, --heads and --hidden
    /// override single numbers.
    #[arg(long, value_enum, default_value = "tiny", help_heading = "Model")]
    #[serde(skip)]
    pub size: Option<Size>,
    /// Number of layers of the encoder, and also of the decoder [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(0), help_heading = "Model")]
    pub layers: usize,
    /// Recursive transformer: one layer, applied --layers times, in the encoder and in the decoder.
    // Models of earlier versions lack this, `key_dim` and `attention_dropout`. They can be used, but not
    // resumed.
    #[arg(long, help_heading = "Model")]
    #[serde(default)]
    pub recursive: bool,
    /// Width of the layers: the dimension of a token's vector [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(1), help_heading = "Model")]
    pub width: usize,
    /// Number of heads of each attention [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(2), help_heading = "Model")]
    pub heads: usize,
    /// Dimensions of a head [default: the width divided by the number of heads].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub head_dim: Option<usize>,
    /// Dimensions of a head's queries and keys; its values keep those of --head-dim [default: as --head-dim].
    /// Several, separated by commas, are trained in turn, in the subdirectories key-dim-N, and drawn in
    /// key-dim.svg (Tseng et al. 2023, Figure 4).
    #[arg(id = "key_dim", long = "key-dim", value_name = "KEY_DIM")]
    #[arg(value_delimiter = ',', help_heading = "Model")]
    #[serde(skip)]
    pub key_dims: Vec<usize>,
    /// The one of --key-dim that this run has, if it differs from --head-dim.
    #[arg(skip)]
    #[serde(default)]
    pub key_dim: Option<usize>,
    /// Number of hidden units of the feed-forward networks [default: by --size].
    #[arg(long, required = false, default_value_ifs = by_size(3), help_heading = "Model")]
    pub hidden: usize,
    /// Where residual blocks apply layer normalisation.
    #[arg(long, value_enum, default_value_t = NormOption::Pre, help_heading = "Model")]
    pub norm: NormOption,
    /// How the positions of tokens are encoded.
    #[arg(long, value_enum, default_value_t = PositionsOption::Sinusoidal, help_heading = "Model")]
    pub positions: PositionsOption,
    /// Largest number of tokens in the vocabulary, which both languages share; 300 or more.
    #[arg(long, default_value_t = 4000, help_heading = "Model")]
    pub vocabulary: usize,
    /// Length of the longest sentences, in tokens. Longer pairs are left out of training and validation.
    /// With learned or hyperbolic positions, longer sentences cannot be translated.
    #[arg(long, default_value_t = 128, help_heading = "Model")]
    pub longest: usize,
    /// Passes over the training sentences. A resumed run may have more than before.
    #[arg(long, default_value_t = 10, help_heading = "Training")]
    pub epochs: u64,
    /// Largest number of tokens in a batch, padding included, of the sources and of the targets each.
    #[arg(long, default_value_t = 4096, help_heading = "Training")]
    pub batch_tokens: usize,
    /// Learning rate of Adam at the end of the warm-up, its largest value.
    #[arg(long, default_value_t = 0.002, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Steps in which the learning rate rises; then it falls with the inverse square root of the step.
    #[arg(long, default_value_t = 1000, help_heading = "Training")]
    pub warm_up: u64,
    /// Share of the target probability that is spread evenly over all tokens, from 0 to below 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Training")]
    pub label_smoothing: f64,
    /// Dropout rate of embeddings and of each sublayer's result, from 0 to below 1.
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Dropout rate of attention weights, from 0 to below 1.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Model")]
    #[serde(default)]
    pub attention_dropout: f64,
    /// Weight decay, decoupled from the gradient (AdamW): each step shrinks the parameters by the learning
    /// rate times this number.
    #[arg(long, default_value_t = 0.0001, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Number of last epochs whose parameters are averaged for the final model.
    #[arg(long, default_value_t = 5, help_heading = "Training")]
    pub average: u64,
    /// Seed of initial weights, order and dropout. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

/// The default of an option for each size: one of its [numbers](Size::numbers).
fn by_size(number: usize) -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("size", move |size: Size| size.numbers()[number])
}

impl TransformerConfig {
    /// Fills in what follows from other options: the dimensions of the heads.
    pub(super) fn complete(mut self) -> Self {
        let sizes = [self.width, self.heads];
        [self.head_dim, self.key_dim] = head_dims(sizes, self.head_dim, self.key_dim);
        self
    }

    /// The layers.
    pub(super) fn body(&self) -> Body<'_> {
        cotangent_apps_attention::body!(self)
    }

    /// A lower bound on the number of a model's parameters: those of its tables, and most of its layers'. It
    /// is a float, because sizes read from a file could overflow an integer.
    pub(super) fn least_parameters(&self, vocabulary: usize) -> f64 {
        let layers = 2.0 * if self.recursive { 1.0 } else { self.layers as f64 };
        let positions = if self.positions == PositionsOption::Sinusoidal { 0.0 } else { self.longest as f64 };
        self.width as f64 * (vocabulary as f64 + positions) + layers * self.body().layer_parameters()
    }

    /// The options that the number of parameters depends on. One that has no effect is 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 8] {
        let [layers, width, heads, head_dim, key_dim, hidden] = self.body().options();
        let longest = if self.positions == PositionsOption::Sinusoidal { 0 } else { self.longest };
        let tables = [("vocabulary", self.vocabulary), ("longest", longest)];
        [layers, width, heads, head_dim, key_dim, hidden, tables[0], tables[1]]
    }

    /// Dimensions of a head's queries and keys, and of its values.
    pub fn head(&self) -> [usize; 2] {
        self.body().head()
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let body = self.body();
        body.check_sizes()?;
        options::at_least_one(&[
            ("longest", self.longest as u64),
            ("epochs", self.epochs),
            ("batch-tokens", self.batch_tokens as u64),
            ("warm-up", self.warm_up),
            ("average", self.average),
        ])?;
        options::parameters(&self.sizes(), self.least_parameters(self.vocabulary))?;
        let score = body.score(scores)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::below_one(&[("label-smoothing", self.label_smoothing)])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }
}

impl TrainingConfig for TransformerConfig {
    const DATA: &'static str = "text";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }

    /// A resumed run may have more epochs.
    fn difference(theirs: &Value, ours: &Value) -> Option<String> {
        config::json_difference::<Self>(theirs, ours, &["epochs"])
    }
}

#[cfg(test)]
impl TransformerConfig {
    /// A model of a named size, with normalisation after each sum and dropout of weights; otherwise the
    /// default options of the command line.
    pub(super) fn sized(size: Size, layers: usize, key_dim: Option<usize>) -> Self {
        let (size, layers) = (config::name(size), layers.to_string());
        let sizes = ["--size", &size, "--layers", &layers];
        let more = ["--norm", "post", "--attention-dropout", "0.1"];
        TransformerConfig { key_dim, ..config::parse(&[sizes, more].concat()) }.complete()
    }
}

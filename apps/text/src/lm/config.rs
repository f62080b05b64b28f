//! The settings of a language model and its training.

use clap::{Args, ValueEnum};
use cotangent::layers::{Bands, Score, band_widths};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, options};
use serde::{Deserialize, Serialize};

use cotangent_apps_attention::body::{Body, NormOption, PositionsOption, head_dims};
use cotangent_apps_common::attention::{AttentionOptions, Scores};

/// What the tokens of a text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokensOption {
    /// Words, separated by spaces.
    Words,
    /// Words and parts of words, by byte-pair encoding (Sennrich et al. 2016).
    Bpe,
}

/// How words become vectors, and states become probabilities of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputOption {
    /// A softmax over all words, whose vectors have the width of the layers.
    Plain,
    /// Adaptive input embeddings and adaptive softmax: rarer words have shorter vectors, by --bands and
    /// --factor (Grave et al. 2017; Baevski & Auli 2019). For --tokens words, which are numbered by
    /// frequency.
    Adaptive,
}

/// Everything that determines the result of a run, except the text.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LmConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "dot", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// Number of layers.
    #[arg(long, default_value_t = 3, help_heading = "Model")]
    pub layers: usize,
    /// Width of the layers.
    #[arg(long, default_value_t = 256, help_heading = "Model")]
    pub width: usize,
    /// Number of heads of each attention.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub heads: usize,
    /// Dimensions of a head [default: the width divided by the number of heads].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub head_dim: Option<usize>,
    /// Dimensions of a head's queries and keys; its values keep those of --head-dim [default: as --head-dim].
    #[arg(long, help_heading = "Model")]
    pub key_dim: Option<usize>,
    /// Number of hidden units of the feed-forward networks.
    #[arg(long, default_value_t = 1024, help_heading = "Model")]
    pub hidden: usize,
    /// Where residual blocks apply layer normalisation.
    #[arg(long, value_enum, default_value_t = NormOption::Pre, help_heading = "Model")]
    pub norm: NormOption,
    /// How the positions of tokens are encoded.
    #[arg(long, value_enum, default_value_t = PositionsOption::Sinusoidal, help_heading = "Model")]
    pub positions: PositionsOption,
    /// What the tokens of a text are.
    #[arg(long, value_enum, default_value = "words", help_heading = "Data")]
    pub tokens: TokensOption,
    /// Largest number of tokens in the vocabulary: the most frequent ones [default: all words; 8000 with
    /// --tokens bpe, which needs 300 or more].
    #[arg(long, help_heading = "Data")]
    pub vocabulary: Option<usize>,
    /// Words that occur less often in the training text become one token, that of unknown words. For --tokens
    /// words.
    #[arg(long, default_value_t = 1, help_heading = "Data")]
    pub min_count: u64,
    /// How words become vectors, and states become probabilities of words [default: adaptive, but plain with
    /// --tokens bpe].
    #[arg(long, value_enum, required = false, hide_default_value = true)]
    #[arg(default_value_ifs = by_tokens(), help_heading = "Model")]
    pub output: OutputOption,
    /// Cut-offs of the bands of --output adaptive: so many of the most frequent words are in the first band,
    /// in the first two, and so on. Those beyond the vocabulary are left out.
    #[arg(long, value_delimiter = ',', default_value = "4000,12000", help_heading = "Model")]
    pub bands: Vec<u32>,
    /// From band to band, word vectors are shorter by this factor.
    #[arg(long, default_value_t = 4, help_heading = "Model")]
    pub factor: usize,
    /// Separate vectors of words for the output [default: those of the input].
    #[arg(long, help_heading = "Model")]
    pub untied: bool,
    /// Number of tokens in a block. Attention is within a block.
    #[arg(long, default_value_t = 512, help_heading = "Data")]
    pub block: usize,
    /// A second test predicts each token from at least this many, with windows of a block whose last tokens
    /// count [default: 15/16 of a block].
    #[arg(long, help_heading = "Data")]
    #[serde(with = "config::known")]
    pub context: Option<usize>,
    /// Passes over the training text.
    #[arg(long, default_value_t = 5, help_heading = "Training")]
    pub epochs: u64,
    /// Number of blocks in a batch.
    #[arg(long, default_value_t = 8, help_heading = "Training")]
    pub batch: usize,
    /// Learning rate of Adam at the end of the warm-up, its largest value.
    #[arg(long, default_value_t = 0.001, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Steps in which the learning rate rises; then it falls to 0 along half a cosine.
    #[arg(long, default_value_t = 500, help_heading = "Training")]
    pub warm_up: u64,
    /// Dropout rate of embeddings and of each sublayer's result, from 0 to below 1.
    #[arg(long, default_value_t = 0.2, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Dropout rate of attention weights, from 0 to below 1.
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, help_heading = "Model")]
    pub attention_dropout: f64,
    /// Weight decay, decoupled from the gradient (AdamW): each step shrinks the parameters by the learning
    /// rate times this number.
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Largest norm of a step's gradient, over all parameters together. Longer gradients are scaled down
    /// to it.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Training")]
    pub clip: f64,
    /// Seed of initial weights, order and dropout. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

/// The default output for each kind of tokens.
fn by_tokens() -> impl Iterator<Item = (&'static str, String, String)> {
    config::by("tokens", |tokens| match tokens {
        TokensOption::Words => "adaptive",
        TokensOption::Bpe => "plain",
    })
}

impl LmConfig {
    /// Fills in what follows from other options: the dimensions of the heads, and the context.
    pub(super) fn complete(mut self) -> Self {
        let sizes = [self.width, self.heads];
        [self.head_dim, self.key_dim] = head_dims(sizes, self.head_dim, self.key_dim);
        self.context.get_or_insert(self.block - self.block.div_ceil(16));
        self
    }

    /// The context of the second test.
    pub fn context(&self) -> usize {
        self.context.unwrap_or_default()
    }

    /// The layers.
    pub(super) fn body(&self) -> Body<'_> {
        cotangent_apps_attention::body!(self)
    }

    /// The bands of a vocabulary: one, unless the output is adaptive.
    pub(super) fn bands(&self, vocabulary: usize) -> Bands {
        let vocabulary = u32::try_from(vocabulary).expect("a vocabulary in memory");
        let cutoffs = self.bands.iter().copied().filter(|&end| end < vocabulary);
        let cutoffs = cutoffs.take(if self.output == OutputOption::Adaptive { usize::MAX } else { 0 });
        Bands::new(&cutoffs.collect::<Vec<u32>>(), vocabulary)
    }

    /// A lower bound on the number of a model's parameters: those of its tables, and most of its layers'. It
    /// is a float, because sizes read from a file could overflow an integer.
    pub(super) fn least_parameters(&self, vocabulary: usize) -> f64 {
        let bands = self.bands(vocabulary);
        let widths = band_widths(self.width, self.factor.max(1));
        let words: f64 =
            bands.ranges().zip(widths).map(|(words, width)| words.len() as f64 * width as f64).sum();
        let tables = if self.untied { 2.0 } else { 1.0 };
        let positions = if self.positions == PositionsOption::Sinusoidal { 0.0 } else { self.block as f64 };
        let layers = self.layers as f64 * self.body().layer_parameters();
        tables * words + positions * self.width as f64 + layers
    }

    /// The options that the number of parameters depends on. One that has no effect is 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 7] {
        let [layers, width, heads, head_dim, key_dim, hidden] = self.body().options();
        let block = if self.positions == PositionsOption::Sinusoidal { 0 } else { self.block };
        [layers, width, heads, head_dim, key_dim, hidden, ("block", block)]
    }

    /// Checks the context.
    ///
    /// # Errors
    /// If it is not less than a block.
    pub(super) fn check_context(&self) -> Result<()> {
        let (context, block) = (self.context(), self.block);
        if context >= block {
            return Err(AppError::usage(format!("--context {context}: less than --block {block} is needed")));
        }
        Ok(())
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let body = self.body();
        body.check_sizes()?;
        options::at_least_one(&[
            ("factor", self.factor as u64),
            ("block", self.block as u64),
            ("epochs", self.epochs),
            ("batch", self.batch as u64),
            ("warm-up", self.warm_up),
            ("min-count", self.min_count),
        ])?;
        // A vocabulary has the end of a line and the unknown word.
        if let Some(tokens) = self.vocabulary.filter(|&tokens| tokens < 2) {
            return Err(AppError::usage(format!("--vocabulary {tokens}: at least 2 are needed")));
        }
        self.check_context()?;
        let ascends = self.bands.first() != Some(&0) && self.bands.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascends {
            let bands: Vec<String> = self.bands.iter().map(u32::to_string).collect();
            return Err(AppError::usage(format!(
                "--bands {}: ascending numbers are needed",
                bands.join(",")
            )));
        }
        if (self.tokens, self.output) == (TokensOption::Bpe, OutputOption::Adaptive) {
            let message = "--output adaptive: --tokens words is needed, which are numbered by frequency";
            return Err(AppError::usage(message));
        }
        if self.tokens == TokensOption::Bpe {
            if self.min_count > 1 {
                let message = format!("--min-count {}: --tokens bpe has parts of rare words", self.min_count);
                return Err(AppError::usage(message));
            }
            if let Some(tokens) = self.vocabulary {
                options::parameters(&[("vocabulary", tokens)], self.width as f64 * tokens as f64)?;
            }
        }
        options::parameters(&self.sizes(), self.least_parameters(1))?;
        let score = body.score(scores)?;
        options::positive(&[("lr", self.lr), ("clip", self.clip)])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }
}

impl TrainingConfig for LmConfig {
    const DATA: &'static str = "text";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}

//! Translation by transformers with any attention score: Vaswani et al. 2017; Tseng et al. 2023, section 4.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod batches;
pub mod bleu;
pub mod bpe;
mod command;
mod comparison;
mod config;
mod encoded;
pub mod heatmap;
mod model;
pub mod parallel_text;
mod search;
#[cfg(test)]
mod tests;
mod training;
mod translator;

use bleu::Bleu;
pub use command::{APP, run};
pub use config::{Size, TransformerConfig};
pub use cotangent_apps_attention::body::{NormOption, PositionsOption};
pub use search::{LengthNorm, Search};
pub use training::train;
pub use translator::{Queries, Translator};

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransformerMetrics {
    /// Hyperparameters and seed.
    pub config: TransformerConfig,
    /// What every training has.
    #[serde(flatten)]
    pub training: Training,
    /// Number of sentence pairs for training, validation and testing.
    pub sentences: [usize; 3],
    /// Number of training and validation pairs that were left out because they are too long.
    pub left_out: [usize; 2],
    /// Number of tokens of the training targets, end tokens included.
    pub tokens: usize,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// The learned factors γ (or β) of the attentions, or of their heads, in the order of the model's
    /// parameters; none if they are fixed.
    pub sharpness: Vec<f64>,
    /// Mean loss per token of the validation targets, with the averaged parameters.
    pub validation: f64,
    /// Number of hypotheses that beam search keeps.
    pub beam: usize,
    /// The power of its length by which the log-probability of a translation is divided.
    pub length_penalty: f64,
    /// How the length is measured.
    #[serde(default)]
    pub length_norm: LengthNorm,
    /// BLEU of the test sentences' translations.
    pub test: Bleu,
    /// How BLEU was computed, in sacreBLEU's notation.
    pub signature: String,
}

//! Language models: transformers with any attention score that predict the next word. Baevski & Auli 2019;
//! Tseng et al. 2023, section 4.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod blocks;
mod command;
mod config;
mod generator;
mod language_model;
mod model;
#[cfg(test)]
mod tests;
pub mod text;
mod training;
pub mod vocabulary;

pub use command::{APP, run};
pub use config::{LmConfig, OutputOption, TokensOption};
pub use generator::Sampling;
pub use language_model::LanguageModel;
pub use training::train;

/// How well a model predicts a text.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perplexity {
    /// The least number of tokens that a token is predicted from, except at the beginning of the text.
    pub context: usize,
    /// Number of tokens that are predicted.
    pub tokens: usize,
    /// The mean of −ln p per token.
    pub loss: f64,
    /// The exponential of the loss.
    pub perplexity: f64,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LmMetrics {
    /// Hyperparameters and seed.
    pub config: LmConfig,
    /// What every training has. The validation of an epoch is the mean loss per token.
    #[serde(flatten)]
    pub training: Training,
    /// The learned factors γ (or β) of the attentions, or of their heads, in the order of the model's
    /// parameters; none if they are fixed.
    pub sharpness: Vec<f64>,
    /// Number of tokens for training, validation and testing, ends of lines included.
    pub tokens: [usize; 3],
    /// How many of them are not in the vocabulary.
    pub unknown: [usize; 3],
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of those that are neither of words nor of bands nor of positions.
    pub layer_parameters: usize,
    /// The epoch with the least validation loss, counted from 1. Its model is tested.
    pub best_epoch: u64,
    /// How well the model predicts the validation text, from its blocks.
    pub validation: Perplexity,
    /// How well it predicts the test text: from its blocks, and from at least `context` tokens.
    pub test: [Perplexity; 2],
}

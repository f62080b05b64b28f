//! Diffusion transformers with any attention score, which make pictures of a class. Peebles & Xie 2023
//! (*DiT*); Tseng et al. 2023, section 4.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod bound;
mod command;
mod config;
mod data;
mod diffusion;
mod evaluated;
mod frechet;
mod model;
mod sampler;
#[cfg(test)]
mod tests;
mod training;

pub use command::{APP, run};
pub use config::{DitConfig, DitDefaults, DitSize};
pub use data::DitData;
pub use evaluated::{Distances, DitDistance, DitEvaluated, distance, evaluate};
pub use frechet::Gaussian;
pub use sampler::{DitSampling, Sampler};
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DitMetrics {
    /// Hyperparameters and seed.
    pub config: DitConfig,
    /// What every training has. The validation of an epoch is the mean squared error of the noise; so is the
    /// loss, to which the bound is added if variances are learned.
    #[serde(flatten)]
    pub training: Training,
    /// The learned factors γ (or β) of the attentions, or of their heads, in the order of the model's
    /// parameters; none if they are fixed.
    pub sharpness: Vec<f64>,
    /// The name of the data's directory.
    pub data: String,
    /// Number of pictures for training, validation and testing.
    pub pictures: [usize; 3],
    /// The parts that were held out of the training pictures, because the directory has none.
    pub held_out: Vec<String>,
    /// Channels of the pictures or latents.
    pub channels: usize,
    /// The epoch with the least validation loss, counted from 1. Its model is tested.
    pub best_epoch: u64,
    /// Its mean squared error of the noise in the validation pictures, at random times.
    pub validation: f64,
    /// The same for the test pictures.
    pub test: f64,
    /// The mean term of the bound on the negative log-likelihood of test pictures, at random times, in bits
    /// per number, if variances are learned.
    pub bound: Option<f64>,
}

//! Classification of sentence pairs by hyperbolic or Euclidean recurrent networks: Ganea, Bécigneul, Hofmann
//! 2018, section 4.

use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod batches;
mod command;
mod config;
mod model;
#[cfg(test)]
mod tests;
mod training;

pub use command::{APP, run};
pub use config::{
    Architecture, CurvatureOption, Encoder, GruConfig, Nonlinearity, Protocol, Published, Space, TABLE_1,
    published,
};
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GruMetrics {
    /// Hyperparameters and seed.
    pub config: GruConfig,
    /// What every training has.
    #[serde(flatten)]
    pub training: Training,
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
    /// The epoch, counted from 1, with the best validation accuracy. Its model is kept and tested.
    pub best_epoch: usize,
    /// Validation accuracy of that model, from 0 to 1.
    pub validation: f64,
    /// Test accuracy of that model, from 0 to 1.
    pub test: f64,
    /// The confusion matrix of that model on the test pairs.
    pub confusion: Confusion,
    /// Curvatures of body, feed-forward layer and head at the end, where they were learned. A layer in the
    /// geometry of the body has none of its own.
    pub learned_kappa: [Option<f64>; 3],
}

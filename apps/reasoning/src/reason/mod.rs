//! Questions about scenes of several objects, answered by relation networks whose objects match in Euclidean
//! or hyperbolic space: Santoro et al. 2017; Gulcehre et al. 2019, sections 3.2, 5.2 and 5.4.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod answers;
mod batch;
mod command;
mod config;
pub mod dataset;
mod model;
mod pictures;
#[cfg(test)]
mod tests;
mod training;

pub use answers::{Answers, KindAnswers};
pub use command::{APP, run};
pub use config::{Data, Kinds, Matching, MatchingInput, ReasonConfig};
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonMetrics {
    /// Hyperparameters and seed.
    pub config: ReasonConfig,
    /// What every training has. The validation of an epoch is an accuracy.
    #[serde(flatten)]
    pub training: Training,
    /// The name of the data.
    pub data: String,
    /// Numbers of scenes and of questions: for training, validation and test.
    pub sizes: [[usize; 2]; 3],
    /// Number of those that belong to pairs of objects: the network g and the matching.
    pub relation_parameters: usize,
    /// The epoch with the best validation accuracy, counted from 1.
    pub best_epoch: u64,
    /// Its validation accuracy, from 0 to 1.
    pub validation: f64,
    /// Test accuracy of its model, from 0 to 1.
    pub accuracy: f64,
    /// Test accuracy of the most common answer of each kind of question.
    pub constant: f64,
    /// The answers of the test by kind.
    pub test: Answers,
}

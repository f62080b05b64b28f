//! Tours of the travelling salesman by off-policy Q-learning, whose value network is the recursive
//! transformer with hyperbolic or Euclidean attention: Gulcehre et al. 2019, appendix A.5.
//!
//! The paper gives neither the number of cities nor reward, steps or rates; these are ours.

use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod agent;
mod command;
mod config;
mod coordinates;
mod evaluation;
mod instance;
mod model;
mod pictures;
mod rollout;
pub mod solvers;
mod state;
#[cfg(test)]
mod tests;
mod training;

pub use command::{APP, SolveMetrics, run};
pub use config::{Decoding, TourConfig, TourGeometry};
pub use coordinates::{Coordinates, Metric};
pub use evaluation::Gaps;
pub use instance::{City, Distances};
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TourMetrics {
    /// Hyperparameters and seed.
    pub config: TourConfig,
    /// What every training has. The validation of an epoch is the mean gap of greedy tours.
    #[serde(flatten)]
    pub training: Training,
    /// What gaps are measured from.
    pub reference: String,
    /// The mean length of these tours over the test instances.
    pub reference_length: Interval,
    /// The gaps of the last network, and of other methods, on the test instances.
    pub gaps: Gaps,
}

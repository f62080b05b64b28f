//! Link prediction by graph convolution, hyperbolic against Euclidean: Chami et al. 2019 (HGCN).
//!
//! Some edges of a graph are held out. A network of two layers reads the features of the nodes and the other
//! edges, and gives each node a point; a Fermi-Dirac decoder makes edges of squared distances. The test is
//! whether held-out edges have smaller distances than other pairs of nodes: ROC AUC.

use cotangent_apps_common::metrics::Training;
use serde::{Deserialize, Serialize};

mod command;
mod config;
pub mod link_graph;
mod model;
mod published;
pub mod roc_auc;
pub mod split;
#[cfg(test)]
mod tests;
mod training;

pub use command::{Links, command};
pub use config::{AggregationOption, FeaturesOption, LinkConfig};
pub use published::published;
pub use training::train;

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkMetrics {
    /// Hyperparameters and seed.
    pub config: LinkConfig,
    /// What every training has. The validation of an epoch is ROC AUC.
    #[serde(flatten)]
    pub training: Training,
    /// Name of the graph.
    pub graph: String,
    /// How its table of edges was read.
    pub read_as: Vec<String>,
    /// Number of nodes, undirected edges and features.
    pub sizes: [usize; 3],
    /// Number of edges for training, validation and testing. Beside those of validation and testing there are
    /// as many other pairs of nodes.
    pub split: [usize; 3],
    /// The epoch, counted from 1, with the best validation. Its model is kept and tested.
    pub best_epoch: usize,
    /// ROC AUC of that model on the validation edges.
    pub validation: f64,
    /// ROC AUC of that model on the test edges.
    pub test: f64,
    /// The curvature of each layer and of the result, if they were learned.
    pub learned_kappa: Vec<f64>,
}

//! The settings of a network for link prediction and its training.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cotangent::layers::Aggregation;
use cotangent_apps_common::curvature::CurvatureOption;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::space::Space;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{config, memory, options};
use serde::{Deserialize, Serialize};

/// How the points of neighbours are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AggregationOption {
    /// By the mean of their tangent vectors at the origin (Chami et al. 2019).
    Tangent,
    /// By the Lorentz centroid (Law et al. 2019), which is their gyromidpoint.
    Centroid,
}

impl From<AggregationOption> for Aggregation {
    fn from(aggregation: AggregationOption) -> Self {
        match aggregation {
            AggregationOption::Tangent => Aggregation::Sum,
            AggregationOption::Centroid => Aggregation::Barycentre,
        }
    }
}

/// What is done to the features of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeaturesOption {
    /// They are scaled so that their absolute values sum to 1.
    Scaled,
    /// They stay as they are.
    Raw,
}

/// Everything that determines the result of a run, except the graph.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// The graph: a subdirectory of --data-dir. Those named disease (in disease_lp), airport and cora have
    /// the settings of the program of Chami et al. 2019.
    #[arg(long, default_value = "disease", help_heading = "Data")]
    pub data: String,
    /// What is done to features [default: scaled; raw with --data disease].
    #[arg(long, value_enum, default_value = "scaled", default_value_if("data", "disease", "raw"))]
    #[arg(hide_default_value = true, help_heading = "Data")]
    pub features: FeaturesOption,
    /// Also give each node, as features, its number of training edges: one feature for each number below this
    /// one, one for all others, and a constant; 0 gives none [default: 0; 5 with --data airport].
    #[arg(long, default_value = "0", default_value_if("data", "airport", "5"))]
    #[arg(hide_default_value = true, help_heading = "Data")]
    pub degrees: u32,
    /// Geometry of the points.
    #[arg(long, value_enum, default_value_t = Space::Hyperbolic, help_heading = "Model")]
    pub space: Space,
    /// How neighbours are put together. In Euclidean space both are the mean.
    #[arg(long, value_enum, default_value_t = AggregationOption::Tangent, help_heading = "Model")]
    pub aggregation: AggregationOption,
    /// Sectional curvature of hyperbolic space, from -1e6 to -1e-6; or "learned:NUMBER" to learn one for each
    /// layer and one for the result, from this initial value; or "learned", which starts at -1
    /// [default: -1; learned with --data airport and cora].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    pub kappa: Option<CurvatureOption>,
    /// Dimension of the points, of both layers.
    #[arg(long, default_value_t = 16, help_heading = "Model")]
    pub dim: usize,
    /// The squared distance at which an edge has even odds: r of the Fermi-Dirac decoder.
    #[arg(long, default_value_t = 2.0, allow_negative_numbers = true, help_heading = "Model")]
    pub radius: f64,
    /// t of the decoder: the odds of an edge fall by the factor e for each t of further squared distance.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, help_heading = "Model")]
    pub temperature: f64,
    /// Dropout rate of the weights, from 0 to below 1 [default: 0; 0.5 with --data cora].
    #[arg(long, default_value = "0", default_value_if("data", "cora", "0.5"), hide_default_value = true)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub dropout: f64,
    /// Weight decay: the loss includes half this number times the sum of all squared weights. Biases are left
    /// out [default: 0; 0.001 with --data cora].
    #[arg(long, default_value = "0", default_value_if("data", "cora", "0.001"), hide_default_value = true)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.01, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Stop after this many epochs in a row without a better validation.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub patience: u64,
    /// Largest number of epochs.
    #[arg(long, default_value_t = 5000, help_heading = "Training")]
    pub epochs: u64,
    /// Floating-point type of all numbers.
    #[arg(long, value_enum, default_value_t = Precision::F32, help_heading = "Model")]
    pub precision: Precision,
    /// First seed; a seed determines which edges are held out, initial weights, dropout, and the other pairs
    /// of nodes. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
}

impl TrainingConfig for LinkConfig {
    const DATA: &'static str = "edges or features";

    fn epochs_and_seed(&self) -> (u64, u64) {
        (self.epochs, self.seed)
    }
}

impl LinkConfig {
    /// The settings for some data when no other option is given, but for the [curvature](Self::complete).
    pub fn of_data(data: &str) -> Self {
        config::parse(&[&format!("--data={data}")])
    }

    /// Fills in what follows from other options: the curvature.
    pub fn complete(mut self) -> Self {
        if self.space == Space::Hyperbolic {
            let learned = ["airport", "cora"].contains(&self.data.as_str());
            self.kappa.get_or_insert(CurvatureOption { kappa: -1.0, learned });
        }
        self
    }

    /// The directory of the graph.
    pub(super) fn directory(&self) -> PathBuf {
        PathBuf::from(if self.data == "disease" { "disease_lp" } else { &self.data })
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[
            ("dim", self.dim as u64),
            ("patience", self.patience),
            ("epochs", self.epochs),
        ])?;
        options::positive(&[("radius", self.radius), ("temperature", self.temperature), ("lr", self.lr)])?;
        options::below_one(&[("dropout", self.dropout)])?;
        options::not_negative(&[("decay", self.decay)])?;
        match (self.space, self.kappa) {
            (Space::Euclidean, Some(_)) => Err(AppError::usage("--kappa: --space euclidean has none")),
            (_, kappa) => kappa.map_or(Ok(()), CurvatureOption::check),
        }
    }

    /// Checks that a training fits in memory: the weights of both layers, and the points of all nodes.
    pub(super) fn check_memory(&self, nodes: usize, features: usize) -> Result<()> {
        let (options, dim) = ([("dim", self.dim)], self.dim as f64);
        memory::training(&options, dim * (features as f64 + dim), self.precision)?;
        let points = 3.0 * memory::bytes::<f32>(&[nodes, self.dim]);
        memory::check(&options, &format!("the points of {nodes} nodes"), points)
    }
}

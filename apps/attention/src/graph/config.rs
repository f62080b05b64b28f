//! The settings of a graph attention network and its training.

use clap::Args;
use cotangent::layers::Score;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::{memory, options};
use serde::{Deserialize, Serialize};

use super::labelled_graph::LabelledGraph;
use crate::attention::{AttentionOptions, Scores, ValuesOption};

/// Everything that determines the result of a run, except the graph.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "additive", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// Number of attention heads of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub heads: usize,
    /// Dimensions of each head of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    pub head_dim: usize,
    /// Number of attention heads of the last layer; the output is their mean.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    pub output_heads: usize,
    /// Dropout rate of features, attention weights and values, from 0 to below 1.
    #[arg(long, default_value_t = 0.6, allow_negative_numbers = true, help_heading = "Model")]
    pub dropout: f64,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Weight decay: the loss includes half this number times the sum of all squared weights. Biases
    /// are left out.
    #[arg(long, default_value_t = 0.0005, allow_negative_numbers = true, help_heading = "Training")]
    pub decay: f64,
    /// Decay biases too. With --patience 1000 --last this is the protocol of Tseng et al. 2023; the default
    /// is that of Veličković et al. 2018.
    // Files of earlier versions have neither this nor `last`, nor has one where they are not asked for.
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decay_biases: bool,
    /// Test the model of the last epoch [default: that of the last epoch in which validation loss and
    /// validation accuracy were both at least as good as before].
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// Stop after this many epochs in a row in which both validation loss and validation accuracy are
    /// worse than their best so far; with --last, in which neither is better.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub patience: u64,
    /// Largest number of epochs.
    #[arg(long, default_value_t = 100_000, help_heading = "Training")]
    pub epochs: u64,
    /// First seed; a seed determines initial weights and dropout. Same seed, same result, for any number
    /// of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    pub seed: u64,
    /// Number of runs, with consecutive seeds, trained in parallel; two or more give a 95 % confidence
    /// interval.
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    pub seeds: u64,
}

impl GraphConfig {
    /// The same with another attention score.
    pub(super) fn with_score(&self, name: &str) -> Self {
        GraphConfig { attention: name.to_owned(), ..self.clone() }
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        options::at_least_one(&[
            ("heads", self.heads as u64),
            ("head-dim", self.head_dim as u64),
            ("output-heads", self.output_heads as u64),
            ("patience", self.patience),
            ("epochs", self.epochs),
        ])?;
        options::seeds(self.seed, self.seeds)?;
        let score =
            self.options.score(&self.attention, scores, ("head-dim", self.head_dim), self.head_dim)?;
        options::below_one(&[("dropout", self.dropout)])?;
        options::positive(&[("lr", self.lr)])?;
        options::not_negative(&[("decay", self.decay)])?;
        Ok(score)
    }

    /// How values become points in the last layer, whose results are logits: a direction of length 1 and a
    /// radius could not be.
    pub(super) fn output_values(&self) -> ValuesOption {
        match self.options.values {
            ValuesOption::Polar => ValuesOption::Exp,
            values => values,
        }
    }

    /// Checks that a training fits in memory: the weights of both layers, and the values of all nodes, of
    /// which there are queries and keys too.
    pub(super) fn check_memory(&self, graph: &LabelledGraph) -> Result<()> {
        let &GraphConfig { heads, head_dim, output_heads, .. } = self;
        let widths = [heads as f64 * head_dim as f64, output_heads as f64 * graph.class_count as f64];
        let [inputs, outputs] = widths;
        let options = [("heads", heads), ("head-dim", head_dim), ("output-heads", output_heads)];
        memory::training(&options, inputs * (graph.features.columns() as f64 + outputs), Precision::F32)?;
        let values = 3.0 * (inputs + outputs) * memory::bytes::<f32>(&[graph.nodes()]);
        memory::check(&options, &format!("the values of {} nodes", graph.nodes()), values)
    }
}

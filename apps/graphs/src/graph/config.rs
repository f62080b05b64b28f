//! The settings of a graph attention network and its training.

use clap::Args;
use cotangent::layers::Score;
use cotangent_apps_common::attention::{AttentionOptions, Scores, ValuesOption};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::{config, memory, options};
use serde::{Deserialize, Serialize};

use super::data::{GraphData, Split};

/// The options whose defaults follow from what is split.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is the option of its name")]
pub struct Decided {
    pub layers: usize,
    pub heads: usize,
    pub head_dim: usize,
    pub output_heads: usize,
    pub skip: bool,
    pub bias: bool,
    pub dropout: f64,
    pub batch: usize,
    pub decay: f64,
    pub epochs: u64,
}

impl Split {
    /// The defaults: for the nodes of a graph those of Veličković et al. 2018, section 3.3; for graphs
    /// those of the program that Tseng et al. 2023 name, pytorch-GAT, with layers of the same sizes as in
    /// that section.
    pub fn defaults(self) -> Decided {
        match self {
            Split::Nodes => Decided {
                layers: 2,
                heads: 8,
                head_dim: 8,
                output_heads: 1,
                skip: false,
                bias: true,
                dropout: 0.6,
                batch: 1,
                decay: 0.0005,
                epochs: 100_000,
            },
            Split::Graphs => Decided {
                layers: 3,
                heads: 4,
                head_dim: 256,
                output_heads: 6,
                skip: true,
                bias: false,
                dropout: 0.0,
                batch: 2,
                decay: 0.0,
                epochs: 200,
            },
        }
    }
}

/// How layers follow one another, and how many graphs are in a batch. Files of earlier versions have none of
/// it, nor have those of runs with the defaults for one graph.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerOptions {
    /// Number of layers [default: 2, of several graphs 3].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub layers: Option<usize>,
    /// Add a linear map of a layer's input to its result [default: false, of several graphs true].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub skip: Option<bool>,
    /// Add a bias to the result of a layer [default: true, of several graphs false].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub bias: Option<bool>,
    /// Number of graphs in a batch [default: 2]; one graph is always a batch.
    #[arg(long, help_heading = "Training")]
    #[serde(with = "config::known")]
    pub batch: Option<usize>,
}

/// Those for one graph.
impl Default for LayerOptions {
    fn default() -> Self {
        let Decided { layers, skip, bias, batch, .. } = Split::Nodes.defaults();
        LayerOptions { layers: Some(layers), skip: Some(skip), bias: Some(bias), batch: Some(batch) }
    }
}

impl LayerOptions {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What `--values` does here: results of the last layer are logits.
const VALUES: &str = "How values become points that --aggregate barycentre combines. The last layer takes \
                      exp in place of polar";

/// Everything that determines the result of a run, except the graph.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[command(mut_arg("values", |arg| arg.help(VALUES)))]
pub struct GraphConfig {
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "additive", help_heading = "Model")]
    pub attention: String,
    /// The other options of the attention.
    #[command(flatten)]
    pub options: AttentionOptions,
    /// Layers and batches.
    #[command(flatten)]
    #[serde(default, skip_serializing_if = "LayerOptions::is_default")]
    pub stack: LayerOptions,
    /// Number of attention heads of each layer but the last [default: 8, of several graphs 4].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub heads: Option<usize>,
    /// Dimensions of each of these heads [default: 8, of several graphs 256].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub head_dim: Option<usize>,
    /// Number of attention heads of the last layer; the output is their mean [default: 1, of several
    /// graphs 6].
    #[arg(long, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub output_heads: Option<usize>,
    /// Give queries and keys a matrix each [default: they are the values times a vector each].
    // Files of earlier versions have neither this nor `keep_values`.
    #[arg(long, help_heading = "Model")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub matrices: bool,
    /// Dropout rate of features, attention weights and values, from 0 to below 1 [default: 0.6, of several
    /// graphs 0].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    #[serde(with = "config::known")]
    pub dropout: Option<f64>,
    /// No dropout of values. It makes the values that are left longer, while training only; a midpoint weighs
    /// long values more.
    #[arg(long, help_heading = "Model")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_values: bool,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true, help_heading = "Training")]
    pub lr: f64,
    /// Weight decay: the loss includes half this number times the sum of all squared weights. Biases
    /// are left out [default: 0.0005, of several graphs 0].
    #[arg(long, allow_negative_numbers = true, help_heading = "Training")]
    #[serde(with = "config::known")]
    pub decay: Option<f64>,
    /// Decay biases too. With --patience 1000 --last this is the protocol of Tseng et al. 2023; the default
    /// is that of Veličković et al. 2018.
    // Files of earlier versions have neither this nor `last`, nor has one where they are not asked for.
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decay_biases: bool,
    /// Test the model of the last epoch [default: that of the last epoch in which validation loss and
    /// validation accuracy, or micro-F1, were both at least as good as before].
    #[arg(long, help_heading = "Training")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last: bool,
    /// Stop after this many epochs in a row in which both validation loss and validation accuracy (or
    /// micro-F1) are worse than their best so far; with --last, in which neither is better.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    pub patience: u64,
    /// Largest number of epochs [default: 100000, of several graphs 200].
    #[arg(long, help_heading = "Training")]
    #[serde(with = "config::known")]
    pub epochs: Option<u64>,
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

    /// The same with every option that follows from what is split.
    pub fn complete(&self, split: Split) -> Self {
        let decided = self.decided_for(split);
        let Decided { layers, skip, bias, batch, .. } = decided;
        let stack =
            LayerOptions { layers: Some(layers), skip: Some(skip), bias: Some(bias), batch: Some(batch) };
        GraphConfig {
            heads: Some(decided.heads),
            head_dim: Some(decided.head_dim),
            output_heads: Some(decided.output_heads),
            dropout: Some(decided.dropout),
            decay: Some(decided.decay),
            epochs: Some(decided.epochs),
            stack,
            ..self.clone()
        }
    }

    /// The options with defaults for these data.
    fn decided_for(&self, split: Split) -> Decided {
        let (stack, defaults) = (&self.stack, split.defaults());
        Decided {
            layers: stack.layers.unwrap_or(defaults.layers),
            heads: self.heads.unwrap_or(defaults.heads),
            head_dim: self.head_dim.unwrap_or(defaults.head_dim),
            output_heads: self.output_heads.unwrap_or(defaults.output_heads),
            skip: stack.skip.unwrap_or(defaults.skip),
            bias: stack.bias.unwrap_or(defaults.bias),
            dropout: self.dropout.unwrap_or(defaults.dropout),
            batch: stack.batch.unwrap_or(defaults.batch),
            decay: self.decay.unwrap_or(defaults.decay),
            epochs: self.epochs.unwrap_or(defaults.epochs),
        }
    }

    /// The options whose defaults follow from what is split; before [`complete`](Self::complete) those for
    /// the nodes of a graph.
    pub fn decided(&self) -> Decided {
        self.decided_for(Split::Nodes)
    }

    /// Checks the settings, and returns the attention score.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let decided = self.decided();
        options::at_least_one(&[
            ("heads", decided.heads as u64),
            ("head-dim", decided.head_dim as u64),
            ("output-heads", decided.output_heads as u64),
            ("batch", decided.batch as u64),
            ("patience", self.patience),
            ("epochs", decided.epochs),
        ])?;
        if decided.layers < 2 {
            return Err(AppError::usage(format!("--layers {}: at least 2 is needed", decided.layers)));
        }
        options::seeds(self.seed, self.seeds)?;
        self.options.check_one_sharpness()?;
        let (score, d) = (&self.attention, decided.head_dim);
        let score = self.options.score(score, scores, ("head-dim", d), d)?;
        options::below_one(&[("dropout", decided.dropout)])?;
        options::positive(&[("lr", self.lr)])?;
        options::not_negative(&[("decay", decided.decay)])?;
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

    /// Checks that a batch is of graphs that there are.
    pub(super) fn check_batch(&self, split: Split) -> Result<()> {
        match (split, self.stack.batch) {
            (Split::Nodes, Some(batch)) if batch > 1 => {
                Err(AppError::usage(format!("--batch {batch}: there is one graph, whose nodes are split")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a training fits in memory: the weights of all layers, and the values of the nodes that are
    /// read together, of which there are queries and keys too.
    pub(super) fn check_memory(&self, data: &GraphData) -> Result<()> {
        let Decided { layers, heads, head_dim, output_heads, skip, batch, .. } = self.decided();
        let [features, results] = data.widths().map(|width| width as f64);
        let hidden = heads as f64 * head_dim as f64;
        let (between, outputs) = ((layers - 2) as f64, output_heads as f64 * results);
        let options =
            [("layers", layers), ("heads", heads), ("head-dim", head_dim), ("output-heads", output_heads)];
        let weights = hidden * (features + between * hidden + outputs);
        let matrices = 1.0 + f64::from(u8::from(skip)) + 2.0 * f64::from(u8::from(self.matrices));
        memory::training(&options, matrices * weights, Precision::F32)?;
        let nodes = data.largest_batch(batch);
        let values = 3.0 * ((1.0 + between) * hidden + outputs) * memory::bytes::<f32>(&[nodes]);
        memory::check(&options, &format!("the values of {nodes} nodes"), values)
    }
}

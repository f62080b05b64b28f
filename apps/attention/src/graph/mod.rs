//! Node classification by graph attention: Veličković et al. 2018; Gulcehre et al. 2019, Table 1; Tseng et
//! al. 2023, Table 1.

use std::path::Path;

use cotangent::layers::Score;
use cotangent::layers::score::least_dimensions;
use cotangent::optim::train::load_model;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::{note, output, print};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::attention::{Scores, ValuesOption};

mod command;
mod config;
pub mod labelled_graph;
mod model;
mod pictures;
mod published;
#[cfg(test)]
mod tests;
mod training;

pub use command::{APP, run};
pub use config::GraphConfig;
pub(crate) use pictures::points_of;
pub use published::published;
pub(crate) use training::WholeGraph;

use labelled_graph::LabelledGraph;
use model::GraphModel;
use training::train;

/// The result of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Number of epochs until training ended.
    pub epochs: u64,
    /// The epoch, counted from 1, whose model was tested: with [`GraphConfig::last`] the last one.
    pub best_epoch: u64,
    /// Accuracy on the validation nodes after that epoch, from 0 to 1.
    pub validation: f64,
    /// Accuracy on the test nodes after that epoch, from 0 to 1.
    pub test: f64,
    /// Seconds of training. Other seeds may have used the processor at the same time.
    pub seconds: f64,
}

/// `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphMetrics {
    /// Hyperparameters and seeds.
    pub config: GraphConfig,
    /// Name of the graph.
    pub graph: String,
    /// How its tables were read.
    #[serde(default)]
    pub read_as: Vec<String>,
    /// Number of nodes, edges (in both directions, with self-loops) and features.
    pub sizes: [usize; 3],
    /// Number of nodes for training, validation and testing.
    pub split: [usize; 3],
    /// Number of parameters of the model.
    pub parameters: usize,
    /// The device that the models were trained on.
    pub device: String,
    /// The result of each seed.
    pub outcomes: Vec<Outcome>,
    /// Test accuracy, from 0 to 1: the mean over the seeds and its 95 % interval.
    pub test: Interval,
}

/// The model of the first seed.
const MODEL: &str = "model.safetensors";

/// Trains a model for each seed. Writes `metrics.json`, and `seed-N.json` for each seed N. For the first
/// seed it also writes `model.safetensors`, `curves.svg`, and `embeddings-1.svg` and `embeddings-2.svg`: the
/// queries and keys of the first head of each layer (Gulcehre et al. 2019, Figure 8). It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, or training diverges. If `options.resume` is
/// set and a `seed-N.json` belongs to another run.
pub fn classify(
    graph: &LabelledGraph,
    config: &GraphConfig,
    scores: &Scores,
    options: &RunOptions,
) -> Result<GraphMetrics> {
    let score = config.check(scores)?;
    let least = least_dimensions(&*score);
    if graph.class_count < least {
        let message = format!("--map polar: --attention {} needs {least} classes or more", config.attention);
        return Err(AppError::usage(message));
    }
    config.check_memory(graph)?;
    let out = &options.out;
    let _held = output::hold(out)?;
    let seeds: Vec<u64> = options::seeds(config.seed, config.seeds)?.collect();
    let data = graph.fingerprint();
    let name = output::fingerprint(&GraphConfig { seeds: 1, ..config.clone() }, data);
    let run = Run { graph, config, score, options, data, name };
    let outcomes: Vec<Outcome> =
        seeds.into_par_iter().map(|seed| run.outcome(seed)).collect::<Result<_>>()?;
    let tests: Vec<f64> = outcomes.iter().map(|outcome| outcome.test).collect();
    let metrics = GraphMetrics {
        config: config.clone(),
        graph: graph.name.clone(),
        read_as: graph.read_as.clone(),
        sizes: [graph.nodes(), graph.edges.pairs().len(), graph.features.columns()],
        split: [&graph.train, &graph.validation, &graph.test].map(Vec::len),
        parameters: run.model(config.seed).count(),
        device: options.device.to_string(),
        outcomes,
        test: Interval::mean(&tests),
    };
    metrics::write(out, &metrics)?;
    Ok(metrics)
}

/// A training with several seeds.
struct Run<'a> {
    graph: &'a LabelledGraph,
    config: &'a GraphConfig,
    score: Box<dyn Score<f32>>,
    options: &'a RunOptions,
    /// The fingerprint of the graph.
    data: u32,
    /// The name of the run, in the file of its model.
    name: String,
}

impl Run<'_> {
    /// The model before the first step.
    fn model(&self, seed: u64) -> GraphModel {
        GraphModel::new(self.graph, self.config, &*self.score, seed)
    }

    /// The result of a seed, which is trained unless its result is in the directory of a resumed run.
    fn outcome(&self, seed: u64) -> Result<Outcome> {
        let Run { graph, config, options, data, .. } = *self;
        let path = options.out.join(format!("seed-{seed}.json"));
        let first = seed == config.seed;
        if options.resume && path.exists() {
            let outcome = read_outcome(&path, config, data)?;
            if !first || self.is_pictured() {
                return Ok(outcome);
            }
        }
        let pictures = first.then_some((options.out.as_path(), self.name.as_str()));
        let outcome = train(graph, config, &*self.score, seed, pictures, &options.device)?;
        let output_values = config.output_values();
        let done = Done { config: config.clone(), output_values, graph: data, outcome: outcome.clone() };
        metrics::write_json(&path, &done)?;
        if !print::style().quiet {
            note!(
                "seed {seed}: {} epochs in {:.1} s, validation {:.1} %, test {:.1} %",
                outcome.epochs,
                outcome.seconds,
                100.0 * outcome.validation,
                100.0 * outcome.test
            );
        }
        Ok(outcome)
    }

    /// Whether the directory has the model of the first seed, and so its pictures. They may be those of a run
    /// with another first seed.
    fn is_pictured(&self) -> bool {
        let path = self.options.out.join(MODEL);
        load_model(&mut self.model(self.config.seed), &path, Some(&self.name)).is_ok()
    }
}

/// `seed-N.json`.
#[derive(Serialize, Deserialize)]
struct Done {
    config: GraphConfig,
    /// How values became points in the last layer: in files of earlier versions, which do not say it, by exp.
    #[serde(default)]
    output_values: ValuesOption,
    /// The fingerprint of the graph.
    graph: u32,
    outcome: Outcome,
}

fn read_outcome(path: &Path, config: &GraphConfig, graph: u32) -> Result<Outcome> {
    let done: Done = metrics::read_json(path)?;
    // The result of one seed does not depend on which other seeds are run.
    let same = GraphConfig { seed: config.seed, seeds: config.seeds, ..done.config };
    if same != *config || done.output_values != config.output_values() || done.graph != graph {
        return Err(AppError::content(path, "a seed of a run with other options or on another graph"));
    }
    Ok(done.outcome)
}

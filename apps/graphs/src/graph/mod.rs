//! Node classification by graph attention: Veličković et al. 2018; Gulcehre et al. 2019, Table 1; Tseng et
//! al. 2023, Table 1. Transductive: one graph, some of whose nodes have known classes. Inductive: several
//! graphs whose nodes have labels, and others to test on.

use std::path::Path;

use cotangent::layers::Score;
use cotangent::layers::score::least_dimensions;
use cotangent::optim::train::{MODEL, load_model};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::interval::Interval;
use cotangent_apps_common::metrics;
use cotangent_apps_common::options::{self, RunOptions};
use cotangent_apps_common::{note, output, print};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use cotangent_apps_common::attention::{Scores, ValuesOption};

mod command;
mod config;
mod data;
mod generated;
pub mod graph_collection;
mod inductive;
pub mod labelled_graph;
mod model;
mod node_link;
mod pictures;
mod published;
#[cfg(test)]
mod tests;
mod training;
mod transductive;

pub use command::{APP, run};
pub use config::{Decided, GraphConfig, LayerOptions};
pub use data::{GraphData, Split};
pub use generated::GeneratedGraphs;
pub(crate) use pictures::points_of;
pub use published::published;
pub(crate) use training::WholeGraph;

use inductive::LabelTask;
use model::GraphModel;
use training::{Pictured, train};
use transductive::NodeTask;

/// The result of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Number of epochs until training ended.
    pub epochs: u64,
    /// The epoch, counted from 1, whose model was tested: with [`GraphConfig::last`] the last one.
    pub best_epoch: u64,
    /// Accuracy on the validation nodes after that epoch, from 0 to 1; of several graphs the F1 of all nodes
    /// and labels together (micro-averaged).
    pub validation: f64,
    /// The same on the test nodes.
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
    /// Number of graphs for training, validation and testing, if graphs are split, and not nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graphs: Option<[usize; 3]>,
    /// Number of parameters of the model.
    pub parameters: usize,
    /// The device that the models were trained on.
    pub device: String,
    /// The result of each seed.
    pub outcomes: Vec<Outcome>,
    /// Test accuracy or micro-averaged F1, from 0 to 1: the mean over the seeds and its 95 % interval.
    pub test: Interval,
}

/// Trains a model for each seed. Writes `metrics.json`, and `seed-N.json` for each seed N. For the first
/// seed it also writes `model.safetensors`, `curves.svg`, and for each layer `embeddings-1.svg` and so on:
/// the queries and keys of its first head (Gulcehre et al. 2019, Figure 8), of several graphs on the first
/// one for validation. Unless `options.resume` is set, the files of an earlier run are moved first: see
/// [`output::set_aside`]. It uses the current thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, or training diverges. If `options.resume` is
/// set and a `seed-N.json` belongs to another run.
pub fn classify(
    data: &GraphData,
    config: &GraphConfig,
    scores: &Scores,
    options: &RunOptions,
) -> Result<GraphMetrics> {
    let config = &config.complete(data.split());
    let score = config.check(scores)?;
    config.check_batch(data.split())?;
    let least = least_dimensions(&*score);
    if data.widths()[1] < least {
        let message = format!("--map polar: --attention {} needs {least} classes or more", config.attention);
        return Err(AppError::usage(message));
    }
    config.check_memory(data)?;
    let out = &options.out;
    let _held = output::hold(out)?;
    let seeds: Vec<u64> = options::seeds(config.seed, config.seeds)?.collect();
    options.set_aside(&is_of_a_run)?;
    let fingerprint = data.fingerprint();
    let name = output::fingerprint(&GraphConfig { seeds: 1, ..config.clone() }, fingerprint);
    let run = Run { data, config, score, options, fingerprint, name };
    // Of several errors the first seed's counts, whichever came first.
    let outcomes: Vec<Result<Outcome>> = seeds.into_par_iter().map(|seed| run.outcome(seed)).collect();
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_>>()?;
    let tests: Vec<f64> = outcomes.iter().map(|outcome| outcome.test).collect();
    let metrics = GraphMetrics {
        config: config.clone(),
        graph: data.name().to_owned(),
        read_as: data.read_as().to_vec(),
        sizes: data.sizes(),
        split: data.split_nodes(),
        graphs: data.split_graphs(),
        parameters: run.model(config.seed).count(),
        device: options.device.to_string(),
        outcomes,
        test: Interval::mean(&tests),
    };
    metrics::write(out, &metrics)?;
    Ok(metrics)
}

/// Whether a run writes a file or directory of this name, beside what every training writes.
fn is_of_a_run(name: &str) -> bool {
    let is_numbered = |start: &str, end: &str| {
        let number = name.strip_prefix(start).and_then(|name| name.strip_suffix(end));
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    name == WITHOUT_DROPOUT || is_numbered("seed-", ".json") || is_numbered("embeddings-", ".svg")
}

/// The subdirectory for the model that is trained without dropout too.
const WITHOUT_DROPOUT: &str = "without-dropout";

/// A training with several seeds.
struct Run<'a> {
    data: &'a GraphData,
    config: &'a GraphConfig,
    score: Box<dyn Score<f32>>,
    options: &'a RunOptions,
    /// The fingerprint of the data.
    fingerprint: u32,
    /// The name of the run, in the file of its model.
    name: String,
}

impl Run<'_> {
    /// The model before the first step.
    fn model(&self, seed: u64) -> GraphModel {
        GraphModel::new(self.data.widths(), self.config, &*self.score, seed)
    }

    /// The result of a seed, which is trained unless its result is in the directory of a resumed run.
    fn outcome(&self, seed: u64) -> Result<Outcome> {
        let Run { config, options, fingerprint, .. } = *self;
        let path = options.out.join(format!("seed-{seed}.json"));
        let first = seed == config.seed;
        if options.resume && path.exists() {
            let outcome = read_outcome(&path, config, fingerprint)?;
            if !first || self.is_pictured() {
                return Ok(outcome);
            }
        }
        let pictures = first.then_some((options.out.as_path(), self.name.as_str()));
        let outcome = self.train(seed, pictures)?;
        let output_values = config.output_values();
        let (config, graph) = (config.clone(), fingerprint);
        let done = Done { config, output_values, graph, outcome: outcome.clone() };
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

    /// Trains with a seed.
    fn train(&self, seed: u64, pictured: Option<Pictured<'_>>) -> Result<Outcome> {
        let Run { data, config, options, .. } = *self;
        let (score, device) = (&*self.score, &options.device);
        match data {
            GraphData::Nodes(graph) => {
                train(data, &NodeTask::new(graph, seed), config, score, seed, pictured, device)
            }
            GraphData::Graphs(graphs) => {
                let task = LabelTask::new(graphs, config.decided().batch, seed);
                train(data, &task, config, score, seed, pictured, device)
            }
        }
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

//! Random graphs with labels, to try inductive training on.

use clap::Args;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{memory, options};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::graph_collection::{GraphCollection, MultiLabelGraph};

/// How many features are marks: the first ones.
const MARKS: usize = 2;

/// Random graphs, whose labels no mean of neighbours finds, because one neighbour decides.
///
/// Features are normal, and the first two are the marks of a node. The neighbour whose marks have the
/// smallest inner product with its own decides: a node has label l if that neighbour's feature
/// `2 + l mod (features − 2)` is positive. Neighbours are drawn uniformly, and do not include the node
/// itself. A node without neighbours has no label.
#[derive(Args, Clone, Copy, Debug, PartialEq)]
pub struct GeneratedGraphs {
    /// Number of graphs for training.
    #[arg(long, default_value_t = 20, help_heading = "Graphs")]
    pub graphs: usize,
    /// Number of graphs for validation, and as many for testing.
    #[arg(long, default_value_t = 2, help_heading = "Graphs")]
    pub held_out: usize,
    /// Mean number of nodes of a graph; it has from half to one and a half times as many.
    #[arg(long, default_value_t = 60, help_heading = "Graphs")]
    pub nodes: usize,
    /// Mean number of neighbours of a node, about.
    #[arg(long, default_value_t = 8, help_heading = "Graphs")]
    pub degree: usize,
    /// Number of features of a node.
    #[arg(long, default_value_t = 6, help_heading = "Graphs")]
    pub features: usize,
    /// Number of labels.
    #[arg(long, default_value_t = 5, help_heading = "Graphs")]
    pub labels: usize,
    /// Seed of the graphs. Same seed, same graphs.
    #[arg(long, default_value_t = 42, help_heading = "Graphs")]
    pub seed: u64,
}

/// The fewest nodes, on average, and the fewest features: the marks, and one for labels.
const LEAST: [(&str, usize); 2] = [("nodes", 8), ("features", MARKS + 1)];

impl GeneratedGraphs {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a number is too small, or the graphs do not fit in memory; the error names the option.
    pub fn check(&self) -> Result<()> {
        let &GeneratedGraphs { graphs, held_out, nodes, degree, features, labels, .. } = self;
        let counts = [("graphs", graphs), ("held-out", held_out), ("degree", degree), ("labels", labels)];
        options::at_least_one(&counts.map(|(name, count)| (name, count as u64)))?;
        for ((name, least), count) in LEAST.into_iter().zip([nodes, features]) {
            if count < least {
                return Err(AppError::usage(format!("--{name} {count}: at least {least} is needed")));
            }
        }
        let options = [counts[0], counts[1], counts[2], counts[3], ("nodes", nodes), ("features", features)];
        let numbers = features as f64 + labels as f64 + 8.0 * degree as f64;
        let total = (graphs as f64 + 2.0 * held_out as f64) * nodes as f64;
        memory::check(&options, "the graphs", numbers * total * size_of::<f32>() as f64)
    }

    /// The graphs, in three parts.
    pub fn generate(&self) -> GraphCollection {
        let GeneratedGraphs { graphs, held_out, .. } = *self;
        let part = |first: usize, count: usize| {
            (first..first + count).map(|number| self.graph(number as u64)).collect()
        };
        let parts = [part(0, graphs), part(graphs, held_out), part(graphs + held_out, held_out)];
        GraphCollection { name: "generated".to_owned(), read_as: Vec::new(), parts }
    }

    /// The graph of a number.
    fn graph(&self, number: u64) -> MultiLabelGraph {
        let mut rng = rng::stream(self.seed, "graphs", number);
        loop {
            let graph = self.draw(&mut rng);
            // One without any label is no data.
            if graph.labels.data().contains(&1.0) {
                return graph;
            }
        }
    }

    fn draw(&self, rng: &mut rng::Rng) -> MultiLabelGraph {
        let &GeneratedGraphs { nodes, degree, features: width, labels, .. } = self;
        let nodes = rng.random_range(nodes / 2..=nodes + nodes / 2);
        let features = Tensor::from_fn([nodes, width], |_| rng.sample::<f32, _>(StandardNormal));
        let mut edges = Vec::with_capacity(nodes * degree / 2);
        for _ in 0..(nodes * degree).div_ceil(2) {
            let u = rng.random_range(0..nodes as u32);
            let v = rng.random_range(0..nodes as u32 - 1);
            edges.push((u, if v < u { v } else { v + 1 }));
        }
        let graph = MultiLabelGraph::new(features, Tensor::zeros([nodes, labels]), edges);
        let chosen = opposites(&graph);
        let label = |at: usize| {
            let feature = MARKS + at % labels % (width - MARKS);
            let positive = chosen[at / labels].is_some_and(|j| graph.features.row(j as usize)[feature] > 0.0);
            if positive { 1.0 } else { 0.0 }
        };
        MultiLabelGraph { labels: Tensor::from_fn([nodes, labels], label), ..graph }
    }
}

/// For each node the neighbour whose marks have the smallest inner product with its own, if it has any.
fn opposites(graph: &MultiLabelGraph) -> Vec<Option<u32>> {
    let marks = |node: u32| &graph.features.row(node as usize)[..MARKS];
    let mut least = vec![(None, f32::INFINITY); graph.nodes()];
    for &(i, j) in graph.edges.pairs().iter().filter(|(i, j)| i != j) {
        let product: f32 = marks(i).iter().zip(marks(j)).map(|(x, y)| x * y).sum();
        if product < least[i as usize].1 {
            least[i as usize] = (Some(j), product);
        }
    }
    least.into_iter().map(|(node, _)| node).collect()
}

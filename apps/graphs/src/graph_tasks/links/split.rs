//! Which edges are held out, and pairs of nodes that are none.

use std::collections::HashSet;

use cotangent::prelude::rng::{self, Rng};
use cotangent_apps_common::error::{AppError, Result};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::link_graph::LinkGraph;

/// A pair of nodes (u, v), u < v.
pub type Pair = (u32, u32);

/// Held-out edges, and as many pairs of nodes that are no edges.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The edges.
    pub edges: Vec<Pair>,
    /// Pairs that are no edges of the whole graph, each once.
    pub others: Vec<Pair>,
}

/// The edges of a graph for training, validation and testing.
#[derive(Clone, Debug)]
pub struct Split {
    /// Edges for training.
    pub train: Vec<Pair>,
    /// A twentieth of the edges, and other pairs.
    pub validation: HeldOut,
    /// A tenth of the edges, and other pairs.
    pub test: HeldOut,
    nodes: u32,
    seed: u64,
    is_trained: HashSet<Pair>,
}

impl Split {
    /// Draws a split by a seed: 5 % of the edges are for validation, 10 % for testing, each rounded down, and
    /// all others for training, as in the program of Chami et al. 2019.
    ///
    /// # Errors
    /// If too few pairs of nodes are no edges.
    pub fn draw(graph: &LinkGraph, seed: u64) -> Result<Self> {
        let (nodes, count) = (graph.nodes() as u32, graph.edges.len());
        let held_out = [count / 20, count / 10];
        let others = u64::from(nodes) * u64::from(nodes - 1) / 2 - count as u64;
        // Twice as many as are drawn, so that they are found soon.
        let needed = 2 * (held_out[0] + held_out[1]) as u64;
        if others < needed {
            let message = format!(
                "{}: only {others} pairs of its {nodes} nodes are no edges; {needed} are needed",
                graph.name
            );
            return Err(AppError::usage(message));
        }
        let mut edges = graph.edges.clone();
        edges.shuffle(&mut rng::stream(seed, "split", 0));
        let (mut drawn, mut rng) = (HashSet::new(), rng::stream(seed, "other pairs", 0));
        let mut part = |size: usize| {
            let is_new = |pair: &Pair| graph.edges.binary_search(pair).is_err() && drawn.insert(*pair);
            let others = draw(nodes, size, &mut rng, is_new);
            HeldOut { edges: edges.split_off(edges.len() - size), others }
        };
        let [validation, test] = held_out.map(&mut part);
        let is_trained = edges.iter().copied().collect();
        Ok(Split { train: edges, validation, test, nodes, seed, is_trained })
    }

    /// The training edges of an epoch, each followed by a pair that is none of them. As in the program of
    /// Chami et al. 2019 it may be a held-out edge, which the training does not know.
    pub fn epoch(&self, epoch: u64) -> Vec<Pair> {
        let mut rng = rng::stream(self.seed, "negatives", epoch);
        let is_other = |pair: &Pair| !self.is_trained.contains(pair);
        let others = draw(self.nodes, self.train.len(), &mut rng, is_other);
        self.train.iter().zip(others).flat_map(|(&edge, other)| [edge, other]).collect()
    }

    /// The number of training edges of each node.
    pub fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.nodes as usize];
        for &(u, v) in &self.train {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        degrees
    }
}

/// Draws pairs of different nodes that are accepted.
fn draw(nodes: u32, count: usize, rng: &mut Rng, mut accepts: impl FnMut(&Pair) -> bool) -> Vec<Pair> {
    let pairs = std::iter::repeat_with(|| {
        let [u, v] = [0, 1].map(|_| rng.random_range(0..nodes));
        (u.min(v), u.max(v))
    });
    pairs.filter(|&(u, v)| u != v).filter(|pair| accepts(pair)).take(count).collect()
}

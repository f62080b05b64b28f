//! Where the points of a graph in parts start.

use std::collections::HashMap;
use std::ops::Range;

use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use rand::RngExt;
use rayon::prelude::*;

use crate::partition::store::StoredGraph;
use crate::train::config::EmbeddingConfig;
use crate::train::initial_points::{self, NONE, RANGE, Start};

/// Nodes that a thread takes together. The more they are, the more often they have the same ancestors.
const TOGETHER: usize = 1 << 16;

/// The largest number of ancestors that the nodes of a thread are carried along: those above are left out. It
/// bounds the work where the graph is a long path.
const ANCESTORS: usize = 64;

/// The points that a training starts from. Each is a function of the seed and of its node's ancestors, the
/// nearest [`ANCESTORS`] at least.
pub(crate) struct Points<'a> {
    graph: &'a StoredGraph,
    config: &'a EmbeddingConfig,
    /// The parent of each node, if the points start beside their parents.
    parents: Vec<u32>,
}

impl<'a> Points<'a> {
    /// Finds the parents, if they are needed: see [`Start::Parents`].
    ///
    /// # Errors
    /// If the pairs cannot be read.
    pub(crate) fn new(graph: &'a StoredGraph, config: &'a EmbeddingConfig) -> Result<Self> {
        let mut parents = Vec::new();
        if config.start == Start::Parents {
            parents = initial_points::parents(graph.nodes(), |visit| graph.each_pair(visit))?;
            // Two nodes that are each other's parents are common where edges have no direction: the first
            // of them stays.
            for node in 0..parents.len() {
                let parent = parents[node] as usize;
                if node < parent && parents.get(parent) == Some(&(node as u32)) {
                    parents[node] = NONE;
                }
            }
        }
        Ok(Points { graph, config, parents })
    }

    /// The rows of a part's points.
    pub(crate) fn part<T: Float>(&self, part: usize) -> Vec<T> {
        let (nodes, manifold) = (self.graph.part(part), self.config.geometry.manifold());
        let width = manifold.ambient(self.config.dim);
        let mut rows = vec![T::zero(); nodes.len() * width];
        rows.par_chunks_mut(TOGETHER * width).enumerate().for_each(|(chunk, rows)| {
            let first = nodes.start + (chunk * TOGETHER) as u32;
            let nodes = first..first + (rows.len() / width) as u32;
            self.fill(&manifold, nodes, rows);
        });
        rows
    }

    /// Fills in the rows of some nodes' points.
    fn fill<T: Float>(&self, manifold: &ProductSpace, nodes: Range<u32>, rows: &mut [T]) {
        let (nodes, parents) = self.family(nodes);
        let dim = self.config.dim;
        let own = |i: usize, offsets: &mut [f64]| {
            let mut rng = rng::stream(self.config.seed, "initial", u64::from(nodes[i]));
            offsets.iter_mut().for_each(|offset| *offset = rng.random_range(-RANGE..=RANGE));
        };
        let mut points = Embedding::about_origin("embedding", *manifold, nodes.len(), dim, own).points;
        initial_points::move_to_parents(&parents, manifold, dim, points.value_mut());
        rows.copy_from_slice(&points.value().data()[..rows.len()]);
    }

    /// Some nodes, and after them their ancestors; and the place among them of each one's parent, or
    /// [`NONE`].
    fn family(&self, nodes: Range<u32>) -> (Vec<u32>, Vec<u32>) {
        let mut nodes: Vec<u32> = nodes.collect();
        if self.parents.is_empty() {
            let parents = vec![NONE; nodes.len()];
            return (nodes, parents);
        }
        let mut place: HashMap<u32, u32> = nodes.iter().copied().zip(0..).collect();
        let mut parents = Vec::new();
        for _ in 0..ANCESTORS {
            for i in parents.len()..nodes.len() {
                let parent = self.parents[nodes[i] as usize];
                let found = || {
                    nodes.push(parent);
                    nodes.len() as u32 - 1
                };
                parents.push(if parent == NONE { NONE } else { *place.entry(parent).or_insert_with(found) });
            }
        }
        parents.resize(nodes.len(), NONE);
        (nodes, parents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::edges::EdgeOptions;
    use crate::partition::prepare::prepare;
    use crate::partition::survey::{EdgeSource, Identity, Survey};
    use crate::train::config::default_config;

    /// In whatever part they are, nodes are as far from their parents as their own points are from the
    /// origin; the root stays at its own.
    #[test]
    fn every_node_of_every_part_starts_beside_its_parent() {
        const NODES: u32 = 300;
        let above = |node: u32| (node - 1) / 2;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tree.tsv");
        let text: String = (1..NODES).map(|node| format!("n{node}\tn{}\n", above(node))).collect();
        std::fs::write(&path, text).unwrap();
        let options = EdgeOptions::default();
        let source = EdgeSource::Table(&path, &options);
        let survey = Survey::new(&source, &path).unwrap();
        let identity = Identity::new("tree".to_owned(), Some(&path), &options).unwrap();
        let graph = prepare(&source, &survey, identity, 4, directory.path()).unwrap();
        let (dim, seed) = (3, 7);
        let config = EmbeddingConfig { dim, seed, start: Start::Parents, ..default_config() };
        let manifold = config.geometry.manifold();
        let starts = Points::new(&graph, &config).unwrap();
        let (mut found, mut number) = (HashMap::new(), 0);
        for part in 0..graph.parts() {
            let rows = starts.part::<f64>(part);
            let mut rows = rows.chunks(dim);
            graph
                .each_name(part, |name| {
                    let node: u32 = name[1..].parse().unwrap();
                    found.insert(node, (number, Row::from(rows.next().unwrap())));
                    number += 1;
                })
                .unwrap();
        }
        assert_eq!(found.len(), NODES as usize);
        for (&node, (number, point)) in &found {
            let mut rng = rng::stream(seed, "initial", *number);
            let own: Vec<f64> = (0..dim).map(|_| rng.random_range(-RANGE..=RANGE)).collect();
            let own = manifold.dist(&manifold.origin(dim), &Row::from(&own[..]));
            let from = if node == 0 { manifold.origin(dim) } else { found[&above(node)].1.clone() };
            assert!((manifold.dist(&from, point) - own).abs() < 1e-12, "{node}");
        }
    }
}

//! Where the points of a graph in parts start.

use std::collections::HashMap;
use std::ops::Range;

use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use rand::RngExt;
use rayon::prelude::*;

use crate::partition::store::StoredGraph;
use crate::train::config::EmbeddingConfig;
use crate::train::initial_points::{self, RANGE, Start};

/// Nodes that a thread takes together. The more they are, the more often they have the same ancestors.
const TOGETHER: usize = 1 << 16;

/// The largest number of ancestors that the nodes of a thread are carried along: those above are left out. It
/// bounds the work where the graph is a long path.
const ANCESTORS: usize = 64;

/// No parent.
const NONE: u32 = u32::MAX;

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
            let mut below = vec![0_u32; graph.nodes()];
            graph.each_pair(|_, v| below[v as usize] += 1)?;
            parents = vec![NONE; graph.nodes()];
            let order = |v: u32| (below[v as usize], v);
            graph.each_pair(|u, v| {
                let parent = &mut parents[u as usize];
                if *parent == NONE || order(v) < order(*parent) {
                    *parent = v;
                }
            })?;
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

    /// Some nodes, and after them their ancestors; and the place among them of each one's parent.
    fn family(&self, nodes: Range<u32>) -> (Vec<u32>, Vec<Option<u32>>) {
        let mut nodes: Vec<u32> = nodes.collect();
        if self.parents.is_empty() {
            let parents = vec![None; nodes.len()];
            return (nodes, parents);
        }
        let mut place: HashMap<u32, u32> = nodes.iter().copied().zip(0..).collect();
        let mut parents = Vec::new();
        for _ in 0..ANCESTORS {
            for i in parents.len()..nodes.len() {
                let parent = self.parents[nodes[i] as usize];
                parents.push((parent != NONE).then(|| {
                    *place.entry(parent).or_insert_with(|| {
                        nodes.push(parent);
                        nodes.len() as u32 - 1
                    })
                }));
            }
        }
        parents.resize(nodes.len(), None);
        (nodes, parents)
    }
}

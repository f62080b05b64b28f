//! Where the points of a graph in parts start.

use std::collections::HashMap;

use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use rayon::prelude::*;

use crate::partition::store::StoredGraph;
use crate::train::config::EmbeddingConfig;
use crate::train::initial_points::{self, Start};

/// Nodes that a thread takes together.
const TOGETHER: usize = 1 << 14;

/// The largest number of ancestors that a point is carried along: those above are left out. It bounds the
/// work where the graph is a long path, or has a circle.
const ANCESTORS: usize = 64;

/// No parent.
const NONE: u32 = u32::MAX;

/// The points that a training starts from. Each is a function of the seed and of its node's ancestors, and
/// not of the parts.
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
            let mut known = HashMap::new();
            for (node, row) in (first..).zip(rows.chunks_exact_mut(width)) {
                row.copy_from_slice(&self.point(&manifold, node, &mut known));
            }
        });
        rows
    }

    /// A node's own point near the origin.
    fn own<T: Float>(&self, manifold: &ProductSpace, node: u32) -> Row<T> {
        let mut rng = rng::stream(self.config.seed, "initial", u64::from(node));
        let points = initial_points::near_origin::<T>(*manifold, 1, self.config.dim, &mut rng);
        Row::from(points.value().row(0))
    }

    /// A node's point: its own, carried to its parent's point. `known` has points of nodes whose ancestors
    /// were all followed.
    fn point<T: Float>(
        &self,
        manifold: &ProductSpace,
        node: u32,
        known: &mut HashMap<u32, Row<T>>,
    ) -> Row<T> {
        let (mut path, mut above) = (vec![node], None);
        let mut complete = true;
        while let Some(&parent) =
            self.parents.get(path[path.len() - 1] as usize).filter(|&&parent| parent != NONE)
        {
            if let Some(point) = known.get(&parent) {
                above = Some(point.clone());
                break;
            }
            // Two nodes that are each other's parents are common where edges have no direction.
            let returns = path.len() > 1 && path[path.len() - 2] == parent;
            if returns || path.len() > ANCESTORS {
                complete = false;
                break;
            }
            path.push(parent);
        }
        let origin = manifold.origin::<T>(self.config.dim);
        while let Some(next) = path.pop() {
            let own = self.own(manifold, next);
            let point = match &above {
                Some(parent) => initial_points::carried(manifold, [&origin, parent], &own),
                None => own,
            };
            if complete && !path.is_empty() {
                known.insert(next, point.clone());
            }
            above = Some(point);
        }
        above.expect("the node itself is on the path")
    }
}

//! Initial points: near the origin, as in Nickel & Kiela 2017, or near the parent's, which is our own
//! (`results/embeddings.md` has what it brings).

use std::convert::Infallible;

use clap::ValueEnum;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::Geometry;
use serde::{Deserialize, Serialize};

use crate::graph::Graph;

/// Where the points start. Records of versions that had no choice are read as [`Origin`](Start::Origin).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Each near the origin, by itself (Nickel & Kiela 2017).
    #[default]
    Origin,
    /// Each near its parent, and those without one near the origin: nodes that belong together start
    /// together. In an edge u, v the node v is above u; of the nodes above u the parent is the one with the
    /// fewest below it. Where there is no hierarchy, it is some neighbour.
    Parents,
}

/// Largest absolute value of a coordinate about the origin, or the parent: Nickel & Kiela 2017.
pub(crate) const RANGE: f64 = 1e-3;

impl Start {
    /// The points of a graph's nodes before training, `dim` being their dimension.
    pub(crate) fn points<T: Float>(
        self,
        graph: &Graph,
        geometry: Geometry,
        dim: usize,
        seed: u64,
    ) -> Param<ProductSpace, T> {
        let manifold = geometry.manifold();
        let mut rng = rng::stream(seed, "initial", 0);
        let name = "embedding";
        let mut points = Embedding::uniform(name, manifold, graph.names.len(), dim, RANGE, &mut rng).points;
        if self == Start::Parents {
            move_to_parents(&parents_in(graph), &manifold, dim, points.value_mut());
        }
        points
    }
}

/// No parent.
pub(crate) const NONE: u32 = u32::MAX;

/// Points that are carried together.
const TOGETHER: usize = 1 << 12;

/// Carries each point's offset from the origin to its parent, parents first: the point is as far from its
/// parent then as it was from the origin. `parents` are the places of the nodes' parents, or [`NONE`].
pub(crate) fn move_to_parents<M: Manifold, T: Float>(
    parents: &[u32],
    manifold: &M,
    dim: usize,
    points: &mut Tensor<T>,
) {
    let origin = Tensor::new([1, points.width()], manifold.origin::<T>(dim).to_vec());
    for level in levels(parents) {
        for nodes in level.chunks(TOGETHER) {
            let gathered = |node: &dyn Fn(u32) -> u32| {
                let data = nodes.iter().flat_map(|&i| points.row(node(i) as usize)).copied().collect();
                Tensor::new([nodes.len(), points.width()], data)
            };
            let tape = Tape::new();
            let [origin, own, parent] =
                [&origin, &gathered(&|node| node), &gathered(&|node| parents[node as usize])]
                    .map(|rows| tape.constant(rows));
            let step = manifold.transport(&origin, &parent, &manifold.log(&origin, &own));
            let carried = manifold.exp(&parent, &step).to_tensor();
            for (row, &node) in carried.rows().zip(nodes) {
                points.row_mut(node as usize).copy_from_slice(row);
            }
        }
    }
}

/// The nodes that move to their parents, by their number of ancestors: those with one come first. Of a circle
/// of parents, the node that is found last stays.
fn levels(parents: &[u32]) -> Vec<Vec<u32>> {
    const UNKNOWN: u32 = u32::MAX;
    const ON_PATH: u32 = u32::MAX - 1;
    let (mut ancestors, mut path) = (vec![UNKNOWN; parents.len()], Vec::new());
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for node in 0..parents.len() as u32 {
        // From the node up to the first one that is known, or has no parent.
        let mut next = Some(node);
        while let Some(node) = next.filter(|&node| ancestors[node as usize] == UNKNOWN) {
            ancestors[node as usize] = ON_PATH;
            path.push(node);
            next = Some(parents[node as usize]).filter(|&parent| parent != NONE);
        }
        let mut above = next.map(|node| ancestors[node as usize]).filter(|&ancestors| ancestors != ON_PATH);
        while let Some(node) = path.pop() {
            let count = above.map_or(0, |above| above + 1);
            ancestors[node as usize] = count;
            if count as usize > levels.len() {
                levels.push(Vec::new());
            }
            if count > 0 {
                levels[count as usize - 1].push(node);
            }
            above = Some(count);
        }
    }
    levels
}

/// The parent of each node u, or [`NONE`]: among the v of its pairs (u, v), the one in the fewest pairs
/// (w, v). Of several it is the one with the lowest number. `each_pair` calls its argument with every pair.
///
/// # Errors
/// Those of `each_pair`.
pub(crate) fn parents<E>(
    nodes: usize,
    each_pair: impl Fn(&mut dyn FnMut(u32, u32)) -> Result<(), E>,
) -> Result<Vec<u32>, E> {
    let (mut below, mut parents) = (vec![0_u32; nodes], vec![NONE; nodes]);
    each_pair(&mut |_, v| below[v as usize] += 1)?;
    let order = |v: u32| (below[v as usize], v);
    each_pair(&mut |u, v| {
        let parent = &mut parents[u as usize];
        if *parent == NONE || order(v) < order(*parent) {
            *parent = v;
        }
    })?;
    Ok(parents)
}

/// The [`parents`] of a graph in memory.
fn parents_in(graph: &Graph) -> Vec<u32> {
    let Ok(parents) = parents(graph.names.len(), |visit| {
        graph.pairs.iter().for_each(|&(u, v)| visit(u, v));
        Ok::<(), Infallible>(())
    });
    parents
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::{Geometry, Models};

    use super::*;
    use crate::graph::Builder;

    fn graph(edges: &[(&str, &str)]) -> Graph {
        let mut builder = Builder::default();
        edges.iter().for_each(|(u, v)| builder.add(u, v, None));
        builder.finish()
    }

    /// Each node is as far from its parent as it was from the origin; roots stay.
    #[test]
    fn every_node_starts_beside_its_parent() {
        // A closure: leaf, inner, middle, root; and "other" below the root. The edges come in no order.
        let graph = graph(&[
            ("leaf", "root"),
            ("leaf", "middle"),
            ("other", "root"),
            ("leaf", "inner"),
            ("middle", "root"),
            ("inner", "root"),
            ("inner", "middle"),
        ]);
        let number = |name: &str| graph.names.iter().position(|other| other == name).unwrap();
        fn check<M: Steps, T: Float>(m: &M, graph: &Graph, pairs: &[[usize; 2]], root: usize) {
            let (mut rng, dim) = (rng::stream(1, 2, 3), 3);
            let before = Embedding::<M, T>::uniform("x", *m, 5, dim, 0.3, &mut rng).points.value().clone();
            let mut after = before.clone();
            move_to_parents(&parents_in(graph), m, dim, &mut after);
            assert_eq!(after.row(root), before.row(root));
            let row = |x: &Tensor<T>, i: usize| Row::from(x.row(i));
            for &[node, parent] in pairs {
                let want = m.dist(&m.origin(dim), &row(&before, node)).to_f64();
                let got = m.dist(&row(&after, parent), &row(&after, node)).to_f64();
                assert!((got - want).abs() < 1e3 * T::EPSILON, "{node}: {got} {want}");
            }
        }
        let pairs = [("leaf", "inner"), ("inner", "middle"), ("middle", "root"), ("other", "root")];
        let pairs = pairs.map(|(node, parent)| [number(node), number(parent)]);
        check::<_, f64>(&PoincareBall::new(-1.5), &graph, &pairs, number("root"));
        check::<_, f32>(&PoincareBall::new(-1.0), &graph, &pairs, number("root"));
        check::<_, f64>(&Lorentz::new(-1.0), &graph, &pairs, number("root"));
        check::<_, f64>(&HalfSpace::new(-1.0), &graph, &pairs, number("root"));
        check::<_, f64>(&Euclidean, &graph, &pairs, number("root"));
        let models = "poincare:2,sphere:1".parse::<Models>().unwrap();
        let product = Geometry::new(models, None).unwrap().manifold();
        check::<_, f64>(&product, &graph, &pairs, number("root"));
    }

    /// Edges in both directions, and a circle: one node stays, the others are beside their parents.
    #[test]
    fn circles_of_parents_end() {
        for edges in [&[("a", "b"), ("b", "a"), ("c", "a")][..], &[("a", "b"), ("b", "c"), ("c", "a")]] {
            let graph = graph(edges);
            let before = Tensor::from_fn([3, 2], |i| 0.01 * (1 + i) as f64);
            let mut after = before.clone();
            move_to_parents(&parents_in(&graph), &Euclidean, 2, &mut after);
            let moved: Vec<usize> = (0..3).filter(|&i| after.row(i) != before.row(i)).collect();
            assert_eq!(moved.len(), 2, "{after}");
            for node in moved {
                let parent = parents_in(&graph)[node] as usize;
                for c in 0..2 {
                    let offset = after.row(node)[c] - after.row(parent)[c];
                    assert!((offset - before.row(node)[c]).abs() < 1e-15, "{node}: {after}");
                }
            }
        }
    }
}

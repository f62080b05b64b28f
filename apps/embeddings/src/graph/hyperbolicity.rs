//! How close a graph is to a tree: Gromov's δ.
//!
//! Four nodes have three sums: `d(w, x) + d(y, z)`, `d(w, y) + d(x, z)` and `d(w, z) + d(x, y)`. The two
//! largest differ by at most 2δ (Gromov 1987). Trees have δ = 0. The hyperbolic plane of curvature −1 has
//! δ = ln 2 (Nica & Špakula 2016, corollary 5.4).

use cotangent::prelude::rng;
use cotangent_apps_common::adjacency_list::{AdjacencyList, UNREACHED};
use rand::seq::index;
use rayon::prelude::*;
use serde::Serialize;

/// Gromov's δ of a graph, and what it suggests for an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hyperbolicity {
    /// Number of nodes of the largest connected component, which is measured.
    pub nodes: usize,
    /// Number of connected components.
    pub components: usize,
    /// Whether all quadruples were measured. If not, δ and the diameter are lower bounds.
    pub exact: bool,
    /// Number of quadruples of nodes that were measured.
    pub quadruples: u64,
    /// Gromov's δ: the largest of the quadruples, in edges.
    pub delta: f64,
    /// The mean over the quadruples.
    pub mean_delta: f64,
    /// The largest distance found, in edges.
    pub diameter: u32,
    /// 2δ over the diameter: 0 for a tree, at most 1.
    pub relative_delta: f64,
    /// The curvature of the hyperbolic plane with this δ if an edge has length 1: −(ln 2/δ)²; `None` for
    /// a tree, which fits any curvature.
    pub kappa: Option<f64>,
    /// The least dimension in which a tree of this degree and diameter fits into the radius of `f32`, and of
    /// `f64`: see [`least_dimension`].
    pub dimension: [usize; 2],
}

/// Components with at most this many nodes are measured exactly: half a billion quadruples.
const EXACT: usize = 340;

/// Number of nodes that quadruples are sampled from.
const SOURCES: usize = 1000;

/// Number of quadruples that a thread draws together, from one random stream.
const DRAWN_TOGETHER: u64 = 4096;

/// Finds δ of the largest connected component of the graph of `nodes` nodes with these edges, all of length
/// 1 and without directions. It is exact for at most 340 nodes; of a larger component `samples` quadruples
/// of nodes are drawn.
pub fn hyperbolicity(nodes: usize, edges: &[(u32, u32)], samples: u64, seed: u64) -> Hyperbolicity {
    let graph = AdjacencyList::undirected(nodes, edges.iter().copied());
    let (component, components) = graph.largest_component();
    let exact = component.len() <= EXACT;
    let sources: Vec<u32> = if exact {
        component.clone()
    } else {
        let mut rng = rng::stream(seed, "hyperbolicity", 0);
        index::sample(&mut rng, component.len(), SOURCES.min(component.len()))
            .into_iter()
            .map(|i| component[i])
            .collect()
    };
    let views: Vec<View> = sources.par_iter().map(|&source| View::new(&graph, &sources, source)).collect();
    let found = if exact { all_quadruples(&views) } else { drawn_quadruples(&views, samples, seed) };
    let diameter = diameter(&graph, &views);
    let delta = f64::from(found.largest) / 2.0;
    let degree = component.iter().map(|&node| graph.neighbours(node).len()).max().unwrap_or(0);
    Hyperbolicity {
        nodes: component.len(),
        components,
        exact,
        quadruples: found.count,
        delta,
        mean_delta: found.sum as f64 / 2.0 / found.count.max(1) as f64,
        diameter,
        relative_delta: 2.0 * delta / f64::from(diameter.max(1)),
        kappa: (delta > 0.0).then(|| -(std::f64::consts::LN_2 / delta).powi(2)),
        dimension: RADII.map(|radius| least_dimension(degree, diameter, radius)),
    }
}

/// What is kept of the distances from a source: not those to all nodes.
struct View {
    /// The distances to all sources.
    to_sources: Vec<u32>,
    /// The farthest node, and its distance.
    farthest: (u32, u32),
}

impl View {
    fn new(graph: &AdjacencyList, sources: &[u32], source: u32) -> Self {
        let distances = graph.distances(&[source]);
        View {
            to_sources: sources.iter().map(|&node| distances[node as usize]).collect(),
            farthest: farthest(&distances),
        }
    }
}

/// The node at the largest of some distances, and that distance. Nodes that are not reached do not count.
fn farthest(distances: &[u32]) -> (u32, u32) {
    let reached = distances.iter().enumerate().filter(|(_, distance)| **distance != UNREACHED);
    let (node, &distance) = reached.max_by_key(|(_, distance)| **distance).expect("the source is reached");
    (node as u32, distance)
}

/// The largest distance that is found: from a source, or from one of the nodes that are farthest from some
/// sources. In a tree that is the diameter.
fn diameter(graph: &AdjacencyList, views: &[View]) -> u32 {
    let swept = views.iter().take(16).map(|view| farthest(&graph.distances(&[view.farthest.0])).1);
    views.iter().map(|view| view.farthest.1).chain(swept).max().unwrap_or(0)
}

/// Twice δ of four sources: a whole number.
fn twice_delta(views: &[View], [w, x, y, z]: [usize; 4]) -> u32 {
    let distance = |a: usize, b: usize| views[a].to_sources[b];
    let mut sums =
        [distance(w, x) + distance(y, z), distance(w, y) + distance(x, z), distance(w, z) + distance(x, y)];
    sums.sort_unstable();
    sums[2] - sums[1]
}

/// All quadruples of sources.
fn all_quadruples(views: &[View]) -> Found {
    let n = views.len();
    let with_first = |w: usize| {
        let mut found = Found::default();
        for x in w + 1..n {
            for y in x + 1..n {
                (y + 1..n).for_each(|z| found.note(twice_delta(views, [w, x, y, z])));
            }
        }
        found
    };
    (0..n).into_par_iter().map(with_first).reduce(Found::default, Found::merged)
}

/// `samples` quadruples of different sources.
fn drawn_quadruples(views: &[View], samples: u64, seed: u64) -> Found {
    let in_chunk = |chunk: u64| {
        let mut rng = rng::stream(seed, "hyperbolicity", 1 + chunk);
        let mut found = Found::default();
        for _ in 0..(samples - chunk * DRAWN_TOGETHER).min(DRAWN_TOGETHER) {
            let drawn = index::sample(&mut rng, views.len(), 4);
            found.note(twice_delta(views, [0, 1, 2, 3].map(|i| drawn.index(i))));
        }
        found
    };
    let chunks = 0..samples.div_ceil(DRAWN_TOGETHER);
    chunks.into_par_iter().map(in_chunk).reduce(Found::default, Found::merged)
}

/// The radii that `f32` and `f64` reach in the ball of curvature −1: `ln(4/ε)`.
const RADII: [f64; 2] = [17.3, 37.4];

/// A rule of thumb: the least dimension d ≥ 2 in which a tree fits into a radius. The room around a point
/// grows as `exp((d − 1) r)` with the distance r. So the children of a node, up to `degree`, fit at a
/// distance of `ln(degree)/(d − 1)`. A leaf is half of the diameter away from the centre of the tree.
pub fn least_dimension(degree: usize, diameter: u32, radius: f64) -> usize {
    let edges = f64::from(diameter.div_ceil(2));
    let length = (degree.max(2) as f64).ln();
    2.max(1 + (edges * length / radius).ceil() as usize)
}

/// What is known of some quadruples.
#[derive(Clone, Copy, Default)]
struct Found {
    /// The largest 2δ.
    largest: u32,
    /// The sum of 2δ.
    sum: u64,
    count: u64,
}

impl Found {
    fn note(&mut self, twice: u32) {
        self.largest = self.largest.max(twice);
        self.sum += u64::from(twice);
        self.count += 1;
    }

    fn merged(self, other: Found) -> Found {
        Found {
            largest: self.largest.max(other.largest),
            sum: self.sum + other.sum,
            count: self.count + other.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// δ of a graph whose nodes are the numbers in its edges.
    fn measure(edges: impl IntoIterator<Item = (u32, u32)>, samples: u64) -> Hyperbolicity {
        let edges: Vec<(u32, u32)> = edges.into_iter().collect();
        let nodes = 1 + edges.iter().map(|&(u, v)| u.max(v)).max().unwrap_or(0);
        hyperbolicity(nodes as usize, &edges, samples, 3)
    }

    fn cycle(n: u32) -> impl Iterator<Item = (u32, u32)> {
        (0..n).map(move |i| (i, (i + 1) % n))
    }

    fn binary_tree(nodes: u32) -> impl Iterator<Item = (u32, u32)> {
        (1..nodes).map(|i| (i, (i - 1) / 2))
    }

    #[test]
    fn graphs_of_known_delta() {
        fn delta(edges: impl IntoIterator<Item = (u32, u32)>) -> (f64, u32) {
            let found = measure(edges, 0);
            assert!(found.exact);
            (found.delta, found.diameter)
        }
        assert_eq!(delta(binary_tree(63)), (0.0, 10));
        // A complete graph; the same without one edge.
        assert_eq!(delta((0..7).flat_map(|i| (0..i).map(move |j| (j, i)))), (0.0, 1));
        assert_eq!(delta((0..7).flat_map(|i| (0..i).map(move |j| (j, i))).skip(1)), (0.5, 2));
        // A cycle of 4k nodes has δ = k, one of 4k + 1 nodes k − ½.
        assert_eq!(delta(cycle(4)), (1.0, 2));
        assert_eq!(delta(cycle(5)), (0.5, 2));
        assert_eq!(delta(cycle(8)), (2.0, 4));
        assert_eq!(delta(cycle(9)), (1.5, 4));
        // A grid of 5 x 5 nodes.
        let right = (0..25).filter(|i| i % 5 < 4).map(|i| (i, i + 1));
        let down = (0..20).map(|i| (i, i + 5));
        assert_eq!(delta(right.chain(down)), (4.0, 8));
    }

    #[test]
    fn the_largest_component_counts() {
        let found = measure(cycle(8).chain([(8, 9)]), 0);
        assert_eq!((found.nodes, found.components, found.delta), (8, 2, 2.0));
        assert_eq!(found.quadruples, 70);
        assert_eq!(found.relative_delta, 1.0);
        assert!((found.kappa.unwrap() + (2.0_f64.ln() / 2.0).powi(2)).abs() < 1e-15);
    }

    #[test]
    fn samples_are_below_the_exact_delta_and_near_it() {
        let found = measure(cycle(400), 100_000);
        assert!(!found.exact && found.quadruples == 100_000);
        assert_eq!(found, measure(cycle(400), 100_000));
        assert!(found.delta <= 100.0 && found.delta > 95.0, "{}", found.delta);
        assert_eq!(found.diameter, 200);
        let tree = measure(binary_tree(2047), 10_000);
        assert_eq!((tree.delta, tree.kappa, tree.diameter), (0.0, None, 20));
    }

    #[test]
    fn wide_and_deep_trees_need_more_dimensions() {
        assert_eq!(least_dimension(3, 10, 17.3), 2);
        // 20 edges of length ln 1000 = 6.9 are 138 long in two dimensions.
        assert_eq!(least_dimension(1000, 40, 17.3), 9);
        assert_eq!(least_dimension(1000, 40, 37.4), 5);
    }
}

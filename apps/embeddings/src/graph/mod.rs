//! Directed graphs with named nodes.
//!
//! | module | what |
//! |---|---|
//! | [`names`] | names and their numbers |
//! | [`edges`] | edge lists: TSV, CSV or GraphML, plain or gzip |
//! | [`options`] | how they are read |
//! | [`wordnet`] | the transitive closure of WordNet's nouns or verbs, from its own files |
//! | [`hyperbolicity`] | how close a graph is to a tree |

pub mod edges;
mod graphml;
pub mod hyperbolicity;
pub mod names;
pub mod options;
pub mod wordnet;

use crate::graph::names::{Index, Names};

/// A directed graph: pairs (u, v) of named nodes, each at most once, without self-loops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Node names, in the order of first appearance.
    pub names: Names,
    /// The pairs, in the order of the input.
    pub pairs: Vec<(u32, u32)>,
    /// A positive weight for each pair; empty if all weights are the same.
    pub weights: Vec<f64>,
    /// Number of self-loops that were left out.
    pub self_loops: usize,
    /// Number of repeated pairs that were left out; the first one is kept.
    pub duplicates: usize,
}

/// The pairs of a graph whose nodes are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs<'a> {
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// The pairs.
    pub(crate) pairs: &'a [(u32, u32)],
    /// A weight for each pair; empty if all weights are the same.
    pub(crate) weights: &'a [f64],
}

impl<'a> From<&'a Graph> for Pairs<'a> {
    fn from(graph: &'a Graph) -> Self {
        Pairs { nodes: graph.names.len(), pairs: &graph.pairs, weights: &graph.weights }
    }
}

impl Pairs<'_> {
    /// For each node u the nodes v of its pairs (u, v), in ascending order.
    pub(crate) fn neighbours(&self) -> Neighbours {
        Neighbours::new(self.nodes, || self.pairs.iter().copied())
    }

    /// For each node v the nodes u of its pairs (u, v), in ascending order.
    pub(crate) fn inverse_neighbours(&self) -> Neighbours {
        Neighbours::new(self.nodes, || self.pairs.iter().map(|&(u, v)| (v, u)))
    }

    /// For each node the number of pairs that it is in.
    pub(crate) fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.nodes];
        for &(u, v) in self.pairs {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        degrees
    }
}

/// Collects pairs into a [`Graph`].
#[derive(Default)]
pub struct Builder {
    /// Until it is finished, a pair may be in it several times.
    graph: Graph,
    index: Index,
}

impl Builder {
    /// Adds a pair. If any pair has a weight, pairs without one get the weight 1.
    pub fn add(&mut self, u: &str, v: &str, weight: Option<f64>) {
        let Builder { graph, index } = self;
        let pair = [u, v].map(|name| index.find_or_add(&mut graph.names, name));
        if pair[0] == pair[1] {
            graph.self_loops += 1;
            return;
        }
        graph.pairs.push(pair.into());
        if let Some(weight) = weight {
            graph.weights.resize(graph.pairs.len() - 1, 1.0);
            graph.weights.push(weight);
        } else if !graph.weights.is_empty() {
            graph.weights.push(1.0);
        }
    }

    /// The graph.
    pub fn finish(self) -> Graph {
        let Builder { mut graph, index } = self;
        drop(index);
        graph.remove_duplicates();
        graph.names.shrink_to_fit();
        graph.pairs.shrink_to_fit();
        graph
    }
}

impl Graph {
    /// Leaves out repeated pairs and counts them. Sorting a copy takes less memory than a set of all pairs.
    pub(crate) fn remove_duplicates(&mut self) {
        let mut sorted = self.pairs.clone();
        sorted.sort_unstable();
        let mut repeated: Vec<(u32, u32)> =
            sorted.windows(2).filter(|pairs| pairs[0] == pairs[1]).map(|pairs| pairs[0]).collect();
        drop(sorted);
        repeated.dedup();
        if repeated.is_empty() {
            return;
        }
        let mut seen = vec![false; repeated.len()];
        let mut is_first = |pair: &(u32, u32)| match repeated.binary_search(pair) {
            Ok(i) => !std::mem::replace(&mut seen[i], true),
            Err(_) => true,
        };
        let kept: Vec<bool> = self.pairs.iter().map(&mut is_first).collect();
        let before = self.pairs.len();
        let mut keep = kept.iter();
        self.pairs.retain(|_| *keep.next().expect("one for each pair"));
        let mut keep = kept.iter();
        self.weights.retain(|_| *keep.next().expect("one for each pair"));
        self.duplicates += before - self.pairs.len();
    }

    /// For each node u the nodes v of its pairs (u, v), in ascending order.
    pub fn neighbours(&self) -> Neighbours {
        Pairs::from(self).neighbours()
    }

    /// For each node v the nodes u of its pairs (u, v), in ascending order.
    pub fn inverse_neighbours(&self) -> Neighbours {
        Pairs::from(self).inverse_neighbours()
    }

    /// For each node the number of pairs that it is in.
    pub fn degrees(&self) -> Vec<u32> {
        Pairs::from(self).degrees()
    }

    /// The transitive closure: every pair (u, v) with a path from u to v, in ascending order and without
    /// weights. On a cycle, the pair of a node with itself is left out.
    pub fn closure(&self) -> Graph {
        let neighbours = self.neighbours();
        let mut pairs = Vec::new();
        // For each node, the last start of a path that has reached it.
        let mut reached_from = vec![None; self.names.len()];
        for u in 0..self.names.len() as u32 {
            let first = pairs.len();
            let mut open = vec![u];
            reached_from[u as usize] = Some(u);
            while let Some(w) = open.pop() {
                for &v in neighbours.of(w) {
                    if reached_from[v as usize].replace(u) != Some(u) {
                        open.push(v);
                        pairs.push((u, v));
                    }
                }
            }
            pairs[first..].sort_unstable();
        }
        Graph { pairs, weights: Vec::new(), ..self.clone() }
    }

    /// This graph and the nodes and pairs of another that it lacks, without weights. Its own nodes keep their
    /// numbers.
    pub fn union(&self, other: &Graph) -> Graph {
        let mut names = self.names.clone();
        let mut index = Index::new(&names).expect("nodes have different names");
        let ids_of_other: Vec<u32> =
            other.names.iter().map(|name| index.find_or_add(&mut names, name)).collect();
        let others = other.pairs.iter().map(|&(u, v)| (ids_of_other[u as usize], ids_of_other[v as usize]));
        let pairs = self.pairs.iter().copied().chain(others).collect();
        let mut union = Graph { names, pairs, ..Graph::default() };
        union.remove_duplicates();
        Graph { duplicates: 0, ..union }
    }

    /// A checksum of names, pairs and weights.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for name in self.names.iter() {
            hasher.update(name.as_bytes());
            hasher.update(&[0]);
        }
        for (u, v) in &self.pairs {
            hasher.update(&u.to_le_bytes());
            hasher.update(&v.to_le_bytes());
        }
        for weight in &self.weights {
            hasher.update(&weight.to_le_bytes());
        }
        hasher.finalize()
    }
}

/// The neighbours of all nodes.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The neighbours of node u are `targets[starts[u]..starts[u + 1]]`.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Neighbours {
    /// The neighbours v of the pairs (u, v) of this number of nodes.
    pub fn new<I: Iterator<Item = (u32, u32)>>(nodes: usize, pairs: impl Fn() -> I) -> Self {
        let mut starts = vec![0; nodes + 1];
        pairs().for_each(|(u, _)| starts[u as usize + 1] += 1);
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes]];
        for (u, v) in pairs() {
            targets[next[u as usize]] = v;
            next[u as usize] += 1;
        }
        for w in starts.windows(2) {
            targets[w[0]..w[1]].sort_unstable();
        }
        Neighbours { starts, targets }
    }

    /// The pairs between some nodes, given in ascending order. Nodes are then numbered by their place among
    /// these.
    pub fn among(&self, nodes: &[u32]) -> Self {
        let (mut starts, mut targets) = (vec![0], Vec::new());
        for &u in nodes {
            let places = self.of(u).iter().filter_map(|v| nodes.binary_search(v).ok());
            targets.extend(places.map(|place| place as u32));
            starts.push(targets.len());
        }
        Neighbours { starts, targets }
    }

    /// The neighbours of node `u`, in ascending order.
    pub fn of(&self, u: u32) -> &[u32] {
        &self.targets[self.places(u)]
    }

    /// The places of these neighbours among those of all nodes.
    pub(crate) fn places(&self, u: u32) -> std::ops::Range<usize> {
        self.starts[u as usize]..self.starts[u as usize + 1]
    }

    /// Whether (u, v) is a pair.
    pub fn contains(&self, u: u32, v: u32) -> bool {
        self.of(u).binary_search(&v).is_ok()
    }

    /// The pairs (u, v) for which there is no path u → w → v. For a transitively closed graph this is its
    /// transitive reduction.
    pub fn reduction(&self) -> Vec<(u32, u32)> {
        let nodes = 0..self.starts.len() as u32 - 1;
        let explained = |u, v| self.of(u).iter().any(|&w| w != v && self.contains(w, v));
        nodes
            .flat_map(|u| self.of(u).iter().filter(move |&&v| !explained(u, v)).map(move |&v| (u, v)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closure_has_a_pair_for_each_path() {
        let graph = |pairs: &[(&str, &str)]| {
            let mut builder = Builder::default();
            pairs.iter().for_each(|(u, v)| builder.add(u, v, None));
            builder.finish()
        };
        // a below b below c, and d below b.
        let tree = graph(&[("a", "b"), ("b", "c"), ("d", "b")]);
        let closed = tree.closure();
        assert_eq!(closed.pairs, [(0, 1), (0, 2), (1, 2), (3, 1), (3, 2)]);
        assert_eq!((&closed.names, closed.closure()), (&tree.names, closed.clone()));
        assert_eq!(closed.neighbours().reduction(), [(0, 1), (1, 2), (3, 1)]);
        let cycle = graph(&[("a", "b"), ("b", "c"), ("c", "a")]);
        assert_eq!(cycle.closure().pairs, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
    }

    /// The first one is kept, with its weight, in the order of the input.
    #[test]
    fn duplicates_are_those_that_a_set_finds() {
        let mut rng = cotangent::prelude::rng::stream(1, 1, 0);
        let mut drawn = || rand::RngExt::random_range(&mut rng, 0..12_u32);
        let mut builder = Builder::default();
        let (mut seen, mut pairs, mut weights) = (std::collections::HashSet::new(), Vec::new(), Vec::new());
        for i in 0..200 {
            let (u, v) = (drawn(), drawn());
            let weight = f64::from(i + 1);
            builder.add(&u.to_string(), &v.to_string(), Some(weight));
            if u != v && seen.insert((u, v)) {
                pairs.push((u, v));
                weights.push(weight);
            }
        }
        let graph = builder.finish();
        let name = |u: u32| graph.names[u as usize].parse::<u32>().unwrap();
        assert_eq!(graph.pairs.iter().map(|&(u, v)| (name(u), name(v))).collect::<Vec<_>>(), pairs);
        assert_eq!(graph.weights, weights);
        assert_eq!(graph.self_loops + graph.duplicates + pairs.len(), 200);
        assert!(graph.duplicates > 30 && graph.self_loops > 5);
    }

    #[test]
    fn a_union_keeps_the_numbers_of_its_first_graph() {
        let graph = |pairs: &[(&str, &str)]| {
            let mut builder = Builder::default();
            pairs.iter().for_each(|(u, v)| builder.add(u, v, Some(2.0)));
            builder.finish()
        };
        let union = graph(&[("c", "b"), ("b", "a")]).union(&graph(&[("d", "b"), ("c", "b"), ("c", "a")]));
        assert_eq!(union.names, ["c", "b", "a", "d"]);
        assert_eq!(union.pairs, [(0, 1), (1, 2), (3, 1), (0, 2)]);
        assert!(union.weights.is_empty());
    }

    #[test]
    fn self_loops_and_duplicates_are_counted() {
        let mut b = Builder::default();
        for (u, v) in [("a", "b"), ("b", "b"), ("a", "b"), ("b", "c"), ("a", "c")] {
            b.add(u, v, None);
        }
        b.add("c", "d", Some(2.0));
        let g = b.finish();
        assert_eq!((g.self_loops, g.duplicates), (1, 1));
        assert_eq!(g.names, ["a", "b", "c", "d"]);
        assert_eq!(g.pairs, [(0, 1), (1, 2), (0, 2), (2, 3)]);
        assert_eq!(g.weights, [1.0, 1.0, 1.0, 2.0]);
        let n = g.neighbours();
        assert_eq!(n.of(0), [1, 2]);
        assert!(n.contains(1, 2) && !n.contains(2, 1));
        assert_eq!(n.reduction(), [(0, 1), (1, 2), (2, 3)]);
        // Without "b" the edge from "a" to "c" is a direct one.
        assert_eq!(n.among(&[0, 2, 3]).reduction(), [(0, 1), (1, 2)]);
    }
}

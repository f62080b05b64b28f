//! The order of pairs and their negative samples.

use std::borrow::Cow;

use cotangent::prelude::{Float, rng};
use cotangent_apps_common::error::{AppError, Result};
use rand::RngExt;
use rand::distr::Distribution;
use rand::seq::SliceRandom;
use rand_distr::weighted::WeightedAliasIndex;
use rayon::prelude::*;

use crate::graph::{Neighbours, Pairs};

/// Numbers of negative samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Negatives {
    /// Each pair has its own, this many.
    Own(usize),
    /// The pairs of a batch share this many.
    Shared(usize),
}

/// Draws the pairs of an epoch and their negative samples.
pub(crate) struct Sampler<'a> {
    pub(crate) graph: Pairs<'a>,
    pub(crate) neighbours: Neighbours,
    seed: u64,
    negatives: Negatives,
    /// Number of nodes that can be negative samples: the first ones of the graph.
    drawable: u32,
    /// Draws a node by its degree; `None` draws all nodes alike.
    by_degree: Option<WeightedAliasIndex<f64>>,
    /// Draws a pair by its weight; `None` takes each pair once an epoch.
    by_weight: Option<WeightedAliasIndex<f64>>,
    /// For each node v the nodes u of its pairs (u, v), if negative samples take the place of both ends.
    below: Option<Neighbours>,
    /// The weight of each neighbour, in the order of `neighbours`, if those of a smaller weight than a
    /// pair's are negative samples too.
    similarities: Option<Vec<f64>>,
}

/// How often a node is drawn again because it is a neighbour, before the allowed nodes are searched.
const TRIES: usize = 1000;

impl<'a> Sampler<'a> {
    /// A node is drawn as a negative sample with a probability proportional to its degree to the `power`.
    pub(crate) fn new(graph: impl Into<Pairs<'a>>, seed: u64, negatives: Negatives, power: f64) -> Self {
        let graph = graph.into();
        let by_degree = (power != 0.0).then(|| by_degree(&graph.degrees(), power));
        let (neighbours, drawable) = (graph.neighbours(), graph.nodes as u32);
        let (by_weight, below, similarities) = (None, None, None);
        Sampler { graph, neighbours, seed, negatives, drawable, by_degree, by_weight, below, similarities }
    }

    /// The pairs are some of those of a larger graph. Its `known` pairs of these nodes are no negative
    /// samples either; `degrees` are those in the larger graph, if nodes are drawn by them to this `power`.
    pub(crate) fn within_larger(mut self, known: &[(u32, u32)], degrees: &[u32], power: f64) -> Self {
        let pairs = || self.graph.pairs.iter().chain(known).copied();
        self.neighbours = Neighbours::new(self.graph.nodes, pairs);
        if self.below.is_some() {
            self.below = Some(Neighbours::new(self.graph.nodes, || pairs().map(|(u, v)| (v, u))));
        }
        self.by_degree = (power != 0.0).then(|| by_degree(degrees, power));
        self
    }

    /// Draws negative samples from the first `count` nodes only.
    pub(crate) fn among_first(self, count: u32) -> Self {
        Sampler { drawable: count, ..self }
    }

    /// Draws pairs by their weights: an epoch has as many draws as there are pairs.
    ///
    /// # Errors
    /// If the sum of the weights is too large.
    pub(crate) fn by_weight(mut self) -> Result<Self> {
        if !self.graph.weights.is_empty() {
            let table = WeightedAliasIndex::new(self.graph.weights.to_vec());
            let message = || AppError::usage("--sample-by-weight: the sum of the weights is too large");
            self.by_weight = Some(table.map_err(|_| message())?);
        }
        Ok(self)
    }

    /// Takes weights for similarities: of a pair (u, v) the neighbours of u with a smaller weight can be
    /// negative samples too, and its weight does not multiply its loss. Nickel & Kiela 2018, section 3.1.
    pub(crate) fn ranked_by_weight(mut self) -> Self {
        let mut similarities = vec![0.0; self.graph.pairs.len()];
        for (&(u, v), &weight) in self.graph.pairs.iter().zip(self.graph.weights) {
            let place = self.neighbours.of(u).binary_search(&v).expect("it is of the same pairs");
            similarities[self.neighbours.places(u).start + place] = weight;
        }
        self.similarities = Some(similarities);
        self
    }

    /// The neighbours of a pair's first node that cannot be its negative samples, in ascending order.
    fn near(&self, pair: u32) -> Cow<'_, [u32]> {
        let u = self.graph.pairs[pair as usize].0;
        let all = self.neighbours.of(u);
        let Some(similarities) = &self.similarities else { return Cow::Borrowed(all) };
        let least = self.graph.weights[pair as usize];
        let each = all.iter().zip(&similarities[self.neighbours.places(u)]);
        Cow::Owned(each.filter(|(_, similarity)| **similarity >= least).map(|(w, _)| *w).collect())
    }

    /// Lets negative samples take the place of both ends of a pair (u, v): those at odd positions are in
    /// place of v, those at even positions in place of u.
    pub(crate) fn for_both_ends(mut self) -> Self {
        self.below = Some(self.graph.inverse_neighbours());
        self
    }

    /// Whether the candidate at this position is in place of a pair's first node.
    pub(crate) fn replaces_first(&self, position: usize) -> bool {
        self.below.is_some() && position > 0 && position.is_multiple_of(2)
    }

    /// The factor of a pair's loss, rounded to the type of the coordinates.
    pub(crate) fn factor<T: Float>(&self, pair: u32) -> f64 {
        match self.graph.weights.get(pair as usize) {
            Some(&weight) if self.by_weight.is_none() && self.similarities.is_none() => {
                T::nearest(weight).to_f64()
            }
            _ => 1.0,
        }
    }

    /// Number of candidates of a pair: its own second node and its own negative samples.
    pub(crate) fn candidates(&self) -> usize {
        match self.negatives {
            Negatives::Own(count) => 1 + count,
            Negatives::Shared(_) => 1,
        }
    }

    /// Number of nodes that are drawn for a batch of so many pairs.
    pub(crate) fn drawn(&self, pairs: usize) -> usize {
        match self.negatives {
            Negatives::Own(_) => pairs * self.candidates(),
            Negatives::Shared(count) => count,
        }
    }

    /// The pairs of an epoch in random order.
    pub(crate) fn order(&self, epoch: u64) -> Vec<u32> {
        let mut rng = rng::stream(self.seed, "order", epoch);
        let pairs = 0..self.graph.pairs.len() as u32;
        if let Some(by_weight) = &self.by_weight {
            return pairs.map(|_| by_weight.sample(&mut rng) as u32).collect();
        }
        let mut order: Vec<u32> = pairs.collect();
        order.shuffle(&mut rng);
        order
    }

    /// Draws for several batches of an epoch, of which the first has this number: see
    /// [`draw_batch`](Self::draw_batch). `pairs` are those of all of them.
    pub(crate) fn draw_batches(
        &self,
        epoch: u64,
        batch: usize,
        first: usize,
        pairs: &[u32],
        drawn: &mut Vec<u32>,
    ) {
        let last = pairs.len().div_ceil(batch) - 1;
        drawn.resize(last * self.drawn(batch) + self.drawn(pairs.len() - last * batch), 0);
        let jobs = drawn.par_chunks_mut(self.drawn(batch)).zip(pairs.par_chunks(batch));
        jobs.enumerate().for_each(|(i, (drawn, pairs))| {
            self.draw_batch(epoch, batch, first + i, pairs, drawn);
        });
    }

    /// Draws for one of an epoch's batches of `batch` pairs, which has a random stream of its own. With own
    /// negative samples: for each pair (u, v) it has v, then those of u. With shared ones: these; some may be
    /// neighbours of a pair's first node, or that node itself.
    pub(crate) fn draw_batch(
        &self,
        epoch: u64,
        batch: usize,
        number: usize,
        pairs: &[u32],
        drawn: &mut [u32],
    ) {
        let number = epoch * self.graph.pairs.len().div_ceil(batch) as u64 + number as u64;
        if let Negatives::Own(_) = self.negatives {
            let mut rng = rng::stream(self.seed, "negatives", number);
            for (candidates, &pair) in drawn.chunks_exact_mut(self.candidates()).zip(pairs) {
                self.draw(pair, &mut rng, candidates);
            }
            return;
        }
        let mut rng = rng::stream(self.seed, "shared negatives", number + 1);
        let nodes = self.graph.nodes as u32;
        drawn.fill_with(|| match &self.by_degree {
            Some(by_degree) => by_degree.sample(&mut rng) as u32,
            None => rng.random_range(0..nodes),
        });
    }

    /// Fills the candidates of a pair (u, v): v, then negative samples of u. These are drawn from all nodes
    /// (or the first ones: [`among_first`](Self::among_first)) except u and its neighbours, of these
    /// perhaps only the [nearest](Self::ranked_by_weight). If there are none, all are v; its gradients then
    /// cancel.
    pub(crate) fn draw(&self, pair: u32, rng: &mut rng::Rng, candidates: &mut [u32]) {
        let ((u, v), near) = (self.graph.pairs[pair as usize], self.near(pair));
        candidates[0] = v;
        for (position, negative) in candidates.iter_mut().enumerate().skip(1) {
            let drawn = match &self.below {
                Some(below) if self.replaces_first(position) => self.negative(v, below.of(v), rng),
                _ => self.negative(u, &near, rng),
            };
            *negative = drawn.unwrap_or(v);
        }
    }

    /// Draws a node that is neither `node` nor one of `near`. `None` if there is no other.
    fn negative(&self, node: u32, near: &[u32], rng: &mut rng::Rng) -> Option<u32> {
        let n = self.drawable;
        let excluded = near.partition_point(|&w| w < n) + usize::from(node < n);
        let free = n as usize - excluded;
        let allowed = |w: &u32| *w < n && *w != node && near.binary_search(w).is_err();
        Some(match &self.by_degree {
            _ if free == 0 => return None,
            Some(by_degree) => {
                let mut draws = (0..TRIES).map(|_| by_degree.sample(rng) as u32);
                let drawn = draws.find(allowed);
                drawn.unwrap_or_else(|| nth_allowed(node, near, rng.random_range(0..free as u32)))
            }
            None if 2 * free >= n as usize => loop {
                let w = rng.random_range(0..n);
                if allowed(&w) {
                    break w;
                }
            },
            None => nth_allowed(node, near, rng.random_range(0..free as u32)),
        })
    }
}

/// Draws a node with a probability proportional to its degree to the `power`.
fn by_degree(degrees: &[u32], power: f64) -> WeightedAliasIndex<f64> {
    let weights = degrees.iter().map(|&degree| f64::from(degree).powf(power)).collect();
    WeightedAliasIndex::new(weights).expect("a node has an edge")
}

/// The node of this number among those that are neither `node` nor one of `near`, which are in ascending
/// order.
fn nth_allowed(node: u32, near: &[u32], number: u32) -> u32 {
    let at = near.partition_point(|&x| x < node);
    let excluded = near[..at].iter().chain([&node]).chain(&near[at..]);
    // Every excluded node up to here moves the result on by one.
    excluded.fold(number, |w, &x| if x <= w { w + 1 } else { w })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Builder, Graph};

    /// A star: every other node is a child of "0", and "1" has a child of its own.
    fn star(nodes: usize) -> Graph {
        let mut builder = Builder::default();
        (1..nodes).for_each(|node| builder.add(&node.to_string(), "0", None));
        builder.add("child", "1", None);
        builder.finish()
    }

    #[test]
    fn negatives_are_neither_the_node_nor_its_neighbours() {
        let graph = star(10);
        for power in [0.0, 0.75] {
            let sampler = Sampler::new(&graph, 1, Negatives::Own(200), power);
            let mut candidates = vec![0; sampler.candidates()];
            for pair in 0..graph.pairs.len() as u32 {
                let (u, v) = graph.pairs[pair as usize];
                sampler.draw_batch(0, 10, 0, &[pair], &mut candidates);
                assert_eq!(candidates[0], v);
                let wrong = |&&w: &&u32| w == u || graph.neighbours().contains(u, w);
                assert_eq!(candidates[1..].iter().find(wrong), None, "power {power}, pair {pair}");
            }
        }
    }

    /// The pairs' own nodes may be any; no negative is beyond the first nodes, and each of these that is no
    /// neighbour is drawn.
    #[test]
    fn negatives_are_drawn_among_the_first_nodes() {
        let graph = star(10);
        // Among the first three nodes they are searched for, among the first eight drawn until one is
        // allowed.
        for (power, count) in [(0.0, 3), (0.0, 8), (0.75, 3)] {
            let sampler = Sampler::new(&graph, 1, Negatives::Own(200), power).among_first(count);
            let mut candidates = vec![0; sampler.candidates()];
            for pair in 0..graph.pairs.len() as u32 {
                let (u, v) = graph.pairs[pair as usize];
                sampler.draw_batch(0, 10, 0, &[pair], &mut candidates);
                assert_eq!(candidates[0], v);
                let mut drawn = candidates[1..].to_vec();
                drawn.sort_unstable();
                drawn.dedup();
                let allowed = (0..count).filter(|&w| w != u && !graph.neighbours().contains(u, w));
                assert_eq!(drawn, allowed.collect::<Vec<u32>>(), "power {power}, pair {pair}");
            }
        }
    }

    /// They are those that the larger graph allows, although only one of its pairs is trained.
    #[test]
    fn known_pairs_of_a_larger_graph_are_no_negatives() {
        let graph = star(10);
        for (power, both_ends) in [(0.0, false), (0.75, false), (0.0, true)] {
            let pair = graph.pairs[9];
            let part = Pairs { nodes: graph.names.len(), pairs: &[pair], weights: &[] };
            let mut sampler = Sampler::new(part, 1, Negatives::Own(400), 0.0);
            if both_ends {
                sampler = sampler.for_both_ends();
            }
            let sampler = sampler.within_larger(&graph.pairs[..9], &graph.degrees(), power);
            let mut candidates = vec![0; sampler.candidates()];
            sampler.draw_batch(0, 10, 0, &[0], &mut candidates);
            let (u, v) = pair;
            for (position, &w) in candidates.iter().enumerate().skip(1) {
                let (first, second) = if sampler.replaces_first(position) { (w, v) } else { (u, w) };
                assert!(first != second && !graph.neighbours().contains(first, second), "{power} {position}");
            }
            let whole = Sampler::new(&graph, 1, Negatives::Own(1), power);
            assert_eq!(sampler.neighbours.of(u), whole.neighbours.of(u));
            assert_eq!(sampler.by_degree.is_some(), power != 0.0);
        }
    }

    /// With weights as similarities, of a pair's neighbours the less similar ones are drawn, and no others.
    #[test]
    fn less_similar_neighbours_are_negatives() {
        let mut builder = Builder::default();
        for (name, weight) in [("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 2.0)] {
            builder.add("hub", name, Some(weight));
        }
        builder.add("a", "b", Some(5.0));
        let graph = builder.finish();
        let number = |name: &str| graph.names.iter().position(|other| other == name).unwrap() as u32;
        for power in [0.0, 0.75] {
            let sampler = Sampler::new(&graph, 1, Negatives::Own(200), power).ranked_by_weight();
            let mut candidates = vec![0; sampler.candidates()];
            for (pair, allowed) in [(0, &["b", "c", "d"][..]), (1, &[]), (2, &["b"]), (3, &["b"])] {
                sampler.draw_batch(0, 10, 0, &[pair], &mut candidates);
                let mut drawn = candidates[1..].to_vec();
                drawn.sort_unstable();
                drawn.dedup();
                // Without other nodes all are the pair's own.
                let mut allowed: Vec<u32> = allowed.iter().map(|name| number(name)).collect();
                if allowed.is_empty() {
                    allowed.push(graph.pairs[pair as usize].1);
                }
                allowed.sort_unstable();
                assert_eq!(drawn, allowed, "power {power}, pair {pair}");
                assert_eq!(sampler.factor::<f64>(pair), 1.0);
            }
        }
        assert_eq!(Sampler::new(&graph, 1, Negatives::Own(1), 0.0).factor::<f64>(0), 3.0);
    }

    #[test]
    fn negatives_follow_the_power_of_the_degree() {
        let graph = star(5);
        // The pair (child, 1). Node "0" has degree 4, the nodes "2", "3" and "4" have degree 1.
        let pair = graph.pairs.len() as u32 - 1;
        let zero = graph.names.iter().position(|name| name == "0").unwrap() as u32;
        let share = |power: f64| {
            let sampler = Sampler::new(&graph, 7, Negatives::Own(40_000), power);
            let mut candidates = vec![0; sampler.candidates()];
            sampler.draw_batch(0, 10, 0, &[pair], &mut candidates);
            candidates[1..].iter().filter(|&&w| w == zero).count() as f64 / 40_000.0
        };
        for (power, expected) in [(0.0, 0.25), (0.5, 2.0 / 5.0), (1.0, 4.0 / 7.0)] {
            // Four standard deviations.
            assert!((share(power) - expected).abs() < 0.01, "power {power}: {}", share(power));
        }
    }

    #[test]
    fn negatives_of_both_ends_are_pairs_that_the_graph_does_not_have() {
        let graph = star(10);
        let sampler = Sampler::new(&graph, 1, Negatives::Own(200), 0.0).for_both_ends();
        let mut candidates = vec![0; sampler.candidates()];
        for pair in 0..graph.pairs.len() as u32 {
            let (u, v) = graph.pairs[pair as usize];
            sampler.draw_batch(0, 10, 0, &[pair], &mut candidates);
            for (position, &w) in candidates.iter().enumerate().skip(1) {
                let (first, second) = if sampler.replaces_first(position) { (w, v) } else { (u, w) };
                assert!(!graph.neighbours().contains(first, second), "pair {pair}, position {position}");
                assert!(w != if sampler.replaces_first(position) { v } else { u });
            }
        }
    }

    #[test]
    fn pairs_are_drawn_by_their_weights() {
        let mut builder = Builder::default();
        builder.add("a", "b", Some(1.0));
        (0..999).for_each(|i| builder.add(&i.to_string(), "b", Some(0.001)));
        let graph = builder.finish();
        let sampler = Sampler::new(&graph, 1, Negatives::Own(1), 0.0).by_weight().unwrap();
        let drawn = sampler.order(0).iter().filter(|&&pair| pair == 0).count();
        // Half of 1000 draws; four standard deviations.
        assert!(drawn.abs_diff(500) < 64, "{drawn}");
        assert_eq!((sampler.factor::<f64>(0), sampler.factor::<f64>(5)), (1.0, 1.0));
        assert_eq!(Sampler::new(&graph, 1, Negatives::Own(1), 0.0).factor::<f64>(5), 0.001);
    }
}

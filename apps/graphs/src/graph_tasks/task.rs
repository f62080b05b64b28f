//! The questions about two nodes, the lessons of a curriculum, and the examples: a new graph each, with the
//! pairs that are asked for and the answers. Gulcehre et al. 2019, section 5.1 and appendix A.3.

use std::fmt;

use clap::ValueEnum;
use cotangent::prelude::rng::{self, Rng};
use cotangent_apps_common::adjacency_list::UNREACHED;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{config, memory};
use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::disc::{Disc, DiscGraph};

#[cfg(test)]
mod tests;

/// Number of classes of path lengths. Longer paths are in the last class.
const LENGTHS: usize = 25;

/// Number of graphs that are drawn until one has pairs to ask for.
const ATTEMPTS: u64 = 100;

/// What is asked about two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Whether an edge joins two nodes drawn at random. The edge stays in the graph.
    Link,
    /// Whether an edge joined two nodes, where edges that are asked for are taken out of the graph; half of
    /// the pairs had one.
    LinkRemoved,
    /// The length of the shortest path between two nodes, from 1 to 25 or more.
    Path,
}

/// A part of the disc: how the curriculum makes examples smaller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The angle in degrees up to which nodes are taken. With 360 the whole graph is the example. With less
    /// it is the largest connected component of the slice.
    pub angle: f64,
    /// Number of nodes of the whole graph.
    pub nodes: usize,
}

/// A graph, pairs of its nodes, and the class of each pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The graph.
    pub graph: DiscGraph,
    /// The pairs that are asked for; the nodes of a pair differ.
    pub pairs: Vec<[u32; 2]>,
    /// The class of each pair: 1 for an edge and 0 for none; for paths their length less 1.
    pub labels: Vec<usize>,
}

/// As `30:400`: angle and nodes.
impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.angle, self.nodes)
    }
}

impl Lesson {
    /// The disc of this lesson.
    ///
    /// # Errors
    /// If the angle is not from above 0 to 360, or the disc has no graph of so many nodes.
    pub fn disc(&self, disc: &Disc) -> Result<Disc> {
        if !(self.angle > 0.0 && self.angle <= 360.0) {
            let message = format!("lesson {self}: an angle above 0, of at most 360, is needed");
            return Err(AppError::usage(message));
        }
        let disc = Disc { nodes: self.nodes, ..*disc };
        let refused = |error: AppError| AppError::usage(format!("lesson {self}: {error}"));
        disc.validate().map_err(refused)?;
        Ok(disc)
    }

    /// The part of a graph that this lesson shows.
    pub fn cut(&self, graph: DiscGraph) -> DiscGraph {
        if self.angle >= 360.0 {
            return graph;
        }
        let end = graph.angles().partition_point(|angle| *angle < self.angle.to_radians());
        let slice = graph.subgraph(&(0..end as u32).collect::<Vec<u32>>());
        let (mut component, _) = slice.adjacency().largest_component();
        component.sort_unstable();
        slice.subgraph(&component)
    }
}

impl Task {
    /// Number of classes.
    pub fn classes(self) -> usize {
        match self {
            Task::Link | Task::LinkRemoved => 2,
            Task::Path => LENGTHS,
        }
    }

    /// The example of a number. It depends on the arguments alone, not on the thread.
    ///
    /// - Link: pairs of distinct nodes, drawn uniformly.
    /// - Link removed: every other pair is an edge. At most half of the edges are taken out; in a graph of
    ///   few edges the same ones are asked for several times.
    /// - Path: for `training` the lengths that occur in the graph are equally likely, and so are the pairs of
    ///   one length: the distribution that rejection sampling has. Otherwise all pairs of distinct nodes
    ///   with a path between them are equally likely. Lengths above 25 count as 25.
    ///
    /// A graph without such pairs, as a slice of a few nodes can be, is skipped for another one of the same
    /// number.
    ///
    /// # Errors
    /// If the disc or the lesson is impossible, or none of 100 graphs has such pairs.
    pub fn example(
        self,
        disc: &Disc,
        lesson: &Lesson,
        pairs: usize,
        training: bool,
        seed: u64,
        number: u64,
    ) -> Result<Example> {
        let disc = lesson.disc(disc)?;
        if self == Task::Path {
            let bytes = memory::bytes::<[u32; 2]>(&[disc.nodes, disc.nodes]) / 2.0;
            memory::check(&[("nodes", disc.nodes)], "the pairs of nodes with a path between them", bytes)?;
        }
        for attempt in 0..ATTEMPTS {
            let number = number ^ (attempt << 48);
            let graph = lesson.cut(disc.generate(seed, number));
            let mut rng = rng::stream(seed, "pairs", number);
            let asked = match self {
                Task::Link => ask_links(graph, pairs, &mut rng),
                Task::LinkRemoved => ask_removed_links(graph, pairs, &mut rng),
                Task::Path => ask_paths(graph, pairs, training, &mut rng),
            };
            if let Some(example) = asked {
                return Ok(example);
            }
        }
        let needed = match self {
            Task::Link => "two nodes",
            Task::LinkRemoved => "an edge and a pair without one",
            Task::Path => "a path",
        };
        Err(AppError::usage(format!(
            "--task {}: none of {ATTEMPTS} graphs of lesson {lesson} has {needed}; more --nodes or a larger \
             --factor may help",
            config::name(self)
        )))
    }
}

/// Two distinct nodes, all equally likely.
fn draw_pair(nodes: usize, rng: &mut Rng) -> [u32; 2] {
    let u = rng.random_range(0..nodes as u32);
    let v = rng.random_range(0..nodes as u32 - 1);
    [u, v + u32::from(v >= u)]
}

/// The pair in one of both orders.
fn in_any_order([u, v]: [u32; 2], rng: &mut Rng) -> [u32; 2] {
    if rng.random() { [u, v] } else { [v, u] }
}

fn has_edge(graph: &DiscGraph, [u, v]: [u32; 2]) -> bool {
    graph.neighbours(u as usize).binary_search(&v).is_ok()
}

fn ask_links(graph: DiscGraph, count: usize, rng: &mut Rng) -> Option<Example> {
    if graph.nodes() < 2 {
        return None;
    }
    let pairs: Vec<[u32; 2]> = (0..count).map(|_| draw_pair(graph.nodes(), rng)).collect();
    let labels = pairs.iter().map(|&pair| usize::from(has_edge(&graph, pair))).collect();
    Some(Example { graph, pairs, labels })
}

fn ask_removed_links(graph: DiscGraph, count: usize, rng: &mut Rng) -> Option<Example> {
    let (nodes, edges) = (graph.nodes(), graph.edges());
    if edges == 0 || edges == nodes * (nodes - 1) / 2 {
        return None;
    }
    let amount = count.div_ceil(2).min(edges.div_ceil(2));
    let all: Vec<(u32, u32)> = graph.pairs().collect();
    let drawn: Vec<(u32, u32)> = index::sample(rng, edges, amount).into_iter().map(|i| all[i]).collect();
    let draw = |i: usize| {
        if i.is_multiple_of(2) {
            let (u, v) = drawn[i / 2 % amount];
            return in_any_order([u, v], rng);
        }
        loop {
            let pair = draw_pair(nodes, rng);
            if !has_edge(&graph, pair) {
                return pair;
            }
        }
    };
    let pairs = (0..count).map(draw).collect();
    let labels = (0..count).map(|i| 1 - i % 2).collect();
    let mut removed = drawn;
    removed.sort_unstable();
    Some(Example { graph: graph.without(&removed), pairs, labels })
}

fn ask_paths(graph: DiscGraph, count: usize, training: bool, rng: &mut Rng) -> Option<Example> {
    let by_length = pairs_by_length(&graph);
    let weight = |pairs: &Vec<_>| if training { u64::from(!pairs.is_empty()) } else { pairs.len() as u64 };
    // An error if all weights are 0.
    let classes = WeightedIndex::new(by_length.iter().map(weight)).ok()?;
    let draw = |_| {
        let class = classes.sample(rng);
        let pairs = &by_length[class];
        (in_any_order(pairs[rng.random_range(0..pairs.len())], rng), class)
    };
    let (pairs, labels) = (0..count).map(draw).unzip();
    Some(Example { graph, pairs, labels })
}

/// The pairs (u, v), u < v, with a path between them, by the class of its length.
fn pairs_by_length(graph: &DiscGraph) -> Vec<Vec<[u32; 2]>> {
    let mut by_length = vec![Vec::new(); LENGTHS];
    for u in 0..graph.nodes() as u32 {
        let distances = graph.adjacency().distances(&[u]);
        for (v, &distance) in (0..).zip(&distances).skip(u as usize + 1) {
            if distance != UNREACHED {
                by_length[(distance as usize).min(LENGTHS) - 1].push([u, v]);
            }
        }
    }
    by_length
}

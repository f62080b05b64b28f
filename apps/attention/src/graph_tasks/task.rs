//! What is asked of a graph: links, and lengths of paths.

use clap::ValueEnum;
use cotangent::prelude::rng;
use cotangent_apps_common::error::{AppError, Result};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::disc::{Disc, DiscGraph};

/// What is asked of two nodes of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Whether there is an edge.
    Link,
    /// Whether there was an edge, which is taken out of the graph; as often as not.
    LinkRemoved,
    /// The length of the shortest path.
    Path,
}

/// A part of the disc that graphs are taken from, and the number of points of the whole disc.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// The angle of the slice in degrees; 360 is the whole disc.
    pub angle: f64,
    /// Number of points of the whole disc.
    pub nodes: usize,
}

/// A graph with questions: two nodes each, and the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The graph.
    pub graph: DiscGraph,
    /// The two nodes of each question.
    pub pairs: Vec<[u32; 2]>,
    /// The class of each answer.
    pub labels: Vec<usize>,
}

impl Task {
    /// Number of classes.
    pub fn classes(self) -> usize {
        if self == Task::Path { 25 } else { 2 }
    }

    /// The example of a seed and a number.
    ///
    /// # Errors
    /// If the lesson's graphs have no such pairs.
    pub fn example(
        self,
        disc: &Disc,
        lesson: &Lesson,
        pairs: usize,
        training: bool,
        seed: u64,
        number: u64,
    ) -> Result<Example> {
        let disc = Disc { nodes: lesson.nodes, ..*disc };
        let graph = slice(&disc.generate(seed, number), lesson.angle);
        let count = graph.nodes() as u32;
        if count < 2 {
            let Lesson { angle, nodes } = lesson;
            return Err(AppError::usage(format!("lesson {angle}:{nodes}: a graph of it has no two nodes")));
        }
        let mut rng = rng::stream(seed, "pairs", number);
        let mut found = Vec::new();
        while found.len() < pairs {
            let [i, j] = [0, 1].map(|_| rng.random_range(0..count));
            if i != j {
                found.push([i, j]);
            }
        }
        let labels = found.iter().map(|&[i, j]| match self {
            Task::Path => (distance(&graph, i, j).clamp(1, 25)) - 1,
            _ => usize::from(graph.neighbours(i as usize).contains(&j)),
        });
        let labels = labels.collect();
        let _ = training;
        Ok(Example { graph, pairs: found, labels })
    }
}

fn distances(graph: &DiscGraph, from: u32) -> Vec<usize> {
    let mut found = vec![usize::MAX; graph.nodes()];
    let mut queue = vec![from];
    found[from as usize] = 0;
    let mut next = 0;
    while next < queue.len() {
        let node = queue[next] as usize;
        next += 1;
        for &other in graph.neighbours(node) {
            if found[other as usize] == usize::MAX {
                found[other as usize] = found[node] + 1;
                queue.push(other);
            }
        }
    }
    found
}

fn distance(graph: &DiscGraph, i: u32, j: u32) -> usize {
    distances(graph, i)[j as usize]
}

/// The largest connected component of a slice.
fn slice(graph: &DiscGraph, angle: f64) -> DiscGraph {
    let inside = |i: usize| graph.angles()[i] <= angle.to_radians();
    let mut component = vec![usize::MAX; graph.nodes()];
    let mut sizes = Vec::new();
    for start in (0..graph.nodes()).filter(|&i| inside(i)) {
        if component[start] != usize::MAX {
            continue;
        }
        let mut queue = vec![start];
        component[start] = sizes.len();
        let mut next = 0;
        while next < queue.len() {
            for &other in graph.neighbours(queue[next]) {
                let other = other as usize;
                if inside(other) && component[other] == usize::MAX {
                    component[other] = sizes.len();
                    queue.push(other);
                }
            }
            next += 1;
        }
        sizes.push(queue.len());
    }
    let largest = (0..sizes.len()).rev().max_by_key(|&i| sizes[i]);
    let kept: Vec<usize> =
        (0..graph.nodes()).filter(|&i| Some(component[i]) == largest && inside(i)).collect();
    let number = |node: u32| kept.binary_search(&(node as usize)).ok().map(|i| i as u32);
    let mut edges = Vec::new();
    for (i, &node) in kept.iter().enumerate() {
        let others = graph.neighbours(node).iter().filter_map(|&other| number(other));
        edges.extend(others.filter(|&j| (i as u32) < j).map(|j| (i as u32, j)));
    }
    let points: Vec<(f64, f64)> = kept.iter().map(|&i| (graph.radii()[i], graph.angles()[i])).collect();
    DiscGraph::new(&points, &edges)
}

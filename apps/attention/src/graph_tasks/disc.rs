//! Random hyperbolic graphs: von Looz, Meyerhenke, Prutkin 2015.

use std::f64::consts::PI;

use cotangent::prelude::rng;
use cotangent_apps_common::error::{AppError, Result};
use rand::RngExt;

/// What a random graph is drawn from: points of a hyperbolic disc, with edges between near ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Number of points.
    pub nodes: usize,
    /// α: the density of a radius r is proportional to sinh αr.
    pub alpha: f64,
    /// Points have an edge if their distance is at most this part of the disc's radius.
    pub factor: f64,
    /// R, the disc's radius; `None` for arcosh(n/2π + 1).
    pub radius: Option<f64>,
}

/// A graph with its points in the disc. Nodes are numbered by angle.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscGraph {
    radii: Vec<f64>,
    angles: Vec<f64>,
    starts: Vec<usize>,
    others: Vec<u32>,
}

impl DiscGraph {
    /// The graph of points with these polar coordinates, in the order of their angles.
    pub fn new(points: &[(f64, f64)], edges: &[(u32, u32)]) -> Self {
        let mut pairs: Vec<(u32, u32)> = edges.iter().flat_map(|&(i, j)| [(i, j), (j, i)]).collect();
        pairs.sort_unstable();
        let starts = (0..=points.len()).map(|i| pairs.partition_point(|pair| (pair.0 as usize) < i));
        DiscGraph {
            radii: points.iter().map(|point| point.0).collect(),
            angles: points.iter().map(|point| point.1).collect(),
            starts: starts.collect(),
            others: pairs.iter().map(|pair| pair.1).collect(),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.radii.len()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.others.len() / 2
    }

    /// Distances from the centre.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Angles, from 0 to 2π, ascending.
    pub fn angles(&self) -> &[f64] {
        &self.angles
    }

    /// The neighbours of a node, ascending.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        &self.others[self.starts[node]..self.starts[node + 1]]
    }
}

impl Disc {
    /// Checks the numbers.
    ///
    /// # Errors
    /// If one is impossible; the error names its option.
    pub fn validate(&self) -> Result<()> {
        if self.nodes < 2 {
            return Err(AppError::usage(format!("--nodes {}: at least 2 are needed", self.nodes)));
        }
        let numbers =
            [("alpha", Some(self.alpha)), ("factor", Some(self.factor)), ("disc-radius", self.radius)];
        for (name, value) in numbers {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(AppError::usage(format!("--{name} {value}: a positive number is needed")));
            }
        }
        Ok(())
    }

    /// The radius of the disc.
    fn outer(&self) -> f64 {
        self.radius.unwrap_or_else(|| (self.nodes as f64 / (2.0 * PI) + 1.0).acosh())
    }

    /// The graph of a seed and a number.
    pub fn generate(&self, seed: u64, number: u64) -> DiscGraph {
        let (mut rng, outer) = (rng::stream(seed, "disc", number), self.outer());
        let mut points: Vec<(f64, f64)> = (0..self.nodes)
            .map(|_| {
                let share = rng.random::<f64>();
                let radius = (1.0 + share * ((self.alpha * outer).cosh() - 1.0)).acosh() / self.alpha;
                (radius, rng.random_range(0.0..2.0 * PI))
            })
            .collect();
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let near = (self.factor * outer).cosh();
        let is_edge = |i: u32, j: u32| {
            let ((r, a), (s, b)) = (points[i as usize], points[j as usize]);
            r.cosh() * s.cosh() - r.sinh() * s.sinh() * (a - b).cos() <= near
        };
        let count = points.len() as u32;
        let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j)));
        let edges: Vec<(u32, u32)> = pairs.filter(|&(i, j)| is_edge(i, j)).collect();
        DiscGraph::new(&points, &edges)
    }
}

//! Random hyperbolic graphs: points of a hyperbolic disc, joined where they are close.
//!
//! The angle of a point is uniform, the density of its radius r is α sinh(αr)/(cosh(αR) − 1). Two points
//! are joined if their distance is at most `factor`·R. Source: von Looz, Meyerhenke, Prutkin 2015,
//! "Generating random hyperbolic graphs in subquadratic time"; Krioukov et al. 2010. With `factor` 1 the
//! degrees have a power law of exponent 2α + 1. With less the graphs are not scale-free.

use std::f64::consts::{PI, TAU};

use clap::Args;
use cotangent::prelude::rng;
use cotangent_apps_common::adjacency_list::{AdjacencyList, UNREACHED};
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{memory, options};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bands::{Place, close_pairs};

#[cfg(test)]
mod tests;

/// The largest radius: beyond it products of two sinh r leave the range of `f64`.
const LARGEST_RADIUS: f64 = 350.0;

/// The smallest radius: below it distances are lost in the rounding of e^r.
const SMALLEST_RADIUS: f64 = 1e-3;

/// A random hyperbolic graph.
#[derive(Args, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disc {
    /// Number of nodes of a graph.
    #[arg(long, default_value_t = 400, allow_negative_numbers = true, help_heading = "Graph")]
    pub nodes: usize,
    /// How fast the density of nodes grows with their distance r from the centre: as sinh(alpha r).
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true, help_heading = "Graph")]
    pub alpha: f64,
    /// Nodes are joined whose hyperbolic distance is at most this factor times the radius of the disc. With 1
    /// the degrees have a power law of exponent 2 alpha + 1.
    #[arg(long, default_value_t = 0.35, allow_negative_numbers = true, help_heading = "Graph")]
    pub factor: f64,
    /// Hyperbolic radius of the disc [default: arcosh(nodes/2π + 1), for which its area is the number of
    /// nodes].
    #[arg(
        id = "disc-radius",
        long,
        value_name = "RADIUS",
        allow_negative_numbers = true,
        help_heading = "Graph"
    )]
    pub radius: Option<f64>,
}

impl Disc {
    /// The hyperbolic radius R. The default is that of the first program of von Looz (NetworKit,
    /// HyperbolicGenerator, 2014): the area 2π(cosh R − 1) of the disc is the number of nodes.
    pub fn radius(&self) -> f64 {
        self.radius.unwrap_or_else(|| (self.nodes as f64 / TAU + 1.0).acosh())
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is impossible, or the graph would not fit in memory. The error names the option.
    pub fn validate(&self) -> Result<()> {
        let &Disc { nodes, alpha, factor, .. } = self;
        let radius = self.radius();
        let refuse = |message: String| Err(AppError::usage(message));
        if nodes < 2 {
            return refuse(format!("--nodes {nodes}: at least 2 are needed"));
        }
        if u32::try_from(nodes).is_err() {
            return refuse(format!("--nodes {nodes}: at most {} are possible", u32::MAX));
        }
        options::positive(&[("alpha", alpha), ("factor", factor), ("disc-radius", radius)])?;
        if !(SMALLEST_RADIUS..=LARGEST_RADIUS).contains(&radius) {
            let range = format!("from {SMALLEST_RADIUS} to {LARGEST_RADIUS} is needed");
            return refuse(format!("--disc-radius {radius}: {range}, so that distances can be computed"));
        }
        if alpha * radius > 2.0 * LARGEST_RADIUS {
            let limit = 2.0 * LARGEST_RADIUS / radius;
            return refuse(format!(
                "--alpha {alpha}: at most {limit:.1} is possible with radius {radius:.3}, where \
                 sinh(alpha r) would be too large"
            ));
        }
        // A complete graph of this many nodes fits anywhere.
        if nodes < 10_000 {
            return Ok(());
        }
        let edges = 0.5 * nodes as f64 * self.expected_degree();
        // An edge is in a list of pairs and in two rows; a node has coordinates, a place, and one in a band.
        let bytes = memory::bytes::<u32>(&[4]) * edges + memory::bytes::<f64>(&[nodes, 15]);
        memory::check(&[("nodes", nodes)], &format!("a graph of about {edges:.1e} edges"), bytes)
    }

    /// The largest distance of two joined nodes.
    fn edge_length(&self) -> f64 {
        // No distance in the disc is above 2R.
        (self.factor * self.radius()).min(2.0 * self.radius() + 1.0)
    }

    /// The radius below which a share u of the nodes is, from √u: the inverse of the distribution
    /// (cosh(αr) − 1)/(cosh(αR) − 1) = sinh²(αr/2)/sinh²(αR/2). Nothing cancels in the last form.
    fn quantile(&self, root: f64) -> f64 {
        let half = 0.5 * self.alpha;
        ((root * (half * self.radius()).sinh()).asinh() / half).min(self.radius())
    }

    /// The mean degree of the graphs, by numerical integration over the radii of two nodes: the difference
    /// of their angles is uniform, so they have an edge with the probability θ/π, where θ is the largest
    /// difference at which they are close enough.
    pub fn expected_degree(&self) -> f64 {
        const STEPS: usize = 200;
        // The root of u as the variable, because θ changes fastest at u = 0. du = 2 root d(root).
        let roots: Vec<f64> = (0..STEPS).map(|i| (i as f64 + 0.5) / STEPS as f64).collect();
        let places: Vec<Place> = roots.iter().map(|&root| Place::new(self.quantile(root), 0.0)).collect();
        let limit = (0.5 * self.edge_length()).sinh().powi(2);
        let mut mean = 0.0;
        for (a, x) in places.iter().zip(&roots) {
            for (b, y) in places.iter().zip(&roots) {
                mean += 4.0 * x * y * a.reach(b, limit).map_or(0.0, |angle| angle.min(PI) / PI);
            }
        }
        (self.nodes as f64 - 1.0) * mean / (STEPS * STEPS) as f64
    }

    /// The graph of a number. It depends on the settings, the seed and the number alone, not on the number of
    /// threads. Time grows as the nodes and edges together, times the logarithm of the nodes.
    ///
    /// # Panics
    /// If there are 2³² nodes or more: see [`validate`](Self::validate).
    pub fn generate(&self, seed: u64, number: u64) -> DiscGraph {
        assert!(u32::try_from(self.nodes).is_ok(), "a graph of {} nodes", self.nodes);
        let mut rng = rng::stream(seed, "disc", number);
        let mut drawn: Vec<[f64; 2]> =
            (0..self.nodes).map(|_| [TAU * rng.random::<f64>(), rng.random()]).collect();
        drawn.par_sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let angles: Vec<f64> = drawn.iter().map(|[angle, _]| *angle).collect();
        let radii: Vec<f64> =
            drawn.par_iter().with_min_len(1024).map(|[_, u]| self.quantile(u.sqrt())).collect();
        self.connect(radii, angles)
    }

    /// The graph of points in the order of their angles.
    fn connect(&self, radii: Vec<f64>, angles: Vec<f64>) -> DiscGraph {
        let places: Vec<Place> = radii
            .par_iter()
            .with_min_len(1024)
            .zip(&angles)
            .map(|(radius, angle)| Place::new(*radius, *angle))
            .collect();
        let pairs = close_pairs(&places, self.radius(), self.edge_length());
        let adjacency = AdjacencyList::undirected(radii.len(), pairs.iter().copied()).sorted();
        DiscGraph { radii, angles, adjacency }
    }
}

/// A graph in a hyperbolic disc, without directions. Its nodes are numbered by angle.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscGraph {
    radii: Vec<f64>,
    angles: Vec<f64>,
    adjacency: AdjacencyList,
}

impl DiscGraph {
    /// The graph of points (radius, angle) in the order of their angles, with these edges, each once.
    ///
    /// # Panics
    /// If an edge has a node that is no point.
    pub fn new(points: &[(f64, f64)], edges: &[(u32, u32)]) -> Self {
        let (radii, angles) = points.iter().copied().unzip();
        let adjacency = AdjacencyList::undirected(points.len(), edges.iter().copied()).sorted();
        DiscGraph { radii, angles, adjacency }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.radii.len()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.adjacency.entries() / 2
    }

    /// The hyperbolic distance of each node from the centre of the disc.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// The angle of each node, ascending, from 0 to below 2π.
    pub fn angles(&self) -> &[f64] {
        &self.angles
    }

    /// The neighbours of a node, ascending.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn neighbours(&self, node: usize) -> &[u32] {
        self.adjacency.neighbours(node as u32)
    }

    /// The neighbours of all nodes.
    pub fn adjacency(&self) -> &AdjacencyList {
        &self.adjacency
    }

    /// The edges (u, v) with u < v, ascending.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + Clone {
        (0..self.nodes() as u32).flat_map(move |u| {
            let neighbours = self.neighbours(u as usize);
            neighbours[neighbours.partition_point(|&v| v < u)..].iter().map(move |&v| (u, v))
        })
    }

    /// The graph of these nodes, which are ascending, and the edges between them, numbered anew.
    #[must_use]
    pub fn subgraph(&self, nodes: &[u32]) -> Self {
        let mut numbers = vec![None; self.nodes()];
        nodes.iter().zip(0..).for_each(|(&node, number)| numbers[node as usize] = Some(number));
        let pairs: Vec<(u32, u32)> =
            self.pairs().filter_map(|(u, v)| Some((numbers[u as usize]?, numbers[v as usize]?))).collect();
        let points: Vec<(f64, f64)> =
            nodes.iter().map(|&node| (self.radii[node as usize], self.angles[node as usize])).collect();
        DiscGraph::new(&points, &pairs)
    }

    /// The graph without some of its edges, which are ascending pairs (u, v) with u < v.
    #[must_use]
    pub fn without(&self, removed: &[(u32, u32)]) -> Self {
        let pairs: Vec<(u32, u32)> =
            self.pairs().filter(|pair| removed.binary_search(pair).is_err()).collect();
        let adjacency = AdjacencyList::undirected(self.nodes(), pairs.into_iter());
        DiscGraph { adjacency, ..self.clone() }
    }

    /// The length of a longest shortest path; 0 if there is no edge. Takes a search from every node.
    pub fn longest_path(&self) -> u32 {
        let nodes = (0..self.nodes() as u32).into_par_iter();
        let farthest = nodes.map(|node| {
            let distances = self.adjacency.distances(&[node]);
            distances.into_iter().filter(|&distance| distance != UNREACHED).max().unwrap_or(0)
        });
        farthest.max().unwrap_or(0)
    }
}

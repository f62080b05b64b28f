//! How faithful the distances of an embedding are to those of its graph: the distortion. Source: Sala, De Sa,
//! Gu & Ré 2018.

use cotangent::prelude::*;
use cotangent_apps_common::adjacency_list::{AdjacencyList, UNREACHED};
use cotangent_apps_common::geometry::Geometry;
use rand::RngExt;
use rand::seq::index;
use rayon::prelude::*;
use serde::Serialize;

use crate::evaluate::neighbours::{distances, gathered};

/// The distortion over pairs of nodes u and v: how far the ratio d(u, v)/d_G(u, v) of their distances in the
/// embedding and in the graph is from 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distortion {
    /// Number of pairs of nodes.
    pub pairs: usize,
    /// Whether these are all pairs with a path between them.
    pub exact: bool,
    /// The average of |d/d_G − 1|.
    pub average: f64,
    /// The factor of the distances d for which the average is least.
    pub scale: f64,
    /// The average with that factor.
    pub average_scaled: f64,
    /// The largest ratio d/d_G over the smallest one, which no factor changes; at least 1.
    pub worst: f64,
}

/// All pairs of a graph with at most this many nodes are measured.
const EXACT: usize = 2000;

/// In larger graphs: the number of nodes that are drawn, and of others that each is compared with.
const DRAWN: [usize; 2] = [256, 4096];

/// The distortion of an embedding of a graph, whose node i is the point `points_of[i]`. Edges have length 1
/// and no direction. Of more than 2000 nodes, about a million pairs are drawn. `None` without edges.
pub fn distortion(
    points: &Tensor<f64>,
    geometry: Geometry,
    points_of: &[u32],
    edges: &[(u32, u32)],
    seed: u64,
) -> Option<Distortion> {
    let nodes = points_of.len();
    let graph = AdjacencyList::undirected(nodes, edges.iter().copied());
    let exact = nodes <= EXACT;
    let [sources, targets] = DRAWN;
    let sources: Vec<usize> = if exact {
        (0..nodes).collect()
    } else {
        index::sample(&mut rng::stream(seed, "distortion", 0), nodes, sources.min(nodes)).into_vec()
    };
    let of_source = |&u: &usize| {
        let steps = graph.distances(&[u as u32]);
        let others: Vec<usize> = if exact {
            (u + 1..nodes).collect()
        } else {
            let mut rng = rng::stream(seed, "distortion", 1 + u as u64);
            (0..targets).map(|_| rng.random_range(0..nodes)).filter(|&v| v != u).collect()
        };
        let reached: Vec<usize> = others.into_iter().filter(|&v| steps[v] != UNREACHED).collect();
        if reached.is_empty() {
            return Vec::new();
        }
        let to: Vec<u32> = reached.iter().map(|&v| points_of[v]).collect();
        let lengths = distances(geometry, &gathered(points, &[points_of[u]]), &gathered(points, &to));
        lengths.iter().zip(reached).map(|(d, v)| d / f64::from(steps[v])).collect::<Vec<f64>>()
    };
    let ratios: Vec<f64> = sources.par_iter().flat_map_iter(of_source).collect();
    (!ratios.is_empty()).then(|| by_ratios(ratios, exact))
}

/// The distortion with these ratios of distances.
fn by_ratios(mut ratios: Vec<f64>, exact: bool) -> Distortion {
    ratios.sort_unstable_by(f64::total_cmp);
    let average =
        |scale: f64| ratios.iter().map(|r| (scale * r - 1.0).abs()).sum::<f64>() / ratios.len() as f64;
    let scale = best_scale(&ratios);
    Distortion {
        pairs: ratios.len(),
        exact,
        average: average(1.0),
        scale,
        average_scaled: average(scale),
        worst: ratios[ratios.len() - 1] / ratios[0],
    }
}

/// The factor s for which the sum of |s r − 1| = r |s − 1/r| over all ratios r is least: the median of
/// the numbers 1/r with the weights r. The ratios are in ascending order.
fn best_scale(ratios: &[f64]) -> f64 {
    let half = ratios.iter().sum::<f64>() / 2.0;
    let mut weight = 0.0;
    let median = ratios.iter().rev().find(|&&r| {
        weight += r;
        weight >= half
    });
    median.map_or(f64::NAN, |r| 1.0 / r)
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;

    /// A path of nodes at these places of a line.
    fn path(places: &[f64]) -> Distortion {
        let n = places.len() as u32;
        let points = Tensor::new([places.len(), 1], places.to_vec());
        let edges: Vec<(u32, u32)> = (1..n).map(|u| (u, u - 1)).collect();
        let nodes: Vec<u32> = (0..n).collect();
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        distortion(&points, geometry, &nodes, &edges, 1).unwrap()
    }

    #[test]
    fn distances_times_a_factor_are_not_distorted() {
        let found = path(&[0.0, 2.0, 4.0, 6.0]);
        let want =
            Distortion { pairs: 6, exact: true, average: 1.0, scale: 0.5, average_scaled: 0.0, worst: 1.0 };
        assert_eq!(found, want);
    }

    #[test]
    fn figures_by_hand() {
        // The ratios are 1, 3 and, for the ends, 4/2.
        let found = path(&[0.0, 1.0, 4.0]);
        assert_eq!((found.average, found.worst), ((0.0 + 2.0 + 1.0) / 3.0, 3.0));
        // |s − 1| + |3s − 1| + |2s − 1| is 1 for s from 1/3 to 1/2, and larger elsewhere.
        assert!((found.average_scaled - 1.0 / 3.0).abs() < 1e-15, "{found:?}");
    }

    #[test]
    fn no_other_factor_is_better() {
        let mut rng = rng::stream(5, 1, 1);
        let ratios: Vec<f64> = (0..101).map(|_| rng.random_range(0.1..9.0)).collect();
        let found = by_ratios(ratios.clone(), true);
        for i in 1..2000 {
            let scale = f64::from(i) / 400.0;
            let average = ratios.iter().map(|r| (scale * r - 1.0).abs()).sum::<f64>() / 101.0;
            assert!(average >= found.average_scaled - 1e-12, "{scale}: {average} {found:?}");
        }
    }

    /// Drawn pairs of a star whose leaves are all as far from one another as from its centre.
    #[test]
    fn pairs_of_a_large_graph_are_drawn() {
        let nodes = 2500;
        let places = (0..nodes).map(|i| if i == 0 { 0.0 } else { f64::from(i % 2) * 2.0 - 1.0 }).collect();
        let points = Tensor::new([nodes as usize, 1], places);
        let edges: Vec<(u32, u32)> = (1..nodes as u32).map(|u| (u, 0)).collect();
        let identity: Vec<u32> = (0..nodes as u32).collect();
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let found = |seed| distortion(&points, geometry, &identity, &edges, seed).unwrap();
        // Half of the pairs of leaves are at the same place, half at the distance 2 of the graph.
        assert!(!found(1).exact && found(1).pairs > 1_000_000);
        assert!((found(1).average - 0.5).abs() < 0.01 && found(1).worst.is_infinite(), "{:?}", found(1));
        assert!(found(1) == found(1) && found(1) != found(2));
    }
}

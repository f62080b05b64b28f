//! Mean rank and mean average precision (MAP) of the reconstruction of a graph from its embedding: Nickel &
//! Kiela 2017, section 4.
//!
//! For every node u with neighbours N(u), each v in N(u) is ranked by d(u, v) among d(u, w) for all w ∉
//! N(u) ∪ {u}. Rank 1 means nearer than all of them; a tie counts half. The mean rank is over all pairs.
//! MAP is the mean average precision of N(u) over the nodes that have neighbours.
//!
//! The computation is exact, over all nodes. Ranks need no distances, only a monotone function of them that
//! is as accurate: in the ball ‖x−y‖²/m_y, where m_y is the [`margin`] of y (that of x is common to
//! all), on the hyperboloid the squared chord.

use cotangent::engine::domain::margin;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::{Geometry, Model};
use rayon::prelude::*;

use crate::graph::Neighbours;

/// How well an embedding reconstructs a graph.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Score {
    /// Mean rank of the neighbours; 1 is perfect.
    pub mean_rank: f64,
    /// Mean average precision; 1 is perfect.
    pub map: f64,
    /// Number of nodes with neighbours.
    pub nodes: usize,
    /// Number of pairs.
    pub pairs: usize,
}

/// The coordinates of all points, stored by column, so that one point is compared with a block of others.
pub(crate) struct Keys {
    model: Model,
    /// Space coordinates.
    columns: Vec<Vec<f64>>,
    /// The margin (ball) or the time coordinate (hyperboloid) of each point; 1 in Euclidean space.
    scale: Vec<f64>,
}

/// Number of points that are compared at once.
const BLOCK: usize = 512;

impl Keys {
    pub(crate) fn new(points: &Tensor<f64>, geometry: Geometry) -> Self {
        let first = usize::from(geometry.model == Model::Lorentz);
        let columns = (first..points.width()).map(|c| points.rows().map(|row| row[c]).collect()).collect();
        let scale = points
            .rows()
            .map(|row| match geometry.model {
                Model::Poincare => margin(row, geometry.kappa),
                // The space coordinates are the accurate ones, and determine the time coordinate.
                Model::Lorentz => (row[1..].iter().map(|x| x * x).sum::<f64>() - 1.0 / geometry.kappa).sqrt(),
                Model::Euclidean => 1.0,
            })
            .collect();
        Keys { model: geometry.model, columns, scale }
    }

    /// A monotone function of the distances from point `u` to all points.
    pub(crate) fn from(&self, u: usize, keys: &mut [f64]) {
        let mut sums = [0.0; BLOCK];
        for (b, keys) in keys.chunks_mut(BLOCK).enumerate() {
            let block = b * BLOCK..b * BLOCK + keys.len();
            let sums = &mut sums[..keys.len()];
            keys.fill(0.0);
            sums.fill(0.0);
            for column in &self.columns {
                let x = column[u];
                for ((key, sum), y) in keys.iter_mut().zip(&mut *sums).zip(&column[block.clone()]) {
                    let d = y - x;
                    *key += d * d;
                    if self.model == Model::Lorentz {
                        *sum += d * (y + x);
                    }
                }
            }
            let scale = &self.scale[block];
            match self.model {
                Model::Poincare => keys.iter_mut().zip(scale).for_each(|(key, m)| *key /= m),
                Model::Lorentz => {
                    for ((key, sum), time) in keys.iter_mut().zip(sums).zip(scale) {
                        let d = *sum / (time + self.scale[u]);
                        *key -= d * d;
                    }
                }
                Model::Euclidean => {}
            }
            // NaN comes from coordinates that are NaN, or from the difference of two infinities. Such a point
            // counts as infinitely far.
            keys.iter_mut().filter(|key| key.is_nan()).for_each(|key| *key = f64::INFINITY);
        }
    }
}

/// Evaluates points against a graph whose node i is the point `points_of[i]`. Points without a node are
/// candidates too. Uses the current thread pool; the result does not depend on the pool's size.
pub fn evaluate(
    points: &Tensor<f64>,
    geometry: Geometry,
    points_of: &[u32],
    neighbours: &Neighbours,
) -> Score {
    let n = points.shape()[0];
    let keys = Keys::new(points, geometry);
    let nodes: Vec<u32> = (0..points_of.len() as u32).filter(|&u| !neighbours.of(u).is_empty()).collect();
    let scores: Vec<(f64, usize, f64)> = nodes
        .par_iter()
        .map_init(
            || vec![0.0; n],
            |buffer, &u| {
                let at = points_of[u as usize] as usize;
                keys.from(at, buffer);
                let near: Vec<usize> =
                    neighbours.of(u).iter().map(|&v| points_of[v as usize] as usize).collect();
                score_node(buffer, at, &near)
            },
        )
        .collect();
    let pairs = scores.iter().map(|s| s.1).sum();
    Score {
        mean_rank: scores.iter().map(|s| s.0).sum::<f64>() / pairs as f64,
        map: scores.iter().map(|s| s.2).sum::<f64>() / nodes.len() as f64,
        nodes: nodes.len(),
        pairs,
    }
}

/// The sum of the neighbours' ranks, their number, and their average precision. Overwrites some keys.
fn score_node(keys: &mut [f64], u: usize, near: &[usize]) -> (f64, usize, f64) {
    let mut sorted: Vec<f64> = near.iter().map(|&v| keys[v]).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // Nodes that are not candidates get the key NaN, which no comparison below counts. Infinity would be
    // wrong, because a candidate may be infinitely far.
    for &v in near.iter().chain([&u]) {
        keys[v] = f64::NAN;
    }
    let k = sorted.len();
    let farthest = sorted[k - 1];
    // Prefix sums of `steps` give, for each neighbour, twice the number of nearer candidates; a tie adds one.
    let mut steps = vec![0_u64; k + 1];
    for &key in keys.iter().filter(|&&key| key <= farthest) {
        let tied_or_farther = sorted.partition_point(|&s| s < key); // first neighbour at this key or beyond
        let farther = sorted.partition_point(|&s| s <= key); // first neighbour beyond this key
        steps[tied_or_farther] += 1;
        steps[farther] += 1;
    }
    let (mut twice_nearer, mut ranks, mut precision) = (0, 0.0, 0.0);
    for (i, step) in steps[..k].iter().enumerate() {
        twice_nearer += step;
        let nearer = twice_nearer as f64 / 2.0;
        ranks += 1.0 + nearer;
        precision += (i + 1) as f64 / ((i + 1) as f64 + nearer);
    }
    (ranks, k, precision / k as f64)
}

#[cfg(test)]
mod tests {
    use cotangent::prelude::rng::stream;

    use super::*;
    use crate::graph::Builder;

    /// The definition, literally: computes every distance, counts every rank, sums every precision.
    fn brute_force<M: Manifold>(m: M, points: &Tensor<f64>, neighbours: &Neighbours) -> (f64, f64) {
        let n = points.shape()[0];
        let dist = |u: usize, v: usize| m.dist(&Row::from(points.row(u)), &Row::from(points.row(v)));
        let (mut ranks, mut pairs, mut precisions, mut sources) = (0.0, 0, 0.0, 0);
        for u in 0..n {
            let near: Vec<usize> = neighbours.of(u as u32).iter().map(|&v| v as usize).collect();
            if near.is_empty() {
                continue;
            }
            let candidates: Vec<usize> = (0..n).filter(|w| *w != u && !near.contains(w)).collect();
            let nearer = |v: usize| {
                let nearer = candidates.iter().filter(|&&w| dist(u, w) < dist(u, v)).count() as f64;
                let ties = candidates.iter().filter(|&&w| dist(u, w) == dist(u, v)).count() as f64;
                nearer + ties / 2.0
            };
            let mut order = near.clone();
            order.sort_by(|&a, &b| dist(u, a).total_cmp(&dist(u, b)));
            let mut precision = 0.0;
            for (i, &v) in order.iter().enumerate() {
                ranks += 1.0 + nearer(v);
                precision += (i + 1) as f64 / ((i + 1) as f64 + nearer(v));
            }
            pairs += near.len();
            precisions += precision / near.len() as f64;
            sources += 1;
        }
        (ranks / f64::from(u32::try_from(pairs).unwrap()), precisions / f64::from(sources))
    }

    fn agrees<M: Manifold>(m: M, geometry: Geometry) {
        for seed in 0..5 {
            let mut rng = stream(seed, 7, 0);
            let n = 60;
            let mut points = Tensor::zeros([n, m.ambient(3)]);
            for i in 0..n {
                // Every third point is a copy of an earlier one, which gives exact ties.
                let row =
                    if i % 3 == 2 { Row::from(points.row(i / 2)) } else { m.random_point(3, 4.0, &mut rng) };
                points.row_mut(i).copy_from_slice(&row);
            }
            let mut b = Builder::default();
            for i in 0..n {
                b.add(&i.to_string(), &(i / 2).to_string(), None);
                b.add(&i.to_string(), &(i / 4).to_string(), None);
                b.add(&i.to_string(), &((i * 7 + 3) % n).to_string(), None);
            }
            let graph = b.finish();
            let at: Vec<u32> = graph.names.iter().map(|name| name.parse().unwrap()).collect();
            // The brute force needs the points in the graph's order.
            let ordered = Tensor::new(
                points.shape().clone(),
                at.iter().flat_map(|&i| points.row(i as usize).to_vec()).collect(),
            );
            let neighbours = graph.neighbours();
            let (mean_rank, map) = brute_force(m, &ordered, &neighbours);
            let got = evaluate(&points, geometry, &at, &neighbours);
            assert!((got.mean_rank - mean_rank).abs() < 1e-12 * mean_rank, "{got:?} {mean_rank}");
            assert!((got.map - map).abs() < 1e-12, "{got:?} {map}");
            assert_eq!(got.pairs, graph.pairs.len());
        }
    }

    #[test]
    fn equals_brute_force_with_ties() {
        agrees(Euclidean, Geometry::new(Model::Euclidean, None).unwrap());
        for kappa in [-1.0, -0.4] {
            let ball = PoincareBall::new(kappa);
            agrees(ball, Geometry::new(Model::Poincare, Some(kappa)).unwrap());
            agrees(Lorentz::new(kappa), Geometry::new(Model::Lorentz, Some(kappa)).unwrap());
        }
    }

    /// A squared distance may overflow or be NaN. Such a neighbour counts as infinitely far, and u and its
    /// neighbours still are no candidates.
    #[test]
    fn a_neighbour_may_be_infinitely_far() {
        let geometry = Geometry::new(Model::Euclidean, None).unwrap();
        let mut b = Builder::default();
        for (u, v) in [("0", "1"), ("0", "2"), ("3", "0")] {
            b.add(u, v, None);
        }
        let neighbours = b.finish().neighbours();
        for distant in [1e200, f64::INFINITY, f64::NAN] {
            let mut points = Tensor::new([4, 1], vec![0.0, 1.0, distant, 5.0]);
            let score = |points: &Tensor<f64>| evaluate(points, geometry, &[0, 1, 2, 3], &neighbours);
            // For node 0: 1 is nearer than 3, and 2 farther. For node 3: 0 is farther than 1 and nearer
            // than 2.
            let found = score(&points);
            assert_eq!(
                (found.mean_rank, found.map),
                (5.0 / 3.0, ((1.0 + 2.0 / 3.0) / 2.0 + 0.5) / 2.0),
                "{distant}"
            );
            // A candidate at the same distance as the neighbour is a tie.
            points.data_mut()[3] = -distant;
            assert_eq!(score(&points).mean_rank, (1.0 + 1.5 + 2.0) / 3.0, "{distant}");
        }
    }

    #[test]
    fn a_perfect_embedding_scores_one() {
        let points = Tensor::new([4, 1], vec![0.0, 0.1, 0.5, 0.61]);
        let mut b = Builder::default();
        for (u, v) in [("0", "1"), ("1", "0"), ("2", "3"), ("3", "2")] {
            b.add(u, v, None);
        }
        let g = b.finish();
        let score =
            evaluate(&points, Geometry::new(Model::Poincare, None).unwrap(), &[0, 1, 2, 3], &g.neighbours());
        assert_eq!((score.mean_rank, score.map), (1.0, 1.0));
    }
}

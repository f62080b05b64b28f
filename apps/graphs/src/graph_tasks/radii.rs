//! How far queries and keys are from the origin: Gulcehre et al. 2019, Figure 3, right.

use cotangent::layers::Score;
use cotangent::prelude::*;
use serde::{Deserialize, Serialize};

use super::model::{Questions, RecursiveTransformer};
use crate::graph::points_of;

/// Number of intervals.
const INTERVALS: usize = 40;

/// The distances of queries and keys from the origin, over all heads and applications of the block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Radii {
    /// What is measured.
    pub what: String,
    /// The intervals' edges, evenly spaced from 0 to the largest distance.
    pub edges: Vec<f64>,
    /// Number of queries in each interval.
    pub queries: Vec<u64>,
    /// Number of keys in each interval.
    pub keys: Vec<u64>,
    /// Mean distance of queries, and of keys.
    pub means: [f64; 2],
    /// Number of distances that are no finite numbers.
    pub not_finite: usize,
}

/// Distances from the origin of rows as a score takes them, and what they are. Rows that are no points of
/// hyperbolic space have their Euclidean norms.
fn distances(rows: &Tensor<f64>, score: &dyn Score<f32>) -> (Vec<f64>, &'static str) {
    if score.name() == "polar-distance" {
        let radii = rows.rows().map(|row| row.last().copied().unwrap_or(0.0).abs());
        return (radii.collect(), "hyperbolic radius r of the pseudo-polar coordinates");
    }
    let (points, geometry) = points_of(rows, score);
    match geometry.single() {
        Some(space) if space.kappa() < 0.0 => {
            let origin = space.origin(space.dimension(points.width()));
            let radius = |row: &[f64]| space.dist(&origin, &Row::from(row));
            (points.rows().map(radius).collect(), "hyperbolic distance from the origin")
        }
        _ => {
            let norm = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
            (points.rows().map(norm).collect(), "Euclidean norm")
        }
    }
}

/// Measures the queries and keys of some graphs.
pub(super) fn measure(model: &RecursiveTransformer, graphs: &[Questions], device: &Device) -> Radii {
    let (mut tape, mut found) = (Tape::with_device(device.clone()), [Vec::new(), Vec::new()]);
    let mut what = "";
    for questions in graphs {
        tape.reset();
        for projected in model.project(&tape, questions) {
            for (all, rows) in found.iter_mut().zip(projected) {
                let rows = rows.to_tensor().cast::<f64>();
                let rows = rows.reshape([rows.len() / rows.width(), rows.width()]);
                let (distances, kind) = distances(&rows, &*model.block.attention.attention.score);
                all.extend(distances);
                what = kind;
            }
        }
    }
    histogram(what, found)
}

/// Counts distances by interval.
fn histogram(what: &str, distances: [Vec<f64>; 2]) -> Radii {
    let finite = |all: &[f64]| -> Vec<f64> { all.iter().copied().filter(|x| x.is_finite()).collect() };
    let count = distances.iter().map(Vec::len).sum::<usize>();
    let distances = distances.map(|all| finite(&all));
    let largest = distances.iter().flatten().copied().fold(0.0, f64::max);
    let largest = if largest > 0.0 { largest } else { 1.0 };
    let counts = |all: &Vec<f64>| {
        let mut counts = vec![0; INTERVALS];
        for x in all {
            counts[((x / largest * INTERVALS as f64) as usize).min(INTERVALS - 1)] += 1;
        }
        counts
    };
    let [queries, keys] = distances.each_ref().map(counts);
    Radii {
        what: what.to_owned(),
        edges: (0..=INTERVALS).map(|i| largest * i as f64 / INTERVALS as f64).collect(),
        queries,
        keys,
        means: distances.each_ref().map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64),
        not_finite: count - distances.iter().map(Vec::len).sum::<usize>(),
    }
}

#[cfg(test)]
mod tests {
    use cotangent::layers::PointMap;
    use cotangent::layers::score::{Distance, Dot, Mapped, PolarDistance};

    use super::*;

    /// Of polar coordinates the last number, of a dot product's rows the norm, of other points the distance.
    #[test]
    fn distances_are_those_of_the_score() {
        let rows = Tensor::new([1, 2], vec![3.0, -4.0]);
        let found = |score: &dyn Score<f32>| distances(&rows, score).0[0];
        assert_eq!((found(&PolarDistance), found(&Dot)), (4.0, 5.0));
        let weierstrass = Mapped::new(&Distance, PointMap::Weierstrass);
        assert!((found(&weierstrass) - 5.0_f64.asinh()).abs() < 1e-12);
    }

    #[test]
    fn every_distance_is_counted_once() {
        let radii = histogram("r", [vec![0.0, 1.0, 4.0, f64::NAN], vec![2.0, 4.0]]);
        assert_eq!((radii.edges[INTERVALS], radii.not_finite, radii.means), (4.0, 1, [5.0 / 3.0, 3.0]));
        assert_eq!((radii.queries[0], radii.queries[10], radii.queries[INTERVALS - 1]), (1, 1, 1));
        assert_eq!((radii.keys[20], radii.keys.iter().sum::<u64>()), (1, 2));
    }
}

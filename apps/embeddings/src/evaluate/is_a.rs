//! Is-a classification: which pairs (u, v) of a hierarchy are true, by a score of their points.
//!
//! The protocol is that of the released program of Ganea et al. 2018 (Hyperbolic Entailment Cones): for each
//! true pair ten wrong ones are drawn, five (u, v') and five (u', v), with nodes drawn alike from those that
//! make no true pair. The threshold with the best F1 on one half of the pairs is applied to the other.

use clap::ValueEnum;
use cotangent::prelude::*;
use cotangent_apps_common::confusion::Confusion;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::options::positive;
use rand::RngExt;
use rand::seq::index;
use rayon::prelude::*;
use serde::Serialize;

use crate::evaluate::neighbours::{depths, distances, gathered};
use crate::graph::Neighbours;
use crate::train::objective::{Loss, Objective};

/// A score of a pair (u, v): the larger, the likelier is u below v.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsAScore {
    /// -d(u, v): neither is above the other.
    Distance,
    /// -(1 + alpha (|v| - |u|)) d(u, v) with the norms in the ball: Nickel & Kiela 2017, eq. 8.
    Norm,
    /// Minus the angle by which u is outside of the entailment cone at v: Ganea et al. 2018.
    Cone,
    /// Minus the distance by which u is outside of the umbral shadow cone at v, in half-space.
    Umbral,
    /// The same for penumbral shadow cones.
    Penumbral,
}

/// How well pairs are classified.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Classification {
    /// The score.
    pub score: IsAScore,
    /// The least score of the pairs that are classified as true.
    pub threshold: f64,
    /// The share of the pairs classified as true that is true.
    pub precision: f64,
    /// The share of the true pairs that is classified as true.
    pub recall: f64,
    /// The harmonic mean of precision and recall.
    pub f1: f64,
    /// Number of true pairs that were classified.
    pub true_pairs: u64,
    /// Number of wrong pairs that were classified.
    pub wrong_pairs: u64,
}

/// How pairs are classified.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The score.
    pub score: IsAScore,
    /// The factor of the difference of norms in [`IsAScore::Norm`].
    pub alpha: f64,
    /// The size of cones; `None` for that of the training's default.
    pub cone_size: Option<f64>,
    /// Seed of the draws.
    pub seed: u64,
}

impl std::fmt::Display for IsAScore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("no score is skipped").get_name())
    }
}

impl IsAScore {
    /// The loss whose energy, negated, is the score.
    fn loss(self) -> Loss {
        match self {
            IsAScore::Distance | IsAScore::Norm => Loss::Ranking,
            IsAScore::Cone => Loss::Cones,
            IsAScore::Umbral => Loss::Umbral,
            IsAScore::Penumbral => Loss::Penumbral,
        }
    }
}

/// At most this many pairs are classified; of more a sample.
const PAIRS: usize = 100_000;

/// Number of wrong pairs for each end of a true pair.
const WRONG: usize = 5;

/// How often a node is drawn for a wrong pair. If all of these would make true pairs, it has none.
const TRIES: usize = 100;

/// Number of pairs whose wrong pairs a thread draws and scores together.
const TOGETHER: usize = 1024;

/// The points of an embedding, whose pairs are scored.
pub(crate) struct Scorer<'a> {
    points: &'a Tensor<f64>,
    geometry: Geometry,
    options: Options,
    objective: Objective,
    /// The norm of each point in the ball, or in Euclidean space.
    norms: Vec<f64>,
}

/// Classifies the pairs of a graph and wrong ones. Node i is the point `points_of[i]`; a pair of `known` is
/// not wrong. `None` for fewer than two pairs, of which one is needed to find the threshold.
///
/// # Errors
/// If the geometry has no such score.
pub fn classify(
    points: &Tensor<f64>,
    geometry: Geometry,
    points_of: &[u32],
    pairs: &[(u32, u32)],
    known: &Neighbours,
    options: Options,
) -> Result<Option<Classification>> {
    let Options { score, seed, .. } = options;
    let scorer = Scorer::new(points, geometry, options)?;
    let drawn = index::sample(&mut rng::stream(seed, "is-a", 0), pairs.len(), pairs.len().min(PAIRS));
    let drawn: Vec<(u32, u32)> = drawn.into_iter().map(|i| pairs[i]).collect();
    let (tuning, test) = drawn.split_at(drawn.len() / 2);
    if tuning.is_empty() {
        return Ok(None);
    }
    let of_half = |half: &[(u32, u32)], number| scores(&scorer, points_of, half, known, [seed, number]);
    let threshold = best_threshold(of_half(tuning, 1));
    let mut confusion = Confusion::new(2);
    for (score, is_true) in of_half(test, 2) {
        confusion.add(u32::from(is_true), u32::from(score >= threshold));
    }
    Ok(Some(Classification {
        score,
        threshold,
        precision: confusion.precision(1),
        recall: confusion.recall(1),
        f1: confusion.f1(1),
        true_pairs: confusion.counts[1].iter().sum(),
        wrong_pairs: confusion.counts[0].iter().sum(),
    }))
}

/// The norms of points in the ball of the same curvature, tanh(√c r/2)/√c at a distance r from the
/// origin; where there is no such ball r itself.
fn norms(points: &Tensor<f64>, geometry: Geometry) -> Vec<f64> {
    let root = geometry.single().map_or(0.0, |space| (-space.kappa()).max(0.0).sqrt());
    let norm = |r: f64| if root > 0.0 { (root * r / 2.0).tanh() / root } else { r };
    depths(geometry, points).into_iter().map(norm).collect()
}

/// The scores of true pairs and of wrong ones that are drawn for them, and whether the pair is true.
fn scores(
    scorer: &Scorer<'_>,
    points_of: &[u32],
    pairs: &[(u32, u32)],
    known: &Neighbours,
    [seed, half]: [u64; 2],
) -> Vec<(f64, bool)> {
    let of_chunk = |(chunk, pairs): (usize, &[(u32, u32)])| {
        let mut rng = rng::stream(seed, "is-a", 2 * (1 + chunk as u64) + half - 1);
        let mut all: Vec<(u32, u32)> = pairs.to_vec();
        for &(u, v) in pairs {
            for end in (0..2 * WRONG).map(|i| i % 2) {
                let mut draw = || {
                    let w = rng.random_range(0..points_of.len() as u32);
                    if end == 0 { (u, w) } else { (w, v) }
                };
                let is_wrong = |&(u, v): &(u32, u32)| u != v && !known.contains(u, v);
                all.extend((0..TRIES).map(|_| draw()).find(is_wrong));
            }
        }
        let scores = scorer.scores(all.iter().map(|&(u, v)| [u, v].map(|node| points_of[node as usize])));
        scores.into_iter().enumerate().map(|(i, score)| (score, i < pairs.len())).collect::<Vec<_>>()
    };
    pairs.par_chunks(TOGETHER).enumerate().flat_map_iter(of_chunk).collect()
}

impl<'a> Scorer<'a> {
    /// # Errors
    /// If the geometry has no such score, or the size of cones is not positive.
    pub(crate) fn new(points: &'a Tensor<f64>, geometry: Geometry, options: Options) -> Result<Self> {
        let objective = Objective::new(options.score.loss(), options.cone_size, None);
        let misfit = |message| AppError::usage(format!("--score {}: {message}", options.score));
        objective.fits(geometry).map_err(misfit)?;
        if let Some(size) = options.cone_size {
            positive(&[("cone-size", size)])?;
        }
        Ok(Scorer { points, geometry, options, objective, norms: norms(points, geometry) })
    }

    /// The scores of pairs of points.
    pub(crate) fn scores(&self, pairs: impl Iterator<Item = [u32; 2]>) -> Vec<f64> {
        let (below, above): (Vec<u32>, Vec<u32>) = pairs.map(|[u, v]| (u, v)).unzip();
        let [x, y] = [&below, &above].map(|numbers| gathered(self.points, numbers));
        match self.options.score {
            IsAScore::Distance => distances(self.geometry, &x, &y).iter().map(|d| -d).collect(),
            IsAScore::Norm => {
                let norm = |&i: &u32| self.norms[i as usize];
                let excess = above.iter().zip(&below).map(|(v, u)| norm(v) - norm(u));
                let distances = distances(self.geometry, &x, &y);
                distances
                    .iter()
                    .zip(excess)
                    .map(|(d, excess)| -(1.0 + self.options.alpha * excess) * d)
                    .collect()
            }
            IsAScore::Cone | IsAScore::Umbral | IsAScore::Penumbral => {
                let tape = Tape::new();
                let [below, above] = [&x, &y].map(|points| tape.constant(points));
                let space = self.geometry.single().expect("the loss fits the space");
                let energies = self.objective.energy(space, &above, &below).expect("the loss has an energy");
                energies.to_tensor().data().iter().map(|energy| -energy).collect()
            }
        }
    }
}

/// The threshold with the best F1: pairs with at least this score are classified as true. Of equally good
/// ones the largest.
fn best_threshold(mut scores: Vec<(f64, bool)>) -> f64 {
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let all = scores.iter().filter(|(_, is_true)| *is_true).count();
    let (mut found, mut taken, mut best) = (0, 0, (0.0, f64::INFINITY));
    for equal in scores.chunk_by(|a, b| a.0 == b.0) {
        found += equal.iter().filter(|(_, is_true)| *is_true).count();
        taken += equal.len();
        let f1 = 2.0 * found as f64 / (all + taken) as f64;
        if f1 > best.0 {
            best = (f1, equal[0].0);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Builder, Graph};
    use cotangent_apps_common::geometry::SpaceModel;

    #[test]
    fn the_best_threshold_by_hand() {
        let scores = |truths: &[(f64, bool)]| best_threshold(truths.to_vec());
        assert_eq!(scores(&[(1.0, false), (3.0, true), (2.0, true), (0.5, false)]), 2.0);
        // Two true ones of three (F1 0.8), before one of one (F1 2/3) and all of six (2/3).
        let mixed = [(5.0, true), (4.0, false), (4.0, true), (1.0, false), (0.0, false), (0.0, false)];
        assert_eq!(scores(&mixed), 4.0);
        assert_eq!(scores(&[(1.0, false), (1.0, true)]), 1.0);
    }

    /// The closure of a binary tree, and its layout in the disk: level by level, children near their parent.
    fn tree(kappa: f64) -> (Graph, Tensor<f64>) {
        let mut builder = Builder::default();
        builder.add("2", "1", None);
        for i in 3..128_u32 {
            let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
            ancestors.for_each(|a| builder.add(&i.to_string(), &a.to_string(), None));
        }
        let graph = builder.finish();
        let place = |name: &str| {
            let i: u32 = name.parse().unwrap();
            let level = i.ilog2();
            let angle = std::f64::consts::TAU * (f64::from(i) + 0.5) / f64::from(1 << level);
            let radius = (0.6 * f64::from(level) / 2.0).tanh() / (-kappa).sqrt();
            [radius * angle.cos(), radius * angle.sin()]
        };
        let points = Tensor::new([127, 2], graph.names.iter().flat_map(place).collect());
        (graph, points)
    }

    fn classified(
        points: &Tensor<f64>,
        geometry: Geometry,
        graph: &Graph,
        score: IsAScore,
    ) -> Classification {
        let identity: Vec<u32> = (0..graph.names.len() as u32).collect();
        let known = graph.neighbours();
        let options = Options { score, alpha: 1.0, cone_size: None, seed: 5 };
        classify(points, geometry, &identity, &graph.pairs, &known, options).unwrap().unwrap()
    }

    #[test]
    fn directed_scores_find_the_pairs_of_a_tree() {
        for kappa in [-1.0, -0.3] {
            let (graph, points) = tree(kappa);
            let ball = Geometry::new(SpaceModel::Poincare, Some(vec![kappa])).unwrap();
            let [distance, norm, cone] = [IsAScore::Distance, IsAScore::Norm, IsAScore::Cone]
                .map(|score| classified(&points, ball, &graph, score));
            assert!(norm.f1 > distance.f1 + 0.02 && cone.f1 > 0.9, "{distance:?}\n{norm:?}\n{cone:?}");
            let shares = cone.precision * cone.recall;
            assert!((cone.f1 - 2.0 * shares / (cone.precision + cone.recall)).abs() < 1e-12);
            assert_eq!(cone.true_pairs, graph.pairs.len().div_ceil(2) as u64);
            // The root is above all, so that (u', root) is never wrong.
            assert!((8 * cone.true_pairs..10 * cone.true_pairs).contains(&cone.wrong_pairs), "{cone:?}");

            // The same points on the hyperboloid.
            let to_hyperboloid = |row: &[f64]| {
                let m = 1.0 + kappa * (row[0] * row[0] + row[1] * row[1]);
                [(2.0 - m) / m / (-kappa).sqrt(), 2.0 * row[0] / m, 2.0 * row[1] / m]
            };
            let lifted = Tensor::new([127, 3], points.rows().flat_map(to_hyperboloid).collect());
            let hyperboloid = Geometry::new(SpaceModel::Lorentz, Some(vec![kappa])).unwrap();
            for found in [distance, norm, cone] {
                let lifted = classified(&lifted, hyperboloid, &graph, found.score);
                assert!((lifted.f1 - found.f1).abs() < 0.01, "{lifted:?}\n{found:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_classified() {
        let geometry = Geometry::new(SpaceModel::Euclidean, None).unwrap();
        let points = Tensor::new([3, 1], vec![0.0, 1.0, 2.0]);
        let classify = |pairs: &[(u32, u32)], score| {
            let options = Options { score, alpha: 1000.0, cone_size: None, seed: 1 };
            classify(
                &points,
                geometry,
                &[0, 1, 2],
                pairs,
                &Neighbours::new(3, || pairs.iter().copied()),
                options,
            )
        };
        assert_eq!(classify(&[(0, 1)], IsAScore::Norm).unwrap(), None);
        assert!(
            classify(&[(0, 1)], IsAScore::Cone)
                .unwrap_err()
                .to_string()
                .contains("these cones need --model poincare or lorentz")
        );
        assert!(classify(&[(0, 1), (1, 2)], IsAScore::Norm).unwrap().is_some());
    }
}

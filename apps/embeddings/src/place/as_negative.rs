//! The part of the ranking loss in which a new node is a negative sample of known pairs. It keeps the node
//! away from those that are not its neighbours.

use cotangent::engine::{OneToMany, Tiles};
use cotangent::layers::loss;
use cotangent::prelude::*;
use rand::RngExt;

use crate::train::negatives::Sampler;
use crate::train::step::Formulas;

/// Some known pairs (u, v). A further negative sample x adds `ln(1 + e^{−d(u,x)}/S)` to the loss of such a
/// pair, where S is the sum of `e^{−d}` over v and the negative samples that the pair has already.
pub(crate) struct KnownPairs {
    /// For each pair, u and ln S.
    heads: Vec<(u32, f64)>,
    /// How often a node is drawn as a negative sample in an epoch of training.
    draws: f64,
}

/// The largest number of pairs.
const PAIRS: usize = 2048;

/// Number of pairs in a step.
const IN_STEP: usize = 32;

impl KnownPairs {
    /// Draws from the pairs that have number `first` or a higher one, which are pairs of the first `known`
    /// nodes. The rows of `table` are the nodes' points. `None` if there are no such pairs.
    pub(crate) fn new<T: Float>(
        formulas: &Formulas,
        sampler: &Sampler<'_>,
        table: &[T],
        [first, known]: [usize; 2],
        width: usize,
        rng: &mut rng::Rng,
    ) -> Option<Self> {
        let pairs = sampler.graph.pairs.len() - first;
        if pairs == 0 {
            return None;
        }
        let row = |node: u32| &table[node as usize * width..][..width];
        let mut distances = OneToMany::<T>::new(formulas.distance.clone());
        let (mut rows, mut candidates) = (Tiles::new(width), vec![0; sampler.candidates()]);
        let mut slopes = vec![0.0; candidates.len()];
        let mut draw = || {
            let pair = (first + rng.random_range(0..pairs)) as u32;
            sampler.draw(pair, rng, &mut candidates);
            rows.clear();
            candidates.iter().for_each(|&node| rows.push(row(node)));
            let (u, _) = sampler.graph.pairs[pair as usize];
            let distances = distances.numbers(row(u), &rows);
            // The loss is d(u, v) + ln S.
            (u, loss::ranking_with_gradient(distances, &mut slopes) - distances[0])
        };
        let heads = (0..PAIRS.min(pairs)).map(|_| draw()).collect();
        Some(KnownPairs { heads, draws: (pairs * (sampler.candidates() - 1)) as f64 / known as f64 })
    }
}

/// What one thread needs to find the gradients of new nodes as negative samples.
pub(crate) struct AsNegative<'a, T> {
    known: &'a KnownPairs,
    sampler: &'a Sampler<'a>,
    /// The points of all nodes.
    table: &'a [T],
    distances: OneToMany<T>,
    rows: Tiles,
    of_rows: Tiles,
    /// ln S of the pairs of a step, and the derivatives of the loss by the distances.
    sums: Vec<f64>,
    weights: Vec<f64>,
    /// The gradient for the node.
    gradient: Vec<f64>,
}

impl<'a, T: Float> AsNegative<'a, T> {
    pub(crate) fn new(
        known: &'a KnownPairs,
        formulas: &Formulas,
        sampler: &'a Sampler<'a>,
        table: &'a [T],
        width: usize,
    ) -> Self {
        AsNegative {
            known,
            sampler,
            table,
            distances: OneToMany::new(formulas.distance.clone()),
            rows: Tiles::new(width),
            of_rows: Tiles::new(width),
            sums: Vec::new(),
            weights: Vec::new(),
            gradient: vec![0.0; width],
        }
    }

    /// Draws known pairs for a step of a node.
    pub(crate) fn draw(&mut self, node: u32, rng: &mut rng::Rng) {
        let (width, heads) = (self.gradient.len(), &self.known.heads);
        self.rows.clear();
        self.sums.clear();
        for _ in 0..IN_STEP {
            let (u, sum) = heads[rng.random_range(0..heads.len())];
            if !self.sampler.neighbours.contains(u, node) {
                self.rows.push(&self.table[u as usize * width..][..width]);
                self.sums.push(sum);
            }
        }
    }

    /// The gradient for a node at `point` as a negative sample of the pairs that were drawn, for a step by
    /// one of its own `pairs` pairs. Over as many steps, the node is a negative sample as often as in an
    /// epoch of training.
    pub(crate) fn gradient(&mut self, pairs: usize, point: &[T]) -> &[f64] {
        let distances = self.distances.numbers(point, &self.rows);
        let share = self.known.draws / (IN_STEP * pairs) as f64;
        self.weights.clear();
        // e^{−d}/(S + e^{−d}).
        self.weights
            .extend(distances.iter().zip(&self.sums).map(|(d, sum)| -share / (1.0 + (d + sum).exp())));
        self.distances.gradients(&self.rows, &self.weights, &mut self.gradient, &mut self.of_rows);
        &self.gradient
    }
}

#[cfg(test)]
mod tests {
    use cotangent_apps_common::geometry::{Geometry, SpaceModel};

    use super::*;
    use crate::graph::Builder;
    use crate::train::negatives::Negatives;
    use crate::train::step::Move;

    /// Three known nodes with the pairs (a, b) and (b, c), and a new node x below c: with one negative
    /// sample, that of (a, b) is c and that of (b, c) is a.
    #[test]
    fn the_gradient_is_that_of_the_loss_of_known_pairs() {
        for model in [SpaceModel::Poincare, SpaceModel::Lorentz] {
            let m = Geometry::new(model, None).unwrap().manifold();
            let mut rng = rng::stream(7, 0, 0);
            let width = m.ambient(2);
            let table: Vec<f64> =
                (0..4).flat_map(|_| m.random_point::<f64>(2, 2.0, &mut rng).to_vec()).collect();
            let mut builder = Builder::default();
            [("x", "c"), ("a", "b"), ("b", "c")].iter().for_each(|(u, v)| builder.add(u, v, None));
            let mut graph = builder.finish();
            // The known nodes come first: a, b, c, x.
            let place = |name: &str| ["a", "b", "c", "x"].iter().position(|x| *x == name).unwrap() as u32;
            let places: Vec<u32> = graph.names.iter().map(place).collect();
            graph.pairs.iter_mut().for_each(|(u, v)| (*u, *v) = (places[*u as usize], places[*v as usize]));
            let sampler = Sampler::new(&graph, 1, Negatives::Own(1), 0.0).among_first(3);
            let formulas = Formulas::new(&m, width, 1.0, Move::Exp).unwrap();
            let known = KnownPairs::new(&formulas, &sampler, &table, [1, 3], width, &mut rng).unwrap();
            let distance =
                |x: &[f64], y: usize| m.dist(&Row::from(x), &Row::from(&table[y * width..][..width]));
            let row = |node: usize| &table[node * width..][..width];
            for &(u, sum) in &known.heads {
                let others = if u == 0 { [1, 2] } else { [2, 0] };
                let want = others.map(|v| (-distance(row(u as usize), v)).exp()).iter().sum::<f64>().ln();
                assert!((sum - want).abs() < 1e-13, "{model}: {sum} {want}");
            }
            assert!(known.heads.iter().all(|head| head.0 < 2) && known.draws == 2.0 / 3.0);

            let (point, draws) = (row(3), rng.clone());
            let mut as_negative = AsNegative::new(&known, &formulas, &sampler, &table, width);
            as_negative.draw(3, &mut rng);
            let gradient = as_negative.gradient(5, point).to_vec();
            // The same for the pairs that were drawn, in f64, by the formula of the loss.
            let loss = |point: &[f64]| {
                let mut draws = draws.clone();
                let pairs = (0..IN_STEP).map(|_| known.heads[draws.random_range(0..known.heads.len())]);
                let losses = pairs.map(|(u, sum)| (1.0 + (-distance(point, u as usize) - sum).exp()).ln());
                known.draws / (5.0 * IN_STEP as f64) * losses.sum::<f64>()
            };
            for i in 0..width {
                let moved = |h: f64| {
                    let mut point = point.to_vec();
                    point[i] += h;
                    loss(&point)
                };
                let want = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((gradient[i] - want).abs() < 1e-8, "{model}: {gradient:?} {i} {want}");
            }
        }
    }
}

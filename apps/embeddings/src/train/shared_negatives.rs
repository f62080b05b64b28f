//! The ranking loss of pairs whose negative samples are those of the whole batch, without a tape. The
//! formulas are those of the tape.

use cotangent::engine::{ManyToMany, PairSide, RowNumbers, Tiles};
use cotangent::layers::loss;
use cotangent::prelude::*;

use crate::train::all_pairs::AllPairs;
use crate::train::batch::Batch;
use crate::train::negatives::Sampler;
use crate::train::operands::Operands;
use crate::train::step::{BatchLoss, Formulas};

/// Ranking losses with shared negative samples. The nodes of a batch are the negative samples, the first
/// nodes of the pairs (the heads) twice, for their two gradients, and the second nodes.
pub(crate) struct SharedNegatives<T: Float> {
    sign: f64,
    distance: RowNumbers<T>,
    operands: Operands<T>,
    all_pairs: ManyToMany<T>,
    /// The points of negative samples and heads.
    points: Vec<T>,
    /// The heads' and the second nodes' points, and the gradients of their distances.
    ends: [Tiles; 2],
    end_gradients: [Tiles; 2],
    /// The heads and the negatives as the formula of all pairs takes them, and their gradients.
    sides: [PairSide<T>; 2],
    side_gradients: [PairSide<T>; 2],
    weights: Vec<f64>,
    /// The distances of a pair's candidates, and the derivatives of its loss by these.
    distances: Vec<T>,
    slopes: Vec<T>,
    gradients: Vec<f64>,
}

impl<T: Float> SharedNegatives<T> {
    pub(crate) fn new(formulas: &Formulas, all_pairs: &AllPairs) -> Self {
        let tiles = || Tiles::new(formulas.width);
        SharedNegatives {
            sign: all_pairs.sign,
            distance: RowNumbers::new(formulas.distance.clone()),
            operands: Operands::new(all_pairs, formulas.width),
            all_pairs: ManyToMany::new(all_pairs.formula, &all_pairs.params),
            points: Vec::new(),
            ends: [tiles(), tiles()],
            end_gradients: [tiles(), tiles()],
            sides: [PairSide::default(), PairSide::default()],
            side_gradients: [PairSide::default(), PairSide::default()],
            weights: Vec::new(),
            distances: Vec::new(),
            slopes: Vec::new(),
            gradients: Vec::new(),
        }
    }
}

impl<T: Float> BatchLoss<T> for SharedNegatives<T> {
    type Gradient = f64;

    fn nodes(&self, sampler: &Sampler<'_>, pairs: &[u32], drawn: &[u32], nodes: &mut Vec<u32>) {
        let ends =
            |end: fn(&(u32, u32)) -> u32| pairs.iter().map(move |&p| end(&sampler.graph.pairs[p as usize]));
        nodes.extend(drawn);
        (0..2).for_each(|_| nodes.extend(ends(|pair| pair.0)));
        nodes.extend(ends(|pair| pair.1));
    }

    fn loss(&mut self, sampler: &Sampler<'_>, pairs: &[u32], batch: &Batch<T>) -> f64 {
        let (width, negatives) = (batch.width(), batch.len() - 3 * pairs.len());
        for (end, points) in self.ends.iter_mut().zip([1, 2]) {
            let first = negatives + points * pairs.len();
            end.clear();
            (first..first + pairs.len()).for_each(|occurrence| end.push(batch.row(occurrence)));
        }
        self.points.clear();
        (0..negatives + pairs.len()).for_each(|occurrence| self.points.extend(batch.row(occurrence)));
        let [left, right] = &mut self.sides;
        let made = self.operands.make(&self.points, width, negatives, [right, left]);
        let [u, v] = &self.ends;
        let positives = self.distance.numbers(&[u, v]);
        self.weights.resize(pairs.len(), 0.0);
        self.distances.resize(1 + negatives, T::zero());
        self.slopes.resize(1 + negatives, T::zero());
        let (weights, distances, distance_slopes) =
            (&mut self.weights, &mut self.distances, &mut self.slopes);
        let (sign, mut total) = (T::nearest(self.sign), 0.0);
        let [left, right] = &self.sides;
        let formula_width = left.rows.len() / pairs.len();
        self.all_pairs.gradients(
            [left, right],
            formula_width,
            &mut self.side_gradients,
            &mut |i, scores, slopes| {
                distances[0] = T::nearest(positives[i]);
                distances[1..].iter_mut().zip(scores).for_each(|(distance, score)| *distance = *score * sign);
                // Neighbours of the head, and the head itself, do not count.
                let head = sampler.graph.pairs[pairs[i] as usize].0;
                for &node in sampler.neighbours.of(head).iter().chain([&head]) {
                    let occurrences = batch.number(node).into_iter().flat_map(|n| batch.occurrences(n));
                    for column in occurrences.take_while(|&column| column < negatives) {
                        distances[1 + column] = T::nearest(f64::INFINITY);
                    }
                }
                let factor = sampler.factor::<T>(pairs[i]);
                total += factor * loss::ranking_with_gradient(distances, distance_slopes);
                weights[i] = factor * distance_slopes[0].to_f64();
                let factor = T::nearest(factor) * sign;
                slopes.iter_mut().zip(&distance_slopes[1..]).for_each(|(slope, x)| *slope = *x * factor);
            },
        );
        let [head_gradients, second_gradients] = &mut self.end_gradients;
        self.distance.gradients(&[u, v], weights, &mut [head_gradients, second_gradients]);
        let [left, right] = &self.side_gradients;
        made.gradients([right, left], &mut self.gradients);
        let start = self.gradients.len();
        self.gradients.resize(batch.len() * width, 0.0);
        let rows = self.gradients[start..].chunks_exact_mut(pairs.len() * width);
        for (end, rows) in self.end_gradients.iter().zip(rows) {
            rows.chunks_exact_mut(width).enumerate().for_each(|(i, row)| end.read(i, row));
        }
        total
    }

    fn gradients(&self) -> &[f64] {
        &self.gradients
    }
}

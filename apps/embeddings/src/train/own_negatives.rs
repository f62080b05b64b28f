//! Losses of distances of pairs with negative samples of their own, without a tape: one pass over the
//! candidates of each pair finds distances, loss and gradients. The formulas are those of the tape.

use std::ops::Range;

use cotangent::engine::{OneToMany, Tiles};
use cotangent::prelude::*;
use rayon::prelude::*;

use crate::train::batch::Batch;
use crate::train::negatives::Sampler;
use crate::train::objective::DistanceLoss;
use crate::train::step::{BatchLoss, Formulas, Threads};

/// Pairs of a batch that one thread takes together.
const TOGETHER: usize = 4;

/// Losses of distances with own negative samples. The nodes of a pair are its candidates (the second node and
/// the negative samples), then its first node.
pub(crate) struct OwnNegatives<T> {
    formulas: Formulas,
    threads: Threads,
    distance_loss: DistanceLoss,
    passes: Vec<Pass<T>>,
    /// A row for each node of each pair.
    gradients: Vec<T>,
}

/// What one thread needs.
struct Pass<T> {
    distance_loss: DistanceLoss,
    distances: OneToMany<T>,
    /// The candidates' points, and the gradients for them.
    rows: Tiles,
    row_gradients: Tiles,
    /// The gradient for the pair's first node.
    first_gradient: Vec<f64>,
    /// The derivatives of the loss by the distances.
    weights: Vec<f64>,
    /// The loss, summed over the pairs that are taken together.
    loss: f64,
}

impl<T: Float> OwnNegatives<T> {
    pub(crate) fn new(formulas: &Formulas, threads: Threads, distance_loss: DistanceLoss) -> Self {
        let (passes, gradients) = (Vec::new(), Vec::new());
        OwnNegatives { formulas: formulas.clone(), threads, distance_loss, passes, gradients }
    }
}

impl<T: Float> BatchLoss<T> for OwnNegatives<T> {
    type Gradient = T;

    fn nodes(&self, sampler: &Sampler<'_>, pairs: &[u32], drawn: &[u32], nodes: &mut Vec<u32>) {
        for (&pair, candidates) in pairs.iter().zip(drawn.chunks_exact(sampler.candidates())) {
            nodes.extend(candidates);
            nodes.push(sampler.graph.pairs[pair as usize].0);
        }
    }

    fn loss(&mut self, sampler: &Sampler<'_>, pairs: &[u32], batch: &Batch<T>) -> f64 {
        let OwnNegatives { formulas, threads, distance_loss, passes, gradients } = self;
        let (width, count) = (batch.width(), sampler.candidates() + 1);
        let together = pairs.len().div_ceil(TOGETHER);
        while passes.len() < together {
            passes.push(Pass::new(formulas, *distance_loss));
        }
        gradients.resize(pairs.len() * count * width, T::zero());
        let passes = &mut passes[..together];
        let row = TOGETHER * count * width;
        if together > 1 && *threads == Threads::Pool {
            let jobs =
                passes.par_iter_mut().zip(pairs.par_chunks(TOGETHER)).zip(gradients.par_chunks_mut(row));
            jobs.enumerate().for_each(|(i, ((pass, pairs), gradients))| {
                pass.take(sampler, batch, pairs, i * TOGETHER * count, gradients);
            });
        } else {
            let jobs = passes.iter_mut().zip(pairs.chunks(TOGETHER)).zip(gradients.chunks_mut(row));
            jobs.enumerate().for_each(|(i, ((pass, pairs), gradients))| {
                pass.take(sampler, batch, pairs, i * TOGETHER * count, gradients);
            });
        }
        passes.iter().map(|pass| pass.loss).sum()
    }

    fn gradients(&self) -> &[T] {
        &self.gradients
    }
}

impl<T: Float> Pass<T> {
    fn new(formulas: &Formulas, distance_loss: DistanceLoss) -> Self {
        let width = formulas.width;
        Pass {
            distance_loss,
            distances: OneToMany::new(formulas.distance.clone()),
            rows: Tiles::new(width),
            row_gradients: Tiles::new(width),
            first_gradient: vec![0.0; width],
            weights: Vec::new(),
            loss: 0.0,
        }
    }

    /// Finds the loss of some pairs and writes their gradients. Their nodes are the occurrences of the batch
    /// from this one on.
    fn take(
        &mut self,
        sampler: &Sampler<'_>,
        batch: &Batch<T>,
        pairs: &[u32],
        mut occurrence: usize,
        gradients: &mut [T],
    ) {
        self.loss = 0.0;
        let count = sampler.candidates() + 1;
        for (&pair, gradients) in pairs.iter().zip(gradients.chunks_exact_mut(count * batch.width())) {
            self.add(batch, occurrence..occurrence + count, sampler.factor::<T>(pair), gradients);
            occurrence += count;
        }
    }

    /// Adds the loss of a pair, times `factor`, and writes the gradients of its nodes, which are these
    /// `occurrences` of the batch.
    fn add(&mut self, batch: &Batch<T>, occurrences: Range<usize>, factor: f64, gradients: &mut [T]) {
        let width = batch.width();
        let first = occurrences.end - 1;
        self.rows.clear();
        (occurrences.start..first).for_each(|candidate| self.rows.push(batch.row(candidate)));
        let distances = self.distances.numbers(batch.row(first), &self.rows);
        self.weights.resize(distances.len(), 0.0);
        self.loss += factor * self.distance_loss.with_gradient(distances, &mut self.weights);
        if factor != 1.0 {
            self.weights.iter_mut().for_each(|weight| *weight *= factor);
        }
        self.distances.gradients(
            &self.rows,
            &self.weights,
            &mut self.first_gradient,
            &mut self.row_gradients,
        );
        let (candidate_gradients, first_gradient) = gradients.split_at_mut(gradients.len() - width);
        for (j, gradient) in candidate_gradients.chunks_exact_mut(width).enumerate() {
            self.row_gradients.read(j, gradient);
        }
        first_gradient.iter_mut().zip(&self.first_gradient).for_each(|(to, &x)| *to = T::nearest(x));
    }
}

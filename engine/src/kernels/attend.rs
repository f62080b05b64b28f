//! The `attend` kernel: `weights(scores) V`, tile by tile. The n × m scores are never stored.
//!
//! A tile is some rows of queries against some rows of keys, small enough for the cache. The softmax is
//! computed as the tiles go by, with the largest score so far (Dao et al. 2022, FlashAttention,
//! algorithm 1). The forward pass keeps one number per row, the logarithm of its softmax's denominator.
//! The reverse pass recomputes the scores, and the weights from that number. Memory is linear in n. Any
//! [`PairFormula`](crate::PairFormula) can be the score.

use std::ops::Range;

use smallvec::SmallVec;

use crate::kernels::dropout::Dropout;
use crate::kernels::gemm::{Matrix, Onto, Panels, serial};
use crate::kernels::map::Elements;
use crate::kernels::pair::{
    Gradients, Job, PairKernel, Part, Right, Sizes, entries, even_steps, gradient, pieces, sizes, with_right,
};
use crate::numbers::line::{
    self, line_exp, line_exp_m1, line_log_sigmoid, line_max, line_sigmoid, line_sigmoid_with_slope,
    line_total,
};
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::simd::{Block, dispatch, dispatch_blocks};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View, shapes};

/// How attention turns scores into weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// `softmax` over the keys.
    Softmax,
    /// The logistic function of each score by itself. Gulcehre et al. 2019, section 4.2.
    Sigmoid,
    /// The logistic function of each score, divided by its sum over the keys: a softmax of ln σ(score).
    /// Computed from the logarithms, so it does not matter how small σ is.
    NormalisedSigmoid,
}

/// Attention. Inputs: queries `[…, n, d]`, keys `[…, m, d]`, numbers of the queries, numbers of the keys,
/// parameters of the score, what is hidden if `masked`, and last the values `[…, m, e]`. The result is
/// `[…, n, e]`.
pub(crate) struct Attend<T: Storage> {
    pub(crate) score: &'static dyn PairKernel<T>,
    pub(crate) weights: Weights,
    pub(crate) causal: bool,
    /// Whether an input that broadcasts to `[…, n, m]` hides the keys where it is not 0.
    pub(crate) masked: bool,
    /// Dropout, `[…, n, m]`. Its numbers are not stored: each pass finds them again.
    pub(crate) dropout: Option<Box<Dropout>>,
    /// What is dropped.
    pub(crate) dropped: Dropped,
}

/// What dropout of attention drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// Weights, which become 0. The others become larger, so that the expected value of each stays the same.
    Weights,
    /// Keys, before weights are normalised: the weights of the others sum to 1. DropKey, Li et al. 2023.
    Keys,
}

/// The inputs of attention.
pub(crate) struct Inputs<'a, S> {
    /// Those of the score.
    pub(crate) scored: &'a [S],
    pub(crate) hidden: Option<&'a S>,
    pub(crate) values: &'a S,
}

/// How many of m keys query `i` of n attends to if attention is causal: those up to i + m − n.
pub(crate) fn causal_reach(i: usize, n: usize, m: usize) -> usize {
    (i + 1 + m).saturating_sub(n).min(m)
}

/// `x ← x ∘ y`.
#[inline(always)]
fn multiply<T: Storage>(x: &mut [T], y: &[T]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = *x * *y;
    }
}

/// The keys that are hidden from queries, tile by tile.
struct Hidden<'a, T> {
    elements: Elements<'a, T>,
    /// The number of keys.
    m: usize,
}

impl<T: Storage> Hidden<'_, T> {
    /// Whether some keys are hidden from all of some queries, numbered among all queries.
    fn covers(&self, mut queries: Range<usize>, keys: &Range<usize>) -> bool {
        let mut copy = [T::zero(); KEYS];
        queries.all(|query| {
            let first = query * self.m;
            let hidden = self.elements.at(first + keys.start..first + keys.end, &mut copy);
            hidden.iter().all(|&hidden| hidden != T::zero())
        })
    }

    /// Lowers the scores of hidden keys to −∞, in a row of scores that begins at key `start`. `query` is
    /// the row's number among all queries.
    fn lower(&self, query: usize, start: usize, scores: &mut [T]) {
        let mut copy = [T::zero(); KEYS];
        let first = query * self.m + start;
        let hidden = self.elements.at(first..first + scores.len(), &mut copy);
        for (score, &hidden) in scores.iter_mut().zip(hidden) {
            if hidden != T::zero() {
                *score = T::nearest(f64::NEG_INFINITY);
            }
        }
    }
}

impl<T: Storage> Attend<T> {
    /// The dropout, if this is what it drops.
    pub(crate) fn dropout_of(&self, dropped: Dropped) -> Option<&Dropout> {
        self.dropout.as_deref().filter(|_| self.dropped == dropped)
    }

    pub(crate) fn split<'a, S>(&self, inputs: &'a [S]) -> Inputs<'a, S> {
        let (values, inputs) = inputs.split_last().expect("queries, keys, values");
        let (scored, hidden) = inputs.split_at(inputs.len() - usize::from(self.masked));
        Inputs { scored, hidden: hidden.first(), values }
    }

    pub(crate) fn sizes(&self, inputs: &[&Shape]) -> Result<(Sizes, usize, Shape), ShapeError> {
        let Inputs { scored, hidden, values } = self.split(inputs);
        let (s, shape) = sizes(scored, self.score.counts())?;
        if let Some(hidden) = hidden.filter(|hidden| Broadcast::new(hidden.axes(), shape.axes()).is_none()) {
            return Err(ShapeError::new(format!("mask {hidden} does not broadcast to the scores {shape}")));
        }
        if values.rows() != scored[1].rows() || scored[0].rank() != scored[1].rank() {
            let (q, k) = (scored[0], scored[1]);
            return Err(ShapeError::new(format!(
                "queries {q}, keys {k} and values {values} do not fit: […, n, d], […, m, d], […, m, e]"
            )));
        }
        let width = values.width();
        if width == 0 {
            return Err(ShapeError::new(format!("values {values} of no elements")));
        }
        let rows = shape.rows();
        Ok((s, width, rows.with_width(width)))
    }

    /// How many keys query `i` attends to.
    fn reach(&self, s: Sizes, i: usize) -> usize {
        if self.causal { causal_reach(i, s.n, s.m) } else { s.m }
    }

    /// The tiles of some queries: ranges of keys, up to the last key that one of the queries attends to.
    fn keys(&self, s: Sizes, queries: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<T> {
        let reach = self.reach(s, queries.end - 1);
        (0..reach).step_by(KEYS).map(move |start| start..reach.min(start + KEYS))
    }

    /// What is hidden, of all queries.
    fn hidden<'a>(&self, inputs: &[View<'a, T>], s: Sizes) -> Option<Hidden<'a, T>> {
        let Inputs { scored, hidden, .. } = self.split(inputs);
        let hidden = hidden?;
        let (_, shape) = sizes(&shapes(scored), self.score.counts()).expect("checked");
        let read = Broadcast::new(hidden.shape.axes(), shape.axes()).expect("checked");
        Some(Hidden { elements: Elements { data: hidden.data, read }, m: s.m })
    }

    /// Lowers the scores of keys that are hidden or dropped to −∞, in a row of scores that begins at key
    /// `start`. `query` is the row's number among all queries.
    fn lower(&self, hidden: Option<&Hidden<'_, T>>, s: Sizes, query: usize, start: usize, scores: &mut [T]) {
        if let Some(hidden) = hidden {
            hidden.lower(query, start, scores);
        }
        if let Some(dropout) = self.dropout_of(Dropped::Keys) {
            let mut numbers = [T::zero(); KEYS];
            let numbers = &mut numbers[..scores.len()];
            dropout.fill(query * s.m + start, numbers);
            for (score, &number) in scores.iter_mut().zip(&*numbers) {
                if number == T::zero() {
                    *score = T::nearest(f64::NEG_INFINITY);
                }
            }
        }
    }

    /// Scores of a tile, from its pairings.
    fn scores(
        &self,
        part: &Part<'_, T>,
        s: Sizes,
        queries: Range<usize>,
        keys: Range<usize>,
        scores: &mut [T],
    ) {
        self.score.score(&part.tile(queries.clone(), keys.clone()), scores);
        if self.causal {
            for (i, row) in queries.zip(scores.chunks_exact_mut(keys.len())) {
                let reach = self.reach(s, i).clamp(keys.start, keys.end);
                row[reach - keys.start..].fill(T::nearest(f64::NEG_INFINITY));
            }
        }
    }
}

/// About the number of queries of a tile in the forward pass. Its scores stay in a near cache.
const QUERIES: usize = 24;

/// The same in the reverse pass. More of them: the gradients of keys and values are read and written
/// once a tile.
const REVERSE_QUERIES: usize = 48;

/// Keys of a tile.
const KEYS: usize = 256;

/// The estimated time of a query in nanoseconds, for rows and values of `elements` elements together.
fn cost(s: Sizes, elements: usize) -> usize {
    1 + s.m * elements / 50
}

impl<T: Storage> Attend<T> {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(self.sizes(inputs)?.2)
    }

    /// For normalised weights, the logarithm of each row's denominator.
    pub(crate) fn kept_elements(&self, inputs: &[&Shape]) -> usize {
        inputs[0].rows().elements()
    }

    pub(crate) fn compute(&self, inputs: &[View<'_, T>], out: &mut [T], kept: &mut [T]) {
        let shapes = shapes(inputs);
        let (s, width, _) = self.sizes(&shapes).expect("checked");
        let Inputs { scored, values, .. } = self.split(inputs);
        let hidden = self.hidden(inputs, s);
        let (mut out, mut kept) = (out, kept);
        let mut jobs: SmallVec<[_; PIECES]> = pieces(s, PIECES, cost(s, s.width + width))
            .into_iter()
            .map(|rows| {
                let n = rows.len();
                (rows, split_front(&mut out, n * width), split_front(&mut kept, n))
            })
            .collect();
        parallel::run(&mut jobs, |(rows, out, kept)| {
            for (b, queries) in entries(s, rows.clone()) {
                let part = Part::new(scored, self.score.counts(), s, b, b * s.n..(b + 1) * s.n);
                let v = Matrix::new(&values.data[b * s.m * width..(b + 1) * s.m * width], s.m, width);
                with_right(self.score.pairing(), part.y, s.width, false, |right| {
                    Panels::with(v, |values| {
                        let entry = Entry { s, b, part: &part, right, values, hidden: hidden.as_ref() };
                        for queries in even_steps(queries, QUERIES) {
                            let out = split_front(out, queries.len() * width);
                            let logs = split_front(kept, queries.len());
                            self.forward_tiles(&entry, queries, out, logs);
                        }
                    });
                });
            }
        });
    }

    /// The forward pass of some queries of a batch entry.
    fn forward_tiles(&self, entry: &Entry<'_, '_, T>, queries: Range<usize>, out: &mut [T], logs: &mut [T]) {
        let &Entry { s, b, part, right, values, hidden } = entry;
        let n = queries.len();
        let width = out.len() / n;
        T::with_scratch(n * (KEYS.min(s.m) + 2), |scratch| {
            let (largest, scratch) = scratch.split_at_mut(n);
            let (sums, scores) = scratch.split_at_mut(n);
            out.fill(T::zero());
            largest.fill(T::nearest(f64::NEG_INFINITY));
            sums.fill(T::zero());
            for keys in self.keys(s, &queries) {
                let all = b * s.n + queries.start..b * s.n + queries.end;
                if hidden.is_some_and(|hidden| hidden.covers(all.clone(), &keys)) {
                    continue;
                }
                let scores = &mut scores[..n * keys.len()];
                right.pairings(part.left(queries.clone()), keys.clone(), scores);
                self.scores(part, s, queries.clone(), keys.clone(), scores);
                for (i, row) in all.clone().zip(scores.chunks_exact_mut(keys.len())) {
                    self.lower(hidden, s, i, keys.start, row);
                }
                let running = Running { weights: self.weights, largest, sums, out, width };
                dispatch_blocks!(S, (running, &mut *scores), |(running, scores)| running.take::<S>(scores));
                if let Some(dropout) = self.dropout_of(Dropped::Weights) {
                    let mut numbers = [T::zero(); KEYS];
                    let numbers = &mut numbers[..keys.len()];
                    for (i, row) in all.zip(scores.chunks_exact_mut(keys.len())) {
                        dropout.fill(i * s.m + keys.start, numbers);
                        multiply(row, numbers);
                    }
                }
                values.rows(keys.clone()).product(Matrix::new(scores, n, keys.len()), true, out);
            }
            match self.weights {
                Weights::Sigmoid => logs.fill(T::zero()),
                Weights::Softmax | Weights::NormalisedSigmoid => dispatch(
                    #[inline(always)]
                    || finish(largest, sums, out, width, logs),
                ),
            }
        });
    }

    pub(crate) fn pullback(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let shapes = shapes(inputs);
        let (s, width, _) = self.sizes(&shapes).expect("checked");
        let Inputs { scored, values, .. } = self.split(inputs);
        let hidden = self.hidden(inputs, s);
        let (dv, grads) = grads.split_last_mut().expect("of queries, keys, values");
        let (grads, of_mask) = grads.split_at_mut(scored.len());
        of_mask.iter_mut().flatten().for_each(|gradient| gradient.fill(T::zero()));
        let gradients =
            Gradients::new(grads, self.score.counts(), s.width).and_right(width, dv.as_deref_mut());
        gradients.in_jobs(s, cost(s, 3 * (s.width + width)), |job| {
            for (b, queries) in entries(s, job.rows.clone()) {
                let part = Part::new(scored, self.score.counts(), s, b, b * s.n..(b + 1) * s.n);
                let v = Matrix::new(&values.data[b * s.m * width..(b + 1) * s.m * width], s.m, width);
                with_right(self.score.pairing(), part.y, s.width, true, |right| {
                    Panels::with(v.transposed(), |values| {
                        let entry = Entry { s, b, part: &part, right, values, hidden: hidden.as_ref() };
                        for queries in even_steps(queries, REVERSE_QUERIES) {
                            let all = b * s.n + queries.start..b * s.n + queries.end;
                            let rows = ReverseRows {
                                g: &g[all.start * width..all.end * width],
                                out: &outcome.out[all.start * width..all.end * width],
                                logs: &outcome.kept[all],
                            };
                            self.reverse_tiles(&entry, queries, rows, job);
                        }
                    });
                });
            }
        });
    }

    /// The reverse pass of some queries of a batch entry.
    fn reverse_tiles(
        &self,
        entry: &Entry<'_, '_, T>,
        queries: Range<usize>,
        ReverseRows { g, out, logs }: ReverseRows<'_, T>,
        job: &mut Job<'_, T>,
    ) {
        let &Entry { s, b, part, right, values, hidden } = entry;
        let (n, size) = (queries.len(), queries.len() * KEYS.min(s.m));
        let width = g.len() / n;
        T::with_scratch(3 * size + n, |scratch| {
            let (pairs, scratch) = scratch.split_at_mut(size);
            let (weights, scratch) = scratch.split_at_mut(size);
            let (upstream, dots) = scratch.split_at_mut(size);
            for (dot, (g, out)) in dots.iter_mut().zip(g.chunks_exact(width).zip(out.chunks_exact(width))) {
                *dot = T::nearest(line::dot(g, out));
            }
            let ([mut numbers, mut memory], dropout) =
                ([[T::zero(); KEYS]; 2], self.dropout_of(Dropped::Weights));
            let (x, g) = (part.left(queries.clone()), Matrix::new(g, n, width));
            for keys in self.keys(s, &queries) {
                let all = b * s.n + queries.start..b * s.n + queries.end;
                if hidden.is_some_and(|hidden| hidden.covers(all.clone(), &keys)) {
                    continue;
                }
                let m = keys.len();
                let [pairs, weights, upstream] =
                    [&mut *pairs, &mut *weights, &mut *upstream].map(|x| &mut x[..n * m]);
                right.pairings(x, keys.clone(), pairs);
                values.columns(keys.clone()).product(g, false, upstream);
                let tile = part.tile(queries.clone(), keys.clone());
                job.on_tile(b, queries.clone(), keys.clone(), |row_grads, number_grads| {
                    gradient(self.score, &tile, pairs, upstream, number_grads, |i, at, scores, upstream| {
                        let reach = self.reach(s, queries.start + i).saturating_sub(keys.start + at);
                        let (reached, beyond) = scores.split_at(reach.min(scores.len()));
                        let (p, unreached) =
                            weights[i * m + at..][..scores.len()].split_at_mut(reached.len());
                        p.copy_from_slice(reached);
                        self.lower(hidden, s, all.start + i, keys.start + at, p);
                        unreached.fill(T::zero());
                        upstream[scores.len() - beyond.len()..].fill(T::zero());
                        let numbers = &mut numbers[..reached.len()];
                        if let Some(dropout) = dropout {
                            dropout.fill((all.start + i) * s.m + keys.start + at, numbers);
                            multiply(&mut upstream[..reached.len()], numbers);
                        }
                        let row = BackwardRow {
                            weights: self.weights,
                            log: logs[i],
                            dot: dots[i],
                            p,
                            u: &mut upstream[..reached.len()],
                            memory: &mut memory[..reached.len()],
                        };
                        dispatch_blocks!(row, |row| row.scores_gradient());
                        if dropout.is_some() {
                            multiply(&mut weights[i * m + at..][..reached.len()], numbers);
                        }
                    });
                    if let Some(dv) = row_grads.further {
                        serial(Matrix::new(weights, n, m).transposed(), g, Onto::Held, dv);
                    }
                    right.gradient(x, keys, pairs, upstream, row_grads.x, row_grads.y);
                });
            }
        });
    }
}

/// What all tiles of a batch entry have in common.
struct Entry<'a, 'p, T> {
    s: Sizes,
    /// The entry's number.
    b: usize,
    part: &'a Part<'p, T>,
    right: &'a Right<'a, T>,
    /// The values; transposed in the reverse pass.
    values: &'a Panels<'a, T>,
    hidden: Option<&'a Hidden<'a, T>>,
}

/// For some queries: result gradients, results, log-denominators.
struct ReverseRows<'a, T> {
    g: &'a [T],
    out: &'a [T],
    logs: &'a [T],
}

/// Weights of scores that come tile by tile, and their product with the values so far.
struct Running<'a, T> {
    weights: Weights,
    /// For normalised weights, of each row: the largest score (or ln σ of it), and the sum of
    /// `exp(score − largest)`.
    largest: &'a mut [T],
    sums: &'a mut [T],
    /// The sums of values with these weights, `width` elements each.
    out: &'a mut [T],
    width: usize,
}

impl<T: Storage> Running<'_, T> {
    /// Turns the scores of a tile into weights, and rescales what was summed before to match.
    #[inline(always)]
    fn take<S: Block>(self, scores: &mut [T]) {
        match self.weights {
            Weights::Softmax => {}
            Weights::Sigmoid => return line_sigmoid(scores),
            Weights::NormalisedSigmoid => line_log_sigmoid(scores),
        }
        let m = scores.len() / self.largest.len();
        // Sums of weights so far, for the new largest scores. Steps are at most half longer than said.
        let mut sums = [0.0; QUERIES + QUERIES / 2];
        for (i, row) in scores.chunks_exact_mut(m).enumerate() {
            let (before, mut sum) = (self.largest[i], self.sums[i].to_f64());
            let max = line_max(row);
            let max = if max > before || max.is_nan() { max } else { before };
            // If all scores are −∞, nothing is attended to so far, and their weights are 0.
            if max.to_f64() != f64::NEG_INFINITY {
                for x in row {
                    *x = *x - max;
                }
                if max != before {
                    let factor = (before - max).exp();
                    sum *= factor.to_f64();
                    scale(&mut self.out[i * self.width..(i + 1) * self.width], factor);
                    self.largest[i] = max;
                }
            }
            sums[i] = sum;
        }
        line_exp(scores);
        for (i, row) in scores.chunks_exact(m).enumerate() {
            self.sums[i] = T::nearest(sums[i] + line_total::<T, S>(row));
        }
    }
}

#[inline(always)]
fn scale<T: Storage>(row: &mut [T], factor: T) {
    for x in row {
        *x = *x * factor;
    }
}

/// Turns weighted sums into weighted means, and finds the logarithms of the denominators.
#[inline(always)]
fn finish<T: Storage>(largest: &[T], sums: &[T], out: &mut [T], width: usize, logs: &mut [T]) {
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        let sum = sums[i].to_f64();
        if sum == 0.0 {
            // Nothing is attended to.
            logs[i] = T::nearest(f64::INFINITY);
            continue;
        }
        logs[i] = T::nearest(largest[i].to_f64() + sum.ln());
        scale(out, T::nearest(1.0 / sum));
    }
}

/// A row of a tile in the reverse pass.
struct BackwardRow<'a, T> {
    weights: Weights,
    /// The logarithm of the row's denominator, and ⟨g, out⟩.
    log: T,
    dot: T,
    /// Scores, which become the weights p.
    p: &'a mut [T],
    /// The gradient u of p, which becomes that of the scores.
    u: &'a mut [T],
    /// As many elements, of any content.
    memory: &'a mut [T],
}

impl<T: Storage> BackwardRow<'_, T> {
    /// Recomputes the weights, and finds the gradient of the scores. It is
    ///
    /// - `p ∘ (u − ⟨g, out⟩)` for a softmax,
    /// - `p ∘ (1 − p) ∘ u` for the logistic function σ,
    /// - `p ∘ (u − ⟨g, out⟩) ∘ (1 − σ)` for a softmax of ln σ.
    #[inline(always)]
    fn scores_gradient(self) {
        if self.weights == Weights::Sigmoid {
            line_sigmoid_with_slope(self.p, self.memory);
            return multiply(self.u, self.memory);
        }
        let mut dot = self.dot;
        if self.weights == Weights::NormalisedSigmoid {
            line_log_sigmoid(self.p);
            // σ − 1, with all its digits.
            self.memory.copy_from_slice(self.p);
            line_exp_m1(self.memory);
            for (u, complement) in self.u.iter_mut().zip(self.memory) {
                *u = (*u - self.dot) * -*complement;
            }
            dot = T::zero();
        }
        for p in &mut *self.p {
            *p = *p - self.log;
        }
        line_exp(self.p);
        for (u, p) in self.u.iter_mut().zip(self.p) {
            *u = *p * (*u - dot);
        }
    }
}

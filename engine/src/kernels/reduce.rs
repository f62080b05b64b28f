//! The `reduce` kernel: sum, mean and log-sum-exp along an axis, or over everything.
//!
//! Accumulated in `f64` in a fixed order: eight lanes along the axis, combined pairwise; a long axis in
//! blocks of 4096, combined in order. The bits do not depend on the number of threads.

use smallvec::SmallVec;

use crate::Float;
use crate::parallel::{self, PIECES, split_front};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    LogSumExp,
}

impl Reduction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "sum",
            Reduction::Mean => "mean",
            Reduction::LogSumExp => "logsumexp",
        }
    }
}

/// A tensor seen as `[outer, n, inner]`, reduced along the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) outer: usize,
    pub(crate) n: usize,
    pub(crate) inner: usize,
}

impl Axis {
    /// An axis of a shape and its number; a negative one counts from the last.
    pub(crate) fn of(shape: &[usize], axis: isize) -> Option<(usize, Axis)> {
        let i = if axis < 0 { axis + shape.len() as isize } else { axis };
        let i = usize::try_from(i).ok().filter(|&i| i < shape.len())?;
        let (outer, inner) = (shape[..i].iter().product(), shape[i + 1..].iter().product());
        Some((i, Axis { outer, n: shape[i], inner }))
    }

    /// The elements of line `p` (one per output position).
    #[inline(always)]
    fn line<'a, T: Float>(&self, x: &'a [T], p: usize) -> impl Iterator<Item = f64> + Clone + 'a {
        let start = p / self.inner * self.n * self.inner + p % self.inner;
        x[start.min(x.len())..].iter().step_by(self.inner).take(self.n).map(|x| x.to_f64())
    }
}

const BLOCK: usize = 4096;

/// A sum in a fixed order.
#[inline(always)]
fn total(values: impl Iterator<Item = f64>) -> f64 {
    let mut lanes = [0.0; 8];
    let (mut blocks, mut i) = (0.0, 0);
    for x in values {
        lanes[i % 8] += x;
        i += 1;
        if i == BLOCK {
            blocks += pairwise(&lanes);
            (lanes, i) = ([0.0; 8], 0);
        }
    }
    blocks + pairwise(&lanes)
}

#[inline(always)]
fn pairwise(lanes: &[f64; 8]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

/// One output per line. A mean of nothing is NaN, a log-sum-exp of nothing −∞.
pub(crate) fn forward<T: Float>(reduction: Reduction, axis: Axis, x: &[T], out: &mut [T]) {
    let cost = axis.n * if reduction == Reduction::LogSumExp { 10 } else { 1 };
    let mut rest = out;
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(rest.len(), 1, cost)
        .into_iter()
        .map(|range| (range.start, split_front(&mut rest, range.len())))
        .collect();
    parallel::run(&mut jobs, |(start, out)| {
        for (i, y) in out.iter_mut().enumerate() {
            let line = axis.line(x, *start + i);
            *y = T::nearest(match reduction {
                Reduction::Sum => total(line),
                Reduction::Mean => total(line) / axis.n as f64,
                Reduction::LogSumExp => log_sum_exp(line),
            });
        }
    });
}

#[inline(always)]
fn log_sum_exp(line: impl Iterator<Item = f64> + Clone) -> f64 {
    // A NaN must come out as NaN, so the maximum keeps it.
    let max = line.clone().fold(f64::NEG_INFINITY, |m, x| if x > m || x.is_nan() { x } else { m });
    if max.is_infinite() { max } else { max + total(line.map(|x| (x - max).exp())).ln() }
}

/// The gradient of `x`, given that of the output.
pub(crate) fn backward<T: Float>(reduction: Reduction, axis: Axis, x: &[T], y: &[T], g: &[T], dx: &mut [T]) {
    let Axis { n, inner, .. } = axis;
    let mut rest = dx;
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(axis.outer, 1, n * inner * 4)
        .into_iter()
        .map(|range| (range.start, split_front(&mut rest, range.len() * n * inner)))
        .collect();
    parallel::run(&mut jobs, |(start, dx)| {
        for (o, dx) in dx.chunks_exact_mut((n * inner).max(1)).enumerate() {
            let o = *start + o;
            for (j, dx) in dx.chunks_exact_mut(inner).enumerate() {
                for (i, dx) in dx.iter_mut().enumerate() {
                    let p = o * inner + i;
                    *dx = match reduction {
                        Reduction::Sum => g[p],
                        Reduction::Mean => T::nearest(g[p].to_f64() / n as f64),
                        // Softmax times the upstream cotangent; 0 where the whole line is −∞.
                        Reduction::LogSumExp => {
                            let (x, y) = (x[o * n * inner + j * inner + i].to_f64(), y[p].to_f64());
                            let weight = if y == f64::NEG_INFINITY { 0.0 } else { (x - y).exp() };
                            T::nearest(weight * g[p].to_f64())
                        }
                    };
                }
            }
        }
    });
}

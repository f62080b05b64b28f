//! The `reduce` kernel: sum, mean, maximum, log-sum-exp and norm along an axis, or over everything.
//!
//! Accumulated in `f64` in a fixed order: four sets of eight lanes along the last axis, in blocks
//! combined in order; along another axis the lanes are neighbouring lines. The bits do not depend on the
//! number of threads.

use smallvec::SmallVec;

use crate::numbers::lanes::Lanes;
use crate::numbers::line::{BLOCK, larger, line_exp, line_ln, line_max, line_square, line_total, load};
use crate::numbers::norm;
use crate::numbers::parallel::{self, PIECES};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Block, LANES, dispatch, dispatch_blocks};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    Max,
    LogSumExp,
    Norm,
}

/// A tensor seen as `[outer, n, inner]`, worked on along the middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) outer: usize,
    pub(crate) n: usize,
    pub(crate) inner: usize,
}

impl Axis {
    /// An axis of a shape and its index; a negative one counts from the last.
    pub(crate) fn new(shape: &Shape, axis: isize) -> Result<(usize, Axis), ShapeError> {
        let i = if axis < 0 { axis + shape.rank() as isize } else { axis };
        let i = usize::try_from(i)
            .ok()
            .filter(|&i| i < shape.rank())
            .ok_or_else(|| ShapeError::new(format!("shape {shape} has no axis {axis}")))?;
        let (before, after) = (&shape.axes()[..i], &shape.axes()[i + 1..]);
        Ok((i, Axis { outer: before.iter().product(), n: shape[i], inner: after.iter().product() }))
    }
}

/// A reduction along an axis, which disappears, or of everything if there is none.
pub(crate) struct Reduce {
    pub(crate) reduction: Reduction,
    pub(crate) axis: Option<isize>,
}

impl Reduction {
    /// The result for one contiguous line; `memory` holds exponentials of a block.
    #[inline(always)]
    fn line<T: Storage, S: Block>(self, x: &[T], memory: &mut [T]) -> f64 {
        let n = x.len() as f64;
        match self {
            Reduction::Sum => line_total::<T, S>(x),
            Reduction::Mean => line_total::<T, S>(x) / n,
            Reduction::Norm => norm::norm_of(line_square::<T, S>(x), x.iter().map(|x| x.to_f64())),
            Reduction::Max => line_max(x).to_f64(),
            Reduction::LogSumExp => {
                let max = line_max(x);
                if !max.is_finite() {
                    return max.to_f64();
                }
                let mut sum = 0.0;
                for x in x.chunks(BLOCK) {
                    let y = &mut memory[..x.len()];
                    for (y, x) in y.iter_mut().zip(x) {
                        *y = *x - max;
                    }
                    line_exp(y);
                    sum += line_total::<T, S>(y);
                }
                max.to_f64() + sum.ln()
            }
        }
    }

    /// The results for up to eight neighbouring lines. Their elements are
    /// `x[start + j · inner ..][..count]`.
    #[inline(always)]
    fn lines<T: Storage>(self, x: &[T], axis: Axis, start: usize, count: usize) -> Lanes<LANES> {
        let row = |j: usize| load(&x[start + j * axis.inner..][..count], 0.0);
        #[inline(always)]
        fn fold<T: Storage>(
            n: usize,
            row: impl Fn(usize) -> Lanes<LANES, T>,
            f: impl Fn(Lanes<LANES, T>) -> Lanes<LANES>,
        ) -> Lanes<LANES> {
            let mut sum = Lanes::splat(0.0);
            for j in 0..n {
                sum = sum + f(row(j));
            }
            sum
        }
        match self {
            Reduction::Sum => fold(axis.n, row, |x| x.widen()),
            Reduction::Mean => fold(axis.n, row, |x| x.widen()) / Lanes::splat(axis.n as f64),
            Reduction::Norm => {
                let mut y = fold(axis.n, row, |x| x.widen().square());
                for l in 0..count {
                    let line = x.get(start + l..).unwrap_or_default();
                    let line = line.iter().step_by(axis.inner).take(axis.n);
                    y.set(l, norm::norm_of(y.get(l), line.map(|x| x.to_f64())));
                }
                y
            }
            Reduction::Max | Reduction::LogSumExp => {
                let lowest = Lanes::splat(T::nearest(f64::NEG_INFINITY));
                let max = (0..axis.n).fold(lowest, |max, j| larger(max, row(j)));
                if self == Reduction::Max {
                    return max.widen();
                }
                // The exponentials of a few rows are one call.
                let (mut batch, mut sum) = ([[T::zero(); LANES]; 8], Lanes::splat(0.0));
                for first in (0..axis.n).step_by(batch.len()) {
                    let count = batch.len().min(axis.n - first);
                    let batch = &mut batch[..count];
                    for (j, y) in batch.iter_mut().enumerate() {
                        *y = (row(first + j) - max).to_array();
                    }
                    line_exp(batch.as_flattened_mut());
                    for y in batch {
                        sum = sum + Lanes::from(*y).widen();
                    }
                }
                let mut logarithms = sum.to_array();
                line_ln(&mut logarithms);
                let finite = max.widen() + Lanes::from(logarithms);
                // An infinite maximum is the result itself; a NaN is kept by the sum.
                let bounded = max.abs().lt(Lanes::splat(T::nearest(f64::INFINITY)));
                let wide = Lanes::select(bounded, Lanes::splat(T::one()), Lanes::splat(T::zero())).widen();
                Lanes::select(Lanes::splat(0.5).lt(wide), finite, max.widen())
            }
        }
    }

    /// The results from number `start` on.
    #[inline(always)]
    fn results<T: Storage, S: Block>(
        self,
        x: &[T],
        axis: Axis,
        start: usize,
        out: &mut [T],
        memory: &mut [T],
    ) {
        if axis.inner == 1 {
            for (i, y) in out.iter_mut().enumerate() {
                *y = T::nearest(self.line::<T, S>(&x[(start + i) * axis.n..][..axis.n], memory));
            }
            return;
        }
        let mut i = 0;
        while i < out.len() {
            let (o, c) = ((start + i) / axis.inner, (start + i) % axis.inner);
            let count = LANES.min(out.len() - i).min(axis.inner - c);
            let y = self.lines(x, axis, o * axis.n * axis.inner + c, count);
            for (l, out) in out[i..i + count].iter_mut().enumerate() {
                *out = T::nearest(y.get(l));
            }
            i += count;
        }
    }

    /// The gradient of elements `x` of lines whose results are `y` and have gradient `g`.
    #[inline(always)]
    fn gradient<T: Storage>(
        self,
        n: usize,
        x: Lanes<LANES, T>,
        y: Lanes<LANES, T>,
        g: Lanes<LANES, T>,
    ) -> Lanes<LANES, T> {
        match self {
            Reduction::Sum => g,
            Reduction::Mean => g * Lanes::splat(T::nearest(1.0 / n as f64)),
            // Where the norm is 0, so is the gradient; where it is not finite, the gradient is NaN.
            Reduction::Norm => {
                let y = Lanes::select(y.lt(Lanes::constant(f64::INFINITY)), y, Lanes::constant(f64::NAN));
                Lanes::select(Lanes::splat(T::zero()).lt(y), g * (x / y), y)
            }
            Reduction::Max => unreachable!("its gradient goes to one element"),
            Reduction::LogSumExp => unreachable!("its gradient is of whole lines"),
        }
    }
}

/// A line this long is split over threads.
pub(crate) const LONG: usize = 16 * BLOCK;

impl Reduce {
    /// The input as lines of the reduced axis.
    pub(crate) fn view(&self, shape: &Shape) -> Result<Axis, ShapeError> {
        match self.axis {
            None => Ok(Axis { outer: 1, n: shape.elements(), inner: 1 }),
            Some(axis) => Axis::new(shape, axis).map(|(_, axis)| axis),
        }
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let Some(axis) = self.axis else { return Ok(Shape::default()) };
        let (at, _) = Axis::new(inputs[0], axis)?;
        Ok(inputs[0].without(at))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let x = inputs[0].data;
        let axis = self.view(inputs[0].shape).expect("checked");
        if let ([y], Reduction::Sum | Reduction::Mean, true) = (&mut *out, self.reduction, x.len() >= LONG) {
            let mut jobs: SmallVec<[_; PIECES]> =
                parallel::pieces(x.len(), BLOCK, 1).into_iter().map(|range| (range, 0.0)).collect();
            parallel::run(&mut jobs, |(range, sum)| {
                let x = &x[range.clone()];
                *sum = dispatch_blocks!(S, x, |x| line_total::<T, S>(x));
            });
            let sum = jobs.iter().fold(0.0, |total, (_, sum)| total + sum);
            *y = T::nearest(if self.reduction == Reduction::Mean { sum / x.len() as f64 } else { sum });
            return;
        }
        let cost = 1 + axis.n * if self.reduction == Reduction::LogSumExp { 2 } else { 1 } / 4;
        let reduction = self.reduction;
        let memory = if reduction == Reduction::LogSumExp && axis.inner == 1 { axis.n.min(BLOCK) } else { 0 };
        parallel::for_each_part(out, 1, 1, cost, |range, out| {
            T::with_scratch(memory, |memory| {
                dispatch_blocks!(S, (out, memory), |(out, memory)| {
                    reduction.results::<T, S>(x, axis, range.start, out, memory)
                });
            });
        });
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let (x, y) = (inputs[0].data, outcome.out);
        let axis = self.view(inputs[0].shape).expect("checked");
        if self.reduction == Reduction::Max {
            return max_gradient(axis, x, y, g, dx);
        }
        // Elements that lie side by side: those of one line, or one of each of `inner` neighbouring lines.
        let Axis { n, inner, .. } = axis;
        let width = if inner == 1 { n } else { inner };
        let reduction = self.reduction;
        let align = if inner == 1 && axis.outer == 1 { LANES } else { width };
        parallel::for_each_part(dx, 1, align, 1, |range, dx| {
            let start = range.start;
            dispatch(
                #[inline(always)]
                || {
                    for (r, dx) in dx.chunks_mut(width.max(1)).enumerate() {
                        let first = start + r * width;
                        let line = if inner == 1 { first / n } else { first / (n * inner) * inner };
                        if inner == 1 && matches!(reduction, Reduction::Sum | Reduction::Mean) {
                            let g = Lanes::splat(g[line]);
                            dx.fill(reduction.gradient(n, g, g, g).get(0));
                            continue;
                        }
                        if reduction == Reduction::LogSumExp {
                            let results = if inner == 1 { line..line + 1 } else { line..line + dx.len() };
                            let x = &x[first..][..dx.len()];
                            logsumexp_gradient(x, &y[results.clone()], &g[results], dx);
                            continue;
                        }
                        for (b, dx) in dx.chunks_mut(LANES).enumerate() {
                            let at = b * LANES;
                            let (y, g) = if inner == 1 {
                                (Lanes::splat(y[line]), Lanes::splat(g[line]))
                            } else {
                                let columns = line + at..line + at + dx.len();
                                (load(&y[columns.clone()], 0.0), load(&g[columns], 0.0))
                            };
                            let x = load(&x[first + at..][..dx.len()], 0.0);
                            reduction.gradient(n, x, y, g).store(dx);
                        }
                    }
                },
            );
        });
    }
}

/// Softmax times the upstream cotangent; 0 where a whole line is −∞. The results `y` and their cotangents
/// are one for all elements or one for each.
#[inline(always)]
fn logsumexp_gradient<T: Storage>(x: &[T], y: &[T], g: &[T], dx: &mut [T]) {
    let lowest = T::nearest(-T::LARGEST);
    let weighted = |weight: T, y: T, g: T| g * if y < lowest { T::zero() } else { weight };
    if let (&[y], &[g]) = (y, g) {
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx = *x - y;
        }
        line_exp(dx);
        for dx in dx {
            *dx = weighted(*dx, y, g);
        }
        return;
    }
    for ((dx, x), y) in dx.iter_mut().zip(x).zip(y) {
        *dx = *x - *y;
    }
    line_exp(dx);
    for ((dx, y), g) in dx.iter_mut().zip(y).zip(g) {
        *dx = weighted(*dx, *y, *g);
    }
}

/// The whole gradient of a line goes to its first maximum; that of a line with NaN in it is NaN.
fn max_gradient<T: Storage>(Axis { outer, n, inner }: Axis, x: &[T], y: &[T], g: &[T], dx: &mut [T]) {
    dx.fill(T::zero());
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let index = |j: usize| (o * n + j) * inner + i;
        let p = o * inner + i;
        if y[p].is_nan() {
            (0..n).for_each(|j| dx[index(j)] = y[p]);
        } else if let Some(j) = (0..n).find(|&j| x[index(j)] == y[p]) {
            dx[index(j)] = g[p];
        }
    }
}

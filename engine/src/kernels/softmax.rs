//! Softmax and its logarithm.
//!
//! They work along the last axis; another axis is permuted to the end and back. Sums are taken in `f64`.
//! Numbers that are all −∞ are an empty set: each has weight 0, and −∞ is its logarithm.

use crate::kernels::pieces::for_each_piece;
use crate::numbers::lanes::Lanes;
use crate::numbers::line::{WIDE, line_dot, line_map, line_map_total, line_max, line_of, line_total};
use crate::numbers::parallel;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Avx2, Avx512, Block, LANES, Portable, dispatch_wide};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// Turns numbers into `exp(x) / Σ exp(x)`, or into 0 if all are −∞. Returns `ln Σ exp(x)`. Never
/// overflows.
///
/// # Panics
/// If there are no numbers.
#[inline(never)]
pub fn softmax_in_place<T: Storage>(x: &mut [T]) -> f64 {
    dispatch_wide(
        x,
        #[inline(always)]
        |x| exponentials::<T, Avx512, WIDE>(x),
        #[inline(always)]
        |x| exponentials::<T, Avx2, LANES>(x),
        #[inline(always)]
        |x| exponentials::<T, Portable, 1>(x),
    )
}

#[inline(always)]
fn exponentials<T: Storage, S: Block, const R: usize>(x: &mut [T]) -> f64 {
    let max = line_max(x);
    if max.to_f64() == f64::NEG_INFINITY {
        x.fill(T::zero());
        return f64::NEG_INFINITY;
    }
    let shift = Lanes::splat(max);
    let sum = line_map_total::<T, S, R>(
        x,
        #[inline(always)]
        |x| (x - shift).exp(),
    );
    let scale = Lanes::splat(T::nearest(1.0 / sum));
    line_map::<T, R>(
        x,
        #[inline(always)]
        |x| x * scale,
    );
    max.to_f64() + sum.ln()
}

/// Softmax, or its logarithm, of each row.
pub(crate) struct Softmax {
    pub(crate) logarithm: bool,
}

impl Softmax {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(inputs[0].clone())
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (x, width) = (inputs[0].data, inputs[0].shape.width().max(1));
        parallel::for_each_part(out, width, 1, width, |range, out| {
            let x = &x[range.start * width..range.end * width];
            dispatch_wide(
                out,
                #[inline(always)]
                |out| self.rows::<T, Avx512, WIDE>(x, width, out),
                #[inline(always)]
                |out| self.rows::<T, Avx2, LANES>(x, width, out),
                #[inline(always)]
                |out| self.rows::<T, Portable, 1>(x, width, out),
            );
        });
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let width = inputs[0].shape.width().max(1);
        let rows = g.len() / width;
        for_each_piece(&[(Broadcast::cycled(rows), width)], rows, width, grads, |piece| {
            let range = piece.range.start * width..piece.range.end * width;
            let Some((dx, _)) = piece.places[0].slice() else { return };
            let (y, g) = (&outcome.out[range.clone()], &g[range]);
            dispatch_wide(
                dx,
                #[inline(always)]
                |dx| self.gradients::<T, Avx512, WIDE>(y, g, width, dx),
                #[inline(always)]
                |dx| self.gradients::<T, Avx2, LANES>(y, g, width, dx),
                #[inline(always)]
                |dx| self.gradients::<T, Portable, 1>(y, g, width, dx),
            );
        });
    }

    /// `R` elements side by side.
    #[inline(always)]
    fn rows<T: Storage, S: Block, const R: usize>(&self, x: &[T], width: usize, out: &mut [T]) {
        for (x, y) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            let max = line_max(x);
            if max.to_f64() == f64::NEG_INFINITY {
                y.fill(if self.logarithm { max } else { T::zero() });
                continue;
            }
            let max = Lanes::splat(max);
            line_of::<T, R, 1>(
                y,
                [x],
                #[inline(always)]
                |[x]| (x - max).exp(),
            );
            let sum = line_total::<T, S>(y);
            if self.logarithm {
                let shift = Lanes::splat(T::nearest(sum.ln()));
                line_of::<T, R, 1>(
                    y,
                    [x],
                    #[inline(always)]
                    |[x]| x - max - shift,
                );
            } else {
                let scale = Lanes::splat(T::nearest(1.0 / sum));
                line_map::<T, R>(
                    y,
                    #[inline(always)]
                    |y| y * scale,
                );
            }
        }
    }

    #[inline(always)]
    fn gradients<T: Storage, S: Block, const R: usize>(&self, y: &[T], g: &[T], width: usize, dx: &mut [T]) {
        let rows = y.chunks_exact(width).zip(g.chunks_exact(width));
        for ((y, g), dx) in rows.zip(dx.chunks_exact_mut(width)) {
            if self.logarithm {
                let sum = Lanes::splat(T::nearest(line_total::<T, S>(g)));
                line_of::<T, R, 2>(
                    dx,
                    [g, y],
                    #[inline(always)]
                    |[g, y]| g - y.exp() * sum,
                );
            } else {
                let dot = Lanes::splat(T::nearest(line_dot::<T, S>(y, g)));
                line_of::<T, R, 2>(
                    dx,
                    [g, y],
                    #[inline(always)]
                    |[g, y]| y * (g - dot),
                );
            }
        }
    }
}

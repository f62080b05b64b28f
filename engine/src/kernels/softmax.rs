//! Softmax and its logarithm.
//!
//! They work along the last axis; another axis is permuted to the end and back. Sums are taken in `f64`.
//! Numbers that are all −∞ are an empty set: each has weight 0, and −∞ is its logarithm.

use crate::kernels::pieces::for_each_piece;
use crate::numbers::line::{line_dot, line_exp, line_max, line_total};
use crate::numbers::parallel;
use crate::numbers::simd::{Block, dispatch_blocks};
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
    dispatch_blocks!(S, x, |x| exponentials::<T, S>(x))
}

#[inline(always)]
fn exponentials<T: Storage, S: Block>(x: &mut [T]) -> f64 {
    let max = line_max(x);
    if max.to_f64() == f64::NEG_INFINITY {
        x.fill(T::zero());
        return f64::NEG_INFINITY;
    }
    for x in &mut *x {
        *x = *x - max;
    }
    line_exp(x);
    let sum = line_total::<T, S>(x);
    let scale = T::nearest(1.0 / sum);
    for x in x {
        *x = *x * scale;
    }
    max.to_f64() + sum.ln()
}

/// Narrow rows share a call for their exponentials: up to this many elements.
const ELEMENTS_TOGETHER: usize = 256;

/// Up to this many rows share a call.
const ROWS_TOGETHER: usize = 32;

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
            dispatch_blocks!(S, out, |out| self.rows::<T, S>(x, width, out));
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
            dispatch_blocks!(S, dx, |dx| self.gradients::<T, S>(y, g, width, dx));
        });
    }

    #[inline(always)]
    fn rows<T: Storage, S: Block>(&self, x: &[T], width: usize, out: &mut [T]) {
        let together = (ELEMENTS_TOGETHER / width).clamp(1, ROWS_TOGETHER) * width;
        let mut largest = [T::zero(); ROWS_TOGETHER];
        for (x, out) in x.chunks(together).zip(out.chunks_mut(together)) {
            let rows = x.chunks_exact(width).zip(out.chunks_exact_mut(width));
            for ((x, y), largest) in rows.zip(&mut largest) {
                *largest = line_max(x);
                // A row of −∞ stays as it is, and its weights become 0.
                let shift = if largest.to_f64() == f64::NEG_INFINITY { T::zero() } else { *largest };
                for (y, x) in y.iter_mut().zip(x) {
                    *y = *x - shift;
                }
            }
            line_exp(out);
            let rows = x.chunks_exact(width).zip(out.chunks_exact_mut(width));
            for ((x, y), &max) in rows.zip(&largest) {
                if max.to_f64() == f64::NEG_INFINITY {
                    y.fill(if self.logarithm { max } else { T::zero() });
                    continue;
                }
                let sum = line_total::<T, S>(y);
                if self.logarithm {
                    let shift = T::nearest(sum.ln());
                    for (y, x) in y.iter_mut().zip(x) {
                        *y = *x - max - shift;
                    }
                } else {
                    let scale = T::nearest(1.0 / sum);
                    for y in y {
                        *y = *y * scale;
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn gradients<T: Storage, S: Block>(&self, y: &[T], g: &[T], width: usize, dx: &mut [T]) {
        let rows = y.chunks_exact(width).zip(g.chunks_exact(width));
        for ((y, g), dx) in rows.zip(dx.chunks_exact_mut(width)) {
            if self.logarithm {
                let sum = T::nearest(line_total::<T, S>(g));
                dx.copy_from_slice(y);
                line_exp(dx);
                for (dx, g) in dx.iter_mut().zip(g) {
                    *dx = *g - *dx * sum;
                }
            } else {
                let dot = T::nearest(line_dot::<T, S>(y, g));
                for ((dx, g), y) in dx.iter_mut().zip(g).zip(y) {
                    *dx = *y * (*g - dot);
                }
            }
        }
    }
}

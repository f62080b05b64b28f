//! Softmax and its logarithm.
//!
//! Along the last axis; another axis is permuted there and back. Sums are taken in `f64`.

use crate::kernels::line::{WIDE, line_dot, line_map, line_max, line_of, line_total};
use crate::kernels::pieces::for_each_piece;
use crate::kernels::reduce::Axis;
use crate::numbers::lanes::Lanes;
use crate::numbers::parallel;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Avx2, Avx512, Block, LANES, Portable, dispatch_wide};
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::{Operation, Outcome, View};
use crate::tape::var::Var;
use crate::tensor::shape::Broadcast;
use crate::tensor::shape::Shape;

/// Softmax, or its logarithm, of each row.
pub(crate) struct Softmax {
    pub(crate) logarithm: bool,
}

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn softmax_along(self, axis: isize, operation: Softmax) -> Self {
        let shape = self.shape();
        let name = Operation::<T>::name(&operation);
        let (at, _) = Axis::of(&shape, axis).unwrap_or_else(|message| panic!("{name}: {message}"));
        let last = shape.axes().len() - 1;
        let apply = |x: Self| x.tape().record(Op::Softmax(operation), &[x]);
        if at == last { apply(self) } else { apply(self.swap_axes(at, last)).swap_axes(at, last) }
    }

    /// `exp(x) / Σ exp(x)` along an axis. Never overflows; a line of −∞ gives NaN.
    #[track_caller]
    pub fn softmax(self, axis: isize) -> Self {
        self.softmax_along(axis, Softmax { logarithm: false })
    }

    /// `x − ln Σ exp(x)` along an axis: the logarithm of [`softmax`](Self::softmax), accurate where that is
    /// small.
    #[track_caller]
    pub fn log_softmax(self, axis: isize) -> Self {
        self.softmax_along(axis, Softmax { logarithm: true })
    }
}

impl<T: Float> Operation<T> for Softmax {
    fn name(&self) -> &'static str {
        if self.logarithm { "log_softmax" } else { "softmax" }
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(inputs[0].clone())
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
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

    fn backward(
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

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let shape = inputs[0].shape();
        let last = shape.axes().len() as isize - 1;
        let row = |v: Var<'t, T>| v.insert_axis(last as usize).broadcast_to(shape.clone());
        let dx = tangents[0].expect("one input, one tangent");
        if self.logarithm {
            dx - row((out.exp() * dx).sum_axis(last))
        } else {
            out * (dx - row((out * dx).sum_axis(last)))
        }
    }
}

impl Softmax {
    /// `R` elements side by side.
    #[inline(always)]
    fn rows<T: Float, S: Block, const R: usize>(&self, x: &[T], width: usize, out: &mut [T]) {
        for (x, y) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            let max = Lanes::splat(line_max(x));
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
    fn gradients<T: Float, S: Block, const R: usize>(&self, y: &[T], g: &[T], width: usize, dx: &mut [T]) {
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

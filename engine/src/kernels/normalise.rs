//! Normalisation of rows: softmax, log-softmax, and layer normalisation (Ba, Kiros, Hinton 2016).
//!
//! Along the last axis; another axis is permuted there and back. Sums are taken in `f64`.

use crate::arena::Op;
use crate::kernels::pieces::for_each_piece;
use crate::kernels::reduce::{Axis, line_max, line_sum, load};
use crate::lanes::Lanes;
use crate::operation::{Operation, Outcome, View};
use crate::parallel;
use crate::shape::Broadcast;
use crate::simd::dispatch;
use crate::{Float, Scalar, Shape, Var};

/// What is done to each row.
pub(crate) enum Normalise {
    Softmax,
    LogSoftmax,
    /// Inputs: rows, gain, bias. Holds what is added to the variance.
    LayerNorm(f64),
}

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn along(self, axis: isize, operation: Normalise) -> Self {
        let shape = self.shape();
        let name = Operation::<T>::name(&operation);
        let (at, _) = Axis::of(&shape, axis).unwrap_or_else(|message| panic!("{name}: {message}"));
        let last = shape.axes().len() - 1;
        let apply = |x: Self| x.tape().record(Op::Normalise(operation), &[x]);
        if at == last { apply(self) } else { apply(self.swap_axes(at, last)).swap_axes(at, last) }
    }

    /// `exp(x) / Σ exp(x)` along an axis. Never overflows; a line of −∞ gives NaN.
    #[track_caller]
    pub fn softmax(self, axis: isize) -> Self {
        self.along(axis, Normalise::Softmax)
    }

    /// `x − ln Σ exp(x)` along an axis: the logarithm of [`softmax`](Self::softmax), accurate where that is
    /// small.
    #[track_caller]
    pub fn log_softmax(self, axis: isize) -> Self {
        self.along(axis, Normalise::LogSoftmax)
    }

    /// Layer normalisation over the last axis (Ba, Kiros, Hinton 2016): `(x − mean)/√(variance + epsilon) · gain +
    /// bias`, with `gain` and `bias` of shape `[width]`. The epsilon (1e-5 is usual) is part of its definition.
    ///
    /// # Panics
    /// If `gain` or `bias` has not the shape `[width]`, or the rows are empty.
    #[track_caller]
    pub fn layer_norm(self, gain: Self, bias: Self, epsilon: f64) -> Self {
        self.tape().record(Op::Normalise(Normalise::LayerNorm(epsilon)), &[self, gain, bias])
    }
}

/// Mean and 1/√(variance + epsilon) of a row; the variance from differences, in a second pass.
#[inline(always)]
fn moments<T: Float>(x: &[T], epsilon: f64) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = line_sum(
        x,
        #[inline(always)]
        |x| x.widen(),
    ) / n;
    let center = Lanes::splat(mean);
    let square = line_sum(
        x,
        #[inline(always)]
        |x| (x.widen() - center).square(),
    );
    (mean, (square / n + epsilon).sqrt().recip())
}

impl<T: Float> Operation<T> for Normalise {
    fn name(&self) -> &'static str {
        match self {
            Normalise::Softmax => "softmax",
            Normalise::LogSoftmax => "log_softmax",
            Normalise::LayerNorm(_) => "layer_norm",
        }
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        if let &[x, gain, bias] = inputs {
            let width = x.width();
            if x.axes().is_empty() || width == 0 || gain.axes() != [width] || bias.axes() != [width] {
                return Err(format!(
                    "rows of shape {x} need a gain and a bias [{width}], not {gain}, {bias}"
                ));
            }
        }
        Ok(inputs[0].clone())
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (x, width) = (inputs[0].data, inputs[0].shape.width());
        parallel::for_each_part(out, width, 1, 2 * width, |range, out| {
            dispatch(
                #[inline(always)]
                || {
                    for (r, y) in range.zip(out.chunks_mut(width.max(1))) {
                        let x = &x[r * width..][..width];
                        match self {
                            Normalise::Softmax => softmax(x, y),
                            Normalise::LogSoftmax => log_softmax(x, y),
                            Normalise::LayerNorm(epsilon) => {
                                layer_norm(x, inputs[1].data, inputs[2].data, *epsilon, y);
                            }
                        }
                    }
                },
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
        let width = inputs[0].shape.width();
        let rows = g.len() / width.max(1);
        let all = Broadcast::cycled(rows);
        let one = Broadcast::cycled(1);
        let reads = [(all, width), (one, width), (one, width)];
        for_each_piece(&reads[..inputs.len()], rows, 2 * width, grads, |piece| {
            let (range, places) = (piece.range.clone(), &mut piece.places);
            dispatch(
                #[inline(always)]
                || {
                    for r in range.clone() {
                        let row = r * width..(r + 1) * width;
                        let (x, y, g) = (&inputs[0].data[row.clone()], &outcome.out[row.clone()], &g[row]);
                        match self {
                            Normalise::Softmax | Normalise::LogSoftmax => {
                                let Some(dx) = places[0].at(r, width) else { continue };
                                let log = matches!(self, Normalise::LogSoftmax);
                                if log { log_softmax_gradient(y, g, dx) } else { softmax_gradient(y, g, dx) }
                            }
                            Normalise::LayerNorm(epsilon) => {
                                let (mean, scale) = moments(x, *epsilon);
                                if let Some(dx) = places[0].at(r, width) {
                                    layer_norm_gradient(x, inputs[1].data, g, mean, scale, dx);
                                }
                                let first = rows == 1;
                                if let Some(dgain) = places[1].at(0, width) {
                                    gain_gradient(x, g, mean, scale, first, dgain);
                                }
                                if let Some(dbias) = places[2].at(0, width) {
                                    for (d, g) in dbias.chunks_mut(8).zip(g.chunks(8)) {
                                        let before =
                                            if first { Lanes::splat(T::zero()) } else { load(d, 0.0) };
                                        (before + load(g, 0.0)).store(d);
                                    }
                                }
                            }
                        }
                    }
                },
            );
        });
    }

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let shape = inputs[0].shape();
        let last = shape.axes().len() as isize - 1;
        let row = |v: Var<'t, T>| v.insert_axis(last as usize).broadcast_to(shape.clone());
        match self {
            Normalise::Softmax => {
                let dx = tangents[0].expect("one input, one tangent");
                out * (dx - row((out * dx).sum_axis(last)))
            }
            Normalise::LogSoftmax => {
                let dx = tangents[0].expect("one input, one tangent");
                dx - row((out.exp() * dx).sum_axis(last))
            }
            Normalise::LayerNorm(epsilon) => {
                let [x, gain, _] = inputs else { unreachable!("three inputs") };
                let center = *x - row(x.mean_axis(last));
                let variance = center.square().mean_axis(last) + *epsilon;
                let unit = center / row(variance.sqrt());
                let of_x = tangents[0].map(|dx| {
                    let dx = dx - row(dx.mean_axis(last));
                    (dx - unit * row((unit * dx).mean_axis(last))) / row(variance.sqrt()) * *gain
                });
                let of_gain = tangents[1].map(|dgain| unit * dgain);
                let of_bias = tangents[2].map(|dbias| dbias.broadcast_to(shape.clone()));
                Var::sum_of([of_x, of_gain, of_bias]).expect("at least one tangent")
            }
        }
    }
}

#[inline(always)]
fn softmax<T: Float>(x: &[T], y: &mut [T]) {
    let max = Lanes::splat(line_max(x));
    let mut sum = Lanes::splat(0.0);
    for (x, y) in x.chunks(8).zip(y.chunks_mut(8)) {
        let e = (load(x, f64::NEG_INFINITY) - max).exp();
        sum = sum + e.widen();
        e.store(y);
    }
    let scale = Lanes::splat(T::nearest(1.0 / sum.sum()));
    for y in y.chunks_mut(8) {
        (load(y, 0.0) * scale).store(y);
    }
}

#[inline(always)]
fn softmax_gradient<T: Float>(y: &[T], g: &[T], dx: &mut [T]) {
    let mut dot = Lanes::splat(0.0);
    for (y, g) in y.chunks(8).zip(g.chunks(8)) {
        dot = dot + (load(y, 0.0) * load(g, 0.0)).widen();
    }
    let dot = Lanes::splat(T::nearest(dot.sum()));
    for ((y, g), dx) in y.chunks(8).zip(g.chunks(8)).zip(dx.chunks_mut(8)) {
        (load(y, 0.0) * (load(g, 0.0) - dot)).store(dx);
    }
}

#[inline(always)]
fn log_softmax<T: Float>(x: &[T], y: &mut [T]) {
    let max = line_max(x);
    let lanes = Lanes::splat(max);
    let sum = line_sum(
        x,
        #[inline(always)]
        |x| (x - lanes).exp().widen(),
    );
    let shift = Lanes::splat(T::nearest(sum.ln()));
    for (x, y) in x.chunks(8).zip(y.chunks_mut(8)) {
        (load(x, 0.0) - lanes - shift).store(y);
    }
}

#[inline(always)]
fn log_softmax_gradient<T: Float>(y: &[T], g: &[T], dx: &mut [T]) {
    let sum = line_sum(
        g,
        #[inline(always)]
        |g| g.widen(),
    );
    let sum = Lanes::splat(T::nearest(sum));
    for ((y, g), dx) in y.chunks(8).zip(g.chunks(8)).zip(dx.chunks_mut(8)) {
        (load(g, 0.0) - load(y, 0.0).exp() * sum).store(dx);
    }
}

#[inline(always)]
fn layer_norm<T: Float>(x: &[T], gain: &[T], bias: &[T], epsilon: f64, y: &mut [T]) {
    let (mean, scale) = moments(x, epsilon);
    let (mean, scale) = (Lanes::splat(mean), Lanes::splat(scale));
    for (((x, y), gain), bias) in x.chunks(8).zip(y.chunks_mut(8)).zip(gain.chunks(8)).zip(bias.chunks(8)) {
        let unit = (load(x, 0.0).widen() - mean) * scale;
        unit.mul_add(load(gain, 0.0).widen(), load(bias, 0.0).widen()).narrow::<T>().store(y);
    }
}

/// Adds the gradient of a row's gain, or writes that of the only row.
#[inline(always)]
fn gain_gradient<T: Float>(x: &[T], g: &[T], mean: f64, scale: f64, first: bool, dgain: &mut [T]) {
    let (mean, scale) = (Lanes::splat(mean), Lanes::splat(scale));
    for ((d, x), g) in dgain.chunks_mut(8).zip(x.chunks(8)).zip(g.chunks(8)) {
        let before = if first { Lanes::splat(0.0) } else { load(d, 0.0).widen() };
        let unit = (load(x, 0.0).widen() - mean) * scale;
        load(g, 0.0).widen().mul_add(unit, before).narrow::<T>().store(d);
    }
}

/// The normalised elements of a block.
#[inline(always)]
fn unit<T: Float>(x: &[T], mean: Lanes<8>, scale: Lanes<8>) -> Lanes<8> {
    (load(x, 0.0).widen() - mean) * scale
}

/// The product of two blocks.
#[inline(always)]
fn product<T: Float>(a: &[T], b: &[T]) -> Lanes<8> {
    load(a, 0.0).widen() * load(b, 0.0).widen()
}

/// With `u` the normalised row and `h = g · gain`: `dx = scale (h − mean(h) − u mean(u h))`.
#[inline(always)]
fn layer_norm_gradient<T: Float>(x: &[T], gain: &[T], g: &[T], mean: f64, scale: f64, dx: &mut [T]) {
    let n = x.len() as f64;
    let (mean, scale) = (Lanes::splat(mean), Lanes::splat(scale));
    let (mut sum, mut dot) = (Lanes::splat(0.0), Lanes::splat(0.0));
    for ((x, g), gain) in x.chunks(8).zip(g.chunks(8)).zip(gain.chunks(8)) {
        let h = product(g, gain);
        sum = sum + h;
        dot = dot + h * unit(x, mean, scale);
    }
    let (sum, dot) = (Lanes::splat(sum.sum() / n), Lanes::splat(dot.sum() / n));
    for (((x, g), gain), dx) in x.chunks(8).zip(g.chunks(8)).zip(gain.chunks(8)).zip(dx.chunks_mut(8)) {
        (scale * (product(g, gain) - sum - unit(x, mean, scale) * dot)).narrow::<T>().store(dx);
    }
}

//! Layer normalisation (Ba, Kiros, Hinton 2016): rows of mean 0 and variance 1, then a gain and a bias.
//!
//! Sums are taken in `f64`; the variance from differences, in a second pass.

use crate::kernels::pieces::{Piece, for_each_piece};
use crate::numbers::line::{line_sum, line_total, pairwise};
use crate::numbers::parallel;
use crate::numbers::simd::{Block, LANES, dispatch_blocks, for_each_block, read, write};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// Inputs: rows `[…, width]`, gain `[width]`, bias `[width]`.
pub(crate) struct LayerNorm {
    /// What is added to the variance.
    pub(crate) epsilon: f64,
}

impl LayerNorm {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (x, gain, bias) = (inputs[0], inputs[1], inputs[2]);
        let width = x.width();
        if x.axes().is_empty() || width == 0 || gain.axes() != [width] || bias.axes() != [width] {
            return Err(ShapeError::new(format!(
                "rows of shape {x} need a gain and a bias [{width}], not {gain}, {bias}"
            )));
        }
        Ok(x.clone())
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let width = inputs[0].shape.width();
        let [x, gain, bias] = [0, 1, 2].map(|i| inputs[i].data);
        parallel::for_each_part(out, width, 1, width / 2, |range, out| {
            let x = &x[range.start * width..range.end * width];
            f64::with_scratch(2 * width.next_multiple_of(LANES), |wide| {
                let wide = wide.as_chunks_mut().0;
                dispatch_blocks!(S, (out, wide), |(out, wide)| {
                    normalise::<T, S>(x, gain, bias, self.epsilon, out, wide)
                });
            });
        });
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let width = inputs[0].shape.width();
        let rows = g.len() / width;
        let one = Broadcast::cycled(1);
        let reads = [(Broadcast::cycled(rows), width), (one, width), (one, width)];
        let (x, gain) = (inputs[0].data, inputs[1].data);
        for_each_piece(&reads, rows, 2 * width, grads, |piece| {
            f64::with_scratch(2 * width.next_multiple_of(LANES), |wide| {
                wide.fill(0.0);
                let wide = wide.as_chunks_mut().0;
                dispatch_blocks!(S, (piece, wide), |(piece, wide)| {
                    gradients::<T, S>(x, gain, self.epsilon, g, piece, wide)
                });
            });
        });
    }
}

/// A mean to be subtracted from the blocks of a row: in every lane, and for the last block only in the lanes
/// that the row fills.
#[inline(always)]
fn in_lanes<S: Block>(mean: f64, width: usize) -> [S; 2] {
    let mut last = [0.0; LANES];
    last[..width % LANES].fill(mean);
    [S::splat(mean), S::load(&last)]
}

/// 1/√(variance + epsilon), given the sum of squares about the mean; NaN where that overflows.
#[inline(always)]
fn inverse_deviation(squares: f64, width: usize, epsilon: f64) -> f64 {
    let variance = squares / width as f64 + epsilon;
    if variance == f64::INFINITY { f64::NAN } else { variance.sqrt().recip() }
}

/// A row's elements in `f64`, in whole blocks.
fn widen<T: Storage>(row: &[T], to: &mut [[f64; LANES]]) {
    to.as_flattened_mut().iter_mut().zip(row).for_each(|(to, x)| *to = x.to_f64());
}

/// Normalises rows. `wide`: room for two rows in whole blocks.
#[inline(always)]
fn normalise<T: Storage, S: Block>(
    x: &[T],
    gain: &[T],
    bias: &[T],
    epsilon: f64,
    out: &mut [T],
    wide: &mut [[f64; LANES]],
) {
    let width = gain.len();
    let (wide_gain, wide_bias) = wide.split_at_mut(wide.len() / 2);
    widen(gain, wide_gain);
    widen(bias, wide_bias);
    for (x, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        let means = in_lanes::<S>(line_total::<T, S>(x) / width as f64, width);
        let squares = line_sum(
            [x],
            #[inline(always)]
            |[x]| {
                let d = read::<T, S>(x, 0, x.len()) - means[usize::from(x.len() < LANES)];
                d * d
            },
        );
        let scale = S::splat(inverse_deviation(squares, width, epsilon));
        for_each_block(
            width,
            &[x],
            None,
            false,
            #[inline(always)]
            |c, [x], _: S| {
                let (gain, bias) = (S::load(&wide_gain[c / LANES]), S::load(&wide_bias[c / LANES]));
                write(out, c, width - c, (x - means[0]) * scale * gain + bias);
            },
        );
    }
}

/// With `d` the row about its mean, `u = scale d` and `h = g · gain`:
/// `dx = scale (h − mean(h) − u mean(u h))`, the gain receives `g u` and the bias `g`. `wide`: room for
/// two rows in whole blocks, zeros.
#[inline(always)]
fn gradients<T: Storage, S: Block>(
    x: &[T],
    gain: &[T],
    epsilon: f64,
    g: &[T],
    piece: &mut Piece<'_, T>,
    wide: &mut [[f64; LANES]],
) {
    let width = gain.len();
    let (gain_sums, bias_sums) = wide.split_at_mut(wide.len() / 2);
    for r in piece.range.clone() {
        let (x, g) = (&x[r * width..][..width], &g[r * width..][..width]);
        let means = in_lanes::<S>(line_total::<T, S>(x) / width as f64, width);
        let [mut squares, mut sum, mut dot] = [S::splat(0.0); 3];
        for_each_block(
            width,
            &[x, g, gain],
            None,
            false,
            #[inline(always)]
            |c, [x, g, gain], _: S| {
                let d = x - means[usize::from(width - c < LANES)];
                let h = g * gain;
                squares = squares + d * d;
                sum = sum + h;
                dot = dot + h * d;
            },
        );
        let scale = inverse_deviation(pairwise(squares.lanes()), width, epsilon);
        let sum = S::splat(pairwise(sum.lanes()) / width as f64);
        let dot = S::splat(scale * pairwise(dot.lanes()) / width as f64);
        let scale = S::splat(scale);
        let mut dx = piece.places[0].slice().map(|(dx, first)| &mut dx[(r - first) * width..][..width]);
        for_each_block(
            width,
            &[x, g, gain],
            None,
            false,
            #[inline(always)]
            |c, [x, g, gain], _: S| {
                let u = (x - means[0]) * scale;
                let (to_gain, to_bias) = (&mut gain_sums[c / LANES], &mut bias_sums[c / LANES]);
                (S::load(to_gain) + g * u).store(to_gain);
                (S::load(to_bias) + g).store(to_bias);
                if let Some(dx) = dx.as_deref_mut() {
                    write(dx, c, width - c, scale * (g * gain - sum - u * dot));
                }
            },
        );
    }
    for (place, sums) in piece.places[1..].iter_mut().zip([gain_sums, bias_sums]) {
        place.give(x.len() == width, 0, &sums.as_flattened()[..width]);
    }
}

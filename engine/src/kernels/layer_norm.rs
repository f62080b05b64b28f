//! Layer normalisation (Ba, Kiros, Hinton 2016): rows of mean 0 and variance 1, then a gain and a bias.
//!
//! Sums are taken in `f64`; the variance from differences, in a second pass.

use crate::arena::Op;
use crate::kernels::line::pairwise;
use crate::kernels::pieces::{Piece, for_each_piece};
use crate::operation::{Operation, Outcome, View};
use crate::parallel;
use crate::shape::Broadcast;
use crate::simd::{Avx2, Avx512, Block, LANES, Portable, add, dispatch_wide, read, write};
use crate::{Float, Shape, Var};

/// Inputs: rows, gain, bias.
pub(crate) struct LayerNorm {
    /// What is added to the variance.
    pub(crate) epsilon: f64,
}

impl<T: Float> Var<'_, T> {
    /// Layer normalisation over the last axis (Ba, Kiros, Hinton 2016): `(x − mean)/√(variance + epsilon) · gain +
    /// bias`, with `gain` and `bias` of shape `[width]`. The epsilon (1e-5 is usual) is part of its definition.
    ///
    /// # Panics
    /// If `gain` or `bias` has not the shape `[width]`, or the rows are empty.
    #[track_caller]
    pub fn layer_norm(self, gain: Self, bias: Self, epsilon: f64) -> Self {
        self.tape().record(Op::LayerNorm(LayerNorm { epsilon }), &[self, gain, bias])
    }
}

impl<T: Float> Operation<T> for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let (x, gain, bias) = (inputs[0], inputs[1], inputs[2]);
        let width = x.width();
        if x.axes().is_empty() || width == 0 || gain.axes() != [width] || bias.axes() != [width] {
            return Err(format!("rows of shape {x} need a gain and a bias [{width}], not {gain}, {bias}"));
        }
        Ok(x.clone())
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let width = inputs[0].shape.width();
        let [x, gain, bias] = [0, 1, 2].map(|i| inputs[i].data);
        parallel::for_each_part(out, width, 1, width / 2, |range, out| {
            let x = &x[range.start * width..range.end * width];
            dispatch_wide(
                out,
                #[inline(always)]
                |out| normalise::<T, Avx512>(x, gain, bias, self.epsilon, out),
                #[inline(always)]
                |out| normalise::<T, Avx2>(x, gain, bias, self.epsilon, out),
                #[inline(always)]
                |out| normalise::<T, Portable>(x, gain, bias, self.epsilon, out),
            );
        });
    }

    fn backward(
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
        let padded = width.next_multiple_of(LANES);
        for_each_piece(&reads, rows, 2 * width, grads, |piece| {
            f64::with_scratch(2 * padded, |sums| {
                sums.fill(0.0);
                let sums = sums.split_at_mut(padded);
                dispatch_wide(
                    (piece, sums),
                    #[inline(always)]
                    |(piece, sums)| gradients::<T, Avx512>(x, gain, self.epsilon, g, piece, sums),
                    #[inline(always)]
                    |(piece, sums)| gradients::<T, Avx2>(x, gain, self.epsilon, g, piece, sums),
                    #[inline(always)]
                    |(piece, sums)| gradients::<T, Portable>(x, gain, self.epsilon, g, piece, sums),
                );
            });
        });
    }

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let shape = inputs[0].shape();
        let last = shape.axes().len() as isize - 1;
        let row = |v: Var<'t, T>| v.insert_axis(last as usize).broadcast_to(shape.clone());
        let (x, gain) = (inputs[0], inputs[1]);
        let center = x - row(x.mean_axis(last));
        let variance = center.square().mean_axis(last) + self.epsilon;
        let unit = center / row(variance.sqrt());
        let of_x = tangents[0].map(|dx| {
            let dx = dx - row(dx.mean_axis(last));
            (dx - unit * row((unit * dx).mean_axis(last))) / row(variance.sqrt()) * gain
        });
        let of_gain = tangents[1].map(|dgain| unit * dgain);
        let of_bias = tangents[2].map(|dbias| dbias.broadcast_to(shape.clone()));
        Var::sum_of([of_x, of_gain, of_bias]).expect("at least one tangent")
    }
}

/// The mean of a row, to be taken from its blocks: in every lane, and in those that the last block fills.
#[inline(always)]
fn means<T: Float, S: Block>(x: &[T]) -> [S; 2] {
    let width = x.len();
    let mut sums = [S::splat(0.0); 2];
    for c in (0..width).step_by(2 * LANES) {
        sums[0] = sums[0] + read(x, c, width - c);
        let next = (c + LANES).min(width);
        sums[1] = sums[1] + read(x, next, width - next);
    }
    let mean = pairwise((sums[0] + sums[1]).lanes()) / width as f64;
    let mut last = [0.0; LANES];
    last[..width % LANES].fill(mean);
    [S::splat(mean), S::load(&last)]
}

/// 1/√(variance + epsilon), given the sums of squares about the mean.
#[inline(always)]
fn inverse_deviation<S: Block>(squares: S, width: usize, epsilon: f64) -> f64 {
    (pairwise(squares.lanes()) / width as f64 + epsilon).sqrt().recip()
}

#[inline(always)]
fn normalise<T: Float, S: Block>(x: &[T], gain: &[T], bias: &[T], epsilon: f64, out: &mut [T]) {
    let width = gain.len();
    for (r, x) in x.chunks_exact(width).enumerate() {
        let means = means::<T, S>(x);
        let mut squares = [S::splat(0.0); 2];
        for c in (0..width).step_by(2 * LANES) {
            let next = (c + LANES).min(width);
            let a = read::<T, S>(x, c, width - c) - means[usize::from(width - c < LANES)];
            let b = read::<T, S>(x, next, width - next)
                - if next < width { means[usize::from(width - next < LANES)] } else { S::splat(0.0) };
            squares[0] = squares[0] + a * a;
            squares[1] = squares[1] + b * b;
        }
        let scale = S::splat(inverse_deviation(squares[0] + squares[1], width, epsilon));
        let out = &mut out[r * width..];
        for c in (0..width).step_by(LANES) {
            let left = width - c;
            let unit = (read::<T, S>(x, c, left) - means[0]) * scale;
            let y = unit * read(gain, c, left) + read(bias, c, left);
            write(out, c, left, y);
        }
    }
}

/// With `d` the row about its mean, `u = scale d` and `h = g · gain`: `dx = scale (h − mean(h) − u mean(u h))`, the
/// gain receives `g u` and the bias `g`.
#[inline(always)]
fn gradients<T: Float, S: Block>(
    x: &[T],
    gain: &[T],
    epsilon: f64,
    g: &[T],
    piece: &mut Piece<'_, T>,
    (of_gain, of_bias): (&mut [f64], &mut [f64]),
) {
    let width = gain.len();
    for r in piece.range.clone() {
        let (x, g) = (&x[r * width..][..width], &g[r * width..][..width]);
        let means = means::<T, S>(x);
        let [mut squares, mut sum, mut dot] = [S::splat(0.0); 3];
        for c in (0..width).step_by(LANES) {
            let left = width - c;
            let d = read::<T, S>(x, c, left) - means[usize::from(left < LANES)];
            let h = read::<T, S>(g, c, left) * read(gain, c, left);
            squares = squares + d * d;
            sum = sum + h;
            dot = dot + h * d;
        }
        let scale = inverse_deviation(squares, width, epsilon);
        let sum = S::splat(pairwise(sum.lanes()) / width as f64);
        let dot = S::splat(scale * pairwise(dot.lanes()) / width as f64);
        let scale = S::splat(scale);
        let mut dx = piece.places[0].slice().map(|(dx, first)| &mut dx[(r - first) * width..]);
        for c in (0..width).step_by(LANES) {
            let left = width - c;
            let u = (read::<T, S>(x, c, left) - means[0]) * scale;
            let g = read::<T, S>(g, c, left);
            add(of_gain, c, LANES, g * u);
            add(of_bias, c, LANES, g);
            if let Some(dx) = dx.as_deref_mut() {
                let h = g * read(gain, c, left);
                write(dx, c, left, scale * (h - sum - u * dot));
            }
        }
    }
    for (place, sums) in piece.places[1..].iter_mut().zip([of_gain, of_bias]) {
        if let Some(sums_of_piece) = place.at(0, width) {
            sums_of_piece.iter_mut().zip(sums).for_each(|(to, &mut sum)| *to = T::nearest(sum));
        }
    }
}

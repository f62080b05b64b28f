//! Sums, maxima and elementwise functions of a line of neighbouring elements. Kernels inline them, but
//! elementary functions are called.
//!
//! Sums are accumulated in `f64` in a fixed order: four sets of eight lanes, in blocks of 4096.

use std::ops::Range;

use crate::lanes::{Lanes, array};
use crate::simd::columns::{Elementary, apply};
use crate::simd::{Block, LANES, dispatch_blocks, read};
use crate::storage::Storage;

/// Long lines are summed in blocks of this many elements; the sums of the blocks are added in order.
pub const BLOCK: usize = 4096;

/// Sums run over this many sets of lanes side by side, because an addition has to wait for the one before it.
pub const SETS: usize = 4;

/// The first [`LANES`] elements; `pad` in the lanes beyond the end.
#[inline(always)]
pub fn load<T: Storage>(x: &[T], pad: f64) -> Lanes<LANES, T> {
    Lanes::load(x, pad)
}

/// The sum over the lanes: the halves are added first, then the quarters, then the eighths.
#[inline(always)]
pub fn pairwise(lanes: Lanes<LANES>) -> f64 {
    let l = lanes.to_array();
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

/// `Σ f(x₁, x₂, …)` over lines of one length, in a fixed order. `f` is given up to eight neighbours of
/// each line and makes a block of them, with zeros beyond the end.
#[inline(always)]
pub fn line_sum<T: Storage, S: Block, const K: usize>(x: [&[T]; K], f: impl Fn([&[T]; K]) -> S) -> f64 {
    let width = x[0].len();
    debug_assert!(x.iter().all(|x| x.len() == width), "lines of one length");
    let zero = S::splat(0.0);
    let mut total = 0.0;
    for start in (0..width).step_by(BLOCK) {
        let end = width.min(start + BLOCK);
        let whole = (end - start) / (SETS * LANES);
        let mut sets = [[].as_slice(); K];
        for k in 0..K {
            sets[k] = &x[k][start..].as_chunks::<{ SETS * LANES }>().0[..whole];
        }
        let [mut a, mut b, mut c, mut d] = [zero; SETS];
        for i in 0..whole {
            let mut x = [[].as_slice(); K];
            for k in 0..K {
                x[k] = &sets[k][i];
            }
            a = a + f(part(&x, 0..LANES));
            b = b + f(part(&x, LANES..2 * LANES));
            c = c + f(part(&x, 2 * LANES..3 * LANES));
            d = d + f(part(&x, 3 * LANES..4 * LANES));
        }
        let starts = (start + whole * SETS * LANES..end).step_by(LANES);
        for (sum, at) in [&mut a, &mut b, &mut c, &mut d].into_iter().zip(starts) {
            *sum = *sum + f(part(&x, at..end.min(at + LANES)));
        }
        total += pairwise(((a + b) + (c + d)).lanes());
    }
    total
}

/// Some neighbours of each line.
#[inline(always)]
fn part<'a, T, const K: usize>(x: &[&'a [T]; K], range: Range<usize>) -> [&'a [T]; K] {
    let mut part = [[].as_slice(); K];
    for k in 0..K {
        part[k] = &x[k][range.clone()];
    }
    part
}

/// The sum.
#[inline(always)]
pub fn line_total<T: Storage, S: Block>(x: &[T]) -> f64 {
    line_sum(
        [x],
        #[inline(always)]
        |[x]| read::<T, S>(x, 0, x.len()),
    )
}

/// The sum of squares.
#[inline(always)]
pub fn line_square<T: Storage, S: Block>(x: &[T]) -> f64 {
    line_sum(
        [x],
        #[inline(always)]
        |[x]| {
            let x = read::<T, S>(x, 0, x.len());
            x * x
        },
    )
}

/// `Σ x y`, of products rounded to the element type.
#[inline(always)]
pub fn line_dot<T: Storage, S: Block>(x: &[T], y: &[T]) -> f64 {
    line_sum(
        [x, y],
        #[inline(always)]
        |[x, y]| S::load(&(load(x, 0.0) * load(y, 0.0)).to_array()),
    )
}

/// [`line_dot`], compiled for the instruction set in use.
#[inline(never)]
pub fn dot<T: Storage>(x: &[T], y: &[T]) -> f64 {
    dispatch_blocks!(S, (x, y), |(x, y)| line_dot::<T, S>(x, y))
}

/// Elements that a maximum takes side by side.
const WIDE: usize = 16;

/// The largest element; NaN if there is one, −∞ if there is none.
#[inline(always)]
pub fn line_max<T: Storage>(x: &[T]) -> T {
    let lowest = T::nearest(f64::NEG_INFINITY);
    let [mut a, mut b] = [Lanes::<WIDE, T>::splat(lowest); 2];
    // A comparison loses a NaN; a sum keeps it.
    let mut sum = Lanes::<WIDE, T>::splat(T::zero());
    let (pairs, end) = x.as_chunks::<{ 2 * WIDE }>();
    for x in pairs {
        let (x, y) = (Lanes::load(&x[..WIDE], 0.0), Lanes::load(&x[WIDE..], 0.0));
        (a, b) = (above(x, a), above(y, b));
        sum = sum + (x + y);
    }
    a = above(b, a);
    for x in end.chunks(WIDE) {
        let x = Lanes::load(x, f64::NEG_INFINITY);
        a = above(x, a);
        sum = sum + x;
    }
    let (mut max, sum) = (a.to_array(), sum.to_array());
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            max[l] = if max[l + half] > max[l] { max[l + half] } else { max[l] };
        }
    }
    if sum.iter().any(|x| x.is_nan()) { with_nan(x, max[0]) } else { max[0] }
}

/// The larger of two, lane by lane; the second where one is NaN.
#[inline(always)]
fn above<const R: usize, T: Storage>(a: Lanes<R, T>, b: Lanes<R, T>) -> Lanes<R, T> {
    Lanes::from(array(T::zero(), |l| if a.get(l) > b.get(l) { a.get(l) } else { b.get(l) }))
}

/// NaN if there is one, else the largest element.
#[cold]
#[inline(never)]
fn with_nan<T: Storage>(x: &[T], max: T) -> T {
    x.iter().copied().find(|x| x.is_nan()).unwrap_or(max)
}

/// The larger of two, lane by lane; NaN if one is.
#[inline(always)]
pub fn larger<const R: usize, T: Storage>(a: Lanes<R, T>, b: Lanes<R, T>) -> Lanes<R, T> {
    Lanes::from(array(T::zero(), |l| {
        let (a, b) = (a.get(l), b.get(l));
        if b > a || b.is_nan() { b } else { a }
    }))
}

/// `y ← y + x`.
#[inline(always)]
pub fn line_add<T: Storage>(y: &mut [T], x: &[T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = *y + *x;
    }
}

/// `y ← f(y, x)`, [`LANES`] elements side by side.
#[inline(always)]
pub fn line_zip<T: Storage>(
    y: &mut [T],
    x: &[T],
    f: impl Fn(Lanes<LANES, T>, Lanes<LANES, T>) -> Lanes<LANES, T>,
) {
    for (y, x) in y.chunks_mut(LANES).zip(x.chunks(LANES)) {
        f(Lanes::load(y, 0.0), Lanes::load(x, 0.0)).store(y);
    }
}

/// `y ← exp(y)`.
///
/// This and the functions below have the bits of [`Scalar`](crate::scalar::Scalar)'s. They are compiled once,
/// in this crate: an exponential that is inlined into every kernel of rows takes the compiler a long time.
#[inline(always)]
pub fn line_exp<T: Storage>(y: &mut [T]) {
    apply(Elementary::Exp, [y]);
}

/// `y ← ln y`.
#[inline(always)]
pub fn line_ln<T: Storage>(y: &mut [T]) {
    apply(Elementary::Ln, [y]);
}

/// `y ← exp(y) − 1`.
#[inline(always)]
pub fn line_exp_m1<T: Storage>(y: &mut [T]) {
    apply(Elementary::ExpM1, [y]);
}

/// `y ← σ(y)`, with the logistic function σ.
#[inline(always)]
pub fn line_sigmoid<T: Storage>(y: &mut [T]) {
    apply(Elementary::Sigmoid, [y]);
}

/// `slopes ← σ'(y)` and `y ← σ(y)`.
#[inline(always)]
pub fn line_sigmoid_with_slope<T: Storage>(y: &mut [T], slopes: &mut [T]) {
    apply(Elementary::SigmoidWithSlope, [y, slopes]);
}

/// `y ← ln σ(y)`.
#[inline(always)]
pub fn line_log_sigmoid<T: Storage>(y: &mut [T]) {
    for y in &mut *y {
        *y = -*y;
    }
    apply(Elementary::Softplus, [&mut *y]);
    for y in y {
        *y = -*y;
    }
}

//! What kernels do to a line of neighbouring elements, inlined into their own loops.
//!
//! Sums are accumulated in `f64` in a fixed order: eight lanes, in blocks of 4096.

use crate::lanes::array;
use crate::simd::LANES;
use crate::{Float, Lanes};

/// Elements whose sums are combined in order.
pub(crate) const BLOCK: usize = 4096;

/// Some consecutive elements; `pad` beyond the end.
#[inline(always)]
pub(crate) fn load<T: Float>(x: &[T], pad: f64) -> Lanes<LANES, T> {
    Lanes::load(x, pad)
}

/// The sum over the lanes.
#[inline(always)]
pub(crate) fn pairwise(lanes: Lanes<LANES>) -> f64 {
    let l = lanes.to_array();
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

/// `Σ f(x)`, in a fixed order.
#[inline(always)]
pub(crate) fn line_sum<T: Float>(x: &[T], f: impl Fn(Lanes<LANES, T>) -> Lanes<LANES>) -> f64 {
    let mut total = 0.0;
    for block in x.chunks(BLOCK) {
        let mut sums = [Lanes::splat(0.0); 2];
        let mut pairs = block.chunks_exact(2 * LANES);
        for pair in &mut pairs {
            let (a, b) = pair.split_at(LANES);
            sums[0] = sums[0] + f(load(a, 0.0));
            sums[1] = sums[1] + f(load(b, 0.0));
        }
        for rest in pairs.remainder().chunks(LANES) {
            let mut y = f(load(rest, 0.0));
            (rest.len()..LANES).for_each(|l| y.set(l, 0.0));
            sums[0] = sums[0] + y;
        }
        total += pairwise(sums[0] + sums[1]);
    }
    total
}

/// The sum.
#[inline(always)]
pub(crate) fn line_total<T: Float>(x: &[T]) -> f64 {
    line_sum(
        x,
        #[inline(always)]
        |x| x.widen(),
    )
}

/// The largest element; NaN if there is one, −∞ if there is none.
#[inline(always)]
pub(crate) fn line_max<T: Float>(x: &[T]) -> T {
    let least = Lanes::<LANES, T>::splat(T::nearest(f64::NEG_INFINITY));
    // Side by side: one comparison waits for the one before.
    let mut maxima = [least; 4];
    let mut blocks = x.chunks_exact(4 * LANES);
    for block in &mut blocks {
        for i in 0..4 {
            maxima[i] = larger(maxima[i], load(&block[i * LANES..(i + 1) * LANES], f64::NEG_INFINITY));
        }
    }
    for block in blocks.remainder().chunks(LANES) {
        maxima[0] = larger(maxima[0], load(block, f64::NEG_INFINITY));
    }
    let max = larger(larger(maxima[0], maxima[1]), larger(maxima[2], maxima[3]));
    let first = Lanes::from([max.get(0)]);
    (1..LANES).fold(first, |m, l| larger(m, Lanes::from([max.get(l)]))).get(0)
}

/// The larger of two, lane by lane; NaN if one is.
#[inline(always)]
pub(crate) fn larger<const R: usize, T: Float>(a: Lanes<R, T>, b: Lanes<R, T>) -> Lanes<R, T> {
    Lanes::from(array(T::zero(), |l| {
        let (a, b) = (a.get(l), b.get(l));
        if b > a || b.is_nan() { b } else { a }
    }))
}

/// `Σ x y`, of products rounded to the element type.
#[inline(always)]
pub(crate) fn line_dot<T: Float>(x: &[T], y: &[T]) -> f64 {
    let mut sum = Lanes::splat(0.0);
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        sum = sum + (load(x, 0.0) * load(y, 0.0)).widen();
    }
    pairwise(sum)
}

/// `y ← f(y)`, `R` elements side by side.
#[inline(always)]
pub(crate) fn line_map<T: Float, const R: usize>(y: &mut [T], f: impl Fn(Lanes<R, T>) -> Lanes<R, T>) {
    for y in y.chunks_mut(R) {
        f(Lanes::load(y, 0.0)).store(y);
    }
}

/// `y ← f(x₁, x₂, …)`, `R` elements side by side.
#[inline(always)]
pub(crate) fn line_of<T: Float, const R: usize, const K: usize>(
    y: &mut [T],
    x: [&[T]; K],
    f: impl Fn([Lanes<R, T>; K]) -> Lanes<R, T>,
) {
    debug_assert!(x.iter().all(|x| x.len() == y.len()), "lines of one length");
    for (b, y) in y.chunks_mut(R).enumerate() {
        let x = array(
            Lanes::splat(T::zero()),
            #[inline(always)]
            |k| Lanes::load(&x[k][b * R..], 0.0),
        );
        f(x).store(y);
    }
}

/// `y ← y + x`.
#[inline(always)]
pub(crate) fn line_add<T: Float>(y: &mut [T], x: &[T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = *y + *x;
    }
}

/// `y ← f(y, x)`, `R` elements side by side.
#[inline(always)]
pub(crate) fn line_zip<T: Float, const R: usize>(
    y: &mut [T],
    x: &[T],
    f: impl Fn(Lanes<R, T>, Lanes<R, T>) -> Lanes<R, T>,
) {
    for (y, x) in y.chunks_mut(R).zip(x.chunks(R)) {
        f(Lanes::load(y, 0.0), Lanes::load(x, 0.0)).store(y);
    }
}

//! Coordinates of basis vectors, block by block.

use crate::formula::row::{Metric, Vector};
use crate::formula::sums::End;
use crate::numbers::lanes::Lanes;
use crate::numbers::norm;
use crate::numbers::simd::{Block, LANES};

/// Blocks with a 1 in one lane; the last block is all zeros.
static UNITS: [[f64; LANES]; LANES + 1] = {
    let mut units = [[0.0; LANES]; LANES + 1];
    let mut l = 0;
    while l < LANES {
        units[l][l] = 1.0;
        l += 1;
    }
    units
};

/// Which coordinates a block holds.
pub(crate) trait Place: Copy {
    /// The same coordinates of the unit vector of a coordinate.
    fn unit<S: Block>(self, coordinate: usize) -> S;
}

/// Neighbouring coordinates of one row, from this one on.
impl Place for usize {
    #[inline(always)]
    fn unit<S: Block>(self, coordinate: usize) -> S {
        S::load(&UNITS[coordinate.wrapping_sub(self).min(LANES)])
    }
}

/// One coordinate of several rows.
#[derive(Clone, Copy)]
pub(crate) struct Across(pub(crate) usize);

impl Place for Across {
    #[inline(always)]
    fn unit<S: Block>(self, coordinate: usize) -> S {
        S::splat(if coordinate == self.0 { 1.0 } else { 0.0 })
    }
}

/// The coordinates at `c` of the unit vector of a coordinate.
#[inline(always)]
pub(crate) fn unit<S: Block>(coordinate: usize, c: impl Place) -> S {
    c.unit(coordinate)
}

/// The coordinates at `c`, with one of them set to 0.
#[inline(always)]
pub(crate) fn without<S: Block>(x: S, coordinate: usize, c: impl Place) -> S {
    x * (S::splat(1.0) - unit(coordinate, c))
}

/// The first coordinate, which is time, negated.
#[inline(always)]
pub(crate) fn flip<S: Block>(x: S, c: impl Place) -> S {
    let time = unit::<S>(0, c);
    x * (S::splat(1.0) - (time + time))
}

/// The coordinates at `c` with their index lowered by the metric.
#[inline(always)]
pub(crate) fn lower<S: Block>(metric: Metric, x: S, c: impl Place) -> S {
    match metric {
        // The basis is horizontal itself.
        Metric::Euclidean | Metric::Horizontal => x,
        Metric::Minkowski => flip(x, c),
        Metric::Space => without(x, 0, c),
    }
}

/// For a basis vector whose squares, one in each lane, overflow or underflow: the slopes by which its norms
/// depend on their coordinates, and the norms; 0 for other squares. `x(l, i, c)` is coordinate `c` of input
/// `i` in lane `l`, of which the first `rows` have rows.
#[inline(always)]
pub(crate) fn extreme<const R: usize>(
    (metric, vector, width): (Metric, Vector, usize),
    squares: Lanes<R>,
    rows: usize,
    x: impl Fn(usize, usize, usize) -> f64,
) -> [Lanes<R>; 2] {
    let (mut norms, mut slopes) = (Lanes::splat(0.0), Lanes::splat(0.0));
    for l in 0..rows {
        if !norm::is_accurate(squares.get(l)) {
            let norm = scaled_norm(metric, vector, width, &|i, c| x(l, i, c));
            norms.set(l, norm);
            slopes.set(l, slope(norm));
        }
    }
    [slopes, norms]
}

/// The slope of a norm along a coordinate, per unit of the coordinate: 0 if the norm is 0, NaN if it is not
/// finite.
fn slope(norm: f64) -> f64 {
    match norm {
        0.0 => 0.0,
        norm if norm.is_finite() => norm.recip(),
        _ => f64::NAN,
    }
}

/// The norm of a basis vector in units of its largest coordinate. `x(i, c)` is coordinate `c` of input `i`.
#[cold]
#[inline(never)]
pub(crate) fn scaled_norm(
    metric: Metric,
    vector: Vector,
    width: usize,
    x: &dyn Fn(usize, usize) -> f64,
) -> f64 {
    let coordinates = match metric {
        Metric::Euclidean | Metric::Minkowski => 0..width,
        Metric::Space => 1..width,
        Metric::Horizontal => 0..width - 1,
    };
    let unit = |c: usize, end: End| f64::from(c == end.coordinate(width));
    // A sign does not change the norm.
    norm::scaled(coordinates.map(|c| vector.coordinate(|i| x(i, c), |x| x, |end| unit(c, end))))
}

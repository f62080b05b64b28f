//! Coordinates of basis vectors, block by block.

use crate::formula::row::Metric;
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

//! Rules of the reverse pass of row formulas: what receives the cotangent of an invariant, and which inputs
//! a basis vector is made of.

use crate::formula::row::{Invariant, Metric, Vector};
use crate::numbers::scalar::Scalar;

/// What receives a cotangent: the first of two basis vectors, through their inner product; a parameter;
/// the first or the last coordinate of an input.
pub(crate) enum Receiver {
    Pair(usize, usize),
    Param(usize),
    First(usize),
    Last(usize),
}

/// Passes the cotangent `w` of an invariant on to what the invariant is made of. `products` are those of
/// the survey; κ is parameter 0.
#[inline(always)]
pub(crate) fn of_invariant<S: Scalar>(
    invariant: Invariant,
    w: S,
    value: S,
    products: &[S; 4],
    kappa: S,
    mut give: impl FnMut(Receiver, S),
) {
    match invariant {
        Invariant::Dot(a, b) | Invariant::Accurate(a, b) => {
            give(Receiver::Pair(a, b), w);
            give(Receiver::Pair(b, a), w);
        }
        Invariant::Margin(a) => {
            give(Receiver::Pair(a, a), S::constant(2.0) * kappa * w);
            // A margin that the result does not depend on gives nothing, even if the square is infinite.
            give(Receiver::Param(0), S::select(S::zero().lt(w.abs()), w * products[0], w));
        }
        Invariant::Along(a, b) => {
            // ∂(⟨a, b⟩/‖b‖) =
            // (⟨∂a, b⟩ + ⟨a, ∂b⟩)/‖b‖ − (⟨a, b⟩/‖b‖) ⟨b, ∂b⟩/‖b‖².
            let norm = products[0];
            let positive = S::zero().lt(norm);
            // Where the norm is 0 or NaN, so are the cotangents.
            let w_per_norm = S::select(positive, w / norm, norm);
            let along_b = S::select(positive, w_per_norm * (value / norm), norm);
            give(Receiver::Pair(a, b), w_per_norm);
            give(Receiver::Pair(b, a), w_per_norm);
            give(Receiver::Pair(b, b), -along_b);
        }
        Invariant::Extreme(a) => give(Receiver::Pair(a, a), w * products[0]),
        Invariant::Wedge(a, b, c) => {
            // The product rule on ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩.
            let [aa, ab, ac, bc] = *products;
            for (i, j, y) in [(a, a, bc), (b, c, aa), (a, b, -ac), (a, c, -ab)] {
                give(Receiver::Pair(i, j), w * y);
                give(Receiver::Pair(j, i), w * y);
            }
        }
        Invariant::First(i) => give(Receiver::First(i), w),
        Invariant::Last(i) => give(Receiver::Last(i), w),
        Invariant::Param(p) => give(Receiver::Param(p), w),
        Invariant::Epsilon => {}
    }
}

/// All coordinates of a row, without the one at an [`END`] if a formula has one.
pub(crate) const BODY: usize = 0;

/// The first or last coordinate of a row, where the metric or a basis vector treats it separately.
pub(crate) const END: usize = 1;

/// The region of a row that a coordinate is in, [`BODY`] or [`END`], for a formula that has an end.
#[inline(always)]
pub(crate) fn region_of(metric: Metric, coordinate: usize, width: usize) -> usize {
    let end = if matches!(metric, Metric::Horizontal) { width - 1 } else { 0 };
    if coordinate == end { END } else { BODY }
}

/// How input `i` takes part in a basis vector: its factor, and the factor with the index lowered by the
/// metric. `region` is [`BODY`] or [`END`]. `None` where the input takes no part.
#[inline(always)]
pub(crate) const fn share_of(vector: Vector, metric: Metric, region: usize, i: usize) -> Option<[i32; 2]> {
    let times = share(vector, i);
    if times == 0 || region == END && matches!(metric, Metric::Horizontal) {
        return None;
    }
    let sign = if region == END && matches!(vector, Vector::Flip(_)) { -times } else { times };
    Some([sign, if region == END && matches!(metric, Metric::Minkowski) { -sign } else { sign }])
}

/// Whether the basis vectors' coordinates in a region enter the inner products. If not, their terms are left
/// out, so that infinite coordinates are not multiplied by 0.
#[inline(always)]
pub(crate) const fn leaves(metric: Metric, region: usize) -> bool {
    region == BODY || matches!(metric, Metric::Euclidean | Metric::Minkowski)
}

/// The factor of input `i` in a basis vector, but for the first coordinate of a `Flip`.
#[inline(always)]
pub(crate) const fn share(vector: Vector, i: usize) -> i32 {
    match vector {
        Vector::Input(j) | Vector::Flip(j) => (i == j) as i32,
        Vector::Sum(j, k) => (i == j) as i32 + (i == k) as i32,
        Vector::Difference(j, k) => (i == j) as i32 - (i == k) as i32,
        Vector::Time | Vector::Height => 0,
    }
}

/// Whether `a` is one of three.
#[inline(always)]
const fn among(a: usize, [b, c, d]: [usize; 3]) -> bool {
    a == b || a == c || a == d
}

/// Whether some invariant combines the basis vectors `a` and `b`.
#[inline(always)]
pub(crate) const fn paired(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        match invariants[k] {
            Invariant::Dot(c, d) | Invariant::Accurate(c, d) | Invariant::Along(c, d)
                if (a == c && b == d) || (a == d && b == c) =>
            {
                return true;
            }
            Invariant::Along(_, c) | Invariant::Margin(c) | Invariant::Extreme(c) if a == c && b == c => {
                return true;
            }
            Invariant::Wedge(c, d, e) if among(a, [c, d, e]) && among(b, [c, d, e]) => return true,
            _ => {}
        }
        k += 1;
    }
    false
}

/// Whether some invariant asks for the plain inner product of the basis vectors `a` and `b`.
pub(crate) const fn multiplies(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        let pairs: &[(usize, usize)] = match invariants[k] {
            Invariant::Dot(c, d) => &[(c, d)],
            Invariant::Extreme(c) => &[(c, c)],
            Invariant::Wedge(c, d, e) => &[(c, c), (c, d), (c, e), (d, e)],
            _ => &[],
        };
        let mut i = 0;
        while i < pairs.len() {
            let (c, d) = pairs[i];
            if (a == c && b == d) || (a == d && b == c) {
                return true;
            }
            i += 1;
        }
        k += 1;
    }
    false
}

/// Whether the metric or a basis vector treats a coordinate at an end of the row separately.
pub(crate) const fn has_end(metric: Metric, basis: &[Vector]) -> bool {
    !matches!(metric, Metric::Euclidean) || has_flip(basis)
}

/// Whether a basis vector has its first coordinate negated.
pub(crate) const fn has_flip(basis: &[Vector]) -> bool {
    let mut b = 0;
    while b < basis.len() {
        if matches!(basis[b], Vector::Flip(_)) {
            return true;
        }
        b += 1;
    }
    false
}

/// Whether the first or the last coordinate is an invariant of its own.
pub(crate) const fn reads_ends(invariants: &[Invariant]) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        if matches!(invariants[k], Invariant::First(_) | Invariant::Last(_)) {
            return true;
        }
        k += 1;
    }
    false
}

//! Norms, also where the squares of the numbers leave the range of `f64`.

use crate::scalar::Scalar;

/// A sum of squares from here on, if it is finite, has all its digits: what underflows is too small to count.
pub const LEAST_SQUARE: f64 = f64::from_bits((1023 - 960) << 52); // 2⁻⁹⁶⁰

/// Whether neither overflow nor underflow has cost a sum of squares any digits.
#[inline(always)]
pub fn is_accurate(square: f64) -> bool {
    (LEAST_SQUARE..f64::INFINITY).contains(&square)
}

/// The norm of a vector in a row formula, from its `Dot` with itself and its `Extreme`. It has the bits of
/// the root wherever the square is in range.
#[inline(always)]
pub fn norm<S: Scalar>(square: S, extreme: S) -> S {
    S::select(S::zero().lt(extreme), extreme, square.sqrt())
}

/// The norm of numbers whose squares sum to `square`: its root, or [`scaled`] where the sum has lost digits.
#[inline(always)]
pub fn norm_of(square: f64, x: impl Iterator<Item = f64> + Clone) -> f64 {
    if is_accurate(square) { square.sqrt() } else { scaled(x) }
}

/// The norm, computed in units of a power of two near the largest magnitude. NaN if one number is; infinite
/// if one is or if the norm is beyond the range.
#[cold]
#[inline(never)]
pub fn scaled(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = x.clone().fold(0.0, |m: f64, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    // The bits of its exponent; a subnormal number has none.
    let unit = f64::from_bits(largest.to_bits() >> 52 << 52).max(f64::MIN_POSITIVE);
    x.fold(0.0, |sum, x| sum + (x / unit) * (x / unit)).sqrt() * unit
}

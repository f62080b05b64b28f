//! The logarithm and the inverse hyperbolic functions.

use std::f64::consts::LN_2;

use super::exponential::near_power;
use super::{Element, c, polynomial};
use crate::lanes::Lanes;
use crate::scalar::Scalar;

/// `ln u + correction(f, k)` where `u = 2^k (1 + f)`, √½ ≤ 1 + f < √2, for a correction that is small
/// beside ln u. For u ≤ 0, ∞ and NaN the result is that of ln u. With `above_one` u must be at least 1,
/// or NaN: the tests for smaller numbers are then left out.
#[inline(always)]
fn ln_corrected<const R: usize, E: Element>(
    u: Lanes<R, E>,
    above_one: bool,
    correction: impl FnOnce(Lanes<R, E>, Lanes<R, E>) -> Lanes<R, E>,
) -> Lanes<R, E> {
    let subnormal = u.lt(Lanes::splat(E::MIN_POSITIVE));
    let normal = if above_one { u } else { Lanes::select(subnormal, u * Lanes::splat(E::INTEGERS), u) };
    // Moves √½ to 1, so that the exponent counts from there.
    let shifted = normal.map_bits(
        #[inline(always)]
        |bits| bits + (E::BIAS << E::FRACTION) - E::ROOT_HALF.to_bits(),
    );
    let m = shifted.map_bits(
        #[inline(always)]
        |bits| (bits & ((E::ONE_BITS << E::FRACTION) - E::ONE_BITS)) + E::ROOT_HALF.to_bits(),
    );
    let biased = shifted.map_bits(
        #[inline(always)]
        |bits| (bits >> E::FRACTION) | E::INTEGERS.to_bits(),
    );
    let bias = Lanes::splat(E::from_bits(E::BIAS | E::INTEGERS.to_bits()));
    let mut k = biased - bias;
    if !above_one {
        k = k - Lanes::select(subnormal, c(E::FRACTION as f64), c(0.0));
    }
    // ln(1 + f) = 2 artanh(f/(2 + f)), its first terms f − f²/2 added separately.
    let f = m - c(1.0);
    let s = f / (c(2.0) + f);
    let z = s * s;
    let half_square = c(0.5) * f * f;
    let low = k.mul_add(Lanes::splat(E::LN_2[1]), correction(f, k));
    let low = s.mul_add(half_square + z * polynomial(z, E::LOG), low);
    let inside = k.mul_add(Lanes::splat(E::LN_2[0]), f - (half_square - low));

    let finite = Lanes::select(u.lt(c(f64::INFINITY)), inside, u); // infinity and NaN as they are
    if above_one {
        return finite;
    }
    let positive = Lanes::select(c(0.0).lt(u), finite, c(f64::NEG_INFINITY) + u); // -∞ at 0, NaN as it is
    Lanes::select(u.lt(c(0.0)), c(f64::NAN), positive)
}

/// `ln x`. Error below 0.9 ulp; `f32` 0.9.
#[inline(always)]
pub fn ln<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    ln_corrected(
        x,
        false,
        #[inline(always)]
        |_, _| c(0.0),
    )
}

/// `ln(1 + x)`. Error below 0.8 ulp; `f32` 0.9.
#[inline(always)]
pub fn ln_1p<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    ln_1p_of(x, false).copysign(x) // keeps −0
}

/// `ln(1 + x)`, but 0 for −0. With `positive` x must be at least 0, or NaN.
#[inline(always)]
fn ln_1p_of<const R: usize, E: Element>(x: Lanes<R, E>, positive: bool) -> Lanes<R, E> {
    let (u, error) = x.two_sum(c(1.0));
    ln_corrected(
        u,
        positive,
        // error/u, with 1/(1 + f) to the third order: the error is half a unit in u's last place at most.
        #[inline(always)]
        |f, k| error * near_power(-k) * (c(1.0) - f) * f.mul_add(f, c(1.0)),
    )
}

/// `arsinh x`, odd. Error below 1.6 ulp; `f32` 1.8.
#[inline(always)]
pub fn asinh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let a = x.abs();
    asinh_of_square(a * a, a).copysign(x)
}

/// `arsinh r` for r ≥ 0, given r²: `ln(1 + (r + r²/(1 + √(1 + r²))))`.
#[inline(always)]
pub(super) fn asinh_of_square<const R: usize, E: Element>(
    square: Lanes<R, E>,
    r: Lanes<R, E>,
) -> Lanes<R, E> {
    ln_1p_or_double(r, r + square / (c(1.0) + (c(1.0) + square).sqrt()))
}

/// `arcosh x`. Error below 1.9 ulp; `f32` 2.4.
#[inline(always)]
pub fn acosh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let t = Lanes::select(x.lt(c(1.0)), c(f64::NAN), x - c(1.0));
    ln_1p_or_double(x, t + (t * (t + c(2.0))).sqrt())
}

/// `ln(1 + inner)`, inner ≥ 0 or NaN; `ln 2r` where r is so large that its square may overflow.
#[inline(always)]
fn ln_1p_or_double<const R: usize, E: Element>(r: Lanes<R, E>, inner: Lanes<R, E>) -> Lanes<R, E> {
    let large = Lanes::splat(E::INTEGERS).lt(r);
    ln_1p_of(Lanes::select(large, r, inner), true) + Lanes::select(large, c(LN_2), c(0.0))
}

/// `artanh x`, odd. Error below 1.5 ulp; `f32` 2.0.
#[inline(always)]
pub fn atanh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let a = x.abs();
    (c(0.5) * ln_1p(c(2.0) * a / (c(1.0) - a))).copysign(x)
}

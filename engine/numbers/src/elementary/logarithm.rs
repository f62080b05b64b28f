//! The logarithm and the inverse hyperbolic functions.

use std::f64::consts::LN_2;

use super::element::Format;
use super::exponential::near_power;
use super::{Packed, polynomial};
use crate::compensated::two_sum;

/// `ln u + correction(f, k)` where `u = 2^k (1 + f)`, √½ ≤ 1 + f < √2, for a correction that is small
/// beside ln u. For u ≤ 0, ∞ and NaN the result is that of ln u. With `above_one` u must be at least 1,
/// or NaN: the tests for smaller numbers are then left out.
#[inline(always)]
fn ln_corrected<P: Packed>(u: P, above_one: bool, correction: impl FnOnce(P, P) -> P) -> P {
    let subnormal = u.lt(P::splat(P::Element::MIN_POSITIVE));
    let normal = if above_one { u } else { P::select(subnormal, u * P::splat(P::Element::INTEGERS), u) };
    // Moves √½ to 1, so that the exponent counts from there.
    let root_half = P::Element::ROOT_HALF.to_bits();
    let shifted = normal.add_bits(P::from_bits((P::Element::BIAS << P::Element::FRACTION) - root_half));
    let fraction = P::from_bits((P::Element::ONE_BITS << P::Element::FRACTION) - P::Element::ONE_BITS);
    let m = shifted.and(fraction).add_bits(P::from_bits(root_half));
    let biased = shifted.shift_right(P::Element::FRACTION).or(P::splat(P::Element::INTEGERS));
    let bias = P::from_bits(P::Element::BIAS | P::Element::INTEGERS.to_bits());
    let mut k = biased - bias;
    if !above_one {
        k = k - P::select(subnormal, P::constant(P::Element::FRACTION as f64), P::constant(0.0));
    }
    // ln(1 + f) = 2 artanh(f/(2 + f)), its first terms f − f²/2 added separately.
    let f = m - P::constant(1.0);
    let s = f / (P::constant(2.0) + f);
    let z = s * s;
    let half_square = P::constant(0.5) * f * f;
    let low = k.mul_add(P::splat(P::Element::LN_2[1]), correction(f, k));
    let low = s.mul_add(half_square + z * polynomial(z, P::Element::LOG), low);
    let inside = k.mul_add(P::splat(P::Element::LN_2[0]), f - (half_square - low));

    let finite = P::select(u.lt(P::constant(f64::INFINITY)), inside, u); // infinity and NaN as they are
    if above_one {
        return finite;
    }
    // −∞ at 0, NaN as it is.
    let positive = P::select(P::constant(0.0).lt(u), finite, P::constant(f64::NEG_INFINITY) + u);
    P::select(u.lt(P::constant(0.0)), P::constant(f64::NAN), positive)
}

/// `ln x`. Error below 0.9 ulp; `f32` 0.9.
#[inline(always)]
pub fn ln<P: Packed>(x: P) -> P {
    ln_corrected(
        x,
        false,
        #[inline(always)]
        |_, _| P::constant(0.0),
    )
}

/// `ln(1 + x)`. Error below 0.8 ulp; `f32` 0.9.
#[inline(always)]
pub fn ln_1p<P: Packed>(x: P) -> P {
    ln_1p_of(x, false).copysign(x) // keeps −0
}

/// `ln(1 + x)`, but 0 for −0. With `positive` x must be at least 0, or NaN.
#[inline(always)]
fn ln_1p_of<P: Packed>(x: P, positive: bool) -> P {
    let (u, error) = two_sum(x, P::constant(1.0));
    ln_corrected(
        u,
        positive,
        // error/u, with 1/(1 + f) to the third order: the error is half a unit in u's last place at most.
        #[inline(always)]
        |f, k| error * near_power(-k) * (P::constant(1.0) - f) * f.mul_add(f, P::constant(1.0)),
    )
}

/// `arsinh x`, odd. Error below 1.6 ulp; `f32` 1.8.
#[inline(always)]
pub fn asinh<P: Packed>(x: P) -> P {
    let a = x.abs();
    asinh_of_square(a * a, a).copysign(x)
}

/// `arsinh r` for r ≥ 0, given r²: `ln(1 + (r + r²/(1 + √(1 + r²))))`.
#[inline(always)]
pub(super) fn asinh_of_square<P: Packed>(square: P, r: P) -> P {
    ln_1p_or_double(r, r + square / (P::constant(1.0) + (P::constant(1.0) + square).sqrt()))
}

/// `arcosh x`. Error below 1.9 ulp; `f32` 2.4.
#[inline(always)]
pub fn acosh<P: Packed>(x: P) -> P {
    let t = P::select(x.lt(P::constant(1.0)), P::constant(f64::NAN), x - P::constant(1.0));
    ln_1p_or_double(x, t + (t * (t + P::constant(2.0))).sqrt())
}

/// `ln(1 + inner)`, inner ≥ 0 or NaN; `ln 2r` where r is so large that its square may overflow.
#[inline(always)]
fn ln_1p_or_double<P: Packed>(r: P, inner: P) -> P {
    let large = P::splat(P::Element::INTEGERS).lt(r);
    ln_1p_of(P::select(large, r, inner), true) + P::select(large, P::constant(LN_2), P::constant(0.0))
}

/// `artanh x`, odd. Error below 1.5 ulp; `f32` 2.0.
#[inline(always)]
pub fn atanh<P: Packed>(x: P) -> P {
    let a = x.abs();
    (P::constant(0.5) * ln_1p(P::constant(2.0) * a / (P::constant(1.0) - a))).copysign(x)
}

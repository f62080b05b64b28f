//! The exponential and the hyperbolic functions.

use std::f64::consts::LOG2_E;

use super::element::Format;
use super::{Packed, clamp, magnitude, polynomial};

/// 2ⁿ for an integer n in the exponent's range; 0 just below it.
#[inline(always)]
fn power_of_two<P: Packed>(n: P) -> P {
    let bias = P::from_bits(P::Element::BIAS - P::Element::ROUND.to_bits());
    (n + P::splat(P::Element::ROUND)).add_bits(bias).shift_left(P::Element::FRACTION)
}

/// 2ⁿ for n ≥ −64; below that and for NaN it is 2⁻⁶⁴. For sums in which a smaller power is
/// negligible and another term is NaN as well.
#[inline(always)]
pub(super) fn near_power<P: Packed>(n: P) -> P {
    let least = P::constant(-64.0);
    power_of_two(n.greater(least))
}

/// `m 2ⁿ`, rounded once, also where the result is subnormal or infinite.
#[inline(always)]
pub(super) fn scale<P: Packed>(m: P, n: P) -> P {
    let half = n.mul_add(P::constant(0.5), P::splat(P::Element::ROUND)) - P::splat(P::Element::ROUND);
    m * power_of_two(half) * power_of_two(n - half)
}

/// [`scale`] for what [`reduce`] returns for x ≤ 0, with one power of two: n from −`EXP_LIMIT`/ln 2
/// to 0.
#[inline(always)]
pub(super) fn scale_down<P: Packed>(m: P, n: P) -> P {
    m * power_of_two(n + P::splat(P::Element::HALF_BIAS)) * P::splat(P::Element::DOWN)
}

/// The correction of an exact argument: −0. Adding it changes no number, not even −0, so the compiler
/// leaves the addition out.
const EXACT: f64 = -0.0;

/// `x + low = n ln 2 + r + r_low`, |r| ≤ ln 2 / 2, for |x| ≤ `EXP_LIMIT` and a correction `low` below x's
/// last place; `r_low` is below that of r. Returns `(r, r_low, n)`.
#[inline(always)]
fn reduce<P: Packed>(x: P, low: P) -> (P, P, P) {
    let n = x.mul_add(P::constant(LOG2_E), P::splat(P::Element::ROUND)) - P::splat(P::Element::ROUND);
    // Exact: the difference is small, and a multiple of the last place of ln 2.
    let leading = (-n).mul_add(P::splat(P::Element::LN_2[0]), x);
    let r = (-n).mul_add(P::splat(P::Element::LN_2[1]), leading) + low;
    (r, (-n).mul_add(P::splat(P::Element::LN_2[1]), leading - r) + low, n)
}

/// `e^(x + low) = (1 + r + q) 2ⁿ`, |q| < r²: returns `(r, q, n)`.
#[inline(always)]
fn exp_parts<P: Packed>(x: P, low: P) -> (P, P, P) {
    let (r, r_low, n) = reduce(x, low);
    (r, (r * r).mul_add(polynomial(r, P::Element::EXP), r.mul_add(r_low, r_low)), n)
}

/// `e^(x + low) = m 2ⁿ`: returns `(m, n)`.
#[inline(always)]
pub(super) fn exp_scaled<P: Packed>(x: P, low: P) -> (P, P) {
    let (r, _, n) = reduce(x, low);
    (P::constant(1.0) + (r * r).mul_add(polynomial(r, P::Element::EXP), r), n)
}

/// `eˣ`. Error below 1.0 ulp; `f32` 1.0.
#[inline(always)]
pub fn exp<P: Packed>(x: P) -> P {
    let (m, n) = exp_scaled(clamp(x, P::Element::EXP_LIMIT), P::constant(EXACT));
    scale(m, n)
}

/// `eˣ − 1`. Error below 1.1 ulp; `f32` 1.2.
#[inline(always)]
pub fn exp_m1<P: Packed>(x: P) -> P {
    let (r, q, n) = exp_parts(clamp(x, P::Element::EXP_LIMIT), P::constant(EXACT));
    let factor = near_power(n);
    let near = factor.mul_add(q, factor.mul_add(r, factor - P::constant(1.0)));
    // The sign is that of x, also for zero.
    P::select(P::constant(40.0).lt(x), scale(P::constant(1.0) + (r + q), n), near).copysign(x)
}

/// `sinh(x + low) = s 2ⁿ` and `cosh(x + low) = k 2ⁿ` for x ≥ 0 and a correction below x's last place:
/// returns `(s, k, n)`.
#[inline(always)]
pub(super) fn sinh_cosh_parts<P: Packed>(x: P, low: P) -> (P, P, P) {
    let (r, r_low, n) = reduce(x, low);
    let z = r * r;
    // sinh(r + r_low) = r + q, and cosh(r + r_low) − 1.
    let q = (r * z).mul_add(polynomial(z, P::Element::SINH), r_low);
    let cosh_m1 = z.mul_add(polynomial(z, P::Element::COSH), r * r_low);
    // The addition theorems for r + r_low + n ln 2, over 2ⁿ⁻¹.
    let inverse = near_power(P::constant(-2.0) * n);
    let (sum, difference) = (P::constant(1.0) + inverse, P::constant(1.0) - inverse);
    let s = difference + sum.mul_add(r, difference.mul_add(cosh_m1, sum * q));
    // The rounding of `1 + inverse` would count here, so `inverse` is added by itself.
    let k = P::constant(1.0) + difference.mul_add(r, sum.mul_add(cosh_m1, difference.mul_add(q, inverse)));
    (s, k, n - P::constant(1.0))
}

/// `sinh x` and `cosh x`.
#[inline(always)]
pub fn sinh_cosh<P: Packed>(x: P) -> (P, P) {
    let (s, k, n) = sinh_cosh_parts(magnitude(x, P::Element::EXP_LIMIT), P::constant(EXACT));
    (scale(s, n).copysign(x), scale(k, n))
}

/// `sinh x`. Error below 0.9 ulp; `f32` 1.2.
#[inline(always)]
pub fn sinh<P: Packed>(x: P) -> P {
    sinh_cosh(x).0
}

/// `cosh x`. Error below 0.9 ulp; `f32` 1.0.
#[inline(always)]
pub fn cosh<P: Packed>(x: P) -> P {
    sinh_cosh(x).1
}

/// `tanh x`. Error below 1.2 ulp; `f32` 1.5.
#[inline(always)]
pub fn tanh<P: Packed>(x: P) -> P {
    tanh_with_slope(x).0
}

/// `tanh x` and its derivative `sech² x`, from one exponential. Error of the slope below 4.9 ulp; `f32` 5.7.
#[inline(always)]
pub fn tanh_with_slope<P: Packed>(x: P) -> (P, P) {
    let (r, _, n) = reduce(P::constant(-2.0) * magnitude(x, 0.5 * P::Element::EXP_LIMIT), P::constant(EXACT));
    let p = (r * r).mul_add(polynomial(r, P::Element::EXP), r);
    // (1 − e^-2|x|) / (1 + e^-2|x|), every sum with its rounding error.
    let factor = near_power(n);
    let (leading, trailing) = (P::constant(1.0) - factor, factor * p);
    let numerator = leading - trailing;
    let numerator_low = (leading - numerator) - trailing;
    let denominator = P::constant(2.0) - numerator;
    let denominator_low = ((P::constant(2.0) - denominator) - numerator) - numerator_low;
    let inverse = denominator.recip();
    let quotient = numerator * inverse;
    let remainder =
        (-quotient).mul_add(denominator, numerator) + (-quotient).mul_add(denominator_low, numerator_low);
    let value = remainder.mul_add(inverse, quotient);
    let slope = scale_down(P::constant(4.0) * (P::constant(1.0) + p) * inverse * inverse, n);
    (value.copysign(x), slope)
}

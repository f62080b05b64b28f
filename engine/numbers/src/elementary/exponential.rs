//! The exponential and the hyperbolic functions.

use std::f64::consts::LOG2_E;

use super::{Element, c, clamp, magnitude, polynomial};
use crate::lanes::Lanes;
use crate::scalar::Scalar;

/// 2ⁿ for an integer n in the exponent's range; 0 just below it.
#[inline(always)]
fn power_of_two<const R: usize, E: Element>(n: Lanes<R, E>) -> Lanes<R, E> {
    (n + Lanes::splat(E::ROUND)).map_bits(
        #[inline(always)]
        |bits| (bits - E::ROUND.to_bits() + E::BIAS) << E::FRACTION,
    )
}

/// 2ⁿ for n ≥ −64; below that and for NaN it is 2⁻⁶⁴. For sums in which a smaller power is
/// negligible and another term is NaN as well.
#[inline(always)]
pub(super) fn near_power<const R: usize, E: Element>(n: Lanes<R, E>) -> Lanes<R, E> {
    let least = c(-64.0);
    power_of_two(Lanes::select(least.lt(n), n, least))
}

/// `m 2ⁿ`, rounded once, also where the result is subnormal or infinite.
#[inline(always)]
pub(super) fn scale<const R: usize, E: Element>(m: Lanes<R, E>, n: Lanes<R, E>) -> Lanes<R, E> {
    let half = n.mul_add(c(0.5), Lanes::splat(E::ROUND)) - Lanes::splat(E::ROUND);
    m * power_of_two(half) * power_of_two(n - half)
}

/// [`scale`] for what [`reduce`] returns for x ≤ 0, with one power of two: n from −`EXP_LIMIT`/ln 2
/// to 0.
#[inline(always)]
pub(super) fn scale_down<const R: usize, E: Element>(m: Lanes<R, E>, n: Lanes<R, E>) -> Lanes<R, E> {
    m * power_of_two(n + Lanes::splat(E::HALF_BIAS)) * Lanes::splat(E::DOWN)
}

/// The correction of an exact argument: −0. Adding it changes no number, not even −0, so the compiler
/// leaves the addition out.
const EXACT: f64 = -0.0;

/// `x + low = n ln 2 + r + r_low`, |r| ≤ ln 2 / 2, for |x| ≤ `EXP_LIMIT` and a correction `low` below x's
/// last place; `r_low` is below that of r. Returns `(r, r_low, n)`.
#[inline(always)]
fn reduce<const R: usize, E: Element>(
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>, Lanes<R, E>) {
    let n = x.mul_add(c(LOG2_E), Lanes::splat(E::ROUND)) - Lanes::splat(E::ROUND);
    // Exact: the difference is small, and a multiple of the last place of ln 2.
    let leading = (-n).mul_add(Lanes::splat(E::LN_2[0]), x);
    let r = (-n).mul_add(Lanes::splat(E::LN_2[1]), leading) + low;
    (r, (-n).mul_add(Lanes::splat(E::LN_2[1]), leading - r) + low, n)
}

/// `e^(x + low) = (1 + r + q) 2ⁿ`, |q| < r²: returns `(r, q, n)`.
#[inline(always)]
fn exp_parts<const R: usize, E: Element>(
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>, Lanes<R, E>) {
    let (r, r_low, n) = reduce(x, low);
    (r, (r * r).mul_add(polynomial(r, E::EXP), r.mul_add(r_low, r_low)), n)
}

/// `e^(x + low) = m 2ⁿ`: returns `(m, n)`.
#[inline(always)]
pub(super) fn exp_scaled<const R: usize, E: Element>(
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>) {
    let (r, _, n) = reduce(x, low);
    (c(1.0) + (r * r).mul_add(polynomial(r, E::EXP), r), n)
}

/// `eˣ`. Error below 1.0 ulp; `f32` 1.0.
#[inline(always)]
pub fn exp<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let (m, n) = exp_scaled(clamp(x, E::EXP_LIMIT), c(EXACT));
    scale(m, n)
}

/// `eˣ − 1`. Error below 1.1 ulp; `f32` 1.2.
#[inline(always)]
pub fn exp_m1<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let (r, q, n) = exp_parts(clamp(x, E::EXP_LIMIT), c(EXACT));
    let factor = near_power(n);
    let near = factor.mul_add(q, factor.mul_add(r, factor - c(1.0)));
    // The sign is that of x, also for zero.
    Lanes::select(c(40.0).lt(x), scale(c(1.0) + (r + q), n), near).copysign(x)
}

/// `sinh(x + low) = s 2ⁿ` and `cosh(x + low) = k 2ⁿ` for x ≥ 0 and a correction below x's last place:
/// returns `(s, k, n)`.
#[inline(always)]
pub(super) fn sinh_cosh_parts<const R: usize, E: Element>(
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>, Lanes<R, E>) {
    let (r, r_low, n) = reduce(x, low);
    let z = r * r;
    // sinh(r + r_low) = r + q, and cosh(r + r_low) − 1.
    let q = (r * z).mul_add(polynomial(z, E::SINH), r_low);
    let cosh_m1 = z.mul_add(polynomial(z, E::COSH), r * r_low);
    // The addition theorems for r + r_low + n ln 2, over 2ⁿ⁻¹.
    let inverse = near_power(c(-2.0) * n);
    let (sum, difference) = (c(1.0) + inverse, c(1.0) - inverse);
    let s = difference + sum.mul_add(r, difference.mul_add(cosh_m1, sum * q));
    // The rounding of `1 + inverse` would count here, so `inverse` is added by itself.
    let k = c(1.0) + difference.mul_add(r, sum.mul_add(cosh_m1, difference.mul_add(q, inverse)));
    (s, k, n - c(1.0))
}

/// `sinh x` and `cosh x`.
#[inline(always)]
pub fn sinh_cosh<const R: usize, E: Element>(x: Lanes<R, E>) -> (Lanes<R, E>, Lanes<R, E>) {
    let (s, k, n) = sinh_cosh_parts(magnitude(x, E::EXP_LIMIT), c(EXACT));
    (scale(s, n).copysign(x), scale(k, n))
}

/// `sinh x`. Error below 0.9 ulp; `f32` 1.2.
#[inline(always)]
pub fn sinh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    sinh_cosh(x).0
}

/// `cosh x`. Error below 0.9 ulp; `f32` 1.0.
#[inline(always)]
pub fn cosh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    sinh_cosh(x).1
}

/// `tanh x`. Error below 1.2 ulp; `f32` 1.5.
#[inline(always)]
pub fn tanh<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    tanh_with_slope(x).0
}

/// `tanh x` and its derivative `sech² x`, from one exponential. Error of the slope below 4.9 ulp; `f32` 5.7.
#[inline(always)]
pub fn tanh_with_slope<const R: usize, E: Element>(x: Lanes<R, E>) -> (Lanes<R, E>, Lanes<R, E>) {
    let (r, _, n) = reduce(c(-2.0) * magnitude(x, 0.5 * E::EXP_LIMIT), c(EXACT));
    let p = (r * r).mul_add(polynomial(r, E::EXP), r);
    // (1 − e^-2|x|) / (1 + e^-2|x|), every sum with its rounding error.
    let factor = near_power(n);
    let (leading, trailing) = (c(1.0) - factor, factor * p);
    let numerator = leading - trailing;
    let numerator_low = (leading - numerator) - trailing;
    let denominator = c(2.0) - numerator;
    let denominator_low = ((c(2.0) - denominator) - numerator) - numerator_low;
    let inverse = denominator.recip();
    let quotient = numerator * inverse;
    let remainder =
        (-quotient).mul_add(denominator, numerator) + (-quotient).mul_add(denominator_low, numerator_low);
    let value = remainder.mul_add(inverse, quotient);
    let slope = scale_down(c(4.0) * (c(1.0) + p) * inverse * inverse, n);
    (value.copysign(x), slope)
}

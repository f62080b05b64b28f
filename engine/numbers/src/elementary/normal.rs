//! The error function and the Gaussian error linear unit.

use std::f64::consts::{PI, SQRT_2};

use super::exponential::{exp_scaled, near_power, scale_down};
use super::{Element, c, magnitude, polynomial};
use crate::lanes::Lanes;
use crate::scalar::Scalar;

/// `e^(-a²/2) = g 2ⁿ` and `erfc(a/√2) = m 2ⁿ` for 0 ≥ -a²/2 = x + low ≥ −`EXP_LIMIT`: returns
/// `(m, g, n)`.
#[inline(always)]
fn tail<const R: usize, E: Element>(
    a: Lanes<R, E>,
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>, Lanes<R, E>) {
    let (g, n) = exp_scaled(x, low);
    // (a − k)/(a + k), corrected by its remainder: rounding a + k loses digits of a.
    let k = c(5.5);
    let inverse = (a + k).recip();
    let u = (a - k) * inverse;
    let remainder = (-a).mul_add(u, (-k).mul_add(u + c(1.0), a));
    let u = remainder.mul_add(inverse, u);
    (polynomial(u, E::ERFC) * inverse * g, g, n)
}

/// The error function. Error below 1.1 ulp; `f32` 1.2.
#[inline(always)]
pub fn erf<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let a = magnitude(x, E::EXP_LIMIT.sqrt());
    let square = a * a;
    let (m, _, n) = tail(c(SQRT_2) * a, -square, (-a).mul_add(a, square));
    let by_tail = c(1.0) - m * near_power(n);
    let by_series = a.mul_add(polynomial(square, E::ERF), a);
    Lanes::select(c(1.0).lt(a), by_tail, by_series).copysign(x)
}

/// `x Φ(x)`, the Gaussian error linear unit. Error below 3.7 ulp; `f32` 5.0.
#[inline(always)]
pub fn gelu<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    gelu_with_slope(x).0
}

/// `x Φ(x)` and its derivative `Φ(x) + x φ(x)`, from one exponential.
///
/// Error of the slope below 6.0 ulp; `f32` 8.2; more for −1 < x < −0.5, where it has a zero.
#[inline(always)]
pub fn gelu_with_slope<const R: usize, E: Element>(x: Lanes<R, E>) -> (Lanes<R, E>, Lanes<R, E>) {
    let a = magnitude(x, (2.0 * E::EXP_LIMIT).sqrt());
    let factor = c(-0.5) * a;
    let exponent = factor * a;
    let (m, g, n) = tail(a, exponent, factor.mul_add(a, -exponent));
    // With Q = 1 − Φ: max(x, 0) − |x| Q(|x|), and Q(|x|) − |x| φ(x) or one minus that.
    let half = c(0.5) * m;
    let missing = scale_down(half * a, n);
    let slope = scale_down(half - a * (g * c((2.0 * PI).sqrt().recip())), n);
    let negative = x.lt(c(0.0));
    (Lanes::select(negative, -missing, x - missing), Lanes::select(negative, slope, c(1.0) - slope))
}

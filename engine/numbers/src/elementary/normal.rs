//! The error function and the Gaussian error linear unit.

use std::f64::consts::{PI, SQRT_2};

use super::element::Format;
use super::exponential::{exp_scaled, near_power, scale_down};
use super::{Packed, magnitude, polynomial};

/// `e^(-a²/2) = g 2ⁿ` and `erfc(a/√2) = m 2ⁿ` for 0 ≥ -a²/2 = x + low ≥ −`EXP_LIMIT`: returns
/// `(m, g, n)`.
#[inline(always)]
fn tail<P: Packed>(a: P, x: P, low: P) -> (P, P, P) {
    let (g, n) = exp_scaled(x, low);
    // (a − k)/(a + k), corrected by its remainder: rounding a + k loses digits of a.
    let k = P::constant(5.5);
    let inverse = (a + k).recip();
    let u = (a - k) * inverse;
    let remainder = (-a).mul_add(u, (-k).mul_add(u + P::constant(1.0), a));
    let u = remainder.mul_add(inverse, u);
    (polynomial(u, P::Element::ERFC) * inverse * g, g, n)
}

/// The error function. Error below 1.1 ulp; `f32` 1.2.
#[inline(always)]
pub fn erf<P: Packed>(x: P) -> P {
    let a = magnitude(x, P::Element::EXP_LIMIT.sqrt());
    let square = a * a;
    let (m, _, n) = tail(P::constant(SQRT_2) * a, -square, (-a).mul_add(a, square));
    let by_tail = P::constant(1.0) - m * near_power(n);
    let by_series = a.mul_add(polynomial(square, P::Element::ERF), a);
    P::select(P::constant(1.0).lt(a), by_tail, by_series).copysign(x)
}

/// `x Φ(x)`, the Gaussian error linear unit. Error below 3.7 ulp; `f32` 5.0.
#[inline(always)]
pub fn gelu<P: Packed>(x: P) -> P {
    gelu_with_slope(x).0
}

/// `x Φ(x)` and its derivative `Φ(x) + x φ(x)`, from one exponential.
///
/// Error of the slope below 6.0 ulp; `f32` 8.2; more for −1 < x < −0.5, where it has a zero.
#[inline(always)]
pub fn gelu_with_slope<P: Packed>(x: P) -> (P, P) {
    let a = magnitude(x, (2.0 * P::Element::EXP_LIMIT).sqrt());
    let factor = P::constant(-0.5) * a;
    let exponent = factor * a;
    let (m, g, n) = tail(a, exponent, factor.mul_add(a, -exponent));
    // With Q = 1 − Φ: max(x, 0) − |x| Q(|x|), and Q(|x|) − |x| φ(x) or one minus that.
    let half = P::constant(0.5) * m;
    let missing = scale_down(half * a, n);
    let slope = scale_down(half - a * (g * P::constant((2.0 * PI).sqrt().recip())), n);
    let negative = x.lt(P::constant(0.0));
    (P::select(negative, -missing, x - missing), P::select(negative, slope, P::constant(1.0) - slope))
}

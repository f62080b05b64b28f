//! The circular functions and their inverses.

use std::f64::consts::FRAC_2_PI;

use super::element::Format;
use super::{Element, Packed, polynomial};

/// `sin x` and `cos x` from one argument reduction.
#[inline(always)]
pub fn sin_cos<P: Packed>(x: P) -> (P, P) {
    sin_cos_corrected(x, P::constant(-0.0))
}

/// Sine and cosine of `|x| + low` for a correction `low` below x's last place; the sine has the sign of
/// x.
///
/// Beyond [`Format::CIRCLE_LIMIT`](super::element::Format::CIRCLE_LIMIT) they are the standard
/// library's, number by number, and the correction is dropped.
#[inline(always)]
pub(super) fn sin_cos_corrected<P: Packed>(x: P, low: P) -> (P, P) {
    let a = x.abs();
    // a + low = n π/2 + r, with n in the low bits of `turns`.
    let turns = a.mul_add(P::constant(FRAC_2_PI), P::splat(P::Element::ROUND));
    let minus_n = P::splat(P::Element::ROUND) - turns;
    let mut r = a;
    for part in P::Element::HALF_PI {
        r = minus_n.mul_add(P::splat(part), r);
    }
    let r = r + low;

    let z = r * r;
    let sine = (r * z).mul_add(polynomial(z, P::Element::SIN), r);
    // 1 − z/2 with its rounding error.
    let half = P::constant(0.5) * z;
    let leading = P::constant(1.0) - half;
    let cosine =
        leading + (z * z).mul_add(polynomial(z, P::Element::COS), (P::constant(1.0) - leading) - half);

    let odd = turns.odd();
    let sin = half_turned(P::select(odd, cosine, sine), turns).flip_sign(x);
    let cos = half_turned(P::select(odd, sine, cosine), turns + P::constant(1.0));
    let huge = P::constant(P::Element::CIRCLE_LIMIT).lt(a);
    if !P::any(huge) {
        return (sin, cos);
    }
    let sine = x.each(
        #[inline(always)]
        |x| by_library(x, |(sine, _)| sine),
    );
    let cosine = x.each(
        #[inline(always)]
        |x| by_library(x, |(_, cosine)| cosine),
    );
    (P::select(huge, sine, sin), P::select(huge, cosine, cos))
}

/// Out of line: the compiler takes the library's functions to be cheap and would always compute them.
#[cold]
#[inline(never)]
fn by_library<E: Element>(x: &mut [E], chosen: fn((E, E)) -> E) {
    x.iter_mut().for_each(|x| *x = chosen(x.library_sin_cos()));
}

/// `y`, negated where the second lowest bit of `turns` is set.
#[inline(always)]
fn half_turned<P: Packed>(y: P, turns: P) -> P {
    y.flip_sign(turns.shift_left(P::Element::WIDTH - 2))
}

/// `sin x`. Error below 1.4 ulp; `f32` 1.5.
#[inline(always)]
pub fn sin<P: Packed>(x: P) -> P {
    sin_cos(x).0
}

/// `cos x`. Error below 1.5 ulp; `f32` 1.5.
#[inline(always)]
pub fn cos<P: Packed>(x: P) -> P {
    sin_cos(x).1
}

/// `tan x`. Error below 2.8 ulp; `f32` 2.8.
#[inline(always)]
pub fn tan<P: Packed>(x: P) -> P {
    let (sin, cos) = sin_cos(x);
    sin / cos
}

/// `arcsin x`. Error below 2.1 ulp; `f32` 2.3.
#[inline(always)]
pub fn asin<P: Packed>(x: P) -> P {
    let a = x.abs();
    let large = P::constant(0.5).lt(a);
    let z = P::select(large, P::constant(0.5) * (P::constant(1.0) - a), a * a);
    let t = P::select(large, z.sqrt(), a);
    let y = (t * z).mul_add(polynomial(z, P::Element::ASIN), t);
    P::select(large, from_half_pi(P::constant(2.0) * y), y).copysign(x)
}

/// `arctan x`. Error below 1.4 ulp; `f32` 1.3.
#[inline(always)]
pub fn atan<P: Packed>(x: P) -> P {
    let a = x.abs();
    let large = P::constant(1.0).lt(a);
    let t = P::select(large, a.recip(), a);
    let z = t * t;
    let y = (t * z).mul_add(polynomial(z, P::Element::ATAN), t);
    P::select(large, from_half_pi(y), y).copysign(x)
}

/// `π/2 − y`.
#[inline(always)]
pub(super) fn from_half_pi<P: Packed>(y: P) -> P {
    P::splat(P::Element::HALF_PI[0]) - (y - P::splat(P::Element::HALF_PI[1]))
}

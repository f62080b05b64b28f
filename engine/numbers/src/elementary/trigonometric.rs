//! The circular functions and their inverses.

use std::f64::consts::FRAC_2_PI;

use super::{Element, c, polynomial};
use crate::lanes::{Lanes, array};
use crate::scalar::Scalar;

/// `sin x` and `cos x` from one argument reduction.
#[inline(always)]
pub fn sin_cos<const R: usize, E: Element>(x: Lanes<R, E>) -> (Lanes<R, E>, Lanes<R, E>) {
    sin_cos_corrected(x, c(-0.0))
}

/// Sine and cosine of `|x| + low` for a correction `low` below x's last place; the sine has the sign of
/// x.
///
/// Beyond [`Format::CIRCLE_LIMIT`](super::element::Format::CIRCLE_LIMIT) they are the standard
/// library's, lane by lane, and the correction is dropped.
#[inline(always)]
pub(super) fn sin_cos_corrected<const R: usize, E: Element>(
    x: Lanes<R, E>,
    low: Lanes<R, E>,
) -> (Lanes<R, E>, Lanes<R, E>) {
    let a = x.abs();
    // a + low = n π/2 + r, with n in the low bits of `turns`.
    let turns = a.mul_add(c(FRAC_2_PI), Lanes::splat(E::ROUND));
    let minus_n = Lanes::splat(E::ROUND) - turns;
    let mut r = a;
    for part in E::HALF_PI {
        r = minus_n.mul_add(Lanes::splat(part), r);
    }
    let r = r + low;

    let z = r * r;
    let sine = (r * z).mul_add(polynomial(z, E::SIN), r);
    // 1 − z/2 with its rounding error.
    let half = c(0.5) * z;
    let leading = c(1.0) - half;
    let cosine = leading + (z * z).mul_add(polynomial(z, E::COS), (c(1.0) - leading) - half);

    let odd = turns.odd();
    let sin = half_turned(Lanes::select(odd, cosine, sine), turns).flip_sign(x);
    let cos = half_turned(Lanes::select(odd, sine, cosine), turns + c(1.0));
    let huge = c(E::CIRCLE_LIMIT).lt(a);
    if !huge.any() {
        return (sin, cos);
    }
    let library = library_sin_cos(&x);
    (Lanes::select(huge, library.0, sin), Lanes::select(huge, library.1, cos))
}

/// Out of line: the compiler takes the library's functions to be cheap and would always compute them.
#[cold]
#[inline(never)]
fn library_sin_cos<const R: usize, E: Element>(x: &Lanes<R, E>) -> (Lanes<R, E>, Lanes<R, E>) {
    let sin = array(E::zero(), |l| x.get(l).library_sin_cos().0);
    let cos = array(E::zero(), |l| x.get(l).library_sin_cos().1);
    (Lanes::from(sin), Lanes::from(cos))
}

/// `y`, negated where the second lowest bit of `turns` is set.
#[inline(always)]
fn half_turned<const R: usize, E: Element>(y: Lanes<R, E>, turns: Lanes<R, E>) -> Lanes<R, E> {
    y.flip_sign(turns.map_bits(
        #[inline(always)]
        |bits| bits << (E::WIDTH - 2),
    ))
}

/// `sin x`. Error below 1.4 ulp; `f32` 1.5.
#[inline(always)]
pub fn sin<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    sin_cos(x).0
}

/// `cos x`. Error below 1.5 ulp; `f32` 1.5.
#[inline(always)]
pub fn cos<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    sin_cos(x).1
}

/// `tan x`. Error below 2.8 ulp; `f32` 2.8.
#[inline(always)]
pub fn tan<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let (sin, cos) = sin_cos(x);
    sin / cos
}

/// `arcsin x`. Error below 2.1 ulp; `f32` 2.3.
#[inline(always)]
pub fn asin<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let a = x.abs();
    let large = c(0.5).lt(a);
    let z = Lanes::select(large, c(0.5) * (c(1.0) - a), a * a);
    let t = Lanes::select(large, z.sqrt(), a);
    let y = (t * z).mul_add(polynomial(z, E::ASIN), t);
    Lanes::select(large, from_half_pi(c(2.0) * y), y).copysign(x)
}

/// `arctan x`. Error below 1.4 ulp; `f32` 1.3.
#[inline(always)]
pub fn atan<const R: usize, E: Element>(x: Lanes<R, E>) -> Lanes<R, E> {
    let a = x.abs();
    let large = c(1.0).lt(a);
    let t = Lanes::select(large, a.recip(), a);
    let z = t * t;
    let y = (t * z).mul_add(polynomial(z, E::ATAN), t);
    Lanes::select(large, from_half_pi(y), y).copysign(x)
}

/// `π/2 − y`.
#[inline(always)]
pub(super) fn from_half_pi<const R: usize, E: Element>(y: Lanes<R, E>) -> Lanes<R, E> {
    Lanes::splat(E::HALF_PI[0]) - (y - Lanes::splat(E::HALF_PI[1]))
}

//! Functions of the square s: circular for s > 0, hyperbolic for s ≤ 0. See [`Scalar`]'s module.
//!
//! Each branch is computed only where some number needs it. The errors of sine, cosine and tangent hold
//! for √s up to [`CIRCLE_LIMIT`](super::element::Format::CIRCLE_LIMIT): beyond that, the error of the
//! root enters.

use super::element::Format;
use super::exponential::{scale, sinh_cosh_parts, tanh_with_slope};
use super::logarithm::{asinh_of_square, ln_1p};
use super::trigonometric::{from_half_pi, sin_cos_corrected};
use super::{Packed, polynomial, quotient};

/// `√s`, its inverse, and the rounding error of the root.
#[inline(always)]
fn root<P: Packed>(s: P) -> (P, P, P) {
    let r = s.sqrt();
    let inverse = r.recip();
    (r, inverse, (-r).mul_add(r, s) * inverse * P::constant(0.5))
}

/// `y` where r > 0; 1 at 0, NaN at NaN.
#[inline(always)]
fn one_at_zero<P: Packed>(r: P, y: P) -> P {
    P::select(P::constant(0.0).lt(r), y, r + P::constant(1.0))
}

/// Both functions of a pair, by the sign of s. Each branch is in the code once.
#[inline(always)]
fn by_sign<P: Packed>(
    s: P,
    circular: impl FnOnce() -> (P, P),
    hyperbolic: impl FnOnce() -> (P, P),
) -> (P, P) {
    let positive = P::constant(0.0).lt(s);
    let a = if P::any(positive) { circular() } else { (s, s) };
    let b = if P::all(positive) { a } else { hyperbolic() };
    (P::select(positive, a.0, b.0), P::select(positive, a.1, b.1))
}

/// `sin(√s)/√s` and `cos(√s)`; `sinh(√-s)/√-s` and `cosh(√-s)` for s < 0.
#[inline(always)]
pub fn sinc_cosc<P: Packed>(s: P) -> (P, P) {
    by_sign(
        s,
        #[inline(always)]
        || {
            let (r, inverse, low) = root(s);
            let (sin, cos) = sin_cos_corrected(r, low);
            (quotient(sin, r, inverse), cos)
        },
        #[inline(always)]
        || {
            // Both functions have overflowed long before `lowest`. The limit keeps the root's rounding
            // error finite where s is infinite.
            let lowest = P::constant(-P::Element::EXP_LIMIT.powi(2));
            let (r, inverse, low) = root(-lowest.greater(s));
            let low = P::select(P::constant(0.0).lt(r), low, P::constant(0.0));
            let (sinh, cosh, n) = sinh_cosh_parts(r, low);
            (one_at_zero(r, scale(quotient(sinh, r, inverse), n)), scale(cosh, n))
        },
    )
}

/// `sin(√s)/√s`, `sinh(√-s)/√-s` for s < 0, 1 at 0. Error below 3.3 ulp; `f32` 3.6.
#[inline(always)]
pub fn sinc<P: Packed>(s: P) -> P {
    sinc_cosc(s).0
}

/// `cos(√s)`, `cosh(√-s)` for s < 0. Error below 2.4 ulp; `f32` 5.2.
#[inline(always)]
pub fn cosc<P: Packed>(s: P) -> P {
    sinc_cosc(s).1
}

/// `tan(√s)/√s`, `tanh(√-s)/√-s` for s < 0, 1 at 0. Error below 4.0 ulp; `f32` 5.1.
#[inline(always)]
pub fn tanc<P: Packed>(s: P) -> P {
    tanc_secant(s).0
}

/// [`tanc`] and `sec²(√s)`, `sech²(√-s)` for s < 0.
#[inline(always)]
pub fn tanc_secant<P: Packed>(s: P) -> (P, P) {
    by_sign(
        s,
        #[inline(always)]
        || {
            let (r, _, low) = root(s);
            let (sin, cos) = sin_cos_corrected(r, low);
            let f = sin / (cos * r);
            (f, (s * f).mul_add(f, P::constant(1.0)))
        },
        #[inline(always)]
        || {
            let r = (-s).sqrt();
            let (tanh, sech2) = tanh_with_slope(r);
            (one_at_zero(r, tanh / r), sech2)
        },
    )
}

/// `arctan(√s)/√s`, `artanh(√-s)/√-s` for −1 < s < 0, 1 at 0. Error below 2.1 ulp; `f32` 3.0.
#[inline(always)]
pub fn arctanc<P: Packed>(s: P) -> P {
    P::choose(
        P::constant(0.0).lt(s),
        #[inline(always)]
        || {
            // With z = 1/s beyond 1: (π/2 − arctan √z) √z. The polynomial needs no root.
            let large = P::constant(1.0).lt(s);
            let z = P::select(large, s.recip(), s);
            let value = z.mul_add(polynomial(z, P::Element::ATAN), P::constant(1.0));
            let root = z.sqrt();
            P::select(large, from_half_pi(value * root) * root, value)
        },
        #[inline(always)]
        || {
            // (1 + r)/(1 − r) − 1 = 2r (1 + r)/(1 − r²), where 1 − r² = 1 + s is exact near the
            // end.
            let r = (-s).sqrt();
            one_at_zero(r, P::constant(0.5) * ln_1p(P::constant(2.0) * (r - s) / (P::constant(1.0) + s)) / r)
        },
    )
}

/// `arcsin(√s)/√s` for s ≤ 1, `arsinh(√-s)/√-s` for s < 0, 1 at 0. Error below 2.8 ulp; `f32` 3.4.
#[inline(always)]
pub fn arcsinc<P: Packed>(s: P) -> P {
    P::choose(
        P::constant(0.0).lt(s),
        #[inline(always)]
        || {
            // As arcsin: beyond ½, π/2 − 2 arcsin √z with z = (1 − r)/2 = (1 − s)/2(1 + r).
            let large = P::constant(0.25).lt(s);
            let r = s.sqrt();
            let z = P::select(large, (P::constant(1.0) - s) / (P::constant(2.0) * (P::constant(1.0) + r)), s);
            let (series, root) = (polynomial(z, P::Element::ASIN), z.sqrt());
            let arcsin = (root * z).mul_add(series, root);
            P::select(large, from_half_pi(P::constant(2.0) * arcsin) / r, z.mul_add(series, P::constant(1.0)))
        },
        #[inline(always)]
        || {
            let r = (-s).sqrt();
            one_at_zero(r, asinh_of_square(-s, r) / r)
        },
    )
}

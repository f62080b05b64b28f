//! Elementary functions on lanes of `f64`, branch-free.
//!
//! Argument reduction and the forms are the classical ones (Cody & Waite 1980; Kahan's for sinh, tanh,
//! arsinh and artanh); the polynomials are plain Taylor series, long enough to be exact to `f64` on the
//! reduced range. The errors stated are bounds that the tests assert over the whole domain, against the C library
//! (itself within an ulp, which the tests allow for on top).

// A closure can be inlined into the kernel's instruction set; a function passed by name is called.
#![allow(clippy::redundant_closure)]

use std::f64::consts::{LN_2, LOG2_E};

use crate::{Lanes, Scalar};

/// ln 2 in two parts; products of the first with integers below 2²⁰ are exact.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding and subtracting this rounds to an integer, which is left in the low bits in between.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// A constant in every lane.
#[inline(always)]
fn c<const R: usize>(x: f64) -> Lanes<R> {
    Lanes::splat(x)
}

/// `Σ k[i] xⁱ`, Horner, fused.
#[inline(always)]
fn polynomial<const R: usize, const N: usize>(x: Lanes<R>, k: [f64; N]) -> Lanes<R> {
    let mut sum = c(k[N - 1]);
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, c(k[i]));
    }
    sum
}

/// 1/k! for k = 2, 3, …
const EXP: [f64; 13] = {
    let mut k = [0.0; 13];
    let mut factorial = 1.0;
    let mut i = 0;
    while i < 13 {
        factorial *= (i + 2) as f64;
        k[i] = 1.0 / factorial;
        i += 1;
    }
    k
};

/// 2/(2k + 3) for k = 0, 1, …: the series of (artanh(s) − s)·2/s³ in s².
const LOG: [f64; 11] = {
    let mut k = [0.0; 11];
    let mut i = 0;
    while i < 11 {
        k[i] = 2.0 / (2 * i + 3) as f64;
        i += 1;
    }
    k
};

/// 2ⁿ for an integer −1022 ≤ n ≤ 1023.
#[inline(always)]
fn power_of_two<const R: usize>(n: Lanes<R>) -> Lanes<R> {
    (n + c(ROUND)).map_bits(|bits| bits.wrapping_sub(ROUND.to_bits()).wrapping_add(1023) << 52)
}

/// The nearest integer.
#[inline(always)]
fn round<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    (x + c(ROUND)) - c(ROUND)
}

/// `x = n ln 2 + r`, |r| ≤ ln 2 / 2: returns `(eʳ − 1, n)`. |x| ≤ 800 or NaN.
#[inline(always)]
fn reduce_exp<const R: usize>(x: Lanes<R>) -> (Lanes<R>, Lanes<R>) {
    let n = x.mul_add(c(LOG2_E), c(ROUND)) - c(ROUND);
    let r = n.mul_add(c(-LN2_LOW), n.mul_add(c(-LN2_HIGH), x));
    ((r * r).mul_add(polynomial(r, EXP), r), n)
}

/// Between −bound and bound; NaN is kept.
#[inline(always)]
fn clamp<const R: usize>(x: Lanes<R>, bound: f64) -> Lanes<R> {
    let x = Lanes::select(c(bound).lt(x), c(bound), x);
    Lanes::select(x.lt(c(-bound)), c(-bound), x)
}

/// `(1 + p) 2ⁿ`, to subnormal numbers and to infinity.
#[inline(always)]
fn scale<const R: usize>(p: Lanes<R>, n: Lanes<R>) -> Lanes<R> {
    let half = round(n * c(0.5));
    (c(1.0) + p) * power_of_two(half) * power_of_two(n - half)
}

/// `eˣ`. Error below 1 ulp (below 1.5 where the result is subnormal).
#[inline(always)]
pub fn exp<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let (p, n) = reduce_exp(clamp(x, 800.0));
    scale(p, n)
}

/// `eˣ − 1`. Error below 1.5 ulp.
#[inline(always)]
pub fn exp_m1<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let x = clamp(x, 800.0);
    let (p, n) = reduce_exp(x);
    let factor = power_of_two(clamp(n, 64.0));
    let near = factor.mul_add(p, factor - c(1.0));
    // The sign is that of x, of a zero too.
    Lanes::select(c(40.0).lt(x), scale(p, n), near).copysign(x)
}

/// `ln u + low` for a correction that is small beside ln u. u positive and finite.
#[inline(always)]
fn ln_corrected<const R: usize>(u: Lanes<R>, correction: Lanes<R>) -> Lanes<R> {
    let subnormal = u.lt(c(f64::MIN_POSITIVE));
    let u = Lanes::select(subnormal, u * c(18_014_398_509_481_984.0), u); // 2^54
    // u = 2^k m, √½ ≤ m < √2.
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let m = u.map_bits(|bits| {
        (bits.wrapping_add(ONE - ROOT_HALF) & 0x000f_ffff_ffff_ffff).wrapping_add(ROOT_HALF)
    });
    // The biased exponent as a double: its bits below those of 2^52.
    let k = u.map_bits(|bits| bits.wrapping_add(ONE - ROOT_HALF) >> 52 | 0x4330_0000_0000_0000);
    let k = k - c(4_503_599_627_370_496.0) - Lanes::select(subnormal, c(1077.0), c(1023.0));
    let f = m - c(1.0);
    let s = f / (c(2.0) + f);
    let z = s * s;
    let half_square = c(0.5) * f * f;
    let low = s.mul_add(half_square + z * polynomial(z, LOG), k.mul_add(c(LN2_LOW), correction));
    k.mul_add(c(LN2_HIGH), f - (half_square - low))
}

/// The values of a logarithm outside its domain and at its ends.
#[inline(always)]
fn ln_edges<const R: usize>(u: Lanes<R>, inside: Lanes<R>) -> Lanes<R> {
    let finite = Lanes::select(u.lt(c(f64::INFINITY)), inside, u); // infinity and NaN as they are
    let positive = Lanes::select(c(0.0).lt(u), finite, c(f64::NEG_INFINITY) + u); // -∞ at 0, NaN as it is
    Lanes::select(u.lt(c(0.0)), c(f64::NAN), positive)
}

/// `ln x`. Error below 1 ulp.
#[inline(always)]
pub fn ln<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    ln_edges(x, ln_corrected(x, c(0.0)))
}

/// `ln(1 + x)`. Error below 1.5 ulp.
#[inline(always)]
pub fn ln_1p<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let (u, error) = x.two_sum(c(1.0));
    ln_edges(u, ln_corrected(u, error / u))
}

/// `sinh x`. Error below 2.5 ulp.
#[inline(always)]
pub fn sinh<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let a = x.abs();
    let e = exp_m1(a);
    let near = c(0.5) * (e + e / (e + c(1.0)));
    let root = exp(c(0.5) * a);
    Lanes::select(c(700.0).lt(a), c(0.5) * root * root, near).copysign(x)
}

/// `cosh x`. Error below 2 ulp (2.5 beyond |x| = 700).
#[inline(always)]
pub fn cosh<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let a = x.abs();
    let e = exp(a);
    let near = c(0.5).mul_add(e, c(0.5) / e);
    let root = exp(c(0.5) * a);
    Lanes::select(c(700.0).lt(a), c(0.5) * root * root, near)
}

/// `tanh x`. Error below 2.5 ulp.
#[inline(always)]
pub fn tanh<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let e = exp_m1(c(-2.0) * x.abs());
    (-e / (c(2.0) + e)).copysign(x)
}

/// `arsinh x`, odd. Error below 2.5 ulp.
#[inline(always)]
pub fn asinh<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let a = x.abs();
    asinh_of_square(a * a, a).copysign(x)
}

/// `arsinh r` for r ≥ 0, given r²: `ln(1 + (r + r²/(1 + √(1 + r²))))`; `ln r + ln 2` where r² is huge.
#[inline(always)]
fn asinh_of_square<const R: usize>(square: Lanes<R>, r: Lanes<R>) -> Lanes<R> {
    let huge = c(1e150).lt(r);
    let inner = r + square / (c(1.0) + (c(1.0) + square).sqrt());
    ln_1p(Lanes::select(huge, r, inner)) + Lanes::select(huge, c(LN_2), c(0.0))
}

/// `artanh x`, odd. Error below 2.5 ulp.
#[inline(always)]
pub fn atanh<const R: usize>(x: Lanes<R>) -> Lanes<R> {
    let a = x.abs();
    (c(0.5) * ln_1p(c(2.0) * a / (c(1.0) - a))).copysign(x)
}

// Functions of the square s: hyperbolic for s ≤ 0, circular for s > 0. The circular ones call the C library,
// lane by lane. Their errors are those of the function, a root and a quotient.

/// `f(√-s)/√-s`, 1 at 0.
#[inline(always)]
fn over_root<const R: usize>(s: Lanes<R>, f: impl FnOnce(Lanes<R>) -> Lanes<R>) -> Lanes<R> {
    let r = (-s).sqrt();
    Lanes::select(c(0.0).lt(r), f(r) / r, r + c(1.0))
}

/// `tanh(√-s)/√-s` for s ≤ 0.
#[inline(always)]
pub(crate) fn tanc_hyperbolic<const R: usize>(s: Lanes<R>) -> Lanes<R> {
    over_root(
        s,
        #[inline(always)]
        |r| tanh(r),
    )
}
/// `tan(√s)/√s` for s > 0.
pub(crate) fn tanc_circular(s: f64) -> f64 {
    let r = s.sqrt();
    r.tan() / r
}
/// `artanh(√-s)/√-s` for −1 < s ≤ 0.
#[inline(always)]
pub(crate) fn arctanc_hyperbolic<const R: usize>(s: Lanes<R>) -> Lanes<R> {
    over_root(
        s,
        #[inline(always)]
        |r| atanh(r),
    )
}
/// `arctan(√s)/√s` for s > 0.
pub(crate) fn arctanc_circular(s: f64) -> f64 {
    let r = s.sqrt();
    r.atan() / r
}
/// `sinh(√-s)/√-s` for s ≤ 0.
#[inline(always)]
pub(crate) fn sinc_hyperbolic<const R: usize>(s: Lanes<R>) -> Lanes<R> {
    over_root(
        s,
        #[inline(always)]
        |r| sinh(r),
    )
}
/// `sin(√s)/√s` for s > 0.
pub(crate) fn sinc_circular(s: f64) -> f64 {
    let r = s.sqrt();
    r.sin() / r
}
/// `cosh(√-s)` for s ≤ 0.
#[inline(always)]
pub(crate) fn cosc_hyperbolic<const R: usize>(s: Lanes<R>) -> Lanes<R> {
    cosh((-s).sqrt())
}
/// `cos(√s)` for s > 0.
pub(crate) fn cosc_circular(s: f64) -> f64 {
    s.sqrt().cos()
}
/// `arsinh(√-s)/√-s` for s ≤ 0.
#[inline(always)]
pub(crate) fn arcsinc_hyperbolic<const R: usize>(s: Lanes<R>) -> Lanes<R> {
    over_root(
        s,
        #[inline(always)]
        |r| asinh_of_square(-s, r),
    )
}
/// `arcsin(√s)/√s` for 0 < s ≤ 1.
pub(crate) fn arcsinc_circular(s: f64) -> f64 {
    let r = s.sqrt();
    r.asin() / r
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of the reference.
    fn ulps(got: f64, want: f64) -> f64 {
        if got == want || (got.is_nan() && want.is_nan()) {
            return 0.0;
        }
        let ulp = f64::from_bits(want.abs().to_bits() + 1) - want.abs();
        (got - want).abs() / ulp
    }

    /// Points over the whole domain: every binade, and dense where the function lives.
    fn points(low: f64, high: f64) -> impl Iterator<Item = f64> {
        let mut state = 1_u64;
        let binades = (-1074..1024).flat_map(|e| [1.0, 1.3, 1.9].map(|m| m * 2f64.powi(e)));
        let dense = (0..200_000).map(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + (high - low) * (state >> 11) as f64 / (1_u64 << 53) as f64
        });
        binades.flat_map(|x| [x, -x]).chain(dense).filter(move |x| (low..=high).contains(x))
    }

    /// One lane.
    fn one(f: fn(Lanes<1>) -> Lanes<1>) -> impl Fn(f64) -> f64 {
        move |x| f(c(x)).get(0)
    }

    fn worst(
        name: &str,
        f: fn(Lanes<1>) -> Lanes<1>,
        reference: fn(f64) -> f64,
        low: f64,
        high: f64,
        bound: f64,
    ) {
        let mut worst = (0.0, 0.0);
        for x in points(low, high) {
            let error = ulps(one(f)(x), reference(x));
            if !(error <= worst.0) {
                worst = (error, x);
            }
        }
        assert!(worst.0 <= bound, "{name}: {} ulp at {:e}, {bound} stated", worst.0, worst.1);
    }

    /// The reference is the C library's, which is within an ulp itself: one more is allowed for it.
    #[test]
    fn errors_are_as_stated() {
        worst("exp", exp, f64::exp, -745.2, 709.8, 2.0);
        worst("exp near 0", exp, f64::exp, -1.0, 1.0, 2.0);
        worst("exp_m1", exp_m1, f64::exp_m1, -800.0, 709.8, 2.5);
        worst("exp_m1 near 0", exp_m1, f64::exp_m1, -1.0, 1.0, 2.5);
        worst("ln", ln, f64::ln, 5e-324, f64::MAX, 2.0);
        worst("ln near 1", ln, f64::ln, 0.5, 2.0, 2.0);
        worst("ln_1p", ln_1p, f64::ln_1p, -1.0, f64::MAX, 2.5);
        worst("ln_1p near 0", ln_1p, f64::ln_1p, -0.5, 1.0, 2.5);
        worst("sinh", sinh, f64::sinh, -710.4, 710.4, 3.5);
        worst("sinh near 0", sinh, f64::sinh, -1.0, 1.0, 3.5);
        worst("cosh", cosh, f64::cosh, -710.4, 710.4, 3.5);
        worst("tanh", tanh, f64::tanh, -25.0, 25.0, 3.5);
        worst("tanh near 0", tanh, f64::tanh, -1.0, 1.0, 3.5);
        // The standard library's is not odd: it loses digits for x < 0.
        worst("atanh", atanh, |x| x.abs().atanh().copysign(x), -1.0, 1.0, 3.5);
        worst("asinh", asinh, f64::asinh, -1e3, 1e3, 3.5);
        worst("asinh everywhere", asinh, f64::asinh, -1e307, 1e307, 3.5);
    }

    #[test]
    fn edges() {
        let inf = f64::INFINITY;
        let [exp, exp_m1, ln, ln_1p] = [exp, exp_m1, ln, ln_1p].map(one);
        let [sinh, cosh, tanh, asinh, atanh] = [sinh, cosh, tanh, asinh, atanh].map(one);
        assert_eq!((exp(inf), exp(-inf), exp(710.0), exp(-746.0)), (inf, 0.0, inf, 0.0));
        assert_eq!((exp_m1(inf), exp_m1(-inf), exp_m1(-0.0).to_bits()), (inf, -1.0, (-0.0_f64).to_bits()));
        assert_eq!((ln(0.0), ln(inf), ln(1.0)), (-inf, inf, 0.0));
        assert_eq!((ln_1p(-1.0), ln_1p(inf)), (-inf, inf));
        assert_eq!((tanh(inf), tanh(-inf), sinh(-inf), cosh(-inf)), (1.0, -1.0, -inf, inf));
        assert_eq!((asinh(-inf), atanh(1.0), atanh(-1.0)), (-inf, inf, -inf));
        let all = [&exp, &exp_m1, &ln, &ln_1p, &sinh, &cosh, &tanh, &asinh, &atanh];
        assert!(all.iter().all(|f| f(f64::NAN).is_nan()));
        assert!(ln(-1.0).is_nan() && ln_1p(-1.1).is_nan() && atanh(1.1).is_nan());
    }
}

//! The scalar that formulas are generic over.
//!
//! A formula is written once, as a function of some `S: Scalar`, and evaluated on plain numbers
//! (`f32`, `f64`) or on dual numbers ([`Dual`](crate::Dual)) for its exact partial derivatives. There is
//! no data-dependent `if` in a formula: choices go through [`Scalar::select`] or [`Scalar::choose`].
//!
//! # The square-argument family
//!
//! `tan(r)/r`, `arctan(r)/r`, `sin(r)/r`, `cos(r)` and `arcsin(r)/r` are even in `r`, so they are analytic
//! functions of `s = r²`, and for `s < 0` they continue into their hyperbolic twins: `tanh(ρ)/ρ`,
//! `artanh(ρ)/ρ`, `sinh(ρ)/ρ`, `cosh(ρ)`, `arsinh(ρ)/ρ` with `ρ = √-s`. Formulas of curved geometry take
//! `s = κ|v|²`: exact at the zero vector, exact at κ = 0, and one formula for every sign of κ.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::Lanes;

/// A number that formulas compute with. See the [module documentation](self).
pub trait Scalar:
    Copy
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The result of a comparison.
    type Mask: Copy;

    /// A constant.
    fn constant(value: f64) -> Self;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// As [`select`](Self::select), evaluating only what is needed where the scalar is a single number.
    fn choose(mask: Self::Mask, a: impl FnOnce() -> Self, b: impl FnOnce() -> Self) -> Self {
        Self::select(mask, a(), b())
    }

    /// `√x`. Its derivative at 0 is 0 by definition, so that distances have a gradient at `x = y`.
    fn sqrt(self) -> Self;
    /// `eˣ`.
    fn exp(self) -> Self;
    /// `eˣ − 1`.
    fn exp_m1(self) -> Self;
    /// `ln x`.
    fn ln(self) -> Self;
    /// `ln(1 + x)`.
    fn ln_1p(self) -> Self;
    /// `sin x`.
    fn sin(self) -> Self;
    /// `cos x`.
    fn cos(self) -> Self;
    /// `sinh x`.
    fn sinh(self) -> Self;
    /// `cosh x`.
    fn cosh(self) -> Self;
    /// `tanh x`.
    fn tanh(self) -> Self;
    /// `arsinh x`, odd: accurate for large negative x as for positive.
    fn asinh(self) -> Self;
    /// `artanh x`.
    fn atanh(self) -> Self;

    /// `tan(√s)/√s`, that is `tanh(√-s)/√-s` for s < 0 and 1 at 0.
    fn tanc(self) -> Self;
    /// `arctan(√s)/√s`, that is `artanh(√-s)/√-s` for s < 0 and 1 at 0. Domain s > −1.
    fn arctanc(self) -> Self;
    /// `sin(√s)/√s`, that is `sinh(√-s)/√-s` for s < 0 and 1 at 0.
    fn sinc(self) -> Self;
    /// `cos(√s)`, that is `cosh(√-s)` for s < 0.
    fn cosc(self) -> Self;
    /// `arcsin(√s)/√s`, that is `arsinh(√-s)/√-s` for s < 0 and 1 at 0. Domain s ≤ 1.
    fn arcsinc(self) -> Self;

    /// 0.
    #[inline(always)]
    fn zero() -> Self {
        Self::constant(0.0)
    }
    /// 1.
    #[inline(always)]
    fn one() -> Self {
        Self::constant(1.0)
    }
    /// `x²`.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    /// `1/x`.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::one() / self
    }
    /// `|x|`.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.lt(Self::zero()), -self, self)
    }
    /// The smaller of two; `other` where `self` is NaN.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    /// The larger of two; `other` where `self` is NaN.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.lt(self), self, other)
    }
    /// The logistic function `1/(1 + e⁻ˣ)`, without overflow.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let half = Self::constant(0.5);
        half + half * (half * self).tanh()
    }
    /// `ln(1 + eˣ)`, without overflow.
    #[inline(always)]
    fn softplus(self) -> Self {
        self.max(Self::zero()) + (-self.abs()).exp().ln_1p()
    }
}

/// `Σ (n+1) a[n+1] s^n` for the Taylor coefficients `a[1..]` of one of the square-argument functions.
#[inline(always)]
fn slope_series<S: Scalar>(s: S, coefficients: &[f64]) -> S {
    let mut sum = S::zero();
    for (n, a) in coefficients.iter().enumerate().rev() {
        sum = sum * s + S::constant(a * (n + 1) as f64);
    }
    sum
}

/// Below this |s| the closed forms of the slopes cancel and the series are used.
const SERIES: f64 = 0.06;

#[inline(always)]
fn slope<S: Scalar>(s: S, coefficients: &[f64], closed: impl FnOnce() -> S) -> S {
    S::choose(s.abs().lt(S::constant(SERIES)), || slope_series(s, coefficients), closed)
}

/// Derivative of [`Scalar::tanc`] at `s`, given `f = tanc(s)`: `(1 + s f² − f) / 2s`.
#[inline(always)]
pub fn tanc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(s, &TANC, || (S::one() + s * f * f - f) / (s + s))
}

/// Derivative of [`Scalar::arctanc`] at `s`, given `f = arctanc(s)`: `(1/(1+s) − f) / 2s`.
#[inline(always)]
pub fn arctanc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(s, &ARCTANC, || ((S::one() + s).recip() - f) / (s + s))
}

/// Derivative of [`Scalar::sinc`] at `s`, given `f = sinc(s)`: `(cosc(s) − f) / 2s`.
#[inline(always)]
pub fn sinc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(s, &SINC, || (s.cosc() - f) / (s + s))
}

/// Derivative of [`Scalar::arcsinc`] at `s`, given `f = arcsinc(s)`: `(1/√(1−s) − f) / 2s`.
#[inline(always)]
pub fn arcsinc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(s, &ARCSINC, || ((S::one() - s).sqrt().recip() - f) / (s + s))
}

/// Taylor coefficients 1.. of `tan(√s)/√s` (the first, 1, is left out).
const TANC: [f64; 11] = [
    1.0 / 3.0,
    2.0 / 15.0,
    17.0 / 315.0,
    62.0 / 2835.0,
    1382.0 / 155925.0,
    21844.0 / 6081075.0,
    929569.0 / 638512875.0,
    6404582.0 / 10854718875.0,
    443861162.0 / 1856156927625.0,
    18888466084.0 / 194896477400625.0,
    113927491862.0 / 2900518163668125.0,
];
/// Taylor coefficients 1.. of `arctan(√s)/√s`.
const ARCTANC: [f64; 14] = {
    let mut a = [0.0; 14];
    let mut n = 0;
    while n < 14 {
        let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
        a[n] = sign / (2 * n + 3) as f64;
        n += 1;
    }
    a
};
/// Taylor coefficients 1.. of `sin(√s)/√s`.
const SINC: [f64; 8] = {
    let mut a = [0.0; 8];
    let mut term = 1.0;
    let mut n = 0;
    while n < 8 {
        term /= -((2 * n + 2) as f64 * (2 * n + 3) as f64);
        a[n] = term;
        n += 1;
    }
    a
};
/// Taylor coefficients 1.. of `arcsin(√s)/√s`.
const ARCSINC: [f64; 14] = {
    let mut a = [0.0; 14];
    let mut binomial = 1.0; // C(2n, n) / 4^n
    let mut n = 0;
    while n < 14 {
        binomial *= (2 * n + 1) as f64 / (2 * n + 2) as f64;
        a[n] = binomial / (2 * n + 3) as f64;
        n += 1;
    }
    a
};

macro_rules! impl_scalar {
    ($t:ident) => {
        impl Scalar for $t {
            type Mask = bool;

            #[inline(always)]
            fn constant(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
            #[inline(always)]
            fn choose(mask: bool, a: impl FnOnce() -> Self, b: impl FnOnce() -> Self) -> Self {
                if mask { a() } else { b() }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            impl_scalar!(@std $t: sqrt sin cos);
            impl_scalar!(@lanes $t: exp exp_m1 ln ln_1p sinh cosh tanh asinh atanh tanc arctanc sinc cosc arcsinc);
        }
    };
    (@std $t:ident: $($f:ident)*) => { $(
        #[inline(always)]
        fn $f(self) -> Self {
            $t::$f(self)
        }
    )* };
    // One lane of the vector code: the same bits at every level.
    (@lanes $t:ident: $($f:ident)*) => { $(
        #[inline(always)]
        fn $f(self) -> Self {
            let [y] = Lanes::from([f64::from(self)]).$f().into();
            y as $t
        }
    )* };
}

impl_scalar!(f32);
impl_scalar!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    type Family = (&'static str, fn(f64) -> f64, fn(f64, f64) -> f64, f64, f64);

    const FAMILY: [Family; 4] = [
        ("tanc", f64::tanc, tanc_slope, -30.0, 2.0),
        ("arctanc", f64::arctanc, arctanc_slope, -0.9, 30.0),
        ("sinc", f64::sinc, sinc_slope, -30.0, 30.0),
        ("arcsinc", f64::arcsinc, arcsinc_slope, -30.0, 0.9),
    ];

    /// Richardson-extrapolated central difference.
    fn derivative(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
        let central = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
        (4.0 * central(h / 2.0) - central(h)) / 3.0
    }

    #[test]
    fn slopes_equal_finite_differences() {
        for (name, f, slope, low, high) in FAMILY {
            for i in 0..=400 {
                let s = low + (high - low) * f64::from(i) / 400.0;
                let s = s.clamp(low + 0.02, high - 0.02);
                let (got, want) = (slope(s, f(s)), derivative(f, s, 2e-3));
                assert!(
                    (got - want).abs() <= 1e-8 * want.abs().max(1e-3),
                    "{name}'({s}) = {got}, not {want}"
                );
            }
        }
    }

    #[test]
    fn slopes_join_at_the_edge_of_the_series() {
        for (name, f, slope, ..) in FAMILY {
            for edge in [-SERIES, SERIES] {
                let (inside, outside) = (edge * (1.0 - 1e-15), edge * (1.0 + 1e-15));
                let (a, b) = (slope(inside, f(inside)), slope(outside, f(outside)));
                assert!((a - b).abs() <= 2e-14 * a.abs(), "{name} at {edge}: {a} {b}");
            }
        }
    }

    #[test]
    fn family_is_continuous_through_zero_and_subnormals() {
        for (name, f, slope, ..) in FAMILY {
            for s in [0.0, -0.0, 5e-324, -5e-324, 1e-300, -1e-300] {
                assert_eq!(f(s), 1.0, "{name}({s})");
            }
            assert!((slope(0.0, 1.0) - slope(1e-18, 1.0)).abs() < 1e-15, "{name}");
        }
        assert_eq!(tanc_slope(0.0, 1.0), 1.0 / 3.0);
        assert_eq!(arctanc_slope(0.0, 1.0), -1.0 / 3.0);
        assert_eq!(sinc_slope(0.0, 1.0), -1.0 / 6.0);
        assert_eq!(arcsinc_slope(0.0, 1.0), 1.0 / 6.0);
    }

    #[test]
    fn overflow_edges_are_safe() {
        assert_eq!(1000f64.sigmoid(), 1.0);
        assert_eq!((-1000f64).sigmoid(), 0.0);
        assert_eq!(1000f64.softplus(), 1000.0);
        assert_eq!((-1000f64).softplus(), 0.0);
        assert_eq!((-1e300f64).tanc(), 1e-150);
    }
}

//! The scalar that formulas are generic over.
//!
//! A formula is written once, as a function of some `S: Scalar`, and evaluated on plain numbers
//! (`f32`, `f64`) or on dual numbers ([`Dual`](crate::dual::Dual)) for its exact partial derivatives. There
//! is no data-dependent `if` in a formula: choices go through [`Scalar::select`] or [`Scalar::choose`].
//!
//! # The square-argument family
//!
//! `tan(r)/r`, `arctan(r)/r`, `sin(r)/r`, `cos(r)` and `arcsin(r)/r` are even in `r`, so they are analytic
//! functions of `s = r²`, and for `s < 0` they continue into their hyperbolic counterparts: `tanh(ρ)/ρ`,
//! `artanh(ρ)/ρ`, `sinh(ρ)/ρ`, `cosh(ρ)`, `arsinh(ρ)/ρ` with `ρ = √-s`. Formulas of curved geometry
//! take `s = κ|v|²`: exact at the zero vector, exact at κ = 0, and one formula for every sign of κ.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::elementary;
use crate::lanes::Lanes;
use crate::simd::columns::with_elementary;
use crate::simd::dispatch;

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
    /// Distance from 1 to the next larger number, as `f64`.
    const EPSILON: f64;

    /// A constant.
    fn constant(value: f64) -> Self;
    /// `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Whether one of the two is NaN.
    fn unordered(self, other: Self) -> Self::Mask;
    /// `a` where the mask holds, else `b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Whether the mask may hold for some of the numbers that a scalar stands for.
    #[inline(always)]
    fn any(_mask: Self::Mask) -> bool {
        true
    }
    /// Whether the mask is known to hold for all of them.
    #[inline(always)]
    fn all(_mask: Self::Mask) -> bool {
        false
    }
    /// As [`select`](Self::select), but evaluates a branch only if some number needs it. Each branch is
    /// called in one place: if it were called in two, every level of nested choices would double the code.
    #[inline(always)]
    fn choose(mask: Self::Mask, a: impl FnOnce() -> Self, b: impl FnOnce() -> Self) -> Self {
        let a = if Self::any(mask) { a() } else { Self::zero() };
        let b = if Self::all(mask) { a } else { b() };
        Self::select(mask, a, b)
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
    /// `tan x`.
    fn tan(self) -> Self;
    /// `arcsin x`.
    fn asin(self) -> Self;
    /// `arctan x`.
    fn atan(self) -> Self;
    /// `sinh x`.
    fn sinh(self) -> Self;
    /// `cosh x`.
    fn cosh(self) -> Self;
    /// `tanh x`.
    fn tanh(self) -> Self;
    /// `arsinh x`, odd: as accurate for negative x as for positive.
    fn asinh(self) -> Self;
    /// `arcosh x`.
    fn acosh(self) -> Self;
    /// `artanh x`.
    fn atanh(self) -> Self;
    /// The error function `2/√π ∫₀ˣ e^(-t²) dt`.
    fn erf(self) -> Self;
    /// The Gaussian error linear unit `x Φ(x)`, exact, with all its digits for large negative x too.
    fn gelu(self) -> Self;

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

    /// `sin x` and `cos x`, at little more than the cost of one. So are the pairs below.
    fn sin_cos(self) -> (Self, Self);
    /// `sinh x` and `cosh x`.
    fn sinh_cosh(self) -> (Self, Self);
    /// [`sinc`](Self::sinc) and [`cosc`](Self::cosc).
    fn sinc_cosc(self) -> (Self, Self);
    /// [`tanc`](Self::tanc) and `sec²(√s)`, that is `sech²(√-s)` for s < 0.
    fn tanc_secant(self) -> (Self, Self);
    /// [`tanh`](Self::tanh) and its derivative sech².
    fn tanh_with_slope(self) -> (Self, Self);
    /// [`gelu`](Self::gelu) and its derivative.
    fn gelu_with_slope(self) -> (Self, Self);

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
    /// The same number as a constant: without derivatives.
    #[inline(always)]
    fn detached(self) -> Self {
        self
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
    /// The smaller of two; NaN where one is. If they are equal, the derivatives are those of `other`.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        chosen(self, other, Self::select(self.lt(other), self, other))
    }
    /// The larger of two; NaN where one is. If they are equal, the derivatives are those of `other`.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        chosen(self, other, Self::select(other.lt(self), self, other))
    }
    /// `xⁿ` for any integer n. Relative error below 3|n|/2 unit roundoffs.
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        // Powers of 1/x: the inverse of x^|n| would be 0 where x^|n| overflows but xⁿ does not underflow.
        let mut square = if n < 0 { self.recip() } else { self };
        let mut power = Self::one();
        let mut bits = n.unsigned_abs();
        while bits != 0 {
            if bits & 1 == 1 {
                power = power * square;
            }
            square = square.square();
            bits >>= 1;
        }
        power
    }
    /// The logistic function `1/(1 + e⁻ˣ)`, without overflow, with all its digits for large
    /// negative x. Error below 2.5 ulp; `f32` 2.8.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        self.sigmoid_with_slope().0
    }
    /// [`sigmoid`](Self::sigmoid) and its derivative, which does not cancel where the function comes near 1.
    /// Error of the latter below 4.6 ulp; `f32` 4.7.
    #[inline(always)]
    fn sigmoid_with_slope(self) -> (Self, Self) {
        sigmoid_with_slope(
            self,
            #[inline(always)]
            |x| x.exp(),
        )
    }
    /// `ln(1 + eˣ)`, without overflow. Error below 1.6 ulp; `f32` 1.6.
    #[inline(always)]
    fn softplus(self) -> Self {
        softplus(
            self,
            #[inline(always)]
            |x| x.exp().ln_1p(),
        )
    }
    /// The logarithm of the logistic function, `−ln(1 + e⁻ˣ)`, without overflow. Error below 1.6 ulp;
    /// `f32` 1.6.
    #[inline(always)]
    fn log_sigmoid(self) -> Self {
        -(-self).softplus()
    }
}

/// `choice`, which was made by comparing `a` and `b`; where one of them is NaN, NaN with NaN derivatives.
///
/// ```
/// use cotangent_engine::{Scalar, scalar::chosen};
/// let positive_part = |x: f64| chosen(x, 0.0, f64::select(0.0 < x, x, 0.0));
/// assert_eq!(positive_part(-2.0), 0.0);
/// assert!(positive_part(f64::NAN).is_nan());
/// ```
#[inline(always)]
pub fn chosen<S: Scalar>(a: S, b: S, choice: S) -> S {
    // A product of constants, because its derivatives are NaN too.
    let nan = S::constant(f64::NAN) * S::constant(f64::NAN);
    S::select(a.unordered(b), nan, choice)
}

/// [`Scalar::sigmoid_with_slope`], step by step, by an exponential.
#[inline(always)]
pub(crate) fn sigmoid_with_slope<S: Scalar>(x: S, exp: impl FnOnce(S) -> S) -> (S, S) {
    let decay = exp(-x.abs());
    let inverse = (S::one() + decay).recip();
    let below = decay * inverse;
    (S::select(x.lt(S::zero()), below, inverse), below * inverse)
}

/// [`Scalar::softplus`], step by step, by a function ln(1 + eˣ) that may overflow.
#[inline(always)]
pub(crate) fn softplus<S: Scalar>(x: S, ln_1p_exp: impl FnOnce(S) -> S) -> S {
    x.max(S::zero()) + ln_1p_exp(-x.abs())
}

/// The |s| below which slopes are computed by series, as their closed forms cancel; and the number of terms.
const fn series<S: Scalar>() -> (f64, usize) {
    if S::EPSILON < 1e-10 { (0.125, 18) } else { (0.25, 13) }
}

/// `closed`; near 0, where that cancels, the derivative `Σ (n+1) a[n] sⁿ` of the series.
#[inline(always)]
fn slope<S: Scalar>(s: S, a: &[f64; 18], closed: impl FnOnce() -> S) -> S {
    let (edge, terms) = series::<S>();
    S::choose(
        s.abs().lt(S::constant(edge)),
        #[inline(always)]
        || {
            let mut sum = S::zero();
            for n in (0..terms).rev() {
                sum = sum * s + S::constant(a[n] * (n + 1) as f64);
            }
            sum
        },
        closed,
    )
}

/// Derivative of [`Scalar::tanc`] at `s`, given `f = tanc(s)` and `sec²(√s)`: `(sec²(√s) − f) / 2s`.
/// Error below 28 ulp; `f32` 22.
#[inline(always)]
pub fn tanc_slope<S: Scalar>(s: S, f: S, secant: S) -> S {
    slope(
        s,
        &TANC,
        #[inline(always)]
        || (secant - f) / (s + s),
    )
}

/// Derivative of [`Scalar::arctanc`] at `s`, given `f = arctanc(s)`: `(1/(1+s) − f) / 2s`.
/// Error below 23 ulp; `f32` 17.
#[inline(always)]
pub fn arctanc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(
        s,
        &ARCTANC,
        #[inline(always)]
        || ((S::one() + s).recip() - f) / (s + s),
    )
}

/// Derivative of [`Scalar::sinc`] at `s`, given `f = sinc(s)` and `cosc(s)`: `(cosc(s) − f) / 2s`.
/// Error below 32 ulp; `f32` 30.
#[inline(always)]
pub fn sinc_slope<S: Scalar>(s: S, f: S, cosc: S) -> S {
    slope(
        s,
        &SINC,
        #[inline(always)]
        || (cosc - f) / (s + s),
    )
}

/// Derivative of [`Scalar::arcsinc`] at `s`, given `f = arcsinc(s)`: `(1/√(1−s) − f) / 2s`.
/// Error below 44 ulp; `f32` 54.
#[inline(always)]
pub fn arcsinc_slope<S: Scalar>(s: S, f: S) -> S {
    slope(
        s,
        &ARCSINC,
        #[inline(always)]
        || ((S::one() - s).sqrt().recip() - f) / (s + s),
    )
}

/// Taylor coefficients 1.. of `tan(√s)/√s` (the first, 1, is left out), from `tan′ = 1 + tan²`.
const TANC: [f64; 18] = {
    let mut a = [0.0; 18];
    let mut n = 0;
    while n < 18 {
        let mut sum = 2.0 * if n == 0 { 0.5 } else { a[n - 1] };
        let mut i = 1;
        while i < n {
            sum += a[i - 1] * a[n - 1 - i];
            i += 1;
        }
        a[n] = sum / (2 * n + 3) as f64;
        n += 1;
    }
    a
};

/// Taylor coefficients 1.. of `arctan(√s)/√s`.
const ARCTANC: [f64; 18] = {
    let mut a = [0.0; 18];
    let mut n = 0;
    while n < 18 {
        let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
        a[n] = sign / (2 * n + 3) as f64;
        n += 1;
    }
    a
};

/// Taylor coefficients 1.. of `sin(√s)/√s`.
const SINC: [f64; 18] = {
    let mut a = [0.0; 18];
    let mut term = 1.0;
    let mut n = 0;
    while n < 18 {
        term /= -((2 * n + 2) as f64 * (2 * n + 3) as f64);
        a[n] = term;
        n += 1;
    }
    a
};

/// Taylor coefficients 1.. of `arcsin(√s)/√s`.
const ARCSINC: [f64; 18] = {
    let mut a = [0.0; 18];
    let mut binomial = 1.0; // C(2n, n) / 4^n
    let mut n = 0;
    while n < 18 {
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
            const EPSILON: f64 = $t::EPSILON as f64;

            #[inline(always)]
            fn constant(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn unordered(self, other: Self) -> bool {
                self.is_nan() | other.is_nan()
            }
            #[inline(always)]
            fn select(mask: bool, a: Self, b: Self) -> Self {
                if mask { a } else { b }
            }
            #[inline(always)]
            fn any(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn all(mask: bool) -> bool {
                mask
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            with_elementary! { impl_scalar! }
        }
    };
    // Computed as one lane of the vector code: scalars and lanes have the same bits. Out of line, and not
    // generic, so that they are compiled in this crate only.
    ($($f:ident $operation:ident)*; $($pair:ident $pair_operation:ident)*) => {
        $(
            #[inline(never)]
            fn $f(self) -> Self {
                dispatch(
                    #[inline(always)]
                    || elementary::$f(Lanes::from([self])).get(0),
                )
            }
        )*
        $(
            #[inline(never)]
            fn $pair(self) -> (Self, Self) {
                let (a, b) = dispatch(
                    #[inline(always)]
                    || elementary::$pair(Lanes::from([self])),
                );
                (a.get(0), b.get(0))
            }
        )*
    };
}

impl_scalar!(f32);

impl_scalar!(f64);

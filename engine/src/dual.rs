//! Dual numbers: a value with its `N` partial derivatives, for the reverse pass of every formula.
//!
//! Elementary functions use their analytic derivative, never dual arithmetic through a polynomial.

// A product's rule has a sum in it.
#![allow(clippy::suspicious_arithmetic_impl)]

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::lanes::array;
use crate::scalar::{Scalar, arcsinc_slope, arctanc_slope, sinc_slope, tanc_slope};

/// `value + Σ partials[i] εᵢ` with `εᵢ εⱼ = 0`.
///
/// ```
/// use cotangent_engine::{Dual, Scalar};
/// let [x, y] = Dual::variables([3.0_f64, 4.0]);
/// let z = x * x / y;
/// assert_eq!((z.value, z.partials), (2.25, [1.5, -0.5625]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<S, const N: usize> {
    /// The value.
    pub value: S,
    /// Its partial derivatives with respect to the `N` variables.
    pub partials: [S; N],
}

impl<S: Scalar, const N: usize> Dual<S, N> {
    /// The `N` independent variables at the given values.
    #[inline(always)]
    pub fn variables(values: [S; N]) -> [Self; N] {
        array(Self::constant(0.0), |i| {
            let partials = array(S::zero(), |j| S::constant(if i == j { 1.0 } else { 0.0 }));
            Dual { value: values[i], partials }
        })
    }

    /// Chain rule: a function's value and its derivative at `self.value`.
    #[inline(always)]
    fn chain(self, value: S, derivative: S) -> Self {
        Dual { value, partials: array(S::zero(), |i| self.partials[i] * derivative) }
    }
}

impl<S: Scalar, const N: usize> Add for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Dual { value: self.value + o.value, partials: array(S::zero(), |i| self.partials[i] + o.partials[i]) }
    }
}

impl<S: Scalar, const N: usize> Sub for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Dual { value: self.value - o.value, partials: array(S::zero(), |i| self.partials[i] - o.partials[i]) }
    }
}

impl<S: Scalar, const N: usize> Mul for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Dual {
            value: self.value * o.value,
            partials: array(S::zero(), |i| self.partials[i] * o.value + self.value * o.partials[i]),
        }
    }
}

impl<S: Scalar, const N: usize> Div for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let inverse = o.value.recip();
        let value = self.value / o.value;
        Dual { value, partials: array(S::zero(), |i| (self.partials[i] - value * o.partials[i]) * inverse) }
    }
}

impl<S: Scalar, const N: usize> Neg for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual { value: -self.value, partials: array(S::zero(), |i| -self.partials[i]) }
    }
}

impl<S: Scalar, const N: usize> Scalar for Dual<S, N> {
    type Mask = S::Mask;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Dual { value: S::constant(value), partials: [S::zero(); N] }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> S::Mask {
        self.value.lt(other.value)
    }
    #[inline(always)]
    fn select(mask: S::Mask, a: Self, b: Self) -> Self {
        Dual {
            value: S::select(mask, a.value, b.value),
            partials: array(S::zero(), |i| S::select(mask, a.partials[i], b.partials[i])),
        }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        let positive = S::zero().lt(root);
        let slope = S::select(positive, S::constant(0.5) / root, S::zero());
        self.chain(root, slope)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let value = self.value.exp();
        self.chain(value, value)
    }
    #[inline(always)]
    fn exp_m1(self) -> Self {
        let value = self.value.exp_m1();
        self.chain(value, value + S::one())
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.value.ln(), self.value.recip())
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), (S::one() + self.value).recip())
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    #[inline(always)]
    fn sinh(self) -> Self {
        self.chain(self.value.sinh(), self.value.cosh())
    }
    #[inline(always)]
    fn cosh(self) -> Self {
        self.chain(self.value.cosh(), self.value.sinh())
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        let value = self.value.tanh();
        // sech² from e^-2|x|: no cancellation where tanh rounds to 1.
        let decay = (S::constant(-2.0) * self.value.abs()).exp();
        let sech2 = S::constant(4.0) * decay / (S::one() + decay).square();
        self.chain(value, sech2)
    }
    #[inline(always)]
    fn asinh(self) -> Self {
        self.chain(self.value.asinh(), (S::one() + self.value.square()).sqrt().recip())
    }
    #[inline(always)]
    fn atanh(self) -> Self {
        self.chain(self.value.atanh(), ((S::one() - self.value) * (S::one() + self.value)).recip())
    }
    #[inline(always)]
    fn tanc(self) -> Self {
        let f = self.value.tanc();
        self.chain(f, tanc_slope(self.value, f))
    }
    #[inline(always)]
    fn arctanc(self) -> Self {
        let f = self.value.arctanc();
        self.chain(f, arctanc_slope(self.value, f))
    }
    #[inline(always)]
    fn sinc(self) -> Self {
        let f = self.value.sinc();
        self.chain(f, sinc_slope(self.value, f))
    }
    #[inline(always)]
    fn cosc(self) -> Self {
        self.chain(self.value.cosc(), S::constant(-0.5) * self.value.sinc())
    }
    #[inline(always)]
    fn arcsinc(self) -> Self {
        let f = self.value.arcsinc();
        self.chain(f, arcsinc_slope(self.value, f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, dual: fn(Dual<f64, 1>) -> Dual<f64, 1>, plain: fn(f64) -> f64, points: &[f64]) {
        for &x in points {
            let [v] = Dual::variables([x]);
            let got = dual(v);
            assert_eq!(got.value, plain(x), "{name}({x})");
            let h = 1e-4 * x.abs().max(1.0);
            let central = |h: f64| (plain(x + h) - plain(x - h)) / (2.0 * h);
            let want = (4.0 * central(h / 2.0) - central(h)) / 3.0;
            assert!((got.partials[0] - want).abs() <= 1e-9 * want.abs().max(1e-2), "{name}'({x})");
        }
    }

    #[test]
    fn derivatives_equal_finite_differences() {
        macro_rules! check_all {
            ($($f:ident: $points:expr;)*) => { $( check(stringify!($f), Scalar::$f, Scalar::$f, &$points); )* };
        }
        check_all! {
            sqrt: [0.3, 1.0, 7.0];
            exp: [-2.0, 0.0, 3.0];
            exp_m1: [-2.0, 0.0, 3.0];
            ln: [0.3, 1.0, 7.0];
            ln_1p: [-0.5, 0.0, 7.0];
            sin: [-2.0, 0.0, 3.0];
            cos: [-2.0, 0.1, 3.0];
            sinh: [-2.0, 0.0, 3.0];
            cosh: [-2.0, 0.1, 3.0];
            tanh: [-2.0, 0.0, 3.0];
            asinh: [-20.0, 0.0, 3.0];
            atanh: [-0.9, 0.0, 0.5];
            sigmoid: [-2.0, 0.0, 3.0];
            softplus: [-2.0, 0.5, 3.0];
            square: [-2.0, 0.0, 3.0];
            recip: [-2.0, 3.0];
            abs: [-2.0, 3.0];
            tanc: [-5.0, -0.01, 0.0, 0.02, 1.0];
            arctanc: [-0.5, -0.01, 0.0, 0.02, 5.0];
            sinc: [-5.0, -0.01, 0.0, 0.02, 5.0];
            cosc: [-5.0, -0.01, 0.02, 5.0];
            arcsinc: [-5.0, -0.01, 0.0, 0.02, 0.5];
        }
    }

    #[test]
    fn second_derivatives_by_nesting() {
        // d²/dx² of x³ + tanc(x) at x = 0.
        let inner = Dual { value: 0.0, partials: [1.0] };
        let x = Dual { value: inner, partials: [Dual::constant(1.0)] };
        let y = x * x * x + x.tanc();
        assert!((y.partials[0].partials[0] - 4.0 / 15.0).abs() < 1e-15);
    }

    #[test]
    fn tanh_keeps_its_slope_where_it_saturates() {
        let [x] = Dual::variables([30.0f64]);
        let slope = x.tanh().partials[0];
        assert!((slope / (4.0 * (-60.0f64).exp()) - 1.0).abs() < 1e-12);
    }
}

//! Dual numbers: a value with its `N` partial derivatives, for the reverse pass of every formula.
//!
//! Elementary functions use their analytic derivative, never dual arithmetic through a polynomial.

// The product rule has a sum in it.
#![allow(clippy::suspicious_arithmetic_impl)]

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::lanes::array;
use crate::scalar::{Scalar, arcsinc_slope, arctanc_slope, chosen, sinc_slope, tanc_slope};

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

/// A number and its derivative by one argument, each with its derivative in the direction of a tangent.
pub type Nested = Dual<Dual<f64, 1>, 1>;

impl<S: Scalar, const N: usize> Dual<S, N> {
    /// The `N` independent variables at the given values.
    #[inline(always)]
    pub fn variables(values: [S; N]) -> [Self; N] {
        array(
            Self::constant(0.0),
            #[inline(always)]
            |i| {
                let partials = array(S::zero(), |j| S::constant(if i == j { 1.0 } else { 0.0 }));
                Dual { value: values[i], partials }
            },
        )
    }

    /// Chain rule: a function's value and its derivative at `self.value`.
    #[inline(always)]
    fn chain(self, value: S, derivative: S) -> Self {
        Dual {
            value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| self.partials[i] * derivative,
            ),
        }
    }
}

/// `1/u`, the slope of `ln u`; NaN for u < 0, as the logarithm is.
#[inline(always)]
fn slope_of_ln<S: Scalar>(u: S) -> S {
    S::select(u.lt(S::zero()), S::constant(f64::NAN), u.recip())
}

impl<S: Scalar, const N: usize> Add for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Dual {
            value: self.value + o.value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| self.partials[i] + o.partials[i],
            ),
        }
    }
}

impl<S: Scalar, const N: usize> Sub for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Dual {
            value: self.value - o.value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| self.partials[i] - o.partials[i],
            ),
        }
    }
}

impl<S: Scalar, const N: usize> Mul for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Dual {
            value: self.value * o.value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| self.partials[i] * o.value + self.value * o.partials[i],
            ),
        }
    }
}

impl<S: Scalar, const N: usize> Div for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let inverse = o.value.recip();
        let value = self.value / o.value;
        Dual {
            value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| (self.partials[i] - value * o.partials[i]) * inverse,
            ),
        }
    }
}

impl<S: Scalar, const N: usize> Neg for Dual<S, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Dual {
            value: -self.value,
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| -self.partials[i],
            ),
        }
    }
}

impl<S: Scalar, const N: usize> Scalar for Dual<S, N> {
    type Mask = S::Mask;
    const EPSILON: f64 = S::EPSILON;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Dual { value: S::constant(value), partials: [S::zero(); N] }
    }
    #[inline(always)]
    fn detached(self) -> Self {
        Dual { value: self.value.detached(), partials: [S::zero(); N] }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> S::Mask {
        self.value.lt(other.value)
    }
    #[inline(always)]
    fn unordered(self, other: Self) -> S::Mask {
        self.value.unordered(other.value)
    }
    #[inline(always)]
    fn any(mask: S::Mask) -> bool {
        S::any(mask)
    }
    #[inline(always)]
    fn all(mask: S::Mask) -> bool {
        S::all(mask)
    }
    #[inline(always)]
    fn select(mask: S::Mask, a: Self, b: Self) -> Self {
        Dual {
            value: S::select(mask, a.value, b.value),
            partials: array(
                S::zero(),
                #[inline(always)]
                |i| S::select(mask, a.partials[i], b.partials[i]),
            ),
        }
    }

    #[inline(always)]
    fn abs(self) -> Self {
        let chosen = chosen(self, self, Self::select(self.lt(Self::zero()), -self, self));
        // Turns −0 into 0, as `abs` of the value does.
        Dual { value: self.value.abs(), ..chosen }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        let positive = S::zero().lt(root);
        // Where the root is 0 or NaN, so is the slope.
        let slope = S::select(positive, S::constant(0.5) * root.recip(), root);
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
        self.chain(self.value.ln(), slope_of_ln(self.value))
    }
    #[inline(always)]
    fn ln_1p(self) -> Self {
        self.chain(self.value.ln_1p(), slope_of_ln(S::one() + self.value))
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.sin_cos().0
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.sin_cos().1
    }
    #[inline(always)]
    fn tan(self) -> Self {
        let value = self.value.tan();
        self.chain(value, S::one() + value.square())
    }
    #[inline(always)]
    fn asin(self) -> Self {
        let x = self.value;
        self.chain(x.asin(), ((S::one() - x) * (S::one() + x)).sqrt().recip())
    }
    #[inline(always)]
    fn atan(self) -> Self {
        self.chain(self.value.atan(), (S::one() + self.value.square()).recip())
    }
    #[inline(always)]
    fn sinh(self) -> Self {
        self.sinh_cosh().0
    }
    #[inline(always)]
    fn cosh(self) -> Self {
        self.sinh_cosh().1
    }
    #[inline(always)]
    fn tanh(self) -> Self {
        self.tanh_with_slope().0
    }
    #[inline(always)]
    fn asinh(self) -> Self {
        self.chain(self.value.asinh(), (S::one() + self.value.square()).sqrt().recip())
    }
    #[inline(always)]
    fn acosh(self) -> Self {
        let x = self.value;
        self.chain(x.acosh(), ((x - S::one()).sqrt() * (x + S::one()).sqrt()).recip())
    }
    #[inline(always)]
    fn atanh(self) -> Self {
        self.chain(self.value.atanh(), slope_of_ln((S::one() - self.value) * (S::one() + self.value)))
    }
    #[inline(always)]
    fn erf(self) -> Self {
        self.chain(self.value.erf(), S::constant(FRAC_2_SQRT_PI) * (-self.value.square()).exp())
    }
    #[inline(always)]
    fn gelu(self) -> Self {
        self.gelu_with_slope().0
    }
    #[inline(always)]
    fn sigmoid(self) -> Self {
        let (value, slope) = self.value.sigmoid_with_slope();
        self.chain(value, slope)
    }
    #[inline(always)]
    fn softplus(self) -> Self {
        self.chain(self.value.softplus(), self.value.sigmoid())
    }
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        let slope =
            if n == 0 { S::zero() } else { S::constant(f64::from(n)) * self.value.powi(n.saturating_sub(1)) };
        self.chain(self.value.powi(n), slope)
    }
    #[inline(always)]
    fn tanc(self) -> Self {
        self.tanc_secant().0
    }
    #[inline(always)]
    fn arctanc(self) -> Self {
        let f = self.value.arctanc();
        self.chain(f, arctanc_slope(self.value, f))
    }
    #[inline(always)]
    fn sinc(self) -> Self {
        self.sinc_cosc().0
    }
    #[inline(always)]
    fn cosc(self) -> Self {
        self.sinc_cosc().1
    }
    #[inline(always)]
    fn arcsinc(self) -> Self {
        let f = self.value.arcsinc();
        self.chain(f, arcsinc_slope(self.value, f))
    }

    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.value.sin_cos();
        (self.chain(sin, cos), self.chain(cos, -sin))
    }
    #[inline(always)]
    fn sinh_cosh(self) -> (Self, Self) {
        let (sinh, cosh) = self.value.sinh_cosh();
        (self.chain(sinh, cosh), self.chain(cosh, sinh))
    }
    #[inline(always)]
    fn sinc_cosc(self) -> (Self, Self) {
        let (sinc, cosc) = self.value.sinc_cosc();
        (self.chain(sinc, sinc_slope(self.value, sinc, cosc)), self.chain(cosc, S::constant(-0.5) * sinc))
    }
    #[inline(always)]
    fn tanc_secant(self) -> (Self, Self) {
        let (tanc, secant) = self.value.tanc_secant();
        (self.chain(tanc, tanc_slope(self.value, tanc, secant)), self.chain(secant, secant * tanc))
    }
    #[inline(always)]
    fn tanh_with_slope(self) -> (Self, Self) {
        let (value, slope) = self.value.tanh_with_slope();
        (self.chain(value, slope), self.chain(slope, S::constant(-2.0) * value * slope))
    }
    #[inline(always)]
    fn gelu_with_slope(self) -> (Self, Self) {
        let (value, slope) = self.value.gelu_with_slope();
        let square = self.value.square();
        let density = S::constant(FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0) * (S::constant(-0.5) * square).exp();
        (self.chain(value, slope), self.chain(slope, (S::constant(2.0) - square) * density))
    }
}

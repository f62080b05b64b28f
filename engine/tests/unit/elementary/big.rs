//! The reference: numbers of 192 bits, with functions that the crate for them lacks.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use astro_float_num::{BigFloat, Consts, RoundingMode};

/// Bits of the reference. Arguments have at most 53, and cancellation loses at most 60.
const PRECISION: usize = 192;
const NEAREST: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().unwrap());
}

/// A number of 192 bits.
#[derive(Clone, Debug)]
pub(super) struct Big(BigFloat);

impl From<f64> for Big {
    fn from(x: f64) -> Self {
        if x.is_subnormal() {
            // `BigFloat::from_f64` converts these wrongly.
            return Big::from(x * 2f64.powi(54)) / 2f64.powi(54);
        }
        Big(BigFloat::from_f64(x, PRECISION))
    }
}

macro_rules! operator {
    ($trait:ident $method:ident) => {
        impl $trait for &Big {
            type Output = Big;
            fn $method(self, o: Self) -> Big {
                Big(self.0.$method(&o.0, PRECISION, NEAREST))
            }
        }
        impl $trait<f64> for &Big {
            type Output = Big;
            fn $method(self, o: f64) -> Big {
                self.$method(&Big::from(o))
            }
        }
        impl $trait for Big {
            type Output = Big;
            fn $method(self, o: Self) -> Big {
                (&self).$method(&o)
            }
        }
        impl $trait<f64> for Big {
            type Output = Big;
            fn $method(self, o: f64) -> Big {
                (&self).$method(&Big::from(o))
            }
        }
    };
}
operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl Neg for Big {
    type Output = Big;
    fn neg(self) -> Big {
        Big(self.0.neg())
    }
}

macro_rules! functions {
    ($($name:ident)*) => { $(
        pub(super) fn $name(&self) -> Big {
            CONSTANTS.with_borrow_mut(|constants| Big(self.0.$name(PRECISION, NEAREST, constants)))
        }
    )* };
}

impl Big {
    functions!(exp ln sin cos tan asin atan sinh cosh tanh asinh acosh atanh);

    pub(super) fn pi() -> Big {
        CONSTANTS.with_borrow_mut(|constants| Big(constants.pi(PRECISION, NEAREST)))
    }
    pub(super) fn sqrt(&self) -> Big {
        Big(self.0.sqrt(PRECISION, NEAREST))
    }
    pub(super) fn square(&self) -> Big {
        self * self
    }
    pub(super) fn recip(&self) -> Big {
        &Big::from(1.0) / self
    }
    pub(super) fn abs(&self) -> Big {
        Big(self.0.abs())
    }
    pub(super) fn is_negative(&self) -> bool {
        self.0.is_negative()
    }
    /// Whether |x| is below 2^exponent.
    fn is_below(&self, exponent: i32) -> bool {
        self.0.is_zero() || self.0.exponent().is_some_and(|e| e <= exponent)
    }

    pub(super) fn exp_m1(&self) -> Big {
        if self.is_below(-60) {
            return self * &((self / 3.0 + 1.0) * (self / 2.0) + 1.0);
        }
        self.exp() - 1.0
    }
    pub(super) fn ln_1p(&self) -> Big {
        if self.is_below(-60) {
            return self * &((self * (2.0 / 3.0) - 1.0) * (self / 2.0) + 1.0);
        }
        (self + 1.0).ln()
    }

    /// The error function: for |x| < 4 by its series, whose terms have one sign.
    pub(super) fn erf(&self) -> Big {
        if !self.is_below(2) {
            let tail = Big::from(1.0) - self.abs().erfc();
            return if self.is_negative() { -tail } else { tail };
        }
        let square = self.square();
        let (mut term, mut sum) = (self.clone(), self.clone());
        let mut n = 1.0;
        while !term.0.is_zero() && term.0.exponent() > sum.0.exponent().map(|e| e - PRECISION as i32) {
            term = &term * &square * 2.0 / (2.0 * n + 1.0);
            sum = &sum + &term;
            n += 1.0;
        }
        sum * 2.0 * (-square).exp() / Big::pi().sqrt()
    }

    /// `1 − erf x`, beyond 1 by the trapezoidal rule on `x e^(-x²)/π ∫ e^(-t²)/(t² + x²) dt`, which
    /// with the residue at its poles is exact to `e^(-π²/h²)` (Chiarella & Reichel 1968).
    pub(super) fn erfc(&self) -> Big {
        const H: f64 = 0.25;
        thread_local! {
            static WEIGHTS: Vec<Big> =
                (0..48).map(|k| Big::from(-(H * f64::from(k)).powi(2)).exp()).collect();
        }
        if self.is_negative() || self.is_below(0) {
            return Big::from(1.0) - self.erf();
        }
        let square = self.square();
        let mut sum = square.recip() / 2.0;
        WEIGHTS.with(|weights| {
            for (k, weight) in weights.iter().enumerate().skip(1) {
                sum = &sum + &(weight / &(&square + (H * k as f64).powi(2)));
            }
        });
        let integral = sum * (2.0 * H) * self.clone() * (-square).exp() / Big::pi();
        if !self.is_below(3) {
            return integral; // the poles lie outside the strip
        }
        integral - Big::from(2.0) / ((self * &Big::pi() * (2.0 / H)).exp() - 1.0)
    }

    /// `|got − self|` in units in the last place of `self` as an `f64`. An infinite `got` counts as 2^1024;
    /// it is right if `self` is beyond that.
    pub(super) fn ulps(&self, got: f64) -> f64 {
        let exponent = |x: &Big| x.0.exponent().unwrap_or(0);
        let infinite = got.is_infinite();
        if infinite && exponent(self) > 1024 && self.is_negative() == (got < 0.0) {
            return 0.0;
        }
        let got = if infinite { Big::from(got.signum() * 2f64.powi(1023)) * 2.0 } else { got.into() };
        let last_place = (exponent(self) - 53).max(-1074);
        let difference = (self - &got).abs();
        if difference.0.is_zero() {
            return 0.0;
        }
        let Some(digits) = difference.0.mantissa_digits() else { return f64::NAN };
        let top = *digits.last().unwrap() as f64 / 2f64.powi(u64::BITS as i32);
        top * 2f64.powi((exponent(&difference) - last_place).min(1000))
    }
}

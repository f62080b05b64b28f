//! SIMD lanes: several rows at a time through one formula.
//!
//! A `Lanes<R>` is an array, and every operation a loop over it: what is inlined into an entry of
//! [`simd`](crate) becomes vector instructions. All lanes are computed alike, so a result depends neither
//! on the lane it was computed in nor on its neighbours.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::Scalar;
use crate::elementary as e;

/// `R` numbers, computed with side by side.
///
/// ```
/// use cotangent_engine::{Lanes, Scalar};
/// let x = Lanes::from([1.0, 4.0, 9.0]);
/// assert_eq!((x.sqrt() + x).to_array(), [2.0, 6.0, 12.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes<const R: usize>([f64; R]);

/// One bit pattern a lane: all ones or all zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneMask<const R: usize>([u64; R]);

impl<const R: usize> From<[f64; R]> for Lanes<R> {
    #[inline(always)]
    fn from(lanes: [f64; R]) -> Self {
        Lanes(lanes)
    }
}

impl<const R: usize> From<Lanes<R>> for [f64; R] {
    #[inline(always)]
    fn from(lanes: Lanes<R>) -> Self {
        lanes.0
    }
}

impl<const R: usize> Lanes<R> {
    /// The numbers.
    #[inline(always)]
    pub fn to_array(self) -> [f64; R] {
        self.0
    }
    /// `self + b` and its rounding error, exactly (Knuth).
    #[inline(always)]
    pub(crate) fn two_sum(self, b: Self) -> (Self, Self) {
        let sum = self + b;
        let part = sum - self;
        (sum, (self - (sum - part)) + (b - part))
    }
    /// The number in lane `l`.
    #[inline(always)]
    pub fn get(&self, l: usize) -> f64 {
        self.0[l]
    }
    /// The sum over the lanes, in order.
    #[inline(always)]
    pub(crate) fn sum(&self) -> f64 {
        self.0.iter().fold(0.0, |sum, x| sum + x)
    }
    /// Puts a number into lane `l`.
    #[inline(always)]
    pub(crate) fn set(&mut self, l: usize, x: f64) {
        self.0[l] = x;
    }
    /// The same number in every lane.
    #[inline(always)]
    pub fn splat(x: f64) -> Self {
        Lanes([x; R])
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Lanes(array(0.0, |l| f(self.0[l])))
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Lanes(array(0.0, |l| f(self.0[l], o.0[l])))
    }
    /// `self · b + c`, rounded once.
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes(array(0.0, |l| self.0[l].mul_add(b.0[l], c.0[l])))
    }
    /// Lane by lane, a function of the bits.
    #[inline(always)]
    pub(crate) fn map_bits(self, f: impl Fn(u64) -> u64) -> Self {
        self.map(|x| f64::from_bits(f(x.to_bits())))
    }
    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    pub(crate) fn copysign(self, sign: Self) -> Self {
        self.zip(sign, |x, s| x.copysign(s))
    }
    /// A function of the square: lanes above 0 by one branch, the others by the other, and neither is
    /// computed that no lane needs.
    #[inline(always)]
    fn by_sign(self, hyperbolic: impl FnOnce(Self) -> Self, circular: impl Fn(f64) -> f64) -> Self {
        let (mut any, mut all) = (false, true);
        for s in self.0 {
            any |= s > 0.0;
            all &= s > 0.0;
        }
        if all {
            return self.map(circular);
        }
        let mut y = hyperbolic(self);
        if any {
            for l in 0..R {
                if self.0[l] > 0.0 {
                    y.0[l] = circular(self.0[l]);
                }
            }
        }
        y
    }
}

/// `[f(0), f(1), …]`. As `std::array::from_fn`, but sure to be inlined, so that the loop is compiled for the
/// instruction set of the kernel it stands in.
#[inline(always)]
pub(crate) fn array<T: Copy, const N: usize>(zero: T, mut f: impl FnMut(usize) -> T) -> [T; N] {
    let mut out = [zero; N];
    for (i, x) in out.iter_mut().enumerate() {
        *x = f(i);
    }
    out
}

macro_rules! operator {
    ($trait:ident $method:ident) => {
        impl<const R: usize> $trait for Lanes<R> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, o: Self) -> Self {
                self.zip(o, |a, b| a.$method(b))
            }
        }
    };
}
operator!(Add add);
operator!(Sub sub);
operator!(Mul mul);
operator!(Div div);

impl<const R: usize> Neg for Lanes<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

macro_rules! elementary {
    ($($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self) -> Self {
            e::$name(self)
        }
    )* };
}

macro_rules! by_sign {
    ($($name:ident $hyperbolic:ident $circular:ident;)*) => { $(
        #[inline(always)]
        fn $name(self) -> Self {
            self.by_sign(
                #[inline(always)]
                |s| e::$hyperbolic(s),
                e::$circular,
            )
        }
    )* };
}

impl<const R: usize> Scalar for Lanes<R> {
    type Mask = LaneMask<R>;

    #[inline(always)]
    fn constant(value: f64) -> Self {
        Lanes::splat(value)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> LaneMask<R> {
        LaneMask(array(0, |l| if self.0[l] < other.0[l] { u64::MAX } else { 0 }))
    }
    #[inline(always)]
    fn select(mask: LaneMask<R>, a: Self, b: Self) -> Self {
        Lanes(array(0.0, |l| f64::from_bits(a.0[l].to_bits() & mask.0[l] | b.0[l].to_bits() & !mask.0[l])))
    }
    /// Evaluates only what some lane needs.
    #[inline(always)]
    fn choose(mask: LaneMask<R>, a: impl FnOnce() -> Self, b: impl FnOnce() -> Self) -> Self {
        let (mut any, mut all) = (0, u64::MAX);
        for m in mask.0 {
            any |= m;
            all &= m;
        }
        if all == u64::MAX {
            a()
        } else if any == 0 {
            b()
        } else {
            Self::select(mask, a(), b())
        }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(|x| x.abs())
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(|x| x.sqrt())
    }
    #[inline(always)]
    fn sin(self) -> Self {
        self.map(f64::sin)
    }
    #[inline(always)]
    fn cos(self) -> Self {
        self.map(f64::cos)
    }
    elementary!(exp exp_m1 ln ln_1p sinh cosh tanh asinh atanh);
    by_sign! {
        tanc tanc_hyperbolic tanc_circular;
        arctanc arctanc_hyperbolic arctanc_circular;
        sinc sinc_hyperbolic sinc_circular;
        cosc cosc_hyperbolic cosc_circular;
        arcsinc arcsinc_hyperbolic arcsinc_circular;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_computes_what_a_scalar_does() {
        let x = [-0.9, -0.3, -1e-9, 0.0, 1e-300, 0.2, 0.7, 0.99];
        macro_rules! check {
            ($($f:ident)*) => { $(
                let lanes = Lanes::from(x).$f().to_array();
                for l in 0..8 {
                    assert_eq!(lanes[l].to_bits(), Scalar::$f(x[l]).to_bits(), "{} {}", stringify!($f), x[l]);
                }
            )* };
        }
        check!(exp exp_m1 ln_1p sin cos sinh cosh tanh asinh atanh tanc arctanc sinc cosc arcsinc sigmoid softplus);
    }
}

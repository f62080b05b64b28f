//! Sums of products as if computed in twice the precision (Ogita, Rump & Oishi 2005, algorithm 5.3).

use std::ops::{Add, Mul, Sub};

use crate::dual::Dual;
use crate::lanes::{Lanes, array};
use crate::scalar::Scalar;
use crate::simd::Block;
use crate::storage::Storage;

/// Numbers whose products are added with one rounding: one, one in each lane, or source text that says it.
pub trait Fused: Clone + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// The same number in every lane.
    fn splat(x: f64) -> Self;
    /// `self · b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
}

impl Fused for f64 {
    fn splat(x: f64) -> Self {
        x
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        f64::mul_add(self, b, c)
    }
}

/// A derivative is not rounded once, nor the value that it comes with.
impl<S: Scalar, const N: usize> Fused for Dual<S, N> {
    fn splat(x: f64) -> Self {
        Self::constant(x)
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
}

impl<const R: usize> Fused for Lanes<R> {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Lanes::splat(x)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Lanes::mul_add(self, b, c)
    }
}

/// `a + b` and its rounding error, exactly (Knuth).
#[inline(always)]
pub fn two_sum<X: Copy + Add<Output = X> + Sub<Output = X>>(a: X, b: X) -> (X, X) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// A sum of products with its rounding error: of a number, or in every lane.
#[derive(Clone, Copy)]
pub struct Compensated<X> {
    /// The rounded sum.
    pub sum: X,
    /// What rounding has lost: the exact sum is about `sum + error`.
    pub error: X,
}

impl<S: Block> Default for Compensated<S> {
    #[inline(always)]
    fn default() -> Self {
        Compensated { sum: S::splat(0.0), error: S::splat(0.0) }
    }
}

impl<X: Fused> Compensated<X> {
    /// The sum, rounded once.
    #[inline(always)]
    pub fn value(self) -> X {
        self.sum + self.error
    }

    /// 1 + κ s of the sum s.
    #[inline(always)]
    pub fn margin(self, kappa: X) -> X {
        kappa.clone().mul_add(self.sum, X::splat(1.0)) + kappa * self.error
    }
}

impl<S: Block> Compensated<S> {
    /// Adds x².
    #[inline(always)]
    pub fn add_square<T: Storage>(&mut self, x: S) {
        self.add_product::<T>(x, x);
    }

    /// Adds x y.
    #[inline(always)]
    pub fn add_product<T: Storage>(&mut self, x: S, y: S) {
        if T::COMPENSATED {
            let product = x * y;
            let product_error = x.mul_sub(y, product);
            let (sum, sum_error) = two_sum(self.sum, product);
            self.sum = sum;
            self.error = self.error + (sum_error + product_error);
        } else {
            self.sum = x.mul_add(y, self.sum);
        }
    }

    /// For each of `parts`, the total over its lanes.
    #[inline(always)]
    pub fn totals<T: Storage, const R: usize>(parts: &[Self; R]) -> Compensated<Lanes<R>> {
        let sums = array(
            S::splat(0.0),
            #[inline(always)]
            |l| parts[l].sum,
        );
        if !T::COMPENSATED {
            return Compensated { sum: S::sums(&sums), error: Lanes::splat(0.0) };
        }
        let errors = array(
            S::splat(0.0),
            #[inline(always)]
            |l| parts[l].error,
        );
        let (sum, error) = S::compensated_sums(&sums, &errors);
        Compensated { sum, error }
    }
}

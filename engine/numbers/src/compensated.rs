//! Sums of products as if computed in twice the precision (Ogita, Rump & Oishi 2005, algorithm 5.3).

use crate::lanes::{Lanes, array};
use crate::simd::Block;
use crate::storage::Storage;

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

impl<S: Block> Compensated<S> {
    /// The sum in every lane, rounded once.
    #[inline(always)]
    pub fn value(self) -> S {
        self.sum + self.error
    }

    /// 1 + κ s of the sum s, in every lane.
    #[inline(always)]
    pub fn margin(self, kappa: S) -> S {
        kappa.mul_add(self.sum, S::splat(1.0)) + kappa * self.error
    }

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
            let (sum, sum_error) = self.sum.two_sum(product);
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

impl<const R: usize> Compensated<Lanes<R>> {
    /// The sum, rounded once.
    #[inline(always)]
    pub fn value(self) -> Lanes<R> {
        self.sum + self.error
    }

    /// 1 + κ s of the sum s.
    #[inline(always)]
    pub fn margin(self, kappa: Lanes<R>) -> Lanes<R> {
        kappa.mul_add(self.sum, Lanes::splat(1.0)) + kappa * self.error
    }
}

//! The inner product of two bivectors, `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩`, without cancellation.
//!
//! For b = c it is the Gram determinant, the squared area that a and b span: what an inner product says of nearly
//! parallel vectors only in its last digits. The four products are accumulated with twice `f64`'s precision from
//! `f64` rows (two-product, two-sum; sums and differences of inputs with their rounding errors). Products of `f32` are
//! exact in `f64`, whose precision is enough for them.

use crate::row_formula::{Metric, RowFormula, Vector};
use crate::{Float, Lanes};

/// Coordinates at a time.
const BLOCK: usize = 8;

/// The value, and the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]` that its derivative is made of.
pub(crate) struct Wedge {
    pub(crate) value: f64,
    pub(crate) products: [f64; 4],
}

impl Wedge {
    /// Of the basis vectors `[a, b, c]` of a formula at some input rows.
    #[inline(always)]
    pub(crate) fn of<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
        rows: [&[T]; V],
        vectors: [usize; 3],
    ) -> Self
    where
        F: RowFormula<V, B, I, O>,
        T: Float,
    {
        let [a, b, c] = vectors.map(|b| F::BASIS[b]);
        let mut sums = [Sum::<BLOCK>::default(); 4];
        for start in (0..rows[0].len()).step_by(BLOCK) {
            let blocks = rows.map(|row| Lanes::<BLOCK, T>::load(&row[start..], 0.0).widen());
            let first = start == 0;
            let (a, b, c) = (exact(a, &blocks, first), exact(b, &blocks, first), exact(c, &blocks, first));
            let low = |x: Exact| (lower(F::METRIC, x.0, first), lower(F::METRIC, x.1, first));
            let (b_low, c_low) = (low(b), low(c));
            sums[0].add::<T>(a, low(a));
            sums[1].add::<T>(a, b_low);
            sums[2].add::<T>(a, c_low);
            sums[3].add::<T>(b, c_low);
        }
        let [aa, ab, ac, bc] = sums.map(|sum| sum.total());
        let (left, right) = (product(aa, bc), product(ab, ac));
        Wedge { value: (left.0 - right.0) + (left.1 - right.1), products: [aa.0, ab.0, ac.0, bc.0] }
    }
}

/// Some coordinates of a vector, with their rounding errors.
type Exact = (Lanes<BLOCK>, Lanes<BLOCK>);

#[inline(always)]
fn exact<const V: usize>(vector: Vector, inputs: &[Lanes<BLOCK>; V], first: bool) -> Exact {
    let zero = Lanes::splat(0.0);
    match vector {
        Vector::Input(i) => (inputs[i], zero),
        Vector::Sum(i, j) => inputs[i].two_sum(inputs[j]),
        Vector::Difference(i, j) => inputs[i].two_sum(-inputs[j]),
        Vector::Flip(i) => (lower(Metric::Minkowski, inputs[i], first), zero),
        Vector::Time => {
            let mut unit = zero;
            unit.set(0, if first { 1.0 } else { 0.0 });
            (unit, zero)
        }
        Vector::Height => unreachable!("a wedge is of vectors of the other metrics"),
    }
}

/// With its index lowered by the metric; the time coordinate is the first lane of the first block.
#[inline(always)]
fn lower(metric: Metric, mut x: Lanes<BLOCK>, first: bool) -> Lanes<BLOCK> {
    match metric {
        Metric::Minkowski if first => x.set(0, -x.get(0)),
        Metric::Space if first => x.set(0, 0.0),
        _ => {}
    }
    x
}

/// A sum of products, with its rounding error.
#[derive(Clone, Copy)]
struct Sum<const R: usize>(Lanes<R>, Lanes<R>);

impl<const R: usize> Default for Sum<R> {
    #[inline(always)]
    fn default() -> Self {
        Sum(Lanes::splat(0.0), Lanes::splat(0.0))
    }
}

impl<const R: usize> Sum<R> {
    #[inline(always)]
    fn add<T: Float>(&mut self, a: (Lanes<R>, Lanes<R>), b: (Lanes<R>, Lanes<R>)) {
        let product = a.0 * b.0;
        if !T::COMPENSATED {
            self.0 = self.0 + product;
            return;
        }
        let error = a.0.mul_add(b.0, -product) + (a.0 * b.1 + a.1 * b.0);
        let (sum, rest) = self.0.two_sum(product);
        *self = Sum(sum, self.1 + (error + rest));
    }

    /// The sum over the lanes, normalised.
    #[inline(always)]
    fn total(self) -> (f64, f64) {
        let mut total = Lanes::from([0.0]);
        let mut error = self.1.sum();
        for l in 0..R {
            let (sum, rest) = total.two_sum(Lanes::from([self.0.get(l)]));
            total = sum;
            error += rest.get(0);
        }
        let (sum, rest) = total.two_sum(Lanes::from([error]));
        (sum.get(0), rest.get(0))
    }
}

/// The product of two numbers of twice the precision.
#[inline(always)]
fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let high = a.0 * b.0;
    (high, a.0.mul_add(b.0, -high) + (a.0 * b.1 + a.1 * b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;
    use crate::row_formula::Invariant;

    #[derive(Clone, Copy)]
    struct Area;
    impl RowFormula<2, 3, 1, 1> for Area {
        const NAME: &'static str = "area";
        const VECTOR: bool = false;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 3] = [Vector::Input(0), Vector::Input(1), Vector::Difference(1, 0)];
        const INVARIANTS: [Invariant; 1] = [Invariant::Wedge(0, 1, 1)];
        fn eval<S: Scalar>([area]: [S; 1]) -> [S; 1] {
            [area]
        }
    }

    #[test]
    fn areas_of_nearly_parallel_vectors_keep_their_digits() {
        // The first coordinate is time and not read; the area is a₁b₂ − a₂b₁.
        let (near, far) = (2f64.powi(-20), 2f64.powi(-30));
        let (a, b) = ([7.0, 1e3, 1.0], [9.0, 3e3 + far, 3.0 + near]);
        let area = 1e3 * near - far;
        for vectors in [[0, 1, 1], [1, 0, 0], [0, 2, 2], [1, 2, 2], [0, 1, 2]] {
            let got = Wedge::of::<Area, f64, 2, 3, 1, 1>([&a, &b], vectors).value;
            assert!((got / area.powi(2) - 1.0).abs() < 1e-12, "{vectors:?}: {got} {}", area.powi(2));
        }
        assert_eq!(Wedge::of::<Area, f64, 2, 3, 1, 1>([&a, &a], [0, 1, 1]).value, 0.0);
        assert_eq!(Wedge::of::<Area, f32, 2, 3, 1, 1>([&[1.0; 9], &[1.0; 9]], [0, 1, 1]).value, 0.0);
    }
}

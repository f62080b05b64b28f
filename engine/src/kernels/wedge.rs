//! The inner product of two bivectors, `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩`, without cancellation.
//!
//! For b = c it is the Gram determinant, the squared area that a and b span: what an inner product says of nearly
//! parallel vectors only in its last digits. It is `⟨a, a⟩⟨b′, c′⟩` with `b′ = b − pa` and `c′ = c − qa` orthogonal to
//! a: every coordinate of these is rounded once (fused multiply-add; sums and differences of inputs with their
//! rounding errors), and what is left along a, because p and q are rounded, is taken off the product.

use crate::Float;
use crate::kernels::gram::survey::{flip, lower, unit};
use crate::row_formula::{RowFormula, Vector};
use crate::simd::{Block, LANES, read};

/// The value, and the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]` that its derivative is made of.
pub(crate) struct Wedge {
    pub(crate) value: f64,
    pub(crate) products: [f64; 4],
}

impl Wedge {
    /// Of the basis vectors `[a, b, c]` of a formula at some input rows.
    #[inline(always)]
    pub(crate) fn of<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
        rows: [&[T]; V],
        vectors: [usize; 3],
    ) -> Self
    where
        F: RowFormula<V, B, I, O>,
        T: Float,
        S: Block,
    {
        let (width, zero) = (rows[0].len(), S::splat(0.0));
        let basis = vectors.map(
            #[inline(always)]
            |b| F::BASIS[b],
        );
        let mut sums = [zero; 4];
        for at in (0..width).step_by(LANES) {
            let [a, b, c] = exact::<T, S, V>(basis, &rows, at);
            let c_low = lower(F::METRIC, c.value, at);
            sums[0] = sums[0] + a.value * lower(F::METRIC, a.value, at);
            sums[1] = sums[1] + a.value * lower(F::METRIC, b.value, at);
            sums[2] = sums[2] + a.value * c_low;
            sums[3] = sums[3] + b.value * c_low;
        }
        let products = S::sums_of_four(sums);
        let [aa, ab, ac, _] = products;
        if aa == 0.0 {
            return Wedge { value: -ab * ac, products };
        }
        let (p, q) = (S::splat(ab / aa), S::splat(ac / aa));
        let mut sums = [zero; 4];
        for at in (0..width).step_by(LANES) {
            let [a, b, c] = exact::<T, S, V>(basis, &rows, at);
            let (b, c) = (a.times_less(p, b), a.times_less(q, c));
            let a_low = lower(F::METRIC, a.value, at);
            sums[0] = sums[0] + b * lower(F::METRIC, c, at);
            sums[1] = sums[1] + b * a_low;
            sums[2] = sums[2] + c * a_low;
        }
        let [bc, ab, ac, _] = S::sums_of_four(sums);
        Wedge { value: aa * bc - ab * ac, products }
    }
}

/// Some coordinates of a vector, with their rounding errors if there are any.
#[derive(Clone, Copy)]
struct Exact<S> {
    value: S,
    error: Option<S>,
}

impl<S: Block> Exact<S> {
    /// `p self − b`, rounded once.
    #[inline(always)]
    fn times_less(self, p: S, b: Self) -> S {
        let difference = p.mul_sub(self.value, b.value);
        let zero = S::splat(0.0);
        match (self.error, b.error) {
            (None, None) => difference,
            (a, b) => difference + p.mul_sub(a.unwrap_or(zero), b.unwrap_or(zero)),
        }
    }
}

/// The coordinates of three basis vectors from `at` on.
#[inline(always)]
fn exact<T: Float, S: Block, const V: usize>(
    basis: [Vector; 3],
    rows: &[&[T]; V],
    at: usize,
) -> [Exact<S>; 3] {
    let mut inputs = [S::splat(0.0); V];
    for i in 0..V {
        inputs[i] = read(rows[i], at, rows[i].len() - at);
    }
    let mut vectors = [Exact { value: S::splat(0.0), error: None }; 3];
    for (exact, vector) in vectors.iter_mut().zip(basis) {
        let rounded = |(value, error)| Exact { value, error: Some(error) };
        *exact = match vector {
            Vector::Input(i) => Exact { value: inputs[i], error: None },
            Vector::Sum(i, j) => rounded(inputs[i].two_sum(inputs[j])),
            Vector::Difference(i, j) => rounded(inputs[i].two_sum(S::splat(0.0) - inputs[j])),
            Vector::Flip(i) => Exact { value: flip(inputs[i], at), error: None },
            Vector::Time => Exact { value: unit(0, at), error: None },
            Vector::Height => unreachable!("a wedge is of vectors of the other metrics"),
        };
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;
    use crate::row_formula::{Invariant, Metric};
    use crate::simd::Portable;

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
            let got = Wedge::of::<Area, f64, Portable, 2, 3, 1, 1>([&a, &b], vectors).value;
            assert!((got / area.powi(2) - 1.0).abs() < 1e-12, "{vectors:?}: {got} {}", area.powi(2));
        }
        // Below what twice the precision of the products holds; and of differences, whose rounding errors count.
        let (a, b) = ([0.0, 2f64.powi(50) + 1.0, 3.0], [0.0, 2f64.powi(50) + 2.0, 3.0]);
        for vectors in [[0, 1, 1], [1, 0, 0], [0, 2, 2], [2, 1, 1]] {
            let got = Wedge::of::<Area, f64, Portable, 2, 3, 1, 1>([&a, &b], vectors).value;
            assert!((got / 9.0 - 1.0).abs() < 1e-12, "{vectors:?}: {got}");
        }
        let (a, b) = ([0.0, 3e-9, 1.0], [0.0, 1.0, 3e9]);
        let (single, area) =
            ((a.map(|x| x as f32), b.map(|x| x as f32)), |a: f64, b: f64| (a * b - 1.0).powi(2));
        let got = Wedge::of::<Area, f32, Portable, 2, 3, 1, 1>([&single.0, &single.1], [0, 1, 1]).value;
        let want = area(f64::from(single.0[1]), f64::from(single.1[2]));
        assert!((got / want - 1.0).abs() < 1e-7, "{got} {want}");
        assert_eq!(Wedge::of::<Area, f64, Portable, 2, 3, 1, 1>([&a, &a], [0, 1, 1]).value, 0.0);
        assert_eq!(Wedge::of::<Area, f64, Portable, 2, 3, 1, 1>([&[0.0; 3], &a], [0, 1, 1]).value, 0.0);
        assert_eq!(
            Wedge::of::<Area, f32, Portable, 2, 3, 1, 1>([&[1.0; 9], &[1.0; 9]], [0, 1, 1]).value,
            0.0
        );
    }
}

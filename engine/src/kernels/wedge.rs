//! The inner product of two bivectors, `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩`, without cancellation.
//!
//! For b = c it is the Gram determinant, the squared area that a and b span: what an inner product says of nearly
//! parallel vectors only in its last digits. It is `⟨a, a⟩⟨b′, c′⟩` with `b′ = b − pa` and `c′ = c − qa` orthogonal to
//! a: every coordinate of these is rounded once (fused multiply-add; sums and differences of inputs with their
//! rounding errors), and what is left along a, because p and q are rounded, is taken off the product.

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
        let width = rows[0].len();
        let basis = vectors.map(|b| F::BASIS[b]);
        let mut sums = [Lanes::splat(0.0); 4];
        for start in (0..width).step_by(BLOCK) {
            let first = start == 0;
            let [a, b, c] = read(basis, &rows, start);
            let (b_low, c_low) = (lower(F::METRIC, b.0, first), lower(F::METRIC, c.0, first));
            sums[0] = sums[0] + a.0 * lower(F::METRIC, a.0, first);
            sums[1] = sums[1] + a.0 * b_low;
            sums[2] = sums[2] + a.0 * c_low;
            sums[3] = sums[3] + b.0 * c_low;
        }
        let products = sums.map(|sum| sum.sum());
        let [aa, ab, ac, _] = products;
        if aa == 0.0 {
            return Wedge { value: -ab * ac, products };
        }
        let (p, q) = (Lanes::splat(-ab / aa), Lanes::splat(-ac / aa));
        let mut sums = [Lanes::splat(0.0); 3];
        for start in (0..width).step_by(BLOCK) {
            let first = start == 0;
            let [a, b, c] = read(basis, &rows, start);
            let (b, c) = (plus(b, p, a), plus(c, q, a));
            let a_low = lower(F::METRIC, a.0, first);
            sums[0] = sums[0] + b * lower(F::METRIC, c, first);
            sums[1] = sums[1] + b * a_low;
            sums[2] = sums[2] + c * a_low;
        }
        let [bc, ab, ac] = sums.map(|sum| sum.sum());
        Wedge { value: aa * bc - ab * ac, products }
    }
}

/// Some coordinates of a vector, with their rounding errors.
type Exact = (Lanes<BLOCK>, Lanes<BLOCK>);

/// The coordinates of three basis vectors from `start` on.
#[inline(always)]
fn read<T: Float, const V: usize>(basis: [Vector; 3], rows: &[&[T]; V], start: usize) -> [Exact; 3] {
    let mut blocks = [Lanes::splat(0.0); V];
    for i in 0..V {
        blocks[i] = Lanes::<BLOCK, T>::load(&rows[i][start..], 0.0).widen();
    }
    let [a, b, c] = basis;
    [exact(a, &blocks, start == 0), exact(b, &blocks, start == 0), exact(c, &blocks, start == 0)]
}

/// `b + pa`, rounded once.
#[inline(always)]
fn plus(b: Exact, p: Lanes<BLOCK>, a: Exact) -> Lanes<BLOCK> {
    p.mul_add(a.0, b.0) + p.mul_add(a.1, b.1)
}

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
        // Below what twice the precision of the products holds; and of differences, whose rounding errors count.
        let (a, b) = ([0.0, 2f64.powi(50) + 1.0, 3.0], [0.0, 2f64.powi(50) + 2.0, 3.0]);
        for vectors in [[0, 1, 1], [1, 0, 0], [0, 2, 2], [2, 1, 1]] {
            let got = Wedge::of::<Area, f64, 2, 3, 1, 1>([&a, &b], vectors).value;
            assert!((got / 9.0 - 1.0).abs() < 1e-12, "{vectors:?}: {got}");
        }
        let (a, b) = ([0.0, 3e-9, 1.0], [0.0, 1.0, 3e9]);
        let (single, area) =
            ((a.map(|x| x as f32), b.map(|x| x as f32)), |a: f64, b: f64| (a * b - 1.0).powi(2));
        let got = Wedge::of::<Area, f32, 2, 3, 1, 1>([&single.0, &single.1], [0, 1, 1]).value;
        let want = area(f64::from(single.0[1]), f64::from(single.1[2]));
        assert!((got / want - 1.0).abs() < 1e-7, "{got} {want}");
        assert_eq!(Wedge::of::<Area, f64, 2, 3, 1, 1>([&a, &a], [0, 1, 1]).value, 0.0);
        assert_eq!(Wedge::of::<Area, f64, 2, 3, 1, 1>([&[0.0; 3], &a], [0, 1, 1]).value, 0.0);
        assert_eq!(Wedge::of::<Area, f32, 2, 3, 1, 1>([&[1.0; 9], &[1.0; 9]], [0, 1, 1]).value, 0.0);
    }
}

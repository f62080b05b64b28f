//! The inner product of two bivectors, `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩`, without cancellation.
//!
//! For b = c it is the Gram determinant, the squared area that a and b span: what an inner product says of nearly
//! parallel vectors only in its last digits. It is `⟨a, a⟩⟨b′, c′⟩` with `b′ = b − pa` and `c′ = c − qa` orthogonal to
//! a: every coordinate of these is rounded once (fused multiply-add; sums and differences of inputs with their
//! rounding errors), and what is left along a, because p and q are rounded, is taken off the product. That takes one
//! more pass over the rows: an area whose vectors are at a [`wide`] angle has its digits as it stands.

use crate::kernels::gram::survey::{Row, flip, lower, unit};
use crate::lanes::LaneMask;
use crate::row_formula::{Metric, RowFormula, Vector};
use crate::simd::{Block, for_each_block};
use crate::{Float, Lanes, Scalar};

/// Whether it is the area of two vectors in a definite metric, whose products have all their digits.
pub(crate) const fn is_area(metric: Metric, [_, b, c]: [usize; 3]) -> bool {
    b == c && !matches!(metric, Metric::Minkowski)
}

/// As it stands, of the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]`.
#[inline(always)]
pub(crate) fn by_products<const R: usize>([aa, ab, ac, bc]: &[Lanes<R>; 4]) -> Lanes<R> {
    *aa * *bc - *ab * *ac
}

/// By how much the products of an area that has its digits exceed it at most: sin² of the angle is more than ¼.
pub(crate) const WIDE: f64 = 4.0;

/// Where an area [`by_products`] has its digits, all but three of their bits. Not where products overflow.
#[inline(always)]
pub(crate) fn wide<const R: usize>(
    by_products: Lanes<R>,
    [aa, _, _, bb]: &[Lanes<R>; 4],
) -> LaneMask<R, f64> {
    (*aa * *bb).lt(Lanes::splat(WIDE) * by_products)
}

/// p and q of the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]`.
#[inline(always)]
pub(crate) fn slopes<const R: usize>([aa, ab, ac, _]: &[Lanes<R>; 4]) -> [Lanes<R>; 2] {
    [*ab / *aa, *ac / *aa]
}

/// What is left of b and c beside a, `[⟨b′, c′⟩, ⟨b′, a⟩, ⟨c′, a⟩]` of one row before it is summed over the lanes, for the basis
/// vectors `[a, b, c]` of a formula.
#[inline(always)]
pub(crate) fn left<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    row: &Row<'_, T, V>,
    vectors: [usize; 3],
    slopes: [f64; 2],
) -> [S; 3]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let basis = [F::BASIS[vectors[0]], F::BASIS[vectors[1]], F::BASIS[vectors[2]]];
    let (p, q) = (S::splat(slopes[0]), S::splat(slopes[1]));
    let mut sums = [S::splat(0.0); 3];
    for_each_block(
        row[0].len(),
        row,
        None,
        true,
        #[inline(always)]
        |at, inputs, _| {
            let [a, b, c] = exact::<S, V>(basis, inputs, at);
            let b = a.times_less(p, b);
            let c = if vectors[1] == vectors[2] { b } else { a.times_less(q, c) };
            let a_low = lower(F::METRIC, a.value, at);
            sums[0] = sums[0] + b * lower(F::METRIC, c, at);
            sums[1] = sums[1] + b * a_low;
            if vectors[1] != vectors[2] {
                sums[2] = sums[2] + c * a_low;
            }
        },
    );
    if vectors[1] == vectors[2] {
        sums[2] = sums[1];
    }
    sums
}

/// The value, of the products and of what is [`left`].
#[inline(always)]
pub(crate) fn value<const R: usize>(
    [aa, ab, ac, _]: &[Lanes<R>; 4],
    [bc_left, ab_left, ac_left]: [Lanes<R>; 3],
) -> Lanes<R> {
    // Below the least positive number there is zero.
    let least = Lanes::splat(f64::from_bits(1));
    Scalar::select(aa.abs().lt(least), -*ab * *ac, *aa * bc_left - ab_left * ac_left)
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

/// The coordinates of three basis vectors from `at` on, where the inputs have these.
#[inline(always)]
fn exact<S: Block, const V: usize>(basis: [Vector; 3], inputs: [S; V], at: usize) -> [Exact<S>; 3] {
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
    use crate::kernels::gram::survey::{Rows, Survey};
    use crate::row_formula::Invariant;
    use crate::simd::Portable;

    /// All kinds of three vectors.
    const VECTORS: [[usize; 3]; 7] =
        [[0, 1, 1], [1, 0, 0], [0, 2, 2], [1, 2, 2], [0, 1, 2], [2, 0, 0], [2, 1, 1]];

    #[derive(Clone, Copy)]
    struct Areas;
    impl RowFormula<2, 3, 7, 1> for Areas {
        const NAME: &'static str = "areas";
        const VECTOR: bool = false;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 3] = [Vector::Input(0), Vector::Input(1), Vector::Difference(1, 0)];
        const INVARIANTS: [Invariant; 7] = {
            let mut wedges = [Invariant::Epsilon; 7];
            let mut k = 0;
            while k < 7 {
                let [a, b, c] = VECTORS[k];
                wedges[k] = Invariant::Wedge(a, b, c);
                k += 1;
            }
            wedges
        };
        fn eval<S: Scalar>(_: [S; 7]) -> [S; 1] {
            [S::zero()]
        }
    }

    /// The wedges of the vectors a, b and b − a.
    fn wedges<T: Float>(a: &[T], b: &[T]) -> impl Iterator<Item = ([usize; 3], f64)> {
        let mut read = Rows::new();
        Survey::<Portable, 3, 7, 1, 1>::new().read::<Areas, T, 2>(&[[a, b]], a.len(), None, &mut read);
        VECTORS.into_iter().zip(read.values.map(|value| value.get(0)))
    }

    /// Whatever the angle between them: exactly, a₁b₂ − a₂b₁ is two products and their rounding errors.
    fn check_angles<T: Float>() {
        for i in 1..1000 {
            let (direction, part) = (f64::from(i), f64::from(i) / 1000.0);
            // From 0 to π evenly, and small ones.
            let angle = std::f64::consts::PI * if i % 2 == 0 { part } else { 10f64.powf(-12.0 * part) };
            let vector =
                |length: f64, angle: f64| [0.0, length * angle.cos(), length * angle.sin()].map(T::nearest);
            let (a, b) = (vector(3.0, direction), vector(1.0, direction + angle));
            let exact = {
                let (a, b) = (a.map(T::to_f64), b.map(T::to_f64));
                let (p, q) = (a[1] * b[2], a[2] * b[1]);
                (p - q) + (a[1].mul_add(b[2], -p) - a[2].mul_add(b[1], -q))
            };
            for (vectors, got) in wedges(&a, &b) {
                let error = (got - exact.powi(2)).abs();
                // Of parallel vectors what is left is of twice the precision.
                let bound = 64.0 * f64::EPSILON * exact.powi(2) + 9.0 * f64::EPSILON.powi(2);
                assert!(error <= bound, "{vectors:?}, angle {angle:e}: {error:e} {bound:e}");
            }
        }
    }

    #[test]
    fn areas_keep_their_digits_at_all_angles() {
        check_angles::<f32>();
        check_angles::<f64>();
    }

    #[test]
    fn parallel_vectors_have_no_area_where_products_overflow() {
        let (a, b) = ([0.0, 1e80, 0.0], [0.0, -1e80, 0.0]);
        wedges(&a, &b).take(2).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
    }

    #[test]
    fn areas_of_nearly_parallel_vectors_keep_their_digits() {
        // The first coordinate is time and not read; the area is a₁b₂ − a₂b₁.
        let (near, far) = (2f64.powi(-20), 2f64.powi(-30));
        let (a, b) = ([7.0, 1e3, 1.0], [9.0, 3e3 + far, 3.0 + near]);
        let area = 1e3 * near - far;
        for (vectors, got) in wedges(&a, &b) {
            assert!((got / area.powi(2) - 1.0).abs() < 1e-12, "{vectors:?}: {got} {}", area.powi(2));
        }
        // Below what twice the precision of the products holds; and of differences, whose rounding errors count.
        let (a, b) = ([0.0, 2f64.powi(50) + 1.0, 3.0], [0.0, 2f64.powi(50) + 2.0, 3.0]);
        for (vectors, got) in wedges(&a, &b) {
            assert!((got / 9.0 - 1.0).abs() < 1e-12, "{vectors:?}: {got}");
        }
        let (a, b) = ([0.0, 3e-9, 1.0], [0.0, 1.0, 3e9]);
        let (single, area) =
            ((a.map(|x| x as f32), b.map(|x| x as f32)), |a: f64, b: f64| (a * b - 1.0).powi(2));
        let want = area(f64::from(single.0[1]), f64::from(single.1[2]));
        for (vectors, got) in wedges(&single.0, &single.1) {
            assert!((got / want - 1.0).abs() < 1e-7, "{vectors:?}: {got} {want}");
        }
        let zeros =
            |pair: [&[f64]; 2]| wedges(pair[0], pair[1]).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
        zeros([&a, &a]);
        zeros([&[0.0; 3], &a]);
        zeros([&a, &[0.0; 3]]);
        wedges(&[1.0_f32; 9], &[1.0; 9]).for_each(|(v, got)| assert_eq!(got, 0.0, "{v:?}"));
    }
}

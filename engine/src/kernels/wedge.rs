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

//! The inner product of two bivectors without cancellation,
//! `⟨a∧b, a∧c⟩ = ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩`.
//!
//! For b = c it is the Gram determinant, the squared area that a and b span. If the vectors are nearly
//! parallel, the inner products hold this area only in their last digits. So it is computed as
//! `⟨a, a⟩⟨b′, c′⟩`, where the residuals `b′ = b − pa` and `c′ = c − qa` are orthogonal
//! to a. Every coordinate of these is rounded once (by fused multiply-add; sums and differences of inputs are
//! taken with their rounding errors). As p and q are rounded, the residuals keep a small component along a,
//! whose contribution is subtracted. All this takes a second pass over the rows. An area whose vectors are at
//! a [`wide`] angle needs none: the inner products give its digits.

use std::ops::{Add, Div, Mul, Sub};

use crate::formula::plan::{Number, ROWS};
use crate::formula::row::{Metric, Vector};
use crate::kernels::gram::basis::{Place, flip, lower, unit};
use crate::numbers::compensated::two_sum;
use crate::numbers::lanes::{LaneMask, Lanes};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::Block;

/// Whether it is the area of two vectors in a definite metric, whose products have all their digits.
pub(crate) const fn is_area(metric: Metric, [_, b, c]: [usize; 3]) -> bool {
    b == c && !matches!(metric, Metric::Minkowski)
}

/// The value by the formula as it stands, from the products
/// `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]`.
#[inline(always)]
pub(crate) fn by_products<X>([aa, ab, ac, bc]: &[X; 4]) -> X
where
    X: Copy + Mul<Output = X> + Sub<Output = X>,
{
    *aa * *bc - *ab * *ac
}

/// No second pass where sin² of the angle is more than ¼.
pub(crate) const WIDE: f64 = 4.0;

/// Where an area [`by_products`] is accurate but for its last three bits. It is false where products
/// overflow.
#[inline(always)]
pub(crate) fn wide<const R: usize>(
    by_products: Lanes<R>,
    [aa, _, _, bb]: &[Lanes<R>; 4],
) -> LaneMask<R, f64> {
    (*aa * *bb).lt(Lanes::splat(WIDE) * by_products)
}

/// p and q from the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]`.
#[inline(always)]
pub(crate) fn slopes<X: Copy + Div<Output = X>>([aa, ab, ac, _]: &[X; 4]) -> [X; 2] {
    [*ab / *aa, *ac / *aa]
}

/// The inner products of residuals, summed block by block:
/// `[⟨b′, c′⟩, ⟨b′, a⟩, ⟨c′, a⟩]`.
pub(crate) struct Residuals<S> {
    metric: Metric,
    /// Whether b and c are one vector.
    same: bool,
    slopes: [S; 2],
    sums: [S; 3],
}

impl<S: Block> Residuals<S> {
    #[inline(always)]
    pub(crate) fn new(metric: Metric, same: bool, slopes: [S; 2]) -> Self {
        Residuals { metric, same, slopes, sums: [S::splat(0.0); 3] }
    }

    /// Adds the coordinates at `at` of the basis vectors a, b and c. `inputs`: the inputs' coordinates.
    #[inline(always)]
    pub(crate) fn add(&mut self, [a, b, c]: [Vector; 3], inputs: &[S], at: impl Place) {
        let (a, b, c) = (exact(a, inputs, at), exact(b, inputs, at), exact(c, inputs, at));
        let [p, q] = self.slopes;
        let b = a.times_less(p, b);
        let c = if self.same { b } else { a.times_less(q, c) };
        let a_low = lower(self.metric, a.value, at);
        self.sums[0] = self.sums[0] + b * lower(self.metric, c, at);
        self.sums[1] = self.sums[1] + b * a_low;
        if !self.same {
            self.sums[2] = self.sums[2] + c * a_low;
        }
    }

    /// The three sums, not yet summed over the lanes.
    #[inline(always)]
    pub(crate) fn sums(self) -> [S; 3] {
        let [bc, ab, ac] = self.sums;
        [bc, ab, if self.same { ab } else { ac }]
    }
}

/// The value, from the products and those of the [residuals](Residuals).
#[inline(always)]
pub(crate) fn value<const R: usize>(
    [aa, ab, ac, _]: &[Lanes<R>; 4],
    [bc_residual, ab_residual, ac_residual]: [Lanes<R>; 3],
) -> Lanes<R> {
    // Only zero is below the least positive number.
    let least = Lanes::splat(f64::from_bits(1));
    Scalar::select(aa.abs().lt(least), -*ab * *ac, *aa * bc_residual - ab_residual * ac_residual)
}

/// The wedges of a group, of which there are `rows` rows. `residuals(l, slopes)` are the sums of the
/// [residuals](Residuals) of row `l`.
#[inline(always)]
pub(crate) fn group<S: Block>(
    (metric, vectors): (Metric, [usize; 3]),
    products: &[Number; 4],
    rows: usize,
    residuals: impl Fn(usize, [f64; 2]) -> [S; 3],
) -> Number {
    let by_products = by_products(products);
    let wide = wide(by_products, products);
    let is_area = is_area(metric, vectors);
    if is_area && (0..rows).all(|l| wide.get(l)) {
        return by_products;
    }
    let slopes = slopes(products);
    let mut parts = [[S::splat(0.0); ROWS]; 3];
    for l in 0..rows {
        if is_area && wide.get(l) {
            continue;
        }
        let residuals = residuals(l, [slopes[0].get(l), slopes[1].get(l)]);
        for i in 0..3 {
            parts[i][l] = residuals[i];
        }
    }
    let value = value(products, [S::sums(&parts[0]), S::sums(&parts[1]), S::sums(&parts[2])]);
    if is_area { Scalar::select(wide, by_products, value) } else { value }
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

/// Of exact vectors.
impl<S: Block> Add for Exact<S> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let (value, error) = two_sum(self.value, b.value);
        Exact { value, error: Some(error) }
    }
}

impl<S: Block> Sub for Exact<S> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self + Exact { value: S::splat(0.0) - b.value, error: None }
    }
}

/// The coordinates of a basis vector at `at`, made of the inputs' coordinates. The horizontal metric has no
/// wedge.
#[inline(always)]
fn exact<S: Block>(vector: Vector, inputs: &[S], at: impl Place) -> Exact<S> {
    vector.coordinate(
        #[inline(always)]
        |i| Exact { value: inputs[i], error: None },
        #[inline(always)]
        |x| Exact { value: flip(x.value, at), error: None },
        #[inline(always)]
        |_| Exact { value: unit(0, at), error: None },
    )
}

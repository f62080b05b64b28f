//! Basis vectors and invariants of the rows of a tile.

use crate::formula::plan::VECTORS;
use crate::formula::row::{Invariant, Metric, Vector};
use crate::formula::straight_line::Step;
use crate::kernels::gram::basis::{Across, extreme, flip, lower, unit, without};
use crate::kernels::wedge;
use crate::numbers::compensated::Compensated;
use crate::numbers::lanes::Lanes;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Aligned, Block, LANES};
use crate::numbers::storage::Storage;

/// The input that a basis vector is, if it is one without a change.
#[inline(always)]
pub(super) fn input(metric: Metric, vector: Vector) -> Option<usize> {
    match vector {
        Vector::Input(i) if metric != Metric::Horizontal => Some(i),
        _ => None,
    }
}

/// Writes the coordinates of a basis vector.
#[inline(always)]
pub(super) fn fill<S: Block>(metric: Metric, vector: Vector, rows: &[&[Aligned]], out: &mut [Aligned]) {
    let last = out.len() - 1;
    match vector {
        Vector::Input(i) | Vector::Flip(i) => {
            for (out, x) in out.iter_mut().zip(rows[i]) {
                out.write(x.read::<S>());
            }
        }
        Vector::Sum(i, j) => {
            for (out, (x, y)) in out.iter_mut().zip(rows[i].iter().zip(rows[j])) {
                out.write(x.read::<S>() + y.read());
            }
        }
        Vector::Difference(i, j) => {
            for (out, (x, y)) in out.iter_mut().zip(rows[i].iter().zip(rows[j])) {
                out.write(x.read::<S>() - y.read());
            }
        }
        Vector::Time | Vector::Height => {
            let coordinate = if vector == Vector::Time { 0 } else { last };
            for (c, out) in out.iter_mut().enumerate() {
                out.write(unit::<S>(coordinate, Across(c)));
            }
        }
    }
    if let Vector::Flip(_) = vector {
        out[0].write(flip(out[0].read::<S>(), Across(0)));
    }
    if metric == Metric::Horizontal && vector != Vector::Height {
        out[last].write(without(out[last].read::<S>(), last, Across(last)));
    }
}

/// A tile that a formula is applied to.
pub(super) struct Tile<'a> {
    pub(super) step: &'a Step,
    pub(super) width: usize,
    /// The formula's vectors.
    pub(super) rows: &'a [&'a [Aligned]],
    /// Its basis vectors, one after another, but for those that are inputs.
    pub(super) basis: &'a [Aligned],
}

impl Tile<'_> {
    /// A basis vector.
    #[inline(always)]
    fn vector(&self, b: usize) -> &[Aligned] {
        match input(self.step.plan.metric, self.step.plan.basis[b]) {
            Some(i) => self.rows[i],
            None => &self.basis[b * self.width..][..self.width],
        }
    }

    /// The inner product of two basis vectors.
    #[inline(always)]
    pub(super) fn dot<S: Block>(&self, a: usize, b: usize) -> S {
        let (x, y) = (self.vector(a), self.vector(b));
        let mut sum = x[0].read::<S>() * lower(self.step.plan.metric, y[0].read(), Across(0));
        for (x, y) in x[1..].iter().zip(&y[1..]) {
            sum = x.read::<S>().mul_add(y.read(), sum);
        }
        sum
    }

    /// The inner product with twice the digits.
    #[inline(always)]
    fn accurate<T: Storage, S: Block>(&self, a: usize, b: usize, metric: Metric) -> Compensated<S> {
        let (x, y) = (self.vector(a), self.vector(b));
        let mut sum = Compensated::<S>::default();
        sum.add_product::<T>(x[0].read(), lower(metric, y[0].read(), Across(0)));
        for (x, y) in x[1..].iter().zip(&y[1..]) {
            sum.add_product::<T>(x.read(), y.read());
        }
        sum
    }

    /// An invariant of each row; writes what its derivatives are made of.
    #[inline(always)]
    pub(super) fn invariant<T: Storage, S: Block>(
        &self,
        invariant: Invariant,
        dots: &[Aligned],
        products: &mut [S; 4],
    ) -> S {
        let (plan, params) = (self.step.plan, &self.step.params);
        match invariant {
            Invariant::Dot(a, b) => dots[plan.layout.position(a, b)].read(),
            Invariant::Accurate(a, b) => self.accurate::<T, S>(a, b, plan.metric).value(),
            Invariant::Margin(a) => {
                let square = self.accurate::<T, S>(a, a, Metric::Euclidean);
                products[0] = square.sum;
                square.margin(S::splat(params[0]))
            }
            Invariant::Along(a, b) => {
                let (along, norm) = self.along::<S>(a, b);
                products[0] = norm;
                along
            }
            Invariant::Extreme(a) => {
                let square = dots[plan.layout.position(a, a)].read::<S>();
                let (norm, slope) = extreme(
                    (plan.metric, plan.basis[a], self.width),
                    square.lanes(),
                    LANES,
                    #[inline(always)]
                    |l, i, c| self.rows[i][c].read::<S>().lanes().get(l),
                );
                products[0] = S::load(&slope.to_array());
                S::load(&norm.to_array())
            }
            Invariant::Wedge(a, b, c) => {
                for (product, (i, j)) in products.iter_mut().zip([(a, a), (a, b), (a, c), (b, c)]) {
                    *product = dots[plan.layout.position(i, j)].read();
                }
                self.wedge([a, b, c], *products)
            }
            Invariant::First(i) => self.rows[i][0].read(),
            Invariant::Last(i) => self.rows[i][self.width - 1].read(),
            Invariant::Param(q) => S::splat(params[q]),
            Invariant::Epsilon => S::splat(T::EPSILON),
        }
    }

    /// The components ⟨a, b⟩/‖b‖ and the norms ‖b‖, in units of the largest coordinate, as
    /// squares may overflow.
    #[inline(always)]
    fn along<S: Block>(&self, a: usize, b: usize) -> (S, S) {
        let metric = self.step.plan.metric;
        let (x, y) = (self.vector(a), self.vector(b));
        let (unit_x, unit_y) = (largest::<S>(metric, x), largest::<S>(metric, y));
        let (mut dot, mut square) = (S::splat(0.0), S::splat(0.0));
        for (c, (x, y)) in x.iter().zip(y).enumerate() {
            let along = lower(metric, y.read::<S>(), Across(c)) / unit_y;
            dot = (x.read::<S>() / unit_x).mul_add(along, dot);
            square = along.mul_add(along, square);
        }
        let norm = square.lanes().sqrt();
        let component = dot.lanes() / norm * unit_x.lanes();
        let along = Scalar::select(Lanes::splat(0.0).lt(norm), component, norm);
        (S::load(&along.to_array()), S::load(&norm.to_array()) * unit_y)
    }

    /// `⟨a∧b, a∧c⟩` from the products `[⟨a, a⟩, ⟨a, b⟩, ⟨a, c⟩, ⟨b, c⟩]`.
    #[inline(always)]
    fn wedge<S: Block>(&self, vectors: [usize; 3], products: [S; 4]) -> S {
        let plan = self.step.plan;
        let by_products = wedge::by_products(&products);
        let slopes = wedge::slopes(&products);
        let [aa, ab, ac, bc] = products;
        let products = [aa.lanes(), ab.lanes(), ac.lanes(), bc.lanes()];
        let wide = wedge::wide(by_products.lanes(), &products);
        let is_area = wedge::is_area(plan.metric, vectors);
        if is_area && wide.all() {
            return by_products;
        }
        let mut residuals = wedge::Residuals::new(plan.metric, vectors[1] == vectors[2], slopes);
        let [a, b, c] = vectors;
        let basis = [plan.basis[a], plan.basis[b], plan.basis[c]];
        let mut inputs = [S::splat(0.0); VECTORS];
        for c in 0..self.width {
            for (input, row) in inputs.iter_mut().zip(self.rows) {
                *input = row[c].read();
            }
            residuals.add(basis, &inputs, Across(c));
        }
        let [bc, ab, ac] = residuals.sums();
        let value = wedge::value(&products, [bc.lanes(), ab.lanes(), ac.lanes()]);
        let value = if is_area { Scalar::select(wide, by_products.lanes(), value) } else { value };
        S::load(&value.to_array())
    }
}

/// The largest coordinate of each row of a basis vector, but not 0.
#[inline(always)]
fn largest<S: Block>(metric: Metric, vector: &[Aligned]) -> S {
    let mut largest = S::splat(f64::MIN_POSITIVE);
    for (c, x) in vector.iter().enumerate() {
        largest = largest.max_magnitude(lower(metric, x.read(), Across(c)));
    }
    largest
}

//! Basis vectors and sums of the rows of a tile.

use std::marker::PhantomData;

use crate::formula::plan::VECTORS;
use crate::formula::row::{Metric, Vector};
use crate::formula::straight_line::Step;
use crate::formula::sums::{End, RowSums, Terms, component};
use crate::kernels::gram::basis::{Across, extreme, flip, lower, unit, without};
use crate::kernels::wedge;
use crate::numbers::compensated::Compensated;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Aligned, Block, LANES};
use crate::numbers::storage::Storage;

/// The input that a basis vector is, if it is one without a change.
#[inline(always)]
pub(super) fn input(metric: Metric, vector: Vector) -> Option<usize> {
    match vector.terms() {
        Terms::One(i, false) if metric != Metric::Horizontal => Some(i),
        _ => None,
    }
}

/// Writes the coordinates of a basis vector.
#[inline(always)]
pub(super) fn fill<S: Block>(metric: Metric, vector: Vector, rows: &[&[Aligned]], out: &mut [Aligned]) {
    let last = out.len() - 1;
    match vector.terms() {
        Terms::One(i, _) => {
            for (out, x) in out.iter_mut().zip(rows[i]) {
                out.write(x.read::<S>());
            }
        }
        Terms::Sum(i, j) => {
            for (out, (x, y)) in out.iter_mut().zip(rows[i].iter().zip(rows[j])) {
                out.write(x.read::<S>() + y.read());
            }
        }
        Terms::Difference(i, j) => {
            for (out, (x, y)) in out.iter_mut().zip(rows[i].iter().zip(rows[j])) {
                out.write(x.read::<S>() - y.read());
            }
        }
        Terms::Unit(end) => {
            for (c, out) in out.iter_mut().enumerate() {
                out.write(unit::<S>(end.coordinate(last + 1), Across(c)));
            }
        }
    }
    if vector.flips() {
        out[0].write(flip(out[0].read::<S>(), Across(0)));
    }
    if metric == Metric::Horizontal && !matches!(vector.terms(), Terms::Unit(_)) {
        out[last].write(without(out[last].read::<S>(), last, Across(last)));
    }
}

/// A tile that a formula is applied to.
pub(super) struct Tile<'a, T, S> {
    pub(super) step: &'a Step,
    pub(super) width: usize,
    /// The formula's vectors.
    pub(super) rows: &'a [&'a [Aligned]],
    /// Its basis vectors, one after another, but for those that are inputs.
    pub(super) basis: &'a [Aligned],
    pub(super) numbers: PhantomData<(T, S)>,
}

impl<T: Storage, S: Block> Tile<'_, T, S> {
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
    pub(super) fn dot(&self, a: usize, b: usize) -> S {
        let (x, y) = (self.vector(a), self.vector(b));
        let mut sum = x[0].read::<S>() * lower(self.step.plan.metric, y[0].read(), Across(0));
        for (x, y) in x[1..].iter().zip(&y[1..]) {
            sum = x.read::<S>().mul_add(y.read(), sum);
        }
        sum
    }
}

/// A tile with its inner products.
pub(super) struct Multiplied<'a, T, S>(pub(super) &'a Tile<'a, T, S>, pub(super) &'a [Aligned]);

impl<T: Storage, S: Block> RowSums for Multiplied<'_, T, S> {
    type Number = S;

    #[inline(always)]
    fn plain(&self, a: usize, b: usize) -> S {
        self.1[self.0.step.plan.layout.position(a, b)].read()
    }

    #[inline(always)]
    fn exact(&self, a: usize, b: usize, metric: Metric) -> Compensated<S> {
        let (x, y) = (self.0.vector(a), self.0.vector(b));
        let mut sum = Compensated::<S>::default();
        sum.add_product::<T>(x[0].read(), lower(metric, y[0].read(), Across(0)));
        for (x, y) in x[1..].iter().zip(&y[1..]) {
            sum.add_product::<T>(x.read(), y.read());
        }
        sum
    }

    #[inline(always)]
    fn scaled(&self, a: usize, b: usize) -> [S; 2] {
        let metric = self.0.step.plan.metric;
        let (x, y) = (self.0.vector(a), self.0.vector(b));
        let (unit_x, unit_y) = (largest::<S>(metric, x), largest::<S>(metric, y));
        let (mut dot, mut square) = (S::splat(0.0), S::splat(0.0));
        for (c, (x, y)) in x.iter().zip(y).enumerate() {
            let along = lower(metric, y.read::<S>(), Across(c)) / unit_y;
            dot = (x.read::<S>() / unit_x).mul_add(along, dot);
            square = along.mul_add(along, square);
        }
        let [norm, along] = component(dot.lanes(), square.lanes(), [unit_x.lanes(), unit_y.lanes()]);
        [S::load(&norm.to_array()), S::load(&along.to_array())]
    }

    #[inline(always)]
    fn norm(&self, a: usize) -> [S; 2] {
        let Step { plan, .. } = self.0.step;
        let [slope, norm] = extreme(
            (plan.metric, plan.basis[a], self.0.width),
            self.plain(a, a).lanes(),
            LANES,
            #[inline(always)]
            |l, i, c| self.0.rows[i][c].read::<S>().lanes().get(l),
        );
        [S::load(&slope.to_array()), S::load(&norm.to_array())]
    }

    #[inline(always)]
    fn entry(&self, input: usize, end: End) -> S {
        self.0.rows[input][end.coordinate(self.0.width)].read()
    }

    #[inline(always)]
    fn wedge(&self, vectors: [usize; 3], products: &[S; 4]) -> S {
        let plan = self.0.step.plan;
        let by_products = wedge::by_products(products);
        let slopes = wedge::slopes(products);
        let [aa, ab, ac, bc] = *products;
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
        for c in 0..self.0.width {
            for (input, row) in inputs.iter_mut().zip(self.0.rows) {
                *input = row[c].read();
            }
            residuals.add(basis, &inputs, Across(c));
        }
        let [bc, ab, ac] = residuals.sums();
        let value = wedge::value(&products, [bc.lanes(), ab.lanes(), ac.lanes()]);
        let value = if is_area { Scalar::select(wide, by_products.lanes(), value) } else { value };
        S::load(&value.to_array())
    }

    #[inline(always)]
    fn param(&self, p: usize) -> S {
        S::splat(self.0.step.params[p])
    }

    #[inline(always)]
    fn epsilon(&self) -> S {
        S::splat(T::EPSILON)
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

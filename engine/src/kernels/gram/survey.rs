//! What rows are to a formula: basis vectors, block by block, and their inner products.

use crate::domain::Compensated;
use crate::kernels::operands::{Operand, PARAMS, Parameter};
use crate::kernels::wedge::Wedge;
use crate::row_formula::{Invariant, Metric, RowFormula, Vector};
use crate::simd::{Block, LANES, read};
use crate::{Float, Lanes, Scalar};

/// Blocks with a 1 in one lane, and without.
static UNITS: [[f64; LANES]; LANES + 1] = {
    let mut units = [[0.0; LANES]; LANES + 1];
    let mut l = 0;
    while l < LANES {
        units[l][l] = 1.0;
        l += 1;
    }
    units
};

/// The coordinates from `c` on of the unit vector of a coordinate.
#[inline(always)]
pub(crate) fn unit<S: Block>(coordinate: usize, c: usize) -> S {
    S::load(&UNITS[coordinate.wrapping_sub(c).min(LANES)])
}

/// The coordinates from `c` on without one of them.
#[inline(always)]
fn without<S: Block>(x: S, coordinate: usize, c: usize) -> S {
    x * (S::splat(1.0) - unit(coordinate, c))
}

/// The first coordinate, which is time, negated.
#[inline(always)]
pub(crate) fn flip<S: Block>(x: S, c: usize) -> S {
    let time = unit::<S>(0, c);
    x * (S::splat(1.0) - (time + time))
}

/// The coordinates from `c` on with their index lowered by the metric.
#[inline(always)]
pub(crate) fn lower<S: Block>(metric: Metric, x: S, c: usize) -> S {
    match metric {
        // The basis is horizontal itself.
        Metric::Euclidean | Metric::Horizontal => x,
        Metric::Minkowski => flip(x, c),
        Metric::Space => without(x, 0, c),
    }
}

/// Some consecutive coordinates of all basis vectors of one row.
#[inline(always)]
pub(super) fn basis<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    starts: &[usize; V],
    c: usize,
    width: usize,
) -> [S; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut inputs = [S::splat(0.0); V];
    for i in 0..V {
        inputs[i] = read(vectors[i].data, starts[i] + c, width - c);
    }
    if F::METRIC == Metric::Horizontal {
        for i in 0..V {
            inputs[i] = without(inputs[i], width - 1, c);
        }
    }
    let mut basis = [S::splat(0.0); B];
    for b in 0..B {
        basis[b] = match F::BASIS[b] {
            Vector::Input(i) => inputs[i],
            Vector::Sum(i, j) => inputs[i] + inputs[j],
            Vector::Difference(i, j) => inputs[i] - inputs[j],
            Vector::Flip(i) => flip(inputs[i], c),
            Vector::Time => unit(0, c),
            Vector::Height => unit(width - 1, c),
        };
    }
    basis
}

/// Where the vectors of a row position start.
#[inline(always)]
pub(super) fn starts<T: Float, const V: usize>(
    vectors: &[Operand<'_, T>],
    p: usize,
    width: usize,
) -> [usize; V] {
    let mut starts = [0; V];
    for i in 0..V {
        starts[i] = vectors[i].rows.at(p) * width;
    }
    starts
}

/// What rows are to a formula: one row, or one in each lane.
pub(crate) struct Rows<S, const I: usize, const O: usize> {
    /// The arguments of the formula.
    pub(crate) values: [S; I],
    /// What their derivatives are made of: the squared norm behind a margin, the norm behind a component, the
    /// products behind a wedge.
    pub(crate) products: [[S; 4]; I],
    /// The inner products of the basis vectors with the upstream cotangent, if there is one.
    pub(crate) upstream: [S; O],
    pub(crate) params: [S; PARAMS],
}

/// The inner products of the rows of a block, before they are summed over the lanes. Made once for all blocks: what
/// earlier rows leave behind is overwritten or not looked at.
pub(super) struct Sums<S, const I: usize, const O: usize, const R: usize> {
    dots: [[S; R]; I],
    norms: [[S; R]; I],
    accurate: [[Compensated<S>; R]; I],
    upstream: [[S; R]; O],
}

impl<S: Block, const I: usize, const O: usize, const R: usize> Sums<S, I, O, R> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = S::splat(0.0);
        Sums {
            dots: [[zero; R]; I],
            norms: [[zero; R]; I],
            accurate: [[Compensated::default(); R]; I],
            upstream: [[zero; R]; O],
        }
    }
}

/// Reads the rows at positions `at`.
#[inline(always)]
pub(super) fn survey<
    F,
    T,
    S,
    const V: usize,
    const B: usize,
    const I: usize,
    const O: usize,
    const R: usize,
>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    at: std::ops::Range<usize>,
    g: Option<&[T]>,
    sums: &mut Sums<S, I, O, R>,
) -> Rows<Lanes<R>, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut rows = Rows {
        values: [Lanes::splat(0.0); I],
        products: [[Lanes::splat(0.0); 4]; I],
        upstream: [Lanes::splat(0.0); O],
        params: [Lanes::splat(0.0); PARAMS],
    };
    for (param, parameter) in rows.params.iter_mut().zip(parameters) {
        for l in 0..R {
            param.set(l, parameter.at((at.start + l).min(at.end - 1)));
        }
    }
    let zero = S::splat(0.0);
    let mut all_units = [Lanes::<R>::splat(f64::MIN_POSITIVE); B];
    for (l, p) in at.clone().enumerate() {
        let starts = starts::<T, V>(vectors, p, width);
        let units = units::<F, T, S, V, B, I, O>(vectors, &starts, width);
        let [mut row_dots, mut row_norms] = [[zero; I]; 2];
        let mut row_accurate = [Compensated::<S>::default(); I];
        let mut products = [zero; O];
        for c in (0..width).step_by(LANES) {
            let basis = basis::<F, T, S, V, B, I, O>(vectors, &starts, c, width);
            for k in 0..I {
                match F::INVARIANTS[k] {
                    Invariant::Dot(a, b) => {
                        row_dots[k] = row_dots[k] + basis[a] * lower(F::METRIC, basis[b], c);
                    }
                    Invariant::Accurate(a, b) => {
                        row_accurate[k].add_product::<T>(basis[a], lower(F::METRIC, basis[b], c));
                    }
                    Invariant::Along(a, b) => {
                        let along = lower(F::METRIC, basis[b], c) / S::splat(units[b]);
                        row_dots[k] = row_dots[k] + basis[a] / S::splat(units[a]) * along;
                        row_norms[k] = row_norms[k] + along * along;
                    }
                    Invariant::Margin(a) => row_accurate[k].add_product::<T>(basis[a], basis[a]),
                    _ => {}
                }
            }
            if F::VECTOR
                && let Some(g) = g
            {
                let g: S = read(g, p * width + c, width - c);
                for b in 0..O {
                    products[b] = products[b] + basis[b] * g;
                }
            }
        }
        for k in 0..I {
            match F::INVARIANTS[k] {
                Invariant::Dot(..) => sums.dots[k][l] = row_dots[k],
                Invariant::Accurate(..) | Invariant::Margin(_) => sums.accurate[k][l] = row_accurate[k],
                Invariant::Along(..) => {
                    sums.dots[k][l] = row_dots[k];
                    sums.norms[k][l] = row_norms[k];
                }
                Invariant::Wedge(a, b, c) => {
                    let mut row = [[].as_slice(); V];
                    for i in 0..V {
                        row[i] = &vectors[i].data[starts[i]..starts[i] + width];
                    }
                    let wedge = Wedge::of::<F, T, S, V, B, I, O>(row, [a, b, c]);
                    rows.values[k].set(l, wedge.value);
                    for i in 0..4 {
                        rows.products[k][i].set(l, wedge.products[i]);
                    }
                }
                Invariant::First(i) => rows.values[k].set(l, vectors[i].data[starts[i]].to_f64()),
                Invariant::Last(i) => rows.values[k].set(l, vectors[i].data[starts[i] + width - 1].to_f64()),
                Invariant::Param(_) | Invariant::Epsilon => {}
            }
        }
        if const { asks_for_components(&F::INVARIANTS) } {
            for b in 0..B {
                all_units[b].set(l, units[b]);
            }
        }
        if let Some(g) = g {
            for b in 0..O {
                if F::VECTOR {
                    sums.upstream[b][l] = products[b];
                } else {
                    rows.upstream[b].set(l, g[p].to_f64());
                }
            }
        }
    }
    for k in 0..I {
        match F::INVARIANTS[k] {
            Invariant::Dot(..) => rows.values[k] = S::sums(&sums.dots[k]),
            Invariant::Accurate(..) => {
                rows.values[k] = Compensated::totals::<T, R>(&sums.accurate[k]).value()
            }
            Invariant::Along(a, b) => {
                let norm = S::sums(&sums.norms[k]).sqrt();
                let component = S::sums(&sums.dots[k]) / norm * all_units[a];
                rows.products[k][0] = norm * all_units[b];
                rows.values[k] = Scalar::select(Lanes::splat(0.0).lt(norm), component, norm);
            }
            Invariant::Margin(_) => {
                let square = Compensated::totals::<T, R>(&sums.accurate[k]);
                rows.products[k][0] = square.sum;
                rows.values[k] = square.margin(rows.params[0]);
            }
            Invariant::Param(q) => rows.values[k] = rows.params[q],
            Invariant::Epsilon => rows.values[k] = Lanes::splat(T::EPSILON),
            Invariant::Wedge(..) | Invariant::First(_) | Invariant::Last(_) => {}
        }
    }
    if F::VECTOR && g.is_some() {
        for b in 0..O {
            rows.upstream[b] = S::sums(&sums.upstream[b]);
        }
    }
    // Lanes without a row of their own compute the first one's again.
    for l in at.len()..R {
        for k in 0..I {
            rows.values[k].set(l, rows.values[k].get(0));
        }
    }
    rows
}

/// The largest coordinates of the basis vectors, where components are asked for: their squares may overflow.
#[inline(always)]
fn units<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    starts: &[usize; V],
    width: usize,
) -> [f64; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut units = [f64::MIN_POSITIVE; B];
    if !const { asks_for_components(&F::INVARIANTS) } {
        return units;
    }
    let mut largest = [S::splat(0.0); B];
    for c in (0..width).step_by(LANES) {
        let basis = basis::<F, T, S, V, B, I, O>(vectors, starts, c, width);
        for b in 0..B {
            largest[b] = largest[b].max_magnitude(lower(F::METRIC, basis[b], c));
        }
    }
    for b in 0..B {
        units[b] = largest[b].lanes().to_array().iter().fold(units[b], |unit, &x| unit.max(x.abs()));
    }
    units
}

/// Whether some invariant is a component.
const fn asks_for_components(invariants: &[Invariant]) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        if matches!(invariants[k], Invariant::Along(..)) {
            return true;
        }
        k += 1;
    }
    false
}

//! What rows are to a formula: basis vectors, block by block, and their inner products.

use crate::domain::Compensated;
use crate::kernels::line::pairwise;
use crate::kernels::operands::{Operand, PARAMS, Parameter};
use crate::kernels::wedge::Wedge;
use crate::row_formula::{Invariant, Metric, RowFormula, Vector};
use crate::simd::{Block, LANES, read};
use crate::{Float, Lanes};

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
fn unit<S: Block>(coordinate: usize, c: usize) -> S {
    S::load(&UNITS[coordinate.wrapping_sub(c).min(LANES)])
}

/// The coordinates from `c` on without one of them.
#[inline(always)]
fn without<S: Block>(x: S, coordinate: usize, c: usize) -> S {
    x * (S::splat(1.0) - unit(coordinate, c))
}

/// The first coordinate, which is time, negated.
#[inline(always)]
fn flip<S: Block>(x: S, c: usize) -> S {
    let time = unit::<S>(0, c);
    x * (S::splat(1.0) - (time + time))
}

/// The coordinates from `c` on with their index lowered by the metric.
#[inline(always)]
fn lower<S: Block>(metric: Metric, x: S, c: usize) -> S {
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
    ends: &mut [[T; LANES]; V],
) -> [S; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut inputs = [S::splat(0.0); V];
    for i in 0..V {
        inputs[i] = read(vectors[i].data, starts[i] + c, width - c, &mut ends[i]);
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
    let (mut ends, mut end) = ([[T::zero(); LANES]; V], [T::zero(); LANES]);
    for (l, p) in at.clone().enumerate() {
        let starts = starts::<T, V>(vectors, p, width);
        let units = units::<F, T, S, V, B, I, O>(vectors, &starts, width, &mut ends);
        let mut dots = [S::splat(0.0); I];
        let mut norms = [S::splat(0.0); I];
        let mut accurate = [Compensated::<S>::default(); I];
        let mut products = [S::splat(0.0); O];
        for c in (0..width).step_by(LANES) {
            let basis = basis::<F, T, S, V, B, I, O>(vectors, &starts, c, width, &mut ends);
            for k in 0..I {
                match F::INVARIANTS[k] {
                    Invariant::Dot(a, b) => {
                        dots[k] = dots[k] + basis[a] * lower(F::METRIC, basis[b], c);
                    }
                    Invariant::Accurate(a, b) => {
                        accurate[k].add_product::<T>(basis[a], lower(F::METRIC, basis[b], c));
                    }
                    Invariant::Along(a, b) => {
                        let along = lower(F::METRIC, basis[b], c) / S::splat(units[b]);
                        dots[k] = dots[k] + basis[a] / S::splat(units[a]) * along;
                        norms[k] = norms[k] + along * along;
                    }
                    Invariant::Margin(a) => accurate[k].add_product::<T>(basis[a], basis[a]),
                    _ => {}
                }
            }
            if F::VECTOR
                && let Some(g) = g
            {
                let g: S = read(g, p * width + c, width - c, &mut end);
                for b in 0..O {
                    products[b] = products[b] + basis[b] * g;
                }
            }
        }
        for k in 0..I {
            let mut products = [0.0; 4];
            let value = match F::INVARIANTS[k] {
                Invariant::Dot(..) => pairwise(dots[k].lanes()),
                Invariant::Accurate(..) => accurate[k].total::<T>().value().get(0),
                Invariant::Along(a, b) => {
                    let norm = pairwise(norms[k].lanes()).sqrt();
                    products[0] = norm * units[b];
                    if norm > 0.0 { pairwise(dots[k].lanes()) / norm * units[a] } else { norm }
                }
                Invariant::Margin(_) => {
                    let square = accurate[k].total::<T>();
                    products[0] = square.sum.get(0);
                    square.margin(Lanes::splat(rows.params[0].get(l))).get(0)
                }
                Invariant::Wedge(a, b, c) => {
                    let mut row = [[].as_slice(); V];
                    for i in 0..V {
                        row[i] = &vectors[i].data[starts[i]..starts[i] + width];
                    }
                    let wedge = Wedge::of::<F, T, V, B, I, O>(row, [a, b, c]);
                    products = wedge.products;
                    wedge.value
                }
                Invariant::First(i) => vectors[i].data[starts[i]].to_f64(),
                Invariant::Last(i) => vectors[i].data[starts[i] + width - 1].to_f64(),
                Invariant::Param(q) => rows.params[q].get(l),
                Invariant::Epsilon => T::EPSILON,
            };
            rows.values[k].set(l, value);
            for i in 0..4 {
                rows.products[k][i].set(l, products[i]);
            }
        }
        if let Some(g) = g {
            for b in 0..O {
                let product = if F::VECTOR { pairwise(products[b].lanes()) } else { g[p].to_f64() };
                rows.upstream[b].set(l, product);
            }
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
    ends: &mut [[T; LANES]; V],
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
        let basis = basis::<F, T, S, V, B, I, O>(vectors, starts, c, width, ends);
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

//! Reads rows for a formula: their basis vectors, block by block, and the inner products of these.

use std::marker::PhantomData;
use std::ops::Range;

use crate::formula::plan::{Number, PARAMS, ROWS};
use crate::formula::row::{Metric, RowFormula};
use crate::formula::sums::{End, RowSums, Sum, component, has_scaled, paired};
use crate::kernels::gram::Together;
use crate::kernels::gram::basis::{extreme, flip, lower, unit, without};
use crate::kernels::operands::Operand;
use crate::kernels::wedge;
use crate::numbers::compensated::Compensated;
use crate::numbers::lanes::unrolled;
use crate::numbers::simd::{Block, for_each_block};
use crate::numbers::storage::Storage;

/// The inputs of one row.
pub(super) type Row<'a, T, const V: usize> = [&'a [T]; V];

/// The inputs of each of some row positions, at most [`ROWS`].
#[inline(always)]
pub(super) fn rows_at<'a, T, const V: usize>(
    vectors: &[Operand<'a, T>; V],
    at: &Range<usize>,
    width: usize,
    rows: &mut [Row<'a, T, V>; ROWS],
) {
    let mut in_step = [false; V];
    for i in 0..V {
        in_step[i] = vectors[i].rows.in_step(at.end);
    }
    for (row, p) in rows.iter_mut().zip(at.clone()) {
        for i in 0..V {
            let first = if in_step[i] { p } else { vectors[i].rows.at(p) };
            row[i] = &vectors[i].data[first * width..][..width];
        }
    }
}

/// The basis vectors' coordinates from `c` on, made of the inputs' coordinates.
#[inline(always)]
pub(super) fn basis<F, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    mut inputs: [S; V],
    c: usize,
    width: usize,
) -> [S; B]
where
    F: RowFormula<V, B, I, O>,
    S: Block,
{
    if F::METRIC == Metric::Horizontal {
        for i in 0..V {
            inputs[i] = without(inputs[i], width - 1, c);
        }
    }
    let mut basis = [S::splat(0.0); B];
    for b in 0..B {
        basis[b] = F::BASIS[b].coordinate(
            #[inline(always)]
            |i| inputs[i],
            #[inline(always)]
            |x| flip(x, c),
            #[inline(always)]
            |end| unit(end.coordinate(width), c),
        );
    }
    basis
}

/// What is found of a group of rows.
pub(super) struct Found<'m, const I: usize, const O: usize> {
    /// Sums over the coordinates of each row, before they are summed over the lanes of a block: inner
    /// products of basis vectors, two sums for each invariant, and inner products with the upstream
    /// cotangent.
    pub(super) sums: &'m mut [Together],
    /// The invariants, a row in each lane.
    pub(super) values: &'m mut [Number; I],
    /// The parts of the sums that the reverse pass reads.
    pub(super) products: &'m mut [[Number; 4]; I],
    /// The cotangents of the outputs of the scalar function.
    pub(super) upstream: &'m mut [Number; O],
}

/// The number of sums of a group: see [`Found::sums`].
pub(super) const fn slots(basis: usize, invariants: usize, outputs: usize) -> usize {
    basis * basis + 2 * invariants + outputs
}

/// A sum of each row.
#[inline(always)]
fn sums_at<S: Block>(sums: &Together) -> [S; ROWS] {
    let mut each = [S::splat(0.0); ROWS];
    for l in 0..ROWS {
        each[l] = sums[l].read();
    }
    each
}

/// Reads a group of rows. With `g`, the cotangents of their results one after another, it also finds those of
/// the outputs of the scalar function.
#[inline(always)]
pub(super) fn read_group<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &[Row<'_, T, V>],
    width: usize,
    params: &[Number; PARAMS],
    g: Option<&[T]>,
    found: &mut Found<'_, I, O>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let zero = S::splat(0.0);
    let paired = const { paired::<B>(&F::INVARIANTS) };
    let sums = const { sums::<F, V, B, I, O>() };
    let mut all_units = [Number::splat(0.0); B];
    for (l, row) in rows.iter().enumerate() {
        let units = units::<F, T, S, V, B, I, O>(row, width);
        let mut dots = [[zero; B]; B];
        let (mut accurate, mut parts) = ([Compensated::<S>::default(); I], [[zero; 2]; I]);
        for_each_block(
            width,
            row,
            None,
            true,
            #[inline(always)]
            |c, inputs, _| {
                let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
                for a in 0..B {
                    for b in a..B {
                        if paired[a][b].plainly {
                            dots[a][b] = dots[a][b] + basis[a] * lower(F::METRIC, basis[b], c);
                        }
                    }
                }
                unrolled::<I>(
                    #[inline(always)]
                    |k| match sums[k] {
                        Sum::Exact(a, b, own) => {
                            let lowered = lower(own.unwrap_or(F::METRIC), basis[b], c);
                            accurate[k].add_product::<T>(basis[a], lowered);
                        }
                        Sum::Scaled(a, b) => {
                            let along = lower(F::METRIC, basis[b], c) / S::splat(units[b]);
                            parts[k][0] = parts[k][0] + basis[a] / S::splat(units[a]) * along;
                            parts[k][1] = parts[k][1] + along * along;
                        }
                        _ => {}
                    },
                );
            },
        );
        for a in 0..B {
            for b in a..B {
                if paired[a][b].plainly {
                    found.sums[a * B + b][l].write(dots[a][b]);
                }
            }
        }
        unrolled::<I>(
            #[inline(always)]
            |k| {
                let slot = B * B + 2 * k;
                match sums[k] {
                    Sum::Exact(..) => {
                        found.sums[slot][l].write(accurate[k].sum);
                        found.sums[slot + 1][l].write(accurate[k].error);
                    }
                    Sum::Scaled(..) => {
                        found.sums[slot][l].write(parts[k][0]);
                        found.sums[slot + 1][l].write(parts[k][1]);
                    }
                    Sum::Entry(i, end) => found.values[k].set(l, row[i][end.coordinate(width)].to_f64()),
                    _ => {}
                }
            },
        );
        if const { has_scaled(&F::INVARIANTS) } {
            for b in 0..B {
                all_units[b].set(l, units[b]);
            }
        }
        let Some(g) = g else { continue };
        if !F::VECTOR {
            for b in 0..O {
                found.upstream[b].set(l, g[l].to_f64());
            }
            continue;
        }
        // In a loop of its own: the forward pass would keep these sums in registers that it needs.
        let mut upstream = [zero; O];
        for_each_block(
            width,
            row,
            Some(&g[l * width..][..width]),
            false,
            #[inline(always)]
            |c, inputs, g: S| {
                let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
                for b in 0..O {
                    upstream[b] = upstream[b] + basis[b] * g;
                }
            },
        );
        for b in 0..O {
            found.sums[B * B + 2 * I + b][l].write(upstream[b]);
        }
    }
    if F::VECTOR && g.is_some() {
        for b in 0..O {
            found.upstream[b] = S::sums(&sums_at(&found.sums[B * B + 2 * I + b]));
        }
    }
    invariants::<F, T, S, V, B, I, O>(rows, params, &all_units, found);
}

/// The arguments of the formula, from the sums.
#[inline(always)]
fn invariants<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &[Row<'_, T, V>],
    params: &[Number; PARAMS],
    units: &[Number; B],
    found: &mut Found<'_, I, O>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let paired = const { paired::<B>(&F::INVARIANTS) };
    let mut dots = [[Number::splat(0.0); B]; B];
    for a in 0..B {
        for b in a..B {
            if paired[a][b].plainly {
                dots[a][b] = S::sums(&sums_at(&found.sums[a * B + b]));
            }
        }
    }
    unrolled::<I>(
        #[inline(always)]
        |k| {
            let (own, entry) = (&found.sums[B * B + 2 * k..][..2], found.values[k]);
            let group = Group::<F, T, S, V, B, I, O> {
                own,
                units,
                rows,
                dots: &dots,
                params,
                entry,
                formula: PhantomData,
            };
            let (value, parts) = F::INVARIANTS[k].find(F::METRIC, &group);
            found.values[k] = value;
            let kept = F::INVARIANTS[k].kept();
            found.products[k][..kept].copy_from_slice(&parts[..kept]);
        },
    );
    // Lanes without a row of their own repeat the first row.
    for l in rows.len()..ROWS {
        for value in found.values.iter_mut() {
            value.set(l, value.get(0));
        }
    }
}

/// The sums of some rows, for one invariant.
struct Group<'r, F, T, S, const V: usize, const B: usize, const I: usize, const O: usize> {
    /// The two sums of the invariant.
    own: &'r [Together],
    units: &'r [Number; B],
    rows: &'r [Row<'r, T, V>],
    dots: &'r [[Number; B]; B],
    params: &'r [Number; PARAMS],
    /// The coordinates at an end, if that is the invariant.
    entry: Number,
    formula: PhantomData<(F, S)>,
}

impl<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize> RowSums
    for Group<'_, F, T, S, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    type Number = Number;

    #[inline(always)]
    fn plain(&self, a: usize, b: usize) -> Number {
        self.dots[a.min(b)][a.max(b)]
    }

    #[inline(always)]
    fn exact(&self, _: usize, _: usize, _: Metric) -> Compensated<Number> {
        let mut parts = [Compensated::<S>::default(); ROWS];
        for l in 0..ROWS {
            parts[l] = Compensated { sum: self.own[0][l].read(), error: self.own[1][l].read() };
        }
        Compensated::totals::<T, ROWS>(&parts)
    }

    #[inline(always)]
    fn scaled(&self, a: usize, b: usize) -> [Number; 2] {
        let [dot, square] = [0, 1].map(|sum| S::sums(&sums_at(&self.own[sum])));
        component(dot, square, [self.units[a], self.units[b]])
    }

    #[inline(always)]
    fn norm(&self, a: usize) -> [Number; 2] {
        extreme(
            (F::METRIC, F::BASIS[a], self.rows[0][0].len()),
            self.plain(a, a),
            self.rows.len(),
            #[inline(always)]
            |l, i, c| self.rows[l][i][c].to_f64(),
        )
    }

    #[inline(always)]
    fn entry(&self, _: usize, _: End) -> Number {
        self.entry
    }

    #[inline(always)]
    fn wedge(&self, vectors: [usize; 3], products: &[Number; 4]) -> Number {
        wedge::group::<S>(
            (F::METRIC, vectors),
            products,
            self.rows.len(),
            #[inline(always)]
            |l, slopes| residuals::<F, T, S, V, B, I, O>(&self.rows[l], vectors, slopes),
        )
    }

    #[inline(always)]
    fn param(&self, p: usize) -> Number {
        self.params[p]
    }

    #[inline(always)]
    fn epsilon(&self) -> Number {
        Number::splat(T::EPSILON)
    }
}

/// What the invariants are functions of.
const fn sums<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> [Sum; I]
where
    F: RowFormula<V, B, I, O>,
{
    let (mut sums, mut k) = ([Sum::Nothing; I], 0);
    while k < I {
        sums[k] = F::INVARIANTS[k].sum();
        k += 1;
    }
    sums
}

/// The largest coordinates of the basis vectors, for formulas with a component: the squares of its
/// coordinates may overflow.
#[inline(always)]
fn units<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    row: &Row<'_, T, V>,
    width: usize,
) -> [f64; B]
where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let mut units = [f64::MIN_POSITIVE; B];
    if !const { has_scaled(&F::INVARIANTS) } {
        return units;
    }
    let mut largest = [S::splat(0.0); B];
    for_each_block(
        width,
        row,
        None,
        true,
        #[inline(always)]
        |c, inputs, _: S| {
            let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
            for b in 0..B {
                largest[b] = largest[b].max_magnitude(lower(F::METRIC, basis[b], c));
            }
        },
    );
    for b in 0..B {
        units[b] = largest[b].lanes().to_array().iter().fold(units[b], |unit, &x| unit.max(x.abs()));
    }
    units
}

/// The products of the [residuals](wedge::Residuals) of one row. `vectors`: the positions of a, b and c in
/// the basis.
#[inline(always)]
fn residuals<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    row: &Row<'_, T, V>,
    vectors: [usize; 3],
    slopes: [f64; 2],
) -> [S; 3]
where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let basis = [F::BASIS[vectors[0]], F::BASIS[vectors[1]], F::BASIS[vectors[2]]];
    let mut residuals = wedge::Residuals::new(
        F::METRIC,
        vectors[1] == vectors[2],
        [S::splat(slopes[0]), S::splat(slopes[1])],
    );
    for_each_block(
        row[0].len(),
        row,
        None,
        true,
        #[inline(always)]
        |at, inputs, _| {
            residuals.add(basis, &inputs, at);
        },
    );
    residuals.sums()
}

//! Reads rows for a formula: their basis vectors, block by block, and the inner products of these.

use std::marker::PhantomData;
use std::ops::Range;

use crate::formula::plan::{Number, PARAMS, ROWS};
use crate::formula::row::{Metric, RowFormula};
use crate::formula::sums::{End, Paired, RowSums, Sum, component, has_scaled, paired};
use crate::kernels::gram::basis::{extreme, flip, lower, unit, without};
use crate::kernels::operands::{Operand, Parameter};
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

/// What is kept of rows beside the invariants, a row in each lane.
#[derive(Clone, Copy)]
pub(super) struct Rows<const I: usize> {
    /// The parts of the sums that the reverse pass reads.
    pub(super) products: [[Number; 4]; I],
    pub(super) params: [Number; PARAMS],
}

impl<const I: usize> Rows<I> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = Number::splat(0.0);
        Rows { products: [[zero; 4]; I], params: [zero; PARAMS] }
    }

    /// Reads the parameters of some positions.
    #[inline(always)]
    pub(super) fn read_parameters(&mut self, parameters: &[Parameter<'_>], at: &Range<usize>) {
        for (param, parameter) in self.params.iter_mut().zip(parameters) {
            for l in 0..ROWS {
                param.set(l, parameter.at((at.start + l).min(at.end - 1)));
            }
        }
    }
}

/// Reads rows, [`ROWS`] at a time. One `Survey` serves all of them: values of earlier rows are overwritten or
/// not read.
pub(super) struct Survey<S, const B: usize, const I: usize, const O: usize> {
    /// Inner products of basis vectors, of each row, before they are summed over the lanes of a block.
    dots: [[[S; ROWS]; B]; B],
    accurate: [[Compensated<S>; ROWS]; I],
    /// The inner products of a component and its norm.
    parts: [[[S; ROWS]; 2]; I],
    upstream: [[S; ROWS]; O],
    units: [Number; B],
}

impl<S: Block, const B: usize, const I: usize, const O: usize> Survey<S, B, I, O> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        let zero = S::splat(0.0);
        Survey {
            dots: [[[zero; ROWS]; B]; B],
            accurate: [[Compensated::default(); ROWS]; I],
            parts: [[[zero; ROWS]; 2]; I],
            upstream: [[zero; ROWS]; O],
            units: [Number::splat(0.0); B],
        }
    }

    /// Reads some rows into `read`, which has their parameters already, and `values`, their invariants. With
    /// `upstream`, the cotangents of their results one after another, it finds those of the outputs of the
    /// scalar function: `upstreams`.
    #[inline(always)]
    pub(super) fn read<F, T, const V: usize>(
        &mut self,
        rows: &[Row<'_, T, V>],
        width: usize,
        upstream: Option<&[T]>,
        read: &mut Rows<I>,
        values: &mut [Number; I],
        upstreams: &mut [Number; O],
    ) where
        F: RowFormula<V, B, I, O>,
        T: Storage,
    {
        let zero = S::splat(0.0);
        let paired = const { paired::<B>(&F::INVARIANTS) };
        let sums = const { sums::<F, V, B, I, O>() };
        for (l, row) in rows.iter().enumerate() {
            let units = units::<F, T, S, V, B, I, O>(row, width);
            let (mut dots, mut upstream_sums) = ([[zero; B]; B], [zero; O]);
            let (mut accurate, mut parts) = ([Compensated::<S>::default(); I], [[zero; 2]; I]);
            for_each_block(
                width,
                row,
                upstream.filter(|_| F::VECTOR).map(|g| &g[l * width..][..width]),
                true,
                #[inline(always)]
                |c, inputs, g: S| {
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
                    if F::VECTOR && upstream.is_some() {
                        for b in 0..O {
                            upstream_sums[b] = upstream_sums[b] + basis[b] * g;
                        }
                    }
                },
            );
            for a in 0..B {
                for b in a..B {
                    if paired[a][b].plainly {
                        self.dots[a][b][l] = dots[a][b];
                    }
                }
            }
            unrolled::<I>(
                #[inline(always)]
                |k| match sums[k] {
                    Sum::Exact(..) => self.accurate[k][l] = accurate[k],
                    Sum::Scaled(..) => {
                        (self.parts[k][0][l], self.parts[k][1][l]) = (parts[k][0], parts[k][1])
                    }
                    Sum::Entry(i, end) => values[k].set(l, row[i][end.coordinate(width)].to_f64()),
                    _ => {}
                },
            );
            if const { has_scaled(&F::INVARIANTS) } {
                for b in 0..B {
                    self.units[b].set(l, units[b]);
                }
            }
            if let Some(g) = upstream {
                for b in 0..O {
                    if F::VECTOR {
                        self.upstream[b][l] = upstream_sums[b];
                    } else {
                        upstreams[b].set(l, g[l].to_f64());
                    }
                }
            }
        }
        self.invariants::<F, T, V>(rows, paired, read, values);
        if F::VECTOR && upstream.is_some() {
            for b in 0..O {
                upstreams[b] = S::sums(&self.upstream[b]);
            }
        }
    }

    /// The arguments of the formula, from the inner products.
    #[inline(always)]
    fn invariants<F, T, const V: usize>(
        &mut self,
        rows: &[Row<'_, T, V>],
        paired: [[Paired; B]; B],
        read: &mut Rows<I>,
        values: &mut [Number; I],
    ) where
        F: RowFormula<V, B, I, O>,
        T: Storage,
    {
        let mut dots = [[Number::splat(0.0); B]; B];
        for a in 0..B {
            for b in a..B {
                if paired[a][b].plainly {
                    dots[a][b] = S::sums(&self.dots[a][b]);
                }
            }
        }
        unrolled::<I>(
            #[inline(always)]
            |k| {
                let (survey, params, entry) = (&*self, &read.params, values[k]);
                let group = Group::<F, T, S, V, B, I, O> {
                    survey,
                    k,
                    rows,
                    dots: &dots,
                    params,
                    entry,
                    formula: PhantomData,
                };
                let (value, parts) = F::INVARIANTS[k].find(F::METRIC, &group);
                values[k] = value;
                let kept = F::INVARIANTS[k].kept();
                read.products[k][..kept].copy_from_slice(&parts[..kept]);
            },
        );
        // Lanes without a row of their own repeat the first row.
        for l in rows.len()..ROWS {
            for value in values.iter_mut() {
                value.set(l, value.get(0));
            }
        }
    }
}

/// The sums of some rows, for invariant `k`.
struct Group<'r, F, T, S, const V: usize, const B: usize, const I: usize, const O: usize> {
    survey: &'r Survey<S, B, I, O>,
    k: usize,
    rows: &'r [Row<'r, T, V>],
    dots: &'r [[Number; B]; B],
    params: &'r [Number; PARAMS],
    /// The coordinates at an end, if that is the invariant.
    entry: Number,
    formula: PhantomData<F>,
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
        Compensated::totals::<T, ROWS>(&self.survey.accurate[self.k])
    }

    #[inline(always)]
    fn scaled(&self, a: usize, b: usize) -> [Number; 2] {
        let [dot, square] = &self.survey.parts[self.k];
        component(S::sums(dot), S::sums(square), [self.survey.units[a], self.survey.units[b]])
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

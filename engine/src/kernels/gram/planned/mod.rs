//! The kernel that runs every formula by its plan: compiled once for each element type and instruction set.
//!
//! It takes a chunk of rows at a time. Their basis vectors are written to a buffer. The plan's inner products
//! are sums over that buffer, the scalar function is called once for all rows, and the linear combinations
//! read the same buffer. The plan is read outside the loops over coordinates, never inside them.

mod chunk;
mod linear;

use std::ops::Range;

use self::chunk::{Chunk, Sizes, in_step};
use self::linear::{Terms, linear};
use super::shares::{Shares, Surveyed};
use super::{Gradient, give_parameters, gradients_of, settle};
use crate::formula::domain::Domain;
use crate::formula::plan::{BASIS, Number, ROWS, RowPlan, VECTORS};
use crate::formula::sums::{BODY, leaves, region_of};
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pieces::{Piece, Place};
use crate::numbers::compensated::Compensated;
use crate::numbers::simd::{Block, LANES, add, dispatch_blocks, write};
use crate::numbers::storage::Storage;
use crate::tensor::shape::Broadcast;

/// The row positions `range`, on the calling thread.
pub(super) fn forward<T: Storage>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    mut out: Results<'_, T>,
) {
    let sizes = Sizes::new::<T>(plan, width, range.len(), false);
    let in_step = in_step(vectors, range.end);
    sizes.with_memory(|memory| {
        let mut chunk = Chunk::<T>::new(plan, width, sizes, memory);
        for start in range.clone().step_by(chunk.rows) {
            let at = start..range.end.min(start + chunk.rows);
            let (count, first) = (at.len(), start - range.start);
            chunk.read(vectors, &in_step, parameters, at, None);
            let groups = count.div_ceil(ROWS);
            let invariants = &chunk.values[..groups * plan.invariants.len()];
            plan.values(invariants, &mut chunk.outputs[..groups * plan.outputs]);
            match &mut out {
                Results::Scalars(out) => {
                    for r in 0..count {
                        out.set(first + r, chunk.outputs[r / ROWS].get(r % ROWS));
                    }
                }
                Results::Rows(out) => {
                    let out = &mut out[first * width..];
                    dispatch_blocks!(S, out, |out| combine_groups::<T, S>(plan, &chunk, count, out));
                }
            }
        }
    });
}

/// The reverse pass of a piece.
pub(super) fn backward<T: Storage>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) {
    let row_len = if plan.vector { width } else { 1 };
    let n = g.len() / row_len;
    let range = piece.range.clone();
    let (places, parameter_places) = piece.places.split_at_mut(plan.vectors);
    let gradients = gradients_of(vectors, places, n);
    let mut reverse = Reverse { vectors, parameters, gradients, parameter_places, n, shares: Shares::new() };
    let sizes = Sizes::new::<T>(plan, width, range.len(), true);
    let in_step = in_step(vectors, range.end);
    sizes.with_memory(|memory| {
        let mut chunk = Chunk::<T>::new(plan, width, sizes, memory);
        let mut cotangents = chunk.values.clone();
        let (inputs, results) = (plan.invariants.len(), plan.outputs);
        for start in range.clone().step_by(chunk.rows) {
            let at = start..range.end.min(start + chunk.rows);
            let upstream = &g[at.start * row_len..at.end * row_len];
            chunk.read(vectors, &in_step, parameters, at.clone(), Some(upstream));
            let groups = at.len().div_ceil(ROWS);
            plan.slopes(
                &chunk.values[..groups * inputs],
                &chunk.upstream[..groups * results],
                &mut chunk.outputs[..groups * results],
                &mut cotangents[..groups * inputs],
            );
            dispatch_blocks!(S, &mut reverse, |reverse| {
                reverse.distribute_groups::<S>(plan, &chunk, &cotangents, at.clone(), g)
            });
        }
    });
}

/// The invariants of one row.
pub(crate) fn survey_one(plan: &RowPlan, rows: &[&[f64]], params: &[f64]) -> Vec<f64> {
    let (width, one) = (rows[0].len(), Broadcast::cycled(1));
    let vectors: Vec<_> = rows.iter().map(|&data| Operand { data, rows: one, constant: None }).collect();
    let parameters: Vec<_> = params.iter().map(|value| Parameter::constant_number(*value)).collect();
    let sizes = Sizes::new::<f64>(plan, width, 1, false);
    sizes.with_memory(|memory| {
        let mut chunk = Chunk::<f64>::new(plan, width, sizes, memory);
        chunk.read(&vectors, &[true; VECTORS], &parameters, 0..1, None);
        chunk.values.iter().map(|value| value.get(0)).collect()
    })
}

/// The linear combinations of the bases of a chunk's groups, `count` rows.
#[inline(always)]
fn combine_groups<T: Storage, S: Block>(
    plan: &RowPlan,
    chunk: &Chunk<'_, '_, T>,
    count: usize,
    out: &mut [T],
) {
    for g in 0..count.div_ceil(ROWS) {
        let rows = ROWS.min(count - g * ROWS);
        combine::<T, S>(plan, chunk, g, rows, &mut out[g * ROWS * chunk.width..]);
    }
}

/// The linear combinations of a group's bases, at the front of `out`.
#[inline(always)]
fn combine<T: Storage, S: Block>(
    plan: &RowPlan,
    chunk: &Chunk<'_, '_, T>,
    g: usize,
    rows: usize,
    out: &mut [T],
) {
    let (count, width) = (plan.basis.len(), chunk.width);
    let outputs = &chunk.outputs[g * count..][..count];
    let ball = plan.domain == Domain::Ball;
    let mut squares = [Compensated::<S>::default(); ROWS];
    let mut terms = Terms::new();
    for b in 0..count {
        terms.push((b * chunk.stride + g * chunk.blocks, outputs[b]));
    }
    for l in 0..rows {
        let out = &mut out[l * width..];
        let mut square = Compensated::<S>::default();
        linear::<S>(
            chunk.vectors,
            &terms,
            chunk.blocks,
            l,
            #[inline(always)]
            |block, y| {
                if ball {
                    square.add_square::<T>(y.rounded::<T>());
                }
                write(out, block * LANES, width - block * LANES, y);
            },
        );
        squares[l] = square;
    }
    settle::<T, S>(plan.domain, &squares, chunk.params[g][0], rows, width, out);
}

/// The inputs of a reverse pass and where their cotangents go.
struct Reverse<'r, 'a, T> {
    vectors: &'r [Operand<'r, T>],
    parameters: &'r [Parameter<'r>],
    gradients: [Option<Gradient<'r, T>>; VECTORS],
    parameter_places: &'r mut [Place<'a, T>],
    /// Row positions in all.
    n: usize,
    /// Those of the group that is worked on.
    shares: Shares<Number, VECTORS, BASIS>,
}

impl<T: Storage> Reverse<'_, '_, T> {
    /// Writes or adds the cotangents of the inputs of a chunk, at the positions `at`. `cotangents` are those
    /// of the invariants, `g` holds the upstream cotangents of all positions.
    #[inline(always)]
    fn distribute_groups<S: Block>(
        &mut self,
        plan: &RowPlan,
        chunk: &Chunk<'_, '_, T>,
        cotangents: &[Number],
        at: Range<usize>,
        g: &[T],
    ) {
        let (inputs, results) = (plan.invariants.len(), plan.outputs);
        for group in 0..at.len().div_ceil(ROWS) {
            let (invariants, results) =
                (group * inputs..(group + 1) * inputs, group * results..(group + 1) * results);
            let rows = Surveyed {
                values: &chunk.values[invariants.clone()],
                products: &chunk.products[invariants.clone()],
                kappa: chunk.params[group][0],
                outputs: &chunk.outputs[results],
                cotangents: &cotangents[invariants],
            };
            self.shares.compute(plan, rows);
            let first = at.start + group * ROWS;
            let at = first..at.end.min(first + ROWS);
            self.distribute::<S>(plan, chunk, (group, at.clone()), g);
            give_parameters(self.parameters, self.parameter_places, self.n, at, &self.shares.received.params);
        }
    }

    /// The cotangents of a group of rows by its shares.
    #[inline(always)]
    fn distribute<S: Block>(
        &mut self,
        plan: &RowPlan,
        chunk: &Chunk<'_, '_, T>,
        (group, at): (usize, Range<usize>),
        g: &[T],
    ) {
        let (vectors, shares) = (self.vectors, &self.shares);
        let (basis, width) = (plan.basis.len(), chunk.width);
        let start_of = |slot: usize| slot * chunk.stride + group * chunk.blocks;
        for (i, gradient) in self.gradients[..plan.vectors].iter_mut().enumerate() {
            let Some(gradient) = gradient else { continue };
            let mut terms = Terms::new();
            for a in 0..basis {
                if plan.layout.receives[i][a] {
                    terms.push((start_of(a), shares.of_basis[BODY][i][a]));
                }
            }
            if plan.vector {
                terms.push((start_of(basis), shares.of_upstream[BODY][i]));
            }
            for (l, p) in at.clone().enumerate() {
                let g: &[T] = if plan.vector { &g[p * width..][..width] } else { &[] };
                match gradient {
                    Gradient::Full { slice, first } => {
                        let row = &mut slice[(p - *first) * width..];
                        linear::<S>(
                            chunk.vectors,
                            &terms,
                            chunk.blocks,
                            l,
                            #[inline(always)]
                            |block, y| write(row, block * LANES, width - block * LANES, y),
                        );
                        if plan.layout.has_end {
                            for end in [0, width - 1] {
                                row[end] = T::nearest(end_cotangent::<T, S>(
                                    plan,
                                    chunk,
                                    shares,
                                    (i, group, l),
                                    end,
                                    g,
                                ));
                            }
                        }
                    }
                    Gradient::Sums { sums, first } => {
                        let row = &mut sums[(vectors[i].rows.at(p) - *first) * width..];
                        let before = [row[0], row[width - 1]];
                        linear::<S>(
                            chunk.vectors,
                            &terms,
                            chunk.blocks,
                            l,
                            #[inline(always)]
                            |block, y| add(row, block * LANES, width - block * LANES, y),
                        );
                        if plan.layout.has_end {
                            for (before, end) in before.into_iter().zip([0, width - 1]) {
                                row[end] = before
                                    + end_cotangent::<T, S>(plan, chunk, shares, (i, group, l), end, g);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The cotangent of the first or the last coordinate of input `i` of row `l` of a group. `g` is the row's
/// upstream cotangent.
#[inline(always)]
fn end_cotangent<T: Storage, S: Block>(
    plan: &RowPlan,
    chunk: &Chunk<'_, '_, T>,
    shares: &Shares<Number, VECTORS, BASIS>,
    (i, group, l): (usize, usize, usize),
    end: usize,
    g: &[T],
) -> f64 {
    let (width, which) = (chunk.width, usize::from(end > 0));
    let region = region_of(plan.metric, end, width);
    let mut y = 0.0 + shares.received.ends[which][i].get(l); // not −0
    if width == 1 {
        y += shares.received.ends[1 - which][i].get(l);
    }
    for a in 0..plan.basis.len() {
        if leaves(plan.metric, region) && plan.layout.receives[i][a] {
            let start = a * chunk.stride + group * chunk.blocks;
            let coordinate = chunk.vectors[start + end / LANES][l].read::<S>().lanes().get(end % LANES);
            y += shares.of_basis[region][i][a].get(l) * coordinate;
        }
    }
    if plan.vector {
        y += shares.of_upstream[region][i].get(l) * g[end].to_f64();
    }
    y
}

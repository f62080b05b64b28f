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
use super::{Gradient, Together, give_parameters, gradients_of, settle};
use crate::formula::domain::Domain;
use crate::formula::plan::{BASIS, Number, ROWS, RowPlan, VECTORS};
use crate::formula::sums::{BODY, leaves, region_of};
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pieces::Piece;
use crate::numbers::compensated::Compensated;
use crate::numbers::simd::{Avx2, Avx512, Block, LANES, Portable, add, dispatch_wide, write};
use crate::numbers::storage::Storage;
use crate::tensor::shape::Broadcast;

/// A plan and what it is run on.
#[derive(Clone, Copy)]
struct Job<'a, T> {
    plan: &'a RowPlan,
    vectors: &'a [Operand<'a, T>],
    parameters: &'a [Parameter<'a>],
    width: usize,
    sizes: Sizes,
}

/// The row positions `range`, on the calling thread.
pub(super) fn forward<T: Storage>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    out: Results<'_, T>,
) {
    let sizes = Sizes::new::<T>(plan, width, range.len(), false);
    let job = Job { plan, vectors, parameters, width, sizes };
    sizes.with_memory(|memory| {
        dispatch_wide(
            (range, out, memory),
            #[inline(always)]
            |(range, out, memory)| forward_rows::<T, Avx512>(job, range, out, memory),
            #[inline(always)]
            |(range, out, memory)| forward_rows::<T, Avx2>(job, range, out, memory),
            #[inline(always)]
            |(range, out, memory)| forward_rows::<T, Portable>(job, range, out, memory),
        );
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
    let sizes = Sizes::new::<T>(plan, width, piece.range.len(), true);
    let job = Job { plan, vectors, parameters, width, sizes };
    sizes.with_memory(|memory| {
        dispatch_wide(
            (piece, memory),
            #[inline(always)]
            |(piece, memory)| backward_rows::<T, Avx512>(job, piece, g, memory),
            #[inline(always)]
            |(piece, memory)| backward_rows::<T, Avx2>(job, piece, g, memory),
            #[inline(always)]
            |(piece, memory)| backward_rows::<T, Portable>(job, piece, g, memory),
        );
    });
}

/// The invariants of one row.
pub(crate) fn survey_one(plan: &RowPlan, rows: &[&[f64]], params: &[f64]) -> Vec<f64> {
    let (width, one) = (rows[0].len(), Broadcast::cycled(1));
    let vectors: Vec<_> = rows.iter().map(|&data| Operand { data, rows: one, constant: None }).collect();
    let parameters: Vec<_> = params.iter().map(|value| Parameter::constant_number(*value)).collect();
    let sizes = Sizes::new::<f64>(plan, width, 1, false);
    sizes.with_memory(|memory| {
        let mut chunk = Chunk::<f64, Portable>::new(plan, width, sizes, memory);
        chunk.read(&vectors, &[true; VECTORS], &parameters, 0..1, None);
        chunk.values.iter().map(|value| value.get(0)).collect()
    })
}

#[inline(always)]
fn forward_rows<T: Storage, S: Block>(
    Job { plan, vectors, parameters, width, sizes }: Job<'_, T>,
    range: Range<usize>,
    mut out: Results<'_, T>,
    memory: &mut [Together],
) {
    let in_step = in_step(vectors, range.end);
    let mut chunk = Chunk::<T, S>::new(plan, width, sizes, memory);
    for start in range.clone().step_by(chunk.rows) {
        let at = start..range.end.min(start + chunk.rows);
        let (count, first) = (at.len(), start - range.start);
        chunk.read(vectors, &in_step, parameters, at, None);
        let groups = count.div_ceil(ROWS);
        let invariants = &chunk.values[..groups * plan.invariants.len()];
        (plan.functions.values)(invariants, &mut chunk.outputs[..groups * plan.outputs]);
        match &mut out {
            Results::Scalars(out) => {
                for r in 0..count {
                    out.set(first + r, chunk.outputs[r / ROWS].get(r % ROWS));
                }
            }
            Results::Rows(out) => {
                for g in 0..groups {
                    let rows = ROWS.min(count - g * ROWS);
                    combine(plan, &chunk, g, rows, width, &mut out[(first + g * ROWS) * width..]);
                }
            }
        }
    }
}

/// The linear combinations of a group's bases, at the front of `out`.
#[inline(always)]
fn combine<T: Storage, S: Block>(
    plan: &RowPlan,
    chunk: &Chunk<'_, '_, T, S>,
    g: usize,
    rows: usize,
    width: usize,
    out: &mut [T],
) {
    let count = plan.basis.len();
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

#[inline(always)]
fn backward_rows<T: Storage, S: Block>(
    Job { plan, vectors, parameters, width, sizes }: Job<'_, T>,
    piece: &mut Piece<'_, T>,
    g: &[T],
    memory: &mut [Together],
) {
    let row_len = if plan.vector { width } else { 1 };
    let n = g.len() / row_len;
    let range = piece.range.clone();
    let (places, parameter_places) = piece.places.split_at_mut(plan.vectors);
    let mut gradients = gradients_of::<T, VECTORS>(vectors, places, n);
    let in_step = in_step(vectors, range.end);
    let mut chunk = Chunk::<T, S>::new(plan, width, sizes, memory);
    let mut cotangents = chunk.values.clone();
    let mut shares = Shares::new();
    let (inputs, results) = (plan.invariants.len(), plan.outputs);
    for start in range.clone().step_by(chunk.rows) {
        let at = start..range.end.min(start + chunk.rows);
        chunk.read(vectors, &in_step, parameters, at.clone(), Some(&g[at.start * row_len..at.end * row_len]));
        let groups = at.len().div_ceil(ROWS);
        (plan.functions.slopes)(
            &chunk.values[..groups * inputs],
            &chunk.upstream[..groups * results],
            &mut chunk.outputs[..groups * results],
            &mut cotangents[..groups * inputs],
        );
        for group in 0..groups {
            let (invariants, results) =
                (group * inputs..(group + 1) * inputs, group * results..(group + 1) * results);
            let rows = Surveyed {
                values: &chunk.values[invariants.clone()],
                products: &chunk.products[invariants.clone()],
                kappa: chunk.params[group][0],
                outputs: &chunk.outputs[results],
                cotangents: &cotangents[invariants],
            };
            shares.compute(plan, rows);
            let first = at.start + group * ROWS;
            let at = first..at.end.min(first + ROWS);
            distribute(plan, &chunk, vectors, &mut gradients, &shares, (group, at.clone()), g);
            give_parameters(parameters, parameter_places, n, at, &shares.received.params);
        }
    }
}

/// Writes or adds the cotangents of the inputs of a group of rows, at the positions `at`. `g` holds the
/// upstream cotangents of all positions.
#[inline(always)]
fn distribute<T: Storage, S: Block>(
    plan: &RowPlan,
    chunk: &Chunk<'_, '_, T, S>,
    vectors: &[Operand<'_, T>],
    gradients: &mut [Option<Gradient<'_, T>>; VECTORS],
    shares: &Shares<Number, VECTORS, BASIS>,
    (group, at): (usize, Range<usize>),
    g: &[T],
) {
    let (basis, width) = (plan.basis.len(), chunk.width);
    let start_of = |slot: usize| slot * chunk.stride + group * chunk.blocks;
    for (i, gradient) in gradients[..plan.vectors].iter_mut().enumerate() {
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
                            row[end] = T::nearest(end_cotangent(plan, chunk, shares, (i, group, l), end, g));
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
                            row[end] = before + end_cotangent(plan, chunk, shares, (i, group, l), end, g);
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
    chunk: &Chunk<'_, '_, T, S>,
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

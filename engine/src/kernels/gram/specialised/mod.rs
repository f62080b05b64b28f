//! Kernels that are compiled for one formula. They take the same steps as the kernel that reads a plan
//! and give the same bits, but everything that a plan says is known to the compiler. They are for the
//! few formulas in which training spends its time.
//!
//! A kernel has three parts, each compiled by itself: both passes call [`read`], the forward pass [`combine`]
//! and the reverse pass [`distribute`]. The numbers that they find are in memory of the thread, which is not
//! cleared first. In arrays on the stack the compiler looks for the elements that are used, which takes long.

/// Calls a part of a kernel, compiled for the instruction set in use, with a state and arguments.
macro_rules! by_instruction_set {
    ($part:ident($state:expr $(, $argument:expr)*)) => {
        dispatch_wide(
            $state,
            #[inline(always)]
            |state| $part::<F, T, Avx512, V, B, I, O>(state $(, $argument)*),
            #[inline(always)]
            |state| $part::<F, T, Avx2, V, B, I, O>(state $(, $argument)*),
            #[inline(always)]
            |state| {
                if cfg!(target_arch = "x86_64") {
                    unreachable!("the formula is interpreted");
                }
                $part::<F, T, Portable, V, B, I, O>(state $(, $argument)*)
            },
        )
    };
}

mod reverse;
mod survey;

use std::cell::RefCell;
use std::ops::Range;

use self::reverse::{Cotangents, distribute};
use self::survey::{Found, Row, basis, read_group, rows_at, slots};
use super::{GROUPS, Together, gradients_of, rows_of_chunk, settle, with_together};
use crate::formula::domain::Domain;
use crate::formula::plan::{Number, PARAMS, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pieces::Piece;
use crate::numbers::compensated::Compensated;
use crate::numbers::scratch;
use crate::numbers::simd::{Avx2, Avx512, Block, Portable, dispatch_wide, for_each_block, write};
use crate::numbers::storage::Storage;

thread_local! {
    static NUMBERS: RefCell<Vec<Vec<Number>>> = const { RefCell::new(Vec::new()) };
}

/// Some groups of rows, at most [`GROUPS`] of [`ROWS`], and what is found of them, one group after another.
struct Chunk<'a, 'm, T, const V: usize> {
    /// Elements of a row.
    width: usize,
    rows: [[Row<'a, T, V>; ROWS]; GROUPS],
    params: [[Number; PARAMS]; GROUPS],
    /// Sums of one group: see [`Found`].
    sums: &'m mut [Together],
    /// The invariants, and the parts of their sums that the reverse pass reads.
    values: &'m mut [Number],
    products: &'m mut [[Number; 4]],
    /// The outputs of the scalar function, and their cotangents.
    outputs: &'m mut [Number],
    upstream: &'m mut [Number],
    /// The cotangents of the invariants.
    slopes: &'m mut [Number],
}

impl<'a, T: Storage, const V: usize> Chunk<'a, '_, T, V> {
    /// Calls `work` with a chunk in memory of this thread, of unspecified content, for a formula with so many
    /// basis vectors, invariants and outputs.
    fn with<R>(
        [basis, invariants, outputs]: [usize; 3],
        width: usize,
        work: impl FnOnce(&mut Chunk<'a, '_, T, V>) -> R,
    ) -> R {
        let [by_invariant, by_output] = [GROUPS * invariants, GROUPS * outputs];
        let numbers = (4 + 1 + 1) * by_invariant + 2 * by_output;
        with_together(slots(basis, invariants, outputs), |sums| {
            scratch::with(&NUMBERS, Number::splat(0.0), numbers, |numbers| {
                let (products, numbers) = numbers.split_at_mut(4 * by_invariant);
                let (values, numbers) = numbers.split_at_mut(by_invariant);
                let (slopes, numbers) = numbers.split_at_mut(by_invariant);
                let (upstream, outputs) = numbers.split_at_mut(by_output);
                let rows = [[[[].as_slice(); V]; ROWS]; GROUPS];
                let params = [[Number::splat(0.0); PARAMS]; GROUPS];
                let products = products.as_chunks_mut().0;
                work(&mut Chunk { width, rows, params, sums, values, products, upstream, outputs, slopes })
            })
        })
    }
}

/// What belongs to a group, of numbers of all groups.
#[inline(always)]
fn of_group<X, const N: usize>(numbers: &mut [X], group: usize) -> &mut [X; N] {
    (&mut numbers[group * N..][..N]).try_into().expect("as many")
}

/// Positions, [`ROWS`] at a time.
#[inline(always)]
fn groups(at: Range<usize>) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    let end = at.end;
    at.step_by(ROWS).map(move |p| p..end.min(p + ROWS))
}

/// Reads the rows at the positions `at`: their invariants. For the reverse pass `g` holds the cotangents of
/// all results, and those of the outputs of the scalar function are found.
fn read<'a, F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    chunk: &mut Chunk<'a, '_, T, V>,
    operands: (&[Operand<'a, T>; V], &[Parameter<'_>]),
    at: Range<usize>,
    g: Option<&[T]>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    by_instruction_set!(read_groups(chunk, operands, at.clone(), g));
}

#[inline(always)]
fn read_groups<'a, F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    chunk: &mut Chunk<'a, '_, T, V>,
    (vectors, parameters): (&[Operand<'a, T>; V], &[Parameter<'_>]),
    at: Range<usize>,
    g: Option<&[T]>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let width = chunk.width;
    let row_len = if F::VECTOR { width } else { 1 };
    for (group, at) in groups(at).enumerate() {
        let (rows, params) = (&mut chunk.rows[group], &mut chunk.params[group]);
        rows_at::<T, V>(vectors, &at, width, rows);
        for (param, parameter) in params.iter_mut().zip(parameters) {
            for l in 0..ROWS {
                param.set(l, parameter.at((at.start + l).min(at.end - 1)));
            }
        }
        let mut found = Found::<I, O> {
            sums: chunk.sums,
            values: of_group(chunk.values, group),
            products: of_group(chunk.products, group),
            upstream: of_group(chunk.upstream, group),
        };
        let g = g.map(|g| &g[at.start * row_len..at.end * row_len]);
        read_group::<F, T, S, V, B, I, O>(&rows[..at.len()], width, params, g, &mut found);
    }
}

/// The linear combinations of the bases of `count` rows, at the front of `out`.
fn combine<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    chunk: &Chunk<'_, '_, T, V>,
    count: usize,
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    by_instruction_set!(combine_groups(out, chunk, count));
}

#[inline(always)]
fn combine_groups<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    out: &mut [T],
    chunk: &Chunk<'_, '_, T, V>,
    count: usize,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    // A scalar formula has fewer outputs than basis vectors and never comes here.
    if !F::VECTOR {
        return;
    }
    let width = chunk.width;
    for (group, at) in groups(0..count).enumerate() {
        let outputs = &chunk.outputs[group * O..][..O];
        let (rows, out) = (&chunk.rows[group][..at.len()], &mut out[at.start * width..]);
        let mut squares = [Compensated::<S>::default(); ROWS];
        for (l, row) in rows.iter().enumerate() {
            let out = &mut out[l * width..];
            let mut square = Compensated::<S>::default();
            for_each_block(
                width,
                row,
                None,
                true,
                #[inline(always)]
                |c, inputs, _| {
                    let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
                    let mut y = S::splat(0.0);
                    for b in 0..O {
                        y = y + S::splat(outputs[b].get(l)) * basis[b];
                    }
                    if F::DOMAIN == Domain::Ball {
                        square.add_square::<T>(y.rounded::<T>());
                    }
                    write(out, c, width - c, y);
                },
            );
            squares[l] = square;
        }
        settle::<T, S>(F::DOMAIN, &squares, chunk.params[group][0], rows.len(), width, out);
    }
}

/// The row positions `range`, on the calling thread.
pub(crate) fn forward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    let vectors: &[Operand<'_, T>; V] = vectors.try_into().expect("as many vectors");
    Chunk::with([B, I, O], width, |chunk| {
        for start in range.clone().step_by(GROUPS * ROWS) {
            let at = start..range.end.min(start + GROUPS * ROWS);
            let (count, first) = (at.len(), start - range.start);
            read::<F, T, V, B, I, O>(chunk, (vectors, parameters), at, None);
            let groups = count.div_ceil(ROWS);
            plan.values(&chunk.values[..groups * I], &mut chunk.outputs[..groups * O]);
            match &mut out {
                Results::Scalars(out) => {
                    (0..count).for_each(|r| out.set(first + r, chunk.outputs[r / ROWS].get(r % ROWS)));
                }
                Results::Rows(out) => {
                    combine::<F, T, V, B, I, O>(chunk, count, &mut out[first * width..]);
                }
            }
        }
    });
}

/// The reverse pass of a piece.
pub(crate) fn backward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    let vectors: &[Operand<'_, T>; V] = vectors.try_into().expect("as many vectors");
    let n = g.len() / if F::VECTOR { width } else { 1 };
    let (places, parameter_places) = piece.places.split_at_mut(V);
    let mut cotangents =
        Cotangents { n, vectors: gradients_of::<T, V>(vectors, places, n), parameters: parameter_places };
    let (rows, range) = (rows_of_chunk::<T>(width), piece.range.clone());
    Chunk::with([B, I, O], width, |chunk| {
        for start in range.clone().step_by(rows) {
            let at = start..range.end.min(start + rows);
            read::<F, T, V, B, I, O>(chunk, (vectors, parameters), at.clone(), Some(g));
            let groups = at.len().div_ceil(ROWS);
            plan.slopes(
                &chunk.values[..groups * I],
                &chunk.upstream[..groups * O],
                &mut chunk.outputs[..groups * O],
                &mut chunk.slopes[..groups * I],
            );
            distribute::<F, T, V, B, I, O>(chunk, (vectors, parameters), at, g, &mut cotangents);
        }
    });
}

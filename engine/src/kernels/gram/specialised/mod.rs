//! Kernels that are compiled for one formula. They take the same steps as the kernel that reads a plan
//! and give the same bits, but everything that a plan says is known to the compiler. They are for the
//! few formulas in which training spends its time.

mod reverse;
mod survey;

use std::ops::Range;

use self::reverse::backward_piece;
use self::survey::{Row, Rows, Survey, basis, rows_at};
use super::{GROUPS, entries, settle};
use crate::formula::domain::Domain;
use crate::formula::plan::{Number, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pieces::Piece;
use crate::numbers::compensated::Compensated;
use crate::numbers::simd::{Avx2, Avx512, Block, Portable, dispatch_wide, for_each_block, write};
use crate::numbers::storage::Storage;

/// Evaluates a formula at the row positions `range`, [`ROWS`] at a time.
#[inline(always)]
fn forward_rows<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    let vectors: &[Operand<'_, T>; V] = vectors.try_into().expect("as many vectors");
    let mut survey = Survey::<S, B, I, O>::new();
    // Written in place, group by group: the processor waits when values are copied right after they were
    // written.
    let mut rows = [[[[].as_slice(); V]; ROWS]; GROUPS];
    let mut read = [Rows::<I>::new(); GROUPS];
    let mut values = [[Number::splat(0.0); I]; GROUPS];
    let mut outputs = [[Number::splat(0.0); O]; GROUPS];
    for start in range.clone().step_by(GROUPS * ROWS) {
        let groups = groups(start, range.end, GROUPS);
        for (group, at) in groups.clone().enumerate() {
            rows_at::<T, V>(vectors, &at, width, &mut rows[group]);
            read[group].read_parameters(parameters, &at);
            let (rows, values) = (&rows[group][..at.len()], &mut values[group]);
            survey.read::<F, T, V>(rows, width, None, &mut read[group], values, &mut [Number::splat(0.0); O]);
        }
        let count = groups.len();
        (plan.functions.values)(values[..count].as_flattened(), outputs[..count].as_flattened_mut());
        for (group, at) in groups.enumerate() {
            let first = at.start - range.start;
            match &mut out {
                Results::Scalars(out) => {
                    (0..at.len()).for_each(|l| out.set(first + l, outputs[group][0].get(l)));
                }
                Results::Rows(out) => {
                    let (rows, out) = (&rows[group][..at.len()], &mut out[first * width..]);
                    let kappa = read[group].params[0];
                    combine::<F, T, S, V, B, I, O>(rows, &outputs[group], kappa, width, out);
                }
            }
        }
    }
}

/// The positions from `start` on, [`ROWS`] at a time, in at most `max_groups` groups.
#[inline(always)]
fn groups(
    start: usize,
    end: usize,
    max_groups: usize,
) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    let end = end.min(start + max_groups * ROWS);
    (start..end).step_by(ROWS).map(move |p| p..end.min(p + ROWS))
}

/// The linear combinations of the rows' bases, at the front of `out`.
#[inline(always)]
fn combine<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &[Row<'_, T, V>],
    outputs: &[Number; O],
    kappa: Number,
    width: usize,
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
    S: Block,
{
    // A scalar formula has fewer outputs than basis vectors and never comes here.
    if !F::VECTOR {
        return;
    }
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
    settle::<T, S>(F::DOMAIN, &squares, kappa, rows.len(), width, out);
}

/// The row positions `range`, on the calling thread.
pub(crate) fn forward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Storage,
{
    dispatch_wide(
        (range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx512, V, B, I, O>(plan, vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx2, V, B, I, O>(plan, vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| {
            if cfg!(target_arch = "x86_64") {
                (entries().planned)(plan, vectors, parameters, width, range, out);
            } else {
                forward_rows::<F, T, Portable, V, B, I, O>(plan, vectors, parameters, width, range, out);
            }
        },
    );
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
    dispatch_wide(
        piece,
        #[inline(always)]
        |piece| backward_piece::<F, T, Avx512, V, B, I, O>(plan, vectors, parameters, piece, width, g),
        #[inline(always)]
        |piece| backward_piece::<F, T, Avx2, V, B, I, O>(plan, vectors, parameters, piece, width, g),
        #[inline(always)]
        |piece| {
            if cfg!(target_arch = "x86_64") {
                (entries().planned_backward)(plan, vectors, parameters, piece, width, g);
            } else {
                backward_piece::<F, T, Portable, V, B, I, O>(plan, vectors, parameters, piece, width, g);
            }
        },
    );
}

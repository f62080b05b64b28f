//! Kernels that are compiled for one formula: the same steps as by a plan, the same bits, with everything that a plan
//! says known to the compiler. For the few formulas that a training spends its time in.

mod reverse;
mod survey;

use std::ops::Range;

use self::reverse::backward_piece;
use self::survey::{Row, Rows, Survey, basis, rows_at};
use super::{GROUPS, entries};
use crate::domain::Compensated;
use crate::kernels::operands::{Operand, Parameter, Results};
use crate::kernels::pieces::Piece;
use crate::row_plan::ROWS;
use crate::simd::{Avx2, Avx512, Block, Portable, dispatch_lanes, dispatch_wide, for_each_block, write};
use crate::{Domain, Float, Lanes, RowFormula};

/// A formula, of several groups of rows, in a function of its own: four lanes of `f64` are a register of AVX2, whatever the
/// rows are stored in and the instruction set that reads them.
#[inline(never)]
fn evaluate<F, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    read: &[Rows<Lanes<R>, I, O>],
    outputs: &mut [[Lanes<R>; O]],
) where
    F: RowFormula<V, B, I, O>,
{
    if R == 1 {
        return read.iter().zip(outputs).for_each(|(read, outputs)| *outputs = F::eval(read.values));
    }
    dispatch_lanes(
        outputs,
        #[inline(always)]
        |outputs| {
            for (read, outputs) in read.iter().zip(outputs) {
                *outputs = F::eval(read.values);
            }
        },
        |_| unreachable!("several lanes only with AVX2"),
    )
}

/// The row positions `range` through a formula, `R` at a time.
#[inline(always)]
fn forward_rows<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let vectors: &[Operand<'_, T>; V] = vectors.try_into().expect("as many vectors");
    let mut survey = Survey::<S, B, I, O, R>::new();
    // Written in place, group by group: what is copied right after it was written makes the processor wait.
    let mut rows = [[[[].as_slice(); V]; R]; GROUPS];
    let mut read = [Rows::<Lanes<R>, I, O>::new(); GROUPS];
    let mut outputs = [[Lanes::splat(0.0); O]; GROUPS];
    for start in range.clone().step_by(GROUPS * R) {
        let groups = groups::<R>(start, range.end, GROUPS);
        for (group, at) in groups.clone().enumerate() {
            rows_at::<T, V, R>(vectors, &at, width, &mut rows[group]);
            read[group].read_parameters(parameters, &at);
            survey.read::<F, T, V>(&rows[group][..at.len()], width, None, &mut read[group]);
        }
        let count = groups.len();
        evaluate::<F, V, B, I, O, R>(&read[..count], &mut outputs[..count]);
        for (group, at) in groups.enumerate() {
            let first = at.start - range.start;
            match &mut out {
                Results::Scalars(out) => {
                    (0..at.len()).for_each(|l| out.set(first + l, outputs[group][0].get(l)));
                }
                Results::Rows(out) => {
                    let (rows, out) = (&rows[group][..at.len()], &mut out[first * width..]);
                    let kappa = read[group].params[0];
                    combine::<F, T, S, V, B, I, O, R>(rows, &outputs[group], kappa, width, out);
                }
            }
        }
    }
}

/// The positions from `start` on, `R` at a time, of at most `most` groups.
#[inline(always)]
fn groups<const R: usize>(
    start: usize,
    end: usize,
    most: usize,
) -> impl ExactSizeIterator<Item = Range<usize>> + Clone {
    let end = end.min(start + most * R);
    (start..end).step_by(R).map(move |p| p..end.min(p + R))
}

/// The linear combinations of the rows' bases, at the front of `out`.
#[inline(always)]
fn combine<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &[Row<'_, T, V>],
    outputs: &[Lanes<R>; O],
    kappa: Lanes<R>,
    width: usize,
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    // A scalar formula has fewer outputs than basis vectors and never comes here.
    if !F::VECTOR {
        return;
    }
    let mut squares = [Compensated::<S>::default(); R];
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
    if F::DOMAIN == Domain::Free {
        return;
    }
    // Only what rounding has put off its domain is settled.
    let margins = match F::DOMAIN {
        Domain::Ball => Compensated::totals::<T, R>(&squares).margin(kappa),
        Domain::Free | Domain::Hyperboloid | Domain::HalfSpace | Domain::Sphere => Lanes::splat(0.0),
    };
    for l in 0..rows.len() {
        if !(margins.get(l) > 0.0) {
            F::DOMAIN.settle(&mut out[l * width..][..width], kappa.get(l));
        }
    }
}

/// The row positions `range`, on the calling thread.
pub(crate) fn forward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: Range<usize>,
    out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    dispatch_wide(
        (range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx512, V, B, I, O, ROWS>(vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx2, V, B, I, O, ROWS>(vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| {
            if cfg!(target_arch = "x86_64") {
                (entries().planned)(F::plan(), vectors, parameters, width, range, out);
            } else {
                forward_rows::<F, T, Portable, V, B, I, O, 1>(vectors, parameters, width, range, out);
            }
        },
    );
}

/// The reverse pass of a piece.
pub(crate) fn backward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    dispatch_wide(
        piece,
        #[inline(always)]
        |piece| backward_piece::<F, T, Avx512, V, B, I, O, ROWS>(vectors, parameters, piece, width, g),
        #[inline(always)]
        |piece| backward_piece::<F, T, Avx2, V, B, I, O, ROWS>(vectors, parameters, piece, width, g),
        #[inline(always)]
        |piece| {
            if cfg!(target_arch = "x86_64") {
                (entries().planned_backward)(F::plan(), vectors, parameters, piece, width, g);
            } else {
                backward_piece::<F, T, Portable, V, B, I, O, 1>(vectors, parameters, piece, width, g);
            }
        },
    );
}

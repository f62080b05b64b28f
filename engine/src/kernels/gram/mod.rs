//! The `gram` kernel: row formulas.
//!
//! Every operation of geometry is a [`RowFormula`], and this kernel runs them all:
//!
//! 1. per row, the inner products (one read of the inputs, accumulated in `f64`);
//! 2. the scalar formula;
//! 3. the linear combination (one write), or the scalar itself.
//!
//! The first and the last are vector arithmetic along the coordinates of a row; the formula is evaluated for several
//! rows at a time, one in each lane.
//!
//! The reverse pass runs the same formula on [`Dual`](crate::Dual) numbers. With upstream cotangent `g`, coefficient
//! `a_b` has cotangent `⟨g, v_b⟩`, the formula's Jacobian gives the cotangents `w` of the invariants, and
//! the basis vector `v_b` receives `a_b g + Σ w ∂⟨v_b, v_c⟩/∂v_b`. Nothing is derived by hand.

pub(crate) mod reverse;
pub(crate) mod survey;

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use self::reverse::backward_piece;
use self::survey::{Row, Rows, Survey, basis, rows_at};
use crate::compiled::Forward;
use crate::domain::Compensated;
use crate::float::Floats;
use crate::kernels::derivative;
use crate::kernels::operands::{Operand, Operands, PARAMS, Parameter, Results, row_shape};
use crate::kernels::pieces::for_each_piece;
use crate::operation::{Operation, Outcome, View};
use crate::parallel::{self, PIECES};
use crate::row_formula::{Invariant, Metric, RowFormula, has_invariant};
use crate::shape::Broadcast;
use crate::simd::{Avx2, Avx512, Block, Portable, dispatch_lanes, dispatch_wide, for_each_block, write};
use crate::{Domain, Float, Lanes, Shape, Var};

/// Rows whose formula is evaluated side by side. Four `f64` are one AVX2 register; with eight, dual numbers spill.
const ROWS: usize = 4;

/// So many times as many rows are read before their formula is evaluated: it is a chain of operations that wait for each
/// other, and the processor works on several chains at once.
pub(crate) const GROUPS: usize = 4;

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

/// On the calling thread.
pub(crate) fn forward_range<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
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
        |(range, out)| forward_rows::<F, T, Portable, V, B, I, O, 1>(vectors, parameters, width, range, out),
    );
}

/// A formula over all row positions: `width` elements each for a vector formula, one for a scalar one.
pub(crate) fn forward<T: Float>(
    formula: Forward<T>,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    mut out: Results<'_, T>,
) {
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(out.len(width), ROWS, 15 + width)
        .into_iter()
        .map(|range| (range.clone(), Some(out.split_front(range.len(), width))))
        .collect();
    parallel::run(&mut jobs, |(range, out)| {
        formula(vectors, parameters, width, range.clone(), out.take().expect("once"));
    });
}

/// A formula on one row: the same bits as among many.
pub(crate) fn forward_one<T: Float, const V: usize>(
    formula: Forward<T>,
    rows: [&[T]; V],
    params: &[f64],
    out: Results<'_, T>,
) {
    let one = Broadcast::cycled(1);
    let vectors = rows.map(|data| Operand { data, rows: one, constant: None });
    let mut parameters = [Parameter { data: Floats::F64(&[0.0]), rows: one, constant: None }; PARAMS];
    for (parameter, &value) in parameters.iter_mut().zip(params) {
        parameter.constant = Some(value);
    }
    formula(&vectors, &parameters[..params.len()], rows[0].len(), 0..1, out);
}

/// A row formula as an operation: vector operands first, then parameters.
pub(crate) struct Erased<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    PhantomData<fn() -> F>,
);

impl<F, const V: usize, const B: usize, const I: usize, const O: usize> Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
{
    const VALUE: Self = Erased(PhantomData);

    pub(crate) const fn operation<T: Float>() -> &'static dyn Operation<T> {
        const {
            assert!(
                O == if F::VECTOR { B } else { 1 },
                "a vector formula has one coefficient per basis vector"
            );
            assert!(
                !matches!(F::METRIC, Metric::Horizontal) || !has_invariant!(F, Invariant::Wedge(..)),
                "a wedge is not of the horizontal metric"
            )
        };
        &Self::VALUE
    }
}

impl<F, T, const V: usize, const B: usize, const I: usize, const O: usize> Operation<T>
    for Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        row_shape(inputs, &|i| i < V, F::VECTOR)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let operands = Operands::of(inputs, &|i| i < V);
        let (vectors, parameters) = operands.split(V);
        let results = Results::new(out, F::VECTOR);
        forward(forward_range::<F, T, V, B, I, O>, vectors, &parameters, operands.width, results);
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let operands = Operands::of(inputs, &|i| i < V);
        let width = operands.width;
        let (vectors, parameters) = operands.split(V);
        let n = g.len() / if F::VECTOR { width } else { 1 };
        for_each_piece(&operands.reads(V), n, 40 + 3 * width, grads, |piece| {
            dispatch_wide(
                piece,
                #[inline(always)]
                |piece| {
                    backward_piece::<F, T, Avx512, V, B, I, O, ROWS>(vectors, &parameters, piece, width, g)
                },
                #[inline(always)]
                |piece| backward_piece::<F, T, Avx2, V, B, I, O, ROWS>(vectors, &parameters, piece, width, g),
                #[inline(always)]
                |piece| {
                    backward_piece::<F, T, Portable, V, B, I, O, 1>(vectors, &parameters, piece, width, g)
                },
            );
        });
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        const { Some(&crate::opencl::RowForm::of::<F, V, B, I, O>()) }
    }

    #[track_caller]
    fn jvp<'t>(
        &self,
        inputs: &[Var<'t, T>],
        _out: Var<'t, T>,
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        derivative::record::<F, T, V, B, I, O>(inputs, tangents)
    }
}

//! The `gram` kernel: row formulas.
//!
//! Every operation of geometry is a [`RowFormula`]. This kernel runs them all, in three steps:
//!
//! 1. per row, the inner products (one read of the inputs, accumulated in `f64`);
//! 2. the scalar formula;
//! 3. the linear combination (one write), or the scalar itself.
//!
//! The first and the last are vector arithmetic along the coordinates of a row; the formula is evaluated
//! for several rows at a time, one in each lane.
//!
//! The reverse pass runs the same formula on [`Dual`](crate::Dual) numbers. With upstream cotangent `g`,
//! coefficient `a_b` has cotangent `⟨g, v_b⟩`, the formula's Jacobian gives the cotangents `w` of the
//! invariants, and the basis vector `v_b` has cotangent `a_b g + Σ w ∂⟨v_b, v_c⟩/∂v_b`. No
//! derivative is written by hand.
//!
//! One kernel for each element type and instruction set runs every formula by its [plan](RowPlan):
//! [`planned`]. A few formulas also have kernels that are compiled for them alone: [`specialised`]. Both
//! give the same bits.

pub(crate) mod basis;
mod planned;
pub(crate) mod shares;
pub(crate) mod specialised;

use std::cell::RefCell;
use std::ops::Range;

use smallvec::SmallVec;

pub(crate) use self::planned::survey_one;
use crate::formula::domain::Domain;
use crate::formula::functions::runnable;
use crate::formula::per_type::{Each, PerFloat};
use crate::formula::plan::{Number, PARAMS, ROWS, RowPlan};
use crate::formula::row::RowFormula;
use crate::kernels::operands::{Operand, Operands, Parameter, Results};
use crate::kernels::pieces::{Piece, Place, for_each_piece};
use crate::numbers::compensated::Compensated;
use crate::numbers::parallel::{self, PIECES};
use crate::numbers::scratch;
use crate::numbers::simd::{Aligned, Block};
use crate::numbers::storage::Storage;
use crate::tensor::shape::Broadcast;
use crate::tensor::view::View;

/// How many groups of [`ROWS`] rows are read before their formula is evaluated. The formula is a chain
/// of operations that wait for each other, and the processor works on several chains at once.
pub(crate) const GROUPS: usize = 4;

/// Rows of at most this many bytes are narrow: several groups of them are read before gradients are written.
/// Wider rows would no longer be in a near cache by then.
const NARROW: usize = 256;

/// How many rows of so many elements are read before gradients are written: several groups of narrow rows.
fn rows_of_chunk<T>(width: usize) -> usize {
    if width * size_of::<T>() <= NARROW { GROUPS * ROWS } else { ROWS }
}

/// The same block of each row of a group.
type Together = [Aligned; ROWS];

thread_local! {
    static TOGETHER: RefCell<Vec<Vec<Together>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with memory of this thread, of unspecified content.
fn with_together<R>(len: usize, work: impl FnOnce(&mut [Together]) -> R) -> R {
    scratch::with(&TOGETHER, [Aligned::default(); ROWS], len, work)
}

/// The kernels that are compiled for one row formula alone, if there are any.
#[derive(Clone, Copy, Debug)]
pub struct RowKernels;

/// Kernels that are compiled for one row formula, for one element type.
#[derive(Clone, Copy)]
pub struct RowKernel<T: Storage> {
    pub(crate) forward: Forward<T>,
    pub(crate) backward: Backward<T>,
}

/// Computes some row positions on the calling thread: the plan, vectors, parameters, the width, positions,
/// results.
pub(crate) type Forward<T> =
    fn(&RowPlan, &[Operand<'_, T>], &[Parameter<'_>], usize, Range<usize>, Results<'_, T>);

/// The reverse pass of a piece: the plan, vectors, parameters, the piece, the width, the gradient of the
/// results.
pub(crate) type Backward<T> =
    fn(&RowPlan, &[Operand<'_, T>], &[Parameter<'_>], &mut Piece<'_, T>, usize, &[T]);

/// Computes all row positions: the plan, vectors, parameters, the width, results.
pub(crate) type ForwardAll<T> = fn(&RowPlan, &[Operand<'_, T>], &[Parameter<'_>], usize, Results<'_, T>);

/// Computes one row: the plan, its vectors, the parameters, the result.
pub(crate) type ForwardOne<T> = fn(&RowPlan, &[&[T]], &[f64], Results<'_, T>);

impl PerFloat for RowKernels {
    type Of<T: Storage> = Option<RowKernel<T>>;
}

impl<T: Storage> RowKernel<T> {
    pub(crate) const fn new<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> Self
    where
        F: RowFormula<V, B, I, O>,
    {
        RowKernel {
            forward: specialised::forward::<F, T, V, B, I, O>,
            backward: specialised::backward::<F, T, V, B, I, O>,
        }
    }
}

/// Maps an element type to its [`Entries`].
struct PerType;

/// The functions of this kernel that other crates run, as pointers: a generic function would be compiled
/// once more in each of these crates.
#[derive(Clone, Copy)]
pub(crate) struct Entries<T: Storage> {
    pub(crate) forward: ForwardAll<T>,
    pub(crate) one: ForwardOne<T>,
}

impl PerFloat for PerType {
    type Of<T: Storage> = Entries<T>;
}

impl<T: Storage> Entries<T> {
    const ALL: Self = Entries { forward, one: forward_one };
}

static ENTRIES: Each<PerType> = Each { f32: Entries::ALL, f64: Entries::ALL };

/// See [`Entries`].
#[inline]
pub(crate) fn entries<T: Storage>() -> Entries<T> {
    T::pick(&ENTRIES)
}

/// A formula over all row positions: `width` elements each for a vector formula, one for a scalar one.
fn forward<T: Storage>(
    plan: &RowPlan,
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    mut out: Results<'_, T>,
) {
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(out.len(width), ROWS, 15 + width)
        .into_iter()
        .map(|range| (range.clone(), Some(out.split_front(range.len(), width))))
        .collect();
    let kernel = plan.forward_kernel();
    parallel::run(&mut jobs, |(range, out)| {
        kernel(plan, vectors, parameters, width, range.clone(), out.take().expect("once"));
    });
}

/// A formula on one row: the same bits as among many.
fn forward_one<T: Storage>(plan: &RowPlan, rows: &[&[T]], params: &[f64], out: Results<'_, T>) {
    let one = Broadcast::cycled(1);
    let vectors: SmallVec<[_; 4]> =
        rows.iter().map(|&data| Operand { data, rows: one, constant: None }).collect();
    let parameters: SmallVec<[_; PARAMS]> = params.iter().map(|&x| Parameter::constant_number(x)).collect();
    plan.forward_kernel()(plan, &vectors, &parameters, rows[0].len(), 0..1, out);
}

/// Where the gradient of a vector operand goes: its rows from number `first` on.
enum Gradient<'a, T> {
    /// Rows to be written, one for each row position.
    Full { slice: &'a mut [T], first: usize },
    /// Rows that are added to.
    Sums { sums: &'a mut [f64], first: usize },
}

/// Where the gradients of the vectors go, of `n` row positions; at most `V` vectors.
#[inline(always)]
fn gradients_of<'a, T: Storage, const V: usize>(
    vectors: &[Operand<'_, T>],
    places: &'a mut [Place<'_, T>],
    n: usize,
) -> [Option<Gradient<'a, T>>; V] {
    let mut gradients = [const { None }; V];
    for (i, place) in places.iter_mut().enumerate() {
        gradients[i] = if vectors[i].rows.is_full(n) {
            place.slice().map(|(slice, first)| Gradient::Full { slice, first })
        } else {
            place.sums().map(|(sums, first)| Gradient::Sums { sums, first })
        };
    }
    gradients
}

/// Gives the parameters the cotangents of the row positions `at`, of `n` in all, one in each lane.
#[inline(always)]
fn give_parameters<T: Storage>(
    parameters: &[Parameter<'_>],
    places: &mut [Place<'_, T>],
    n: usize,
    at: Range<usize>,
    cotangents: &[Number; PARAMS],
) {
    for (q, (parameter, place)) in parameters.iter().zip(places).enumerate() {
        let full = parameter.rows.is_full(n);
        for (l, p) in at.clone().enumerate() {
            place.give(full, parameter.rows.at(p), &[cotangents[q].get(l)]);
        }
    }
}

/// Moves the results of a group, `rows` rows at the front of `out`, back onto their domain. For a ball,
/// `squares` are the sums of the squares of their coordinates.
#[inline(always)]
fn settle<T: Storage, S: Block>(
    domain: Domain,
    squares: &[Compensated<S>; ROWS],
    kappa: Number,
    rows: usize,
    width: usize,
    out: &mut [T],
) {
    let margins = match domain {
        Domain::Free => return,
        Domain::Ball => Compensated::totals::<T, ROWS>(squares).margin(kappa),
        _ => Number::splat(0.0),
    };
    for l in 0..rows {
        // In a ball, only rows that rounding has moved outside.
        if !(margins.get(l) > 0.0) {
            domain.settle(&mut out[l * width..][..width], kappa.get(l));
        }
    }
}

impl RowPlan {
    /// The kernel that is compiled for the formula alone, or else the one that reads its plan.
    fn forward_kernel<T: Storage>(&self) -> Forward<T> {
        runnable(self.specialised.for_type::<T>()).map_or(planned::forward, |kernel| kernel.forward)
    }

    /// As [`forward_kernel`](Self::forward_kernel), for the reverse pass.
    fn backward_kernel<T: Storage>(&self) -> Backward<T> {
        runnable(self.specialised.for_type::<T>()).map_or(planned::backward, |kernel| kernel.backward)
    }

    /// The formula over all row positions. Vectors first, then parameters.
    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T]) {
        let operands = Operands::new(inputs, &|i| i < self.vectors);
        let (vectors, parameters) = operands.split(self.vectors);
        forward(self, vectors, &parameters, operands.width, Results::new(out, self.vector));
    }

    /// The reverse pass over all row positions.
    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let operands = Operands::new(inputs, &|i| i < self.vectors);
        let width = operands.width;
        let (vectors, parameters) = operands.split(self.vectors);
        let n = g.len() / if self.vector { width } else { 1 };
        let kernel = self.backward_kernel();
        for_each_piece(&operands.reads(self.vectors), n, 40 + 3 * width, grads, |piece| {
            kernel(self, vectors, &parameters, piece, width, g);
        });
    }
}

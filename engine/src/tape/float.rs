//! Element types of tapes.

use std::cell::RefCell;
use std::thread::LocalKey;

use crate::formula::plan::RowPlan;
use crate::numbers::storage::Storage;
use crate::tape::Tape;
use crate::tape::operations::derivative;
use crate::tensor::Tensor;

/// An element type of tensors and tapes: `f32` or `f64`.
///
/// [`Storage`] has its conversions and its functions.
///
/// Elements are *stored* in this type; inner products, margins and coefficients of row formulas are
/// always computed in `f64`, or on a [device](crate::Device) without `f64` in two `f32`.
///
/// The hidden methods are implemented in this crate, so that the operations are compiled here once for
/// each type, and not in every crate that uses them.
pub trait Float: Storage {
    /// The derivative of a row formula along tangents of its vectors: see
    /// [`Rows::differential`](crate::Rows::differential).
    #[doc(hidden)]
    fn row_differential(
        plan: &'static RowPlan,
        vectors: &[&Tensor<Self>],
        tangents: &[&Tensor<Self>],
        params: &[f64],
    ) -> Tensor<Self>;

    /// Calls `work` with an empty tape of this thread. Its memory is reused from earlier calls, so
    /// nothing is allocated in the steady state.
    #[doc(hidden)]
    fn with_scratch_tape<R>(work: impl FnOnce(&Tape<Self>) -> R) -> R;
}

macro_rules! impl_float {
    ($t:ident, $tapes:ident) => {
        thread_local! {
            static $tapes: RefCell<Vec<Tape<$t>>> = const { RefCell::new(Vec::new()) };
        }

        impl Float for $t {
            #[inline(never)]
            fn row_differential(
                plan: &'static RowPlan,
                vectors: &[&Tensor<Self>],
                tangents: &[&Tensor<Self>],
                params: &[f64],
            ) -> Tensor<Self> {
                derivative::from_tensors(plan, vectors, tangents, params)
            }
            fn with_scratch_tape<R>(work: impl FnOnce(&Tape<Self>) -> R) -> R {
                with_tape(&$tapes, work)
            }
        }
    };
}

impl_float!(f32, TAPES_F32);

impl_float!(f64, TAPES_F64);

/// Calls `work` with an empty tape of this thread. Its memory is reused from earlier calls.
fn with_tape<T: Float, R>(
    tapes: &'static LocalKey<RefCell<Vec<Tape<T>>>>,
    work: impl FnOnce(&Tape<T>) -> R,
) -> R {
    let mut tape = tapes.with_borrow_mut(Vec::pop).unwrap_or_default();
    let result = work(&tape);
    tape.reset();
    tapes.with_borrow_mut(|tapes| tapes.push(tape));
    result
}

//! The engine of Cotangent: tensors, a tape, and formulas.
//!
//! It knows no manifold. An operation is a small formula, written once and generic over a [`Scalar`]; the
//! kernels run it over tensors, and its derivatives come from running it on [`Dual`] numbers.
//!
//! # The tape in five minutes
//!
//! A [`Tape`] records what is computed on its variables. A [`Var`] is an id, `Copy`, and behaves like a
//! number on paper; its elements are those of a tensor. [`Tape::backward`] goes back over the record, node
//! by node:
//!
//! ```
//! use cotangent_engine::{Tape, Tensor};
//!
//! let mut tape = Tape::<f64>::new();
//! let x = Tensor::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]); // [2, 3], row-major
//! let w = Tensor::new([3, 1], vec![0.1, -0.2, 0.3]);
//! for step in 0..3 {
//!     tape.reset(); // forgets the graph and keeps its memory: the steady state allocates nothing
//!     let input = tape.constant(&x); // no gradient flows here
//!     let weights = tape.variable(&w); // nothing is copied
//!     let y = input.matmul(weights).tanh(); // [2, 1]
//!     let loss = (y - 0.5).square().mean(); // a number; operands broadcast
//!     let gradients = tape.backward(loss);
//!     let g = gradients.wrt(weights); // a tensor of the same shape
//!     assert_eq!(g.shape(), w.shape());
//! }
//! ```
//!
//! - **Shapes** are run-time values. An operation on shapes that do not fit panics; the message names the
//!   operation, the shapes and your line.
//! - **Broadcasting** aligns axes at the last one; each is equal or 1 ([`Broadcast`] has the five kinds).
//! - **Rows**: the last axis is a row. Gathered rows of an input `[n, d]` have a
//!   row-sparse gradient ([`Gradients::view`]).
//! - **Values** are read with [`Var::to_tensor`] or [`Var::item`] until the backward pass releases them.
//! - **NaN**: [`Tape::checked`] names the operation that produced the first one.
//! - **Second derivatives**: [`Tape::jvp`] is forward mode on the tape; going back through it gives
//!   Hessian-vector products.
//! - **Your own operations**: an elementwise formula is a [`MapFormula`], a geometric one a
//!   [`RowFormula`], a score of pairs a [`PairFormula`], a function of rows a [`RowFunction`]; for the
//!   rest there is [`Operation`].
//! - **Threads** are those of the current rayon pool; results do not depend on their number. The bits of
//!   large matrix products depend on the processor's instruction set: [`instruction_set`] names it.
//!
//! # Devices
//!
//! With the feature `opencl`, [`Tape::with_device`] computes on an OpenCL device:
//! `Tape::with_device("opencl".parse()?)`.
//! Nothing else changes. Formulas are printed as OpenCL C and compiled once per process. Values,
//! gradients, parameters and the state of optimisers stay on the device; they are read back when the
//! host needs them.
//!
//! Elementwise and row formulas give the same bits as on the processor, in both passes and both types
//! (where the device rounds `f32` division correctly), and two runs give the same bits. Sums in another
//! order differ by roundings: sums along axes, products of matrices and attention by a few ulp of the sum
//! of their terms' absolute values. Measured on PoCL 3.1. A device without `f64` computes in `f32` only, and
//! a tape of `f64` panics there. The inner products, margins and coefficients of rows are then sums of two
//! `f32`, and operations of manifolds are within an ulp of the processor's: see [`Device`].
//!
//! **The exceptions**: an [`Operation`] of your own, a [`RowFunction`] and the derivatives of formulas
//! in forward mode ([`Tape::jvp`]) are computed on the host: their inputs are read back, their results
//! are uploaded.
//!
//! # Where things are
//!
//! | file | what |
//! |---|---|
//! | [`scalar`], [`elementary`] | the scalar that formulas are generic over; its functions and their errors |
//! | [`RowFormula`] | operations of geometry, as functions of inner products; kernel `gram` |
//! | [`RowPlan`] | a row formula as data, which kernels, devices and forward mode read |
//! | [`Tiles`], [`StraightLine`] | row formulas on rows side by side, outside a tape: for fused loops |
//! | [`MapFormula`] | elementwise operations; kernel `map` |
//! | [`PairFormula`] | scores of pairs of rows; kernels `pair` and `attend` |
//! | [`Sparsity`] | sparse matrices: products, scores and softmax at their elements; kernel `sparse` |
//! | [`RowFunction`] | operations on rows that inner products do not express; reverse pass written by hand |
//! | [`Operation`] | operations with a hand-written reverse pass |
//! | [`formulas`], [`registry`] | all declared formulas |
//! | [`Expression`] | formulas as expressions, printed as OpenCL C |
//! | [`Program`] | formulas as lists of operations on columns of numbers |
//! | [`Tape`], [`Var`] | recording, the reverse pass, forward mode |
//! | [`loss`] | cross-entropy, binary cross-entropy, mean squared error |
//! | [`domain`] | where the results of formulas must lie, and accurate margins |
//! | [`check`] | gradients against finite differences |
//! | [`files`] | checkpoints, safetensors, npy, atomic writes |
//! | [`simd`] | the choice of the instruction set |
//! | [`Device`] | the processor, or an OpenCL device |
//! | [`Storage`], [`Float`] | what elements are stored in; element types of tapes |
//!
//! The files stand on floors. A file uses its own floor and those below it; a test reads the paths.
//!
//! | floor | what |
//! |---|---|
//! | `files/` | checkpoints, safetensors, npy |
//! | `tape/` | the tape, variables, gradients; `operations/`: kernels as operations, with forward mode |
//! | `tape/laws/` | the registry of formulas and the gradient check, which tests use |
//! | `opencl/` | the kernels on an OpenCL device |
//! | `kernels/` | the kernels on the processor: slices in, slices out |
//! | `formula/` | row, elementwise and pair formulas, plans, domains |
//! | `tensor/` | shapes, tensors, the buffer pool; `device/`: a device's queue, memory and programs |
//! | the crate `cotangent-numbers` | scalars, lanes, elementary functions, SIMD, threads, storage types |

#![warn(missing_docs)]

pub mod files;
mod formula;
#[doc(hidden)]
pub mod instances;
#[cfg(feature = "opencl")]
#[doc(hidden)]
pub mod internal;
mod kernels;
#[cfg(feature = "opencl")]
mod opencl;
mod skip;
mod tape;
mod tensor;

use cotangent_numbers as numbers;

pub use formula::domain::{self, Domain};
pub use formula::map::MapFormula;
pub use formula::pair::{PairFormula, Pairing};
pub use formula::plan::RowPlan;
pub use formula::row::{Invariant, Metric, RowFormula, Vector, count_inputs};
pub use formula::straight_line::StraightLine;
pub use kernels::attend::Weights;
pub use kernels::finite::first_not_finite;
pub use kernels::pair::{ManyToMany, PairSide};
pub use kernels::softmax::softmax_in_place;
pub use kernels::tiles::{OneToMany, RowNumbers, RowProgram, Tiles};
pub use kernels::update_elements::{ELEMENTS, update_elements};
pub use kernels::update_rows::{RowUpdate, update_rows};
pub use numbers::dual::Dual;
pub use numbers::elementary::{self, Element};
pub use numbers::lanes::Lanes;
pub use numbers::norm::{norm, norm_of};
pub use numbers::program::{self, Program};
pub use numbers::rng;
pub use numbers::scalar::{self, Scalar};
pub use numbers::simd::instruction_set;
pub use numbers::storage::Storage;
pub use numbers::trace::{Expression, Trace, prelude};
pub use skip::skipped;
pub use tape::float::Float;
pub use tape::gradients::{GradientView, Gradients, Leaf};
pub use tape::operation::Operation;
pub use tape::operations::elementwise::Elementwise;
pub use tape::operations::pair::Pairs;
pub use tape::recorded::{Recorded, RecordedNumber};
pub use tape::row_function::RowFunction;
pub use tape::rows::{Row, Rows};
pub use tape::var::Var;
pub use tape::{ParamId, Tape};

/// The instruction set that was chosen for this process.
pub mod simd {
    pub use crate::numbers::simd::level;
}
pub use tape::laws::{check, registry};
pub use tape::{compiled, formulas, loss};
pub use tensor::Tensor;
pub use tensor::device::{Device, DeviceError, Transfers};
pub use tensor::pool::Memory;
pub use tensor::shape::row_numbers;
pub use tensor::shape::{Broadcast, Shape, ShapeError};
pub use tensor::sparsity::Sparsity;
pub use tensor::view::{Outcome, View};

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

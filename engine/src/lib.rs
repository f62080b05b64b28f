//! The engine of Cotangent: tensors, a tape, and row formulas.
//!
//! It knows no manifold. An operation is a small formula, written once and generic over a [`Scalar`]; the
//! kernels run it over tensors, and its reverse pass comes from running it on [`Dual`] numbers.
//!
//! | file | what |
//! |---|---|
//! | [`scalar`] | the scalar that formulas are generic over |
//! | [`elementary`] | its functions on lanes, with their errors |
//! | [`RowFormula`] | operations of geometry, as functions of inner products; kernel `gram` |
//! | [`MapFormula`] | elementwise operations; kernel `map` |
//! | [`PairFormula`] | scores of pairs of rows; kernels `pair` and `attend` |
//! | [`Operation`] | operations with a hand-written reverse pass |
//! | [`registry`], [`formulas`] | all declared formulas |
//! | [`Expression`] | formulas as expressions, printed as OpenCL C |
//! | [`Tape`], [`Var`] | recording and the reverse pass |
//! | [`domain`] | where the results of formulas must lie, and accurate margins |
//! | [`check`] | gradients against finite differences |
//! | [`files`] | checkpoints, tensors as safetensors and `.npy`, atomic writes |

#![warn(missing_docs)]

mod arena;
pub mod check;
pub mod domain;
mod dropout;
mod dual;
pub mod elementary;
pub mod files;
mod float;
pub mod formulas;
mod gradients;
mod kernels;
mod lanes;
pub mod loss;
mod operation;
mod parallel;
mod pool;
pub mod registry;
pub mod rng;
mod row_formula;
mod rows;
pub mod scalar;
mod scratch;
mod shape;
pub mod simd;
mod tape;
mod tensor;
mod trace;
mod var;

pub use domain::Domain;
pub use dual::Dual;
pub use elementary::Element;
pub use float::Float;
pub use gradients::{GradientView, Gradients};
pub use kernels::map::MapFormula;
pub use kernels::pair::{PairFormula, Pairing};
pub use lanes::Lanes;
pub use operation::{Operation, Outcome, View};
pub use pool::Memory;
pub use row_formula::{Invariant, Metric, RowFormula, Vector};
pub use rows::{Row, Rows};
pub use scalar::Scalar;
pub use shape::{Broadcast, Shape};
pub use tape::{ParamId, Tape};
pub use tensor::Tensor;
pub use trace::{Expression, PRELUDE, Trace};
pub use var::Var;

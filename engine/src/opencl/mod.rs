//! Computation on OpenCL devices: the only module that knows the crate `ocl`.
//!
//! | file | what |
//! |---|---|
//! | `queue.rs` | a device with its queue; launches |
//! | `program.rs` | programs, compiled once per process; errors with the source line and the build log |
//! | `memory.rs` | device memory, pooled; uploads and read-backs |
//! | `elementary.cl` | the elementary functions, in the operations of [`crate::elementary`]: the same bits |
//! | `form.rs` | what an operation is on a device |
//! | `team.rs` | the work-items that compute a row |
//! | `tape.rs` | the tape's forward and reverse pass on a device |
//! | the others | the kernels' skeletons; the formulas in them are printed by [`Expression`](crate::Expression) |
//!
//! Everything goes through one in-order queue. Nothing waits for it but a read-back, so memory may be reused as soon as
//! the last launch that reads it is enqueued. No kernel depends on the order in which work-items run: two runs give the
//! same bits.

mod attend;
mod conv;
mod fold;
mod form;
mod gemm;
mod gram;
mod index;
mod layer_norm;
mod lines;
mod map;
mod memory;
mod pair;
mod program;
mod queue;
mod random;
mod sparse;
mod tape;
mod team;

pub(crate) use self::pair::PairForm;
pub(crate) use form::{Forward, OnDevice, Reverse};
pub(crate) use gram::RowForm;
pub(crate) use index::{copy, set_rows};
pub(crate) use map::{MapForm, map_expression};
pub(crate) use memory::{Memory, Slot};
pub(crate) use queue::{Queue, list};

//! Computation on OpenCL devices: the only module that knows the crate `ocl`.
//!
//! | file | what |
//! |---|---|
//! | `queue.rs` | a device with its queue; launches |
//! | `program.rs` | programs, compiled once per process; errors with the source line and the build log |
//! | `memory.rs` | device memory, pooled; uploads and read-backs |
//! | `elementary.cl` | the elementary functions, in the operations of [`crate::elementary`]: the same bits |
//! | `form.rs` | what an operation is on a device |
//! | `tape.rs` | the tape's forward and reverse pass on a device |
//! | the others | the kernels' skeletons; the formulas in them are printed by [`Expression`](crate::Expression) |
//!
//! Everything goes through one in-order queue. Nothing waits for it but a read-back, so memory may be reused as soon as
//! the last launch that reads it is enqueued. No kernel depends on the order in which work-items run: two runs give the
//! same bits.

mod fold;
mod form;
mod index;
mod map;
mod memory;
mod program;
mod queue;
mod tape;

pub(crate) use form::OnDevice;
pub(crate) use map::MapForm;
pub(crate) use memory::Slot;
pub(crate) use memory::Memory;
pub(crate) use queue::{Queue, list};

//! The kernels on an OpenCL device. It knows no tape: an operation says its own form on a device.
//!
//! | file | what |
//! |---|---|
//! | `elementary.cl` | the elementary functions, in the operations of [`crate::elementary`]: the same bits |
//! | `form.rs` | what an operation is on a device |
//! | `team.rs` | the work-items that compute a row |
//! | `scalar.rs` | the scalars of rows, with and without `f64` |
//! | the others | the kernels' skeletons, whose formulas [`Expression`](crate::Expression) prints |
//!
//! Launches go through the device's queue: see `tensor/device`. No kernel depends on the order in which
//! work-items run: two runs give the same bits.
//!
//! # Without `f64`
//!
//! The skeletons are written in two types, `wide` and `scalar`. Where the device has `f64`, both are
//! `f64`, and results of rows and of elementwise formulas are the processor's to the bit. Where it has
//! none (`cl_khr_fp64`), only tensors of `f32` are computed, and nothing that is compiled there names a
//! `double`:
//!
//! - The scalars of rows are compensated: sums of two `f32`, with 48 bits. Arithmetic is exact to 2⁻⁴⁴
//!   and elementary functions to 2⁻⁴⁰ relative, so the values and gradients of every row formula of the
//!   registry are within an ulp (of a row's largest element) of what they are on the processor. In the
//!   ball, distances, their gradients, sums, logarithms and exponentials of points up to
//!   `1 − ‖x‖ = 10⁻⁶` are within 2·10⁻⁷ of those in `f64`, for close points and far ones.
//! - Elementwise formulas and scores of pairs are computed in the elements' type on every device; so are
//!   random draws, which are compared as integers.
//! - Reductions, normalisations and the sums of a broadcast operand's gradients are accumulated in
//!   `f32`, in lanes and blocks.
//! - The range is that of `f32`. Coordinates under 10⁻¹⁹ have the square 0, those over 10¹⁹ an infinite
//!   one, and digits are lost from 10⁻¹² on. On the hyperboloid, areas have fourth powers and end at
//!   coordinates of 10⁹. Limits that formulas have against overflow are moved into the range.
//!   Exponentials, of tangent vectors of a hyperboloid or a half-space and of geodesics far beyond their
//!   ends, are infinite from arguments of 89 on, and what is infinite may become NaN there.
//!
//! With `COTANGENT_DEVICE_F64=0`, any device does so.

mod attend;
mod conv;
mod fold;
mod form;
mod gemm;
mod gram;
pub(crate) mod index;
mod layer_norm;
mod lines;
mod map;
mod pair;
pub(crate) mod random;
mod scalar;
mod sparse;
mod team;

pub(crate) use form::{Array, Forward, OnDevice, Reverse};
pub(crate) use map::map_expression;

//! The kernels on an OpenCL device. This floor does not use the tape: an operation implements `OnDevice`.
//!
//! | file | what |
//! |---|---|
//! | `elementary.cl` | the elementary functions, in the operations of [`crate::elementary`]: the same bits |
//! | `form.rs` | the interface of an operation on a device |
//! | `team.rs` | the work-items that compute a row |
//! | `scalar.rs` | the type in which row formulas are computed, with and without `f64` |
//! | the others | skeletons of kernels, into which [`Expression`](crate::Expression) prints the formulas |
//!
//! Launches go through the device's queue: see `tensor/device`. No kernel depends on the order in which
//! work-items run, so two runs give the same bits.
//!
//! # Without `f64`
//!
//! The skeletons are written in two types, `wide` and `scalar`. Where the device has `f64` (`cl_khr_fp64`),
//! both are `f64`, and results of row and elementwise formulas have the processor's bits. Where it has none,
//! only tensors of `f32` are computed, and no program contains `double`:
//!
//! - `scalar` is a double-single number, the unevaluated sum of two `f32`, with 48 bits.
//!   Its arithmetic has relative errors of at most 2⁻⁴⁴, its elementary functions of at
//!   most 2⁻⁴⁰. The values and gradients of every row formula of the registry are within an
//!   ulp (of a row's largest element) of the processor's. In the ball, for points up to
//!   `1 − ‖x‖ = 10⁻⁶`, distances, their gradients, sums, logarithms and exponentials are
//!   within 2·10⁻⁷ of those in `f64`, whether the points are near each other or not.
//! - Elementwise formulas and scores of pairs are computed in the elements' type on every device. Random
//!   draws are compared as integers, and need no `f64`.
//! - Reductions, normalisations and the sums of a broadcast operand's gradients are accumulated in
//!   `f32`, in lanes and blocks.
//! - The range is that of `f32`. The square of a coordinate below 10⁻¹⁹ is 0, that of one above 10¹⁹
//!   is infinite, and squares lose digits below coordinates of 10⁻¹². On the hyperboloid, areas are
//!   fourth powers and overflow at coordinates of 10⁹. Constants by which formulas avoid overflow are
//!   chosen for the range of `f32`. Exponentials are infinite from arguments of 89 on, and results
//!   that depend on them may be NaN: those of long tangent vectors of a hyperboloid or a half-space, and of
//!   geodesics far beyond their ends.
//!
//! With `COTANGENT_DEVICE_F64=0`, every device is used as one without `f64`.

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
mod row_sums;
mod scalar;
mod sparse;
mod team;

pub(crate) use form::{Array, Forward, OnDevice, Reverse};
pub(crate) use map::map_expression;

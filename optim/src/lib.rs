//! Optimisers for parameters that live on manifolds.
//!
//! The optimiser computes the length of a step and, with momentum, its direction. The parameter's own
//! [`Manifold`](cotangent_manifolds::Manifold) converts the gradient, moves the points and transports the
//! momentum. If only some rows of a table were read, only those rows move.
//!
//! | what | file |
//! |---|---|
//! | [`RiemannianSgd`]: plain, with momentum, Nesterov's | `sgd.rs` |
//! | [`RiemannianAdam`]: Adam, AdamW, AMSGrad | `adam.rs` |
//! | [`Optimiser`]: the common part; rates by group, weight decay, clipping | `optimiser.rs` |
//! | [`Algorithm`]: the part in which they differ | `algorithm.rs` |
//! | [`GradientSource`]: where the gradients of a step come from | `gradient_source.rs` |
//! | steps of rows, in the host's memory and on a device | `steps/` |
//! | [`clip::norm`]: the Riemannian norm of all gradients together | `clip.rs` |
//! | [`Accumulated`]: gradients of several passes as one | `accumulate.rs` |
//! | [`DataParallel`]: the parts of a batch in parallel | `data_parallel.rs` |
//! | [`exchange`]: messages between the ranks of a job, which train one model together | `exchange/` |
//! | [`Schedule`], [`Plateau`]: rates that change | `schedule.rs` |
//! | [`train`]: the training loop, batches, checkpoints of a training | `train/` |
//! | [`Average`]: averages of weights along geodesics | `average.rs` |
//! | [`checkpoint`]: everything a run needs to go on, in a file | `checkpoint.rs` |
//! | [`solvers`]: line search, conjugate gradients, L-BFGS, trust regions; deterministic | `solvers/` |
//! | [`HoroPcaFit`]: the horospherical projection of most variance | `horopca.rs` |

#![forbid(unsafe_code)]

mod accumulate;
mod adam;
mod algorithm;
mod average;
pub mod checkpoint;
pub mod clip;
mod data_parallel;
mod error;
pub mod exchange;
mod gradient_source;
mod horopca;
#[doc(hidden)]
pub mod instances;
mod optimiser;
mod schedule;
mod sgd;
pub mod solvers;
mod state;
mod steps;
pub mod train;

pub use accumulate::Accumulated;
pub use adam::{Adam, RiemannianAdam};
pub use algorithm::Algorithm;
pub use average::{Average, AverageState};
pub use data_parallel::DataParallel;
pub use error::OptimError;
pub use gradient_source::GradientSource;
pub use horopca::HoroPcaFit;
pub use optimiser::Optimiser;
pub use schedule::{Plateau, Schedule};
pub use sgd::{RiemannianSgd, Sgd};

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

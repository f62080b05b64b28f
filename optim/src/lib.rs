//! Optimisers for parameters that live on manifolds.
//!
//! The optimiser computes how far to go; the parameter's own [`Manifold`](cotangent_manifolds::Manifold)
//! converts the gradient and retracts. Tables of which only some rows were read are stepped on those rows.
//!
//! | what | file |
//! |---|---|
//! | [`RiemannianSgd`]: plain, with momentum, Nesterov's | `sgd.rs` |
//! | [`RiemannianAdam`]: Adam, AdamW, AMSGrad | `adam.rs` |
//! | [`Optimiser`]: what they have in common; rates by group, weight decay, clipping | `optimiser.rs` |
//! | [`clip::norm`]: the Riemannian norm of all gradients together | `clip.rs` |
//! | [`Accumulated`]: gradients of several passes as one | `accumulate.rs` |
//! | [`DataParallel`]: the parts of a batch side by side | `data_parallel.rs` |
//! | [`Schedule`], [`Plateau`]: rates that change | `schedule.rs` |
//! | [`Average`]: averages of weights along geodesics | `average.rs` |
//! | [`checkpoint`]: everything a run needs to go on, in a file | `checkpoint.rs` |
//! | [`solvers`]: minima without chance: line search, conjugate gradients, L-BFGS, trust regions | `solvers/` |

mod accumulate;
mod adam;
mod average;
pub mod checkpoint;
pub mod clip;
mod data_parallel;
mod device;
mod error;
mod optimiser;
mod rows;
mod schedule;
mod sgd;
pub mod solvers;

pub use accumulate::Accumulated;
pub use adam::{Adam, RiemannianAdam};
pub use average::{Average, AverageState};
pub use data_parallel::DataParallel;
pub use error::OptimError;
pub use optimiser::{Algorithm, GradientSource, Optimiser};
pub use schedule::{Plateau, Schedule};
pub use sgd::{RiemannianSgd, Sgd};

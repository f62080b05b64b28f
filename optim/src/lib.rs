//! Optimisers for parameters that live on manifolds.
//!
//! The optimiser computes how far to go; the parameter's own [`Manifold`](cotangent_manifolds::Manifold)
//! converts the gradient and retracts. Tables of which only some rows were read are stepped on those rows.

mod error;
mod sgd;

pub use error::OptimError;
pub use sgd::RiemannianSgd;

//! Manifolds of matrices, and the dense linear algebra that they need.

pub(crate) mod dense;
pub(crate) mod grassmann;
pub(crate) mod orthonormal;
pub(crate) mod spd;
pub(crate) mod spectral;
pub(crate) mod stiefel;

//! Layers that normalise.

pub(crate) mod batch_norm;
pub(crate) mod batch_norm_2d;
pub(crate) mod layer_norm;

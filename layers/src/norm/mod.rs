//! Layers that normalise.

pub(crate) mod batch_norm;
pub(crate) mod layer_norm;

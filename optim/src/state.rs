//! The state that an optimiser keeps for each parameter.

use cotangent_engine::{Float, Tensor};

/// The optimiser's state for a parameter.
#[derive(Clone, Debug)]
pub(crate) struct State<T: Float> {
    /// Steps taken.
    pub(crate) steps: u64,
    /// Momenta: tangent vectors at the points, in the parameter's shape.
    pub(crate) momenta: Tensor<T>,
    /// Second moments: `[rows, moments]` each.
    pub(crate) moments: Vec<Tensor<T>>,
}

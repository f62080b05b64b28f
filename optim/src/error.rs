//! What can go wrong in a step.

/// Why a step was refused. Nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptimError {
    /// The gradient of a row is NaN or infinite, or leads off to a non-finite point.
    #[error("parameter {param:?}: the step of row {row} is not finite (a NaN or infinite gradient)")]
    NotFinite {
        /// The parameter's name.
        param: String,
        /// The row.
        row: usize,
    },
    /// The learning rate is negative, NaN or infinite.
    #[error("learning rate {0}: a finite number of at least 0 is needed")]
    Rate(f64),
}

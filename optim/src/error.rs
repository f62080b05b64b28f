//! What can go wrong in a step.

use cotangent_manifolds::OffManifold;

/// Why a step or a setting was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptimError {
    /// The gradient of a row is NaN or infinite, or leads to a point, a momentum or a moment that is not
    /// finite.
    #[error(
        "parameter {param:?}: the step of row {row} is not finite \
         (a NaN or infinite gradient, or one too large)"
    )]
    NotFinite {
        /// The parameter's name.
        param: String,
        /// The row.
        row: usize,
    },
    /// An average of parameters moves along a geodesic to the parameter, and none was found that is finite.
    #[error("parameter {param:?}, row {row}: no finite geodesic from its average to it is found")]
    Average {
        /// The parameter's name.
        param: String,
        /// The row.
        row: usize,
    },
    /// Weight decay moves along a geodesic to the manifold's origin, and none was found: the row is in
    /// another component (for example of the orthogonal group), or too far from the origin.
    #[error("parameter {param:?}, row {row}: no geodesic to the manifold's origin is found for weight decay")]
    Decay {
        /// The parameter's name.
        param: String,
        /// The row.
        row: usize,
    },
    /// Clipping compares the norm of all gradients together, and this norm is not finite.
    #[error("parameter {param:?}: with its gradient the norm of all is {norm}; clipping needs a finite norm")]
    Norm {
        /// The first parameter at which the norm is no longer finite.
        param: String,
        /// The norm: NaN or infinite.
        norm: f64,
    },
    /// A row is not on its manifold, because it was changed by other means than steps.
    #[error("parameter {param:?}, row {row}: {source}")]
    OffManifold {
        /// The parameter's name.
        param: String,
        /// The row.
        row: usize,
        /// By how much it is off.
        source: OffManifold,
    },
    /// A gradient or the optimiser's state has another shape than the parameter.
    #[error("parameter {param:?} of shape {shape}: {what} of {found}")]
    Shape {
        /// The parameter's name.
        param: String,
        /// Its shape.
        shape: String,
        /// The item that does not fit.
        what: &'static str,
        /// Its shape, or its number of elements.
        found: String,
    },
    /// The learning rate is negative, NaN or infinite.
    #[error("learning rate {0}: a finite number of at least 0 is needed")]
    Rate(f64),
    /// The ranks of a job cannot exchange their gradients.
    #[error(transparent)]
    Exchange(#[from] crate::exchange::ExchangeError),
    /// Another setting makes no sense.
    #[error("{name} {value}: {needs} is needed")]
    Setting {
        /// The setting.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The values that are allowed.
        needs: &'static str,
    },
}

/// Checks that a setting is in `[low, high)`.
pub(crate) fn setting(name: &'static str, value: f64, low: f64, high: f64) -> Result<f64, OptimError> {
    if value >= low && value < high && value.is_finite() {
        return Ok(value);
    }
    let needs = match (low == 0.0, high) {
        (true, 1.0) => "a number of at least 0 and below 1",
        (true, _) => "a finite number of at least 0",
        _ => "a finite number above 0",
    };
    Err(OptimError::Setting { name, value, needs })
}

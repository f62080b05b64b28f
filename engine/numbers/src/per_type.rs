//! A value for each element type.

use crate::storage::Storage;

/// Maps an element type to the type of its value, such as its compiled kernels.
#[doc(hidden)]
pub trait PerFloat: 'static {
    /// The value's type for elements `T`.
    type Of<T: Storage>: Copy + 'static;
}

/// One value for each element type.
pub struct Each<K: PerFloat> {
    /// The value for `f32`.
    pub f32: K::Of<f32>,
    /// The value for `f64`.
    pub f64: K::Of<f64>,
}

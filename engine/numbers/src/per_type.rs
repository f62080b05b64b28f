//! What there is once for each element type.

use crate::storage::Storage;

/// Maps an element type to what there is for it.
#[doc(hidden)]
pub trait PerFloat: 'static {
    /// What there is for one.
    type Of<T: Storage>: Copy + 'static;
}

/// What there is, for each of them.
pub struct Each<K: PerFloat> {
    pub f32: K::Of<f32>,
    pub f64: K::Of<f64>,
}

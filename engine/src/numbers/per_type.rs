//! What there is once for each element type.

use crate::numbers::storage::Storage;

/// Maps an element type to its compiled kernels.
#[doc(hidden)]
pub trait PerFloat: 'static {
    /// What there is for one.
    type Of<T: Storage>: Copy + 'static;
}

/// A formula's kernels for both element types.
pub struct Compiled<K: PerFloat> {
    pub(crate) f32: K::Of<f32>,
    pub(crate) f64: K::Of<f64>,
}

impl<K: PerFloat> Compiled<K> {
    pub(crate) fn of_type<T: Storage>(&self) -> K::Of<T> {
        T::pick(self)
    }
}

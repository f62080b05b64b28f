//! A formula's kernels for each element type.

use crate::numbers::per_type::Each;
pub use crate::numbers::per_type::PerFloat;
use crate::numbers::storage::Storage;

/// A formula's kernels for both element types.
pub struct Compiled<K: PerFloat> {
    pub(crate) f32: K::Of<f32>,
    pub(crate) f64: K::Of<f64>,
}

impl<K: PerFloat> Compiled<K> {
    pub(crate) fn of_type<T: Storage>(&self) -> K::Of<T> {
        T::pick(Each::<K> { f32: self.f32, f64: self.f64 })
    }
}

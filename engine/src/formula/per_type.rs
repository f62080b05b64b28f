//! A formula's kernels for each element type.

pub(crate) use crate::numbers::per_type::Each;
pub use crate::numbers::per_type::PerFloat;
use crate::numbers::storage::Storage;

/// A formula's kernels for both element types.
pub struct Compiled<K: PerFloat>(pub(crate) Each<K>);

impl<K: PerFloat> Compiled<K> {
    pub(crate) fn of_type<T: Storage>(&self) -> K::Of<T> {
        T::pick(&self.0)
    }
}

//! What this project's own tests need of devices beyond the public interface. It is not part of that
//! interface and changes without notice.

pub use crate::tensor::device::memory::Memory;
pub use crate::tensor::device::program::{Key, Program, complaints, names_double};
pub use crate::tensor::device::queue::{Launch, Queue};

/// A number as the sum of two `f32`, of which the first is the nearest one. Beyond the range of `f32` it
/// becomes infinite or 0.
pub fn parts(x: f64) -> [f32; 2] {
    crate::numbers::trace::parts(x)
}

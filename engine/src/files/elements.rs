//! Elements of tensors as bytes of files.

use crate::numbers::storage::Storage;
use crate::tape::float::Float;
use crate::tensor::shape::{self, Shape};

/// Checks that the number of elements does not overflow, and that elements of `width` bytes each take
/// exactly `found` bytes.
pub(super) fn check_size(shape: &[usize], width: usize, found: usize) -> Result<(), String> {
    match shape::product(shape).map(|elements| width * elements) {
        None => Err(format!("shape {} overflows", Shape::new(shape))),
        Some(needed) if needed != found => {
            Err(format!("shape {} needs {needed} bytes of elements, not {found}", Shape::new(shape)))
        }
        Some(_) => Ok(()),
    }
}

/// Elements from little-endian bytes of `f32` (`width` 4) or `f64` (`width` 8). Elements of type `T` keep
/// every bit, NaN payloads included; those of the other type are converted to the nearest value.
pub(super) fn decode<T: Float>(bytes: &[u8], width: usize) -> Vec<T> {
    let element: fn(&[u8]) -> T = match width {
        _ if width == size_of::<T>() => T::read_le,
        4 => |bytes| T::nearest(f32::read_le(bytes).to_f64()),
        _ => |bytes| T::nearest(f64::read_le(bytes)),
    };
    bytes.chunks_exact(width).map(element).collect()
}

/// Little-endian bytes of elements.
pub(super) fn encode<T: Float>(elements: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(elements));
    for x in elements {
        x.write_le(&mut bytes);
    }
    bytes
}

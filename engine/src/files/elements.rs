//! Elements of tensors as the bytes of files.

use crate::numbers::storage::Storage;
use crate::tape::float::Float;
use crate::tensor::shape::{self, Shape};

/// Checks that a tensor of this shape is possible, and that its elements, of `width` bytes each, are
/// exactly `found` bytes.
pub(super) fn check_size(shape: &[usize], width: usize, found: usize) -> Result<(), String> {
    match shape::product(shape).map(|elements| width * elements) {
        None => Err(format!("shape {} overflows", Shape::new(shape))),
        Some(needed) if needed != found => {
            Err(format!("shape {} needs {needed} bytes of elements, {found} are there", Shape::new(shape)))
        }
        Some(_) => Ok(()),
    }
}

/// Elements from little-endian bytes of `f32` (`width` 4) or `f64` (`width` 8). Those of `T` itself keep
/// every bit, NaN payloads included; others are rounded to nearest.
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

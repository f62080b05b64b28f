//! Tensors in safetensors files, the format that the field's frameworks exchange weights in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use safetensors::{Dtype, SafeTensors, View};

use crate::{Float, Tensor};

struct Stored<'a, T: Float>(&'a Tensor<T>);

fn dtype<T: Float>() -> Dtype {
    if T::NAME == "f32" { Dtype::F32 } else { Dtype::F64 }
}

impl<T: Float> View for Stored<'_, T> {
    fn dtype(&self) -> Dtype {
        dtype::<T>()
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = Vec::with_capacity(self.data_len());
        for x in self.0.data() {
            x.write_le(&mut bytes);
        }
        Cow::Owned(bytes)
    }
    fn data_len(&self) -> usize {
        self.0.len() * size_of::<T>()
    }
}

/// Writes named tensors with one entry of metadata, atomically. The same input gives the same bytes; the order
/// of several entries would differ from run to run.
///
/// # Errors
/// If the file cannot be written.
pub fn write<T: Float>(
    path: &Path,
    tensors: &[(&str, &Tensor<T>)],
    (key, value): (&str, String),
) -> io::Result<()> {
    let views = tensors.iter().map(|(name, tensor)| (*name, Stored(tensor)));
    let metadata = HashMap::from([(key.to_owned(), value)]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(io::Error::other)?;
    super::atomic::write(path, |w| w.write_all(&bytes))
}

/// Reads all tensors, by name, with the file's metadata. Elements of the other float type are converted.
///
/// # Errors
/// If the file cannot be read, is not in the format, or holds another element type.
#[allow(clippy::type_complexity)]
pub fn read<T: Float>(path: &Path) -> io::Result<(HashMap<String, Tensor<T>>, HashMap<String, String>)> {
    let bytes = std::fs::read(path)?;
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| invalid(e.to_string()))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| invalid(e.to_string()))?;
    let mut tensors = HashMap::new();
    for (name, view) in file.tensors() {
        let elements = |width: usize, read: fn(&[u8]) -> f64| {
            view.data().chunks_exact(width).map(|b| T::nearest(read(b))).collect::<Vec<T>>()
        };
        let data = match view.dtype() {
            Dtype::F32 => elements(4, |b| f32::read_le(b).to_f64()),
            Dtype::F64 => elements(8, f64::read_le),
            other => return Err(invalid(format!("tensor {name:?} holds {other:?}; F32 or F64 is needed"))),
        };
        tensors.insert(name, Tensor::new(view.shape(), data));
    }
    Ok((tensors, header.metadata().clone().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundtrip_and_conversion() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.safetensors");
        let a = Tensor::from_fn([2, 3], |i| i as f32 * 0.1);
        let meta = HashMap::from([("kappa".to_string(), "-1".to_string())]);
        write(&path, &[("a", &a)], ("kappa", "-1".to_string())).unwrap();
        let (same, read_meta) = read::<f32>(&path).unwrap();
        assert_eq!((&same["a"], read_meta), (&a, meta));
        assert_eq!(read::<f64>(&path).unwrap().0["a"], a.cast());
        std::fs::write(&path, b"not tensors").unwrap();
        assert!(read::<f32>(&path).is_err());
    }
}

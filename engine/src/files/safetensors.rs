//! Named tensors in a safetensors file, the format in which machine-learning frameworks exchange
//! weights.
//!
//! Source: <https://github.com/huggingface/safetensors#format>. A file is the header's length as
//! little-endian `u64`, the header, and the elements. The header is a JSON object of each tensor's
//! element type, shape and range of bytes, and of `__metadata__`, an object of strings. The ranges cover
//! the elements without gap or overlap.
//!
//! Files are written with the crate `safetensors`. They are parsed here, so that an error can name the
//! tensor.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use safetensors::{Dtype, View, tensor::TensorInfo};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::{FileError, atomic, elements};
use crate::tape::float::Float;
use crate::tensor::Tensor;

const METADATA: &str = "__metadata__";

/// A tensor as the crate `safetensors` reads it.
struct Stored<'a, T: Float>(&'a Tensor<T>);

impl<T: Float> View for Stored<'_, T> {
    fn dtype(&self) -> Dtype {
        if T::NAME == "f32" { Dtype::F32 } else { Dtype::F64 }
    }
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(elements::encode(self.0.data()))
    }
    fn data_len(&self) -> usize {
        size_of_val(self.0.data())
    }
}

/// Writes named tensors with at most one entry of metadata, atomically. The same input gives the same bytes.
/// (Several entries would be written in an order that differs from run to run.)
///
/// # Errors
/// If the file cannot be written, a name is given twice, or a name is `__metadata__`, which the format
/// reserves.
pub fn write<T: Float>(
    path: &Path,
    tensors: &[(&str, &Tensor<T>)],
    metadata: Option<(&str, &str)>,
) -> Result<(), FileError> {
    let mut names = BTreeSet::from([METADATA]);
    if let Some((name, _)) = tensors.iter().find(|(name, _)| !names.insert(name)) {
        return Err(FileError::content(path)(format!("tensor {name:?}: the name is taken")));
    }
    let views = tensors.iter().map(|(name, tensor)| (*name, Stored(tensor)));
    let metadata = metadata.map(|(key, value)| HashMap::from([(key.to_owned(), value.to_owned())]));
    let bytes =
        safetensors::serialize(views, metadata).map_err(|e| FileError::content(path)(e.to_string()))?;
    atomic::write(path, |w| w.write_all(&bytes)).map_err(FileError::io(path))
}

/// What a file holds: tensors by name, and metadata.
pub type Contents<T> = (HashMap<String, Tensor<T>>, HashMap<String, String>);

/// Reads all tensors, by name, with the file's metadata. Elements of the other float type are converted.
///
/// # Errors
/// If the file cannot be read, is not in the format, or holds another element type.
pub fn read<T: Float>(path: &Path) -> Result<Contents<T>, FileError> {
    let bytes = std::fs::read(path).map_err(FileError::io(path))?;
    parse(&bytes).map_err(FileError::content(path))
}

/// Same as [`read`], of the bytes of a file.
///
/// # Errors
/// What is wrong with them, in words.
pub fn parse<T: Float>(bytes: &[u8]) -> Result<Contents<T>, String> {
    let (&length, bytes) = bytes.split_first_chunk().ok_or("not a safetensors file: no header")?;
    let length = u64::from_le_bytes(length);
    let (header, data) =
        usize::try_from(length).ok().and_then(|length| bytes.split_at_checked(length)).ok_or_else(|| {
            format!("not a whole safetensors file: a header of {length} bytes in {}", bytes.len())
        })?;
    let header = std::str::from_utf8(header).map_err(|e| format!("header: {e}"))?;
    let Header { tensors, metadata } = serde_json::from_str(header).map_err(|e| format!("header: {e}"))?;

    let mut in_order: Vec<_> = tensors.into_iter().collect();
    in_order.sort_by_key(|(_, info)| info.data_offsets);
    let mut covered = 0;
    let mut tensors = HashMap::with_capacity(in_order.len());
    for (name, info) in in_order {
        let tensor = tensor(&info, data, covered).map_err(|e| format!("tensor {name:?}: {e}"))?;
        covered = info.data_offsets.1;
        tensors.insert(name, tensor);
    }
    if covered != data.len() {
        return Err(format!("{} bytes after the last tensor", data.len() - covered));
    }
    Ok((tensors, metadata))
}

/// One tensor. Its range must start at `covered`, where the previous one ended.
fn tensor<T: Float>(info: &TensorInfo, data: &[u8], covered: usize) -> Result<Tensor<T>, String> {
    let (start, end) = info.data_offsets;
    if start != covered {
        let fault = if start < covered { "overlaps another tensor" } else { "leaves a gap" };
        return Err(format!("its range {start}..{end} {fault}: the last one ended at {covered}"));
    }
    let bytes = data
        .get(start..end)
        .ok_or_else(|| format!("its range {start}..{end} is not in the {} bytes of elements", data.len()))?;
    let width = match info.dtype {
        Dtype::F32 => 4,
        Dtype::F64 => 8,
        other => return Err(format!("it holds {other}; F32 or F64 is needed")),
    };
    elements::check_size(&info.shape, width, bytes.len())?;
    Ok(Tensor::new(&info.shape[..], elements::decode(bytes, width)))
}

struct Header {
    tensors: BTreeMap<String, TensorInfo>,
    metadata: HashMap<String, String>,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Header;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
                let (mut tensors, mut metadata) = (BTreeMap::new(), None);
                while let Some(name) = map.next_key::<String>()? {
                    let wrong = |e| Error::custom(format!("{name:?}: {e}"));
                    let repeated = if name == METADATA {
                        metadata.replace(map.next_value().map_err(wrong)?).is_some()
                    } else {
                        let info = map.next_value().map_err(wrong)?;
                        tensors.insert(name.clone(), info).is_some()
                    };
                    if repeated {
                        return Err(Error::custom(format!("{name:?} occurs twice")));
                    }
                }
                Ok(Header { tensors, metadata: metadata.unwrap_or_default() })
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

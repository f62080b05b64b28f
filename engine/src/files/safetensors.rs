//! Named tensors in a safetensors file, the format in which machine-learning frameworks exchange
//! weights.
//!
//! Source: <https://github.com/huggingface/safetensors#format>. A file is the header's length as
//! little-endian `u64`, the header, and the elements. The header is a JSON object of each tensor's
//! element type, shape and range of bytes, and of `__metadata__`, an object of strings. The ranges cover
//! the elements without gap or overlap.
//!
//! The format limits headers to 100 MB. So a long value of the metadata is the bytes of a tensor (`U8`)
//! that has its key as its name, and the entry in `__metadata__` is empty.
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

/// A value of the metadata that takes up to this many bytes in the header is stored there. The format's limit
/// is 100 million for the whole header.
const LONGEST_IN_HEADER: usize = 90_000_000;

/// What the crate `safetensors` writes as a tensor.
enum Stored<'a, T: Float> {
    Tensor(&'a Tensor<T>),
    /// A long value of the metadata, and the number of its bytes.
    Text(&'a str, [usize; 1]),
}

impl<T: Float> View for Stored<'_, T> {
    fn dtype(&self) -> Dtype {
        match self {
            Stored::Text(..) => Dtype::U8,
            Stored::Tensor(_) if T::NAME == "f32" => Dtype::F32,
            Stored::Tensor(_) => Dtype::F64,
        }
    }
    fn shape(&self) -> &[usize] {
        match self {
            Stored::Tensor(tensor) => tensor.shape().axes(),
            Stored::Text(_, length) => length,
        }
    }
    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Stored::Tensor(tensor) => Cow::Owned(elements::encode(tensor.data())),
            Stored::Text(text, _) => Cow::Borrowed(text.as_bytes()),
        }
    }
    fn data_len(&self) -> usize {
        match self {
            Stored::Tensor(tensor) => size_of_val(tensor.data()),
            Stored::Text(text, _) => text.len(),
        }
    }
}

/// Writes named tensors with at most one entry of metadata, atomically. The same input gives the same bytes.
/// (Several entries would be written in an order that differs from run to run.) A value too long for the
/// header becomes a tensor of bytes with the name of its key.
///
/// # Errors
/// If the file cannot be written, a name is given twice (the key of a long value counts), or a name is
/// `__metadata__`, which the format reserves.
pub fn write<T: Float>(
    path: &Path,
    tensors: &[(&str, &Tensor<T>)],
    metadata: Option<(&str, &str)>,
) -> Result<(), FileError> {
    let mut views: Vec<_> = tensors.iter().map(|(name, tensor)| (*name, Stored::Tensor(tensor))).collect();
    let metadata = metadata.map(|(key, value)| {
        // As JSON, with its quotes and control characters escaped.
        let long = serde_json::to_string(value).is_ok_and(|json| json.len() > LONGEST_IN_HEADER);
        views.extend(long.then_some((key, Stored::Text(value, [value.len()]))));
        HashMap::from([(key.to_owned(), if long { String::new() } else { value.to_owned() })])
    });
    let mut names = BTreeSet::from([METADATA]);
    if let Some((name, _)) = views.iter().find(|(name, _)| !names.insert(name)) {
        return Err(FileError::content(path)(format!("tensor {name:?}: the name is taken")));
    }
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
    let Header { tensors, mut metadata } =
        serde_json::from_str(header).map_err(|e| format!("header: {e}"))?;

    let mut in_order: Vec<_> = tensors.into_iter().collect();
    in_order.sort_by_key(|(_, info)| info.data_offsets);
    let mut covered = 0;
    let mut tensors = HashMap::with_capacity(in_order.len());
    for (name, info) in in_order {
        let fault = |e| format!("tensor {name:?}: {e}");
        let bytes = range(&info, data, covered).map_err(fault)?;
        covered = info.data_offsets.1;
        match metadata.get_mut(&name).filter(|value| value.is_empty() && info.dtype == Dtype::U8) {
            Some(value) => *value = text(&info, bytes).map_err(fault)?.to_owned(),
            None => {
                let tensor = tensor(&info, bytes).map_err(fault)?;
                tensors.insert(name, tensor);
            }
        }
    }
    if covered != data.len() {
        return Err(format!("{} bytes after the last tensor", data.len() - covered));
    }
    Ok((tensors, metadata))
}

/// The bytes of a tensor. Their range must start at `covered`, where the previous one ended.
fn range<'a>(info: &TensorInfo, data: &'a [u8], covered: usize) -> Result<&'a [u8], String> {
    let (start, end) = info.data_offsets;
    if start != covered {
        let fault = if start < covered { "overlaps another tensor" } else { "leaves a gap" };
        return Err(format!("its range {start}..{end} {fault}: the last one ended at {covered}"));
    }
    data.get(start..end)
        .ok_or_else(|| format!("its range {start}..{end} is not in the {} bytes of elements", data.len()))
}

fn tensor<T: Float>(info: &TensorInfo, bytes: &[u8]) -> Result<Tensor<T>, String> {
    let width = match info.dtype {
        Dtype::F32 => 4,
        Dtype::F64 => 8,
        other => return Err(format!("it holds {other}; F32 or F64 is needed")),
    };
    elements::check_size(&info.shape, width, bytes.len())?;
    Ok(Tensor::new(&info.shape[..], elements::decode(bytes, width)))
}

/// A value of the metadata that is stored as a tensor.
fn text<'a>(info: &TensorInfo, bytes: &'a [u8]) -> Result<&'a str, String> {
    elements::check_size(&info.shape, 1, bytes.len())?;
    std::str::from_utf8(bytes).map_err(|e| format!("it is metadata: {e}"))
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

//! Tensors in files: files written by the formats' specifications, round trips that keep every bit, and
//! hostile files. Reading those must return an error that names the file, without a panic and without a large
//! allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use cotangent_engine::files::{FileError, npy, safetensors};
use cotangent_engine::{Float, Tensor};
use tempfile::TempDir;

mod formats;
mod properties;
#[cfg(unix)]
mod replacement;

use properties::npy_by_specification;

/// The system's allocator, remembering the largest request of each thread.
struct Watched;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn watch(size: usize) {
    LARGEST.set(LARGEST.get().max(size));
}

// SAFETY: every call goes to the system's allocator as it came. A constant thread-local without a
// destructor neither allocates nor panics.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        watch(layout.size());
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch(size);
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(old, layout, size) }
    }
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// A file in a directory of its own.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("file")
    }

    /// Reads a file of these bytes and watches what is allocated. An error is returned as its message
    /// without the file's name.
    fn read<R>(&self, bytes: &[u8], read: impl Fn(&Path) -> Result<R, FileError>) -> Result<R, String> {
        let path = self.path();
        // Some file systems wait for the disk when a file is written over, but not when it is new.
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        LARGEST.set(0);
        let result = read(&path);
        let largest = LARGEST.get();
        assert!(largest >= bytes.len(), "the allocator is not watched");
        assert!(largest <= 32 * bytes.len() + (16 << 10), "{largest} bytes for a file of {}", bytes.len());
        result.map_err(|error| {
            assert!(matches!(error, FileError::Content { .. }), "{error:?}");
            let (message, name) = (error.to_string(), format!("{}: ", path.display()));
            message.strip_prefix(&name).unwrap_or_else(|| panic!("no file named: {message}")).to_owned()
        })
    }

    /// The bytes that a function writes.
    fn written(&self, write: impl FnOnce(&Path) -> Result<(), FileError>) -> Vec<u8> {
        write(&self.path()).unwrap();
        fs::read(self.path()).unwrap()
    }

    /// Reads bytes in both formats and both element types. A tensor that is read must survive another round
    /// trip.
    fn survives(&self, bytes: &[u8]) {
        self.survives_as::<f32>(bytes);
        self.survives_as::<f64>(bytes);
    }

    fn survives_as<T: Float>(&self, bytes: &[u8]) {
        let mut tensors = Vec::new();
        if let Ok(tensor) = self.read(bytes, npy::read::<T>) {
            tensors.push(tensor);
        }
        if let Ok((named, _)) = self.read(bytes, safetensors::read::<T>) {
            tensors.extend(named.into_values());
        }
        assert!(4 * tensors.iter().map(Tensor::len).sum::<usize>() <= bytes.len());
        for tensor in tensors {
            assert_eq!(tensor.shape().elements(), tensor.data().len());
            assert!(tensor.to_string().len() < 1 << 16);
            let content = (tensor.shape().axes().to_vec(), bits(&tensor));
            let bytes = npy_by_specification(&content, (size_of::<T>() == 8, false, false), 2);
            same_bits(&self.read(&bytes, npy::read::<T>).unwrap(), &tensor);
        }
    }
}

/// The bits of an element, in the lower half where it is `f32`.
fn to_bits<T: Float>(x: T) -> u64 {
    let mut bytes = Vec::new();
    x.write_le(&mut bytes);
    bytes.resize(8, 0);
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn bits<T: Float>(tensor: &Tensor<T>) -> Vec<u64> {
    tensor.data().iter().map(|&x| to_bits(x)).collect()
}

#[track_caller]
fn same_bits<T: Float>(a: &Tensor<T>, b: &Tensor<T>) {
    assert_eq!((a.shape(), bits(a)), (b.shape(), bits(b)));
}

/// A `.npy` file without padding.
fn npy_file(version: u8, header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    let length = header.len() as u32;
    let length =
        if version == 1 { length.to_le_bytes()[..2].to_vec() } else { length.to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, header, data].concat()
}

fn safetensors_file(header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    let header = header.as_ref();
    [&(header.len() as u64).to_le_bytes(), header, data].concat()
}

fn little_endian(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn big_endian(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_be_bytes()).collect()
}

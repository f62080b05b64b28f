//! Files that the engine reads and writes. All are written atomically. Reading any file of tensors, also a
//! damaged one, does not panic and allocates no more than a small multiple of the file's size.

pub mod atomic;
pub mod checkpoint;
mod elements;
mod error;
pub mod npy;
pub mod safetensors;

pub use error::FileError;

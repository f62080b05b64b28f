//! Files that the engine reads and writes. None is ever half-written. Reading a file of tensors,
//! whatever it holds, returns a result and allocates no more than a small multiple of the file's size.

pub mod atomic;
pub mod checkpoint;
mod elements;
mod error;
pub mod npy;
pub mod safetensors;

pub use error::FileError;

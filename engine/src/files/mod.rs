//! Files that the engine reads and writes: nothing is ever half-written.

pub mod atomic;
pub mod checkpoint;
pub mod safetensors;

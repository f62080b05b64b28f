//! The lowest floor, a crate of its own: scalars, lanes, elementary functions, SIMD, threads, storage types.

pub use cotangent_numbers::*;

//! Numbers: the scalars that formulas are generic over, elementary functions, SIMD lanes, the storage types
//! of tensors, random streams, dense matrices.

pub mod compensated;
pub mod dual;
pub mod elementary;
pub mod lanes;
pub mod line;
#[doc(hidden)]
pub mod matrix;
pub mod norm;
pub mod parallel;
pub mod per_type;
pub mod program;
pub mod rng;
pub mod scalar;
pub mod scratch;
pub mod simd;
pub mod storage;
pub mod trace;

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

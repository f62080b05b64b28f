//! Numbers: the scalars that formulas are generic over, their functions, and how they are computed side by side.

pub(crate) mod dual;
pub mod elementary;
pub(crate) mod lanes;
pub(crate) mod parallel;
pub mod rng;
pub mod scalar;
pub mod simd;
pub(crate) mod trace;

//! Numbers: the scalars that formulas are generic over, their functions, and how they are computed side
//! by side.

pub(crate) mod compensated;
pub(crate) mod dual;
pub mod elementary;
pub(crate) mod lanes;
pub(crate) mod line;
pub(crate) mod parallel;
pub(crate) mod per_type;
pub mod rng;
pub mod scalar;
pub(crate) mod scratch;
pub mod simd;
pub(crate) mod storage;
pub(crate) mod trace;

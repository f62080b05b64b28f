//! Numbers: the scalars that formulas are generic over, their functions, and how they are computed side
//! by side.

// Its documentation is that of the engine, which shows what is for others.
#![allow(missing_docs)]

pub mod compensated;
pub mod dual;
pub mod elementary;
pub mod lanes;
pub mod line;
pub mod parallel;
pub mod per_type;
pub mod rng;
pub mod scalar;
pub mod scratch;
pub mod simd;
pub mod storage;
pub mod trace;

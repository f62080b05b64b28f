//! Tests of the parts of the engine: elementary functions, scalars, kernels, tensors, files. They are one
//! binary that uses the public interface, so that the library is not compiled again for its tests.

mod device;
mod domain;
mod dual;
mod elementary;
mod elements;
mod files;
mod kernels;
mod lanes;
#[cfg(feature = "opencl")]
mod opencl;
mod pool;
mod program;
mod scalar;
mod shape;
mod simd;
mod tensor;

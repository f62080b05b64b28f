//! The parts of the engine one by one: elementary functions, scalars, kernels, tensors, files. One
//! binary, which uses the public interface, so that the library is not compiled once more for its tests.

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
mod scalar;
mod shape;
mod simd;
mod tensor;

//! The kernels, each written once for every formula. They take slices and write slices, and know no tape.

pub(crate) mod attend;
pub(crate) mod conv;
pub(crate) mod dropout;
pub(crate) mod finite;
mod gemm;
pub(crate) mod gram;
pub(crate) mod index;
pub(crate) mod layer_norm;
pub(crate) mod map;
pub(crate) mod matmul;
pub(crate) mod operands;
pub(crate) mod pair;
pub(crate) mod pieces;
pub(crate) mod pool2d;
pub(crate) mod reduce;
pub(crate) mod softmax;
pub(crate) mod sparse;
pub(crate) mod tiles;
pub(crate) mod update_elements;
pub(crate) mod update_rows;
pub(crate) mod wedge;

//! Tests of the crate `cotangent`. They are one binary, so that the kernels of every formula are compiled
//! only once.

mod bad_shapes;
mod batch_norm;
mod common;
mod draws;
mod formulas;
mod gradients;
mod laws;
mod limit;
mod operations;
mod pairs;
mod prelude;
mod sparse;
mod tape;
mod tiles;

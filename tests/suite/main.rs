//! The facade's tests. One binary: the kernels of every formula are compiled once for all of them.

mod bad_shapes;
mod common;
mod draws;
mod formulas;
mod gradients;
mod laws;
mod operations;
mod pairs;
mod prelude;
mod sparse;
mod tape;

//! The models of hyperbolic space and the sphere, products, conversions, cones, geodesics beyond their
//! ends, gyroplanes and Busemann functions. One binary: the formulas are compiled once.

use cotangent_engine::{Tensor, Var};

mod antipodes;
mod busemann;
#[path = "../common/mod.rs"]
mod common;
mod cones;
mod conversions;
mod geodesic;
mod gyroplane;
mod horopca;
mod maps;
mod mutants;
mod product_space;
mod shadows;
mod triangles;
mod values;

/// A loss that weighs every element of a result, near 10: derivatives and rounding are measured against it.
fn weighted(v: Var<'_, f64>) -> Var<'_, f64> {
    let w = Tensor::from_fn(v.shape(), |i| 0.3 + (1.0 + i as f64).sin());
    10.0 + (v * v.tape().constant(&w)).sum()
}

//! Attention with every score, in each of its forms.

use std::sync::Arc;

use cotangent::engine::{Sparsity, Weights};
use cotangent::layers::Aggregation;
use cotangent::layers::score::PolarDistance;
use cotangent::prelude::*;

use crate::assert_same;

fn names() -> impl Iterator<Item = &'static str> {
    score::all::<f32>().into_iter().map(|score| score.name())
}

fn named<T: Float>(name: &str) -> Box<dyn Score<T>> {
    score::all().into_iter().find(|score| score.name() == name).unwrap()
}

#[test]
fn in_tiles() {
    for name in names() {
        same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
            Attention::new(&*named(name), 4).forward(v[0], v[1], v[2], Mask::Causal)
        });
    }
    same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
        let (weights, aggregation) = (Weights::Sigmoid, Aggregation::Barycentre);
        let attention = Attention { weights, aggregation, ..Attention::new(&PolarDistance, 4) };
        attention.forward(v[0], v[1], v[2], Mask::None)
    });
}

#[test]
fn with_stored_weights() {
    for name in names() {
        same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
            let hidden = v[0].tape().constant(&Tensor::from_fn([6, 7], |at| {
                if at % 5 == 1 { Scalar::one() } else { Scalar::zero() }
            }));
            Attention::new(&*named(name), 4).forward(v[0], v[1], v[2], Mask::Hidden(hidden))
        });
    }
}

#[test]
fn along_edges() {
    let pairs = [(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (0, 1), (3, 3), (2, 0)];
    let edges = Arc::new(Sparsity::new(4, 5, &pairs)); // a row and a column without elements
    for name in names() {
        // Where a query is above the cones of all its keys, a change of the query shifts all its scores
        // alike. The terms of its gradient then cancel to about a hundredth of their size.
        let cancels = name == "umbral";
        same!(if cancels { 1024.0 } else { 32.0 }, [[4, 2, 4], [5, 2, 4], [5, 2, 3]], |v| {
            Attention::new(&*named(name), 4).along_edges(v[0], v[1], v[2], &edges)
        });
    }
}

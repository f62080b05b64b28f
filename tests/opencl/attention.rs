//! Attention with every score, in each of its forms.

use std::sync::Arc;

use cotangent::engine::{Sparsity, Weights};
use cotangent::layers::{Aggregation, Attention, Mask, Similarity};
use cotangent::prelude::*;

use crate::assert_same;

#[test]
fn in_tiles() {
    for similarity in Similarity::ALL {
        same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
            Attention::new(similarity, 4).forward(v[0], v[1], v[2], Mask::Causal)
        });
    }
    same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
        let (weights, aggregation) = (Weights::Sigmoid, Aggregation::Barycentre);
        let attention = Attention { weights, aggregation, ..Attention::new(Similarity::PolarDistance, 4) };
        attention.forward(v[0], v[1], v[2], Mask::None)
    });
}

#[test]
fn of_stored_weights() {
    for similarity in Similarity::ALL {
        same!(32.0, [[2, 6, 4], [2, 7, 4], [2, 7, 3]], |v| {
            let hidden = v[0].tape().constant(&Tensor::from_fn([6, 7], |at| {
                if at % 5 == 1 { Scalar::one() } else { Scalar::zero() }
            }));
            Attention::new(similarity, 4).forward(v[0], v[1], v[2], Mask::Hidden(hidden))
        });
    }
}

#[test]
fn along_edges() {
    let pairs = [(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (0, 1), (3, 3), (2, 0)];
    let edges = Arc::new(Sparsity::new(4, 5, &pairs)); // a row and a column without elements
    for similarity in Similarity::ALL {
        // Where queries are above the cones of all their keys, only their scores shift. Their gradients
        // then cancel to almost nothing, from terms that are a hundred times as large.
        let cancels = matches!(similarity, Similarity::UmbralCone { .. });
        same!(if cancels { 1024.0 } else { 32.0 }, [[4, 2, 4], [5, 2, 4], [5, 2, 3]], |v| {
            Attention::new(similarity, 4).along_edges(v[0], v[1], v[2], &edges)
        });
    }
}

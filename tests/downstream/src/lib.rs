//! A manifold, a score of attention and a layer of one's own.

pub mod layer;
pub mod manifold;
pub mod score;

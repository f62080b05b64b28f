//! Layers written against the operations of a manifold, so that one layer serves every geometry.
//!
//! | layer | file |
//! |---|---|
//! | [`Embedding`]: a table of points, looked up by number | `embedding.rs` |
//! | [`loss`]: losses over distances | `loss.rs` |

mod embedding;
pub mod loss;

pub use embedding::Embedding;

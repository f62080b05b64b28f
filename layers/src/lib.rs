//! Layers written in terms of a manifold's operations, so that one layer serves every geometry.
//!
//! A layer takes points of one manifold and returns points of the same manifold. `Gru<PoincareBall>` is
//! the layer of Ganea, Bécigneul, Hofmann 2018 (*Hyperbolic Neural Networks*, whose equations are cited
//! by number); `Gru<Euclidean>` is the ordinary one. [`exp0`] and [`log0`] lead from one geometry to
//! another. [`GyrovectorSpace`] lists the operations that a geometry must offer. For a geometry whose
//! [`Curvature`] is learned, use the methods `forward_in`. Every layer is a
//! [`Module`](cotangent_manifolds::Module), and its fields are public.
//!
//! | layer | file |
//! |---|---|
//! | [`Embedding`]: a table of points, looked up by number | `embedding.rs` |
//! | [`Linear`]: `M ⊗ x ⊕ b` | `linear.rs` |
//! | [`PoincareLinear`]: a point given by its distances to hyperplanes | `poincare_linear.rs` |
//! | [`Concat`]: several inputs as one, points and real features | `concat.rs` |
//! | [`Activation`]: any pointwise map | `activation.rs` |
//! | [`Dropout`] | `dropout.rs` |
//! | [`BatchNorm`]: brings batches to a learned mean and deviation | `batch_norm.rs` |
//! | [`FeedForward`]: linear layers and activations | `feed_forward.rs` |
//! | [`LogisticRegression`], [`UnidirectionalRegression`]: logits of classes | `logistic_regression.rs` |
//! | [`Cell`]: recurrent layers over sequences of different lengths | `cell.rs` |
//! | [`Rnn`] | `rnn.rs` |
//! | [`Gru`] | `gru.rs` |
//! | [`Bidirectional`]: sequences read both ways | `bidirectional.rs` |
//! | [`Attention`]: scores by dot product, distance or cones | `attention.rs` |
//! | [`MultiHeadAttention`] | `multi_head_attention.rs` |
//! | [`AttentionPooling`]: a sequence as one point | `attention_pooling.rs` |
//! | [`GraphAttention`]: attention along the edges of a graph | `graph_attention.rs` |
//! | [`EncoderLayer`], [`DecoderLayer`] of transformers | `transformer.rs` |
//! | [`LayerNorm`] | `layer_norm.rs` |
//!
//! | what layers use | file |
//! |---|---|
//! | [`GyrovectorSpace`]: the operations that layers need of a geometry | `gyrovector_space.rs` |
//! | [`Geometry`]: the geometry that a model is built in | `gyrovector_space.rs` |
//! | [`exp0`], [`log0`]: between Euclidean and curved layers | `maps.rs` |
//! | [`Curvature`]: a curvature that is learned | `curvature.rs` |
//! | [`init`]: initial values of weights | `init.rs` |
//! | [`PositionEmbedding`]: learned positions; [`position`]: sinusoidal ones | `position.rs` |
//! | [`loss`]: losses over distances | `loss.rs` |

mod activation;
mod attention;
mod attention_pooling;
mod batch_norm;
mod bidirectional;
mod cell;
mod concat;
mod curvature;
mod dropout;
mod embedding;
mod feed_forward;
mod graph_attention;
mod gru;
mod gyrovector_space;
pub mod init;
mod layer_norm;
mod linear;
mod logistic_regression;
pub mod loss;
mod maps;
mod multi_head_attention;
mod poincare_linear;
pub mod position;
mod rnn;
mod transformer;

pub use activation::Activation;
pub use attention::{Aggregation, Attention, Mask, Similarity};
pub use attention_pooling::AttentionPooling;
pub use batch_norm::{BatchNorm, BatchStatistics};
pub use bidirectional::Bidirectional;
pub use cell::Cell;
pub use concat::Concat;
pub use cotangent_engine::Weights;
pub use curvature::Curvature;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use feed_forward::FeedForward;
pub use graph_attention::{Features, GraphAttention, Heads};
pub use gru::Gru;
pub use gyrovector_space::{Geometry, GyrovectorSpace};
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use logistic_regression::{LogisticRegression, UnidirectionalRegression};
pub use maps::{exp0, log0};
pub use multi_head_attention::{KeyValueCache, MultiHeadAttention};
pub use poincare_linear::PoincareLinear;
pub use position::PositionEmbedding;
pub use rnn::Rnn;
pub use transformer::{DecoderLayer, EncoderLayer, NormOrder, TransformerSizes};

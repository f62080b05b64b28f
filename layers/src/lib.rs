//! Layers written in terms of a manifold's operations, so that one layer serves every geometry that is a
//! [`GyrovectorSpace`]: Euclidean space, the κ-stereographic models, and a learned curvature.
//!
//! A layer takes points of one manifold and returns points of the same manifold. `Gru<PoincareBall>` is
//! the layer of Ganea, Bécigneul, Hofmann 2018 (*Hyperbolic Neural Networks*); equation numbers are those
//! of this paper unless another one is named. `Gru<Euclidean>` is the ordinary layer. [`exp0`] and
//! [`log0`] map from one geometry to another. [`GyrovectorSpace`] lists the operations of a geometry,
//! whose curvature can be learned: see [`Curvature`]. Every layer is a
//! [`Module`](cotangent_manifolds::Module), and its fields are public.
//!
//! | layer | file |
//! |---|---|
//! | [`Embedding`]: a table of points, looked up by number | `embedding.rs` |
//! | [`AdaptiveEmbedding`]: word vectors with fewer numbers for rarer words | `adaptive_embedding.rs` |
//! | [`AdaptiveSoftmax`]: over bands of words, for large vocabularies | `adaptive_softmax.rs` |
//! | [`Linear`]: `M ⊗ x ⊕ b` | `linear/` |
//! | [`PoincareLinear`]: a point given by its distances to hyperplanes | `linear/poincare_linear.rs` |
//! | [`Concat`]: a linear layer of several inputs, points and real features | `linear/concat.rs` |
//! | [`Activation`]: any pointwise map | `activation.rs` |
//! | [`Dropout`] | `dropout.rs` |
//! | [`StochasticDepth`]: leaves out residual blocks, by sample | `stochastic_depth.rs` |
//! | [`BatchNorm`]: brings batches to a learned deviation about a learned point | `norm/batch_norm.rs` |
//! | [`BatchNorm2d`]: batch normalisation of each channel of maps | `norm/batch_norm_2d.rs` |
//! | [`Conv2d`]; [`ConvStack`]: convolutions, normalised | `convolution.rs` |
//! | [`FeedForward`]: linear layers and activations | `linear/feed_forward.rs` |
//! | [`LogisticRegression`], [`UnidirectionalRegression`]: logits | `linear/logistic_regression.rs` |
//! | [`Cell`]: what recurrent layers have in common | `recurrent/cell.rs` |
//! | [`Rnn`] | `recurrent/rnn.rs` |
//! | [`Gru`] | `recurrent/gru.rs` |
//! | [`Lstm`] | `recurrent/lstm.rs` |
//! | [`Sequence`]: batches of sequences of different lengths | `recurrent/sequence.rs` |
//! | [`Bidirectional`]: a cell for each direction | `recurrent/bidirectional.rs` |
//! | [`Attention`]: with any [`Score`]: dot product, distance, cones, or one's own | `attention/` |
//! | [`Attend`]: the same as a function, without parameters | `attention/attend.rs` |
//! | [`score`]: all scores | `attention/score/` |
//! | [`PointMap`]: how activations become points | `attention/point_map.rs` |
//! | [`attentive_read`]: with a value for each pair of query and key | `attention/attentive_read.rs` |
//! | [`MultiHeadAttention`] | `attention/multi_head_attention.rs` |
//! | [`AttentionPooling`]: a sequence as one point | `attention/attention_pooling.rs` |
//! | [`GraphAttention`]: attention along the edges of a graph | `attention/graph_attention.rs` |
//! | [`GraphConvolution`]: along the edges of a graph, by tangents or midpoints | `graph_convolution.rs` |
//! | [`EncoderLayer`], [`DecoderLayer`] of transformers | `transformer.rs` |
//! | [`RelationNetwork`]: what all pairs of objects say together | `relation_network.rs` |
//! | [`LayerNorm`] | `norm/layer_norm.rs` |
//!
//! | what layers use | file |
//! |---|---|
//! | [`GyrovectorSpace`]: the operations that layers need of a geometry | `space/gyrovector_space.rs` |
//! | [`Geometry`]: the geometry that a model is built in | `space/gyrovector_space.rs` |
//! | [`exp0`], [`log0`], [`into_space`]: between layers of different geometries | `space/maps.rs` |
//! | [`Curvature`]: a curvature that is learned | `space/curvature.rs` |
//! | [`AnyGeometry`]: a geometry that is chosen at run time | `space/any_geometry.rs` |
//! | [`init`]: initial values of weights | `init.rs` |
//! | [`PositionEmbedding`]: learned positions; [`position`]: sinusoidal ones | `position.rs` |
//! | [`loss`]: losses over distances | `loss.rs` |

#![forbid(unsafe_code)]

// The name by which `#[derive(Module)]` looks for the trait.
extern crate cotangent_manifolds as cotangent;

mod activation;
mod adaptive_embedding;
mod adaptive_softmax;
mod attention;
mod convolution;
mod dropout;
mod embedding;
mod graph_convolution;
pub mod init;
mod linear;
pub mod loss;
mod norm;
pub mod position;
mod recurrent;
mod relation_network;
mod space;
mod stochastic_depth;
mod transformer;

pub use activation::Activation;
pub use adaptive_embedding::{AdaptiveEmbedding, Bands, band_widths};
pub use adaptive_softmax::AdaptiveSoftmax;
pub use attention::Attention;
pub use attention::attend::{Aggregation, Attend, Mask};
pub use attention::attention_pooling::AttentionPooling;
pub use attention::attentive_read::{Normaliser, attentive_read};
pub use attention::graph_attention::{Features, GraphAttention, Heads};
pub use attention::multi_head_attention::{KeyValueCache, MultiHeadAttention};
pub use attention::point_map::PointMap;
pub use attention::score::{self, Score};
pub use convolution::{Conv2d, ConvStack};
pub use cotangent_engine::Weights;
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use graph_convolution::{Adjacency, GraphConvolution};
pub use linear::Linear;
pub use linear::concat::Concat;
pub use linear::feed_forward::FeedForward;
pub use linear::logistic_regression::{LogisticRegression, UnidirectionalRegression};
pub use linear::poincare_linear::PoincareLinear;
pub use norm::batch_norm::{BatchNorm, BatchStatistics};
pub use norm::batch_norm_2d::BatchNorm2d;
pub use norm::layer_norm::LayerNorm;
pub use position::PositionEmbedding;
pub use recurrent::bidirectional::Bidirectional;
pub use recurrent::cell::Cell;
pub use recurrent::gru::Gru;
pub use recurrent::lstm::Lstm;
pub use recurrent::rnn::Rnn;
pub use recurrent::sequence::Sequence;
pub use relation_network::{Matching, RelationNetwork, RelationSizes};
pub use space::any_geometry::{AnyGeometry, AnySpace, Chosen};
pub use space::curvature::Curvature;
pub use space::gyrovector_space::{Geometry, GyrovectorSpace};
pub use space::maps::{exp0, into_space, log0};
pub use stochastic_depth::StochasticDepth;
pub use transformer::{DecoderLayer, EncoderLayer, NormOrder, TransformerSizes};

/// The example of the package's page is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

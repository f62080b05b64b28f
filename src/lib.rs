#![doc = include_str!(concat!(env!("OUT_DIR"), "/README.md"))]
//!
//! # A whole model
//!
//! The example `12_hyperbolic_gru`:
//!
//! ```
#![doc = include_str!("../examples/12_hyperbolic_gru.rs")]
//! ```

#![forbid(unsafe_code)]

/// A page of the documentation as `build.rs` has prepared it.
macro_rules! page {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}

pub mod guide;

pub use cotangent_engine as engine;
pub use cotangent_layers as layers;
pub use cotangent_manifolds as manifolds;
pub use cotangent_manifolds::laws;
pub use cotangent_manifolds::module;
pub use cotangent_optim as optim;

/// What most programs need.
pub mod prelude {
    pub use cotangent_engine::{
        Device, Float, GradientView, Gradients, MapFormula, Operation, PairFormula, Pairing, Row, RowFormula,
        Rows, Scalar, Shape, Sparsity, Storage, Tape, Tensor, Var, rng,
    };
    pub use cotangent_layers::{
        Activation, AdaptiveEmbedding, AdaptiveSoftmax, Adjacency, AnyGeometry, AnySpace, Attend, Attention,
        AttentionPooling, BatchNorm, BatchNorm2d, Bidirectional, Cell, Concat, Conv2d, ConvStack, Curvature,
        Dropout, Embedding, Features, FeedForward, Geometry, GraphAttention, GraphConvolution, Gru,
        GyrovectorSpace, Heads, LayerNorm, Linear, LogisticRegression, Lstm, Mask, MultiHeadAttention,
        PoincareLinear, RelationNetwork, Rnn, Score, Sequence, StochasticDepth, UnidirectionalRegression,
        exp0, into_space, log0, loss, score,
    };
    pub use cotangent_manifolds::spaces::*;
    pub use cotangent_manifolds::{
        Barycentre, Busemann, ConstantCurvature, EntailmentCones, FrechetMean, Gyroplanes, HoroPca,
        Hyperbolic, Isometric, Manifold, Module, OriginFrame, Param, Point, Retraction, Sets, Spread, Steps,
        Tangent, WrappedNormal,
    };
    pub use cotangent_optim::train::{Batches, ByLength, Goal, Repeated, Shuffled, Trainer};
    pub use cotangent_optim::{DataParallel, HoroPcaFit, RiemannianAdam, RiemannianSgd, Schedule};
}

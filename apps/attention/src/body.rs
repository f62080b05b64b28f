//! The layers of a transformer, as the options of `transformer`, `lm`, `vit` and `dit` describe them: their
//! sizes, their attention, their positions.

use std::ops::Range;

use clap::ValueEnum;
use cotangent::engine::rng::Rng;
use cotangent::layers::{
    EncoderLayer, NormOrder, PositionEmbedding, Score, TransformerSizes, init, position,
};
use cotangent::prelude::*;
use cotangent_apps_common::attention::{AttentionOptions, Scores};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options;
use serde::{Deserialize, Serialize};

/// Where residual blocks apply layer normalisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormOption {
    /// Before each sublayer: x + f(norm(x)).
    Pre,
    /// After each sum: norm(x + f(x)).
    Post,
}

impl From<NormOption> for NormOrder {
    fn from(norm: NormOption) -> Self {
        match norm {
            NormOption::Pre => NormOrder::Pre,
            NormOption::Post => NormOrder::Post,
        }
    }
}

/// How the positions of tokens are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionsOption {
    /// Sines and cosines of different frequencies (Vaswani et al. 2017).
    Sinusoidal,
    /// A learned vector for each position.
    Learned,
    /// A learned point p of the Poincaré ball for each position, initially near the origin. A token's vector
    /// x becomes √width · log₀(exp₀(x) ⊕ p) (López & Strube 2020, section 4.4).
    Hyperbolic,
}

/// The layers of a transformer.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// The name of the attention score, and its other options.
    pub attention: (&'a str, &'a AttentionOptions),
    /// Number of layers that are applied.
    pub layers: usize,
    /// Width of a layer.
    pub width: usize,
    /// Number of heads.
    pub heads: usize,
    /// Dimensions of a head's values.
    pub head_dim: usize,
    /// Dimensions of a head's queries and keys, if they have others.
    pub key_dim: Option<usize>,
    /// Hidden units of a feed-forward network.
    pub hidden: usize,
    /// Where layers normalise.
    pub norm: NormOption,
    /// Dropout rate of each sublayer's result.
    pub dropout: f64,
    /// Dropout rate of attention weights.
    pub attention_dropout: f64,
}

/// The layers that a configuration describes: its fields have the same names.
// Not a struct of these fields, because their defaults differ between the applications and their sizes.
#[macro_export]
macro_rules! body {
    ($config:expr) => {
        $crate::body::Body {
            attention: (&$config.attention, &$config.options),
            layers: $config.layers,
            width: $config.width,
            heads: $config.heads,
            head_dim: $config.head_dim.unwrap_or_default(),
            key_dim: $config.key_dim,
            hidden: $config.hidden,
            norm: $config.norm,
            dropout: $config.dropout,
            attention_dropout: $config.attention_dropout,
        }
    };
}

/// The dimensions of a head, by default the width divided by the number of heads, and those of its queries
/// and keys if they are others.
pub fn head_dims(
    [width, heads]: [usize; 2],
    head_dim: Option<usize>,
    key_dim: Option<usize>,
) -> [Option<usize>; 2] {
    let head_dim = head_dim.unwrap_or((width / heads.max(1)).max(1));
    [Some(head_dim), key_dim.filter(|&key| key != head_dim)]
}

impl Body<'_> {
    /// Dimensions of a head's queries and keys, and of its values.
    pub fn head(&self) -> [usize; 2] {
        [self.key_dim.unwrap_or(self.head_dim), self.head_dim]
    }

    /// The sizes of a layer.
    pub fn sizes(&self) -> TransformerSizes {
        TransformerSizes {
            width: self.width,
            heads: self.heads,
            head: self.head(),
            hidden: self.hidden,
            dropout: self.dropout,
            order: self.norm.into(),
        }
    }

    /// The options that the number of a layer's parameters depends on. One that has no effect is 0.
    pub fn options(&self) -> [(&'static str, usize); 6] {
        [
            ("layers", self.layers),
            ("width", self.width),
            ("heads", self.heads),
            ("head-dim", self.head_dim),
            ("key-dim", self.key_dim.unwrap_or(0)),
            ("hidden", self.hidden),
        ]
    }

    /// A lower bound on the number of a layer's parameters: those of queries, keys and values, and of the
    /// feed-forward network. It is a float, because sizes read from a file could overflow an integer.
    pub fn layer_parameters(&self) -> f64 {
        let [key, value] = self.head().map(|d| d as f64);
        self.width as f64 * (self.heads as f64 * (2.0 * key + value) + 2.0 * self.hidden as f64)
    }

    /// Checks the sizes, before anything is computed from them.
    ///
    /// # Errors
    /// If one is wrong; the error names the option.
    pub fn check_sizes(&self) -> Result<()> {
        let [key, value] = self.head();
        options::at_least_one(&[
            ("layers", self.layers as u64),
            ("width", self.width as u64),
            ("heads", self.heads as u64),
            ("head-dim", value as u64),
            ("key-dim", key as u64),
            ("hidden", self.hidden as u64),
        ])?;
        options::layers(self.layers)
    }

    /// Checks the other options, and returns the attention score.
    ///
    /// # Errors
    /// If one is wrong; the error names the option.
    pub fn score(&self, scores: &Scores) -> Result<Box<dyn Score<f32>>> {
        let ([key, value], (name, options)) = (self.head(), self.attention);
        let option = if self.key_dim.is_some() { "key-dim" } else { "head-dim" };
        let score = options.score(name, scores, (option, key), value)?;
        options::below_one(&[("dropout", self.dropout), ("attention-dropout", self.attention_dropout)])?;
        Ok(score)
    }

    /// Applies the options to the attention of a layer.
    pub fn apply(&self, layer: &mut MultiHeadAttention) {
        self.attention.1.apply_to_heads(layer);
        layer.attention.dropout = Dropout { rate: self.attention_dropout };
    }

    /// Layers in which a sequence attends to itself.
    pub fn encoder(&self, count: usize, score: &dyn Score<f32>, rng: &mut Rng) -> Vec<EncoderLayer> {
        let layer = |_| {
            let mut layer = EncoderLayer::new(score, self.sizes(), rng);
            self.apply(&mut layer.attention);
            layer
        };
        (0..count).map(layer).collect()
    }

    /// The normalisation after the last layer, if the layers normalise before their sublayers.
    pub fn last_norm(&self) -> Option<LayerNorm> {
        (self.norm == NormOption::Pre).then(|| LayerNorm::new(self.width))
    }
}

/// Normal vectors of variance 1/width: `[rows, width]`.
pub fn table<T: Float>(name: &str, rows: usize, width: usize, rng: &mut Rng) -> Param<Euclidean, T> {
    Param::new(name, Euclidean, init::normal(rows, width, (width as f64).powf(-0.5), rng))
}

/// The ball of hyperbolic positions.
fn ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

/// The tables of this many positions: of vectors if they are learned, of points if they are hyperbolic.
pub fn position_tables(
    option: PositionsOption,
    [count, width]: [usize; 2],
    rng: &mut Rng,
) -> (Option<Param<Euclidean, f32>>, Option<PositionEmbedding<PoincareBall>>) {
    match option {
        PositionsOption::Sinusoidal => (None, None),
        PositionsOption::Learned => (Some(table("positions", count, width, rng)), None),
        // The initial range is from López & Strube 2020, appendix F.
        PositionsOption::Hyperbolic => (None, Some(PositionEmbedding::new(ball(), count, width, 1e-4, rng))),
    }
}

/// Token vectors `[n, len, width]` at these positions, by the tables of [`position_tables`]: the input of the
/// first layer, of variance 1.
pub fn placed<'t>(
    x: Var<'t, f32>,
    positions: Range<usize>,
    vectors: Option<&Param<Euclidean, f32>>,
    points: Option<&PositionEmbedding<PoincareBall>>,
) -> Var<'t, f32> {
    let (tape, width) = (x.tape(), x.shape().width());
    let scale = (width as f64).sqrt();
    match (vectors, points) {
        (Some(table), _) => x * scale + table.on(tape).slice(0, positions),
        (_, Some(points)) => log0(points.forward(exp0(ball(), x), positions.start)) * scale,
        _ => x * scale + tape.constant(&position::sinusoidal(positions.end, width)).slice(0, positions),
    }
}

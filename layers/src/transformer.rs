//! Transformer layers, with attention of any score: Vaswani et al. 2017, section 3.1. Normalisation
//! before the sublayers is as in Xiong et al. 2020.

use std::sync::Arc;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Sparsity, Var};
use cotangent_manifolds::{Euclidean, Module};

use crate::activation::Activation;
use crate::attention::attend::Mask;
use crate::attention::multi_head_attention::{KeyValueCache, MultiHeadAttention};
use crate::attention::score::Score;
use crate::dropout::Dropout;
use crate::linear::feed_forward::FeedForward;
use crate::norm::layer_norm::LayerNorm;
use crate::stochastic_depth::StochasticDepth;

/// Where a residual block normalises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormOrder {
    /// `x + f(norm(x))`.
    Pre,
    /// `norm(x + f(x))`.
    Post,
}

/// The sizes of a transformer's layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerSizes {
    /// Width of the rows.
    pub width: usize,
    /// Number of attention heads.
    pub heads: usize,
    /// Dimensions of a head's queries and keys, and of its values.
    pub head: [usize; 2],
    /// Hidden units of the feed-forward network.
    pub hidden: usize,
    /// Dropout rate of every sublayer's result while training. Attention weights have their own rate in
    /// each attention.
    pub dropout: f64,
    /// Where the blocks normalise.
    pub order: NormOrder,
}

/// A residual connection around a sublayer, with normalisation and dropout.
#[derive(Clone, Debug, Module)]
struct Residual<T: Float> {
    norm: LayerNorm<T>,
    #[module(skip)]
    dropout: Dropout,
    #[module(skip)]
    order: NormOrder,
}

impl<T: Float> Residual<T> {
    fn new(sizes: TransformerSizes) -> Self {
        let dropout = Dropout { rate: sizes.dropout };
        Residual { norm: LayerNorm::new(sizes.width), dropout, order: sizes.order }
    }

    /// Applies the sublayer f with its residual connection.
    #[track_caller]
    fn around<'t>(&self, x: Var<'t, T>, f: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        let y = x + self.dropout.forward(f(self.input(x)));
        match self.order {
            NormOrder::Pre => y,
            NormOrder::Post => self.norm.forward(y),
        }
    }

    /// The input of the sublayer.
    #[track_caller]
    fn input<'t>(&self, x: Var<'t, T>) -> Var<'t, T> {
        match self.order {
            NormOrder::Pre => self.norm.forward(x),
            NormOrder::Post => x,
        }
    }
}

fn feed_forward<T: Float>(sizes: TransformerSizes, rng: &mut Rng) -> FeedForward<Euclidean, T> {
    let dims = [sizes.width, sizes.hidden, sizes.width];
    FeedForward { output: Activation::IDENTITY, ..FeedForward::new(Euclidean, &dims, Activation::RELU, rng) }
}

/// Attention of a sequence to itself, then a feed-forward network. Applied several times, it is the
/// recursive transformer, whose layers share their weights.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::score::Distance;
/// use cotangent_layers::{EncoderLayer, Mask, NormOrder, TransformerSizes};
/// let order = NormOrder::Pre;
/// let sizes = TransformerSizes { width: 8, heads: 2, head: [4, 4], hidden: 16, dropout: 0.1, order };
/// let mut rng = rng::stream(1, 0, 0);
/// let layer = EncoderLayer::new(&Distance, sizes, &mut rng);
/// let tape = Tape::<f32>::new();
/// let x = tape.constant(&Tensor::from_fn([3, 5, 8], |i| (i as f32).sin())); // [batch, n, width]
/// let used = layer.forward(x, Mask::None); // without dropout
/// tape.training(rng);
/// let trained = layer.forward(x, Mask::None); // with
/// assert!(trained.shape() == used.shape() && used.shape() == [3, 5, 8].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct EncoderLayer<T: Float = f32> {
    /// Attention of the sequence to itself.
    pub attention: MultiHeadAttention<T>,
    /// Applied at each position.
    pub feed_forward: FeedForward<Euclidean, T>,
    /// Drops the result of each of the two, for some sequences of a batch, or for a whole graph: a rate of 0
    /// at first.
    #[module(skip)]
    pub depth: StochasticDepth,
    residuals: [Residual<T>; 2],
}

impl<T: Float> EncoderLayer<T> {
    /// A layer whose attention uses this score.
    ///
    /// # Panics
    /// As [`MultiHeadAttention::new`].
    #[track_caller]
    pub fn new(score: &dyn Score<T>, sizes: TransformerSizes, rng: &mut Rng) -> Self {
        EncoderLayer {
            attention: MultiHeadAttention::new(score, sizes.width, sizes.heads, sizes.head, rng),
            feed_forward: feed_forward(sizes, rng),
            depth: StochasticDepth::default(),
            residuals: [0, 1].map(|_| Residual::new(sizes)),
        }
    }

    /// Sequences `[batch, n, width]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        self.sublayers(x, StochasticDepth::forward, |x| self.attention.forward(x, x, mask))
    }

    /// Same as [`forward`](Self::forward) with [`Mask::Causal`], for rows `[batch, n, width]` that continue
    /// sequences (incremental decoding). `before` holds the keys and values of the earlier rows, if there are
    /// any. Also returns those of all rows so far.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward_cached<'t>(
        &self,
        before: Option<KeyValueCache<'t, T>>,
        x: Var<'t, T>,
    ) -> (Var<'t, T>, KeyValueCache<'t, T>) {
        let mut so_far = None;
        let y = self.sublayers(x, StochasticDepth::forward, |x| {
            let (y, all) = self.attention.forward_cached(before, x);
            so_far = Some(all);
            y
        });
        (y, so_far.expect("the sublayer is run"))
    }

    /// Nodes `[n, width]` of a graph, each of which attends to those that it has edges (node, other) to. A
    /// node without edges attends to none. Memory is linear in the number of edges.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn along_edges<'t>(&self, x: Var<'t, T>, edges: &Arc<Sparsity>) -> Var<'t, T> {
        self.sublayers(x, StochasticDepth::forward_one, |x| self.attention.along_edges(x, x, edges))
    }

    /// Both sublayers, the first with this attention. `leave_out` is a method of [`StochasticDepth`].
    #[track_caller]
    fn sublayers<'t>(
        &self,
        x: Var<'t, T>,
        leave_out: fn(&StochasticDepth, Var<'t, T>) -> Var<'t, T>,
        attend: impl FnOnce(Var<'t, T>) -> Var<'t, T>,
    ) -> Var<'t, T> {
        let [first, second] = &self.residuals;
        let x = first.around(x, |x| leave_out(&self.depth, attend(x)));
        second.around(x, |x| leave_out(&self.depth, *self.feed_forward.forward(x)))
    }

    /// The queries and keys with which a sequence attends to itself, `[batch, heads, n, key]` each, for
    /// pictures.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn project<'t>(&self, x: Var<'t, T>) -> [Var<'t, T>; 2] {
        self.attention.project(self.residuals[0].input(x))
    }

    /// The weights with which a sequence attends to itself, `[batch, heads, n, n]`, for pictures.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh<'t>(&self, x: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        let x = self.residuals[0].input(x);
        self.attention.weigh(x, x, mask)
    }
}

/// Causal attention of a sequence to itself, then attention to another sequence, then a feed-forward
/// network.
#[derive(Clone, Debug, Module)]
pub struct DecoderLayer<T: Float = f32> {
    /// Attention of the sequence to itself, causal.
    pub attention: MultiHeadAttention<T>,
    /// Attention to the other sequence.
    pub across: MultiHeadAttention<T>,
    /// Applied at each position.
    pub feed_forward: FeedForward<Euclidean, T>,
    /// Drops the result of each of the three, for some sequences of a batch: a rate of 0 at first.
    #[module(skip)]
    pub depth: StochasticDepth,
    residuals: [Residual<T>; 3],
}

impl<T: Float> DecoderLayer<T> {
    /// A layer whose attentions use this score.
    ///
    /// # Panics
    /// As [`MultiHeadAttention::new`].
    #[track_caller]
    pub fn new(score: &dyn Score<T>, sizes: TransformerSizes, rng: &mut Rng) -> Self {
        let [attention, across] =
            [0, 1].map(|_| MultiHeadAttention::new(score, sizes.width, sizes.heads, sizes.head, rng));
        DecoderLayer {
            attention,
            across,
            feed_forward: feed_forward(sizes, rng),
            depth: StochasticDepth::default(),
            residuals: [0, 1, 2].map(|_| Residual::new(sizes)),
        }
    }

    /// Sequences `[batch, n, width]` and encoded sequences `[batch, m, width]`, of which `mask` hides
    /// some rows.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>, encoded: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        self.forward_cached(None, x, self.across.cache(encoded), mask).0
    }

    /// Same as [`forward`](Self::forward), for rows `[batch, n, width]` that continue sequences
    /// (incremental decoding). `before` holds the keys and values of the earlier rows, if there are any.
    /// `encoded` holds those of the encoded sequences, from [`cache`](MultiHeadAttention::cache) of
    /// `across`; `mask` hides some of them. Also returns the keys and values of all rows so far.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward_cached<'t>(
        &self,
        before: Option<KeyValueCache<'t, T>>,
        x: Var<'t, T>,
        encoded: KeyValueCache<'t, T>,
        mask: Mask<'t, T>,
    ) -> (Var<'t, T>, KeyValueCache<'t, T>) {
        let [first, second, third] = &self.residuals;
        let mut so_far = None;
        let x = first.around(x, |x| {
            let (y, all) = self.attention.forward_cached(before, x);
            so_far = Some(all);
            self.depth.forward(y)
        });
        let x = second.around(x, |x| self.depth.forward(self.across.attend(x, encoded, mask)));
        let x = third.around(x, |x| self.depth.forward(*self.feed_forward.forward(x)));
        (x, so_far.expect("the sublayer is run"))
    }

    /// The weights with which a sequence attends to the other one, `[batch, heads, n, m]`, for pictures.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh_across<'t>(&self, x: Var<'t, T>, encoded: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        let [first, second, _] = &self.residuals;
        let x = first.around(x, |x| self.depth.forward(self.attention.forward(x, x, Mask::Causal)));
        self.across.weigh(second.input(x), encoded, mask)
    }
}

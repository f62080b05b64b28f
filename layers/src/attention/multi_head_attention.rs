//! Several heads of attention in parallel: Vaswani et al. 2017, section 3.2.2.

use std::sync::Arc;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Sparsity, Var};
use cotangent_manifolds::{Euclidean, Module};

use crate::attention::Attention;
use crate::attention::attend::Mask;
use crate::attention::score::Score;
use crate::linear::Linear;

/// Heads of attention, each with its own matrices for queries, keys and values, and a linear layer over
/// their results.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::score::UmbralCone;
/// use cotangent_layers::{Mask, MultiHeadAttention};
/// // Two heads: queries and keys of three dimensions, values of four.
/// let cones = UmbralCone { radius: 0.1 };
/// let layer = MultiHeadAttention::new(&cones, 8, 2, [3, 4], &mut rng::stream(1, 0, 0));
/// let tape = Tape::<f32>::new();
/// let x = tape.constant(&Tensor::from_fn([3, 5, 8], |i| (i as f32).sin())); // [batch, n, width]
/// let y = layer.forward(x, x, Mask::Causal);
/// assert_eq!(y.shape(), [3, 5, 8].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct MultiHeadAttention<T: Float = f32> {
    /// The map to the queries of all heads: `[heads · key, width]`.
    pub query: Linear<Euclidean, T>,
    /// The map to the keys of all heads: `[heads · key, width]`.
    pub key: Linear<Euclidean, T>,
    /// The map to the values of all heads: `[heads · value, width]`.
    pub value: Linear<Euclidean, T>,
    /// The map from the results of all heads: `[width, heads · value]`.
    pub output: Linear<Euclidean, T>,
    /// The attention of each head.
    pub attention: Attention<T>,
    /// The number of heads.
    pub heads: usize,
}

/// The keys and values of the rows that are attended to. When rows come one after another, those of the
/// earlier rows are kept and not computed again (key-value cache, incremental decoding).
#[derive(Clone, Copy, Debug)]
pub struct KeyValueCache<'t, T: Float> {
    /// `[batch, heads, m, key]`.
    pub keys: Var<'t, T>,
    /// `[batch, heads, m, value]`.
    pub values: Var<'t, T>,
}

impl<'t, T: Float> KeyValueCache<'t, T> {
    /// These rows, followed by the others.
    ///
    /// # Panics
    /// If their shapes differ in more than the number of rows.
    #[track_caller]
    pub fn append(self, others: Self) -> Self {
        KeyValueCache {
            keys: Var::concat(&[self.keys, others.keys], 2),
            values: Var::concat(&[self.values, others.values], 2),
        }
    }
}

impl<T: Float> MultiHeadAttention<T> {
    /// For rows of this width. The queries and keys of a head have `key` dimensions, its values `value`.
    ///
    /// # Panics
    /// As [`Attention::new`]; if there is no head.
    #[track_caller]
    pub fn new(
        score: &dyn Score<T>,
        width: usize,
        heads: usize,
        [key, value]: [usize; 2],
        rng: &mut Rng,
    ) -> Self {
        assert!(heads > 0, "MultiHeadAttention: no heads");
        let attention = Attention::new(score, key);
        let mut linear = |n, m| Linear::new(Euclidean, n, m, rng);
        MultiHeadAttention {
            query: linear(width, heads * key),
            key: linear(width, heads * key),
            value: linear(width, heads * value),
            output: linear(heads * value, width),
            attention,
            heads,
        }
    }

    /// Rows `[batch, n, width]` attend to the rows `to`, `[batch, m, width]`: `[batch, n, width]`. The
    /// mask is as in [`Attention`], which broadcasts to `[batch, heads, n, m]`. While training there is
    /// dropout of weights.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(&self, x: Var<'t, T>, to: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        self.attend(x, self.cache(to), mask)
    }

    /// Rows `[n, width]` attend to the rows `to`, `[m, width]`, along the edges of a graph: `[n, width]`. Row
    /// i attends to row j if (i, j) is an edge. Memory is linear in the number of edges: see
    /// [`Attend::along_edges`](crate::Attend::along_edges).
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn along_edges<'t>(&self, x: Var<'t, T>, to: Var<'t, T>, edges: &Arc<Sparsity>) -> Var<'t, T> {
        let split = |linear: &Linear<Euclidean, T>, x: Var<'t, T>| {
            let y = *linear.forward(x);
            let shape = y.shape();
            y.reshape([shape[0], self.heads, shape[1] / self.heads])
        };
        let [queries, keys, values] =
            [(&self.query, x), (&self.key, to), (&self.value, to)].map(|(linear, x)| split(linear, x));
        let heads = self.attention.along_edges(queries, keys, values, edges);
        let shape = heads.shape();
        *self.output.forward(heads.reshape([shape[0], shape[1] * shape[2]]))
    }

    /// The queries and keys of rows `[batch, n, width]`, `[batch, heads, n, key]` each, for pictures.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn project<'t>(&self, x: Var<'t, T>) -> [Var<'t, T>; 2] {
        [&self.query, &self.key].map(|linear| self.split(linear, x))
    }

    /// The keys and values of rows `[batch, m, width]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn cache<'t>(&self, to: Var<'t, T>) -> KeyValueCache<'t, T> {
        KeyValueCache { keys: self.split(&self.key, to), values: self.split(&self.value, to) }
    }

    /// Same as [`forward`](Self::forward), with the keys and values of `to` already computed.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend<'t>(&self, x: Var<'t, T>, to: KeyValueCache<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        let queries = self.split(&self.query, x);
        let heads = self.attention.forward(queries, to.keys, to.values, mask).permute(&[0, 2, 1, 3]);
        let shape = heads.shape();
        let side_by_side = heads.reshape([shape[0], shape[1], shape[2] * shape[3]]);
        *self.output.forward(side_by_side)
    }

    /// Rows `[batch, n, width]` that continue sequences attend to the earlier rows, to themselves and to the
    /// rows before them (causal, incremental decoding): `[batch, n, width]`. `before` holds the keys and
    /// values of the earlier rows, if there are any. Also returns those of all rows so far.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward_cached<'t>(
        &self,
        before: Option<KeyValueCache<'t, T>>,
        x: Var<'t, T>,
    ) -> (Var<'t, T>, KeyValueCache<'t, T>) {
        let these = self.cache(x);
        let all = before.map_or(these, |before| before.append(these));
        (self.attend(x, all, Mask::Causal), all)
    }

    /// The weights of all heads, `[batch, heads, n, m]`, for pictures.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh<'t>(&self, x: Var<'t, T>, to: Var<'t, T>, mask: Mask<'t, T>) -> Var<'t, T> {
        self.attention.weigh(self.split(&self.query, x), self.split(&self.key, to), mask)
    }

    /// The result of a linear layer on rows, split into heads: `[batch, heads, n, d]`.
    #[track_caller]
    fn split<'t>(&self, linear: &Linear<Euclidean, T>, x: Var<'t, T>) -> Var<'t, T> {
        let y = linear.forward(x);
        let (shape, d) = (y.shape(), y.shape().width() / self.heads);
        y.reshape([shape[0], shape[1], self.heads, d]).permute(&[0, 2, 1, 3])
    }
}

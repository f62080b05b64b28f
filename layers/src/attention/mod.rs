//! Attention with a score of any geometry: Vaswani et al. 2017; Gulcehre et al. 2019 (*Hyperbolic
//! Attention Networks*); López & Strube 2020; Tseng et al. 2023 (*Coneheads*).

pub(crate) mod attend;
pub(crate) mod attention_pooling;
pub(crate) mod attentive_read;
pub(crate) mod graph_attention;
pub(crate) mod multi_head_attention;
pub(crate) mod point_map;
pub mod score;

use std::sync::Arc;

use cotangent_engine::{Float, Sparsity, Tape, Tensor, Var, Weights};
use cotangent_manifolds::{Euclidean, Module, Param};

use crate::attention::attend::{Aggregation, Attend, Mask};
use crate::attention::point_map::PointMap;
use crate::attention::score::Score;
use crate::dropout::Dropout;

/// Attention: the scores of queries and keys give weights, and the weighted values give the result.
///
/// Scores are not stored, so memory is linear in the number of keys, unless a mask's queries share their
/// keys.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::score::Distance;
/// use cotangent_layers::{Attention, Mask};
/// let attention = Attention::new(&Distance, 2);
/// let tape = Tape::<f64>::new();
/// let q = tape.constant(&Tensor::new([1, 2], vec![1.0, 0.0])); // one query
/// let k = tape.constant(&Tensor::new([2, 2], vec![1.0, 0.0, -1.0, 0.0])); // two keys, at distances 0 and 4
/// let v = tape.constant(&Tensor::new([2, 1], vec![0.0, 1.0])); // their values
/// let y = attention.forward(q, k, v, Mask::None); // [1, 1]
/// assert!((y.item() - 1.0 / (1.0 + 4_f64.exp())).abs() < 1e-15);
/// ```
///
/// For a distance, pass points of the ball as their logarithms at the origin. Here queries and keys are
/// Möbius maps `W ⊗ x ⊕ b` of the points (López & Strube 2020, eq. 8).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::score::Distance;
/// use cotangent_layers::{Attention, Linear, Mask};
/// use cotangent_manifolds::{Manifold, Point, PoincareBall};
/// let (ball, mut rng) = (PoincareBall::new(-1.0), rng::stream(1, 0, 0));
/// let [to_q, to_k] = [0, 1].map(|_| {
///     let mut layer = Linear::new(ball, 3, 3, &mut rng);
///     *layer.bias.as_mut().unwrap().value_mut() = Tensor::new([3], vec![0.2, -0.1, 0.3]);
///     layer
/// });
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::from_fn([5, 3], |i| 0.4 * (i as f64).sin())));
/// let [q, k] = [&to_q, &to_k].map(|layer| *layer.forward(x).coordinates()); // [5, 3], in the ball
/// let attention = Attention::new(&Distance, 3);
/// let scores = attention.scores(ball.log0(&q), ball.log0(&k)); // [5, 5]
/// let first = ball.dist(&q.slice(0, 0..1), &k.slice(0, 0..1));
/// assert!((scores.to_tensor().data()[0] + first.item()).abs() < 1e-14);
/// let y = attention.forward(ball.log0(&q), ball.log0(&k), *x.coordinates(), Mask::None);
/// assert_eq!(y.shape(), [5, 3].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct Attention<T: Float = f32> {
    /// What scores queries and keys.
    pub score: Box<dyn Score<T>>,
    /// γ; for distances the papers write β: `[1]`, or `[heads]`.
    pub sharpness: Param<Euclidean, T>,
    /// c: `[1]`, or `[heads]`. It makes no difference to a softmax.
    pub offset: Param<Euclidean, T>,
    /// Whether γ and c are learned; if not, no gradient reaches them.
    pub trainable: bool,
    /// How scores become weights.
    #[module(skip)]
    pub weights: Weights,
    /// How values are put together.
    #[module(skip)]
    pub aggregation: Aggregation,
    /// How values become points, if they are put together as points: see [`Attend::values`].
    #[module(skip)]
    pub values: PointMap,
    /// Dropout of weights, while training: see [`Attend::dropout`].
    #[module(skip)]
    pub dropout: Dropout,
}

impl<T: Float> Attention<T> {
    /// For d-dimensional queries and keys: softmax of scores, and weighted sums of values. γ starts at
    /// [`Score::sharpness`], mostly 1; c is 0. Neither is learned.
    ///
    /// # Panics
    /// If d is 0, or 1 and the score needs a height; if its light or radius is not positive and finite.
    #[track_caller]
    pub fn new(score: &dyn Score<T>, d: usize) -> Self {
        score::check(score, d);
        let number = |name: &str, x: f64| Param::new(name, Euclidean, Tensor::new([1], vec![T::nearest(x)]));
        Attention {
            sharpness: number("sharpness", score.sharpness(d)),
            offset: number("offset", 0.0),
            score: score.duplicate(),
            trainable: false,
            weights: Weights::Softmax,
            aggregation: Aggregation::Sum,
            values: PointMap::Exp,
            dropout: Dropout { rate: 0.0 },
        }
    }

    /// The same attention with a γ and a c for each head, which start where they are. Queries and keys are
    /// then `[…, heads, n, d]`. [`along_edges`](Self::along_edges) panics with such an attention.
    pub fn by_head(mut self, heads: usize) -> Self {
        for number in [&mut self.sharpness, &mut self.offset] {
            let start = number.value().data()[0];
            *number.value_mut() = Tensor::new([heads], vec![start; heads]);
        }
        self
    }

    /// From queries `[…, n, d]`, keys `[…, m, d]` and values `[…, m, e]` to results `[…, n, e]`. The
    /// result of a query that attends to no key is 0.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(
        &self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        values: impl Into<Var<'t, T>>,
        mask: Mask<'t, T>,
    ) -> Var<'t, T> {
        let queries = queries.into();
        self.on(queries.tape()).masked(mask).forward(queries, keys, values)
    }

    /// Attention along the edges of a graph: see [`Attend::along_edges`].
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn along_edges<'t>(
        &self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        values: impl Into<Var<'t, T>>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        let queries = queries.into();
        self.on(queries.tape()).along_edges(queries, keys, values, edges)
    }

    /// The weight of each edge of a graph, `[edges, heads]`: see [`Attend::edge_weights`].
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn edge_weights<'t>(
        &self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        edges: &Arc<Sparsity>,
    ) -> Var<'t, T> {
        let queries = queries.into();
        self.on(queries.tape()).edge_weights(queries, keys, edges)
    }

    /// The scores of all pairs, `[…, n, m]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn scores<'t>(&self, queries: impl Into<Var<'t, T>>, keys: impl Into<Var<'t, T>>) -> Var<'t, T> {
        let queries = queries.into();
        self.on(queries.tape()).scores(queries, keys)
    }

    /// The weights of all pairs, `[…, n, m]`, exactly 0 where masked.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn weigh<'t>(
        &self,
        queries: impl Into<Var<'t, T>>,
        keys: impl Into<Var<'t, T>>,
        mask: Mask<'t, T>,
    ) -> Var<'t, T> {
        let queries = queries.into();
        self.on(queries.tape()).masked(mask).weigh(queries, keys)
    }

    /// The weights of all pairs, `[…, n, m]`, as values are aggregated by them: for a barycentre shares.
    /// While training there is dropout.
    #[track_caller]
    pub(crate) fn aggregated_weights<'t>(
        &self,
        queries: Var<'t, T>,
        keys: Var<'t, T>,
        mask: Mask<'t, T>,
    ) -> Var<'t, T> {
        self.on(queries.tape()).masked(mask).dropped_weights(queries, keys)
    }

    /// The attention on a tape, with γ and c as variables there, or as constants if they are not learned.
    fn on<'t>(&self, tape: &'t Tape<T>) -> Attend<'_, 't, T> {
        let [sharpness, offset] = [&self.sharpness, &self.offset]
            .map(|param| if self.trainable { *param.on(tape) } else { tape.constant(param.value()) });
        Attend::new(&*self.score)
            .sharpness(sharpness)
            .offset(offset)
            .weights(self.weights)
            .aggregation(self.aggregation)
            .values(self.values)
            .dropout(self.dropout)
    }
}

//! Graph attention networks: Veličković et al. 2018. With hyperbolic distance: Gulcehre et al. 2019,
//! section 5.3. With cones: Tseng et al. 2023.

use std::sync::Arc;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Sparsity, Tape, Tensor, Var};
use cotangent_manifolds::{Euclidean, Module, Param};
use rand::RngExt;

use crate::attention::Attention;
use crate::attention::score::Score;
use crate::dropout::Dropout;
use crate::init;

/// The features of nodes: `[nodes, width]`.
#[derive(Clone)]
pub enum Features<'t, T: Float> {
    /// All features.
    Dense(Var<'t, T>),
    /// The positions of the nonzero features, (node, feature), and their values: for example the words of
    /// documents. The values are in the order of [`Sparsity::pairs`], which is sorted.
    Sparse(Arc<Sparsity>, Var<'t, T>),
}

impl<'t, T: Float> Features<'t, T> {
    /// The tape that they are on.
    pub(crate) fn tape(&self) -> &'t Tape<T> {
        match self {
            Features::Dense(x) | Features::Sparse(_, x) => x.tape(),
        }
    }

    /// The number of features of a node.
    pub fn width(&self) -> usize {
        match self {
            Features::Dense(x) => x.shape().width(),
            Features::Sparse(sparsity, _) => sparsity.columns(),
        }
    }

    /// The product with a matrix `[width, n]`: `[nodes, n]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn matmul(&self, matrix: impl Into<Var<'t, T>>) -> Var<'t, T> {
        match self {
            Features::Dense(x) => x.matmul(matrix),
            Features::Sparse(sparsity, elements) => elements.sparse_matmul(sparsity, matrix),
        }
    }

    /// Dropout: while training, sets some features to 0 and scales the others up.
    pub fn dropout(self, dropout: Dropout) -> Self {
        let drop = |x: Var<'t, T>| *dropout.forward(x);
        match self {
            Features::Dense(x) => Features::Dense(drop(x)),
            Features::Sparse(sparsity, elements) => Features::Sparse(sparsity, drop(elements)),
        }
    }
}

/// How the results of several heads become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    /// Side by side: `heads · d` wide.
    Concat,
    /// Their mean: d wide.
    Mean,
}

/// A graph attention layer: each node takes the values of the nodes that it has edges to, weighted by
/// attention. Features and results are plain numbers, not points: put `exp0` and `log0` around it in a
/// hyperbolic network.
///
/// The values of a head are `h = x W`. Its queries and keys are the values times a vector, coordinate by
/// coordinate: one vector for queries, another for keys. With [`Additive`](crate::score::Additive) this is
/// the layer of Veličković et al., eq. 1 to 6, without the nonlinearity. With other scores it has as many
/// parameters; [`with_matrices`](Self::with_matrices) gives queries and keys matrices of their own.
/// [`with_skip`](Self::with_skip) adds the skip connection of their section 3.3.
///
/// ```
/// use std::sync::Arc;
/// use cotangent_engine::{Sparsity, Tape, Tensor, rng};
/// use cotangent_layers::score::Distance;
/// use cotangent_layers::{Features, GraphAttention, Heads};
/// let mut rng = rng::stream(1, 0, 0);
/// let layer = GraphAttention::new(&Distance, 4, 2, 3, Heads::Concat, &mut rng);
/// // Three nodes in a row, each with an edge to itself.
/// let edges = Arc::new(Sparsity::new(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]));
/// let tape = Tape::<f32>::new();
/// let x = Features::Dense(tape.constant(&Tensor::from_fn([3, 4], |i| (i as f32).sin())));
/// let y = layer.forward(&x, &edges);
/// assert_eq!(y.shape(), [3, 6].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct GraphAttention<T: Float = f32> {
    /// W of all heads: `[width, heads · d]`.
    pub weight: Param<Euclidean, T>,
    /// The vectors that make queries of values: `[heads, d]`.
    pub query: Param<Euclidean, T>,
    /// The vectors that make keys of values: `[heads, d]`.
    pub key: Param<Euclidean, T>,
    /// The matrix that queries have in place of W, if they have one: `[width, heads · d]`.
    pub query_weight: Option<Param<Euclidean, T>>,
    /// That of keys.
    pub key_weight: Option<Param<Euclidean, T>>,
    /// Added to the result: `[heads · d]` or `[d]`.
    pub bias: Option<Param<Euclidean, T>>,
    /// The attention of each head. Its dropout also applies to the values, unless they are kept.
    pub attention: Attention<T>,
    /// Whether there is no dropout of values.
    #[module(skip)]
    pub keep_values: bool,
    /// S of all heads, the map of the skip connection, if there is one: `[width, heads · d]`.
    pub skip: Option<Param<Euclidean, T>>,
    /// How the heads' results become one.
    #[module(skip)]
    pub heads: Heads,
}

impl<T: Float> GraphAttention<T> {
    /// For nodes with `width` features, with heads of d dimensions. Weights are uniform as in Glorot &
    /// Bengio; the vectors for queries and keys are uniform in `±√(6/(d + 1))`.
    ///
    /// # Panics
    /// As [`Attention::new`]; if there is no head.
    #[track_caller]
    pub fn new(
        score: &dyn Score<T>,
        width: usize,
        heads: usize,
        d: usize,
        join: Heads,
        rng: &mut Rng,
    ) -> Self {
        assert!(heads > 0, "GraphAttention: no heads");
        let range = (6.0 / (d + 1) as f64).sqrt();
        let param = |name: &str, value| Param::new(name, Euclidean, value);
        let weight = param("weight", init::glorot_uniform(width, heads * d, rng));
        let mut vector =
            |name| param(name, Tensor::from_fn([heads, d], |_| T::nearest(rng.random_range(-range..=range))));
        let (query, key) = (vector("query"), vector("key"));
        let bias = param("bias", Tensor::zeros([if join == Heads::Concat { heads * d } else { d }]));
        let attention = Attention::new(score, d);
        GraphAttention {
            weight,
            query,
            key,
            query_weight: None,
            key_weight: None,
            bias: Some(bias),
            attention,
            keep_values: false,
            skip: None,
            heads: join,
        }
    }

    /// The layer whose queries and keys are `x` times a matrix each, which starts as W does, and then times
    /// their vectors.
    pub fn with_matrices(self, rng: &mut Rng) -> Self {
        let [width, joined] = [0, 1].map(|axis| self.weight.value().shape()[axis]);
        let mut matrix = |name| Some(Param::new(name, Euclidean, init::glorot_uniform(width, joined, rng)));
        GraphAttention { query_weight: matrix("query_weight"), key_weight: matrix("key_weight"), ..self }
    }

    /// The layer without a bias.
    pub fn without_bias(self) -> Self {
        GraphAttention { bias: None, ..self }
    }

    /// The layer with a skip connection: each head's result is `Σ w h + x S` before the heads become one.
    /// S is uniform in `±1/√width`. Veličković et al. 2018, section 3.3, after He et al. 2016.
    pub fn with_skip(self, rng: &mut Rng) -> Self {
        let [width, joined] = [0, 1].map(|axis| self.weight.value().shape()[axis]);
        let range = (width as f64).sqrt().recip();
        let skip = Tensor::from_fn([width, joined], |_| T::nearest(rng.random_range(-range..=range)));
        GraphAttention { skip: Some(Param::new("skip", Euclidean, skip)), ..self }
    }

    /// The results for nodes with edges (i, j), where i attends to j: `[nodes, heads · d]` or
    /// `[nodes, d]`. While training there is dropout of weights and of values.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn forward<'t>(&self, x: &Features<'t, T>, edges: &Arc<Sparsity>) -> Var<'t, T> {
        let (values, [queries, keys]) = self.project(x);
        let values = if self.keep_values { values } else { *self.attention.dropout.forward(values) };
        let sums = self.attention.along_edges(queries, keys, values, edges);
        let sums = match &self.skip {
            Some(skip) => sums + x.matmul(skip.on(x.tape())).reshape(sums.shape()),
            None => sums,
        };
        let joined = match self.heads {
            Heads::Concat => sums.reshape([sums.shape()[0], self.query.value().len()]),
            Heads::Mean => sums.mean_axis(1),
        };
        match &self.bias {
            Some(bias) => joined + bias.on(joined.tape()),
            None => joined,
        }
    }

    /// Values, queries and keys of nodes: `[nodes, heads, d]` each.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn project<'t>(&self, x: &Features<'t, T>) -> (Var<'t, T>, [Var<'t, T>; 2]) {
        let tape = x.tape();
        let [heads, d] = [0, 1].map(|axis| self.query.value().shape()[axis]);
        let product = |weight: &Param<Euclidean, T>| {
            let product = x.matmul(weight.on(tape));
            product.reshape([product.shape()[0], heads, d])
        };
        let values = product(&self.weight);
        let made = |(weight, vector): (&Option<_>, &Param<Euclidean, T>)| {
            weight.as_ref().map_or(values, product) * vector.on(tape)
        };
        (values, [(&self.query_weight, &self.query), (&self.key_weight, &self.key)].map(made))
    }
}

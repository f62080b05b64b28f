//! Graph convolution: Kipf & Welling 2017. In hyperbolic space: Chami et al. 2019 (HGCN); with a learned
//! curvature for each layer too.

use std::sync::Arc;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Sparsity, Tensor, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::attention::attend::Aggregation;
use crate::attention::graph_attention::Features;
use crate::dropout::Dropout;
use crate::init;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// A graph's edges with weights: the matrix A by which each node takes up the nodes that it has edges to.
///
/// ```
/// use std::sync::Arc;
/// use cotangent_engine::Sparsity;
/// use cotangent_layers::Adjacency;
/// // A path of three nodes, each with an edge to itself.
/// let edges = Arc::new(Sparsity::new(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]));
/// let mean = Adjacency::<f64>::mean(edges.clone());
/// assert_eq!(mean.weights.data()[..3], [1.0 / 2.0, 1.0 / 2.0, 1.0 / 3.0]);
/// let symmetric = Adjacency::<f64>::symmetric(edges);
/// assert!((symmetric.weights.data()[1] - 1.0 / 6.0_f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct Adjacency<T: Float = f32> {
    /// The edges (i, j), `[nodes, nodes]`: i takes up j.
    pub edges: Arc<Sparsity>,
    /// The weight of each edge, `[edges]`, in the order of [`Sparsity::pairs`].
    pub weights: Tensor<T>,
}

impl<T: Float> Adjacency<T> {
    /// The weights of a row are equal and sum to 1: `A = D⁻¹E`, with the edges E and the degrees D. As in
    /// the program of Chami et al. 2019.
    ///
    /// # Panics
    /// If the edges are not `[nodes, nodes]`.
    #[track_caller]
    pub fn mean(edges: Arc<Sparsity>) -> Self {
        let degrees = degrees(&edges);
        Self::weighted(edges, |i, _| 1.0 / degrees[i as usize])
    }

    /// `A = D^{−1/2} E D^{−1/2}`, for edges in both directions. Kipf & Welling 2017, eq. 8. An edge to a
    /// node that has no edges itself weighs 0.
    ///
    /// # Panics
    /// If the edges are not `[nodes, nodes]`.
    #[track_caller]
    pub fn symmetric(edges: Arc<Sparsity>) -> Self {
        let degrees = degrees(&edges);
        Self::weighted(edges, |i, j| {
            let product = degrees[i as usize] * degrees[j as usize];
            if product > 0.0 { 1.0 / product.sqrt() } else { 0.0 }
        })
    }

    /// The weight of each edge (i, j).
    fn weighted(edges: Arc<Sparsity>, weight: impl Fn(u32, u32) -> f64) -> Self {
        let pairs = edges.pairs();
        let weights = Tensor::from_fn([pairs.len()], |e| T::nearest(weight(pairs[e].0, pairs[e].1)));
        Adjacency { edges, weights }
    }
}

/// The number of each node's edges.
#[track_caller]
fn degrees(edges: &Sparsity) -> Vec<f64> {
    let size = [edges.rows(), edges.columns()];
    assert_eq!(size[0], size[1], "Adjacency: edges of shape {size:?}, not [nodes, nodes]");
    let mut degrees = vec![0.0; edges.rows()];
    edges.pairs().iter().for_each(|&(i, _)| degrees[i as usize] += 1.0);
    degrees
}

/// A graph convolution: a linear map of each node, then its neighbours' points are put together. In the space
/// of points, with A the [`Adjacency`],
///
/// ```text
/// y = exp₀(x W) ⊕ b,    z = exp₀(A log₀ y)   or   z = the gyromidpoints of y with the weights A
/// ```
///
/// Features x are tangent vectors at the origin, such as `log₀` of the points of the layer before; the
/// results z are points. Nonlinearities, which are maps of tangent vectors too, stand between layers, so each
/// layer can have a curvature of its own. In Euclidean space it is `A (x W + b)`, the layer of Kipf &
/// Welling. Chami et al. 2019, section 4; the gyromidpoint in place of their tangent space is the Lorentz
/// centroid of Law et al. 2019.
///
/// ```
/// use std::sync::Arc;
/// use cotangent_engine::{Sparsity, Tape, Tensor, rng};
/// use cotangent_layers::{Adjacency, Features, GraphConvolution};
/// use cotangent_manifolds::PoincareBall;
/// let ball = PoincareBall::new(-1.0);
/// let layer = GraphConvolution::new(ball, 4, 2, &mut rng::stream(1, 0, 0));
/// let edges = Arc::new(Sparsity::new(3, 3, &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 2)]));
/// let tape = Tape::<f32>::new();
/// let x = Features::Dense(tape.constant(&Tensor::from_fn([3, 4], |i| (i as f32).sin())));
/// let z = layer.forward(ball, &x, &Adjacency::mean(edges));
/// assert_eq!(z.coordinates().shape(), [3, 2].into());
/// ```
#[derive(Clone, Debug, Module)]
pub struct GraphConvolution<M, T: Float = f32> {
    /// W: `[width, m]`.
    pub weight: Param<Euclidean, T>,
    /// b: a point, `[m]`.
    pub bias: Option<Param<M, T>>,
    /// How neighbours are put together: [`Aggregation::Sum`] in the tangent space at the origin,
    /// [`Aggregation::Barycentre`] as their gyromidpoint.
    #[module(skip)]
    pub aggregation: Aggregation,
    /// Dropout of W, while training.
    #[module(skip)]
    pub dropout: Dropout,
}

impl<M: Manifold, T: Float> GraphConvolution<M, T> {
    /// For nodes with `width` features, to points of m dimensions, put together in the tangent space. The
    /// weight is drawn by [`init::glorot_uniform`]; the bias starts at the origin.
    pub fn new(manifold: M, width: usize, m: usize, rng: &mut Rng) -> Self {
        GraphConvolution {
            weight: Param::new("weight", Euclidean, init::glorot_uniform(width, m, rng)),
            bias: Some(Param::new("bias", manifold, origins(&manifold, &[], m))),
            aggregation: Aggregation::Sum,
            dropout: Dropout { rate: 0.0 },
        }
    }

    /// The layer without a bias.
    pub fn without_bias(self) -> Self {
        GraphConvolution { bias: None, ..self }
    }

    /// The points of all nodes, `[nodes, m]`.
    ///
    /// # Panics
    /// If the shapes do not fit, or the layer's bias is on another manifold.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        space: G,
        x: &Features<'t, T>,
        adjacency: &Adjacency<T>,
    ) -> Point<G, Var<'t, T>> {
        let tape = x.tape();
        let weight = *self.dropout.forward(self.weight.on(tape));
        let y = space.exp0(x.matmul(weight));
        let y = self.bias.as_ref().map_or(y, |bias| space.add(y, space.parameter(tape, bias)));
        let weights = tape.constant(&adjacency.weights);
        let sum = |rows| weights.sparse_matmul(&adjacency.edges, rows);
        let z = match self.aggregation {
            Aggregation::Sum => space.map(y, sum),
            Aggregation::Barycentre => space.gyromidpoint_from_sum(y, sum),
        };
        Point::new(space, z)
    }
}

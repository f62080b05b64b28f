//! Feed-forward networks: Ganea, Bécigneul, Hofmann 2018, section 3.2.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Manifold, Module, Point};

use crate::activation::Activation;
use crate::linear::Linear;
use crate::space::gyrovector_space::GyrovectorSpace;

/// Linear layers, each followed by a pointwise nonlinearity: `x ← φ^⊗(M ⊗ x ⊕ b)`.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Activation, FeedForward};
/// use cotangent_manifolds::{Module, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let net = FeedForward::new(ball, &[5, 8, 3], Activation::TANH, &mut rng::stream(1, 0, 0));
/// let tape = Tape::<f32>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::zeros([4, 5])));
/// assert_eq!(net.forward(x).coordinates().shape().axes(), [4, 3]);
/// assert_eq!(net.count(), 5 * 8 + 8 + 8 * 3 + 3);
/// ```
#[derive(Clone, Debug, Module)]
pub struct FeedForward<M, T: Float = f32> {
    /// The linear layers, from input to output.
    pub layers: Vec<Linear<M, T>>,
    /// φ of all layers but the last.
    #[module(skip)]
    pub activation: Activation<T>,
    /// φ of the last layer.
    #[module(skip)]
    pub output: Activation<T>,
}

impl<M: Manifold, T: Float> FeedForward<M, T> {
    /// A network through spaces of these dimensions, with the same activation after every layer. Set
    /// [`output`](Self::output) for another one after the last layer.
    pub fn new(manifold: M, dims: &[usize], activation: Activation<T>, rng: &mut Rng) -> Self {
        let layers = dims.windows(2).map(|pair| Linear::new(manifold, pair[0], pair[1], rng)).collect();
        FeedForward { layers, activation, output: activation }
    }

    /// Points `[…, rows, first dimension]` to `[…, rows, last dimension]`.
    ///
    /// # Panics
    /// As [`Linear::forward`].
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> Point<G, Var<'t, T>> {
        let mut x: Point<G, Var<'t, T>> = x.into();
        for (i, layer) in self.layers.iter().enumerate() {
            let last = i + 1 == self.layers.len();
            let activation = if last { self.output } else { self.activation };
            x = activation.forward(layer.forward(x));
        }
        x
    }
}

//! The linear layer: Ganea, Bécigneul, Hofmann 2018, section 3.2.

pub(crate) mod concat;
pub(crate) mod feed_forward;
pub(crate) mod logistic_regression;
pub(crate) mod poincare_linear;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Manifold, Module, Param, Point};

use crate::init;
use crate::space::gyrovector_space::{GyrovectorSpace, origins};

/// `y = M ⊗ x ⊕ b`, in Euclidean space `M x + b`: `[…, rows, n]` to `[…, rows, m]`. Eq. 25 and 26.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::Linear;
/// use cotangent_manifolds::{Module, Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let mut layer = Linear::new(ball, 2, 2, &mut rng::stream(1, 0, 0));
/// *layer.weight.value_mut() = Tensor::new([2, 2], vec![2.0, 0.0, 0.0, 1.0]);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0])));
/// let y = layer.forward(x); // [1, 2]; the bias is the origin to begin with
/// assert!((y.coordinates().to_tensor().data()[0] - 0.8).abs() < 1e-15); // tanh(2 artanh ½)
/// assert_eq!(layer.count(), 6);
/// ```
#[derive(Clone, Debug, Module)]
pub struct Linear<M, T: Float = f32> {
    /// M: `[m, n]`.
    pub weight: Param<Euclidean, T>,
    /// b: a point, `[m]`.
    pub bias: Option<Param<M, T>>,
}

impl<M: Manifold, T: Float> Linear<M, T> {
    /// A layer from n to m dimensions. The weight is drawn by [`init::glorot_uniform`]; the bias starts
    /// at the origin.
    pub fn new(manifold: M, n: usize, m: usize, rng: &mut Rng) -> Self {
        Linear {
            weight: Param::new("weight", Euclidean, init::glorot_uniform(m, n, rng)),
            bias: Some(Param::new("bias", manifold, origins(&manifold, &[], m))),
        }
    }

    /// The layer without a bias.
    pub fn without_bias(self) -> Self {
        Linear { bias: None, ..self }
    }

    /// `M ⊗ x ⊕ b`.
    ///
    /// # Panics
    /// If the rows are not n wide, or the layer's bias is on another manifold.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> Point<G, Var<'t, T>> {
        let x: Point<G, Var<'t, T>> = x.into();
        let (space, x) = (*x.manifold(), *x.coordinates());
        let weight = *self.weight.on(x.tape());
        let y = match &self.bias {
            Some(bias) => space.linear(weight, x, space.parameter(x.tape(), bias)),
            None => space.matvec(weight, x),
        };
        Point::new(space, y)
    }
}

//! Pointwise nonlinearities: Ganea, Bécigneul, Hofmann 2018, section 3.2.

use cotangent_engine::{Float, Var};
use cotangent_manifolds::Point;

use crate::space::gyrovector_space::GyrovectorSpace;

/// The Möbius version `exp₀(φ(log₀ x))` of any pointwise φ; in Euclidean space it is φ itself.
/// Eq. 24.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::Activation;
/// use cotangent_manifolds::{Point, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let tape = Tape::<f64>::new();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0])));
/// let y = Activation::new(|v| v * v).forward(x);
/// let want = 0.5_f64.atanh().powi(2).tanh();
/// assert!((y.coordinates().to_tensor().data()[0] - want).abs() < 1e-15);
/// ```
#[derive(Clone, Copy)]
pub struct Activation<T: Float = f32>(Option<for<'t> fn(Var<'t, T>) -> Var<'t, T>>);

impl<T: Float> Activation<T> {
    /// None: `φ(v) = v`. Costs nothing.
    pub const IDENTITY: Self = Activation(None);
    /// The hyperbolic tangent.
    pub const TANH: Self = Activation::new(|v| v.tanh());
    /// `max(v, 0)`.
    pub const RELU: Self = Activation::new(|v| v.relu());
    /// The logistic function.
    pub const SIGMOID: Self = Activation::new(|v| v.sigmoid());

    /// Any φ.
    pub const fn new(phi: for<'t> fn(Var<'t, T>) -> Var<'t, T>) -> Self {
        Activation(Some(phi))
    }

    /// `φ(v)` of vectors.
    #[track_caller]
    pub fn apply<'t>(&self, v: Var<'t, T>) -> Var<'t, T> {
        self.0.map_or(v, |phi| phi(v))
    }

    /// `exp₀(φ(log₀ x))` of rows `[…, n]`.
    #[track_caller]
    pub fn forward<'t, G: GyrovectorSpace<'t, T>>(
        &self,
        x: impl Into<Point<G, Var<'t, T>>>,
    ) -> Point<G, Var<'t, T>> {
        let x: Point<G, Var<'t, T>> = x.into();
        self.0.map_or(x, |phi| Point::new(*x.manifold(), x.manifold().map(*x.coordinates(), phi)))
    }
}

impl<T: Float> std::fmt::Debug for Activation<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Activation(φ)")
    }
}

//! A layer of one's own, in any geometry, whether its curvature is fixed or learned.

use cotangent::prelude::*;

/// `x ↦ x ⊕ φ^⊗(M ⊗ x ⊕ b)`.
#[derive(Clone, Debug, Module)]
pub struct Residual<M, T: Float = f32> {
    pub linear: Linear<M, T>,
    #[module(skip)]
    pub activation: Activation<T>,
}

impl<M: Manifold, T: Float> Residual<M, T> {
    pub fn new(manifold: M, dim: usize, rng: &mut rng::Rng) -> Self {
        Residual { linear: Linear::new(manifold, dim, dim, rng), activation: Activation::TANH }
    }

    /// Points `[…, rows, dim]` to points of the same space.
    pub fn forward<'t, G: GyrovectorSpace<'t, T, Learned = M>>(
        &self,
        x: Point<G, Var<'t, T>>,
    ) -> Point<G, Var<'t, T>> {
        let y = self.activation.forward(self.linear.forward(x));
        Point::new(*x.manifold(), x.manifold().add(*x.coordinates(), *y.coordinates()))
    }
}

/// A model whose curvature is learned with its weights.
#[derive(Clone, Debug, Module)]
pub struct Classifier<G: Geometry<T>, T: Float = f32> {
    pub geometry: G,
    pub residual: Residual<G::Learned, T>,
    pub classes: LogisticRegression<G::Learned, T>,
}

impl<G: Geometry<T>, T: Float> Classifier<G, T> {
    pub fn new(geometry: G, dim: usize, classes: usize, rng: &mut rng::Rng) -> Self {
        let residual = Residual::new(geometry.manifold(), dim, rng);
        let classes = LogisticRegression::new(geometry.manifold(), dim, classes, rng);
        Classifier { geometry, residual, classes }
    }

    /// Logits `[rows, classes]` of features `[rows, dim]`.
    pub fn forward<'t>(&self, tape: &'t Tape<T>, x: &Tensor<T>) -> Var<'t, T> {
        let x = exp0(self.geometry.on(tape), tape.constant(x));
        self.classes.forward(self.residual.forward(x))
    }
}

//! A curvature that is learned.

use cotangent_engine::{Float, Tape, Tensor, Var};
use cotangent_manifolds::{Curved, Euclidean, Module, Param};

use crate::space::gyrovector_space::Geometry;

/// The curvature of a geometry, as a parameter. It may pass through zero.
///
/// Every layer has a method `forward_in` that takes the geometry. The layers' parameters stay valid
/// while the curvature changes, because they are Euclidean: tangent vectors at the origin. For κ > 0
/// such a vector v should stay short of the point opposite the origin: √κ‖v‖ < π/2.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Curvature, Geometry, GyrovectorSpace, Linear};
/// use cotangent_manifolds::Euclidean;
/// let curvature = Curvature::<f64>::new(-1.0);
/// let layer = Linear::new(Euclidean, 3, 2, &mut rng::stream(1, 0, 0));
/// let tape = Tape::new();
/// let space = curvature.on(&tape);
/// let x = GyrovectorSpace::exp0(&space, tape.constant(&Tensor::new([1, 3], vec![0.1, 0.2, 0.3])));
/// let y = layer.forward_in(&space, x); // [1, 2]
/// let slope = tape.backward(y.square().sum()).wrt(&curvature.kappa).data()[0];
/// assert!(slope > 0.0); // towards κ = 0 the same tangent vector is a longer point
/// ```
#[derive(Clone, Debug, Module)]
pub struct Curvature<T: Float = f32> {
    /// Sectional curvature: `[1]`.
    pub kappa: Param<Euclidean, T>,
}

impl<T: Float> Curvature<T> {
    /// Starts from a sectional curvature.
    pub fn new(kappa: f64) -> Self {
        Curvature { kappa: Param::new("kappa", Euclidean, Tensor::new([1], vec![T::nearest(kappa)])) }
    }
}

impl<T: Float> Geometry<T> for Curvature<T> {
    type Learned = Euclidean;
    type On<'t> = Curved<Var<'t, T>>;

    fn manifold(&self) -> Euclidean {
        Euclidean
    }
    fn on<'t>(&self, tape: &'t Tape<T>) -> Curved<Var<'t, T>> {
        Curved::new(self.kappa.on(tape).coordinates().reshape([]))
    }
}

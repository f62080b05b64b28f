//! A curvature that is learned.

use cotangent_engine::{Float, Tape, Tensor, Var};
use cotangent_manifolds::{Curved, Euclidean, Module, Param};

use crate::space::gyrovector_space::Geometry;

/// The curvature of a geometry, as a parameter. It may pass through zero.
///
/// On a tape it is the space [`Curved`], which points carry with them through the layers. The layers'
/// own points are learned as tangent vectors at the origin, which are Euclidean and stay valid while the
/// curvature changes. For κ > 0 such a vector v should not reach the point opposite the origin:
/// √κ‖v‖ < π/2.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{Curvature, Geometry, Linear, exp0};
/// let curvature = Curvature::<f64>::new(-1.0);
/// let layer = Linear::new(curvature.manifold(), 3, 2, &mut rng::stream(1, 0, 0));
/// let tape = Tape::new();
/// let x = exp0(curvature.on(&tape), tape.constant(&Tensor::new([1, 3], vec![0.1, 0.2, 0.3])));
/// let y = layer.forward(x); // [1, 2], points of the same space
/// let slope = tape.backward(y.coordinates().square().sum()).wrt(&curvature.kappa).data()[0];
/// assert!(slope > 0.0); // the nearer κ is to 0, the farther out the point of the same tangent vector
/// ```
#[derive(Clone, Debug, Module)]
pub struct Curvature<T: Float = f32> {
    /// Sectional curvature: `[1]`.
    pub kappa: Param<Euclidean, T>,
}

impl<T: Float> Curvature<T> {
    /// Starts from a sectional curvature.
    ///
    /// # Panics
    /// If it is not finite.
    #[track_caller]
    pub fn new(kappa: f64) -> Self {
        assert!(kappa.is_finite(), "Curvature: a finite curvature is needed, not {kappa}");
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

//! Gyroplanes: totally geodesic hypersurfaces. A space of constant curvature has one through every point
//! with every normal. In Euclidean space they are the hyperplanes, on the sphere the great ones, in
//! hyperbolic space the decision boundaries of Ganea, Bécigneul, Hofmann 2018, section 3.1.
//!
//! At distance d(p, x) in a direction that has the angle φ with the normal, the signed distance δ of x
//! is as follows. Here sin_κ(s) = sinh(√c s)/√c for κ = −c < 0, s for κ = 0 and sin(√κ s)/√κ
//! for κ > 0:
//!
//! ```text
//! sin_κ δ = sin_κ d(p, x) cos φ
//! ```

use cotangent_engine::Rows;

use crate::euclidean::Euclidean;
use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{KappaStereographic, Sign};
use crate::manifold::ConstantCurvature;
use crate::sphere::Sphere;

/// Distances to gyroplanes.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Gyroplanes, HalfSpace, Lorentz, Point, Tangent};
/// let half_space = HalfSpace::new(-1.0);
/// let (x, p, up) = (Row::from([3.0, 4.0]), Row::from([0.0, 1.0]), Row::from([0.0, 1.0]));
/// let distance = half_space.gyroplane(&x, &p, &up); // to the half circle of radius 1
/// assert!((distance - 3.0_f64.asinh()).abs() < 1e-15); // (25 − 1)/(2 · 4)
/// let [x, p] = [x, p].map(|row| Point::new(half_space, row));
/// let a = Tangent::new(half_space, up).to::<Lorentz>(&p);
/// let [x, p] = [x, p].map(|point| point.to::<Lorentz>());
/// let in_lorentz = x.manifold().gyroplane(x.coordinates(), p.coordinates(), a.coordinates());
/// assert!((in_lorentz - distance).abs() < 1e-15);
/// ```
pub trait Gyroplanes: ConstantCurvature {
    /// Signed distance from x to the gyroplane through p with the normal a, a tangent vector at p of any
    /// length: positive on the side that a points to; 0 for a = 0. Ganea et al. 2018, eq. 21.
    fn gyroplane<R: Rows>(&self, x: &R, p: &R, a: &R) -> R::Scalar;
}

/// Implements the trait by the model's formula with these parameters.
macro_rules! gyroplanes {
    ($([$($generic:tt)*] $model:ty, $formula:path, [$($kappa:ident)?];)*) => {$(
        impl<$($generic)*> Gyroplanes for $model {
            fn gyroplane<R: Rows>(&self, x: &R, p: &R, a: &R) -> R::Scalar {
                R::scalar($formula, [x, p, a], [$(&x.constant(self.$kappa()))?])
            }
        }
    )*};
}

gyroplanes! {
    [] Euclidean, crate::euclidean::formulas::Gyroplane, [];
    [S: Sign] KappaStereographic<S>, crate::hyperbolic::stereographic::formulas::Gyroplane, [kappa];
    [] Lorentz, crate::hyperbolic::lorentz::formulas::Gyroplane, [kappa];
    [] Klein, crate::hyperbolic::klein::formulas::Gyroplane, [kappa];
    [] HalfSpace, crate::hyperbolic::half_space::formulas::Gyroplane, [kappa];
    [] Sphere, crate::sphere::formulas::Gyroplane, [kappa];
}

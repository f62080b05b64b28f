//! A space of constant curvature that is chosen at run time.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Rows};

use crate::euclidean::Euclidean;
use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{PoincareBall, ProjectedSphere};
use crate::manifold::{ConstantCurvature, Manifold, OffManifold, OffTangent};
use crate::sphere::Sphere;
use crate::steps::{FactorVisitor, Steps};

/// A model of a space of constant curvature, chosen at run time: for programs whose user names the space.
/// Every operation of points and tangent vectors is that of the model, with the same bits.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Lorentz, PoincareBall, SpaceForm};
/// let spaces: [SpaceForm; 2] = [PoincareBall::new(-1.0).into(), Lorentz::new(-1.0).into()];
/// let [ball, hyperboloid] = spaces.map(|space| space.origin::<f64>(2));
/// assert_eq!((&ball[..], &hyperboloid[..]), (&[0.0; 2][..], &[1.0, 0.0, 0.0][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpaceForm {
    /// The Poincaré ball.
    PoincareBall(PoincareBall),
    /// The hyperboloid.
    Lorentz(Lorentz),
    /// The upper half-space.
    HalfSpace(HalfSpace),
    /// The sphere.
    Sphere(Sphere),
    /// The sphere in stereographic projection.
    ProjectedSphere(ProjectedSphere),
    /// Euclidean space.
    Euclidean(Euclidean),
}

macro_rules! from_models {
    ($($model:ident),+) => {
        $(impl From<$model> for SpaceForm {
            fn from(model: $model) -> Self {
                SpaceForm::$model(model)
            }
        })+
    };
}

from_models!(PoincareBall, Lorentz, HalfSpace, Sphere, ProjectedSphere, Euclidean);

/// An expression of the model.
macro_rules! with_model {
    ($space:expr, $model:ident => $value:expr) => {
        match $space {
            SpaceForm::PoincareBall($model) => $value,
            SpaceForm::Lorentz($model) => $value,
            SpaceForm::HalfSpace($model) => $value,
            SpaceForm::Sphere($model) => $value,
            SpaceForm::ProjectedSphere($model) => $value,
            SpaceForm::Euclidean($model) => $value,
        }
    };
}

impl ConstantCurvature for SpaceForm {
    fn kappa(&self) -> f64 {
        with_model!(self, m => m.kappa())
    }
}

impl Manifold for SpaceForm {
    const NAME: &'static str = "space form";
    const TITLE: &'static str = "the space form";

    fn ambient(&self, dim: usize) -> usize {
        with_model!(self, m => m.ambient(dim))
    }
    fn dimension(&self, ambient: usize) -> usize {
        with_model!(self, m => m.dimension(ambient))
    }
    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        with_model!(self, m => m.origin(dim))
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        with_model!(self, m => m.dist(x, y))
    }
    fn squared_dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        with_model!(self, m => m.squared_dist(x, y))
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        with_model!(self, m => m.inner(x, u, v))
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        with_model!(self, m => m.norm(x, v))
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        with_model!(self, m => m.exp(x, v))
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        with_model!(self, m => m.log(x, y))
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        with_model!(self, m => m.transport(x, y, v))
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        with_model!(self, m => m.egrad_to_rgrad(x, g))
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        with_model!(self, m => m.project_tangent(x, v))
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        with_model!(self, m => m.project(x))
    }
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        with_model!(self, m => m.retract(x, v))
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        with_model!(self, m => m.geodesic(x, y, t))
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        with_model!(self, m => m.contains(x))
    }
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        with_model!(self, m => m.contains_tangent(x, v))
    }
    fn random_point<T: Float>(&self, dim: usize, radius: f64, rng: &mut Rng) -> Row<T> {
        with_model!(self, m => m.random_point(dim, radius, rng))
    }
    fn random_tangent<T: Float>(&self, x: &Row<T>, rng: &mut Rng) -> Row<T> {
        with_model!(self, m => m.random_tangent(x, rng))
    }
}

impl Steps for SpaceForm {
    /// The visitor sees the model, so optimisers take its steps.
    fn factors<V: FactorVisitor>(&self, coordinates: Range<usize>, visitor: &mut V) {
        with_model!(self, m => m.factors(coordinates, visitor));
    }
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        with_model!(self, m => m.descend(x, g, rate))
    }
    fn bounded<R: Rows>(&self, x: &R) -> R {
        with_model!(self, m => m.bounded(x))
    }
}

//! A space of constant curvature that is chosen at run time.

use std::ops::Range;

use cotangent_engine::{Float, Row, Rows};

use crate::barycentre::Barycentre;
use crate::cones::EntailmentCones;
use crate::distance_key::DistanceKey;
use crate::euclidean::Euclidean;
use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::isometry::Hyperbolic;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{PoincareBall, ProjectedSphere};
use crate::manifold::{ConstantCurvature, Manifold, OffManifold, OffTangent};
use crate::module::constant;
use crate::sets::Sets;
use crate::sphere::Sphere;
use crate::steps::{FactorVisitor, Steps};
use crate::wrapped_normal::OriginFrame;

/// Reads the list of models below. From it come the enum, its conversions, and the macros `with_model!` and
/// `if_hyperbolic!`. Each model is `hyperbolic`, which says that it is [`Hyperbolic`], or `other`.
macro_rules! space_forms {
    (
        $d:tt
        $(#[$about:meta])*
        pub enum SpaceForm { $($(#[$doc:meta])* $model:ident: $kind:ident,)+ }
    ) => {
        $(#[$about])*
        pub enum SpaceForm { $($(#[$doc])* $model($model),)+ }

        $(impl From<$model> for SpaceForm {
            fn from(model: $model) -> Self {
                SpaceForm::$model(model)
            }
        })+

        /// An expression of the model.
        macro_rules! with_model {
            ($d space:expr, $d m:ident => $d value:expr) => {
                match $d space { $(SpaceForm::$model($d m) => $d value,)+ }
            };
        }

        /// An expression of a model of hyperbolic space; `None` for others.
        macro_rules! if_hyperbolic {
            ($d space:expr, $d m:ident => $d value:expr) => {
                match $d space { $(SpaceForm::$model($d m) => $kind!($d m, $d value),)+ }
            };
        }
    };
}

macro_rules! hyperbolic {
    ($model:ident, $value:expr) => {
        Some($value)
    };
}

macro_rules! other {
    ($model:ident, $value:expr) => {{
        let _ = $model;
        None
    }};
}

space_forms! { $
    /// A model of a space of constant curvature, chosen at run time: for programs whose user names the space.
    /// Every operation of points and tangent vectors is that of the model, with the same bits.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Manifold, Lorentz, PoincareBall, SpaceForm};
    /// let spaces: [SpaceForm; 2] = [PoincareBall::new(-1.0).into(), Lorentz::new(-1.0).into()];
    /// let [ball, hyperboloid] = spaces.map(|space| space.origin::<f64>(2));
    /// assert_eq!((&ball[..], &hyperboloid[..]), (&[0.0; 2][..], &[1.0, 0.0, 0.0][..]));
    /// let in_ball = spaces[1].onto_ball(&hyperboloid).expect("the space is hyperbolic");
    /// assert_eq!(in_ball, ball);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum SpaceForm {
        /// The Poincaré ball.
        PoincareBall: hyperbolic,
        /// The hyperboloid.
        Lorentz: hyperbolic,
        /// The upper half-space.
        HalfSpace: hyperbolic,
        /// The sphere.
        Sphere: other,
        /// The sphere in stereographic projection.
        ProjectedSphere: other,
        /// Euclidean space.
        Euclidean: other,
    }
}

/// Receives the model of hyperbolic space that a [`SpaceForm`] is.
pub trait HyperbolicVisitor {
    /// What it makes of the model.
    type Output;

    /// Makes it.
    fn visit<M: Hyperbolic>(self, model: M) -> Self::Output;
}

/// What only some spaces have. The others answer with `None`.
impl SpaceForm {
    /// What `visitor` makes of a model of hyperbolic space.
    pub fn hyperbolic<V: HyperbolicVisitor>(&self, visitor: V) -> Option<V::Output> {
        if_hyperbolic!(self, m => visitor.visit(*m))
    }

    /// Points of hyperbolic space in the Poincaré ball: see [`Hyperbolic::onto_ball`].
    pub fn onto_ball<R: Rows>(&self, x: &R) -> Option<R> {
        if_hyperbolic!(self, m => m.onto_ball(x))
    }

    /// The energy of entailment cones, in hyperbolic space: see [`EntailmentCones::cone_energy`].
    pub fn entailment_energy<R: Rows>(&self, x: &R, y: &R, k: f64) -> Option<R::Scalar> {
        if_hyperbolic!(self, m => m.cone_energy(x, y, k))
    }

    /// The energy of umbral cones, in the half-space: see [`HalfSpace::umbral_energy`].
    ///
    /// # Panics
    /// In the half-space, if `radius` is not positive and finite.
    #[track_caller]
    pub fn umbral_energy<R: Rows>(&self, x: &R, y: &R, radius: f64) -> Option<R::Scalar> {
        match self {
            SpaceForm::HalfSpace(m) => Some(m.umbral_energy(x, y, radius)),
            _ => None,
        }
    }

    /// The energy of penumbral cones, in the half-space: see [`HalfSpace::penumbral_energy`].
    ///
    /// # Panics
    /// In the half-space, if `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_energy<R: Rows>(&self, x: &R, y: &R, light: f64) -> Option<R::Scalar> {
        match self {
            SpaceForm::HalfSpace(m) => Some(m.penumbral_energy(x, y, light)),
            _ => None,
        }
    }
}

impl ConstantCurvature for SpaceForm {
    fn kappa(&self) -> f64 {
        with_model!(self, m => m.kappa())
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        with_model!(self, m => m.distance_key(y))
    }
    fn rescale<T: Float>(&self, x: &mut [T], scale: f64) {
        with_model!(self, m => m.rescale(x, scale));
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
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        with_model!(self, m => m.geodesic(x, y, t))
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        with_model!(self, m => m.contains(x))
    }
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        with_model!(self, m => m.contains_tangent(x, v))
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

impl Barycentre for SpaceForm {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        with_model!(self, m => m.barycentre(points, weights))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        with_model!(self, m => m.barycentre_features(points))
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        with_model!(self, m => m.barycentre_from_sum(sum))
    }
}

impl OriginFrame for SpaceForm {
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        with_model!(self, m => m.frame(coordinates))
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        with_model!(self, m => m.in_frame(tangents))
    }
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        with_model!(self, m => m.log_in_frame(means, points))
    }
    fn origins<R: Rows>(&self, points: &R) -> R {
        with_model!(self, m => m.origins(points))
    }
    fn dist_and_log_volume<R: Rows>(&self, means: &R, points: &R) -> (R::Scalar, R::Scalar) {
        with_model!(self, m => m.dist_and_log_volume(means, points))
    }
}

constant!(SpaceForm);

//! A geometry that is chosen at run time.

use cotangent_engine::{Float, Tape, Var};
use cotangent_manifolds::{
    Curved, Euclidean, Module, Param, PoincareBall, Point, ProjectedSphere, SpaceForm,
};

use crate::space::curvature::Curvature;
use crate::space::gyrovector_space::{Geometry, GyrovectorSpace};

/// The geometry of a model, chosen at run time: for programs whose user names it. Layers on it are compiled
/// once, not for every geometry, and parts of one model can have different ones. Every operation is that of
/// the geometry, with the same bits. It has no [`Stereographic`](cotangent_manifolds::Stereographic): a fixed
/// curvature has a sign.
///
/// Parameters that stand for points are on a [`SpaceForm`]. A clone of a learned curvature is a parameter of
/// its own, as that of every [`Param`] is.
///
/// ```
/// use cotangent_engine::{Tape, Tensor, rng};
/// use cotangent_layers::{AnyGeometry, Geometry, Linear, exp0, log0};
/// use cotangent_manifolds::{Euclidean, PoincareBall};
/// for geometry in [AnyGeometry::<f64>::from(Euclidean), PoincareBall::new(-1.0).into()] {
///     let layer = Linear::new(geometry.manifold(), 3, 2, &mut rng::stream(1, 0, 0));
///     let tape = Tape::new();
///     let x = exp0(geometry.on(&tape), tape.constant(&Tensor::new([1, 3], vec![0.1, 0.2, 0.3])));
///     let y = log0(layer.forward(x)); // [1, 2]: the same in both, because the bias starts at the origin
///     let want = 0.1 * layer.weight.value().row(0)[0]
///         + 0.2 * layer.weight.value().row(0)[1]
///         + 0.3 * layer.weight.value().row(0)[2];
///     assert!((y.coordinates().to_tensor().data()[0] - want).abs() < 1e-15);
/// }
/// ```
#[derive(Clone, Debug, Module)]
pub enum AnyGeometry<T: Float = f32> {
    /// Euclidean space.
    Euclidean(Euclidean),
    /// The Poincaré ball.
    PoincareBall(PoincareBall),
    /// The sphere in stereographic projection.
    ProjectedSphere(ProjectedSphere),
    /// A curvature that is learned.
    Learned(Curvature<T>),
}

/// The space on a tape whose points layers take in an [`AnyGeometry`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnySpace<'t, T: Float> {
    /// Euclidean space.
    Euclidean(Euclidean),
    /// The Poincaré ball.
    PoincareBall(PoincareBall),
    /// The sphere in stereographic projection.
    ProjectedSphere(ProjectedSphere),
    /// The space of a variable curvature.
    Curved(Curved<Var<'t, T>>),
}

/// The conversions from a geometry and from its space.
macro_rules! conversions {
    ($($variant:ident($geometry:ty)),+) => {$(
        impl<T: Float> From<$geometry> for AnyGeometry<T> {
            fn from(geometry: $geometry) -> Self {
                AnyGeometry::$variant(geometry)
            }
        }
        impl<'t, T: Float> From<$geometry> for AnySpace<'t, T> {
            fn from(space: $geometry) -> Self {
                AnySpace::$variant(space)
            }
        }
    )+};
}
conversions! { Euclidean(Euclidean), PoincareBall(PoincareBall), ProjectedSphere(ProjectedSphere) }

impl<T: Float> From<Curvature<T>> for AnyGeometry<T> {
    fn from(geometry: Curvature<T>) -> Self {
        AnyGeometry::Learned(geometry)
    }
}

impl<T: Float> AnyGeometry<T> {
    /// The curvature that has been learned; `None` if it is fixed.
    pub fn learned_kappa(&self) -> Option<f64> {
        match self {
            AnyGeometry::Learned(curvature) => Some(curvature.kappa.value().data()[0].to_f64()),
            _ => None,
        }
    }
}

impl<T: Float> Geometry<T> for AnyGeometry<T> {
    type Learned = SpaceForm;
    type On<'t> = AnySpace<'t, T>;

    fn manifold(&self) -> SpaceForm {
        match self {
            AnyGeometry::Euclidean(m) => (*m).into(),
            AnyGeometry::PoincareBall(m) => (*m).into(),
            AnyGeometry::ProjectedSphere(m) => (*m).into(),
            AnyGeometry::Learned(curvature) => curvature.manifold().into(),
        }
    }
    fn on<'t>(&self, tape: &'t Tape<T>) -> AnySpace<'t, T> {
        match self {
            AnyGeometry::Euclidean(m) => AnySpace::Euclidean(*m),
            AnyGeometry::PoincareBall(m) => AnySpace::PoincareBall(*m),
            AnyGeometry::ProjectedSphere(m) => AnySpace::ProjectedSphere(*m),
            AnyGeometry::Learned(curvature) => AnySpace::Curved(curvature.on(tape)),
        }
    }
}

/// An expression of the space.
macro_rules! with_space {
    ($space:expr, $s:ident => $value:expr) => {
        match $space {
            AnySpace::Euclidean($s) => $value,
            AnySpace::PoincareBall($s) => $value,
            AnySpace::ProjectedSphere($s) => $value,
            AnySpace::Curved($s) => $value,
        }
    };
}

impl<T: Float> AnySpace<'_, T> {
    /// The manifold of the parameters that stand for points.
    fn parameters_manifold(&self) -> SpaceForm {
        match self {
            AnySpace::Euclidean(m) => (*m).into(),
            AnySpace::PoincareBall(m) => (*m).into(),
            AnySpace::ProjectedSphere(m) => (*m).into(),
            AnySpace::Curved(_) => Euclidean.into(),
        }
    }

    /// # Panics
    /// If the manifold is not that of the space's parameters.
    #[track_caller]
    fn assert_is_own(&self, manifold: &SpaceForm, what: impl FnOnce() -> String) {
        let own = self.parameters_manifold();
        if *manifold != own {
            let space = match self {
                AnySpace::Curved(_) => "a space of learned curvature".to_owned(),
                _ => format!("{own:?}"),
            };
            let what = what();
            panic!(
                "{what} on {manifold:?}, layers in {space} need {own:?}: build them on `Geometry::manifold`"
            )
        }
    }
}

impl<'t, T: Float> GyrovectorSpace<'t, T> for AnySpace<'t, T> {
    type Learned = SpaceForm;

    #[track_caller]
    fn points(&self, stored: Point<SpaceForm, Var<'t, T>>) -> Point<Self, Var<'t, T>> {
        self.assert_is_own(stored.manifold(), || "these points are".to_owned());
        let coordinates = match self {
            AnySpace::Curved(space) => Curved::exp0(space, stored.coordinates()),
            _ => *stored.coordinates(),
        };
        Point::new(*self, coordinates)
    }
    fn to_learned(&self, x: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => s.to_learned(x))
    }
    #[track_caller]
    fn parameter(&self, tape: &'t Tape<T>, param: &Param<SpaceForm, T>) -> Var<'t, T> {
        self.assert_is_own(param.manifold(), || format!("parameter {:?} is", param.name()));
        *self.points(param.on(tape)).coordinates()
    }
    #[track_caller]
    fn add(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::add(s, x, y))
    }
    #[track_caller]
    fn exp0(&self, v: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::exp0(s, v))
    }
    #[track_caller]
    fn log0(&self, x: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::log0(s, x))
    }
    #[track_caller]
    fn dist(&self, x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::dist(s, x, y))
    }
    #[track_caller]
    fn gyromidpoint(&self, points: Var<'t, T>, weights: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => s.gyromidpoint(points, weights))
    }
    #[track_caller]
    fn gyromidpoint_from_sum(&self, x: Var<'t, T>, sum: impl FnOnce(Var<'t, T>) -> Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => s.gyromidpoint_from_sum(x, sum))
    }
    #[track_caller]
    fn logits(&self, x: Var<'t, T>, p: Var<'t, T>, a: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::logits(s, x, p, a))
    }
    #[track_caller]
    fn unidirectional_logits(&self, x: Var<'t, T>, z: Var<'t, T>, r: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::unidirectional_logits(s, x, z, r))
    }
    #[track_caller]
    fn linear(&self, m: Var<'t, T>, x: Var<'t, T>, b: Var<'t, T>) -> Var<'t, T> {
        with_space!(self, s => GyrovectorSpace::linear(s, m, x, b))
    }
}

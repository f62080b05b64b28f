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
/// let geometries = [AnyGeometry::<f64>::from(Euclidean), PoincareBall::new(-1.0).into()];
/// let [flat, curved] = geometries.map(|geometry| {
///     let layer = Linear::new(geometry.manifold(), 3, 2, &mut rng::stream(1, 0, 0));
///     let tape = Tape::new();
///     let x = exp0(geometry.on(&tape), tape.constant(&Tensor::new([1, 3], vec![0.1, 0.2, 0.3])));
///     log0(layer.forward(x)).coordinates().to_tensor() // [1, 2]
/// });
/// // The bias starts at the origin, so both are the product with the weight.
/// assert!((flat.data()[0] - curved.data()[0]).abs() < 1e-15);
/// ```
pub type AnyGeometry<T = f32> = Chosen<Curvature<T>>;

/// The space on a tape whose points layers take in an [`AnyGeometry`].
pub type AnySpace<'t, T> = Chosen<Curved<Var<'t, T>>>;

/// What is chosen: an [`AnyGeometry`], or its space on a tape, an [`AnySpace`]. They differ in `C`, the
/// curvature that is learned.
#[derive(Clone, Copy, Debug, PartialEq, Module)]
pub enum Chosen<C> {
    /// Euclidean space.
    Euclidean(Euclidean),
    /// The Poincaré ball.
    PoincareBall(PoincareBall),
    /// The sphere in stereographic projection.
    ProjectedSphere(ProjectedSphere),
    /// A curvature that is learned.
    Learned(C),
}

macro_rules! conversions {
    ($($geometry:ident),+) => {$(
        impl<C> From<$geometry> for Chosen<C> {
            fn from(geometry: $geometry) -> Self {
                Chosen::$geometry(geometry)
            }
        }
    )+};
}
conversions! { Euclidean, PoincareBall, ProjectedSphere }

impl<T: Float> From<Curvature<T>> for AnyGeometry<T> {
    fn from(geometry: Curvature<T>) -> Self {
        Chosen::Learned(geometry)
    }
}

impl<T: Float> AnyGeometry<T> {
    /// The curvature that has been learned; `None` if it is fixed.
    pub fn learned_kappa(&self) -> Option<f64> {
        match self {
            Chosen::Learned(curvature) => Some(curvature.kappa.value().data()[0].to_f64()),
            _ => None,
        }
    }
}

impl<C> Chosen<C> {
    /// The manifold of the parameters that stand for points. With a learned curvature they are vectors.
    fn parameters_manifold(&self) -> SpaceForm {
        match self {
            Chosen::Euclidean(m) => (*m).into(),
            Chosen::PoincareBall(m) => (*m).into(),
            Chosen::ProjectedSphere(m) => (*m).into(),
            Chosen::Learned(_) => Euclidean.into(),
        }
    }
}

impl<T: Float> Geometry<T> for AnyGeometry<T> {
    type Learned = SpaceForm;
    type On<'t> = AnySpace<'t, T>;

    fn manifold(&self) -> SpaceForm {
        self.parameters_manifold()
    }
    fn on<'t>(&self, tape: &'t Tape<T>) -> AnySpace<'t, T> {
        match self {
            Chosen::Euclidean(m) => (*m).into(),
            Chosen::PoincareBall(m) => (*m).into(),
            Chosen::ProjectedSphere(m) => (*m).into(),
            Chosen::Learned(curvature) => Chosen::Learned(curvature.on(tape)),
        }
    }
}

/// An expression of the space.
macro_rules! with_space {
    ($space:expr, $s:ident => $value:expr) => {
        match $space {
            Chosen::Euclidean($s) => $value,
            Chosen::PoincareBall($s) => $value,
            Chosen::ProjectedSphere($s) => $value,
            Chosen::Learned($s) => $value,
        }
    };
}

impl<T: Float> AnySpace<'_, T> {
    /// # Panics
    /// If the manifold is not that of the space's parameters.
    #[track_caller]
    fn assert_is_own(&self, manifold: &SpaceForm, what: impl FnOnce() -> String) {
        let own = self.parameters_manifold();
        if *manifold != own {
            let space = match self {
                Chosen::Learned(_) => "a space of learned curvature".to_owned(),
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
            Chosen::Learned(space) => Curved::exp0(space, stored.coordinates()),
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

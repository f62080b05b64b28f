//! Maps between Euclidean and curved layers: the exponential map and the logarithm at the origin, by
//! name.
//!
//! A network that has one of these between two of its layers mixes geometries. Ganea et al. 2018,
//! section 4.

use cotangent_engine::{Float, Var};
use cotangent_manifolds::{Euclidean, Point};

use crate::space::gyrovector_space::GyrovectorSpace;

/// The exponential map at the origin: takes vectors `[…, n]` as tangent vectors there and returns
/// points. Eq. 11.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::{exp0, log0};
/// use cotangent_manifolds::PoincareBall;
/// let tape = Tape::<f64>::new();
/// let v = tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0]));
/// let x = exp0(PoincareBall::new(-1.0), v);
/// assert!((x.coordinates().to_tensor().data()[0] - 0.5_f64.tanh()).abs() < 1e-15);
/// assert!((log0(x).coordinates().to_tensor().data()[0] - 0.5).abs() < 1e-15);
/// ```
#[track_caller]
pub fn exp0<'t, G, T>(space: G, v: impl Into<Var<'t, T>>) -> Point<G, Var<'t, T>>
where
    G: GyrovectorSpace<'t, T>,
    T: Float,
{
    Point::new(space, space.exp0(v.into()))
}

/// The logarithm at the origin: the tangent vectors there that lead to the points. Inverse of [`exp0`].
/// Eq. 11.
#[track_caller]
pub fn log0<'t, G, T>(x: Point<G, Var<'t, T>>) -> Point<Euclidean, Var<'t, T>>
where
    G: GyrovectorSpace<'t, T>,
    T: Float,
{
    Point::new(Euclidean, x.manifold().log0(*x.coordinates()))
}

/// Takes points `[…, n]` into another space of the same type, such as [`AnySpace`](crate::AnySpace): by
/// their logarithm at the origin, and [`exp0`] in that space. Points that are in that space already are
/// returned unchanged. Between spaces of different types write `exp0(space, log0(x))`. Ganea et al. 2018,
/// section 4.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_layers::{AnySpace, into_space};
/// use cotangent_manifolds::{Euclidean, Point, PoincareBall};
/// let tape = Tape::<f64>::new();
/// let ball: AnySpace<f64> = PoincareBall::new(-1.0).into();
/// let x = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.5, 0.0])));
/// let v = into_space(Euclidean.into(), x);
/// assert!((v.coordinates().to_tensor().data()[0] - 0.5_f64.atanh()).abs() < 1e-15);
/// assert_eq!(into_space(ball, x).coordinates().to_tensor().data(), [0.5, 0.0]);
/// ```
#[track_caller]
pub fn into_space<'t, G, T>(space: G, x: Point<G, Var<'t, T>>) -> Point<G, Var<'t, T>>
where
    G: GyrovectorSpace<'t, T>,
    T: Float,
{
    if *x.manifold() == space { x } else { exp0(space, *log0(x).coordinates()) }
}

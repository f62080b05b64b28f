//! The geometries of the model's parts.

use cotangent::prelude::*;
use cotangent_apps_common::curvature::CurvatureOption;

use crate::config::Space;

/// The geometry of a part. All hyperbolic parts have the curvature −1 (section 2: c = 1).
pub(crate) fn geometry<T: Float>(space: Space) -> AnyGeometry<T> {
    space.geometry(CurvatureOption { kappa: -1.0, learned: false })
}

/// Points of the geometry of some part: `[…, n]`. [`into_space`] brings them to that of another (section
/// 6.1.2).
pub(crate) type Located<'t, T> = Point<AnySpace<'t, T>, Var<'t, T>>;

/// The distance of each point from the origin: in the ball `2 artanh ‖x‖`. Appendix H.
pub(crate) fn norm<T: Float>(x: Located<'_, T>) -> Var<'_, T> {
    let length = log0(x).coordinates().norm_axis(-1);
    match x.manifold() {
        AnySpace::Euclidean(_) => length,
        // By the metric at the origin.
        _ => length * 2.0,
    }
}

//! How activations become points of hyperbolic space: Gulcehre et al. 2019, section 4.1; Tseng et al. 2023,
//! section 3.2.

use cotangent_engine::{Float, Rows, Var};
use cotangent_manifolds::{Barycentre, HalfSpace, Hyperbolic, Lorentz, Manifold, PoincareBall, direction};

/// How rows of numbers become points of hyperbolic space of curvature −1: for queries and keys
/// [`Mapped`](crate::score::Mapped), for values [`Attention::values`](crate::Attention::values).
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_layers::PointMap;
/// use cotangent_manifolds::{Manifold, PoincareBall};
/// let (ball, x) = (PoincareBall::new(-1.0), Row::from([3.0, 4.0, 2.0]));
/// let norm = |map: PointMap, x: &Row<f64>| ball.dist(&ball.origin(x.len()), &map.ball(x));
/// assert!((norm(PointMap::Exp, &Row::from([0.3, 0.4])) - 2.0 * 0.5).abs() < 1e-14); // in the ball: twice
/// assert!((norm(PointMap::Weierstrass, &Row::from([3.0, 4.0])) - 5.0_f64.asinh()).abs() < 1e-14);
/// let polar = PointMap::Polar.ball(&x); // a direction of two dimensions, and the radius
/// assert!(polar.len() == 2 && (ball.dist(&ball.origin(2), &polar) - 2.0).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointMap {
    /// ψ, onto the half-space: [`HalfSpace::psi`]. Tseng et al. 2023, eq. 10.
    Psi,
    /// ξ, onto the half-space below a light source: [`HalfSpace::xi`]. Tseng et al. 2023, eq. 11.
    Xi,
    /// The exponential map at the origin: `(0, …, 0, 1)` in the half-space, where rows longer than 340
    /// (`f32`: 40) count as that long. Tseng et al. 2023, eq. 9 and section 5.1. In the ball it is exp₀,
    /// which goes twice as far.
    Exp,
    /// Pseudo-polar coordinates: the last coordinate is the distance from the origin, the others are the
    /// direction. So d coordinates are a point of d − 1 dimensions. Gulcehre et al. 2019, section 4.1.
    Polar,
    /// x becomes `(√(1 + ‖x‖²), x)` on the hyperboloid (Weierstrass coordinates).
    ///
    /// A reconstruction of the Cartesian activations of Gulcehre et al. 2019, which no version of the paper
    /// prints. Section 4.1 says that without the exponential factor the distance from the origin grows with
    /// the logarithm of the norm. Here it does: it is arsinh ‖x‖.
    Weierstrass,
}

/// The hyperboloid, the half-space and the ball, of curvature −1.
fn hyperboloid() -> Lorentz {
    Lorentz::new(-1.0)
}
fn upper() -> HalfSpace {
    HalfSpace::new(-1.0)
}
fn unit_ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

impl PointMap {
    /// All maps that start at an origin of all directions: values can be aggregated by these alone.
    pub const OF_VALUES: [Self; 3] = [PointMap::Exp, PointMap::Weierstrass, PointMap::Polar];
    /// All maps.
    pub const ALL: [Self; 5] =
        [PointMap::Psi, PointMap::Xi, PointMap::Exp, PointMap::Polar, PointMap::Weierstrass];

    /// The name on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            PointMap::Psi => "psi",
            PointMap::Xi => "xi",
            PointMap::Exp => "exp",
            PointMap::Polar => "polar",
            PointMap::Weierstrass => "weierstrass",
        }
    }

    /// Points of the ball for rows `[…, d]`: `[…, d]`, of polar coordinates `[…, d − 1]`. The light
    /// of ξ is at height 1.
    ///
    /// # Panics
    /// If the rows are narrower than 2 and the map is pseudo-polar.
    #[track_caller]
    pub fn ball<R: Rows>(self, x: &R) -> R {
        let ball = unit_ball();
        match self {
            PointMap::Exp => ball.exp0(x),
            PointMap::Psi => ball.back_from_hyperboloid(&upper().onto_hyperboloid(&upper().psi(x))),
            PointMap::Xi => ball.back_from_hyperboloid(&upper().onto_hyperboloid(&upper().xi(x, 1.0))),
            PointMap::Polar => ball.back_from_hyperboloid(&hyperboloid().pseudo_polar(x)),
            PointMap::Weierstrass => ball.back_from_hyperboloid(&lifted(x)),
        }
    }

    /// Points of the half-space for rows `[…, d]`: `[…, d]`, of polar coordinates `[…, d − 1]`. The
    /// light of ξ is at height `light`.
    #[track_caller]
    pub(crate) fn half_space<'t, T: Float>(self, x: &Var<'t, T>, light: f64) -> Var<'t, T> {
        match self {
            PointMap::Psi => upper().psi(x),
            PointMap::Xi => upper().xi(x, light),
            PointMap::Exp => {
                // To this length the squares of coordinates, up to e^longest, stay finite.
                let longest = x.tape().scalar(if T::EPSILON < 1e-10 { 340.0 } else { 40.0 });
                let shorter = longest / longest.maximum(x.norm_axis(-1));
                let v = *x * shorter.reshape(shorter.shape().with_width(1));
                upper().exp(&upper().psi(&x.zeros(x.width())), &v)
            }
            PointMap::Polar => {
                // Along the ray of the direction: from the hyperboloid's coordinates heights would cancel.
                let [d, r] = parts(*x);
                let ray = direction(&d) * r.reshape(r.shape().with_width(1));
                PointMap::Exp.half_space(&ray, light)
            }
            PointMap::Weierstrass => upper().back_from_hyperboloid(&lifted(x)),
        }
    }

    /// What is summed with weights to aggregate values `[…, e]`: features of their points.
    #[track_caller]
    pub(crate) fn features<'t, T: Float>(self, values: &Var<'t, T>) -> Var<'t, T> {
        match self {
            PointMap::Polar => hyperboloid().pseudo_polar(values),
            PointMap::Weierstrass => lifted(values),
            _ => unit_ball().barycentre_features(&self.ball(values)),
        }
    }

    /// The aggregated value `[…, e]` from weighted sums of [`features`](Self::features): the barycentre,
    /// taken back by the inverse of the map. In polar coordinates, that is a direction of length 1 and a
    /// radius that is not negative.
    #[track_caller]
    pub(crate) fn aggregate<'t, T: Float>(self, sums: &Var<'t, T>) -> Var<'t, T> {
        let space = || {
            let point = hyperboloid().barycentre_from_sum(sums);
            point.columns(1..point.width())
        };
        match self {
            PointMap::Exp => unit_ball().log0(&unit_ball().barycentre_from_sum(sums)),
            PointMap::Weierstrass => space(),
            PointMap::Polar => {
                let space = space();
                let radius = space.norm_axis(-1).asinh();
                Var::concat(&[direction(&space), radius.reshape(radius.shape().with_width(1))], -1)
            }
            PointMap::Psi | PointMap::Xi => unreachable!("not a map of values"),
        }
    }
}

/// `(√(1 + ‖x‖²), x)`.
fn lifted<R: Rows>(x: &R) -> R {
    hyperboloid().project(&R::concat(&x.zeros(1), x))
}

/// Splits points of the half-space into horizontal parts `[…, n, d − 1]` and heights `[…, n]`.
pub(super) fn parts<T: Float>(x: Var<'_, T>) -> [Var<'_, T>; 2] {
    let shape = x.shape();
    let last = shape.width() - 1;
    [x.slice(-1, 0..last), x.slice(-1, last..last + 1).reshape(shape.rows())]
}

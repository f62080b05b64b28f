//! Entailment cones: y is entailed by x if it lies in a cone at x that opens away from the origin.
//! Sources: Ganea, Bécigneul, Hofmann 2018, Hyperbolic Entailment Cones; Tseng, Yu, Liu, De Sa 2023, eq.
//! 20; the accurate forms are this project's own.
//!
//! With K fixed, the half-aperture is `ψ(x) = arcsin(K(1 − c‖x‖²)/(√c‖x‖))`, and where it is
//! defined the relation is transitive. Ξ(x, y) is the angle at x between the ray away from the origin and
//! the geodesic to y. It is computed from its sine and cosine and without an arc cosine: the sine from a
//! bivector, the cosine without a difference of large numbers.

use cotangent_engine::Rows;
use cotangent_engine::formulas::{Relu, Sub};

use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::isometry::{Hyperbolic, Isometric};
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{KappaStereographic, MaybeNegative};
use crate::manifold::ConstantCurvature;

/// Ganea's entailment cones in a model of hyperbolic space.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{EntailmentCones, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let (x, inside, beside) = (Row::from([0.3, 0.0]), Row::from([0.8, 0.01]), Row::from([0.3, 0.5]));
/// assert_eq!(ball.cone_energy(&x, &inside, 0.1), 0.0);
/// assert!(ball.cone_energy(&x, &beside, 0.1) > 1.0);
/// ```
pub trait EntailmentCones: Hyperbolic {
    /// Half the aperture of the cone at x, `arcsin(K(1 − c‖x‖²)/(√c‖x‖))` in the ball's
    /// coordinates, in radians.
    ///
    /// Nearer to the origin than √c‖x‖ = 2K/(1 + √(1 + 4K²)), where this is a right angle, Ganea et
    /// al. define no cones; here they stay half-spaces, with gradient 0.
    ///
    /// # Panics
    /// If the curvature is not negative: there are no cones.
    #[track_caller]
    fn cone_aperture<R: Rows>(&self, x: &R, k: f64) -> R::Scalar;

    /// The angle Ξ(x, y) in [0, π] at x between the ray away from the origin and the geodesic to y. 0
    /// where x is the origin or y is x.
    ///
    /// # Panics
    /// If the curvature is not negative.
    #[track_caller]
    fn cone_angle<R: Rows>(&self, x: &R, y: &R) -> R::Scalar;

    /// `max(0, Ξ(x, y) − ψ(x))`: 0 exactly where y lies in the cone at x. Ganea et al. 2018, section 4.
    ///
    /// # Panics
    /// If the curvature is not negative.
    #[track_caller]
    fn cone_energy<R: Rows>(&self, x: &R, y: &R, k: f64) -> R::Scalar {
        let excess = R::map(Sub, [&self.cone_angle(x, y), &self.cone_aperture(x, k)]);
        R::map(Relu, [&excess])
    }
}

impl<S: MaybeNegative> EntailmentCones for KappaStereographic<S> {
    #[track_caller]
    fn cone_aperture<R: Rows>(&self, x: &R, k: f64) -> R::Scalar {
        let kappa = negative(self.kappa());
        R::scalar(formulas::BallAperture, [x], [&x.constant(kappa), &x.constant(k)])
    }
    #[track_caller]
    fn cone_angle<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::BallAngle, [x, y], [&x.constant(negative(self.kappa()))])
    }
}

/// The curvature, which must be negative.
#[track_caller]
fn negative(kappa: f64) -> f64 {
    assert!(kappa < 0.0, "entailment cones: negative curvature is needed, not {kappa}");
    kappa
}

impl EntailmentCones for Lorentz {
    fn cone_aperture<R: Rows>(&self, x: &R, k: f64) -> R::Scalar {
        R::scalar(formulas::LorentzAperture, [x], [&x.constant(self.kappa()), &x.constant(k)])
    }
    fn cone_angle<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::LorentzAngle, [x, y], [&x.constant(self.kappa())])
    }
}

/// The other models have their cones on the hyperboloid.
macro_rules! on_the_hyperboloid {
    ($($model:ty),+) => { $(
        impl EntailmentCones for $model {
            fn cone_aperture<R: Rows>(&self, x: &R, k: f64) -> R::Scalar {
                let hyperboloid: Lorentz = self.counterpart();
                hyperboloid.cone_aperture(&self.onto_hyperboloid(x), k)
            }
            fn cone_angle<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
                let hyperboloid: Lorentz = self.counterpart();
                hyperboloid.cone_angle(&self.onto_hyperboloid(x), &self.onto_hyperboloid(y))
            }
        }
    )+ };
}
on_the_hyperboloid!(Klein, HalfSpace);

/// The row formulas of the cones. Parameter 0 is κ, parameter 1 is K.
pub mod formulas {
    use std::f64::consts::FRAC_PI_2;

    use cotangent_engine::registry::Range;
    use cotangent_engine::scalar::chosen;
    use cotangent_engine::{Scalar, row_formulas};

    use crate::angle::from_components;
    use crate::hyperbolic::lorentz::formulas::outward;

    /// The arc sine; a right angle for arguments beyond 1.
    #[inline(always)]
    fn aperture<S: Scalar>(sine: S) -> S {
        let defined = sine.lt(S::one());
        let arc = S::select(defined, S::select(defined, sine, S::zero()).asin(), S::constant(FRAC_PI_2));
        chosen(sine, sine, arc)
    }

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// Half-aperture in the ball, `arcsin(K m/(√c‖x‖))`. Tseng et al. 2023, eq. 20.
        pub BallAperture = "cones.ball_aperture": number [Input(0)], tested in Ball [KAPPA, K];
        m = Margin(0), xx = Dot(0, 0), kappa = Param(0), k = Param(1) =>
        aperture(k * m / (-kappa * xx).sqrt());

        /// Half-aperture on the hyperboloid, `arcsin(2K/(√c‖X_s‖))`.
        pub LorentzAperture = "cones.lorentz_aperture": number [Input(0)], metric Space,
            tested in Hyperboloid(1) [KAPPA, K];
        xx = Dot(0, 0), kappa = Param(0), k = Param(1) => aperture((k + k) / (-kappa * xx).sqrt());

        /// The angle Ξ in the ball: between x and the direction `m_x d + κ‖d‖² x` of y, where d = y
        /// − x.
        pub BallAngle = "cones.ball_angle": number [Input(0), Difference(1, 0)], tested in Ball [KAPPA];
        m = Margin(0), xx = Dot(0, 0), xd = Accurate(0, 1), dd = Dot(1, 1), wedge = Wedge(0, 1, 1),
        kappa = Param(0) => {
            // Rounding may leave the area of parallel vectors negative.
            from_components(m * wedge.max(S::zero()).sqrt(), m * xd + kappa * dd * xx)
        };

        /// The angle Ξ on the hyperboloid, as for [`BallAngle`]: from Y's components across and along X, the
        /// latter as seen from X. It uses d = y − x, so that nearby points keep their digits and the angle
        /// of equal points is 0.
        pub LorentzAngle = "cones.lorentz_angle": number [Input(0), Input(1), Difference(1, 0)],
            metric Space, tested in Hyperboloid(2) [KAPPA];
        xx = Dot(0, 0), xy = Dot(0, 1), xd = Dot(0, 2), yy = Dot(1, 1), wedge = Wedge(0, 2, 2),
        kappa = Param(0) => {
            let elsewhere = S::zero().lt(xx);
            let square = S::select(elsewhere, xx, S::one());
            let x = square.sqrt();
            // Rounding may leave the area of parallel vectors negative.
            let across = wedge.max(S::zero()) / square;
            let outward = outward(square, yy, xy / x, xd / x, across, kappa);
            chosen(xx, xx, S::select(elsewhere, from_components(across.sqrt(), outward), S::zero()))
        };
    }

    const KAPPA: Range = Range(-1.5, -0.5);
    const K: Range = Range(0.001, 0.005);
}

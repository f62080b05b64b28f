//! The sphere ⟨x, x⟩ = 1/κ, κ > 0, in a Euclidean space of one dimension more.
//!
//! Nearby points are compared by their difference d, nearly antipodal points by their sum s:
//! `‖d‖ = (2/√κ) sin(θ/2)`, `‖s‖ = (2/√κ) cos(θ/2)`. No arc cosine is taken near ±1.

use cotangent_engine::domain::{margin, sphere_tolerance};
use cotangent_engine::{Float, Row, Rows};

use crate::distance_key::DistanceKey;
use crate::euclidean::euclidean_metric;
use crate::laws::lawful::{Lawful, family, length};
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, at_least_one, existing};
use crate::module::constant;
use crate::steps::Steps;

/// The sphere of sectional curvature `kappa` > 0, radius 1/√κ. Points of dimension n have n + 1
/// coordinates; the origin is the pole of the first.
///
/// To the exact antipode, where no one geodesic is the shortest, logarithms are 0 and transport is the
/// identity by definition.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Sphere};
/// let sphere = Sphere::new(1.0);
/// let (x, y) = (Row::from([1.0, 0.0, 0.0]), Row::from([-1.0, 1e-9, 0.0]));
/// assert!((sphere.dist(&x, &y) - (std::f64::consts::PI - 1e-9)).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    kappa: f64,
}

impl Sphere {
    /// The sphere of the given curvature.
    ///
    /// # Panics
    /// If `kappa` is not positive and finite. For a curvature that a user chooses, see
    /// [`try_new`](Self::try_new).
    #[track_caller]
    pub fn new(kappa: f64) -> Self {
        existing(Self::try_new(kappa))
    }

    /// The sphere of the given curvature.
    ///
    /// # Errors
    /// If `kappa` is not positive and finite.
    pub fn try_new(kappa: f64) -> Result<Self, CurvatureError> {
        if kappa > 0.0 && kappa.is_finite() {
            return Ok(Sphere { kappa });
        }
        Err(CurvatureError { manifold: Self::TITLE, needs: "positive", kappa })
    }
}

/// The row formulas of the sphere. Parameter 0 is κ where there is one.
pub mod formulas {
    use cotangent_engine::registry::Range;
    use cotangent_engine::{Scalar, row_formulas};

    /// The distance, from the squared norms of difference and sum. Neither arc sine is taken beyond 1/√2.
    #[inline(always)]
    fn distance<S: Scalar>(dd: S, ss: S, kappa: S) -> S {
        let near = dd.lt(ss);
        let square = S::select(near, dd, ss);
        let side = square.sqrt() * (S::constant(0.25) * kappa * square).arcsinc();
        S::select(near, side, S::constant(std::f64::consts::PI) / kappa.sqrt() - side)
    }

    /// `a`, or 0 where the squared norm of the sum vanishes: at antipodes.
    #[inline(always)]
    fn unless_antipodal<S: Scalar>(ss: S, a: S) -> S {
        S::select(S::zero().lt(ss), a, S::zero())
    }

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// Distance between x and y.
        pub Dist = "sphere.dist": number [Difference(1, 0), Sum(0, 1)], tested in Sphere(2) [KAPPA];
        dd = Dot(0, 0), ss = Dot(1, 1), kappa = Param(0) => distance(dd, ss, kappa);

        /// Exponential map at x of v: `cos(√κ‖v‖) x + sinc(κ‖v‖²) v`.
        pub Exp = "sphere.exp": vector [Input(0), Input(1)], domain Sphere, tested in Sphere(1) [KAPPA];
        vv = Dot(1, 1), kappa = Param(0) => {
            // Longer geodesics are cut off here: after millions of turns only rounding decides where
            // they end.
            let (square, longest) = (kappa * vv, S::constant(1e15));
            let shorter = (longest / square).min(S::one()).sqrt();
            let (sinc, cosc) = square.min(longest).sinc_cosc();
            [cosc, sinc * shorter]
        };

        /// Logarithm at x of y: `(θ/sin θ)(d + (κ‖d‖²/2) x)`; beyond a right angle it is computed
        /// with `s − (κ‖s‖²/2) x`, which is the same vector.
        pub Log = "sphere.log": vector [Input(0), Difference(1, 0), Sum(0, 1)], tested in Sphere(2) [KAPPA];
        dd = Dot(1, 1), ss = Dot(2, 2), kappa = Param(0) => {
            let near = dd.lt(ss);
            // θ over 2 sin(θ/2), which is √κ‖d‖.
            let by_chord = S::select(
                near,
                (S::constant(0.25) * kappa * dd).arcsinc(),
                distance(dd, ss, kappa) / dd.sqrt(),
            );
            let a = unless_antipodal(ss, S::constant(2.0) * by_chord / (kappa * ss).sqrt());
            let of_x = S::constant(0.5) * kappa * a;
            let zero = S::zero();
            [S::select(near, of_x * dd, -of_x * ss), S::select(near, a, zero), S::select(near, zero, a)]
        };

        // The formula has no κ, which only places the points.
        /// Parallel transport of v from x to y: `v − 2⟨y,v⟩/‖s‖² s`.
        pub Transport = "sphere.transport": vector [Difference(1, 0), Sum(0, 1), Input(2)],
            tested in Free [];
        dd = Dot(0, 0), ss = Dot(1, 1), dv = Dot(0, 2), sv = Dot(1, 2) => {
            // ⟨y,v⟩ from the shorter of d and s: both give it, because v is orthogonal to x.
            let yv = S::select(dd.lt(ss), dv, sv);
            [S::zero(), unless_antipodal(ss, S::constant(-2.0) * yv / ss), S::one()]
        };

        /// Signed distance from x to the great hypersphere through p with normal a: `(1/√κ)
        /// arctan(⟨x,a⟩/‖x∧a‖)`.
        pub Gyroplane = "sphere.gyroplane": number [Input(0), Input(2), Difference(0, 1), Sum(0, 1)],
            tested in Sphere(2) [KAPPA];
        dd = Dot(2, 2), ss = Dot(3, 3), da = Dot(2, 1), sa = Dot(3, 1), area = Wedge(1, 0, 0),
        kappa = Param(0) => {
            // From the shorter of d and s: both give it, because a is orthogonal to p.
            let xa = S::select(dd.lt(ss), da, sa);
            // Rounding may leave the area of parallel vectors negative.
            let area = area.max(S::zero());
            let product = (xa.square() + area).sqrt();
            // Where the product is 0 or NaN, the result is the product itself.
            let half = S::select(S::zero().lt(product), xa / (product + area.sqrt()), product);
            S::constant(2.0) * half.atan() / kappa.sqrt()
        };

        /// The tangent vector at x nearest to v, and the Riemannian gradient of a coordinate gradient:
        /// `v − κ⟨x,v⟩ x`.
        pub ProjectTangent = "sphere.project_tangent": vector [Input(0), Input(1)],
            tested in Sphere(1) [KAPPA];
        xv = Dot(0, 1), kappa = Param(0) => [-kappa * xv, S::one()];

        /// The identity on points; other rows are scaled to the sphere, and the zero row is moved to the
        /// origin. The gradient is that of the scaling everywhere: at points the tangent part.
        pub Project = "sphere.project": vector [Input(0)], domain Sphere, tested in Free [KAPPA];
        norm = Along(0, 0), kappa = Param(0), epsilon = Epsilon => {
            // Twice the tolerance of a point: rows between are left to the domain, which checks more
            // closely.
            let off = (kappa * norm.square() - S::one()).abs();
            let scaled = (kappa.sqrt() * norm).recip();
            let scaled = S::select(S::zero().lt(norm), scaled, S::one());
            [S::select(off.lt(S::constant(8.0) * epsilon), scaled / scaled.detached(), scaled)]
        };
    }

    const KAPPA: Range = Range(0.4, 1.6);
}

impl ConstantCurvature for Sphere {
    fn kappa(&self) -> f64 {
        self.kappa
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        Some(DistanceKey::new(y, 1.0))
    }
}

impl Manifold for Sphere {
    const NAME: &'static str = "sphere";
    const TITLE: &'static str = "the sphere";

    euclidean_metric!();

    fn ambient(&self, dim: usize) -> usize {
        dim + 1
    }
    fn dimension(&self, ambient: usize) -> usize {
        ambient.saturating_sub(1)
    }
    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        at_least_one(Self::TITLE, dim);
        let mut row = Row::from(vec![T::zero(); dim + 1].as_slice());
        row[0] = T::nearest(self.kappa.sqrt().recip());
        row
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::Dist, [x, y], [&x.constant(self.kappa)])
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::Exp, [x, v], [&x.constant(self.kappa)])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        R::vector(formulas::Log, [x, y], [&x.constant(self.kappa)])
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        R::vector(formulas::Transport, [x, y, v], [])
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::ProjectTangent, [x, v], [&x.constant(self.kappa)])
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Project, [x], [&x.constant(self.kappa)])
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, 2)?;
        let by = margin(x, -self.kappa).abs();
        if by <= sphere_tolerance::<T>() {
            return Ok(());
        }
        Err(OffManifold { manifold: Self::TITLE, condition: "kappa |x|^2 = 1", by })
    }
}

impl Steps for Sphere {}

impl Lawful for Sphere {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
    }
}

family!(Sphere: [1e-12, 0.6, 1.0, 4.0].map(Sphere::new), [(Sphere::new(1.0), 3, 1.2)]);

constant!(Sphere);

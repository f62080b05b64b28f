//! The Klein (Beltrami) model: the ball of radius 1/√-κ in which geodesics are straight chords. Sources:
//! Ungar 2005 for the model; the accurate forms are this project's own.
//!
//! With e = 1 + κ‖q‖² and the metric `‖v‖²/e − κ⟨q,v⟩²/e²`, the logarithm is a multiple of the
//! difference, the exponential map moves along v, and transport adds a multiple of the difference.
//! Nothing here cancels for κ < 0, but a Klein coordinate holds half the digits of a radius: `e` is the
//! square of what the Poincaré ball keeps, so f64 reaches the radius 18.7/√-κ and f32 8.7/√-κ, and an
//! ulp of a coordinate is a distance of u cosh²r.

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row, Rows};

use crate::hyperbolic::stereographic::formulas as stereographic;
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, at_least_one, existing};

/// The Klein model of hyperbolic space of sectional curvature `kappa` < 0; points have ‖q‖ < 1/√-κ.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Klein, Manifold};
/// let klein = Klein::new(-1.0);
/// let (o, q) = (klein.origin::<f64>(2), Row::from([0.6, 0.0]));
/// assert!((klein.dist(&o, &q) - 2.0_f64.ln()).abs() < 1e-15); // artanh 0.6
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Klein {
    kappa: f64,
}

impl Klein {
    /// The model of the given curvature.
    ///
    /// # Panics
    /// If `kappa` is not negative and finite. For a curvature that a user chooses, see
    /// [`try_new`](Self::try_new).
    #[track_caller]
    pub fn new(kappa: f64) -> Self {
        existing(Self::try_new(kappa))
    }

    /// The model of the given curvature.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite.
    pub fn try_new(kappa: f64) -> Result<Self, CurvatureError> {
        Ok(Klein { kappa: CurvatureError::unless_negative("the Klein model", kappa)? })
    }
}

/// The row formulas of the model. Parameter 0 is κ.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range, Sample::Ball};
    use cotangent_engine::scalar::chosen;
    use cotangent_engine::{Domain, Invariant, RowFormula, Scalar, Vector};

    use crate::hyperbolic::ideal::by_components;
    use crate::hyperbolic::lorentz::formulas::{distance_of_chord, velocity_of_chord};
    use Invariant::{Accurate, Along, Dot, Margin, Param, Wedge};
    use Vector::{Difference, Input};

    /// The squared chord of the points on the hyperboloid: with d the difference and s the sum,
    /// `(‖d‖² − κ⟨d,s⟩²/(√e_x + √e_y)²)/√(e_x e_y)`, all of it positive.
    ///
    /// `⟨d,s⟩ = ‖y‖² − ‖x‖²` is computed as `⟨x,d⟩ + ⟨y,d⟩` for points that are nearer to each other
    /// than to the boundary, in the sense that c‖d‖² < e, and as `(e_y − e_x)/κ` for others.
    #[inline(always)]
    fn chord<S: Scalar>(ex: S, ey: S, dd: S, xd: S, yd: S, kappa: S) -> S {
        let (rx, ry) = (ex.sqrt(), ey.sqrt());
        let near = (-kappa * dd).lt(ex.max(ey));
        let ds = S::select(near, xd + yd, (ey - ex) / kappa);
        (dd - kappa * (ds / (rx + ry)).square()) / (rx * ry)
    }

    /// The basis of the formulas that use the chord.
    const CHORD: [Vector; 3] = [Input(0), Input(1), Difference(1, 0)];

    /// The invariants of these formulas.
    const OF_CHORD: [Invariant; 6] =
        [Margin(0), Margin(1), Dot(2, 2), Accurate(0, 2), Accurate(1, 2), Param(0)];

    /// Distance between x and y.
    #[derive(Clone, Copy, Debug)]
    pub struct Dist;

    impl RowFormula<2, 3, 6, 1> for Dist {
        const NAME: &'static str = "klein.dist";
        const VECTOR: bool = false;
        const BASIS: [Vector; 3] = CHORD;
        const INVARIANTS: [Invariant; 6] = OF_CHORD;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([ex, ey, dd, xd, yd, kappa]: [S; 6]) -> [S; 1] {
            [distance_of_chord(chord(ex, ey, dd, xd, yd, kappa), kappa)]
        }
    }

    /// Exponential map at x of v: `x + T/(1 − κT⟨x,v⟩/e) v`, T = tanc(κ‖v‖²) of the Riemannian norm.
    #[derive(Clone, Copy, Debug)]
    pub struct Exp;

    impl RowFormula<2, 2, 4, 2> for Exp {
        const NAME: &'static str = "klein.exp";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Dot(0, 1), Dot(1, 1), Param(0)];
        const DOMAIN: Domain = Domain::Ball;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([e, xv, vv, kappa]: [S; 4]) -> [S; 2] {
            // Beyond this the map has long reached the boundary, and the squares would overflow.
            let (limit, vv) = (S::constant(1e135), vv.min(S::constant(1e270)));
            let along = xv.min(limit).max(-limit) / e;
            let (t, secant) = (kappa * (vv / e - kappa * along.square())).tanc_secant();
            let outward = -kappa * t * along;
            // 1 + `outward` cancels on the way in; there it is computed from the product with its
            // conjugate.
            let conjugate = secant - kappa * t.square() * vv / e;
            let inward = outward.lt(S::zero());
            [S::one(), t / S::select(inward, conjugate / (S::one() - outward), S::one() + outward)]
        }
    }

    /// Logarithm at x of y: a multiple of y − x.
    #[derive(Clone, Copy, Debug)]
    pub struct Log;

    impl RowFormula<2, 3, 6, 3> for Log {
        const NAME: &'static str = "klein.log";
        const VECTOR: bool = true;
        const BASIS: [Vector; 3] = CHORD;
        const INVARIANTS: [Invariant; 6] = OF_CHORD;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([ex, ey, dd, xd, yd, kappa]: [S; 6]) -> [S; 3] {
            let velocity = velocity_of_chord(chord(ex, ey, dd, xd, yd, kappa), kappa);
            [S::zero(), S::zero(), (ex / ey).sqrt() * velocity]
        }
    }

    /// The logarithm at x of y carried to the origin: with D the distance at curvature −1 and d = y − x,
    /// `(D/sinh D)(d + c⟨x,d⟩/(√e_x (1 + √e_x)) x)/√e_y`. The bracket is d with its part along x divided
    /// by √e_x.
    #[derive(Clone, Copy, Debug)]
    pub struct Centred;

    impl RowFormula<2, 3, 6, 3> for Centred {
        const NAME: &'static str = "klein.centred";
        const VECTOR: bool = true;
        const BASIS: [Vector; 3] = CHORD;
        const INVARIANTS: [Invariant; 6] = OF_CHORD;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([ex, ey, dd, xd, yd, kappa]: [S; 6]) -> [S; 3] {
            let of_d = velocity_of_chord(chord(ex, ey, dd, xd, yd, kappa), kappa) / ey.sqrt();
            let root = ex.sqrt();
            [-kappa * xd / (root + ex) * of_d, S::zero(), of_d]
        }
    }

    /// Parallel transport of v from x to y: with d = y − x, A = 1 + κ⟨x,y⟩ and G = ⟨d,v⟩ − κ⟨x,d⟩⟨x,v⟩/e_x,
    /// `√(e_y/e_x) (v + κ(⟨x,v⟩/e_x + G/(√(e_x e_y) + A)) d)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Transport;

    impl RowFormula<3, 4, 7, 4> for Transport {
        const NAME: &'static str = "klein.transport";
        const VECTOR: bool = true;
        const BASIS: [Vector; 4] = [Input(0), Input(1), Difference(1, 0), Input(2)];
        const INVARIANTS: [Invariant; 7] =
            [Margin(0), Margin(1), Dot(2, 2), Dot(0, 2), Dot(0, 3), Dot(2, 3), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([ex, ey, dd, xd, xv, dv, kappa]: [S; 7]) -> [S; 4] {
            let along = xv / ex;
            let product = S::constant(0.5) * (ex + ey - kappa * dd);
            let turn = (dv - kappa * xd * along) / ((ex * ey).sqrt() + product);
            let ratio = (ey / ex).sqrt();
            [S::zero(), S::zero(), ratio * kappa * (along + turn), ratio]
        }
    }

    /// Riemannian gradient from the coordinate gradient g: `e (g + κ⟨x,g⟩ x)`.
    #[derive(Clone, Copy, Debug)]
    pub struct EgradToRgrad;

    impl RowFormula<2, 2, 3, 2> for EgradToRgrad {
        const NAME: &'static str = "klein.egrad_to_rgrad";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 3] = [Margin(0), Dot(0, 1), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([e, xg, kappa]: [S; 3]) -> [S; 2] {
            [e * kappa * xg, e]
        }
    }

    /// Riemannian inner product of u and v at x: `⟨u,v⟩/e − κ⟨x,u⟩⟨x,v⟩/e²`.
    #[derive(Clone, Copy, Debug)]
    pub struct Inner;

    impl RowFormula<3, 3, 5, 1> for Inner {
        const NAME: &'static str = "klein.inner";
        const VECTOR: bool = false;
        const BASIS: [Vector; 3] = [Input(0), Input(1), Input(2)];
        const INVARIANTS: [Invariant; 5] = [Margin(0), Dot(0, 1), Dot(0, 2), Dot(1, 2), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([e, xu, xv, uv, kappa]: [S; 5]) -> [S; 1] {
            [uv / e - kappa * (xu / e) * (xv / e)]
        }
    }

    /// Riemannian norm of v at x.
    #[derive(Clone, Copy, Debug)]
    pub struct Norm;

    impl RowFormula<2, 2, 4, 1> for Norm {
        const NAME: &'static str = "klein.norm";
        const VECTOR: bool = false;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Dot(0, 1), Dot(1, 1), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([e, xv, vv, kappa]: [S; 4]) -> [S; 1] {
            let [square] = Inner::eval([e, xv, xv, vv, kappa]);
            [square.sqrt()]
        }
    }

    /// Signed distance from x to the gyroplane through p with normal a, with d = x − p and the metric at p:
    /// `(1/√c) arsinh(√c √(e_p/e_x) g_p(d, a)/‖a‖_p)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Gyroplane;

    impl RowFormula<3, 4, 7, 1> for Gyroplane {
        const NAME: &'static str = "klein.gyroplane";
        const VECTOR: bool = false;
        const BASIS: [Vector; 4] = [Input(0), Input(1), Input(2), Difference(0, 1)];
        const INVARIANTS: [Invariant; 7] =
            [Margin(0), Margin(1), Dot(1, 3), Dot(1, 2), Dot(3, 2), Dot(2, 2), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([ex, ep, pd, pa, da, aa, kappa]: [S; 7]) -> [S; 1] {
            let ([inner], [norm]) = (Inner::eval([ep, pd, pa, da, kappa]), Norm::eval([ep, pa, aa, kappa]));
            let c = (-kappa).sqrt();
            let sine = c * (ep / ex).sqrt() * inner / norm;
            [chosen(aa, aa, S::select(S::zero().lt(aa), sine, S::zero())).asinh() / c]
        }
    }

    /// The Busemann function of direction ω = ‖ω‖u, `(1/√c) ln((1 − √c⟨x,u⟩)/√e)`. Law 24.
    #[derive(Clone, Copy, Debug)]
    pub struct Busemann;

    impl RowFormula<2, 2, 6, 1> for Busemann {
        const NAME: &'static str = "klein.busemann";
        const VECTOR: bool = false;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 6] =
            [Margin(0), Dot(0, 0), Along(0, 1), Dot(1, 1), Wedge(1, 0, 0), Param(0)];
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([e, xx, xu, ww, area, kappa]: [S; 6]) -> [S; 1] {
            let (c, root) = (-kappa, e.sqrt());
            // 1 − √e is c‖x‖²/(1 + √e).
            let rise = c * xx / (root + e);
            [by_components(rise, c.sqrt() * xu / root, c * (area / ww) / e, kappa)]
        }
    }

    const KAPPA: Range = Range(-1.5, -0.5);

    /// All formulas of the model, for the test that compares their evaluations.
    pub const ALL: &[Formula] = &[
        Formula::row(Dist, Ball, &[KAPPA]),
        Formula::row(Exp, Ball, &[KAPPA]),
        Formula::row(Log, Ball, &[KAPPA]),
        Formula::row(Centred, Ball, &[KAPPA]),
        Formula::row(Transport, Ball, &[KAPPA]),
        Formula::row(EgradToRgrad, Ball, &[KAPPA]),
        Formula::row(Inner, Ball, &[KAPPA]),
        Formula::row(Norm, Ball, &[KAPPA]),
        Formula::row(Gyroplane, Ball, &[KAPPA]),
        Formula::row(Busemann, Ball, &[KAPPA]),
    ];
}

impl ConstantCurvature for Klein {
    fn kappa(&self) -> f64 {
        self.kappa
    }
}

impl Manifold for Klein {
    const NAME: &'static str = "klein";

    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        at_least_one(Self::NAME, dim);
        Row::from(vec![T::zero(); dim].as_slice())
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::Dist, [x, y], [&x.constant(self.kappa)])
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Inner, [x, u, v], [&x.constant(self.kappa)])
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Norm, [x, v], [&x.constant(self.kappa)])
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::Exp, [x, v], [&x.constant(self.kappa)])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        R::vector(formulas::Log, [x, y], [&x.constant(self.kappa)])
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        R::vector(formulas::Transport, [x, y, v], [&x.constant(self.kappa)])
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        R::vector(formulas::EgradToRgrad, [x, g], [&x.constant(self.kappa)])
    }
    fn project_tangent<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        // The same ball as the Poincaré model's.
        R::vector(stereographic::Project, [x], [&x.constant(self.kappa)])
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::NAME, x, 1)?;
        OffManifold::unless_inside(Self::NAME, margin(x, self.kappa))
    }
}

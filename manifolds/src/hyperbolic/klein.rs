//! The Klein (Beltrami) model: the ball of radius 1/√-κ in which geodesics are straight chords. Sources:
//! Ungar 2005 for the model; the accurate forms are this project's own.
//!
//! With e = 1 + κ‖q‖² and the metric `‖v‖²/e − κ⟨q,v⟩²/e²`, the logarithm is a multiple
//! of the difference, the exponential map moves along v, and transport adds a multiple of the difference.
//! Nothing here cancels for κ < 0, but a Klein coordinate holds half the digits of a radius: `e` is the
//! square of what the Poincaré ball keeps, so f64 reaches the radius 18.7/√-κ and f32 8.7/√-κ, and an
//! ulp of a coordinate is a distance of u cosh²r.

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row, Rows};

use crate::hyperbolic::stereographic::formulas as stereographic;
use crate::laws::lawful::{Lawful, NEGATIVE, family, length};
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, at_least_one, existing};
use crate::module::constant;
use crate::steps::Steps;

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
        Ok(Klein { kappa: CurvatureError::unless_negative(Self::TITLE, kappa)? })
    }
}

/// The row formulas of the model. Parameter 0 is κ.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range, Sample::Ball};
    use cotangent_engine::scalar::chosen;
    use cotangent_engine::{Invariant, RowFormula, Scalar, Vector, row_formulas};

    use crate::hyperbolic::ideal::by_components;
    use crate::hyperbolic::lorentz::formulas::{distance_of_chord, velocity_of_chord};
    use Invariant::{Accurate, Dot, Margin, Param};
    use Vector::{Difference, Input};

    /// The squared chord of the points on the hyperboloid: with d the difference and s the sum,
    /// `(‖d‖² − κ⟨d,s⟩²/(√e_x + √e_y)²)/√(e_x e_y)`, all of it positive.
    ///
    /// `⟨d,s⟩ = ‖y‖² − ‖x‖²` is computed as `⟨x,d⟩ + ⟨y,d⟩` for points that are
    /// nearer to each other than to the boundary, in the sense that c‖d‖² < e, and as `(e_y − e_x)/κ`
    /// for others.
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

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL and [
            Formula::row(Dist, Ball, &[KAPPA]),
            Formula::row(Log, Ball, &[KAPPA]),
            Formula::row(Centred, Ball, &[KAPPA]),
        ];

        /// Exponential map at x of v: `x + T/(1 − κT⟨x,v⟩/e) v`, T = tanc(κ‖v‖²) of the
        /// Riemannian norm.
        pub Exp = "klein.exp": vector [Input(0), Input(1)], domain Ball, tested in Ball [KAPPA];
        e = Margin(0), xv = Dot(0, 1), vv = Dot(1, 1), kappa = Param(0) => {
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
        };

        /// Parallel transport of v from x to y: with d = y − x, A = 1 + κ⟨x,y⟩ and G = ⟨d,v⟩ −
        /// κ⟨x,d⟩⟨x,v⟩/e_x, `√(e_y/e_x) (v + κ(⟨x,v⟩/e_x + G/(√(e_x e_y) + A)) d)`.
        pub Transport = "klein.transport": vector [Input(0), Input(1), Difference(1, 0), Input(2)],
            tested in Ball [KAPPA];
        ex = Margin(0), ey = Margin(1), dd = Dot(2, 2), xd = Dot(0, 2), xv = Dot(0, 3), dv = Dot(2, 3),
        kappa = Param(0) => {
            let along = xv / ex;
            let product = S::constant(0.5) * (ex + ey - kappa * dd);
            let turn = (dv - kappa * xd * along) / ((ex * ey).sqrt() + product);
            let ratio = (ey / ex).sqrt();
            [S::zero(), S::zero(), ratio * kappa * (along + turn), ratio]
        };

        /// Riemannian gradient from the coordinate gradient g: `e (g + κ⟨x,g⟩ x)`.
        pub EgradToRgrad = "klein.egrad_to_rgrad": vector [Input(0), Input(1)], tested in Ball [KAPPA];
        e = Margin(0), xg = Dot(0, 1), kappa = Param(0) => [e * kappa * xg, e];

        /// Riemannian inner product of u and v at x: `⟨u,v⟩/e − κ⟨x,u⟩⟨x,v⟩/e²`.
        pub Inner = "klein.inner": number [Input(0), Input(1), Input(2)], tested in Ball [KAPPA];
        e = Margin(0), xu = Dot(0, 1), xv = Dot(0, 2), uv = Dot(1, 2), kappa = Param(0) =>
        uv / e - kappa * (xu / e) * (xv / e);

        /// Riemannian norm of v at x.
        pub Norm = "klein.norm": number [Input(0), Input(1)], tested in Ball [KAPPA];
        e = Margin(0), xv = Dot(0, 1), vv = Dot(1, 1), kappa = Param(0) => {
            let [square] = Inner::eval([e, xv, xv, vv, kappa]);
            square.sqrt()
        };

        /// Signed distance from x to the gyroplane through p with normal a, with d = x − p and the metric
        /// at p: `(1/√c) arsinh(√c √(e_p/e_x) g_p(d, a)/‖a‖_p)`.
        pub Gyroplane = "klein.gyroplane": number [Input(0), Input(1), Input(2), Difference(0, 1)],
            tested in Ball [KAPPA];
        ex = Margin(0), ep = Margin(1), pd = Dot(1, 3), pa = Dot(1, 2), da = Dot(3, 2), aa = Dot(2, 2),
        kappa = Param(0) => {
            let ([inner], [norm]) = (Inner::eval([ep, pd, pa, da, kappa]), Norm::eval([ep, pa, aa, kappa]));
            let c = (-kappa).sqrt();
            let sine = c * (ep / ex).sqrt() * inner / norm;
            chosen(aa, aa, S::select(S::zero().lt(aa), sine, S::zero())).asinh() / c
        };

        /// The Busemann function of direction ω = ‖ω‖u, `(1/√c) ln((1 − √c⟨x,u⟩)/√e)`.
        /// Law 24.
        pub Busemann = "klein.busemann": number [Input(0), Input(1)], tested in Ball [KAPPA];
        e = Margin(0), xx = Dot(0, 0), xu = Along(0, 1), ww = Dot(1, 1), area = Wedge(1, 0, 0),
        kappa = Param(0) => {
            let (c, root) = (-kappa, e.sqrt());
            // 1 − √e is c‖x‖²/(1 + √e).
            let rise = c * xx / (root + e);
            by_components(rise, c.sqrt() * xu / root, c * (area / ww) / e, kappa)
        };
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
    /// `(D/sinh D)(d + c⟨x,d⟩/(√e_x (1 + √e_x)) x)/√e_y`. The bracket is d with its part along x
    /// divided by √e_x.
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

    const KAPPA: Range = Range(-1.5, -0.5);
}

impl ConstantCurvature for Klein {
    fn kappa(&self) -> f64 {
        self.kappa
    }
}

impl Manifold for Klein {
    const NAME: &'static str = "klein";
    const TITLE: &'static str = "the Klein model";

    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        at_least_one(Self::TITLE, dim);
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
        OffManifold::unless_finite(Self::TITLE, x, 1)?;
        OffManifold::unless_inside(Self::TITLE, margin(x, self.kappa))
    }
}

impl Steps for Klein {}

/// A Klein coordinate has half the digits of a ball's: an ulp near the boundary is a distance of cosh²
/// of the radius.
impl Lawful for Klein {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x) / margin(x, self.kappa())
    }
    /// From its inner products, which cancel near the boundary.
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        margin(x, self.kappa()).recip()
    }
}

family!(Klein: NEGATIVE.map(Klein::new), [(Klein::new(-1.0), 3, 2.0)]);

constant!(Klein);

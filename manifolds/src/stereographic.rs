//! The κ-stereographic model: the Poincaré ball for κ < 0, flat space at κ = 0, the stereographically
//! projected sphere for κ > 0. Sources: Ganea, Bécigneul, Hofmann 2018; the accurate forms are this
//! project's own.
//!
//! With the margin m_x = 1 + κ‖x‖² (so λ_x = 2/m_x) and the difference d = y − x,
//!
//! ```text
//! (−x) ⊕ y = (m_x d + κ‖d‖² x) / D,      D = m_x m_y − κ‖d‖²
//! ```
//!
//! and for κ < 0 every term is positive: nothing cancels near the boundary. Every operation below is
//! written in margins and differences.

use cotangent_engine::domain::margin;
use cotangent_engine::{Domain, Float, Row, RowUpdate, Rows, Scalar, update_rows};

use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold};
use crate::momentum::{Motion, Moving, Rule, composed};

/// The κ-stereographic model of the space of constant sectional curvature `kappa`, metric
/// `λ_x² ⟨u, v⟩` with λ_x = 2/(1 + κ‖x‖²).
///
/// For κ < 0 its points are those with ‖x‖ < 1/√-κ. As κ → 0, `dist` tends to `2‖x − y‖`.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Stereographic};
/// let ball = Stereographic::new(-1.0).unwrap();
/// let (o, x) = (ball.origin::<f64>(2), Row::from([0.5, 0.0]));
/// assert!((ball.dist(&o, &x) - 3.0_f64.ln()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stereographic {
    kappa: f64,
}

/// The Poincaré ball: [`Stereographic`] of negative curvature.
pub type PoincareBall = Stereographic;

impl Stereographic {
    /// The model of the given sectional curvature.
    ///
    /// # Errors
    /// If `kappa` is not finite.
    pub fn new(kappa: f64) -> Result<Self, CurvatureError> {
        if kappa.is_finite() {
            return Ok(Stereographic { kappa });
        }
        Err(CurvatureError { manifold: Self::NAME, needs: "finite", kappa })
    }

    /// The Poincaré ball of the given negative curvature.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite.
    pub fn ball(kappa: f64) -> Result<Self, CurvatureError> {
        if kappa < 0.0 && kappa.is_finite() {
            return Ok(Stereographic { kappa });
        }
        Err(CurvatureError { manifold: "the Poincaré ball", needs: "negative", kappa })
    }

    /// Möbius addition x ⊕ y. Ganea et al. 2018, eq. 4.
    pub fn add<R: Rows>(&self, x: &R, y: &R) -> R {
        R::vector(formulas::Add, [x, y], [&x.constant(self.kappa)])
    }

    /// Möbius scalar multiplication r ⊗ x. Ganea et al. 2018, eq. 5.
    pub fn scale<R: Rows>(&self, r: &R::Scalar, x: &R) -> R {
        R::vector(formulas::Scale, [x], [&x.constant(self.kappa), r])
    }
}

/// The row formulas of the model. Parameter 0 is κ.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range, Sample::Ball};
    use cotangent_engine::{Domain, Invariant, RowFormula, Scalar, Vector};

    use Invariant::{Dot, Epsilon, Margin, Param};
    use Vector::{Difference, Input, Sum};

    /// Distance between x and y: `2√q arcsinc(κq)`, q = ‖d‖²/(m_x m_y). For κ < 0 that is
    /// `(2/√-κ) arsinh √(-κq)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Dist;

    impl RowFormula<2, 3, 4, 1> for Dist {
        const NAME: &'static str = "stereographic.dist";
        const VECTOR: bool = false;
        const BASIS: [Vector; 3] = [Input(0), Input(1), Difference(1, 0)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Margin(1), Dot(2, 2), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([mx, my, dd, kappa]: [S; 4]) -> [S; 1] {
            let q = dd / (mx * my);
            [S::constant(2.0) * q.sqrt() * half_angle(kappa * q)]
        }
    }

    /// `arcsinc`, its argument kept from exceeding 1 by rounding (antipodal points, κ > 0).
    #[inline(always)]
    fn half_angle<S: Scalar>(s: S) -> S {
        s.min(S::one()).arcsinc()
    }

    /// Exponential map at x of v: x ⊕ y with `y = tanc(κ‖v‖²/m_x²) v/m_x`. Ganea et al. 2018, eq. 12.
    #[derive(Clone, Copy, Debug)]
    pub struct Exp;

    impl RowFormula<2, 2, 5, 2> for Exp {
        const NAME: &'static str = "stereographic.exp";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 5] = [Margin(0), Dot(0, 0), Dot(0, 1), Dot(1, 1), Param(0)];
        const DOMAIN: Domain = Domain::Ball;
        #[inline(always)]
        fn eval<S: Scalar>([mx, xx, xv, vv, kappa]: [S; 5]) -> [S; 2] {
            exp(mx, xx, xv, vv, kappa)
        }
    }

    /// Coefficients of x and v in the exponential map.
    #[inline(always)]
    fn exp<S: Scalar>(mx: S, xx: S, xv: S, vv: S, kappa: S) -> [S; 2] {
        flow(mx, xx, xv, vv, kappa).0
    }

    /// Coefficients of x and v in the exponential map, and the parallel transport along the geodesic of a vector w that
    /// is a multiple of v: it becomes `a ⟨v, w⟩ x + b w`.
    ///
    /// With y = τ v as in the exponential map, D = m_x m_y − κ‖x + y‖² and E = m_x − κ‖x‖² m_y, the differential of
    /// y ↦ x ⊕ y takes w to `(m_y/D²) (E w − κ τ ⟨v, w⟩ (D + E) x)`: no cancellation for κ < 0.
    #[inline(always)]
    pub(super) fn flow<S: Scalar>(mx: S, xx: S, xv: S, vv: S, kappa: S) -> ([S; 2], [S; 2]) {
        // Beyond this the map has long reached the boundary, and the squares would overflow.
        let vv = vv.min(S::constant(1e270));
        let s = kappa * vv / mx.square();
        let t = s.tanc();
        let tau = t / mx;
        // Both are positive but for rounding: with m_y kept so, and ‖x + y‖² ≥ 0, the denominator never vanishes.
        let my = (S::one() + s * t.square()).max(S::constant(1e-30));
        let ee = (xx + tau * (xv + xv + tau * vv)).max(S::zero());
        let den = mx * my - kappa * ee;
        let turn = mx - kappa * xx * my;
        let scale = my / den.square();
        let carried = [-kappa * tau * scale * (den + turn), scale * turn];
        ([(mx - kappa * ee) / den, mx * tau / den], carried)
    }

    /// Logarithm at x of y: `A (m_x d + κ‖d‖² x)` with `A = m_x arcsinc(κq)/√(m_x m_y D)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Log;

    impl RowFormula<2, 3, 4, 3> for Log {
        const NAME: &'static str = "stereographic.log";
        const VECTOR: bool = true;
        const BASIS: [Vector; 3] = [Input(0), Input(1), Difference(1, 0)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Margin(1), Dot(2, 2), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([mx, my, dd, kappa]: [S; 4]) -> [S; 3] {
            let mm = mx * my;
            let den = mm - kappa * dd;
            let a = mx * half_angle(kappa * dd / mm) / (mm * den).sqrt();
            [a * kappa * dd, S::zero(), a * mx]
        }
    }

    /// Parallel transport of v from x to y, `(λ_x/λ_y) gyr[y, ⊖x] v`.
    ///
    /// With the closed form of the gyration, in differences:
    /// `(m_y/m_x) (v + (2/D)(A d − κ(κ‖d‖²⟨x,v⟩ + m_x⟨d,v⟩) x))`,
    /// `A = κ⟨x,v⟩(m_y − κ‖d‖²) − κ(m_x − 1)⟨d,v⟩`.
    #[derive(Clone, Copy, Debug)]
    pub struct Transport;

    impl RowFormula<3, 4, 6, 4> for Transport {
        const NAME: &'static str = "stereographic.transport";
        const VECTOR: bool = true;
        const BASIS: [Vector; 4] = [Input(0), Input(1), Difference(1, 0), Input(2)];
        const INVARIANTS: [Invariant; 6] = [Margin(0), Margin(1), Dot(2, 2), Dot(0, 3), Dot(2, 3), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([mx, my, dd, xv, dv, kappa]: [S; 6]) -> [S; 4] {
            let ratio = my / mx;
            let den = mx * my - kappa * dd;
            let factor = S::constant(2.0) * kappa * ratio / den;
            let of_d = xv * (my - kappa * dd) - (mx - S::one()) * dv;
            let of_x = kappa * dd * xv + mx * dv;
            [-factor * of_x, S::zero(), factor * of_d, ratio]
        }
    }

    /// Riemannian gradient from the coordinate gradient g: `g/λ_x²`.
    #[derive(Clone, Copy, Debug)]
    pub struct EgradToRgrad;

    impl RowFormula<2, 2, 1, 2> for EgradToRgrad {
        const NAME: &'static str = "stereographic.egrad_to_rgrad";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 1] = [Margin(0)];
        #[inline(always)]
        fn eval<S: Scalar>([mx]: [S; 1]) -> [S; 2] {
            [S::zero(), inverse_metric(mx)]
        }
    }

    /// `1/λ_x²`.
    #[inline(always)]
    pub(super) fn inverse_metric<S: Scalar>(mx: S) -> S {
        S::constant(0.25) * mx.square()
    }

    /// A step of Riemannian gradient descent: `exp_x(−t g/λ_x²)`, t = parameter 1.
    #[derive(Clone, Copy, Debug)]
    pub struct Descend;

    impl RowFormula<2, 2, 6, 2> for Descend {
        const NAME: &'static str = "stereographic.descend";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 6] = [Margin(0), Dot(0, 0), Dot(0, 1), Dot(1, 1), Param(0), Param(1)];
        const DOMAIN: Domain = Domain::Ball;
        #[inline(always)]
        fn eval<S: Scalar>([mx, xx, xg, gg, kappa, rate]: [S; 6]) -> [S; 2] {
            let a = -rate * inverse_metric(mx);
            let [of_x, of_v] = exp(mx, xx, a * xg, a.square() * gg, kappa);
            [of_x, a * of_v]
        }
    }

    /// Riemannian inner product of u and v at x: `λ_x²⟨u, v⟩`.
    #[derive(Clone, Copy, Debug)]
    pub struct Inner;

    impl RowFormula<3, 3, 2, 1> for Inner {
        const NAME: &'static str = "stereographic.inner";
        const VECTOR: bool = false;
        const BASIS: [Vector; 3] = [Input(0), Input(1), Input(2)];
        const INVARIANTS: [Invariant; 2] = [Margin(0), Dot(1, 2)];
        #[inline(always)]
        fn eval<S: Scalar>([mx, uv]: [S; 2]) -> [S; 1] {
            [uv / inverse_metric(mx)]
        }
    }

    /// Riemannian norm of v at x: `λ_x‖v‖`.
    #[derive(Clone, Copy, Debug)]
    pub struct Norm;

    impl RowFormula<2, 2, 2, 1> for Norm {
        const NAME: &'static str = "stereographic.norm";
        const VECTOR: bool = false;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 2] = [Margin(0), Dot(1, 1)];
        #[inline(always)]
        fn eval<S: Scalar>([mx, vv]: [S; 2]) -> [S; 1] {
            [S::constant(2.0) * vv.sqrt() / mx]
        }
    }

    /// Möbius addition x ⊕ y. Ganea et al. 2018, eq. 4; with e = x + y it is
    /// `(m_x e − κ‖e‖² x)/(m_x m_y − κ‖e‖²)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Add;

    impl RowFormula<2, 3, 4, 3> for Add {
        const NAME: &'static str = "stereographic.add";
        const VECTOR: bool = true;
        const BASIS: [Vector; 3] = [Input(0), Input(1), Sum(0, 1)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Margin(1), Dot(2, 2), Param(0)];
        const DOMAIN: Domain = Domain::Ball;
        #[inline(always)]
        fn eval<S: Scalar>([mx, my, ee, kappa]: [S; 4]) -> [S; 3] {
            let ke = kappa * ee;
            let den = mx * my - ke;
            [-ke / den, S::zero(), mx / den]
        }
    }

    /// Möbius scalar multiplication r ⊗ x, r = parameter 1. Ganea et al. 2018, eq. 5.
    ///
    /// `artanh` of the norm is taken through the margin, `arctanc(s) = arcsinc(s/(1+s))/√(1+s)`, so that
    /// it is accurate at the boundary.
    #[derive(Clone, Copy, Debug)]
    pub struct Scale;

    impl RowFormula<1, 1, 4, 1> for Scale {
        const NAME: &'static str = "stereographic.scale";
        const VECTOR: bool = true;
        const BASIS: [Vector; 1] = [Input(0)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Dot(0, 0), Param(0), Param(1)];
        const DOMAIN: Domain = Domain::Ball;
        #[inline(always)]
        fn eval<S: Scalar>([mx, xx, kappa, r]: [S; 4]) -> [S; 1] {
            let s = kappa * xx;
            let a = r * half_angle(s / mx) / mx.sqrt();
            [a * (s * a.square()).tanc()]
        }
    }

    /// The identity on points; a row on or outside the boundary is scaled to just inside.
    #[derive(Clone, Copy, Debug)]
    pub struct Project;

    impl RowFormula<1, 1, 4, 1> for Project {
        const NAME: &'static str = "stereographic.project";
        const VECTOR: bool = true;
        const BASIS: [Vector; 1] = [Input(0)];
        const INVARIANTS: [Invariant; 4] = [Margin(0), Dot(0, 0), Param(0), Epsilon];
        const DOMAIN: Domain = Domain::Ball;
        #[inline(always)]
        fn eval<S: Scalar>([mx, xx, kappa, epsilon]: [S; 4]) -> [S; 1] {
            let inside = S::zero().lt(mx);
            // Inside, the root is not used; 1 keeps it and its derivative finite.
            let s = S::select(inside, S::one(), -kappa * xx);
            [S::select(inside, S::one(), ((S::one() - epsilon) / s).sqrt())]
        }
    }

    const KAPPA: Range = Range(-1.5, 0.8);
    const STEP: Range = Range(0.2, 0.9);

    /// All formulas of the model, for the test that compares their evaluations.
    pub const ALL: &[Formula] = &[
        Formula::row(Dist, Ball, &[KAPPA]),
        Formula::row(Exp, Ball, &[KAPPA]),
        Formula::row(Log, Ball, &[KAPPA]),
        Formula::row(Transport, Ball, &[KAPPA]),
        Formula::row(EgradToRgrad, Ball, &[KAPPA]),
        Formula::row(Descend, Ball, &[KAPPA, STEP]),
        Formula::row(Inner, Ball, &[KAPPA]),
        Formula::row(Norm, Ball, &[KAPPA]),
        Formula::row(Add, Ball, &[KAPPA]),
        Formula::row(Scale, Ball, &[KAPPA, STEP]),
        Formula::row(Project, Ball, &[KAPPA]),
    ];
}

/// A step with momentum by one reading of its rows: points, momenta and gradients span all that comes out.
struct Step<'a, U> {
    rule: &'a U,
    kappa: f64,
}

impl<U: Rule<K>, const K: usize> RowUpdate<3, 2, K> for Step<'_, U> {
    const DOMAIN: Domain = Domain::Ball;

    fn kappa(&self) -> f64 {
        self.kappa
    }
    #[inline(always)]
    fn eval<S: Scalar>(
        &self,
        mx: S,
        [[xx, xm, xg], [_, mm, mg], [_, _, gg]]: [[S; 3]; 3],
        moments: [S; K],
    ) -> ([[S; 3]; 2], [S; K]) {
        let [keep, take] = self.rule.blend().map(S::constant);
        let kappa = S::constant(self.kappa);
        let inverse = formulas::inverse_metric(mx);
        let (length, moments) = self.rule.length(inverse * gg, moments);
        // The new momentum n = keep m + of_g g, and the velocity −length n.
        let of_g = take * inverse;
        let xn = keep * xm + of_g * xg;
        let nn = (keep.square() * mm + of_g * (S::constant(2.0) * keep * mg + of_g * gg)).max(S::zero());
        let ([of_x, of_v], [bend, turn]) = formulas::flow(mx, xx, -length * xn, length.square() * nn, kappa);
        let of_n = -of_v * length;
        ([[of_x, of_n * keep, of_n * of_g], [-bend * length * nn, turn * keep, turn * of_g]], moments)
    }
}

impl ConstantCurvature for Stereographic {
    fn kappa(&self) -> f64 {
        self.kappa
    }
}

impl Manifold for Stereographic {
    const NAME: &'static str = "stereographic";

    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
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
        R::vector(formulas::Project, [x], [&x.constant(self.kappa)])
    }
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        R::vector(formulas::Descend, [x, g], [&x.constant(self.kappa), rate])
    }
    fn step<U: Rule<K>, T: Float, const K: usize>(
        &self,
        rule: &U,
        motion: Motion,
        rows: Moving<'_, T, K>,
    ) -> Result<(), usize> {
        // The momentum is carried along its own geodesic, or it takes more than `flow`.
        if motion.lookahead || motion.decay != 0.0 {
            return composed(self, rule, motion, rows);
        }
        let step = Step { rule, kappa: self.kappa };
        update_rows(&step, [rows.points, rows.momenta], [rows.gradients], rows.moments, rows.width)
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        let m = margin(x, self.kappa);
        if m > 0.0 && m.is_finite() {
            return Ok(());
        }
        Err(OffManifold { manifold: Self::NAME, condition: "1 + kappa |x|^2 > 0", by: -m })
    }
}

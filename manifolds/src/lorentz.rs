//! The Lorentz model: the upper sheet of the hyperboloid ⟨x, x⟩_L = 1/κ in Minkowski space, κ < 0, time
//! coordinate first. Sources: Nickel & Kiela 2018; the accurate forms are this project's own.
//!
//! A point's time coordinate is determined by the others, so distances read the space coordinates only:
//! with d and s the difference and the sum of two points, `d₀ = ⟨d, s⟩_space/(x₀ + y₀)`. Rounding of a
//! stored time coordinate, which in f32 is soon larger than the distance itself, does no harm.

use cotangent_engine::{Float, Row, Rows};

use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold};

/// The hyperboloid of sectional curvature `kappa` < 0. Points of dimension n have n + 1 coordinates, time
/// first: `x₀ = √(‖x_space‖² − 1/κ)`.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Lorentz, Manifold};
/// let hyperboloid = Lorentz::new(-1.0).unwrap();
/// let x = hyperboloid.project(&Row::from([0.0, 3.0, 4.0]));
/// assert_eq!(x[0], 26.0_f64.sqrt());
/// let o = hyperboloid.origin::<f64>(2);
/// assert!((hyperboloid.dist(&o, &x) - 5.0_f64.asinh()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lorentz {
    kappa: f64,
}

impl Lorentz {
    /// The hyperboloid of the given curvature.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite.
    pub fn new(kappa: f64) -> Result<Self, CurvatureError> {
        if kappa < 0.0 && kappa.is_finite() {
            return Ok(Lorentz { kappa });
        }
        Err(CurvatureError { manifold: "the Lorentz model", needs: "negative", kappa })
    }
}

/// The row formulas of the model. Parameter 0 is κ.
pub mod formulas {
    use cotangent_engine::registry::{
        Formula, Range,
        Sample::{Free, Hyperboloid},
    };
    use cotangent_engine::{Domain, Invariant, Metric, RowFormula, Scalar, Vector};

    use Invariant::{Dot, Param};
    use Vector::{Difference, Flip, Input, Sum, Time};

    /// The squared chord ⟨d, d⟩_L of two points, from inner products of their space coordinates.
    #[inline(always)]
    fn chord<S: Scalar>(xx: S, yy: S, dd: S, ds: S, kappa: S) -> S {
        let inverse = kappa.recip();
        let times = (xx - inverse).sqrt() + (yy - inverse).sqrt();
        (dd - (ds / times).square()).max(S::zero())
    }

    /// The distance of two points whose chord has the square h: `√h arcsinc(κh/4)`.
    #[inline(always)]
    pub(crate) fn distance_of_chord<S: Scalar>(h: S, kappa: S) -> S {
        h.sqrt() * (S::constant(0.25) * kappa * h).arcsinc()
    }

    /// `D/sinh D` of that distance D in units of 1/√-κ; 1 at 0.
    #[inline(always)]
    pub(crate) fn velocity_of_chord<S: Scalar>(h: S, kappa: S) -> S {
        let s = S::constant(0.25) * kappa * h;
        s.arcsinc() / (S::one() - s).sqrt()
    }

    /// Distance between x and y through the chord: `√h arcsinc(κh/4) = (2/√c) arsinh((√c/2)√h)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Dist;

    impl RowFormula<2, 4, 5, 1> for Dist {
        const NAME: &'static str = "lorentz.dist";
        const VECTOR: bool = false;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 4] = [Input(0), Input(1), Difference(1, 0), Sum(0, 1)];
        const INVARIANTS: [Invariant; 5] = [Dot(0, 0), Dot(1, 1), Dot(2, 2), Dot(2, 3), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([xx, yy, dd, ds, kappa]: [S; 5]) -> [S; 1] {
            [distance_of_chord(chord(xx, yy, dd, ds, kappa), kappa)]
        }
    }

    /// Exponential map at x of v: `cosc(κ‖v‖²) x + sinc(κ‖v‖²) v`.
    #[derive(Clone, Copy, Debug)]
    pub struct Exp;

    impl RowFormula<2, 2, 4, 2> for Exp {
        const NAME: &'static str = "lorentz.exp";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 4] = [Dot(0, 0), Dot(0, 1), Dot(1, 1), Param(0)];
        const DOMAIN: Domain = Domain::Hyperboloid;
        #[inline(always)]
        fn eval<S: Scalar>([xx, xv, vv, kappa]: [S; 4]) -> [S; 2] {
            // ‖v‖²_L, its time coordinate being ⟨x, v⟩_space / x₀.
            let square = (vv - xv.square() / (xx - kappa.recip())).max(S::zero());
            // Beyond this radius the result is off every storage type's hyperboloid, and is settled.
            let s = (kappa * square).max(S::constant(-1e5));
            [s.cosc(), s.sinc()]
        }
    }

    /// Logarithm at x of y: `arcsinc(κh/4)/√(1 − κh/4) (d + (κh/2) x)`, h the squared chord.
    #[derive(Clone, Copy, Debug)]
    pub struct Log;

    impl RowFormula<2, 4, 5, 4> for Log {
        const NAME: &'static str = "lorentz.log";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 4] = [Input(0), Input(1), Difference(1, 0), Sum(0, 1)];
        const INVARIANTS: [Invariant; 5] = [Dot(0, 0), Dot(1, 1), Dot(2, 2), Dot(2, 3), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([xx, yy, dd, ds, kappa]: [S; 5]) -> [S; 4] {
            let h = chord(xx, yy, dd, ds, kappa);
            let a = velocity_of_chord(h, kappa);
            [S::constant(0.5) * kappa * h * a, S::zero(), a, S::zero()]
        }
    }

    /// Parallel transport of v from x to y: `v − κ⟨d, v⟩_L/(2 − κ⟨d, d⟩_L/2) (x + y)`.
    #[derive(Clone, Copy, Debug)]
    pub struct Transport;

    impl RowFormula<3, 3, 3, 3> for Transport {
        const NAME: &'static str = "lorentz.transport";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Minkowski;
        const BASIS: [Vector; 3] = [Sum(0, 1), Difference(1, 0), Input(2)];
        const INVARIANTS: [Invariant; 3] = [Dot(1, 1), Dot(1, 2), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([dd, dv, kappa]: [S; 3]) -> [S; 3] {
            let den = S::constant(2.0) - S::constant(0.5) * kappa * dd;
            [-kappa * dv / den, S::zero(), S::one()]
        }
    }

    /// Riemannian gradient from the coordinate gradient g: with h = Jg, `h − κ⟨x, h⟩_L x`.
    #[derive(Clone, Copy, Debug)]
    pub struct EgradToRgrad;

    impl RowFormula<2, 2, 2, 2> for EgradToRgrad {
        const NAME: &'static str = "lorentz.egrad_to_rgrad";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Minkowski;
        const BASIS: [Vector; 2] = [Input(0), Flip(1)];
        const INVARIANTS: [Invariant; 2] = [Dot(0, 1), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>([xh, kappa]: [S; 2]) -> [S; 2] {
            [-kappa * xh, S::one()]
        }
    }

    /// The tangent vector at x nearest to v: `v − κ⟨x, v⟩_L x`.
    #[derive(Clone, Copy, Debug)]
    pub struct ProjectTangent;

    impl RowFormula<2, 2, 2, 2> for ProjectTangent {
        const NAME: &'static str = "lorentz.project_tangent";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Minkowski;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 2] = [Dot(0, 1), Param(0)];
        #[inline(always)]
        fn eval<S: Scalar>(invariants: [S; 2]) -> [S; 2] {
            EgradToRgrad::eval(invariants)
        }
    }

    /// Inner product ⟨u, v⟩_L.
    #[derive(Clone, Copy, Debug)]
    pub struct Inner;

    impl RowFormula<2, 2, 1, 1> for Inner {
        const NAME: &'static str = "lorentz.inner";
        const VECTOR: bool = false;
        const METRIC: Metric = Metric::Minkowski;
        const BASIS: [Vector; 2] = [Input(0), Input(1)];
        const INVARIANTS: [Invariant; 1] = [Dot(0, 1)];
        #[inline(always)]
        fn eval<S: Scalar>([uv]: [S; 1]) -> [S; 1] {
            [uv]
        }
    }

    /// Norm √⟨v, v⟩_L of a tangent vector.
    #[derive(Clone, Copy, Debug)]
    pub struct Norm;

    impl RowFormula<1, 1, 1, 1> for Norm {
        const NAME: &'static str = "lorentz.norm";
        const VECTOR: bool = false;
        const METRIC: Metric = Metric::Minkowski;
        const BASIS: [Vector; 1] = [Input(0)];
        const INVARIANTS: [Invariant; 1] = [Dot(0, 0)];
        #[inline(always)]
        fn eval<S: Scalar>([vv]: [S; 1]) -> [S; 1] {
            [vv.max(S::zero()).sqrt()]
        }
    }

    /// The point with the same space coordinates.
    #[derive(Clone, Copy, Debug)]
    pub struct Project;

    impl RowFormula<1, 2, 3, 2> for Project {
        const NAME: &'static str = "lorentz.project";
        const VECTOR: bool = true;
        const BASIS: [Vector; 2] = [Input(0), Time];
        const INVARIANTS: [Invariant; 3] = [Dot(0, 0), Dot(0, 1), Param(0)];
        const DOMAIN: Domain = Domain::Hyperboloid;
        #[inline(always)]
        fn eval<S: Scalar>([xx, time, kappa]: [S; 3]) -> [S; 2] {
            let space = (xx - time.square()).max(S::zero());
            [S::one(), (space - kappa.recip()).sqrt() - time]
        }
    }

    const KAPPA: Range = Range(-1.5, -0.5);

    /// All formulas of the model, for the test that compares their evaluations.
    pub const ALL: &[Formula] = &[
        Formula::row(Dist, Hyperboloid(2), &[KAPPA]),
        Formula::row(Exp, Hyperboloid(1), &[KAPPA]),
        Formula::row(Log, Hyperboloid(2), &[KAPPA]),
        Formula::row(Transport, Hyperboloid(2), &[KAPPA]),
        Formula::row(EgradToRgrad, Hyperboloid(1), &[KAPPA]),
        Formula::row(ProjectTangent, Hyperboloid(1), &[KAPPA]),
        Formula::row(Inner, Free, &[]),
        Formula::row(Norm, Free, &[]),
        Formula::row(Project, Free, &[KAPPA]),
    ];
}

impl ConstantCurvature for Lorentz {
    fn kappa(&self) -> f64 {
        self.kappa
    }
}

impl Manifold for Lorentz {
    const NAME: &'static str = "lorentz";

    fn ambient(&self, dim: usize) -> usize {
        dim + 1
    }
    fn dimension(&self, ambient: usize) -> usize {
        ambient.saturating_sub(1)
    }
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        let mut row = Row::from(vec![T::zero(); dim + 1].as_slice());
        row[0] = T::nearest((-1.0 / self.kappa).sqrt());
        row
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(formulas::Dist, [x, y], [&x.constant(self.kappa)])
    }
    fn inner<R: Rows>(&self, _x: &R, u: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Inner, [u, v], [])
    }
    fn norm<R: Rows>(&self, _x: &R, v: &R) -> R::Scalar {
        R::scalar(formulas::Norm, [v], [])
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
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::ProjectTangent, [x, v], [&x.constant(self.kappa)])
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Project, [x], [&x.constant(self.kappa)])
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        let time = x[0].to_f64();
        let square: f64 = x[1..].iter().map(|c| c.to_f64() * c.to_f64()).sum();
        let right = (square - 1.0 / self.kappa).sqrt();
        let by = (time - right).abs();
        // One rounding of the time coordinate, and one of this check.
        if by <= 2.0 * T::EPSILON * right && right.is_finite() {
            return Ok(());
        }
        Err(OffManifold { manifold: Self::NAME, condition: "x0 = sqrt(|x_space|^2 - 1/kappa)", by })
    }
}

//! Wrong manifolds, each with one fault that has been shipped somewhere. The law named beside a fault
//! rejects it.

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Invariant, Row, RowFormula, RowFunction, Rows, Scalar, ShapeError, Vector};
use cotangent_manifolds::laws::{self, Gyrogroup, Lawful};
use cotangent_manifolds::{ConstantCurvature, Manifold, OffManifold, Steps, Stereographic};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Nothing: the mutants' machinery itself obeys the laws.
    None,
    /// `dist` by arcosh of 1 + small.
    DistByArcosh,
    /// `dist` by artanh as ½(log(1+r) − log(1−r)).
    DistByLogarithms,
    /// All distances beyond a radius are equal.
    DistClamped,
    /// `dist` by a formula that favours one point.
    DistAsymmetric,
    /// λ multiplied where it should divide, in `exp`.
    ExpTimesLambda,
    /// The velocity scaled as if the curvature were −1.
    ExpOfUnitCurvature,
    /// `exp` without keeping its result inside.
    ExpUnsettled,
    /// Velocities near 0 are dropped.
    ExpFrozenAtZero,
    /// A zero velocity taken out of the graph: its value is right, its gradient 0.
    ExpDetachedAtZero,
    /// `dist` whose gradient at x = y is 0/0.
    DistGradientNaN,
    /// `dist` that depends on the first coordinate.
    DistSkewed,
    /// The metric's λ not divided out of `log`.
    LogWithoutLambda,
    /// `log` without its curvature: y − x.
    LogFlat,
    /// Transport by λ_y/λ_x.
    TransportInverted,
    /// Transport without the gyration.
    TransportUnturned,
    /// The tangent projection taken for the Riemannian gradient.
    GradientIsProjection,
    /// λ multiplied where it should divide, in the gradient's conversion.
    GradientTimesLambda,
    /// λ not squared in the gradient's conversion.
    GradientHalfLambda,
    /// λ read without its gradient.
    NormDetached,
    /// The straight chord instead of a geodesic.
    GeodesicChord,
    /// A retraction that goes half as far.
    RetractHalf,
    /// Descent upwards.
    DescendUp,
    /// Points kept off the boundary by an epsilon.
    ProjectClamps,
    /// Coordinates bounded above only.
    ProjectPositive,
    /// Points scaled to the boundary itself.
    ProjectOnto,
    /// y ⊕ x instead of x ⊕ y.
    AddSwapped,
    /// Co-addition with the denominator 1 + κ²‖x‖²‖y‖².
    CoaddDenominator,
    /// gyr[y, x] instead of gyr[x, y].
    GyrationBack,
    /// r x instead of r ⊗ x.
    ScalePlain,
}
use Fault::*;

const FAULTS: [(Fault, &str); 31] = [
    (DistByArcosh, "log_length"),
    (DistByLogarithms, "distance"),
    (DistClamped, "log_length"),
    (DistAsymmetric, "distance"),
    (ExpTimesLambda, "exp_log"),
    (ExpOfUnitCurvature, "exp_log"),
    (ExpUnsettled, "exp_log"),
    (ExpFrozenAtZero, "exp_log"),
    (ExpDetachedAtZero, "gradients"),
    (DistGradientNaN, "gradients"),
    (LogWithoutLambda, "exp_log"),
    (LogFlat, "exp_log"),
    (TransportInverted, "transport_isometry"),
    (TransportUnturned, "transport_geodesic"),
    (GradientIsProjection, "conversion"),
    (GradientTimesLambda, "conversion"),
    (GradientHalfLambda, "conversion"),
    (NormDetached, "gradients"),
    (GeodesicChord, "geodesic"),
    (RetractHalf, "retraction"),
    (DescendUp, "conversion"),
    (ProjectClamps, "projection"),
    (ProjectPositive, "projection"),
    (ProjectOnto, "projection"),
    (AddSwapped, "left_cancellation"),
    (CoaddDenominator, "coaddition"),
    (GyrationBack, "associativity"),
    (ScalePlain, "multiples"),
    (DistSkewed, "rotations"),
    (TransportUnturned, "holonomy"),
    (TransportInverted, "transport_origin"),
];

/// Every fault is rejected by the law named beside it; the ball without a fault passes all of them.
#[test]
fn are_rejected_by_name() {
    let ball = Stereographic::new(-0.37);
    let mut passed = Vec::new();
    for (fault, name) in FAULTS {
        let mut all = laws::all().into_iter().chain(laws::curvature()).chain(laws::gyrogroup());
        let (_, law) = all.find(|(law, _)| *law == name).expect("a law of the kit");
        if law(&Mutant { ball, fault }).is_ok() {
            passed.push((fault, name));
        }
        assert!(law(&Mutant { ball, fault: None }).is_ok(), "{name}");
    }
    assert!(passed.is_empty(), "{passed:?}");
}

/// The smallest case of a wrong formula may look like rounding; the largest error does not.
#[test]
fn the_largest_error_tells_faults_from_rounding() {
    let mutant = Mutant { ball: Stereographic::new(-0.37), fault: Fault::GradientTimesLambda };
    let violation = laws::conversion(&mutant).unwrap_err();
    assert!(violation.worst > 1e6, "{violation}");
    let last = format!("the largest error of all cases: {:.1e} of its bound", violation.worst);
    assert!(violation.to_string().ends_with(&last), "{violation}");
}

/// The Poincaré ball with one fault.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mutant {
    ball: Stereographic,
    fault: Fault,
}

impl Mutant {
    fn formula<F, R: Rows, const V: usize, const B: usize, const I: usize>(&self, f: F, v: [&R; V]) -> R
    where
        F: RowFormula<V, B, I, B>,
    {
        R::vector(f, v, [&v[0].constant(self.ball.kappa())])
    }
    fn number<F, R: Rows, const V: usize, const B: usize, const I: usize>(
        &self,
        f: F,
        v: [&R; V],
    ) -> R::Scalar
    where
        F: RowFormula<V, B, I, 1>,
    {
        R::scalar(f, v, [&v[0].constant(self.ball.kappa())])
    }
}

/// A wrong formula of x, y and y − x, in which κ is parameter 0.
macro_rules! wrong {
    ($name:ident<$v:literal, $b:literal, $i:literal, $o:literal>, $vector:literal, [$($basis:expr),*],
     [$($invariant:expr),*], |$arguments:pat_param| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $name;

        impl RowFormula<$v, $b, $i, $o> for $name {
            const NAME: &'static str = stringify!($name);
            const VECTOR: bool = $vector;
            const BASIS: [Vector; $b] = [$($basis),*];
            const INVARIANTS: [Invariant; $i] = [$($invariant),*];
            fn eval<S: Scalar>($arguments: [S; $i]) -> [S; $o] {
                $body
            }
        }
    };
}

use Invariant::{Dot, First, Margin, Param};
use Vector::{Difference, Input};

wrong!(Arcosh<2, 3, 4, 1>, false, [Input(0), Input(1), Difference(1, 0)],
    [Margin(0), Margin(1), Dot(2, 2), Param(0)],
|[mx, my, dd, kappa]| {
    let two = S::constant(2.0);
    [(S::one() - two * kappa * dd / (mx * my)).acosh() / (-kappa).sqrt()]
});
wrong!(Logarithms<2, 3, 4, 1>, false, [Input(0), Input(1), Difference(1, 0)],
    [Margin(0), Margin(1), Dot(2, 2), Param(0)],
|[mx, my, dd, kappa]| {
    let r = (-kappa * dd / (mx * my - kappa * dd)).sqrt();
    [((S::one() + r).ln() - (S::one() - r).ln()) / (-kappa).sqrt()]
});
wrong!(Asymmetric<2, 3, 4, 1>, false, [Input(0), Input(1), Difference(1, 0)],
    [Margin(0), Margin(1), Dot(2, 2), Param(0)],
|[mx, my, dd, kappa]| {
    let q = dd / mx / my * S::constant(1.0 + 4e-16) ;
    let q = S::select((mx - my).lt(S::zero()), q, dd / (mx * my));
    [S::constant(2.0) * q.sqrt() * (kappa * q).arcsinc()]
});
wrong!(Skewed<2, 3, 5, 1>, false, [Input(0), Input(1), Difference(1, 0)],
    [Margin(0), Margin(1), Dot(2, 2), First(0), Param(0)],
|[mx, my, dd, first, kappa]| {
    let q = dd / (mx * my) * (S::one() - S::constant(1e-3) * kappa * first.square());
    [S::constant(2.0) * q.sqrt() * (kappa * q).arcsinc()]
});
wrong!(Unsettled<2, 2, 5, 2>, true, [Input(0), Input(1)],
    [Margin(0), Dot(0, 0), Dot(0, 1), Dot(1, 1), Param(0)],
|[mx, xx, xv, vv, kappa]| {
    let t = (kappa * vv / mx.square()).tanc() / mx;
    let (xy, yy) = (t * xv, t.square() * vv);
    let two = S::constant(2.0);
    let den = S::one() - two * kappa * xy + kappa.square() * xx * yy;
    [(S::one() - two * kappa * xy - kappa * yy) / den, t * mx / den]
});
wrong!(Double<1, 1, 1, 1>, true, [Input(0)], [Param(0)], |[t]| [t]);
wrong!(Conformal<2, 2, 2, 2>, true, [Input(0), Input(1)], [Margin(0), Param(0)], |[mx, _kappa]| {
    [S::zero(), S::constant(4.0) / mx.square()]
});
wrong!(HalfConformal<2, 2, 2, 2>, true, [Input(0), Input(1)], [Margin(0), Param(0)], |[mx, _kappa]| {
    [S::zero(), S::constant(0.5) * mx]
});
wrong!(Ratio<3, 3, 3, 3>, true, [Input(0), Input(1), Input(2)], [Margin(0), Margin(1), Param(0)],
    |[mx, my, _kappa]| [S::zero(), S::zero(), my / mx]);
wrong!(Inverted<3, 3, 3, 3>, true, [Input(0), Input(1), Input(2)], [Margin(0), Margin(1), Param(0)],
    |[mx, my, _kappa]| [S::zero(), S::zero(), (mx / my).square()]);
wrong!(Flat<2, 1, 1, 1>, true, [Difference(1, 0)], [Param(0)], |[_kappa]| [S::one()]);
wrong!(Frozen<2, 2, 2, 2>, true, [Input(0), Input(1)], [Dot(1, 1), Param(0)],
    |[vv, _kappa]| [S::zero(), S::select(vv.lt(S::constant(1e-20)), S::zero(), S::one())]);
wrong!(Chord<2, 2, 2, 2>, true, [Input(0), Difference(1, 0)],
    [Param(0), Param(1)], |[_kappa, t]| [S::one(), t]);

wrong!(Denominator<2, 2, 5, 2>, true, [Input(0), Input(1)],
    [Margin(0), Margin(1), Dot(0, 0), Dot(1, 1), Param(0)],
|[mx, my, xx, yy, kappa]| {
    let den = S::one() + kappa.square() * xx * yy;
    [my / den, mx / den]
});

/// `λ_x ‖v‖` with λ a constant.
struct Detached(f64);

impl RowFunction<2> for Detached {
    fn name(&self) -> &'static str {
        "detached"
    }
    fn width(&self, _: [usize; 2]) -> Result<usize, ShapeError> {
        Ok(1)
    }
    fn eval<T: Float>(&self, [x, v]: [&[f64]; 2], out: &mut [f64]) {
        let square: f64 = v.iter().map(|v| v * v).sum();
        out[0] = 2.0 * square.sqrt() / margin(x, self.0);
    }
    fn pullback(&self, [_, v]: [&[f64]; 2], out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let square: f64 = v.iter().map(|v| v * v).sum();
        dx.fill(0.0);
        dv.iter_mut()
            .zip(v)
            .for_each(|(d, v)| *d = if square > 0.0 { g[0] * out[0] * v / square } else { 0.0 });
    }
}

impl Manifold for Mutant {
    const NAME: &'static str = "mutant";

    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        self.ball.origin(dim)
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        match self.fault {
            DistByArcosh => self.number(Arcosh, [x, y]),
            DistByLogarithms => self.number(Logarithms, [x, y]),
            DistSkewed => self.number(Skewed, [x, y]),
            DistAsymmetric => self.number(Asymmetric, [x, y]),
            DistGradientNaN => R::scalar_function(Quotient(self.ball), [x, y]),
            DistClamped => {
                R::map(cotangent_engine::formulas::Min, [&self.ball.dist(x, y), &x.constant(20.0)])
            }
            _ => self.ball.dist(x, y),
        }
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        self.ball.inner(x, u, v)
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        match self.fault {
            NormDetached => R::scalar_function(Detached(self.ball.kappa()), [x, v]),
            _ => self.ball.norm(x, v),
        }
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        match self.fault {
            ExpTimesLambda => self.ball.exp(x, &self.formula(Conformal, [x, v])),
            ExpOfUnitCurvature => {
                let scale = x.constant((-self.ball.kappa()).sqrt());
                self.ball.exp(x, &R::vector(Double, [v], [&scale]))
            }
            ExpUnsettled => self.formula(Unsettled, [x, v]),
            ExpFrozenAtZero => self.ball.exp(x, &self.formula(Frozen, [x, v])),
            ExpDetachedAtZero => self.ball.exp(x, &R::row_function(DetachedAtZero, [v])),
            _ => self.ball.exp(x, v),
        }
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        match self.fault {
            LogWithoutLambda => self.formula(Conformal, [x, &self.ball.log(x, y)]),
            LogFlat => self.formula(Flat, [x, y]),
            _ => self.ball.log(x, y),
        }
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        match self.fault {
            TransportInverted => self.formula(Inverted, [x, y, &self.ball.transport(x, y, v)]),
            TransportUnturned => self.formula(Ratio, [x, y, v]),
            _ => self.ball.transport(x, y, v),
        }
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        match self.fault {
            GradientIsProjection => self.project_tangent(x, g),
            GradientTimesLambda => self.formula(Conformal, [x, g]),
            GradientHalfLambda => self.formula(HalfConformal, [x, g]),
            _ => self.ball.egrad_to_rgrad(x, g),
        }
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        self.ball.project_tangent(x, v)
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        match self.fault {
            ProjectClamps => R::row_function(Inside { kappa: self.ball.kappa(), part: 1.0 - 1e-5 }, [x]),
            ProjectOnto => R::row_function(Inside { kappa: self.ball.kappa(), part: 1.0 }, [x]),
            ProjectPositive => R::row_function(Below(self.ball.kappa()), [x]),
            _ => self.ball.project(x),
        }
    }
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        match self.fault {
            RetractHalf => self.ball.exp(x, &R::vector(Double, [v], [&x.constant(0.5)])),
            _ => self.exp(x, v),
        }
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        match self.fault {
            GeodesicChord => R::vector(Chord, [x, y], [&x.constant(self.ball.kappa()), t]),
            _ => {
                let velocity = self.log(x, y);
                self.exp(x, &R::vector(Double, [&velocity], [t]))
            }
        }
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        self.ball.contains(x)
    }
}

impl Steps for Mutant {
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        let rate = match self.fault {
            DescendUp => rate.clone(),
            _ => R::map(cotangent_engine::formulas::Neg, [rate]),
        };
        let gradient = self.egrad_to_rgrad(x, g);
        self.exp(x, &R::vector(Double, [&gradient], [&rate]))
    }
}

/// Scales rows to lie within a part of the radius.
struct Inside {
    kappa: f64,
    part: f64,
}

impl Inside {
    fn scale(&self, x: &[f64]) -> f64 {
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt() * (-self.kappa).sqrt();
        if norm > self.part { self.part / norm } else { 1.0 }
    }
}

impl RowFunction<1> for Inside {
    fn name(&self) -> &'static str {
        "inside"
    }
    fn width(&self, [width]: [usize; 1]) -> Result<usize, ShapeError> {
        Ok(width)
    }
    fn eval<T: Float>(&self, [x]: [&[f64]; 1], out: &mut [f64]) {
        let scale = self.scale(x);
        out.iter_mut().zip(x).for_each(|(out, x)| *out = scale * x);
    }
    fn pullback(&self, [x]: [&[f64]; 1], _out: &[f64], g: &[f64], [dx]: [&mut [f64]; 1]) {
        let scale = self.scale(x);
        dx.iter_mut().zip(g).for_each(|(dx, g)| *dx = scale * g);
    }
}

/// Bounds coordinates from above only; negative ones are not checked.
struct Below(f64);

impl RowFunction<1> for Below {
    fn name(&self) -> &'static str {
        "below"
    }
    fn width(&self, [width]: [usize; 1]) -> Result<usize, ShapeError> {
        Ok(width)
    }
    fn eval<T: Float>(&self, [x]: [&[f64]; 1], out: &mut [f64]) {
        let bound = 0.99 / (-self.0 * x.len() as f64).sqrt();
        let valid = margin(x, self.0) > 0.0;
        out.iter_mut().zip(x).for_each(|(out, x)| *out = if valid { *x } else { x.min(bound) });
    }
    fn pullback(&self, _: [&[f64]; 1], _out: &[f64], g: &[f64], [dx]: [&mut [f64]; 1]) {
        dx.copy_from_slice(g);
    }
}

/// The identity, with gradient 0 at 0.
struct DetachedAtZero;

impl RowFunction<1> for DetachedAtZero {
    fn name(&self) -> &'static str {
        "detached_at_zero"
    }
    fn width(&self, [width]: [usize; 1]) -> Result<usize, ShapeError> {
        Ok(width)
    }
    fn eval<T: Float>(&self, [v]: [&[f64]; 1], out: &mut [f64]) {
        out.copy_from_slice(v);
    }
    fn pullback(&self, [v]: [&[f64]; 1], _out: &[f64], g: &[f64], [dv]: [&mut [f64]; 1]) {
        let zero = v.iter().all(|&v| v == 0.0);
        dv.iter_mut().zip(g).for_each(|(d, g)| *d = if zero { 0.0 } else { *g });
    }
}

/// The distance d(x, y) with the gradients `−log_x y λ_x²/d`: 0/0 where x = y.
struct Quotient(Stereographic);

impl RowFunction<2> for Quotient {
    fn name(&self) -> &'static str {
        "quotient"
    }
    fn width(&self, _: [usize; 2]) -> Result<usize, ShapeError> {
        Ok(1)
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        out[0] = self.0.dist(&Row::from(x), &Row::from(y));
    }
    fn pullback(&self, [x, y]: [&[f64]; 2], out: &[f64], g: &[f64], [dx, dy]: [&mut [f64]; 2]) {
        for (from, to, gradient) in [(x, y, dx), (y, x, dy)] {
            let metric = (2.0 / margin(from, self.0.kappa())).powi(2);
            let log = self.0.log(&Row::from(from), &Row::from(to));
            gradient.iter_mut().zip(log.iter()).for_each(|(d, log)| *d = -g[0] * log * metric / out[0]);
        }
    }
}

impl Lawful for Mutant {
    /// Only a few, because there are many mutants.
    fn dimensions(&self) -> Vec<usize> {
        vec![1, 2, 3]
    }
    fn curvature_bounds(&self) -> [f64; 2] {
        self.ball.curvature_bounds()
    }
    fn radius<T: Float>(&self) -> f64 {
        self.ball.radius::<T>()
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        self.ball.rounding(x)
    }
}

impl ConstantCurvature for Mutant {
    fn kappa(&self) -> f64 {
        self.ball.kappa()
    }
}

impl Gyrogroup for Mutant {
    fn add<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T> {
        if self.fault == AddSwapped { self.ball.add(y, x) } else { self.ball.add(x, y) }
    }
    fn scale<T: Float>(&self, r: f64, x: &Row<T>) -> Row<T> {
        if self.fault == ScalePlain { Row::vector(Double, [x], [&r]) } else { self.ball.scale(&r, x) }
    }
    fn gyration<T: Float>(&self, x: &Row<T>, y: &Row<T>, w: &Row<T>) -> Row<T> {
        let (x, y) = if self.fault == GyrationBack { (y, x) } else { (x, y) };
        self.ball.gyration(x, y, w)
    }
    fn coadd<T: Float>(&self, x: &Row<T>, y: &Row<T>) -> Row<T> {
        if self.fault == CoaddDenominator { self.formula(Denominator, [x, y]) } else { self.ball.coadd(x, y) }
    }
}

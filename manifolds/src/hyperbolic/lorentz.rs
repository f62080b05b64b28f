//! The Lorentz model: the upper sheet of the hyperboloid ⟨x, x⟩_L = 1/κ in Minkowski space, κ < 0, time
//! coordinate first. Sources: Nickel & Kiela 2018; the accurate forms are this project's own.
//!
//! The time coordinates of points and tangent vectors are determined by the others,
//! `x₀² = ‖x‖² − 1/κ` and `x₀v₀ = ⟨x, v⟩` in space coordinates, so measurements read the
//! space coordinates only. A stored time coordinate has a rounding error which in f32 soon exceeds the
//! distance itself; this does no harm here. Squared areas `‖x‖²‖y‖² − ⟨x, y⟩²` are computed
//! as such, so nothing cancels however far out.

use cotangent_engine::domain::{largest_time, margin};
use cotangent_engine::{Float, Row, Rows};

use crate::distance_key::DistanceKey;
use crate::laws::lawful::{Lawful, NEGATIVE, family, length};
use crate::manifold::{
    ConstantCurvature, CurvatureError, Manifold, OffManifold, OffTangent, at_least_one, existing,
    tangent_within,
};
use crate::module::constant;
use crate::steps::Steps;

/// The hyperboloid of sectional curvature `kappa` < 0. Points of dimension n have n + 1 coordinates, time
/// first: `x₀ = √(‖x_space‖² − 1/κ)`.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Lorentz, Manifold};
/// let hyperboloid = Lorentz::new(-1.0);
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
    /// # Panics
    /// If `kappa` is not negative and finite. For a curvature that a user chooses, see
    /// [`try_new`](Self::try_new).
    #[track_caller]
    pub fn new(kappa: f64) -> Self {
        existing(Self::try_new(kappa))
    }

    /// The hyperboloid of the given curvature.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite.
    pub fn try_new(kappa: f64) -> Result<Self, CurvatureError> {
        Ok(Lorentz { kappa: CurvatureError::unless_negative(Self::TITLE, kappa)? })
    }
}

/// The row formulas of the model. Parameter 0 is κ.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range, Sample::Hyperboloid};
    use cotangent_engine::{Invariant, Metric, RowFormula, Scalar, Vector, row_formulas};

    use crate::hyperbolic::geodesic::{parts, within};
    use crate::hyperbolic::ideal::by_components;
    use Invariant::{Dot, First, Param, Wedge};
    use Vector::{Difference, Input, Time};

    /// Squared areas beyond this overflow; other forms are used instead.
    const LARGEST: f64 = 1e300;

    /// How far [`Geodesic`] goes beyond an end, at curvature −1: from one boundary of the hyperboloid in
    /// `f64` to the other.
    const FARTHEST: f64 = 350.0;

    /// The squared chord ⟨d, d⟩_L of two points, from inner products of their space coordinates and the
    /// squared area `xx yy − xy²` that these span: every term is positive.
    ///
    /// With `1/c = −1/κ`: `h = 2 (area + ‖d‖²/c)/(x₀y₀ + ⟨x, y⟩ + 1/c)`, which follows from
    /// `d₀(x₀ + y₀) = ⟨d, x + y⟩`.
    #[inline(always)]
    fn chord<S: Scalar>(xx: S, yy: S, xy: S, dd: S, area: S, kappa: S) -> S {
        let inverse = -kappa.recip();
        let times = (xx + inverse).sqrt() * (yy + inverse).sqrt();
        let difference = times - xy;
        let opposite = (area + inverse * (xx + yy + inverse)) / difference;
        let sum = S::select(xy.lt(S::zero()), opposite, times + xy);
        let two = S::constant(2.0);
        let h = two * (area + inverse * dd) / (sum + inverse);
        S::select(area.lt(S::constant(LARGEST)), h, two * (difference - inverse).max(S::zero()))
    }

    /// The basis of the formulas that use the chord d = y − x.
    const CHORD: [Vector; 4] = [Input(0), Input(1), Difference(1, 0), Time];

    /// The invariants of these formulas.
    const OF_CHORD: [Invariant; 9] =
        [Dot(0, 0), Dot(1, 1), Dot(0, 1), Dot(0, 2), Dot(2, 2), Wedge(0, 2, 2), First(0), First(1), Param(0)];

    /// The time coordinate of the chord from the space coordinates, `⟨d, x + y⟩/(x₀ + y₀)`. Stored
    /// time coordinates of nearby points far out differ only by their rounding.
    #[inline(always)]
    fn time_of_chord<S: Scalar>(x_time: S, y_time: S, xd: S, dd: S) -> S {
        (xd + xd + dd) / (x_time + y_time)
    }

    /// ⟨u, v⟩_L of tangent vectors at x, from inner products of the space coordinates and
    /// `xx uv − xu xv`: for u = v, every term is positive.
    #[inline(always)]
    fn tangent_product<S: Scalar>(xx: S, xu: S, xv: S, uv: S, area: S, kappa: S) -> S {
        let inverse = -kappa.recip();
        let square = xx + inverse;
        let finite = area.abs().lt(S::constant(LARGEST));
        S::select(finite, (inverse * uv + area) / square, uv - xu / square * xv)
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

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL and [
            Formula::row(Log, Hyperboloid(2), &[KAPPA]),
            Formula::row(Centred, Hyperboloid(2), &[KAPPA]),
        ];

        /// Distance between x and y through the chord: `√h arcsinc(κh/4) = (2/√c) arsinh((√c/2)√h)`.
        ///
        /// The area spanned by sum and difference is twice that of the points, and the same from both sides.
        pub Dist = "lorentz.dist": number [Input(0), Input(1), Difference(1, 0), Sum(0, 1)], metric Space,
            kernel specialised, tested in Hyperboloid(2) [KAPPA];
        xx = Dot(0, 0), yy = Dot(1, 1), xy = Dot(0, 1), dd = Dot(2, 2), area = Wedge(3, 2, 2),
        kappa = Param(0) => {
            distance_of_chord(chord(xx, yy, xy, dd, S::constant(0.25) * area, kappa), kappa)
        };

        /// Exponential map at x of v: `cosc(κ‖v‖²) x + sinc(κ‖v‖²) v`.
        ///
        /// Where v takes the geodesic back past the origin the two terms cancel. The error of the result's
        /// coordinates is then an ulp of these terms, as much as rounding v itself causes.
        pub Exp = "lorentz.exp": vector [Input(0), Input(1)], metric Space, domain Hyperboloid,
            kernel specialised, tested in Hyperboloid(1) [KAPPA];
        xx = Dot(0, 0), xv = Dot(0, 1), vv = Dot(1, 1), area = Wedge(0, 1, 1), kappa = Param(0) => {
            let square = tangent_product(xx, xv, xv, vv, area, kappa);
            // Beyond this radius the result is off every storage type's hyperboloid, and the domain
            // settles it. The same happens where v overflows and the square is NaN. A NaN in v itself
            // reaches the result through the sum.
            let (s, least) = (kappa * square, S::constant(-1e5));
            let s = S::select(least.lt(s), s, least);
            let (sinc, cosc) = s.sinc_cosc();
            [cosc, sinc]
        };

        /// The point at time t = parameter 1 of the geodesic from x to y, as a combination of x and y.
        pub Geodesic = "lorentz.geodesic": vector [Input(0), Input(1), Difference(1, 0)],
            metric Space, domain Hyperboloid, tested in Hyperboloid(2) [KAPPA, Range(0.2, 0.9)];
        xx = Dot(0, 0), yy = Dot(1, 1), xy = Dot(0, 1), dd = Dot(2, 2), area = Wedge(0, 2, 2),
        kappa = Param(0), t = Param(1) => {
            let h = kappa * chord(xx, yy, xy, dd, area, kappa);
            let s = h * (S::constant(0.25) * h).arcsinc().square();
            let [a, b] = parts(s, within(s, t, FARTHEST));
            [a, b, S::zero()]
        };

        /// Parallel transport of v from x to y: `v − κ⟨d, v⟩_L/(2 − κh/2) (x + y)`, h the squared
        /// chord.
        pub Transport = "lorentz.transport":
            vector [Input(0), Input(1), Difference(1, 0), Input(2), Sum(0, 1)],
            metric Space, tested in Hyperboloid(2) [KAPPA];
        xx = Dot(0, 0), yy = Dot(1, 1), xy = Dot(0, 1), dd = Dot(2, 2), area = Wedge(0, 2, 2),
        xv = Dot(0, 3), dv = Dot(2, 3), turn = Wedge(0, 2, 3), kappa = Param(0) => {
            let half = S::constant(0.5) * chord(xx, yy, xy, dd, area, kappa);
            let product = chord_product(xx, yy, half, xv, dv, turn, kappa);
            let den = S::constant(2.0) - kappa * half;
            [S::zero(), S::zero(), S::zero(), S::one(), -kappa * product / den]
        };

        /// Riemannian gradient from the coordinate gradient g: with h = Jg, `h − κ⟨x, h⟩_L x`.
        pub EgradToRgrad = "lorentz.egrad_to_rgrad": vector [Input(0), Flip(1)], metric Minkowski,
            tested in Hyperboloid(1) [KAPPA];
        xh = Dot(0, 1), kappa = Param(0) => [-kappa * xh, S::one()];

        /// The tangent vector at x nearest to v: `v − κ⟨x, v⟩_L x`.
        pub ProjectTangent = "lorentz.project_tangent": vector [Input(0), Input(1)], metric Minkowski,
            tested in Hyperboloid(1) [KAPPA];
        xv = Dot(0, 1), kappa = Param(0) => [-kappa * xv, S::one()];

        /// Inner product ⟨u, v⟩_L of tangent vectors at x, from their space coordinates.
        pub Inner = "lorentz.inner": number [Input(0), Input(1), Input(2)], metric Space,
            tested in Hyperboloid(1) [KAPPA];
        xx = Dot(0, 0), xu = Dot(0, 1), xv = Dot(0, 2), uv = Dot(1, 2), area = Wedge(0, 1, 2),
        kappa = Param(0) => tangent_product(xx, xu, xv, uv, area, kappa);

        /// Norm √⟨v, v⟩_L of a tangent vector at x, from its space coordinates.
        pub Norm = "lorentz.norm": number [Input(0), Input(1)], metric Space,
            tested in Hyperboloid(1) [KAPPA];
        xx = Dot(0, 0), xv = Dot(0, 1), vv = Dot(1, 1), area = Wedge(0, 1, 1), kappa = Param(0) =>
        tangent_product(xx, xv, xv, vv, area, kappa).max(S::zero()).sqrt();

        /// The point with the same space coordinates.
        pub Project = "lorentz.project": vector [Input(0), Time], metric Space, domain Hyperboloid,
            tested in Free [KAPPA];
        xx = Dot(0, 0), time = First(0), kappa = Param(0) => projected(xx, time, kappa);

        /// The same; or, if that is farther out, the one at
        /// [`bounded_time`](cotangent_engine::domain::bounded_time) in its direction.
        pub Bounded = "lorentz.bounded": vector [Input(0), Time], metric Space, domain BoundedHyperboloid,
            tested in Free [KAPPA];
        xx = Dot(0, 0), time = First(0), kappa = Param(0) => projected(xx, time, kappa);

        /// Signed distance from x to the gyroplane through p with normal a,
        /// `(1/√c) arsinh(√c ⟨x, a⟩_L/√⟨a, a⟩_L)`, where ⟨x, a⟩_L is the product of the
        /// chord from p with a.
        pub Gyroplane = "lorentz.gyroplane": number [Input(0), Input(1), Input(2), Difference(0, 1)],
            metric Space, tested in Hyperboloid(2) [KAPPA];
        xx = Dot(0, 0), pp = Dot(1, 1), xp = Dot(0, 1), dd = Dot(3, 3), area = Wedge(1, 3, 3),
        pa = Dot(1, 2), da = Dot(3, 2), turn = Wedge(1, 3, 2), aa = Dot(2, 2), area_of_a = Wedge(1, 2, 2),
        kappa = Param(0) => {
            let half = S::constant(0.5) * chord(pp, xx, xp, dd, area, kappa);
            let product = chord_product(pp, xx, half, pa, da, turn, kappa);
            let norm = tangent_product(pp, pa, pa, aa, area_of_a, kappa).max(S::zero()).sqrt();
            let c = (-kappa).sqrt();
            // Where the norm is 0 or NaN, the sine is the norm itself.
            S::select(S::zero().lt(norm), c * product / norm, norm).asinh() / c
        };

        /// The Busemann function of direction ω = ‖ω‖u, `(1/√c) ln √c (x₀ − ⟨x, u⟩)`, from
        /// space coordinates. Law 24.
        pub Busemann = "lorentz.busemann": number [Input(0), Input(1)], metric Space,
            tested in Hyperboloid(1) [KAPPA];
        xx = Dot(0, 0), xu = Along(0, 1), ww = Dot(1, 1), area = Wedge(1, 0, 0), kappa = Param(0) => {
            let (c, one) = (-kappa, S::one());
            let rise = c * xx / (one + (one + c * xx).sqrt());
            by_components(rise, c.sqrt() * xu, c * (area / ww), kappa)
        };
    }

    /// Logarithm at x of y: `arcsinc(κh/4)/√(1 − κh/4) (d + (κh/2) x)`, h the squared chord.
    #[derive(Clone, Copy, Debug)]
    pub struct Log;

    impl RowFormula<2, 4, 9, 4> for Log {
        const NAME: &'static str = "lorentz.log";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 4] = CHORD;
        const INVARIANTS: [Invariant; 9] = OF_CHORD;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([xx, yy, xy, xd, dd, area, x_time, y_time, kappa]: [S; 9]) -> [S; 4] {
            let h = chord(xx, yy, xy, dd, area, kappa);
            let a = velocity_of_chord(h, kappa);
            let inverse = -kappa.recip();
            let time = time_of_chord((xx + inverse).sqrt(), (yy + inverse).sqrt(), xd, dd);
            [S::constant(0.5) * kappa * h * a, S::zero(), a, a * (time - (y_time - x_time))]
        }
    }

    /// ⟨d, v⟩_L of a chord d = y − x and a tangent vector v at x, from half the chord's square, h/2,
    /// and products of space coordinates, `turn = xx dv − xd xv`:
    /// `x₀² ⟨d, v⟩_L = turn + dv/c − (h/2) xv`.
    #[inline(always)]
    fn chord_product<S: Scalar>(xx: S, yy: S, half: S, xv: S, dv: S, turn: S, kappa: S) -> S {
        let inverse = -kappa.recip();
        let square = xx + inverse;
        let product = (turn + inverse * dv - half * xv) / square;
        let time = (yy + inverse).sqrt() - square.sqrt();
        let finite = turn.abs().lt(S::constant(LARGEST));
        S::select(finite, product, dv - time * (xv / square.sqrt()))
    }

    /// The coefficients of a row and of the time axis in the point with the same space coordinates, from
    /// their square.
    #[inline(always)]
    fn projected<S: Scalar>(xx: S, time: S, kappa: S) -> [S; 2] {
        // A square that overflows leads to the farthest point: the coefficient stays finite, because it also
        // multiplies the zeros of the time axis.
        [S::one(), (xx.min(S::constant(1e300)) - kappa.recip()).sqrt() - time]
    }

    /// The component along x of y as seen from x, `√c (x₀ ⟨x, y⟩/‖x‖ − ‖x‖ y₀)`: the
    /// image of the component `along` under the boost that takes x to the origin. `ahead` is the component of
    /// y − x; `across` is the square of y's part orthogonal to x.
    ///
    /// With s = x₀ + y₀ it is
    /// `√c (2 s ahead/c − across (s ‖x‖ − ahead x₀))/(s² − ahead²)`, exactly 0 where y is x.
    /// Where y is far ahead or behind, s² − ahead² cancels; then x₀ − ‖x‖ and y₀ − `along`
    /// are computed as quotients instead.
    #[inline(always)]
    pub(crate) fn outward<S: Scalar>(xx: S, yy: S, along: S, ahead: S, across: S, kappa: S) -> S {
        let (square, x) = (-kappa.recip(), xx.sqrt());
        let (x_time, y_time) = ((xx + square).sqrt(), (yy + square).sqrt());
        let sum = x_time + y_time;
        let beside = (S::constant(2.0) * square * ahead * sum - across * (x * sum - ahead * x_time))
            / ((sum - ahead) * (sum + ahead));
        let g = square / (x_time + x);
        let positive = S::zero().lt(along);
        let h = S::select(positive, (square + across) / (y_time + along), y_time - along);
        let near = (ahead + ahead).abs().lt(sum);
        (-kappa).sqrt() * S::select(near, beside, g * along - h * x)
    }

    /// The logarithm at x of y carried to the origin. It is the logarithm, at the origin, of y moved by
    /// the boost that takes x there. With u = x/‖x‖ and d = y − x it is
    /// `arcsinc(κh/4)/√(1 − κh/4) (d + (r − ⟨d, u⟩) u)`, with r the component `outward` and h the
    /// squared chord; or with `−(d₀ + √c h/2)/(x₀ + 1/√c) x` as the last term. These are space
    /// coordinates; the time coordinate is 0.
    ///
    /// Far out the coordinates of the logarithm itself are 2√c x₀ times as long as it is, and after
    /// transport their rounding remains. Here only r − ⟨d, u⟩ cancels, between nearby points at
    /// different radii far out.
    #[derive(Clone, Copy, Debug)]
    pub struct Centred;

    impl RowFormula<2, 4, 9, 4> for Centred {
        const NAME: &'static str = "lorentz.centred";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Space;
        const BASIS: [Vector; 4] = CHORD;
        const INVARIANTS: [Invariant; 9] = OF_CHORD;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([xx, yy, xy, xd, dd, area, x_time, y_time, kappa]: [S; 9]) -> [S; 4] {
            let (h, inverse) = (chord(xx, yy, xy, dd, area, kappa), -kappa.recip());
            let a = velocity_of_chord(h, kappa);
            // Near the origin x has no direction; the other form is used there, in which nothing
            // cancels.
            let (first, second) = ((xx + inverse).sqrt(), (yy + inverse).sqrt());
            let rise = time_of_chord(first, second, xd, dd) + S::constant(0.5) * (-kappa).sqrt() * h;
            let distant = inverse.lt(xx);
            let xx = S::select(distant, xx, inverse);
            let x = xx.sqrt();
            let r = outward(xx, yy, xy / x, xd / x, area / xx, kappa);
            let of_x = a * S::select(distant, (r - xd / x) / x, -rise / (first + inverse.sqrt()));
            [of_x, S::zero(), a, -(of_x * x_time + a * (y_time - x_time))]
        }
    }

    const KAPPA: Range = Range(-1.5, -0.5);
}

impl ConstantCurvature for Lorentz {
    fn kappa(&self) -> f64 {
        self.kappa
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        // The space coordinates are the accurate ones, and determine the time coordinate.
        let space = y.get(1..)?;
        let square = space.iter().map(|x| x * x).sum::<f64>() - 1.0 / self.kappa;
        Some(DistanceKey { space, time: Some(square.sqrt()), divisor: 1.0 })
    }
}

impl Manifold for Lorentz {
    const NAME: &'static str = "lorentz";
    const TITLE: &'static str = "the Lorentz model";

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
        row[0] = T::nearest((-1.0 / self.kappa).sqrt());
        row
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
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::ProjectTangent, [x, v], [&x.constant(self.kappa)])
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Project, [x], [&x.constant(self.kappa)])
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        R::vector(formulas::Geodesic, [x, y], [&x.constant(self.kappa), t])
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, 2)?;
        let time = x[0].to_f64();
        let right = (margin(&x[1..], -self.kappa) / -self.kappa).sqrt();
        let limit = largest_time::<T>();
        if time > limit {
            let condition = "x0 within the range of inner products";
            return Err(OffManifold { manifold: Self::TITLE, condition, by: time - limit });
        }
        let by = (time - right).abs();
        // The tolerance is one rounding of the time coordinate and one of this check.
        if by <= 2.0 * T::EPSILON * right {
            return Ok(());
        }
        Err(OffManifold { manifold: Self::TITLE, condition: "x0 = sqrt(|x_space|^2 - 1/kappa)", by })
    }
    /// Rounding a vector far out moves it off the tangent space by as much as `|κ|‖x‖²` ulp.
    #[track_caller]
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        let square: f64 = x.iter().map(|c| c.to_f64().powi(2)).sum();
        tangent_within(self, x, v, 1.0 - self.kappa * square)
    }
}

impl Steps for Lorentz {
    /// Farther out, steps in coordinates are mostly rounding and lead farther out still.
    fn bounded<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Bounded, [x], [&x.constant(self.kappa)])
    }
}

impl Lawful for Lorentz {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x[0].to_f64()
    }
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        (-self.kappa()).sqrt() * length(x)
    }
    /// From the reverse pass of an area, and from `⟨x, v⟩_L`.
    fn cancellation<T: Float>(&self, x: &Row<T>) -> f64 {
        self.distortion(x)
    }
}

family!(Lorentz: NEGATIVE.map(Lorentz::new), [(Lorentz::new(-1.0), 3, 3.0)]);

constant!(Lorentz);

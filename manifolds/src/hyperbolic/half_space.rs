//! The upper half-space model: rows whose last coordinate, the height, is positive, with the metric
//! `‖v‖²/(c y²)` at height y, c = −κ. Sources: Tseng, Yu, Liu, De Sa 2023, section 2.2 and eq. 9;
//! the accurate forms are this project's own.
//!
//! The metric of curvature κ is that of curvature −1 times a constant, so geodesics, exp, log and
//! transport do not depend on κ. Moving and scaling a configuration changes none of its distances, so no
//! formula compares a coordinate with 1. Distances, logarithms and the exponential map keep their digits
//! at every representable height; transport and inner products square heights, for which f64 has room
//! between 1e-150 and 1e150.

use cotangent_engine::domain::least_height;
use cotangent_engine::{Float, Row, Rows};

use crate::distance_key::DistanceKey;
use crate::laws::lawful::{Lawful, NEGATIVE, family, length};
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, at_least_one, existing};
use crate::module::constant;
use crate::steps::Steps;

/// The upper half-space of sectional curvature `kappa` < 0. The last coordinate is the height; the
/// origin is at height 1.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{HalfSpace, Manifold};
/// let half_space = HalfSpace::new(-1.0);
/// let (x, y) = (Row::from([3.0, 1.0]), Row::from([3.0, 1e-200]));
/// assert!((half_space.dist(&x, &y) - 200.0 * 10.0_f64.ln()).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace {
    kappa: f64,
}

impl HalfSpace {
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
        Ok(HalfSpace { kappa: CurvatureError::unless_negative(Self::TITLE, kappa)? })
    }
}

/// The row formulas of the model. Parameter 0 is κ where there is one.
pub mod formulas {
    use cotangent_engine::registry::Range;
    use cotangent_engine::scalar::chosen;
    use cotangent_engine::{Scalar, row_formulas};

    use crate::hyperbolic::ideal::by_ratio;

    /// For two points at heights a and b whose difference has the Euclidean norm δ, given p = √(δ/a) and
    /// q = √(δ/b): whether they are near; `r = δ/√(ab)`, which is 2 sinh of half the distance at
    /// curvature −1; and that distance.
    ///
    /// Beyond r = 10¹⁰ the distance is 2 ln r to the last digit. It is then computed from two
    /// logarithms, because r itself may overflow.
    #[inline(always)]
    fn separation<S: Scalar>(p: S, q: S) -> (S::Mask, S, S) {
        let r = p * q;
        let near = r.lt(S::constant(1e10));
        let distance = S::choose(
            near,
            #[inline(always)]
            || r * quarter(r).arcsinc(),
            #[inline(always)]
            || S::constant(2.0) * (p.ln() + q.ln()),
        );
        (near, r, distance)
    }

    /// The distance at curvature −1 of two points at heights a and b whose difference has the Euclidean
    /// norm δ, given p = √(δ/a) and q = √(δ/b).
    #[inline(always)]
    pub fn distance<S: Scalar>(p: S, q: S) -> S {
        separation(p, q).2
    }

    /// `√(delta/a)` and `√(delta/b)`.
    #[inline(always)]
    fn roots<S: Scalar>(delta: S, a: S, b: S) -> [S; 2] {
        let root = delta.sqrt();
        [root / a.sqrt(), root / b.sqrt()]
    }

    /// `−r²/4`.
    #[inline(always)]
    fn quarter<S: Scalar>(r: S) -> S {
        S::constant(-0.25) * r.square()
    }

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// Distance between x and y, `(2/√c) arsinh(‖y − x‖/(2√(ab)))`, a and b their heights.
        pub Dist = "half_space.dist": number [Difference(1, 0)], tested in HalfSpace [KAPPA];
        delta = Along(0, 0), a = Last(0), b = Last(1), kappa = Param(0) => {
            let [p, q] = roots(delta, a, b);
            distance(p, q) / (-kappa).sqrt()
        };

        /// Exponential map at x of v, written with half the length: with `u = tanh(‖w‖/2) w/‖w‖` of
        /// w = v/a and D = ‖u_h‖² + (1 − u_n)², the point moves horizontally by `2a u_h/D`, to the
        /// height `a sech²(‖w‖/2)/D`. A geodesic is followed to the length 350/√c at most. Tseng
        /// et al. 2023, eq. 9.
        pub Exp = "half_space.exp": vector [Input(0), Input(1), Height],
            metric Horizontal, domain HalfSpace, tested in HalfSpace [];
        horizontal = Along(1, 1), a = Last(0), vertical = Last(1) => {
            let [of_v, height] = exp(horizontal / a, vertical / a);
            [S::one(), finite(of_v), finite(a * height)]
        };

        /// A step of Riemannian gradient descent, `exp_x(−t c a² g)`, t = parameter 1. The Riemannian
        /// gradient may be more than a row can hold.
        pub Descend = "half_space.descend": vector [Input(0), Input(1), Height],
            metric Horizontal, domain HalfSpace, tested in HalfSpace [KAPPA, Range(0.2, 0.9)];
        horizontal = Along(1, 1), a = Last(0), vertical = Last(1), kappa = Param(0), rate = Param(1) => {
            let step = rate * kappa * a;
            let [of_v, height] = exp(step * horizontal, step * vertical);
            [S::one(), finite(of_v * a * step), finite(a * height)]
        };

        /// Logarithm at x of y: with d = y − x and D the distance at curvature −1,
        /// `(D/sinh D)((a/b) d + ‖d‖²/(2b) e_n)`.
        pub Log = "half_space.log": vector [Difference(1, 0), Height], tested in HalfSpace [];
        delta = Along(0, 0), a = Last(0), b = Last(1) => log(delta, a, b);

        /// The logarithm at x of y carried to the origin, in the frame there: w, the velocity divided by the
        /// height, turned as by [`Transport`] and divided by √c. With t the horizontal part of x,
        /// σ = a + 1 and Q = ‖t‖² + σ², the turned vector is
        /// `(w_h − (2/Q)(σ w_n + ⟨t,w⟩) t, w_n − (2/Q)(‖t‖² w_n − σ⟨t,w⟩))`.
        pub Centred = "half_space.centred": vector [Input(0), Difference(1, 0), Height], metric Horizontal,
            tested in HalfSpace [KAPPA];
        horizontal = Along(1, 1), tt = Dot(0, 0), td = Dot(0, 1), a = Last(0), b = Last(1),
        kappa = Param(0) => {
            let ([of_d, up], rise) = (log_from_horizontal(horizontal, a, b), b - a);
            let (of_d, vertical) = (of_d / a, (of_d * rise + up) / a);
            // From x to the origin: the difference is −t.
            let [of_h, turned] = turn(tt, -of_d * td, vertical, a + S::one());
            let c = (-kappa).sqrt();
            [-of_h / c, of_d / c, turned / c]
        };

        /// The point at time t = parameter 0 of the geodesic from x to y: [`Exp`] of t times [`Log`],
        /// without storing the logarithm in a row.
        pub Geodesic = "half_space.geodesic": vector [Input(0), Difference(1, 0), Height],
            metric Horizontal, domain HalfSpace, tested in HalfSpace [Range(0.2, 0.9)];
        horizontal = Along(1, 1), a = Last(0), b = Last(1), t = Param(0) => {
            let ([of_d, up], rise) = (log_from_horizontal(horizontal, a, b), b - a);
            let of_d = t * of_d;
            let [of_v, height] = exp(of_d * (horizontal / a), (of_d * rise + t * up) / a);
            [S::one(), finite(of_v * of_d), finite(a * height)]
        };

        /// Parallel transport of v from x to y: with h = d's horizontal part, σ = a + b and
        /// Q = ‖h‖² + σ²,
        /// `(b/a) (v_h + (2/Q)(σ v_n − ⟨h,v⟩) h, v_n − (2/Q)(‖h‖² v_n + σ⟨h,v⟩))`:
        /// a turn by 2 arctan(‖h‖/σ).
        pub Transport = "half_space.transport": vector [Difference(1, 0), Input(2), Height],
            metric Horizontal, tested in HalfSpace [];
        hh = Dot(0, 0), hv = Dot(0, 1), a = Last(0), b = Last(1), vn = Last(2) => {
            let ([of_h, turned], ratio) = (turn(hh, hv, vn, a + b), b / a);
            [ratio * of_h, ratio, ratio * turned]
        };

        /// Riemannian gradient from the coordinate gradient g: `c a² g`.
        pub EgradToRgrad = "half_space.egrad_to_rgrad": vector [Input(1)], tested in HalfSpace [KAPPA];
        a = Last(0), kappa = Param(0) => [-kappa * a.square()];

        /// Riemannian inner product of u and v at x: `⟨u, v⟩/(c a²)`.
        pub Inner = "half_space.inner": number [Input(1), Input(2)], tested in HalfSpace [KAPPA];
        uv = Dot(0, 1), a = Last(0), kappa = Param(0) => -uv / a / a / kappa;

        /// Riemannian norm of v at x: `‖v‖/(√c a)`.
        pub Norm = "half_space.norm": number [Input(1)], tested in HalfSpace [KAPPA];
        v = Along(0, 0), a = Last(0), kappa = Param(0) => v / a / (-kappa).sqrt();

        /// The identity on points; a height of 0 or less becomes the least one.
        pub Project = "half_space.project": vector [Input(0)], domain HalfSpace, tested in HalfSpace [];
         => [S::one()];

        /// Signed distance from x at height y to the gyroplane through p at height b with normal a, a
        /// half-sphere or a vertical hyperplane: with d = x − p,
        /// `(1/√c) arsinh((⟨d, a⟩ + ‖d‖² a_n/2b)/(y‖a‖))`.
        pub Gyroplane = "half_space.gyroplane": number [Difference(0, 1), Input(2)],
            tested in HalfSpace [KAPPA];
        delta = Along(0, 0), along = Along(0, 1), norm = Along(1, 1), y = Last(0), b = Last(1),
        up = Last(2), kappa = Param(0) => {
            let (distinct, defined) = (S::zero().lt(delta), S::zero().lt(norm));
            let delta = S::select(distinct, delta, S::one());
            let [q, p] = roots(delta, y, b);
            let (cosine, half) = (along / delta, S::constant(0.5) * up / norm);
            // At p itself it is linear.
            let sine = S::select(distinct, q * (q * (cosine + p * (p * half))), along / y);
            let size = sine.abs();
            // Beyond this it is ln 2s to the last digit; squares of p and q may overflow.
            let distance = S::choose(
                size.lt(S::constant(1e150)),
                #[inline(always)]
                || sine.asinh(),
                #[inline(always)]
                || {
                    let twice = S::constant(2.0) * q.ln() + p.ln() + (cosine / p + p * half).abs().ln();
                    let logarithm = twice + S::constant(std::f64::consts::LN_2);
                    S::select(S::zero().lt(sine), logarithm, -logarithm)
                },
            );
            chosen(norm, norm, S::select(defined, distance, S::zero())) / (-kappa).sqrt()
        };

        // The first coordinate is the height.
        /// The Busemann function of direction ω, at x = (y, t) and for ω = (ω_n, ω_t), heights first:
        /// with w = ‖ω‖ and g = w − ω_n,
        /// `(1/√c) ln((g (‖t‖² + y²) − 2⟨t, ω_t⟩ + w + ω_n)/2wy)`; towards infinity that is
        /// −(1/√c) ln y. Law 24.
        pub Busemann = "half_space.busemann": number [Input(0), Input(1)], metric Space,
            tested in Hyperboloid(1) [KAPPA];
        tt = Dot(0, 0), dot = Dot(0, 1), along = Along(0, 1), norm = Along(1, 1),
        area = Wedge(1, 0, 0), y = First(0), up = First(1), kappa = Param(0) => {
            let (zero, one, two, ww) = (S::zero(), S::one(), S::constant(2.0), norm.square());
            let w = (ww + up.square()).sqrt();
            // For ω = 0, g = w = 1 and w + ω_n = 1.
            let defined = zero.lt(w);
            let w = S::select(defined, w, one);
            // The square roots of g and of w + ω_n; their product is ‖ω_t‖.
            let larger = (w + up.abs()).sqrt();
            let smaller = norm / larger;
            let above = zero.lt(up);
            let (root, other) = (S::select(above, smaller, larger), S::select(above, larger, smaller));
            let other = S::select(defined, other, one);
            let g = root.square();
            let size = S::constant(0.5) / (w * y);
            // From the parts of t along ω_t and orthogonal to it, if ω_t has a direction.
            let by_parts = (root * along - other).square() + g * (area / ww + y.square());
            let plain = g * (tt + y.square()) - two * dot + other.square();
            let ratio = size * S::select(zero.lt(ww), by_parts, plain);
            let rise = y - one;
            let (square, lean, climb) = (g * (tt + rise.square()), two * dot, two * rise * up);
            // Near low ideal points the terms are large, and only the ratio has its digits.
            let small = (size * (square + lean.abs() + climb.abs())).lt(one);
            let excess = S::select(small, size * (square - lean - climb), one);
            by_ratio(ratio, excess, kappa)
        };
    }

    /// The longest geodesic that [`Exp`] follows, at curvature −1: from height 1 to 10^±152, beyond
    /// every `f32`.
    const LONGEST: f64 = 350.0;

    /// A finite coefficient, because it may multiply 0.
    #[inline(always)]
    fn finite<S: Scalar>(x: S) -> S {
        x.min(S::constant(1e308)).max(S::constant(-1e308))
    }

    /// For v = a w at height a: the coefficient of v's horizontal part, and the factor of the height.
    #[inline(always)]
    fn exp<S: Scalar>(horizontal: S, vertical: S) -> [S; 2] {
        let limit = S::constant(1e150); // the squares stay finite
        let (wh, wn) = (horizontal.min(limit).max(-limit), vertical.min(limit).max(-limit));
        let square = wh.square() + wn.square();
        let shorter = (S::constant(LONGEST * LONGEST) / square).min(S::one());
        let (t, secant) = (S::constant(-0.25) * square * shorter).tanc_secant();
        let half = S::constant(0.5) * shorter.sqrt() * t;
        let (uu, un) = ((wh * half).square(), wn * half);
        // 1 − u_n cancels on the way up; there it comes from 1 − ‖u‖² = sech².
        let one_minus_un = S::select(S::zero().lt(un), (secant + uu) / (S::one() + un), S::one() - un);
        let den = uu + one_minus_un.square();
        [(half + half) / den, secant / den]
    }

    /// The coefficients of the difference and of the height in the logarithm; δ is the norm of the
    /// difference.
    #[inline(always)]
    fn log<S: Scalar>(delta: S, a: S, b: S) -> [S; 2] {
        let [p, q] = roots(delta, a, b);
        let (near, r, distance) = separation(p, q);
        let s = quarter(r);
        let slowed = s.arcsinc() / (S::one() - s).sqrt();
        // Far apart, sinh D is ‖d‖²/2ab to the last digit.
        let of_d = S::select(near, slowed * a / b, S::constant(2.0) * distance * (a / delta).square());
        let up = S::select(near, S::constant(0.5) * slowed * delta * (delta / b), a * distance);
        [of_d, up]
    }

    /// [`log`], given the norm of the difference's horizontal part.
    #[inline(always)]
    fn log_from_horizontal<S: Scalar>(horizontal: S, a: S, b: S) -> [S; 2] {
        let rise = (b - a).abs();
        let larger = horizontal.max(rise);
        let distinct = S::zero().lt(larger);
        let larger = S::select(distinct, larger, S::one());
        let delta = larger * ((horizontal / larger).square() + (rise / larger).square()).sqrt();
        // Takes the place of 0, where roots have no derivative.
        log(S::select(distinct, delta, S::constant(1e-100) * a), a, b)
    }

    /// The turn of a vector v by 2 arctan(‖h‖/σ) in the plane of h and the height: the coefficient of h
    /// that is added to v_h, and the new v_n.
    #[inline(always)]
    fn turn<S: Scalar>(hh: S, hv: S, vn: S, sum: S) -> [S; 2] {
        // In units of σ, whose square may overflow.
        let tangent = (hh / sum / sum).min(S::constant(1e300));
        let hv = hv / sum;
        let k = S::constant(2.0) / (S::one() + tangent);
        [k * (vn - hv) / sum, vn - k * (tangent * vn + hv)]
    }

    const KAPPA: Range = Range(-1.5, -0.5);
}

impl ConstantCurvature for HalfSpace {
    fn kappa(&self) -> f64 {
        self.kappa
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        Some(DistanceKey::new(y, *y.last()?))
    }
    /// Coordinates do not depend on the curvature.
    fn rescale<T: Float>(&self, _x: &mut [T], _scale: f64) {}
}

impl Manifold for HalfSpace {
    const NAME: &'static str = "half_space";
    const TITLE: &'static str = "the half-space model";

    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        at_least_one(Self::TITLE, dim);
        let mut row = Row::from(vec![T::zero(); dim].as_slice());
        row[dim - 1] = T::one();
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
        R::vector(formulas::Exp, [x, v], [])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        R::vector(formulas::Log, [x, y], [])
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        R::vector(formulas::Transport, [x, y, v], [])
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        R::vector(formulas::EgradToRgrad, [x, g], [&x.constant(self.kappa)])
    }
    fn project_tangent<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Project, [x], [])
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        R::vector(formulas::Geodesic, [x, y], [t])
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, 1)?;
        let by = least_height::<T>() - x[x.len() - 1].to_f64();
        if by <= 0.0 {
            return Ok(());
        }
        let condition = "a positive last coordinate, no subnormal one";
        Err(OffManifold { manifold: Self::TITLE, condition, by })
    }
}

impl Steps for HalfSpace {
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        R::vector(formulas::Descend, [x, g], [&x.constant(self.kappa), rate])
    }
}

impl Lawful for HalfSpace {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x) / (x[x.len() - 1].to_f64() * (-self.kappa()).sqrt())
    }
}

family!(HalfSpace: NEGATIVE.map(HalfSpace::new), [(HalfSpace::new(-1.0), 3, 2.0)]);

constant!(HalfSpace);

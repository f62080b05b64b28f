//! Isometries between the models of one space: the Poincaré ball, the hyperboloid, the Klein model and
//! the half-space for κ < 0; the sphere and its stereographic projection for κ > 0.
//!
//! Points of the first four are converted by way of the hyperboloid. Its coordinates keep a radius to an
//! ulp, where those of the ball and of the Klein model run out of digits. Only the half-space reaches
//! farther. Each model has one formula to the hyperboloid and one back. Tangent vectors are converted by the
//! differentials of these, and of each model's map to the ball and back. Source: Cannon, Floyd, Kenyon,
//! Parry 1997, section 7. Curvature is kept: coordinates of curvature κ are those of curvature −1 divided
//! by √-κ (in the half-space: the same).
//!
//! The origins of the models are the same point.

use cotangent_engine::Rows;

use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{
    self, KappaStereographic, MaybeNegative, MaybePositive, PoincareBall,
};
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold};
use crate::point::{Point, Tangent};
use crate::sphere::Sphere;

/// A manifold whose points can be converted to those of `N` without changing a distance. See
/// [`Point::to`](crate::Point::to) and [`Tangent::to`](crate::Tangent::to).
///
/// Holds for any two [`Hyperbolic`] models, and for the stereographic model for κ > 0 with the sphere.
/// Manifolds that are not two models of one space do not convert:
///
/// ```compile_fail,E0277
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Lorentz, Point, Sphere};
/// let x = Point::new(Sphere::new(1.0), Row::from([1.0, 0.0]));
/// let y = x.to::<Lorentz>();
/// ```
pub trait Isometric<N: ConstantCurvature>: ConstantCurvature {
    /// The other model of this space.
    ///
    /// # Panics
    /// If there is none at this curvature: a stereographic model corresponds to the hyperboloid for
    /// κ < 0, to the sphere for κ > 0.
    fn counterpart(&self) -> N;

    /// The same points in the other model.
    fn convert<R: Rows>(&self, x: &R) -> R;

    /// Tangent vectors at `x` in the other model: the differential of [`convert`](Self::convert).
    fn push<R: Rows>(&self, x: &R, v: &R) -> R;
}

/// A model of hyperbolic space, given by its isometry with the hyperboloid. Any two convert into one
/// another.
///
/// Points are converted by way of the hyperboloid. Tangent vectors are not, because far out their radial
/// parts are so long there that rounding them would lose digits that the other models keep. They go by
/// way of the ball, unless one of the two models is the hyperboloid.
pub trait Hyperbolic: ConstantCurvature {
    /// Whether points have the coordinates of the hyperboloid.
    const HYPERBOLOID: bool = false;

    /// Whether points have the coordinates of the ball, as those of every κ-stereographic model do.
    const BALL: bool = false;

    /// The model of the given curvature.
    ///
    /// # Errors
    /// If `kappa` is not negative and finite.
    fn with_curvature(kappa: f64) -> Result<Self, CurvatureError>;

    /// The same points on the hyperboloid.
    fn onto_hyperboloid<R: Rows>(&self, x: &R) -> R;

    /// Points of the hyperboloid in this model.
    fn back_from_hyperboloid<R: Rows>(&self, x: &R) -> R;

    /// The differential of [`onto_hyperboloid`](Self::onto_hyperboloid) at `x`.
    fn push_onto_hyperboloid<R: Rows>(&self, x: &R, v: &R) -> R;

    /// The differential of [`back_from_hyperboloid`](Self::back_from_hyperboloid) at a point `x` of the
    /// hyperboloid.
    fn push_back_from_hyperboloid<R: Rows>(&self, x: &R, v: &R) -> R;

    /// The same points in the ball.
    fn onto_ball<R: Rows>(&self, x: &R) -> R {
        ball(self.kappa()).back_from_hyperboloid(&self.onto_hyperboloid(x))
    }

    /// The differential of [`onto_ball`](Self::onto_ball) at `x`. By default it goes by way of the
    /// hyperboloid; a formula of the model's own keeps more digits far out.
    fn push_onto_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        ball(self.kappa())
            .push_back_from_hyperboloid(&self.onto_hyperboloid(x), &self.push_onto_hyperboloid(x, v))
    }

    /// Tangent vectors at a point `x` of the ball, in this model. By default they go by way of the
    /// hyperboloid, too.
    fn push_back_from_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        let ball = ball(self.kappa());
        self.push_back_from_hyperboloid(&ball.onto_hyperboloid(x), &ball.push_onto_hyperboloid(x, v))
    }
}

/// Whether points and tangent vectors of two models of one space have the same coordinates.
fn same_coordinates<M: Hyperbolic, N: Hyperbolic>() -> bool {
    M::NAME == N::NAME || (M::BALL && N::BALL)
}

/// The ball with the curvature of a hyperbolic model.
#[track_caller]
fn ball(kappa: f64) -> PoincareBall {
    convertible(PoincareBall::try_new(kappa))
}

impl<M: Hyperbolic, N: Hyperbolic> Isometric<N> for M {
    #[track_caller]
    fn counterpart(&self) -> N {
        convertible(N::with_curvature(self.kappa()))
    }
    fn convert<R: Rows>(&self, x: &R) -> R {
        let other: N = self.counterpart();
        if same_coordinates::<M, N>() {
            return x.clone();
        }
        other.back_from_hyperboloid(&self.onto_hyperboloid(x))
    }
    fn push<R: Rows>(&self, x: &R, v: &R) -> R {
        let other: N = self.counterpart();
        if same_coordinates::<M, N>() {
            return v.clone();
        }
        if M::HYPERBOLOID || N::HYPERBOLOID {
            return other
                .push_back_from_hyperboloid(&self.onto_hyperboloid(x), &self.push_onto_hyperboloid(x, v));
        }
        other.push_back_from_ball(&self.onto_ball(x), &self.push_onto_ball(x, v))
    }
}

#[track_caller]
fn convertible<N>(model: Result<N, CurvatureError>) -> N {
    match model {
        Ok(model) => model,
        Err(error) => panic!("conversion to another model: {error}"),
    }
}

impl Hyperbolic for Lorentz {
    const HYPERBOLOID: bool = true;

    fn with_curvature(kappa: f64) -> Result<Self, CurvatureError> {
        Lorentz::try_new(kappa)
    }
    fn onto_hyperboloid<R: Rows>(&self, x: &R) -> R {
        x.clone()
    }
    fn back_from_hyperboloid<R: Rows>(&self, x: &R) -> R {
        x.clone()
    }
    fn push_onto_hyperboloid<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn push_back_from_hyperboloid<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
}

impl<M: Manifold, R: Rows> Point<M, R> {
    /// The same points in another model of the same space and curvature. Distances stay.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{HalfSpace, Lorentz, Point, PoincareBall};
    /// let ball = PoincareBall::new(-1.0);
    /// let x = Point::new(ball, Row::from([0.6, 0.0]));
    /// let lorentz = x.to::<Lorentz>();
    /// let want = [2.125_f64, 1.875, 0.0]; // (1 + 0.36, 2 · 0.6, 0)/(1 − 0.36)
    /// assert!(lorentz.coordinates().iter().zip(want).all(|(x, w)| (x - w).abs() < 1e-15));
    /// let y = Point::new(ball, Row::from([0.0, 0.5]));
    /// let d = x.to::<HalfSpace>().dist(&y.to::<HalfSpace>());
    /// assert!((d - x.dist(&y)).abs() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// If the other model does not exist at this curvature: see [`Isometric::counterpart`].
    #[track_caller]
    pub fn to<N: ConstantCurvature>(&self) -> Point<N, R>
    where
        M: Isometric<N>,
    {
        let counterpart = self.manifold().counterpart();
        Point::new(counterpart, self.manifold().convert(self.coordinates()))
    }
}

impl<M: Manifold, R: Rows> Tangent<M, R> {
    /// The same tangent vectors, at `point`, in another model of the same space: by the differential of
    /// [`Point::to`].
    ///
    /// # Panics
    /// As for [`Point::to`], and if the vectors and the point are of different manifolds.
    #[track_caller]
    pub fn to<N: ConstantCurvature>(&self, point: &Point<M, R>) -> Tangent<N, R>
    where
        M: Isometric<N>,
    {
        let m = point.same(self.manifold());
        Tangent::new(m.counterpart(), m.push(point.coordinates(), self.coordinates()))
    }
}

/// A row with a time coordinate of 0 put before it.
fn timed<R: Rows>(x: &R) -> R {
    R::concat(&x.zeros(1), x)
}

/// A row without its time coordinate.
fn space<R: Rows>(x: &R) -> R {
    x.columns(1..x.width())
}

/// A model whose points have one coordinate less than the hyperboloid's: with its maps up and down, and
/// its own methods to and from the ball.
macro_rules! hyperbolic {
    ([$($generic:tt)*] $model:ty, $up:path, $down:path, { $($ball:item)* }) => {
        impl<$($generic)*> Hyperbolic for $model {
            fn with_curvature(kappa: f64) -> Result<Self, CurvatureError> {
                let model = <$model>::try_new(kappa)?;
                CurvatureError::unless_negative(<$model>::TITLE, kappa).map(|_| model)
            }
            fn onto_hyperboloid<R: Rows>(&self, x: &R) -> R {
                R::vector($up, [&timed(x)], [&x.constant(self.kappa())])
            }
            fn back_from_hyperboloid<R: Rows>(&self, x: &R) -> R {
                R::vector($down, [&space(x)], [&x.constant(self.kappa())])
            }
            fn push_onto_hyperboloid<R: Rows>(&self, x: &R, v: &R) -> R {
                R::differential($up, [&timed(x)], [&timed(v)], [self.kappa()])
            }
            fn push_back_from_hyperboloid<R: Rows>(&self, x: &R, v: &R) -> R {
                R::differential($down, [&space(x)], [&space(v)], [self.kappa()])
            }
            $($ball)*
        }
    };
}

hyperbolic!([S: MaybeNegative] KappaStereographic<S>, formulas::BallToLorentz, formulas::LorentzToBall, {
    const BALL: bool = true;

    fn onto_ball<R: Rows>(&self, x: &R) -> R {
        x.clone()
    }
    fn push_onto_ball<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn push_back_from_ball<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
});
hyperbolic!([] Klein, formulas::KleinToLorentz, formulas::LorentzToKlein, {
    fn push_onto_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::PushKleinToBall, [x, v], [&x.constant(self.kappa())])
    }
    fn push_back_from_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::PushBallToKlein, [x, v], [&x.constant(self.kappa())])
    }
});
hyperbolic!([] HalfSpace, formulas::HalfSpaceToLorentz, formulas::LorentzToHalfSpace, {
    fn push_onto_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        R::vector(formulas::PushHalfSpaceToBall, [x, v], [&x.constant(self.kappa())])
    }
    fn push_back_from_ball<R: Rows>(&self, x: &R, v: &R) -> R {
        let kappa = x.constant(self.kappa());
        let lambda = R::scalar(stereographic::formulas::Lambda, [x], [&kappa]);
        R::vector(formulas::PushBallToHalfSpace, [x, v], [&kappa, &lambda])
    }
});

impl<S: MaybePositive> Isometric<Sphere> for KappaStereographic<S> {
    #[track_caller]
    fn counterpart(&self) -> Sphere {
        convertible(Sphere::try_new(self.kappa()))
    }
    fn convert<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::StereographicToSphere, [&timed(x)], [&x.constant(self.kappa())])
    }
    fn push<R: Rows>(&self, x: &R, v: &R) -> R {
        R::differential(formulas::StereographicToSphere, [&timed(x)], [&timed(v)], [self.kappa()])
    }
}

/// The projection from the pole opposite to the origin. That pole has no image and becomes NaN.
impl<S: MaybePositive> Isometric<KappaStereographic<S>> for Sphere {
    fn counterpart(&self) -> KappaStereographic<S> {
        convertible(KappaStereographic::try_new(self.kappa()))
    }
    fn convert<R: Rows>(&self, x: &R) -> R {
        space(&R::vector(formulas::SphereToStereographic, [x], [&x.constant(self.kappa())]))
    }
    fn push<R: Rows>(&self, x: &R, v: &R) -> R {
        space(&R::differential(formulas::SphereToStereographic, [x], [v], [self.kappa()]))
    }
}

/// The row formulas of the isometries. Parameter 0 is κ. Rows that go up to the hyperboloid or the
/// sphere have a first coordinate of 0 added; rows that come down lose their first.
pub mod formulas {
    use cotangent_engine::registry::{
        Formula, Range,
        Sample::{Ball, Free},
    };
    use cotangent_engine::{Domain, Invariant, RowFormula, Scalar, Vector, compiled_here, row_formulas};

    use Invariant::{Dot, Margin, Param};
    use Vector::{Input, Time};

    /// Stereographic projection upwards, for either sign of κ: `X_s = 2x/m`, `X₀ = (2/m − 1)/√|κ|`.
    /// For κ < 0 these are the coordinates of law 29, the sum in X₀'s numerator being 2 − m.
    #[inline(always)]
    fn stereographic_up<S: Scalar>(m: S, kappa: S) -> [S; 2] {
        let factor = S::constant(2.0) / m;
        [factor, (factor - S::one()) / kappa.abs().sqrt()]
    }

    /// A formula upwards, from the margin of a point: coefficients of the point and of time.
    macro_rules! up {
        ($(#[$doc:meta])* $formula:ident, $name:literal, $domain:expr,
         |$margin:ident, $kappa:ident| $eval:expr) => {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $formula;

            impl RowFormula<1, 2, 2, 2> for $formula {
                const NAME: &'static str = $name;
                const VECTOR: bool = true;
                const BASIS: [Vector; 2] = [Input(0), Time];
                const INVARIANTS: [Invariant; 2] = [Margin(0), Param(0)];
                const DOMAIN: Domain = $domain;
                compiled_here!(row);
                #[inline(always)]
                fn eval<S: Scalar>([$margin, $kappa]: [S; 2]) -> [S; 2] {
                    $eval
                }
            }
        };
    }

    /// A formula from the hyperboloid's space coordinates into a ball, by `√(1 − κ‖X_s‖²)`, which
    /// is √c X₀.
    macro_rules! down {
        ($(#[$doc:meta])* $formula:ident, $name:literal, |$time:ident| $eval:expr) => {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $formula;

            impl RowFormula<1, 1, 2, 1> for $formula {
                const NAME: &'static str = $name;
                const VECTOR: bool = true;
                const BASIS: [Vector; 1] = [Input(0)];
                const INVARIANTS: [Invariant; 2] = [Dot(0, 0), Param(0)];
                const DOMAIN: Domain = Domain::Ball;
                compiled_here!(row);
                #[inline(always)]
                fn eval<S: Scalar>([xx, kappa]: [S; 2]) -> [S; 1] {
                    let $time = (S::one() - kappa * xx).sqrt();
                    [$eval]
                }
            }
        };
    }

    up! {
        /// From the ball to the hyperboloid: `((2/m − 1)/√c, 2x/m)`.
        BallToLorentz, "isometry.ball_to_lorentz", Domain::Hyperboloid, |m, kappa| stereographic_up(m, kappa)
    }

    up! {
        /// From the stereographic model to the sphere: `((2/m − 1)/√κ, 2x/m)`.
        StereographicToSphere, "isometry.stereographic_to_sphere", Domain::Sphere,
        |m, kappa| stereographic_up(m, kappa)
    }

    up! {
        /// From the Klein model to the hyperboloid: `(1/√c, q)/√e`.
        KleinToLorentz, "isometry.klein_to_lorentz", Domain::Hyperboloid, |e, kappa| {
            let factor = e.sqrt().recip();
            [factor, factor / (-kappa).sqrt()]
        }
    }

    down! {
        /// From the hyperboloid's space coordinates to the ball: `X_s/(1 + √(1 − κ‖X_s‖²))`.
        LorentzToBall, "isometry.lorentz_to_ball", |time| (S::one() + time).recip()
    }

    down! {
        /// From the hyperboloid's space coordinates to the Klein model: `X_s/√(1 − κ‖X_s‖²)`.
        LorentzToKlein, "isometry.lorentz_to_klein", |time| time.recip()
    }

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL and [
            Formula::row(BallToLorentz, Ball, &[NEGATIVE]),
            Formula::row(StereographicToSphere, Free, &[POSITIVE]),
            Formula::row(LorentzToBall, Free, &[NEGATIVE]),
            Formula::row(KleinToLorentz, Ball, &[NEGATIVE]),
            Formula::row(LorentzToKlein, Free, &[NEGATIVE]),
        ];

        /// From the sphere to the stereographic model: `X_s/(1 + √κ X₀)`, for negative X₀
        /// `X_s (1 − √κ X₀)/(κ‖X_s‖²)`.
        pub SphereToStereographic = "isometry.sphere_to_stereographic": vector [Input(0)], metric Space,
            tested in Sphere(1) [POSITIVE];
        xx = Dot(0, 0), first = First(0), kappa = Param(0) => {
            let cosine = kappa.sqrt() * first;
            let beyond = (S::one() - cosine) / (kappa * xx);
            [S::select(cosine.lt(S::zero()), beyond, (S::one() + cosine).recip())]
        };

        /// From the half-space to the hyperboloid: a row (0, t, y) becomes
        /// `(‖t‖² + y² + 1, 2t, ‖t‖² + y² − 1)/(2y√c)`. Points beyond the hyperboloid's range
        /// are settled at its end.
        pub HalfSpaceToLorentz = "isometry.half_space_to_lorentz": vector [Input(0), Height, Time],
            metric Horizontal, domain Hyperboloid, tested in HalfSpace [NEGATIVE];
        tt = Dot(0, 0), y = Last(0), kappa = Param(0) => {
            // Kept finite where the quotients are not, because they are multiplied by 0 later.
            let limit = S::constant(1e300);
            let factor = ((-kappa).sqrt() * y).recip().min(limit);
            let half = S::constant(0.5) * factor;
            let up = (half * (tt - S::one()) + half * y * y).min(limit).max(-limit);
            let time = (half * (tt + S::one()) + half * y * y).min(limit);
            [factor, up, time]
        };

        /// From the hyperboloid's space coordinates (X_t, X_n) to the half-space:
        /// `(X_t, 1/√c)/(X₀ − X_n)`.
        pub LorentzToHalfSpace = "isometry.lorentz_to_half_space": vector [Input(0), Height],
            metric Horizontal, domain HalfSpace, tested in Free [NEGATIVE];
        tt = Dot(0, 0), last = Last(0), kappa = Param(0) => {
            let product = tt - kappa.recip();
            let time = (product + last.square()).sqrt();
            // (X₀ − X_n)(X₀ + X_n) = ‖X_t‖² + 1/c.
            let gap = S::select(S::zero().lt(last), product / (time + last), time - last);
            [gap.recip(), (gap * (-kappa).sqrt()).recip()]
        };

        /// The differential of `2p/(1 + c‖p‖²)`, from the ball to the Klein model, at p along v:
        /// `a v + κ⟨p, v⟩a² p`, a = 2/(2 − m).
        pub PushBallToKlein = "isometry.push_ball_to_klein": vector [Input(0), Input(1)],
            tested in Ball [NEGATIVE];
        m = Margin(0), pv = Dot(0, 1), kappa = Param(0) => {
            let two = S::constant(2.0);
            let a = two / (two - m);
            [kappa * pv * a.square(), a]
        };

        /// The differential of `q/(1 + r)`, r = √(1 − c‖q‖²), from the Klein model to the ball, at q
        /// along v: `b v − κ⟨q, v⟩b²/r q`, b = 1/(1 + r).
        pub PushKleinToBall = "isometry.push_klein_to_ball": vector [Input(0), Input(1)],
            tested in Ball [NEGATIVE];
        m = Margin(0), qv = Dot(0, 1), kappa = Param(0) => {
            let r = m.sqrt();
            let b = (S::one() + r).recip();
            [-kappa * qv * b.square() / r, b]
        };

        /// The differential of the inversion that takes the ball to the half-space, at p = (p_t, p_n) along
        /// v, parameter 1 = λ: with u = √c p, g = 1 − u_n = (m + ‖u_t‖²)/(1 + u_n), m = 2/λ, and
        /// D = ‖u_t‖² + g² the squared distance from the point that goes to infinity,
        ///
        /// ```text
        /// (2√c/D) (v_t − k u_t, −(v_n (‖u_t‖² − g²) + 2g ⟨u_t, v_t⟩)/D),
        /// k = 2 (⟨u_t, v_t⟩ − g v_n)/D
        /// ```
        pub PushBallToHalfSpace = "isometry.push_ball_to_half_space": vector [Input(0), Input(1), Height],
            metric Horizontal, tested in Ball [NEGATIVE, Range(2.0, 4.0)];
        tt = Dot(0, 0), tv = Dot(0, 1), n = Last(0), v = Last(1), kappa = Param(0), lambda = Param(1) => {
            let (two, s) = (S::constant(2.0), (-kappa).sqrt());
            let (tt, tv, n) = (-kappa * tt, s * tv, s * n);
            // Above the origin 1 − n cancels.
            let above = (two / lambda + tt) / (S::one() + n.abs());
            let g = S::select(S::zero().lt(n), above, S::one() - n);
            let r = (tt + g.square()).recip();
            let (k, f) = (two * (tv - g * v) * r, two * s * r);
            [-f * k * s, f, -f * r * (v * (tt - g.square()) + two * g * tv)]
        };

        /// The differential of the same inversion back, at x = (t, y) along v: with g = y + 1
        /// and D = ‖t‖² + g²,
        ///
        /// ```text
        /// (2/√c D) (v_t − k t, (v_n (g² − ‖t‖²) + 2g ⟨t, v_t⟩)/D),
        /// k = 2 (⟨t, v_t⟩ + g v_n)/D
        /// ```
        pub PushHalfSpaceToBall = "isometry.push_half_space_to_ball": vector [Input(0), Input(1), Height],
            metric Horizontal, tested in HalfSpace [NEGATIVE];
        tt = Dot(0, 0), tv = Dot(0, 1), y = Last(0), v = Last(1), kappa = Param(0) => {
            let (two, q) = (S::constant(2.0), (y + S::one()).recip());
            // In units of g: its square may overflow.
            let (tt, tv) = (tt * q * q, tv * q);
            let r = (S::one() + tt).recip();
            let (k, f) = (two * (tv + v) * q * r, two * q * q * r / (-kappa).sqrt());
            [-f * k, f, f * (v * (S::one() - tt) + two * tv) * r]
        };
    }

    const NEGATIVE: Range = Range(-1.5, -0.5);
    const POSITIVE: Range = Range(0.4, 1.6);
}

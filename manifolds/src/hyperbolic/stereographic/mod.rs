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

mod angle;
mod busemann;
mod curved;
pub mod formulas;
mod gyroplane;
mod gyrovector;
mod matvec;
mod ranges;
mod step;

use std::f64::consts::PI;
use std::marker::PhantomData;

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row, Rows, update_rows};

use crate::distance_key::DistanceKey;
use crate::laws::lawful::{KAPPAS, Lawful, family, length};
use crate::manifold::{ConstantCurvature, CurvatureError, Manifold, OffManifold, at_least_one, existing};
use crate::module::constant;
use crate::steps::{Motion, Moving, Rule, Steps, composed};
pub use curved::Curved;
pub use matvec::MatVec;

/// The κ-stereographic model of the space of constant sectional curvature `kappa`, metric
/// `λ_x² ⟨u, v⟩` with λ_x = 2/(1 + κ‖x‖²): [`PoincareBall`] for κ < 0, [`ProjectedSphere`] for
/// κ > 0, [`Stereographic`] for any κ, which includes flat space. S says which.
///
/// For κ < 0 its points are those with ‖x‖ < 1/√-κ. As κ → 0, `dist` tends to `2‖x − y‖`.
#[derive(Clone, Copy, PartialEq)]
pub struct KappaStereographic<S: Sign> {
    kappa: f64,
    sign: PhantomData<S>,
}

/// The κ-stereographic model of any curvature.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Stereographic};
/// let (o, x) = (Row::from([0.0, 0.0]), Row::from([0.5, 0.0]));
/// assert_eq!(Stereographic::new(0.0).dist(&o, &x), 1.0); // 2‖x‖
/// assert!((Stereographic::new(-1.0).dist(&o, &x) - 3.0_f64.ln()).abs() < 1e-15);
/// ```
pub type Stereographic = KappaStereographic<AnySign>;

/// The Poincaré ball: the κ-stereographic model of negative curvature.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let (o, x) = (ball.origin::<f64>(2), Row::from([0.5, 0.0]));
/// assert!((ball.dist(&o, &x) - 3.0_f64.ln()).abs() < 1e-15);
/// let error = PoincareBall::try_new(1.0).unwrap_err();
/// assert_eq!(error.to_string(), "the Poincaré ball needs negative curvature, not kappa = 1");
/// ```
pub type PoincareBall = KappaStereographic<Negative>;

/// The sphere, projected from a pole: the κ-stereographic model of positive curvature.
pub type ProjectedSphere = KappaStereographic<Positive>;

/// The sign that the curvature of a κ-stereographic model must have.
pub trait Sign: Copy + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The type's name.
    const TYPE: &'static str;
    /// The model's [`NAME`](Manifold::NAME).
    const NAME: &'static str;
    /// The model's [`TITLE`](Manifold::TITLE).
    const TITLE: &'static str;
    /// What the curvature must be, in messages: `"negative"`.
    const NEEDS: &'static str;

    /// Whether a finite `kappa` has this sign.
    fn allows(kappa: f64) -> bool;
}

macro_rules! signs {
    ($(
        $(#[$doc:meta])*
        $sign:ident, $type:literal, $name:literal, $title:literal, $needs:literal,
        |$kappa:ident| $allows:expr;
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum $sign {}

        impl Sign for $sign {
            const TYPE: &'static str = $type;
            const NAME: &'static str = $name;
            const TITLE: &'static str = $title;
            const NEEDS: &'static str = $needs;
            fn allows($kappa: f64) -> bool {
                $allows
            }
        }
    )* };
}
signs! {
    /// Any curvature.
    AnySign, "Stereographic", "stereographic", "the stereographic model", "finite", |_kappa| true;
    /// Negative curvature.
    Negative, "PoincareBall", "poincare_ball", "the Poincaré ball", "negative", |kappa| kappa < 0.0;
    /// Positive curvature.
    Positive, "ProjectedSphere", "projected_sphere", "the projected sphere", "positive", |kappa| kappa > 0.0;
}

/// Signs with which the model can be hyperbolic space.
pub trait MaybeNegative: Sign {}
impl MaybeNegative for AnySign {}
impl MaybeNegative for Negative {}

/// Signs with which the model can be a sphere.
pub trait MaybePositive: Sign {}
impl MaybePositive for AnySign {}
impl MaybePositive for Positive {}

impl<S: Sign> std::fmt::Debug for KappaStereographic<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(S::TYPE).field("kappa", &self.kappa).finish()
    }
}

impl<S: Sign> KappaStereographic<S> {
    /// The model of the given sectional curvature.
    ///
    /// # Panics
    /// If `kappa` is not finite, or has another sign than the model. For a curvature that a user chooses,
    /// see [`try_new`](Self::try_new).
    #[track_caller]
    pub fn new(kappa: f64) -> Self {
        existing(Self::try_new(kappa))
    }

    /// The model of the given sectional curvature.
    ///
    /// # Errors
    /// If `kappa` is not finite, or has another sign than the model.
    pub fn try_new(kappa: f64) -> Result<Self, CurvatureError> {
        if kappa.is_finite() && S::allows(kappa) {
            return Ok(KappaStereographic { kappa, sign: PhantomData });
        }
        Err(CurvatureError { manifold: S::TITLE, needs: S::NEEDS, kappa })
    }

    /// The operations at this curvature, for rows of the same level as these.
    fn curved<R: Rows>(&self, rows: &R) -> Curved<R> {
        Curved::new(rows.constant(self.kappa))
    }

    /// Möbius subtraction x ⊖ y: see [`Curved::sub`].
    pub fn sub<R: Rows>(&self, x: &R, y: &R) -> R {
        self.curved(x).sub(x, y)
    }

    /// The gyrovector inverse ⊖x: see [`Curved::neg`].
    pub fn neg<R: Rows>(&self, x: &R) -> R {
        self.curved(x).neg(x)
    }

    /// A function of tangent vectors at the origin, between points: see [`Curved::map`].
    pub fn map<R: Rows>(&self, x: &R, f: impl FnOnce(&R) -> R) -> R {
        self.curved(x).map(x, f)
    }

    /// Möbius matrix multiplication M ⊗ x: see [`Curved::matvec`].
    #[track_caller]
    pub fn matvec<R: MatVec>(&self, m: &R::Matrix, x: &R) -> R {
        self.curved(x).matvec(m, x)
    }
}

impl<S: Sign> ConstantCurvature for KappaStereographic<S> {
    fn kappa(&self) -> f64 {
        self.kappa
    }
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        Some(DistanceKey::new(y, margin(y, self.kappa)))
    }
}

impl<S: Sign> Manifold for KappaStereographic<S> {
    const NAME: &'static str = S::NAME;
    const TITLE: &'static str = S::TITLE;

    #[track_caller]
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        at_least_one(Self::TITLE, dim);
        Row::from(vec![T::zero(); dim].as_slice())
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        self.curved(x).dist(x, y)
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        self.curved(x).inner(x, u, v)
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        self.curved(x).norm(x, v)
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        self.curved(x).exp(x, v)
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        self.curved(x).log(x, y)
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        self.curved(x).transport(x, y, v)
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        self.curved(x).egrad_to_rgrad(x, g)
    }
    fn project_tangent<R: Rows>(&self, _x: &R, v: &R) -> R {
        v.clone()
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        self.curved(x).project(x)
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        self.curved(x).geodesic(x, y, t)
    }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, 1)?;
        let m = margin(x, self.kappa);
        if self.kappa >= 0.0 && !m.is_finite() {
            let by = x.iter().fold(0.0_f64, |m, c| m.max(c.to_f64().abs()));
            return Err(OffManifold {
                manifold: Self::TITLE,
                condition: "coordinates whose squares are numbers",
                by,
            });
        }
        OffManifold::unless_inside(Self::TITLE, m)
    }
}

impl<S: Sign> Steps for KappaStereographic<S> {
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        self.curved(x).descend(x, g, rate)
    }
    fn descend_rows<T: Float>(
        &self,
        points: &mut [T],
        gradients: &[T],
        width: usize,
        rate: f64,
    ) -> Result<(), usize> {
        update_rows(&step::Descent { kappa: self.kappa, rate }, [points], [gradients], [], width)
    }
    fn step<U: Rule<K>, T: Float, const K: usize>(
        &self,
        rule: &U,
        motion: Motion,
        rows: Moving<'_, T, K>,
    ) -> Result<(), usize> {
        // `flow` carries the momentum along its own geodesic only: not with lookahead or decay.
        if motion.lookahead || motion.decay != 0.0 {
            return composed(self, rule, motion, rows);
        }
        let step = step::Step { rule, kappa: self.kappa };
        update_rows(&step, [rows.points, rows.momenta], [rows.gradients], rows.moments, rows.width)
    }
}

impl<S: Sign> Lawful for KappaStereographic<S> {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    /// In the ball, as far as the format reaches.
    fn radius<T: Float>(&self) -> f64 {
        let kappa = self.kappa();
        if kappa < 0.0 {
            (2.0 / T::EPSILON).ln() / (-kappa).sqrt()
        } else if kappa > 0.0 {
            0.45 * PI / kappa.sqrt()
        } else {
            10.0
        }
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        2.0 * length(x) / margin(x, self.kappa())
    }
}

family!(Stereographic: KAPPAS.map(Stereographic::new), [
    (Stereographic::new(-1.0), 3, 3.0),
    (Stereographic::new(-0.37), 4, 3.0),
    (Stereographic::new(0.0), 3, 3.0),
    (Stereographic::new(0.6), 3, 1.5)
]);

constant! { [S: Sign] KappaStereographic<S>; }

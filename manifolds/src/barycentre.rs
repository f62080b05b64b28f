//! Weighted barycentres: the gyromidpoint of the κ-stereographic model, which is the Einstein midpoint
//! of the Klein model and the normalised centroid of the hyperboloid, and for κ > 0 the normalised mean
//! on the sphere.
//!
//! Ungar 2010; Law et al. 2019, eq. 11; Bachmann et al. 2020, eq. 6: with λ the conformal factor,
//!
//! ```text
//! m = ½ ⊗ Σ wᵢλᵢxᵢ / Σ wᵢ(λᵢ − 1)
//! ```
//!
//! It minimises `Σ wᵢ (cosh(√-κ d(m, xᵢ)) − 1)`, not the squared distances: for those see the
//! Fréchet mean. There are two forms of it:
//!
//! - **From a sum.** `Σ wᵢ (λᵢxᵢ, λᵢ − 1)` determines m, so an aggregation of many sets
//!   (attention) is a matrix product of weights and [features](Barycentre::barycentre_features), and [one
//!   formula](Barycentre::barycentre_from_sum). Up to scale the sum (s, t) is a point of Minkowski
//!   space, whose norm `ρ² = t² + κ‖s‖²` cancels far from the origin: at radius r the error is a
//!   distance of `u cosh² √-κ r`.
//! - **Centred.** In terms of the shares `bᵢ = wᵢλᵢ/Σ wλ`, the mean `x̄ = Σ bᵢxᵢ`, the
//!   variance `V = Σ bᵢ‖xᵢ − x̄‖²` and `g = Σ wᵢ/Σ wλ`
//!
//!   ```text
//!   m = x̄ / (1 − g + √(g² − κV))
//!   ```
//!
//!   where nothing cancels for κ ≤ 0: [`Barycentre::barycentre`]. Its error is a few `u λ_m`, an ulp of
//!   the coordinates, at any radius.

use cotangent_engine::formulas::{Div, Mul, Square};
use cotangent_engine::{MapFormula, Rows};

use crate::euclidean::{self, Euclidean};
use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::isometry::{Hyperbolic, Isometric};
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{self, KappaStereographic, Sign};
use crate::manifold::{ConstantCurvature, Manifold, Scale};
use crate::product::Product;
use crate::sets::Sets;
use crate::sphere::Sphere;

/// A manifold with a weighted barycentre in closed form.
///
/// Weights are not negative. A set whose weights are all 0 has the origin as its barycentre; on the
/// hyperboloid and in the ball, so has a weighted sum of features whose weights sum to less than about 1e-30.
/// (On devices without `f64` the square of a sum underflows from about 1e-19 on, and the result is wrong.) On
/// a sphere the barycentre of a set is not defined if the points balance (antipodal points of equal weights).
///
/// ```
/// use cotangent_engine::{Row, Tensor};
/// use cotangent_manifolds::{Barycentre, Manifold, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let points = Tensor::new([2, 1], vec![0.0_f64, 0.8]); // one set of two points: [n, d]
/// let middle = ball.barycentre(&points, &Tensor::new([2], vec![1.0, 1.0])); // [d]
/// assert!((middle.data()[0] - 0.5).abs() < 1e-15); // 0.5 ⊕ 0.5 = 0.8
///
/// // As attention aggregates: weights of three sets [3, n], features [n, d + 1].
/// use cotangent_manifolds::Sets;
/// let weights = Tensor::new([3, 2], vec![1.0, 1.0, 1.0, 0.0, 0.25, 0.75]);
/// let sums = Tensor::combine(&weights, &ball.barycentre_features(&points)); // [3, d + 1]
/// let means = ball.barycentre_from_sum(&sums); // [3, d]
/// assert!((means.data()[0] - 0.5).abs() < 1e-15 && means.data()[1] == 0.0);
/// ```
pub trait Barycentre: Manifold {
    /// The barycentre of each set, accurate at any radius: points `[…, n, ambient]` and weights `[…, n]`
    /// to `[…, ambient]`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R;

    /// The features that are summed with weights: rows of width `dimension + 1`; for a product, those of
    /// each factor.
    fn barycentre_features<R: Rows>(&self, points: &R) -> R;

    /// The barycentre from a weighted sum of [features](Self::barycentre_features), or a positive multiple
    /// of it, to `[…, ambient]`.
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R;
}

impl<S: Sign> Barycentre for KappaStereographic<S> {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        barycentre(points, weights, &points.constant(self.kappa()))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        features(points, &points.constant(self.kappa()))
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        from_sum(sum, &sum.constant(self.kappa()))
    }
}

/// The weighted mean.
impl Barycentre for Euclidean {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        R::combine(&shares::<R>(weights), points)
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        features(points, &points.constant(0.0))
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        from_sum(sum, &sum.constant(0.0))
    }
}

/// The weighted sum of points, normalised: `X̄/(√-κ ‖X̄‖_L)`. Law et al. 2019, eq. 11.
///
/// The norm cancels far out. With Y the point of the hyperboloid that has the space coordinates of the
/// mean X̄, every term of
/// `κ⟨X̄, X̄⟩ = 1 − κ(Σ bᵢ⟨Xᵢ − Y, Xᵢ − Y⟩ + (X̄₀ − Y₀)²)` is positive.
impl Barycentre for Lorentz {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        let kappa = points.constant(self.kappa());
        let shares = shares::<R>(weights);
        let mean = R::combine(&shares, points);
        let foot = self.project(&mean);
        let chords = R::map(formulas::SquaredChord, [&self.dist(points, &foot.row_beside()), &kappa]);
        let chord = R::total(&R::map(Mul, [&shares, &chords]));
        let height = R::scalar(euclidean::formulas::Dist, [&mean, &foot], []);
        let scale = R::map(formulas::InverseNorm, [&chord, &height, &kappa]);
        self.project(&R::vector(Scale, [&mean], [&scale]))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        points.clone()
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        R::vector(formulas::OntoHyperboloid, [sum], [&sum.constant(self.kappa())])
    }
}

/// The other hyperbolic models form their sums on the hyperboloid.
macro_rules! of_the_hyperboloid {
    ($(#[$doc:meta])* $model:ty, { $barycentre:item }) => {
        $(#[$doc])*
        impl Barycentre for $model {
            #[track_caller]
            $barycentre
            fn barycentre_features<R: Rows>(&self, points: &R) -> R {
                self.onto_hyperboloid(points)
            }
            fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
                let hyperboloid: Lorentz = self.counterpart();
                self.back_from_hyperboloid(&hyperboloid.barycentre_from_sum(sum))
            }
        }
    };
}

of_the_hyperboloid! {
    /// Einstein's midpoint, the mean with weights wᵢγᵢ: the hyperboloid's centroid.
    Klein, {
        fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
            let hyperboloid: Lorentz = self.counterpart();
            self.back_from_hyperboloid(&hyperboloid.barycentre(&self.onto_hyperboloid(points), weights))
        }
    }
}

of_the_hyperboloid! {
    /// The same point, computed without the hyperboloid, whose range is half as many decades. For points
    /// (tᵢ, yᵢ) with shares `bᵢ = (wᵢ/yᵢ)/Σ w/y` it is `t̄ = Σ bᵢtᵢ` at the height
    /// `√Σ bᵢ(‖tᵢ − t̄‖² + yᵢ²)`, in which nothing cancels. Its gradients in `f32` need
    /// heights whose squares `f32` can represent, between 1e-18 and 1e18.
    HalfSpace, {
        fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
            let shares = shares::<R>(weights);
            let parts = R::map(Div, [&shares, &R::scalar(formulas::Altitude, [points], [])]);
            let total = R::beside(&R::total(&parts));
            let mean = R::combine(&R::map(formulas::Share, [&parts, &total]), points);
            let foot = R::vector(formulas::AtHeight, [&mean], [&mean.constant(0.0)]);
            // √b times the distance is √w times this reach. Squares of reaches may overflow.
            let reaches = R::scalar(formulas::Reach, [points, &foot.row_beside()], [&total]);
            let reach = R::total(&R::map(Mul, [&shares, &reaches]));
            let squares = R::map(formulas::SquareInParts, [&shares, &reaches, &R::beside(&reach)]);
            let height = R::map(formulas::RootMeanSquare, [&reach, &R::total(&squares)]);
            R::vector(formulas::AtHeight, [&foot], [&height])
        }
    }
}

/// The weighted sum of points, scaled to the sphere.
impl Barycentre for Sphere {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        self.barycentre_from_sum(&R::combine(&shares::<R>(weights), points))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        points.clone()
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        R::vector(formulas::OntoSphere, [sum], [&sum.constant(self.kappa())])
    }
}

/// Factor by factor; features lie side by side.
impl<A: Barycentre, B: Barycentre> Barycentre for Product<A, B> {
    #[track_caller]
    fn barycentre<R: Sets>(&self, points: &R, weights: &R::Scalar) -> R {
        let (left, right) = self.parts(points);
        R::concat(&self.left().barycentre(&left, weights), &self.right().barycentre(&right, weights))
    }
    fn barycentre_features<R: Rows>(&self, points: &R) -> R {
        let (left, right) = self.parts(points);
        R::concat(&self.left().barycentre_features(&left), &self.right().barycentre_features(&right))
    }
    fn barycentre_from_sum<R: Rows>(&self, sum: &R) -> R {
        let origin = self.left().origin::<f64>(self.left().dimension(self.split()));
        let split = self.left().barycentre_features(&origin).len();
        let (left, right) = (sum.columns(0..split), sum.columns(split..sum.width()));
        R::concat(&self.left().barycentre_from_sum(&left), &self.right().barycentre_from_sum(&right))
    }
}

/// Weights divided by their sum.
#[track_caller]
fn shares<R: Sets>(weights: &R::Scalar) -> R::Scalar {
    R::map(formulas::Share, [weights, &R::beside(&R::total(weights))])
}

/// [`Barycentre::barycentre`] of the κ-stereographic model, for a curvature that may be learned: points
/// `[…, n, d]`, weights `[…, n]`. Smooth through κ = 0.
#[track_caller]
pub fn barycentre<R: Sets>(points: &R, weights: &R::Scalar, kappa: &R::Scalar) -> R {
    let weighted = R::map(Mul, [weights, &R::scalar(stereographic::formulas::Lambda, [points], [kappa])]);
    let total = R::total(&weighted);
    let shares = R::map(formulas::Share, [&weighted, &R::beside(&total)]);
    let mean = R::combine(&shares, points);
    let gap = R::map(formulas::Share, [&R::total(weights), &total]);
    let distances = R::scalar(euclidean::formulas::Dist, [points, &mean.row_beside()], []);
    let variance = R::total(&R::map(Mul, [&shares, &R::map(Square, [&distances])]));
    R::vector(formulas::FromMean, [&mean], [kappa, &gap, &variance])
}

/// [`Barycentre::barycentre_features`] of the κ-stereographic model, for a curvature that may be
/// learned: `(λx, λ − 1)`.
pub fn features<R: Rows>(points: &R, kappa: &R::Scalar) -> R {
    R::vector(formulas::Features, [&R::concat(points, &points.zeros(1))], [kappa])
}

/// [`Barycentre::barycentre_from_sum`] of the κ-stereographic model, for a curvature that may be learned.
pub fn from_sum<R: Rows>(sum: &R, kappa: &R::Scalar) -> R {
    let row = R::vector(formulas::FromSum, [sum], [kappa]);
    R::vector(stereographic::formulas::Project, [&row.columns(0..sum.width() - 1)], [kappa])
}

/// The formulas of barycentres. Parameter 0 of row formulas is κ.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range};
    use cotangent_engine::scalar::chosen;
    use cotangent_engine::{Scalar, row_formulas};

    use super::MapFormula;

    /// A sum of this size or less counts as a sum of no weights. Its gradient has its inverse as a
    /// factor, and could overflow in `f32`. Weights that are not normalised make such sums.
    const LEAST: f64 = 1e-30;

    /// `1/√q`; 1 where q is not positive.
    #[inline(always)]
    fn inverse_root<S: Scalar>(q: S) -> S {
        chosen(q, q, S::select(S::zero().lt(q), q, S::one()).sqrt().recip())
    }

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL and [
            Formula::map(Share, &[Range(0.1, 3.0), Range(0.3, 3.0)]),
            Formula::map(SquareInParts, &[Range(0.1, 3.0), Range(0.1, 3.0), Range(0.3, 3.0)]),
            Formula::map(RootMeanSquare, &[Range(0.1, 3.0), Range(1.0, 3.0)]),
            Formula::map(SquaredChord, &[Range(0.1, 3.0), NEGATIVE]),
            Formula::map(InverseNorm, &[Range(0.1, 3.0), Range(0.1, 3.0), NEGATIVE]),
        ];

        /// `x/√(κ⟨x, x⟩_L)`, the multiple of x on the hyperboloid. Where x is no point's multiple, by
        /// rounding, its space coordinates are kept. A sum of no weights becomes the origin.
        pub OntoHyperboloid = "barycentre.onto_hyperboloid": vector [Input(0)], metric Minkowski,
            domain Hyperboloid, tested in Hyperboloid(1) [NEGATIVE];
        time = First(0), xx = Dot(0, 0), kappa = Param(0) => {
            [S::select(time.lt(S::constant(LEAST)), S::zero(), inverse_root(kappa * xx))]
        };

        /// `x/√(κ⟨x, x⟩)`, the multiple of x on the sphere. 0 is kept.
        pub OntoSphere = "barycentre.onto_sphere": vector [Input(0)], domain Sphere,
            tested in Free [Range(0.5, 1.5)];
        xx = Dot(0, 0), kappa = Param(0) => [inverse_root(kappa * xx)];

        /// `(λx, λ − 1)` from (x, 0).
        pub Features = "barycentre.features": vector [Input(0), Height], tested in Ball [KAPPA];
        m = Margin(0) => {
            let two = S::constant(2.0);
            [two / m, (two - m) / m]
        };

        // For κ < 0 the sum would have to be timelike.
        /// `(s/(t + ρ), 0)` from a weighted sum (s, t) of features, `ρ² = t² + κ‖s‖²`. A sum of no
        /// weights becomes the origin.
        pub FromSum = "barycentre.from_sum": vector [Input(0), Height], metric Horizontal,
            tested in HalfSpace [Range(0.1, 0.8)];
        ss = Dot(0, 0), t = Last(0), kappa = Param(0) => {
            let curved = kappa * ss;
            let rho = (t.square() + curved).max(S::zero()).sqrt();
            let none = (t.square() + curved.abs()).lt(S::constant(LEAST * LEAST));
            [S::select(none, S::zero(), lower(t, rho, curved)), S::zero()]
        };

        /// `x̄/(1 − g + √(g² − κV))`, g = parameter 1, V = parameter 2.
        pub FromMean = "barycentre.from_mean": vector [Input(0)], domain Ball,
            tested in Ball [KAPPA, Range(0.3, 0.5), Range(0.01, 0.09)];
        xx = Dot(0, 0), kappa = Param(0), g = Param(1), variance = Param(2) => {
            let rho = (g.square() - kappa * variance).max(S::zero()).sqrt();
            [lower(S::one() - g, rho, kappa * xx)]
        };

        /// The height of a point of the half-space.
        pub Altitude = "barycentre.altitude": number [Input(0)], tested in HalfSpace [];
        y = Last(0) => y;

        /// A row with parameter 0 as its last coordinate.
        pub AtHeight = "barycentre.at_height": vector [Input(0), Height], metric Horizontal,
            tested in HalfSpace [Range(0.3, 3.0)];
        height = Param(0) => [S::one(), height];

        /// `‖x − f‖/√(y s)` of a point x at height y and the mean's foot f, s = parameter 0; 0 where
        /// s is 0.
        pub Reach = "barycentre.reach": number [Difference(1, 0)], tested in HalfSpace [Range(0.3, 3.0)];
        length = Along(0, 0), y = Last(0), sum = Param(0) => {
            let some = S::zero().lt(sum);
            let root = y.sqrt() * S::select(some, sum, S::one()).sqrt();
            chosen(sum, sum, S::select(some, length / root, S::zero()))
        };
    }

    /// `1/(t + ρ)`, given `κs² = ρ² − t²`; for t < 0, where that cancels, `(ρ − t)/κs²`. 1 where
    /// all are 0.
    #[inline(always)]
    fn lower<S: Scalar>(t: S, rho: S, curved: S) -> S {
        let sum = t + rho;
        let upper = S::select(S::zero().lt(sum), sum, S::one()).recip();
        S::select(t.lt(S::zero()), (rho - t) / curved, upper)
    }

    /// `x/y`; 0 where y is 0, for a set whose weights are all 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Share;

    impl MapFormula<2> for Share {
        const NAME: &'static str = "barycentre.share";
        #[inline(always)]
        fn eval<S: Scalar>([x, y]: [S; 2]) -> S {
            let some = S::zero().lt(y);
            chosen(y, y, S::select(some, x / S::select(some, y, S::one()), S::zero()))
        }
    }

    /// `w (x/y)²`; 0 where y is 0. Finite also where a point of weight 0 is farther than all others.
    #[derive(Clone, Copy, Debug)]
    pub struct SquareInParts;

    impl MapFormula<3> for SquareInParts {
        const NAME: &'static str = "barycentre.square_in_parts";
        #[inline(always)]
        fn eval<S: Scalar>([w, x, y]: [S; 3]) -> S {
            let [limit, root] = if S::EPSILON < 1e-10 { [1e300, 1e150] } else { [1e38, 1e18] };
            let limit = S::select(S::zero().lt(w), S::constant(limit), S::constant(root));
            let some = S::zero().lt(y);
            let part = (x / S::select(some, y, S::one())).min(limit);
            chosen(y, y, S::select(some, (w * part) * part, S::zero()))
        }
    }

    /// `x √q`; 1, the height of the origin, where x is 0.
    #[derive(Clone, Copy, Debug)]
    pub struct RootMeanSquare;

    impl MapFormula<2> for RootMeanSquare {
        const NAME: &'static str = "barycentre.root_mean_square";
        #[inline(always)]
        fn eval<S: Scalar>([x, q]: [S; 2]) -> S {
            chosen(x, x, S::select(S::zero().lt(x), x * q.sqrt(), S::one()))
        }
    }

    /// `((2/√-κ) sinh(√-κ d/2))²`: the squared chord of points of the hyperboloid at distance d.
    #[derive(Clone, Copy, Debug)]
    pub struct SquaredChord;

    impl MapFormula<2> for SquaredChord {
        const NAME: &'static str = "barycentre.squared_chord";
        #[inline(always)]
        fn eval<S: Scalar>([d, kappa]: [S; 2]) -> S {
            (d * (S::constant(0.25) * kappa * d.square()).sinc()).square()
        }
    }

    /// `1/√(1 − κ(h + z²))`.
    #[derive(Clone, Copy, Debug)]
    pub struct InverseNorm;

    impl MapFormula<3> for InverseNorm {
        const NAME: &'static str = "barycentre.inverse_norm";
        #[inline(always)]
        fn eval<S: Scalar>([h, z, kappa]: [S; 3]) -> S {
            (S::one() - kappa * (h + z.square())).sqrt().recip()
        }
    }

    const KAPPA: Range = Range(-1.5, 0.8);
    const NEGATIVE: Range = Range(-1.5, -0.5);
}

//! The wrapped normal distribution. Nagano, Yamaguchi, Fujita, Koyama 2019, algorithms 1 and 2.
//!
//! A normally distributed vector v of the tangent space at the origin, in coordinates that are
//! orthonormal for the *metric*, is carried to the mean μ along the geodesic; then the exponential map
//! is applied. With d = d(μ, y) the density with respect to the Riemannian volume, in n dimensions, is
//! exactly
//!
//! ```text
//! ln p(y) = ln N(P_{μ→0} log_μ y; 0, Σ) − (n − 1) ln (sinh(√-κ d)/(√-κ d))
//! ```
//!
//! with sin for κ > 0 and without the second term for κ = 0. For κ > 0 it is the density of the vectors
//! that do not overshoot the antipode of the mean, d = π/√κ: use it where the scale is well below that.
//! On a product the second term is the sum of those of its factors.

use cotangent_engine::formulas::{Add, Hypot, Sub};
use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, MapFormula, Row, RowFunction, Rows, Scalar, Shape, ShapeError, Tensor};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::euclidean::Euclidean;
use crate::hyperbolic::half_space::{self, HalfSpace};
use crate::hyperbolic::isometry::Hyperbolic;
use crate::hyperbolic::klein::{self, Klein};
use crate::hyperbolic::lorentz::{self, Lorentz};
use crate::hyperbolic::stereographic::{KappaStereographic, Sign};
use crate::manifold::{ConstantCurvature, Manifold, Scale};
use crate::product::Product;
use crate::sphere::Sphere;

/// A manifold with an orthonormal frame of the tangent space at its origin. The frames of two models of
/// one space agree: equal coordinates mean the same vector.
pub trait OriginFrame: Manifold {
    /// The tangent vectors at the origin with these orthonormal coordinates: `[…, dimension]` to
    /// `[…, ambient]`.
    fn frame<R: Rows>(&self, coordinates: &R) -> R;

    /// Orthonormal coordinates of tangent vectors at the origin: `[…, ambient]` to `[…, dimension]`.
    fn in_frame<R: Rows>(&self, tangents: &R) -> R;

    /// The logarithms of points at means, `[…, ambient]`, carried to the origin: their orthonormal
    /// coordinates there, `[…, dimension]`.
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        self.in_frame(&self.transport(means, &self.origins(means), &self.log(means, points)))
    }

    /// The origin, once for each row of points.
    fn origins<R: Rows>(&self, points: &R) -> R {
        self.project(&points.zeros(points.width()))
    }

    /// Two numbers for each point: its distance from the mean, and the logarithm of the Jacobian
    /// determinant of the exponential map at the mean. The determinant compares Riemannian volumes, at
    /// the vector that the map takes to the point.
    fn dist_and_log_volume<R: Rows>(&self, means: &R, points: &R) -> (R::Scalar, R::Scalar);
}

/// `dist_and_log_volume` of a manifold of constant curvature.
macro_rules! log_volume_of_distance {
    () => {
        fn dist_and_log_volume<R: Rows>(&self, means: &R, points: &R) -> (R::Scalar, R::Scalar) {
            let power = self.dimension(points.width()) as f64 - 1.0;
            let [kappa, power] = [self.kappa(), power].map(|value| points.constant(value));
            let distance = self.dist(means, points);
            let volume = R::map(formulas::LogVolume, [&distance, &kappa, &power]);
            (distance, volume)
        }
    };
}

impl OriginFrame for Euclidean {
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        coordinates.clone()
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        tangents.clone()
    }
    log_volume_of_distance!();
}

/// The metric at the origin is λ₀² = 4 times that of the coordinates, whatever the curvature.
impl<S: Sign> OriginFrame for KappaStereographic<S> {
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        R::vector(Scale, [coordinates], [&coordinates.constant(0.5)])
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        R::vector(Scale, [tangents], [&tangents.constant(2.0)])
    }
    log_volume_of_distance!();
}

/// The origin is a pole of the first coordinate, so tangent vectors there have 0 in it.
macro_rules! frame_beside_the_first_coordinate {
    () => {
        fn frame<R: Rows>(&self, coordinates: &R) -> R {
            R::concat(&coordinates.zeros(1), coordinates)
        }
        fn in_frame<R: Rows>(&self, tangents: &R) -> R {
            tangents.columns(1..tangents.width())
        }
    };
}

impl OriginFrame for Lorentz {
    frame_beside_the_first_coordinate!();
    /// A formula of its own, because far out the logarithm's coordinates are much longer than it is.
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        let kappa = means.constant(self.kappa());
        self.in_frame(&R::vector(lorentz::formulas::Centred, [means, points], [&kappa]))
    }
    log_volume_of_distance!();
}

impl OriginFrame for Sphere {
    frame_beside_the_first_coordinate!();
    log_volume_of_distance!();
}

/// The metric at the origin is that of the coordinates.
impl OriginFrame for Klein {
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        coordinates.clone()
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        tangents.clone()
    }
    /// A formula of its own, because far out the logarithm's radial part is lost in the rounding of its
    /// coordinates.
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        R::vector(klein::formulas::Centred, [means, points], [&means.constant(self.kappa())])
    }
    log_volume_of_distance!();
}

/// The metric at the origin, which is at height 1, is 1/c times that of the coordinates.
impl OriginFrame for HalfSpace {
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        R::vector(Scale, [coordinates], [&coordinates.constant((-self.kappa()).sqrt())])
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        R::vector(Scale, [tangents], [&tangents.constant((-self.kappa()).sqrt().recip())])
    }
    /// A formula of its own, because the logarithm is as long as the height, and the storage type may
    /// not hold that.
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        R::vector(half_space::formulas::Centred, [means, points], [&means.constant(self.kappa())])
    }
    fn origins<R: Rows>(&self, points: &R) -> R {
        // The origin of the hyperboloid has space coordinates 0, and its time coordinate is not read.
        self.back_from_hyperboloid(&points.zeros(points.width() + 1))
    }
    log_volume_of_distance!();
}

/// The frames of both factors, side by side.
impl<A: OriginFrame, B: OriginFrame> OriginFrame for Product<A, B> {
    #[track_caller]
    fn frame<R: Rows>(&self, coordinates: &R) -> R {
        let (split, width) = (self.left().dimension(self.split()), coordinates.width());
        assert!(
            split < width,
            "product: {width} coordinates of a tangent vector, of which the left factor alone takes {split}"
        );
        let [left, right] = [0..split, split..width].map(|part| coordinates.columns(part));
        R::concat(&self.left().frame(&left), &self.right().frame(&right))
    }
    fn in_frame<R: Rows>(&self, tangents: &R) -> R {
        let (left, right) = self.parts(tangents);
        R::concat(&self.left().in_frame(&left), &self.right().in_frame(&right))
    }
    fn log_in_frame<R: Rows>(&self, means: &R, points: &R) -> R {
        let ((a, b), (x, y)) = (self.parts(means), self.parts(points));
        R::concat(&self.left().log_in_frame(&a, &x), &self.right().log_in_frame(&b, &y))
    }
    fn origins<R: Rows>(&self, points: &R) -> R {
        let (x, y) = self.parts(points);
        R::concat(&self.left().origins(&x), &self.right().origins(&y))
    }
    fn dist_and_log_volume<R: Rows>(&self, means: &R, points: &R) -> (R::Scalar, R::Scalar) {
        let ((a, b), (x, y)) = (self.parts(means), self.parts(points));
        let (of_left, left) = self.left().dist_and_log_volume(&a, &x);
        let (of_right, right) = self.right().dist_and_log_volume(&b, &y);
        (R::map(Hypot, [&of_left, &of_right]), R::map(Add, [&left, &right]))
    }
}

/// Standard deviations, as Riemannian lengths; positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread<R: Rows> {
    /// The same in all directions: one number for each row, or one for all.
    Isotropic(R::Scalar),
    /// One for each direction of the frame at the origin, carried to the mean: `[…, dimension]`.
    Diagonal(R),
}

/// Wrapped normal distributions, one for each row of means: single rows, tensors or tape variables. The
/// equations are at the head of this file.
///
/// ```
/// use cotangent_engine::{Row, rng};
/// use cotangent_manifolds::{Manifold, Spread, PoincareBall, WrappedNormal};
/// let ball = PoincareBall::new(-1.0);
/// let mean = Row::from([0.5, 0.0]);
/// let normal = WrappedNormal::new(ball, mean.clone(), Spread::Isotropic(0.1));
/// let y = normal.sample(&mut rng::stream(1, 0, 0));
/// assert!(ball.dist(&mean, &y) < 0.5); // five standard deviations
/// let peak = -(2.0 * std::f64::consts::PI * 0.1_f64.powi(2)).ln();
/// assert!((normal.log_density(&mean) - peak).abs() < 1e-15);
/// ```
#[derive(Clone)]
pub struct WrappedNormal<M, R: Rows> {
    manifold: M,
    mean: R,
    spread: Spread<R>,
}

impl<M: OriginFrame, R: Rows> WrappedNormal<M, R> {
    /// The distributions with these means `[…, ambient]`, which are points of the manifold, and spreads.
    pub fn new(manifold: M, mean: R, spread: Spread<R>) -> Self {
        WrappedNormal { manifold, mean, spread }
    }

    /// The manifold.
    pub fn manifold(&self) -> &M {
        &self.manifold
    }

    /// The means.
    pub fn mean(&self) -> &R {
        &self.mean
    }

    /// The spreads.
    pub fn spread(&self) -> &Spread<R> {
        &self.spread
    }

    /// Samples from standard normal noise `[…, dimension]`: points `[…, ambient]`. On a tape they are
    /// differentiable in means and spreads (the reparametrisation of Kingma & Welling 2014).
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn sample_from(&self, noise: &R) -> R {
        let m = &self.manifold;
        let v = match &self.spread {
            Spread::Isotropic(scale) => R::vector(Scale, [noise], [scale]),
            Spread::Diagonal(scales) => R::row_function(Stretch, [noise, scales]),
        };
        let velocity = m.transport(&m.origins(&self.mean), &self.mean, &m.frame(&v));
        m.exp(&self.mean, &velocity)
    }

    /// Logarithm of the density with respect to the Riemannian volume at points `[…, ambient]`: a number
    /// for each. Accurate at any distance from the mean; differentiable in everything. No single
    /// direction leads to the exact antipode of the mean: there a density with a spread for each
    /// direction is undefined, and the result has no meaning.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn log_density(&self, points: &R) -> R::Scalar {
        let m = &self.manifold;
        let n = m.dimension(points.width()) as f64;
        let (distance, log_volume) = m.dist_and_log_volume(&self.mean, points);
        let normal = match &self.spread {
            Spread::Isotropic(scale) => {
                R::map(formulas::IsotropicNormal, [&distance, scale, &points.constant(n)])
            }
            Spread::Diagonal(scales) => {
                R::scalar_function(DiagonalNormal, [&m.log_in_frame(&self.mean, points), scales])
            }
        };
        R::map(Sub, [&normal, &log_volume])
    }
}

impl<M: OriginFrame, T: Float> WrappedNormal<M, Row<T>> {
    /// A sample.
    pub fn sample(&self, rng: &mut Rng) -> Row<T> {
        let dim = self.manifold.dimension(self.mean.len());
        self.sample_from(&Row::from(standard_normal::<T>([dim], rng).data()))
    }
}

/// Standard normal numbers.
pub fn standard_normal<T: Float>(shape: impl Into<Shape>, rng: &mut Rng) -> Tensor<T> {
    Tensor::from_fn(shape, |_| T::nearest(rng.sample(StandardNormal)))
}

/// The common width of two rows, or a message that names both widths.
fn same_width([a, b]: [usize; 2]) -> Result<usize, ShapeError> {
    if a == b { Ok(a) } else { Err(ShapeError::new(format!("{a} coordinates and {b} standard deviations"))) }
}

/// The product of two rows, element by element.
struct Stretch;

impl RowFunction<2> for Stretch {
    fn name(&self) -> &'static str {
        "wrapped_normal.stretch"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        same_width(widths)
    }
    fn eval<T: Float>(&self, [v, scales]: [&[f64]; 2], out: &mut [f64]) {
        for ((out, v), scale) in out.iter_mut().zip(v).zip(scales) {
            *out = v * scale;
        }
    }
    fn pullback(&self, [v, scales]: [&[f64]; 2], _out: &[f64], g: &[f64], [dv, ds]: [&mut [f64]; 2]) {
        for i in 0..g.len() {
            (dv[i], ds[i]) = (g[i] * scales[i], g[i] * v[i]);
        }
    }
}

/// `ln √(2π)`.
const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_8;

/// The logarithm of a normal density of independent coordinates, given a row of these and a row of
/// standard deviations.
struct DiagonalNormal;

impl RowFunction<2> for DiagonalNormal {
    fn name(&self) -> &'static str {
        "wrapped_normal.diagonal_normal"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        same_width(widths).map(|_| 1)
    }
    fn eval<T: Float>(&self, [v, scales]: [&[f64]; 2], out: &mut [f64]) {
        let one = |(v, s): (&f64, &f64)| -0.5 * (v / s).powi(2) - s.ln() - LN_SQRT_TAU;
        out[0] = v.iter().zip(scales).map(one).sum();
    }
    fn pullback(&self, [v, scales]: [&[f64]; 2], _out: &[f64], g: &[f64], [dv, ds]: [&mut [f64]; 2]) {
        for i in 0..v.len() {
            let z = v[i] / scales[i];
            (dv[i], ds[i]) = (-g[0] * z / scales[i], g[0] * (z * z - 1.0) / scales[i]);
        }
    }
}

/// The formulas of the distribution.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range};

    use super::{LN_SQRT_TAU, MapFormula, Scalar};

    /// `ln sinc(s)`, that is `ln (sinh(r)/r)` with `r = √-s` for s < 0, without overflow.
    #[inline(always)]
    fn ln_sinc<S: Scalar>(s: S) -> S {
        let edge = S::constant(-30.0);
        S::choose(
            s.lt(edge),
            #[inline(always)]
            || {
                let r = (-s.min(edge)).sqrt();
                r - (r + r).ln() + (-(-(r + r)).exp()).ln_1p()
            },
            // The sine of the rounded π may be 0 or negative.
            #[inline(always)]
            || s.max(edge).sinc().max(S::constant(1e-30)).ln(),
        )
    }

    /// `p ln (sinh(√-κ d)/(√-κ d))`: the logarithm of the exponential map's change of volume,
    /// p = n − 1.
    #[derive(Clone, Copy, Debug)]
    pub struct LogVolume;

    impl MapFormula<3> for LogVolume {
        const NAME: &'static str = "wrapped_normal.log_volume";
        #[inline(always)]
        fn eval<S: Scalar>([d, kappa, power]: [S; 3]) -> S {
            power * ln_sinc(kappa * d.square())
        }
    }

    /// The logarithm of an isotropic normal density in n dimensions at distance d from its mean, with
    /// standard deviation σ: `−d²/2σ² − n (ln σ + ln √(2π))`.
    #[derive(Clone, Copy, Debug)]
    pub struct IsotropicNormal;

    impl MapFormula<3> for IsotropicNormal {
        const NAME: &'static str = "wrapped_normal.isotropic";
        #[inline(always)]
        fn eval<S: Scalar>([d, scale, n]: [S; 3]) -> S {
            S::constant(-0.5) * (d / scale).square() - n * (scale.ln() + S::constant(LN_SQRT_TAU))
        }
    }

    /// All formulas of the distribution, for the test that compares their evaluations.
    pub const ALL: &[Formula] = &[
        Formula::map(LogVolume, &[Range(1.0, 9.0), Range(-1.5, -0.3), Range(1.0, 5.0)]),
        Formula::map(IsotropicNormal, &[Range(0.1, 3.0), Range(0.3, 2.0), Range(1.0, 5.0)]),
    ];
}

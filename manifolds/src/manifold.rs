//! The trait of all manifolds.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Rows, row_formula};
use rand::RngExt;
use rand_distr::StandardNormal;

use crate::angle;
use crate::distance_key::DistanceKey;

/// A row that is not a point of the manifold, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("not a point of {manifold}: {condition} fails by {by:e}")]
pub struct OffManifold {
    /// The manifold's [`TITLE`](Manifold::TITLE).
    pub manifold: &'static str,
    /// The condition that points satisfy.
    pub condition: &'static str,
    /// By how much it fails; NaN for a row with NaN in it.
    pub by: f64,
}

impl OffManifold {
    /// Fails unless `margin`, which is `1 + κ‖x‖²`, is positive. A NaN margin, where squares overflow,
    /// is off by infinity.
    pub(crate) fn unless_inside(manifold: &'static str, margin: f64) -> Result<(), OffManifold> {
        if margin > 0.0 {
            return Ok(());
        }
        let by = if margin.is_nan() { f64::INFINITY } else { -margin };
        Err(OffManifold { manifold, condition: "1 + kappa |x|^2 > 0", by })
    }

    /// What every manifold requires first: at least `least` coordinates, all finite.
    pub(crate) fn unless_finite<T: Float>(
        manifold: &'static str,
        x: &[T],
        least: usize,
    ) -> Result<(), OffManifold> {
        if x.len() < least {
            let by = (least - x.len()) as f64;
            return Err(OffManifold { manifold, condition: "at least one dimension", by });
        }
        match x.iter().map(|c| c.to_f64().abs()).find(|c| !c.is_finite()) {
            Some(by) => Err(OffManifold { manifold, condition: "finite coordinates", by }),
            None => Ok(()),
        }
    }
}

/// A vector that is not in the tangent space, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("not a tangent vector of {manifold} at this point: {by:e} of it is off the tangent space")]
pub struct OffTangent {
    /// The manifold's [`TITLE`](Manifold::TITLE).
    pub manifold: &'static str,
    /// The largest coordinate of the part off the tangent space, relative to the vector's largest
    /// coordinate; NaN or infinite for a vector with such coordinates.
    pub by: f64,
}

/// Accepts `v` if projecting it removes no more than the rounding of its coordinates explains: for each
/// coordinate 4 ulp of the largest, times `condition`.
#[track_caller]
pub(crate) fn tangent_within<M: Manifold, T: Float>(
    manifold: &M,
    x: &Row<T>,
    v: &Row<T>,
    condition: f64,
) -> Result<(), OffTangent> {
    assert_eq!(v.len(), x.len(), "{}: the vector must have as many coordinates as the point", M::TITLE);
    // Keeps NaN, which arises where the projection overflows.
    let largest = |v: &[T]| {
        let abs = v.iter().map(|c| c.to_f64().abs());
        abs.fold(0.0_f64, |m, c| if c > m || c.is_nan() { c } else { m })
    };
    let off = |by| Err(OffTangent { manifold: M::TITLE, by });
    if let Some(by) = v.iter().map(|c| c.to_f64().abs()).find(|c| !c.is_finite()) {
        return off(by);
    }
    let mut removed = manifold.project_tangent(x, v);
    removed.iter_mut().zip(v.iter()).for_each(|(w, v)| *w = *w - *v);
    let (removed, size) = (largest(&removed), largest(v));
    if removed <= 4.0 * T::EPSILON * condition * v.len() as f64 * size { Ok(()) } else { off(removed / size) }
}

/// Panics if the dimension is 0.
#[track_caller]
pub(crate) fn at_least_one(manifold: &str, dim: usize) {
    assert!(dim > 0, "{manifold}: a manifold of dimension 0 has no origin");
}

/// A curvature that a manifold does not have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{manifold} needs {needs} curvature, not kappa = {kappa}")]
pub struct CurvatureError {
    /// The manifold's [`TITLE`](Manifold::TITLE).
    pub manifold: &'static str,
    /// What is asked for: `"negative"`, `"finite"`.
    pub needs: &'static str,
    /// What was given.
    pub kappa: f64,
}

/// Unwraps a model; panics with the error if the curvature does not fit.
#[track_caller]
pub(crate) fn existing<M>(model: Result<M, CurvatureError>) -> M {
    match model {
        Ok(model) => model,
        Err(error) => panic!("{error}"),
    }
}

impl CurvatureError {
    /// `kappa`, which must be negative and finite.
    pub(crate) fn unless_negative(manifold: &'static str, kappa: f64) -> Result<f64, Self> {
        if kappa < 0.0 && kappa.is_finite() {
            return Ok(kappa);
        }
        Err(CurvatureError { manifold, needs: "negative", kappa })
    }
}

/// A Riemannian manifold whose points are rows of coordinates.
///
/// The operations are generic over [`Rows`]: the same method takes single rows, tensors and tape
/// variables. Points and vectors have the shape `[…, ambient(dim)]`, and leading axes broadcast. A
/// method that returns `R::Scalar` returns a number for each row: `[…]`. Operations of tensors and
/// variables panic if the shapes do not broadcast.
///
/// Most types stand for a family with a member of every dimension. A manifold of matrices knows its size: see
/// [`fixed_dimension`](Self::fixed_dimension). How optimisers move its points is in the subtrait
/// [`Steps`](crate::Steps), all of whose methods have defaults.
pub trait Manifold: Copy + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// The key that tells manifolds apart: `klein`.
    const NAME: &'static str;

    /// What messages call the manifold: `the Klein model`. The default is [`NAME`](Self::NAME).
    const TITLE: &'static str = Self::NAME;

    /// The only dimension of a manifold of fixed size; `None` for a family with a member of every
    /// dimension. If there is one, methods that take a dimension accept no other.
    fn fixed_dimension(&self) -> Option<usize> {
        None
    }

    /// Coordinates of a point of a `dim`-dimensional manifold.
    fn ambient(&self, dim: usize) -> usize {
        dim
    }

    /// Dimension of the manifold whose points have this many coordinates.
    fn dimension(&self, ambient: usize) -> usize {
        ambient
    }

    /// The point that coordinates are centred on, of dimension `dim`: a row of `ambient(dim)` coordinates.
    ///
    /// # Panics
    /// If the manifold has no member of this dimension.
    fn origin<T: Float>(&self, dim: usize) -> Row<T>;

    /// Geodesic distance. It has no derivative at `x = y`; 0 is used in its place. So its square has
    /// second derivatives of 0 there, while [`squared_dist`](Self::squared_dist) has those of the
    /// metric.
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar;

    /// The square of the geodesic distance, `⟨log_x y, log_x y⟩_x`, which is smooth at `x = y` too.
    fn squared_dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        let v = self.log(x, y);
        self.inner(x, &v, &v)
    }

    /// Riemannian inner product of two tangent vectors at `x`.
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar;

    /// Riemannian norm of a tangent vector at `x`.
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar;

    /// The angle at `x` between two tangent vectors, from 0 to π. Its cosine is
    /// `⟨u, v⟩_x/(‖u‖_x ‖v‖_x)`. The zero vector is at a right angle to every other. Ganea,
    /// Bécigneul, Hofmann 2018, eq. 3.
    fn angle<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        angle::between(x, [u, v], |w| self.norm(x, w))
    }

    /// Exponential map: the point that a geodesic from `x` with velocity `v` reaches at time 1.
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R;

    /// Logarithm: the velocity at `x` of the geodesic that reaches `y` at time 1.
    fn log<R: Rows>(&self, x: &R, y: &R) -> R;

    /// Parallel transport of a tangent vector along the geodesic from `x` to `y`: an isometry of the tangent
    /// spaces. A manifold without a closed form offers another vector transport and says so.
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R;

    /// The Riemannian gradient at `x`, from the gradient `g` with respect to the coordinates.
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R;

    /// The tangent vector at `x` nearest to an arbitrary vector.
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R;

    /// A point near an arbitrary row; valid points are returned unchanged, bit for bit.
    fn project<R: Rows>(&self, x: &R) -> R;

    /// A retraction: agrees with [`exp`](Self::exp) to first order. The default is `exp` itself. Manifolds of
    /// matrices have retractions of their own; products use those of their factors.
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        self.exp(x, v)
    }

    /// The point at time `t` on the geodesic from `x` (t = 0) to `y` (t = 1).
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        let velocity = self.log(x, y);
        self.exp(x, &R::vector(Scale, [&velocity], [t]))
    }

    /// Whether a row is a point of the manifold.
    ///
    /// # Errors
    /// By how much it is off.
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold>;

    /// Whether a row is a tangent vector at the point `x`, up to rounding.
    ///
    /// # Errors
    /// By how much it is off.
    ///
    /// # Panics
    /// If `v` and `x` differ in their number of coordinates.
    #[track_caller]
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        tangent_within(self, x, v, 1.0)
    }

    /// A point in a uniformly random direction from the origin, at a distance uniform in `[0, radius]`.
    fn random_point<T: Float>(&self, dim: usize, radius: f64, rng: &mut Rng) -> Row<T> {
        let origin = self.origin::<T>(dim);
        let direction = self.random_tangent(&origin, rng);
        let norm = self.norm(&origin, &direction);
        let length = radius * rng.random::<f64>();
        let scale = if norm > 0.0 { length / norm } else { 0.0 };
        self.exp(&origin, &Row::vector(Scale, [&direction], [&scale]))
    }

    /// A tangent vector at `x` with standard normal coordinates, projected.
    fn random_tangent<T: Float>(&self, x: &Row<T>, rng: &mut Rng) -> Row<T> {
        let mut v = x.clone();
        for c in v.iter_mut() {
            *c = T::nearest(rng.sample(StandardNormal));
        }
        // Twice: the rounding that the first projection leaves is relative to the longer vector, and may
        // be large relative to a short result.
        self.project_tangent(x, &self.project_tangent(x, &v))
    }
}

/// A manifold of constant curvature: a space form, or a part of one.
pub trait ConstantCurvature: Manifold {
    /// Sectional curvature.
    fn kappa(&self) -> f64;

    /// The point y as keys take it, which compare its distances with those of others: see [`DistanceKey`].
    /// `None`, which is the default, where only the distances themselves compare them.
    fn distance_key<'a>(&self, y: &'a [f64]) -> Option<DistanceKey<'a>> {
        let _ = y;
        None
    }

    /// Turns a point into that of the space whose distances are `scale` times as long, of curvature
    /// κ/scale². The default multiplies the coordinates.
    fn rescale<T: Float>(&self, x: &mut [T], scale: f64) {
        x.iter_mut().for_each(|x| *x = *x * T::nearest(scale));
    }
}

row_formula! {
    /// `t v`, t = parameter 0.
    pub(crate) Scale = "scale": vector [Input(0)];
    t = Param(0) => [t]
}

//! Products of two manifolds, each of any kind and curvature. A row is a row of the left factor followed
//! by one of the right, and squared distances add up. A factor may be a product itself. Source: Gu,
//! Sala, Gunel, Ré 2019, section 3.

use std::ops::Range;

use cotangent_engine::rng::Rng;
use cotangent_engine::{
    Float, Row, Rows,
    formulas::{Add, Hypot},
};

use crate::laws::lawful::Lawful;
use crate::manifold::{Manifold, OffManifold, OffTangent};
use crate::module::constant;
use crate::steps::{FactorVisitor, Steps};

/// The Riemannian product of two manifolds, `dist² = dist_A² + dist_B²`.
///
/// The left factor's dimension is fixed; in a product of dimension n the right factor has the remaining one.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Euclidean, Manifold, PoincareBall, Product};
/// let m = Product::new(PoincareBall::new(-1.0), 2, Euclidean);
/// let (x, y) = (m.origin::<f64>(3), Row::from([0.5, 0.0, 1.0])); // ball [2], then line [1]
/// assert!((m.dist(&x, &y) - 3.0_f64.ln().hypot(1.0)).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product<A, B> {
    left: A,
    right: B,
    left_dimension: usize,
}

impl<A: Manifold, B: Manifold> Product<A, B> {
    /// The product of `left` in dimension `left_dimension` with `right`.
    ///
    /// # Panics
    /// If the dimension is 0, or if the left factor has a fixed dimension and this is not it.
    #[track_caller]
    pub fn new(left: A, left_dimension: usize, right: B) -> Self {
        let fits = left.fixed_dimension().is_none_or(|only| only == left_dimension);
        assert!(left_dimension > 0 && fits, "product: {left:?} has no member of dimension {left_dimension}");
        Product { left, right, left_dimension }
    }

    /// The left factor.
    pub fn left(&self) -> &A {
        &self.left
    }

    /// The right factor.
    pub fn right(&self) -> &B {
        &self.right
    }

    /// Number of coordinates of the left factor.
    pub fn split(&self) -> usize {
        self.left.ambient(self.left_dimension)
    }

    /// The coordinates of each factor.
    ///
    /// # Panics
    /// If the rows are too narrow for a right factor.
    #[track_caller]
    pub fn parts<R: Rows>(&self, x: &R) -> (R, R) {
        let (split, width) = (self.split(), x.width());
        assert!(
            split < width,
            "product: rows of width {width}, of which the left factor alone takes {split}"
        );
        (x.columns(0..split), x.columns(split..width))
    }

    /// One number from each factor.
    fn scalars<R: Rows, const K: usize>(
        &self,
        rows: [&R; K],
        of_left: impl FnOnce(&A, [R; K]) -> R::Scalar,
        of_right: impl FnOnce(&B, [R; K]) -> R::Scalar,
    ) -> [R::Scalar; 2] {
        let parts = rows.map(|x| self.parts(x));
        let right = of_right(&self.right, parts.each_ref().map(|(_, right)| right.clone()));
        [of_left(&self.left, parts.map(|(left, _)| left)), right]
    }

    /// One row from each factor, side by side.
    fn rows<R: Rows, const K: usize>(
        &self,
        rows: [&R; K],
        of_left: impl FnOnce(&A, [R; K]) -> R,
        of_right: impl FnOnce(&B, [R; K]) -> R,
    ) -> R {
        let parts = rows.map(|x| self.parts(x));
        let right = of_right(&self.right, parts.each_ref().map(|(_, right)| right.clone()));
        R::concat(&of_left(&self.left, parts.map(|(left, _)| left)), &right)
    }
}

/// The same operation in both factors.
macro_rules! factorwise {
    ($self:ident.$how:ident, $operation:ident($($x:ident),+)) => {
        $self.$how([$($x),+], |m, [$($x),+]| m.$operation($(&$x),+), |m, [$($x),+]| m.$operation($(&$x),+))
    };
}

impl<A: Manifold, B: Manifold> Manifold for Product<A, B> {
    const NAME: &'static str = "product";
    const TITLE: &'static str = "the product";

    fn fixed_dimension(&self) -> Option<usize> {
        self.right.fixed_dimension().map(|right| self.left_dimension + right)
    }
    fn ambient(&self, dim: usize) -> usize {
        self.split() + self.right.ambient(dim.saturating_sub(self.left_dimension))
    }
    fn dimension(&self, ambient: usize) -> usize {
        self.left_dimension + self.right.dimension(ambient.saturating_sub(self.split()))
    }
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        let right = dim.checked_sub(self.left_dimension).filter(|&right| right > 0);
        let right =
            right.unwrap_or_else(|| panic!("product: no right factor in dimension {dim} of {self:?}"));
        Row::concat(&self.left.origin(self.left_dimension), &self.right.origin(right))
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::map(Hypot, factorwise!(self.scalars, dist(x, y)).each_ref())
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        R::map(Add, factorwise!(self.scalars, inner(x, u, v)).each_ref())
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        R::map(Hypot, factorwise!(self.scalars, norm(x, v)).each_ref())
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        factorwise!(self.rows, exp(x, v))
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        factorwise!(self.rows, log(x, y))
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        factorwise!(self.rows, transport(x, y, v))
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        factorwise!(self.rows, egrad_to_rgrad(x, g))
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        factorwise!(self.rows, project_tangent(x, v))
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        factorwise!(self.rows, project(x))
    }
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        factorwise!(self.rows, retract(x, v))
    }
    fn geodesic<R: Rows>(&self, x: &R, y: &R, t: &R::Scalar) -> R {
        self.rows([x, y], |m, [x, y]| m.geodesic(&x, &y, t), |m, [x, y]| m.geodesic(&x, &y, t))
    }
    /// The error is that of the first factor whose part is off, and has that factor's name.
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        OffManifold::unless_finite(Self::TITLE, x, self.split() + 1)?;
        let (left, right) = x.split_at(self.split());
        self.left.contains(left)?;
        self.right.contains(right)
    }
    fn contains_tangent<T: Float>(&self, x: &Row<T>, v: &Row<T>) -> Result<(), OffTangent> {
        let ((x, y), (v, w)) = (self.parts(x), self.parts(v));
        self.left.contains_tangent(&x, &v)?;
        self.right.contains_tangent(&y, &w)
    }
    fn random_tangent<T: Float>(&self, x: &Row<T>, rng: &mut Rng) -> Row<T> {
        let (left, right) = self.parts(x);
        Row::concat(&self.left.random_tangent(&left, rng), &self.right.random_tangent(&right, rng))
    }
}

impl<A: Steps, B: Steps> Steps for Product<A, B> {
    fn factors<V: FactorVisitor>(&self, coordinates: Range<usize>, visitor: &mut V) {
        let middle = coordinates.start + self.split();
        self.left.factors(coordinates.start..middle, visitor);
        self.right.factors(middle..coordinates.end, visitor);
    }
    fn descend<R: Rows>(&self, x: &R, g: &R, rate: &R::Scalar) -> R {
        self.rows([x, g], |m, [x, g]| m.descend(&x, &g, rate), |m, [x, g]| m.descend(&x, &g, rate))
    }
    fn bounded<R: Rows>(&self, x: &R) -> R {
        factorwise!(self.rows, bounded(x))
    }
}

/// A product is as accurate as its factors.
impl<A: Lawful, B: Lawful> Lawful for Product<A, B> {
    const PARALLEL: bool = A::PARALLEL && B::PARALLEL;
    const SYMMETRIC: bool = A::SYMMETRIC && B::SYMMETRIC;

    fn dimensions(&self) -> Vec<usize> {
        let left = self.left().dimension(self.split());
        self.right().dimensions().into_iter().map(|right| left + right).collect()
    }
    fn curvature_bounds(&self) -> [f64; 2] {
        let ([a, b], [c, d]) = (self.left().curvature_bounds(), self.right().curvature_bounds());
        [a.min(c).min(0.0), b.max(d).max(0.0)]
    }
    fn radius<T: Float>(&self) -> f64 {
        self.left().radius::<T>().min(self.right().radius::<T>())
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        let (left, right) = self.parts(x);
        self.left().rounding(&left).hypot(self.right().rounding(&right))
    }
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        let (left, right) = self.parts(x);
        self.left().distortion(&left) + self.right().distortion(&right)
    }
    fn cancellation<T: Float>(&self, x: &Row<T>) -> f64 {
        let (left, right) = self.parts(x);
        self.left().cancellation(&left).max(self.right().cancellation(&right))
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        let (left, right) = self.parts(x);
        self.left().off(&left).hypot(self.right().off(&right))
    }
}

constant! { [A: Manifold, B: Manifold] Product<A, B>; }

//! Points and tangent vectors as types, so that those of different geometries cannot be mixed.

use cotangent_engine::{Float, GradientView, Gradients, Leaf, Row, Rows, Shape, Tensor, Var};

use crate::manifold::{Manifold, OffManifold, OffTangent};

/// Points of a manifold, one per row: of a single row, a tensor or a tape variable.
///
/// The geometry M travels with the coordinates. It is a [`Manifold`], or [`Curved`](crate::Curved) with a
/// curvature that is itself a variable. Operations of several points or vectors panic if these have
/// different curvatures or shapes that do not fit.
///
/// There is no `+` on points:
///
/// ```compile_fail,E0369
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Point, Stereographic};
/// let ball = Stereographic::new(-1.0);
/// let x = Point::new(ball, Row::from([0.1, 0.2]));
/// let sum = x.clone() + x;
/// ```
///
/// and points of different manifolds do not mix:
///
/// ```compile_fail,E0308
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Lorentz, Point, Stereographic};
/// let x = Point::new(Stereographic::new(-1.0), Row::from([0.1, 0.2]));
/// let y = Point::new(Lorentz::new(-1.0), Row::from([1.0, 0.0]));
/// let d = x.dist(&y);
/// ```
///
/// nor do their tangent vectors, nor a tangent vector and a point:
///
/// ```compile_fail,E0308
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Lorentz, Point, Stereographic, Tangent};
/// let x = Point::new(Stereographic::new(-1.0), Row::from([0.1, 0.2]));
/// let v = Tangent::new(Lorentz::new(-1.0), Row::from([0.0, 0.1]));
/// let y = x.exp(&v);
/// ```
///
/// ```compile_fail,E0308
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Point, Stereographic};
/// let x = Point::new(Stereographic::new(-1.0), Row::from([0.1, 0.2]));
/// let y = x.exp(&x);
/// ```
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Point, Stereographic};
/// let ball = Stereographic::new(-1.0);
/// let x = Point::new(ball, Row::from([0.1, 0.2]));
/// let y = Point::new(ball, Row::from([-0.3, 0.4]));
/// let end = x.exp(&x.log(&y));
/// assert!(end.dist(&y) < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point<M, R> {
    manifold: M,
    coordinates: R,
}

/// Tangent vectors of a manifold, one per row. The points that they are at are not stored with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tangent<M, R> {
    manifold: M,
    coordinates: R,
}

impl<M: Manifold, R: Rows> Tangent<M, R> {
    /// Tangent vectors with these coordinates, which are not checked: see [`checked`](Tangent::checked).
    pub fn new(manifold: M, coordinates: R) -> Self {
        Tangent { manifold, coordinates }
    }

    /// The manifold.
    pub fn manifold(&self) -> &M {
        &self.manifold
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &R {
        &self.coordinates
    }
}

impl<M: Copy, R> Point<M, R> {
    /// Points with these coordinates, which are not checked: rows outside the manifold lead to NaN later.
    /// [`checked`](Point::checked) refuses them, [`Manifold::project`] moves them inside.
    pub fn new(manifold: M, coordinates: R) -> Self {
        Point { manifold, coordinates }
    }

    /// The manifold.
    pub fn manifold(&self) -> &M {
        &self.manifold
    }

    /// The coordinates.
    pub fn coordinates(&self) -> &R {
        &self.coordinates
    }
}

impl<M: Manifold, R: Rows> Point<M, R> {
    /// Panics if two points are on manifolds of one type but different curvature.
    #[track_caller]
    pub(crate) fn same(&self, other: &M) -> &M {
        assert!(self.manifold == *other, "points of {:?} and {other:?} do not mix", self.manifold);
        &self.manifold
    }

    /// Geodesic distance, row by row.
    #[track_caller]
    pub fn dist(&self, other: &Self) -> R::Scalar {
        self.same(&other.manifold).dist(&self.coordinates, &other.coordinates)
    }

    /// The square of the geodesic distance, row by row; smooth also where points coincide.
    #[track_caller]
    pub fn squared_dist(&self, other: &Self) -> R::Scalar {
        self.same(&other.manifold).squared_dist(&self.coordinates, &other.coordinates)
    }

    /// Riemannian inner product of tangent vectors here.
    #[track_caller]
    pub fn inner(&self, u: &Tangent<M, R>, v: &Tangent<M, R>) -> R::Scalar {
        self.same(&u.manifold).inner(&self.coordinates, &u.coordinates, &v.coordinates)
    }

    /// The points that geodesics from here with the given velocities reach at time 1. The elementwise
    /// function of a Euclidean point's variable is `(*x).exp()`.
    #[track_caller]
    pub fn exp(&self, v: &Tangent<M, R>) -> Self {
        Point::new(self.manifold, self.same(&v.manifold).exp(&self.coordinates, &v.coordinates))
    }

    /// The velocities here of the geodesics that reach `other` at time 1.
    #[track_caller]
    pub fn log(&self, other: &Self) -> Tangent<M, R> {
        Tangent::new(self.manifold, self.same(&other.manifold).log(&self.coordinates, &other.coordinates))
    }

    /// Tangent vectors here, carried along geodesics to `other`.
    #[track_caller]
    pub fn transport(&self, other: &Self, v: &Tangent<M, R>) -> Tangent<M, R> {
        let m = self.same(&other.manifold);
        Tangent::new(self.manifold, m.transport(&self.coordinates, &other.coordinates, &v.coordinates))
    }

    /// Points at time `t` on the geodesics from here (t = 0) to `other` (t = 1).
    #[track_caller]
    pub fn geodesic(&self, other: &Self, t: &R::Scalar) -> Self {
        let m = self.same(&other.manifold);
        Point::new(self.manifold, m.geodesic(&self.coordinates, &other.coordinates, t))
    }
}

/// Checks that every row is a point; else returns the first that is not.
pub(crate) fn contains<M: Manifold, T: Float>(
    manifold: &M,
    value: &Tensor<T>,
) -> Result<(), (usize, OffManifold)> {
    let contains = |(i, row)| manifold.contains(row).map_err(|off| (i, off));
    if value.is_empty() { Ok(()) } else { value.rows().enumerate().try_for_each(contains) }
}

impl<M: Manifold, T: Float> Point<M, Row<T>> {
    /// Validates the point.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Point, Stereographic};
    /// let ball = Stereographic::new(-1.0);
    /// assert!(Point::new(ball, Row::from([0.6, 0.7])).checked().is_ok());
    /// let off = Point::new(ball, Row::from([3.0, 4.0])).checked().unwrap_err();
    /// assert_eq!(off.by, 24.0); // of 1 − 25 > 0
    /// ```
    ///
    /// # Errors
    /// By how much it is off the manifold.
    pub fn checked(self) -> Result<Self, OffManifold> {
        self.manifold.contains(&self.coordinates).map(|()| self)
    }
}

impl<M: Manifold, T: Float> Point<M, Tensor<T>> {
    /// Validates the points.
    ///
    /// # Errors
    /// The first row that is not a point, and by how much it is off the manifold.
    pub fn checked(self) -> Result<Self, (usize, OffManifold)> {
        contains(&self.manifold, &self.coordinates).map(|()| self)
    }
}

impl<M: Manifold, T: Float> Tangent<M, Row<T>> {
    /// Validates the tangent vector: it must be tangent at `point`.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Point, Sphere, Tangent};
    /// let sphere = Sphere::new(1.0);
    /// let v = Tangent::new(sphere, Row::from([0.0, 2.0, 0.0]));
    /// assert!(v.clone().checked(&Point::new(sphere, Row::from([1.0, 0.0, 0.0]))).is_ok());
    /// let elsewhere = Point::new(sphere, Row::from([0.0, 1.0, 0.0]));
    /// assert_eq!(v.checked(&elsewhere).unwrap_err().by, 1.0); // all of it
    /// ```
    ///
    /// # Errors
    /// By how much it is off the tangent space.
    ///
    /// # Panics
    /// If it is of another manifold than the point.
    #[track_caller]
    pub fn checked(self, point: &Point<M, Row<T>>) -> Result<Self, OffTangent> {
        point.same(&self.manifold).contains_tangent(&point.coordinates, &self.coordinates).map(|()| self)
    }
}

impl<M: Copy, T: Float> Point<M, Var<'_, T>> {
    /// Points of a table `[n, width]` by number: `[rows.len(), width]`.
    ///
    /// # Panics
    /// If a number is not below n.
    #[track_caller]
    pub fn rows(&self, rows: &[u32]) -> Self {
        Point::new(self.manifold, self.coordinates.gather(rows))
    }

    /// The same points with other leading axes: `[6, 4]` points of width d have the shape `[6, 4, d]`.
    ///
    /// # Panics
    /// If there are not as many points.
    #[track_caller]
    pub fn arrange(&self, leading: impl AsRef<[usize]>) -> Self {
        let shape = Shape::new(leading.as_ref()).with_width(self.coordinates.shape().width());
        Point::new(self.manifold, self.coordinates.reshape(shape))
    }
}

impl<M: Copy, T: Float> Leaf<T> for Point<M, Var<'_, T>> {
    fn shape(&self) -> Shape {
        self.coordinates.shape()
    }

    #[track_caller]
    fn gradient<'a>(&self, gradients: &'a Gradients<'_, T>) -> Option<GradientView<'a, T>> {
        self.coordinates.gradient(gradients)
    }
}

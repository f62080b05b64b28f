//! Horospherical projections, and the submanifold that HoroPCA projects to. Source: Chami, Gu, Nguyen, Ré
//! 2021, "HoroPCA: Hyperbolic Dimensionality Reduction via Horospherical Projections", section 4; the
//! closed form is this project's own.
//!
//! Orthonormal directions p₁ … p_K at a base point name K ideal points. They span a geodesic submanifold
//! of dimension K through the base. A point is projected to the point of the submanifold that has the
//! same Busemann functions of all K ideal points.
//!
//! **On the hyperboloid**, with the base at the origin, let aⱼ = ⟨X_s, pⱼ⟩, and let ρ be the length
//! of the part of X_s orthogonal to all directions. The Busemann functions are equal where all
//! X₀ − aⱼ are: the projection adds one number δ to X₀ and to all aⱼ. The result is on the
//! hyperboloid if
//!
//! ```text
//! (K − 1) δ² − 2 e δ − ρ² = 0,        e = X₀ − Σ aⱼ
//! ```
//!
//! The two solutions are mirror images in the geodesic hull of the ideal points, where e = 0. The paper
//! takes the point on the base's side, where e > 0. It has the smaller δ:
//!
//! ```text
//! δ = (e − √(e² + (K − 1) ρ²))/(K − 1) = −ρ²/(e + √(e² + (K − 1) ρ²))
//! ```
//!
//! Points of the submanifold on the base's side stay where they are; those beyond the hull are mirrored.
//! The projection turns space about the hull, so distances never grow.
//!
//! For K = 1 the result is the point of the geodesic at distance −B from the base, towards p₁. It is
//! computed from the Busemann function B, because δ may be much larger than the result. For K ≥ 2 it is
//! not: with s = Σ (X₀ − aⱼ) = Σ (Y₀ − yⱼ), (K − √K) X₀ ≤ s ≤ (K + √K) Y₀.

use cotangent_engine::{Row, Rows, Tensor};

use crate::barycentre::formulas::AtHeight;
use crate::busemann::Busemann;
use crate::euclidean::formulas::Add;
use crate::frechet::FrechetError;
use crate::hyperbolic::isometry::{Hyperbolic, Isometric};
use crate::hyperbolic::lorentz::Lorentz;
use crate::manifold::{ConstantCurvature, Manifold, OffManifold};
use crate::matrix::stiefel::Stiefel;
use crate::sets::Sets;
use crate::wrapped_normal::OriginFrame;

impl Lorentz {
    /// The horospherical projection to the submanifold through the origin in K orthonormal directions:
    /// points `[…, d + 1]` and K directions of `d + 1` coordinates, whose time coordinates are not read, to
    /// points `[…, K + 1]` of the K-dimensional hyperboloid. Coordinate j is along direction j.
    ///
    /// Busemann functions are kept to machine epsilon divided by the angle between the point and the ideal
    /// point, as seen from the origin: rounding a direction changes them as much.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Busemann, Lorentz, Manifold};
    /// let m = Lorentz::new(-1.0);
    /// let x = m.project(&Row::from([0.0, -1.0, 2.0, 3.0]));
    /// let [p, q] = [Row::from([0.0, 1.0, 0.0, 0.0]), Row::from([0.0, 0.0, 1.0, 0.0])];
    /// let y = m.horospherical(&x, &[p.clone(), q]);
    /// let kept = m.busemann(&y, &Row::from([0.0, 1.0, 0.0])) - m.busemann(&x, &p);
    /// assert!(kept.abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// If there is no direction, or widths differ.
    #[track_caller]
    pub fn horospherical<R: Rows>(&self, x: &R, directions: &[R]) -> R {
        let Some((first, others)) = directions.split_first() else {
            panic!("horospherical: at least one direction is needed")
        };
        let column = |number: &R::Scalar| R::vector(AtHeight, [&x.zeros(1)], [number]);
        if others.is_empty() {
            let backwards = column(&x.constant(-1.0));
            return self.pseudo_polar(&R::concat(&backwards, &column(&self.busemann(x, first))));
        }
        let sum = others.iter().fold(first.clone(), |sum, p| R::vector(Add, [&sum, p], []));
        let outside =
            directions.iter().fold(x.clone(), |part, p| R::vector(formulas::Reject, [&part, p], []));
        let params = [&x.constant(self.kappa()), &x.constant(others.len() as f64)];
        let shift = R::scalar(formulas::Shift, [x, &outside, &sum], params);
        let coordinate = |p: &R| column(&R::scalar(formulas::Shifted, [x, p], [&shift]));
        let space = directions.iter().fold(x.zeros(1), |row, p| R::concat(&row, &coordinate(p)));
        self.project(&space)
    }
}

/// Why there is no projection.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum HoroPcaError {
    /// No points were given.
    #[error("HoroPCA: there are no points")]
    NoPoints,
    /// A submanifold of no dimension, or of more than the space has.
    #[error("HoroPCA: {components} components; 1 to {dimension} are possible")]
    Components {
        /// How many were asked for.
        components: usize,
        /// The dimension of the space.
        dimension: usize,
    },
    /// The directions are not orthonormal.
    #[error("HoroPCA: the directions are not orthonormal: {0}")]
    Directions(OffManifold),
    /// The base is no point of the manifold.
    #[error("HoroPCA: the base: {0}")]
    Base(OffManifold),
    /// The points have no mean.
    #[error(transparent)]
    Mean(#[from] FrechetError),
}

/// A horospherical projection in a model of hyperbolic space: a base point and orthonormal directions there.
/// `HoroPcaFit` of the crate `cotangent-optim` finds those of most variance.
///
/// ```
/// use cotangent_engine::{Row, Tensor};
/// use cotangent_manifolds::{HoroPca, Manifold, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let directions = Tensor::new([2, 3], vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]); // [K, d]
/// let pca = HoroPca::new(ball, ball.origin(3), directions)?;
/// let points = Tensor::new([2, 3], vec![-0.3, -0.4, 0.0, 0.1, -0.2, 0.5]); // [n, ambient]
/// let flat = pca.coordinates(&points); // [n, ambient of dimension K]
/// assert!((flat.row(0)[0] + 0.3).abs() < 1e-15 && (flat.row(0)[1] + 0.4).abs() < 1e-15);
/// assert!(flat.row(1)[0] < 0.1 && flat.row(1)[1] < -0.2);
/// # Ok::<(), cotangent_manifolds::HoroPcaError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HoroPca<M> {
    manifold: M,
    base: Row<f64>,
    directions: Tensor<f64>,
}

impl<M: Hyperbolic> HoroPca<M> {
    /// The projection to the submanifold through `base`. The directions `[K, d]` are orthonormal
    /// coordinates ([`OriginFrame`]) of tangent vectors at the base, carried to the origin along the
    /// geodesic.
    ///
    /// # Errors
    /// If the base is no point of the manifold, K is 0 or more than d, or the directions are not orthonormal.
    ///
    /// # Panics
    /// If the directions are not of shape `[K, d]`, or the curvature is not negative.
    #[track_caller]
    pub fn new(manifold: M, base: Row<f64>, directions: Tensor<f64>) -> Result<Self, HoroPcaError> {
        let dimension = manifold.dimension(base.len());
        let &[components, width] = directions.shape().axes() else {
            panic!("HoroPCA: directions of shape [K, d] are needed, not {}", directions.shape())
        };
        assert_eq!(width, dimension, "HoroPCA: directions in {dimension} dimensions are needed");
        HoroPcaError::unless_possible(components, dimension)?;
        manifold.contains(&base).map_err(HoroPcaError::Base)?;
        // The columns of a point of the Stiefel manifold.
        let columns =
            Tensor::from_fn([dimension * components], |i| directions.row(i % components)[i / components]);
        Stiefel::new(dimension, components).contains(columns.data()).map_err(HoroPcaError::Directions)?;
        Ok(HoroPca { manifold, base, directions })
    }

    /// The model.
    pub fn manifold(&self) -> &M {
        &self.manifold
    }

    /// The base point.
    pub fn base(&self) -> &Row<f64> {
        &self.base
    }

    /// The directions `[K, d]`, which are orthonormal.
    pub fn directions(&self) -> &Tensor<f64> {
        &self.directions
    }

    /// The projections of points `[n, ambient]` as points of the K-dimensional space in the same model,
    /// `[n, ambient of dimension K]`. The base is its origin, and coordinate j is along direction j.
    pub fn coordinates(&self, points: &Tensor<f64>) -> Tensor<f64> {
        self.manifold.back_from_hyperboloid(&self.on_hyperboloid(points))
    }

    /// The projections of points `[n, ambient]` where they are in the space: `[n, ambient]`.
    pub fn project(&self, points: &Tensor<f64>) -> Tensor<f64> {
        let lorentz = self.lorentz();
        let flat = self.on_hyperboloid(points);
        let components = lorentz.log_in_frame(&lorentz.origins(&flat), &flat); // [n, K]
        let tangents = lorentz.frame(&Tensor::combine(&components, &self.directions)); // [n, d + 1]
        let base = beside(&self.manifold.onto_hyperboloid(&self.base));
        let tangents = lorentz.transport(&lorentz.origins(&base), &base, &tangents);
        self.manifold.back_from_hyperboloid(&lorentz.exp(&base, &tangents))
    }

    fn lorentz(&self) -> Lorentz {
        self.manifold.counterpart()
    }

    /// The projections as points of the K-dimensional hyperboloid.
    fn on_hyperboloid(&self, points: &Tensor<f64>) -> Tensor<f64> {
        let direction = |row: &[f64]| Tensor::new([1 + row.len()], [&[0.0][..], row].concat());
        let directions: Vec<Tensor<f64>> = self.directions.rows().map(direction).collect();
        self.lorentz().horospherical(&centred(&self.manifold, &self.base, points), &directions)
    }
}

impl HoroPcaError {
    /// Fails unless a space of this dimension has a submanifold of `components` dimensions.
    ///
    /// # Errors
    /// If `components` is 0 or more than `dimension`.
    pub fn unless_possible(components: usize, dimension: usize) -> Result<(), HoroPcaError> {
        let possible = (1..=dimension).contains(&components);
        if possible { Ok(()) } else { Err(HoroPcaError::Components { components, dimension }) }
    }
}

/// Points `[n, ambient]` on the hyperboloid, `[n, d + 1]`, after the isometry that moves the base to the
/// origin along their geodesic.
pub fn centred<M: Hyperbolic>(manifold: &M, base: &Row<f64>, points: &Tensor<f64>) -> Tensor<f64> {
    let lorentz: Lorentz = manifold.counterpart();
    let base = beside(&manifold.onto_hyperboloid(base));
    let logarithms = lorentz.log_in_frame(&base, &manifold.onto_hyperboloid(points));
    lorentz.exp(&lorentz.origins(&base), &lorentz.frame(&logarithms))
}

/// A row as a tensor `[1, width]`.
fn beside(row: &Row<f64>) -> Tensor<f64> {
    Tensor::new([1, row.len()], row.to_vec())
}

/// The row formulas of horospherical projections, on points of the hyperboloid. Directions have length 1.
pub mod formulas {
    use cotangent_engine::registry::Range;
    use cotangent_engine::row_formulas;

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// The part of x orthogonal to a direction p, in space coordinates: `x − ⟨x, p⟩ p`.
        pub Reject = "horopca.reject": vector [Input(0), Input(1)], metric Space, tested in Free [];
        xp = Dot(0, 1) => [S::one(), -xp];

        /// δ of a point, its part outside the directions' span and the sum of the directions; parameter 1
        /// = K − 1 ≥ 1.
        pub Shift = "horopca.shift": number [Input(0), Input(1), Input(2)], metric Space,
            tested in Hyperboloid(1) [Range(-1.5, -0.5), Range(1.0, 3.0)];
        xx = Dot(0, 0), square = Dot(1, 1), along = Dot(0, 2), kappa = Param(0), others = Param(1) => {
            let e = (xx - kappa.recip()).sqrt() - along;
            let root = (e.square() + others * square).sqrt();
            S::select(S::zero().lt(e), -square / (e + root), (e - root) / others)
        };

        /// The coordinate along a direction, shifted: `⟨x, p⟩ + δ`, δ = parameter 0.
        pub Shifted = "horopca.shifted": number [Input(0), Input(1)], metric Space,
            tested in Free [Range(-3.0, 3.0)];
        xp = Dot(0, 1), shift = Param(0) => xp + shift;
    }
}

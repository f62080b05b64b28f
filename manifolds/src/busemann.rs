//! Busemann functions of hyperbolic space: signed distances to the horospheres of an ideal point. An
//! ideal point is a direction in which geodesics leave. Source: Busemann 1955.
//!
//! In every model a direction ω at the origin, of any length, names an ideal point. With γ the geodesic
//! of speed 1 that leaves the origin in this direction, and u = ω/‖ω‖, on the hyperboloid of curvature
//! κ = −c
//!
//! ```text
//! B_ω(x) = lim d(x, γ(t)) − t = (1/√c) ln √c (X₀ − ⟨X_s, u⟩)
//! ```

use cotangent_engine::Rows;

use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::isometry::Hyperbolic;
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{KappaStereographic, MaybeNegative};
use crate::manifold::ConstantCurvature;

/// Busemann functions in a model of hyperbolic space.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Busemann, HalfSpace, Lorentz, Point};
/// let half_space = HalfSpace::new(-1.0);
/// let (x, up) = (Point::new(half_space, Row::from([3.0, 4.0])), Row::from([0.0, 1.0]));
/// // Horospheres of the point at infinity are horizontal.
/// assert!((half_space.busemann(x.coordinates(), &up) + 4.0_f64.ln()).abs() < 1e-15);
/// let x = x.to::<Lorentz>();
/// let up = Row::from([0.0, 0.0, 1.0]); // the time coordinate is not read
/// assert!((x.manifold().busemann(x.coordinates(), &up) + 4.0_f64.ln()).abs() < 1e-15);
/// ```
pub trait Busemann: Hyperbolic {
    /// The Busemann function of the ideal point in direction ω, a tangent vector at the origin of any
    /// length: the signed distance of x from the horosphere through the origin, negative towards ω. On
    /// the hyperboloid ω may as well be a light-like vector: its time coordinate is not read.
    ///
    /// Squares of ω are taken: its length should be between 1e-100 and 1e100. At ω = 0, a direction that
    /// is still to be learned, the function is ln(cosh √c r)/√c, where r is the distance from the
    /// origin.
    ///
    /// # Panics
    /// If the curvature is not negative: there are no ideal points.
    #[track_caller]
    fn busemann<R: Rows>(&self, x: &R, omega: &R) -> R::Scalar;
}

impl<S: MaybeNegative> Busemann for KappaStereographic<S> {
    #[track_caller]
    fn busemann<R: Rows>(&self, x: &R, omega: &R) -> R::Scalar {
        assert!(self.kappa() < 0.0, "busemann: negative curvature is needed, not {}", self.kappa());
        R::scalar(
            crate::hyperbolic::stereographic::formulas::Busemann,
            [x, omega],
            [&x.constant(self.kappa())],
        )
    }
}

impl Busemann for Lorentz {
    fn busemann<R: Rows>(&self, x: &R, omega: &R) -> R::Scalar {
        R::scalar(crate::hyperbolic::lorentz::formulas::Busemann, [x, omega], [&x.constant(self.kappa())])
    }
}

impl Busemann for Klein {
    fn busemann<R: Rows>(&self, x: &R, omega: &R) -> R::Scalar {
        R::scalar(crate::hyperbolic::klein::formulas::Busemann, [x, omega], [&x.constant(self.kappa())])
    }
}

impl Busemann for HalfSpace {
    fn busemann<R: Rows>(&self, x: &R, omega: &R) -> R::Scalar {
        let rows = [&height_first(x), &height_first(omega)];
        R::scalar(crate::hyperbolic::half_space::formulas::Busemann, rows, [&x.constant(self.kappa())])
    }
}

/// Rows of a half-space with the height before the other coordinates.
fn height_first<R: Rows>(x: &R) -> R {
    let last = x.width() - 1;
    if last == 0 { x.clone() } else { R::concat(&x.columns(last..last + 1), &x.columns(0..last)) }
}

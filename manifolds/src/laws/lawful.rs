//! What the tolerances of the laws depend on.

use std::f64::consts::PI;

use cotangent_engine::domain::margin;
use cotangent_engine::{Float, Row};

use super::case::length;
use crate::euclidean::Euclidean;
use crate::hyperbolic::half_space::HalfSpace;
use crate::hyperbolic::klein::Klein;
use crate::hyperbolic::lorentz::Lorentz;
use crate::hyperbolic::stereographic::{KappaStereographic, Sign};
use crate::manifold::{ConstantCurvature, Manifold};
use crate::matrix::grassmann::Grassmann;
use crate::matrix::spd::Spd;
use crate::matrix::stiefel::Stiefel;
use crate::product::Product;
use crate::sphere::Sphere;
use crate::steps::Steps;

/// A manifold whose laws can be tested: it says how accurate its operations can be.
pub trait Lawful: Steps {
    /// Whether [`transport`](Manifold::transport) is parallel transport. If not, results need only be
    /// tangent.
    const PARALLEL: bool = true;

    /// Whether `dist` is exactly symmetric and exactly 0 between equal points, as it is where it is one
    /// formula.
    const SYMMETRIC: bool = true;

    /// The dimensions that are tried, in order. The default ends beyond one panel of coordinates of the
    /// kernels.
    fn dimensions(&self) -> Vec<usize> {
        self.fixed_dimension().map_or(vec![1, 2, 3, 5, 10, 64, 65], |only| vec![only])
    }

    /// Least and greatest sectional curvature, or bounds of them. With κ the least, deviations grow
    /// along a geodesic of length d at most as cosh(√−κ d). With κ the greatest, errors of end points
    /// appear in velocities times √κ d/sin(√κ d).
    fn curvature_bounds(&self) -> [f64; 2];

    /// Distance from the origin up to which points are drawn, and length up to which tangent vectors are.
    ///
    /// By default a little less than half of the way to where geodesics cease to be unique, and in negative
    /// curvature as far as every model keeps a digit.
    fn radius<T: Float>(&self) -> f64 {
        let [least, greatest] = self.curvature_bounds();
        if greatest > 0.0 {
            0.45 * PI / greatest.sqrt()
        } else if least < 0.0 {
            0.5 * (0.1 / T::EPSILON).ln() / (-least).sqrt()
        } else {
            10.0
        }
    }

    /// The error of storing a point, in units of u: how far it moves when its coordinates change by u,
    /// relatively. By default the norm of the longest coordinate vector times the length of the row.
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        let x = wide(x);
        let mut longest = 0.0_f64;
        for i in 0..x.len() {
            let mut e = Row::from(vec![0.0; x.len()].as_slice());
            e[i] = 1.0;
            longest = longest.max(self.norm(&x, &self.project_tangent(&x, &e)));
        }
        longest * length(&x)
    }

    /// The relative error of the norm of a tangent vector at x, in units of that of its coordinates.
    /// This is the largest ratio of norms between vectors whose coordinates have equal length; 1 where
    /// the metric is conformal.
    fn distortion<T: Float>(&self, _x: &Row<T>) -> f64 {
        1.0
    }

    /// What gradients and projections lose in addition, because products of coordinates cancel in them;
    /// 1 where they do not.
    fn cancellation<T: Float>(&self, _x: &Row<T>) -> f64 {
        1.0
    }

    /// How far rounding puts a stored point off the manifold, in units of u; 0 where coordinates are free.
    /// The difference of two points that are as near as that has no direction.
    fn off<T: Float>(&self, _x: &Row<T>) -> f64 {
        0.0
    }
}

/// The row in `f64`.
fn wide<T: Float>(x: &Row<T>) -> Row<f64> {
    let wide: Vec<f64> = x.iter().map(|c| c.to_f64()).collect();
    Row::from(wide.as_slice())
}

impl Lawful for Euclidean {
    fn curvature_bounds(&self) -> [f64; 2] {
        [0.0; 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
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

impl Lawful for Lorentz {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x[0].to_f64()
    }
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        (-self.kappa()).sqrt() * length(x)
    }
    /// From the reverse pass of an area, and from `⟨x, v⟩_L`.
    fn cancellation<T: Float>(&self, x: &Row<T>) -> f64 {
        self.distortion(x)
    }
}

/// Rounding a matrix moves it by its condition number.
impl Lawful for Spd {
    const SYMMETRIC: bool = false;

    /// Of the affine-invariant metric: −½ to 0.
    fn curvature_bounds(&self) -> [f64; 2] {
        [if self.is_flat() { 0.0 } else { -0.5 }, 0.0]
    }
    /// The radius at which condition numbers are the square root of what storage allows.
    fn radius<T: Float>(&self) -> f64 {
        0.25 * (0.1 / T::EPSILON).ln()
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        let x = wide(x);
        let identity = self.origin::<f64>(self.dimension(x.len()));
        // The condition number, ‖x‖‖x⁻¹‖. The result also has a factor for the size of logarithms.
        let condition = length(&x) * self.norm(&x, &identity);
        self.size() as f64 * condition * (1.0 + self.dist(&identity, &x))
    }
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

/// A Klein coordinate has half the digits of a ball's: an ulp near the boundary is a distance of cosh²
/// of the radius.
impl Lawful for Klein {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x) / margin(x, self.kappa())
    }
    /// From its inner products, which cancel near the boundary.
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        margin(x, self.kappa()).recip()
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

impl Lawful for Sphere {
    fn curvature_bounds(&self) -> [f64; 2] {
        [self.kappa(); 2]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        length(x)
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

impl Lawful for Grassmann {
    const SYMMETRIC: bool = false;

    /// 0 and 2 in general; a projective space of lines or hyperplanes has 1.
    fn curvature_bounds(&self) -> [f64; 2] {
        let [n, p] = self.size();
        if p.min(n - p) > 1 { [0.0, 2.0] } else { [1.0, 1.0] }
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x.len() as f64
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

impl Lawful for Stiefel {
    const PARALLEL: bool = false;
    const SYMMETRIC: bool = false;

    /// Of the Euclidean metric. Zimmermann, Stoye 2024.
    fn curvature_bounds(&self) -> [f64; 2] {
        [-0.5, 1.0]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x.len() as f64
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

//! What the tolerances of the laws depend on, and the members of each family that tests try.

use std::f64::consts::PI;

use cotangent_engine::{Float, Row};

use crate::steps::Steps;

/// A manifold whose laws can be tested: it says how accurate its operations can be.
pub trait Lawful: Steps {
    /// Whether [`transport`](crate::Manifold::transport) is parallel transport. If not, results need only be
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
pub(crate) fn wide<T: Float>(x: &Row<T>) -> Row<f64> {
    let wide: Vec<f64> = x.iter().map(|c| c.to_f64()).collect();
    Row::from(wide.as_slice())
}

/// The Euclidean length of a row.
pub(crate) fn length<T: Float>(a: &[T]) -> f64 {
    let largest = a.iter().fold(0.0_f64, |m, c| m.max(c.to_f64().abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * a.iter().map(|c| (c.to_f64() / largest).powi(2)).sum::<f64>().sqrt()
}

/// A family of manifolds of the library. The tests of all manifolds try these members: see
/// [`for_each_manifold!`](crate::for_each_manifold).
pub trait Family: Lawful {
    /// Members of every curvature or size, for each law.
    fn members() -> Vec<Self>;

    /// Members for the tests of optimisers. Each has a dimension, and a radius around the origin within which
    /// any two points have exactly one shortest geodesic.
    fn samples() -> Vec<(Self, usize, f64)>;
}

/// Curvatures of negative sign.
pub(crate) const NEGATIVE: [f64; 5] = [-2.5, -1.0, -0.37, -1e-6, -1e-12];

/// Curvatures of every sign.
pub(crate) const KAPPAS: [f64; 8] = [-2.5, -1.0, -0.37, -1e-6, -1e-12, 0.0, 1e-12, 0.6];

/// Implements [`Family`]: the members, then each sample with its dimension and radius.
macro_rules! family {
    ($family:ty: $members:expr, [$(($sample:expr, $dim:expr, $radius:expr)),+]) => {
        impl $crate::laws::Family for $family {
            fn members() -> Vec<Self> {
                Vec::from_iter($members)
            }
            fn samples() -> Vec<(Self, usize, f64)> {
                vec![$(($sample, $dim, $radius)),+]
            }
        }
    };
}
pub(crate) use family;

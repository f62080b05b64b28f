//! Flat space whose lengths are a multiple of those of the coordinates.

use cotangent::engine::row_formula;
use cotangent::laws::Lawful;
use cotangent::manifolds::OffManifold;
use cotangent::prelude::*;

/// `scale` times the Euclidean metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretched(pub f64);

row_formula! {
    /// `t v`, t = parameter 0.
    Times = "stretched.times": vector [Input(0)];
    t = Param(0) => [t]
}

row_formula! {
    /// `t ‖y − x‖`, t = parameter 0. As one formula, so that `f32` rounds only the result.
    Distance = "stretched.distance": number [Difference(1, 0)];
    dd = Dot(0, 0), t = Param(0) => t * dd.sqrt()
}

impl Stretched {
    fn times<R: Rows>(by: f64, v: &R) -> R {
        R::vector(Times, [v], [&v.constant(by)])
    }
}

#[rustfmt::skip]
impl Manifold for Stretched {
    const NAME: &'static str = "stretched space";
    fn origin<T: Float>(&self, dim: usize) -> Row<T> { Euclidean.origin(dim) }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar(Distance, [x, y], [&x.constant(self.0)])
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        Euclidean.inner(x, &Self::times(self.0, u), &Self::times(self.0, v))
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar { Euclidean.norm(x, &Self::times(self.0, v)) }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R { Euclidean.exp(x, v) }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R { Euclidean.log(x, y) }
    fn transport<R: Rows>(&self, _: &R, _: &R, v: &R) -> R { v.clone() }
    fn egrad_to_rgrad<R: Rows>(&self, _: &R, g: &R) -> R { Self::times(self.0.powi(-2), g) }
    fn project_tangent<R: Rows>(&self, _: &R, v: &R) -> R { v.clone() }
    fn project<R: Rows>(&self, x: &R) -> R { x.clone() }
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> { Euclidean.contains(x) }
}

impl Steps for Stretched {}

impl Lawful for Stretched {
    fn curvature_bounds(&self) -> [f64; 2] {
        [0.0; 2]
    }
}

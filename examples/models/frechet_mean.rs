//! The Fréchet mean of points whose curvature is learned with it.

use cotangent::prelude::*;

#[derive(Module)]
pub struct Mean {
    pub curvature: Curvature<f64>,
    pub mean: Param<Euclidean, f64>,
}

impl Mean {
    /// The mean squared distance of points, given as tangent vectors at the origin, `[n, dim]`.
    pub fn loss<'t>(&self, v: Var<'t, f64>) -> Var<'t, f64> {
        let space = self.curvature.on(v.tape());
        exp0(space, self.mean.on(v.tape())).dist(&exp0(space, v)).square().mean()
    }
}

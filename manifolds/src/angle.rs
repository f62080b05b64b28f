//! Angles between tangent vectors.

use cotangent_engine::{Rows, row_formula};

use crate::cones::formulas::angle;
use crate::euclidean::formulas::{Add, Sub};
use crate::manifold::Manifold;

/// See [`Manifold::angle`]. Unit vectors at an angle θ are 2 sin(θ/2) apart, and their sum has the length
/// 2 cos(θ/2). So the error is a few units of 10⁻¹⁶ everywhere; the arc cosine would lose half of the
/// digits near 0 and π.
pub(crate) fn between<M: Manifold, R: Rows>(manifold: &M, x: &R, u: &R, v: &R) -> R::Scalar {
    let [u, v] = [u, v].map(|v| R::vector(Unit, [v], [&manifold.norm(x, v)]));
    let [difference, sum] = [R::vector(Sub, [&u, &v], []), R::vector(Add, [&u, &v], [])];
    R::scalar(DoubleAngle, [x], [&manifold.norm(x, &difference), &manifold.norm(x, &sum)])
}

row_formula! {
    /// v/‖v‖, ‖v‖ = parameter 0. The zero vector stays.
    Unit = "unit": vector [Input(0)];
    norm = Param(0) => {
        // Where the norm is 0 or NaN, the factor is the norm itself.
        let long = S::zero().lt(norm);
        [S::select(long, S::select(long, norm, S::one()).recip(), norm)]
    }
}

row_formula! {
    /// Twice the angle whose sine and cosine are proportional to the parameters.
    DoubleAngle = "double_angle": number [Input(0)];
    sine = Param(0), cosine = Param(1) => S::constant(2.0) * angle(sine, cosine)
}

//! Angles between tangent vectors.

use std::f64::consts::PI;

use cotangent_engine::{Rows, Scalar, row_formula};

use crate::euclidean::formulas::{Add, Sub};

/// See [`Manifold::angle`](crate::Manifold::angle); `norm` is that of tangent vectors at `x`. Unit vectors at
/// an angle θ are 2 sin(θ/2) apart, and their sum has the length 2 cos(θ/2). So the error is a few units
/// of 10⁻¹⁶ everywhere; the arc cosine would lose half of the digits near 0 and π.
pub(crate) fn between<R: Rows>(x: &R, vectors: [&R; 2], norm: impl Fn(&R) -> R::Scalar) -> R::Scalar {
    let [u, v] = vectors.map(|v| R::vector(Unit, [v], [&norm(v)]));
    let [difference, sum] = [R::vector(Sub, [&u, &v], []), R::vector(Add, [&u, &v], [])];
    R::scalar(DoubleAngle, [x], [&norm(&difference), &norm(&sum)])
}

/// The angle in [0, π] of a vector with these components, the first of which is not negative; 0 for the zero
/// vector.
#[inline(always)]
pub(crate) fn from_components<S: Scalar>(across: S, along: S) -> S {
    let length = (across.square() + along.square()).sqrt();
    // Where the length is 0 or NaN, the result is the length itself.
    let tangent = S::select(S::zero().lt(length), across / (length + along.abs()), length);
    let acute = S::constant(2.0) * tangent.atan();
    S::select(along.lt(S::zero()), S::constant(PI) - acute, acute)
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
    sine = Param(0), cosine = Param(1) => S::constant(2.0) * from_components(sine, cosine)
}

//! Laws of constant curvature.

use cotangent_engine::Scalar;

use super::case::{difference, scaled};
use super::check::law;
use crate::manifold::ConstantCurvature;

law! {
    /// The law of cosines for the triangle of three points, in half-angles,
    /// `S²(C/2) = S²((A − B)/2) + S(A) S(B) sin²(θ/2)` with S = sin_κ: no side cancels. The angle
    /// comes from the logarithms; within 16 u (sides + distortion · the shorter side, stretched).
    cosines of ConstantCurvature within f64::INFINITY, |c, judge| {
        let kappa = c.m.kappa();
        let sides = [&c.y, &c.z].map(|p| (c.m.log(&c.x, p), c.m.dist(&c.x, p)));
        let [(a, side_a), (b, side_b)] = &sides;
        if side_a.min(*side_b) <= 1e-100 * c.unit() {
            return;
        }
        // Unit vectors at an angle θ are 2 sin(θ/2) apart.
        let between = difference(&scaled(a, side_a.recip()), &scaled(b, side_b.recip()));
        let half = 0.5 * c.m.norm(&c.x, &between);
        let sine = |t: f64| t * (kappa * t * t).sinc();
        let square = sine(0.5 * (side_a - side_b)).powi(2) + sine(*side_a) * sine(*side_b) * half * half;
        // Rounding may take the result beyond the greatest distance of a sphere.
        let want = 2.0 * square.sqrt() * f64::min(kappa * square, 1.0).arcsinc();
        let shorter = side_a.min(*side_b);
        let distortion = [&c.x, &c.y, &c.z].map(|p| c.m.distortion(p)).into_iter().sum::<f64>();
        let bound = 16.0 * c.u * distortion * (side_a + side_b + c.stretch(shorter) * shorter);
        judge.length("the law of cosines", c.m.dist(&c.y, &c.z) - want, bound);
    }
}

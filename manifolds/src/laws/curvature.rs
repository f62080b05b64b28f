//! Laws of constant curvature.

use super::case::{difference, scaled};
use super::check::run;
use super::{Lawful, Report, Violation};
use crate::ConstantCurvature;
use cotangent_engine::{Float, Scalar};

/// The law of cosines for the triangle of three points, in half-angles,
/// `S²(C/2) = S²((A − B)/2) + S(A) S(B) sin²(θ/2)` with S = sin_κ: no side cancels. The angle comes from the logarithms;
/// within 16 u (sides + distortion · the shorter side, stretched).
///
/// # Errors
/// The smallest case found where it does not hold.
pub fn cosines<M: Lawful + ConstantCurvature>(manifold: &M) -> Result<Report, Violation> {
    fn identity<M: Lawful + ConstantCurvature, T: Float>(
        c: &super::case::Case<'_, M, T>,
        judge: &mut super::check::Judge,
    ) {
        let kappa = c.m.kappa();
        let sides = [&c.y, &c.z].map(|p| (c.m.log(&c.x, p), c.m.dist(&c.x, p)));
        let [(a, side_a), (b, side_b)] = &sides;
        if *side_a <= 1e-100 * c.unit() || *side_b <= 1e-100 * c.unit() {
            return;
        }
        // Unit vectors at an angle θ are 2 sin(θ/2) apart.
        let between = difference(&scaled(a, side_a.recip()), &scaled(b, side_b.recip()));
        let half = 0.5 * c.m.norm(&c.x, &between);
        let sine = |t: f64| t * (kappa * t * t).sinc();
        let square = sine(0.5 * (side_a - side_b)).powi(2) + sine(*side_a) * sine(*side_b) * half * half;
        let want = 2.0 * square.sqrt() * (kappa * square).min(1.0).arcsinc();
        let shorter = side_a.min(*side_b);
        let distortion = [&c.x, &c.y, &c.z].map(|p| c.m.distortion(p)).into_iter().sum::<f64>();
        let bound = 16.0 * c.u * distortion * (side_a + side_b + c.stretch(shorter) * shorter);
        judge.length("the law of cosines", c.m.dist(&c.y, &c.z) - want, bound);
    }
    run("cosines", manifold, f64::INFINITY, identity::<M, f64>, identity::<M, f32>)
}

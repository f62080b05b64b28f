//! Entailment cones: penumbral cones of a finite light source. Ganea et al. 2018, section 4; Tseng et al.
//! 2023, sections 2.3 and 3.1.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::direction;
use cotangent_manifolds::finite_shadow_cones::penumbral_depth;

use super::{Numbers, OFFSET, Operand, SHARPNESS, Score, Side, normal, parts};

/// `γ d(o, sup(q, k)) − c`: the distance from the origin o, in hyperbolic space of curvature −1, of the
/// deepest common ancestor of both points in the order of Ganea's entailment cones. It is eq. 4 of Tseng et
/// al. 2023 with a ball around o as light source: these cones are the penumbral cones of such a light, with
/// sinh R = 2K for its radius R. See
/// [`penumbral_depth`](cotangent_manifolds::finite_shadow_cones::penumbral_depth).
///
/// Ganea et al. define no cones near o. Queries and keys are never there: the last coordinate x makes the
/// distance `R + ln(1 + eˣ)` from o, the others are the direction, as in pseudo-polar coordinates. The
/// direction 0 counts as one at an angle of 60° to all others, because it is 1 from every unit vector.
#[derive(Clone, Copy, Debug)]
pub struct EntailmentCone {
    /// The radius R of the light source. With 0.2, K is 0.1 as in Ganea et al. 2018.
    pub light: f64,
}

impl Default for EntailmentCone {
    fn default() -> Self {
        EntailmentCone { light: 0.2 }
    }
}

/// Rows are directions, unit vectors, with three numbers: the distance r from the origin, the half-angle of
/// the shadow, and coth r − 1. Parameters γ, c, sinh R and the largest half-angle.
impl PairFormula<3, 3, 4> for EntailmentCone {
    const NAME: &'static str = "scores.entailment_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, q: [S; 3], k: [S; 3], [gamma, c, light, widest]: [S; 4]) -> S {
        gamma * penumbral_depth(normal(square), q, k, [light, widest]) - c
    }
}

// Two shadows that overlap, neither of them in the other: elsewhere the slope is different.
pub(super) const APART: Range = Range(0.1, 0.5);
pub(super) const DEPTH: Range = Range(2.0, 3.0);
pub(super) const SHADOW: Range = Range(0.05, 0.1);

pub(super) const FORMULA: Formula = Formula::pair(
    EntailmentCone { light: 0.2 },
    &[
        APART,
        DEPTH,
        SHADOW,
        SHADOW,
        DEPTH,
        SHADOW,
        SHADOW,
        SHARPNESS,
        OFFSET,
        Range(0.5, 1.0),
        Range(0.9, 1.2),
    ],
);

/// Points outside a ball around the origin, by their directions: these, the distances r from the origin,
/// 1/sinh r and coth r − 1.
pub(super) fn outside<'t, T: Float>(x: Var<'t, T>, radius: f64) -> [Var<'t, T>; 4] {
    let [d, last] = parts(x);
    let r = last.softplus() + radius;
    let decay = (-r).exp();
    // 1 − e^{−2r}, of which nothing overflows.
    let inverse = decay * 2.0 / -(r * -2.0).exp_m1();
    [direction(&d), r, inverse, inverse * decay]
}

/// `2 arctan(tangent/(1 + √(1 − sine²)))`: half the angle of a shadow at infinity.
pub(super) fn half_angle<'t, T: Float>(tangent: Var<'t, T>, sine: Var<'t, T>) -> Var<'t, T> {
    // Rounding may leave the sine above 1.
    let cosine = sine.tape().scalar(0.0).maximum((1.0 - sine) * (sine + 1.0)).sqrt();
    (tangent / (cosine + 1.0)).atan() * 2.0
}

/// By hand: the distances from the origin of two points outside a ball, and the angle between them.
pub(super) fn polar([q, k]: [&Row<f64>; 2], radius: f64) -> ([f64; 2], f64) {
    let last = q.len() - 1;
    let dot = |x: &Row<f64>, y: &Row<f64>| x[..last].iter().zip(&y[..last]).map(|(x, y)| x * y).sum::<f64>();
    let cosine = dot(q, k) / (dot(q, q) * dot(k, k)).sqrt();
    ([q, k].map(|x| radius + x[last].softplus()), cosine.clamp(-1.0, 1.0).acos())
}

/// By hand: the distance from the origin of the chord between two points of the plane, at the distances r and
/// s from the origin.
pub(super) fn chord([r, s]: [f64; 2], angle: f64) -> f64 {
    r * s * angle.sin() / (r * r + s * s - 2.0 * r * s * angle.cos()).sqrt()
}

impl EntailmentCone {
    /// In Klein coordinates the borders of cones are Euclidean lines that touch the light's disc.
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let (distances, angle) = polar([q, k], self.light);
        let ([a, b], light) = (distances.map(f64::tanh), self.light.tanh());
        let [of_a, of_b] = [a, b].map(|r| (light / r).acos());
        let of_both = of_a.min(of_b).min(0.5 * (of_a + of_b - angle));
        if of_both > 0.0 { (light / of_both.cos()).atanh() } else { chord([a, b], angle).atanh() }
    }
}

impl<T: Float> Score<T> for EntailmentCone {
    fn name(&self) -> &'static str {
        "entailment"
    }
    fn about(&self) -> &'static str {
        "Entailment cones (Ganea et al. 2018): penumbral cones of a finite light source."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<3, 3, 4>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        let ([rows, r, inverse, excess], light) = (outside(x, self.light), self.light.sinh());
        let shadow = half_angle(excess * light, inverse * light);
        Operand { rows, numbers: Numbers::from_slice(&[r, shadow, excess]) }
    }
    fn scalars<'t>(&self, x: Var<'t, T>) -> Numbers<'t, T> {
        let widest = 2.0 * (-self.light).exp().atan();
        Numbers::from_slice(&[self.light.sinh(), widest].map(|number| x.tape().scalar(number)))
    }
    fn needs_height(&self) -> bool {
        true
    }
    fn setting(&self) -> Option<(&'static str, f64)> {
        Some(("light", self.light))
    }
    fn set(&mut self, value: f64) {
        self.light = value;
    }
}

//! Umbral cones of a finite light source. Tseng et al. 2023, sections 2.3 and 3.1.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::finite_shadow_cones::umbral_depth;

use super::entailment_cone::{APART, DEPTH, SHADOW, chord, half_angle, outside, polar};
use super::{Numbers, OFFSET, Operand, SHARPNESS, Score, Side, normal};

/// `γ d(o, sup(q, k)) − c`: the distance from the light source o, a point of hyperbolic space of
/// curvature −1, of the deepest common ancestor of both points in the umbral order, for balls of a given
/// radius. It is eq. 4 of Tseng et al. 2023. See [`umbral_depth`].
///
/// No ball contains the light: the last coordinate x makes the distance `ρ + ln(1 + eˣ)` from o, with ρ
/// the radius; the others are the direction, as in pseudo-polar coordinates. The direction 0 counts as one at
/// an angle of 60° to all others, because it is 1 from every unit vector.
#[derive(Clone, Copy, Debug)]
pub struct FiniteUmbralCone {
    /// The radius ρ of the balls.
    pub radius: f64,
}

impl Default for FiniteUmbralCone {
    fn default() -> Self {
        FiniteUmbralCone { radius: 0.1 }
    }
}

/// Rows are directions, unit vectors, with three numbers: the distance r from the origin, the half-angle of
/// the shadow, and 1/sinh r. Parameters γ, c and sinh ρ.
impl PairFormula<3, 3, 3> for FiniteUmbralCone {
    const NAME: &'static str = "scores.finite_umbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, q: [S; 3], k: [S; 3], [gamma, c, radius]: [S; 3]) -> S {
        gamma * umbral_depth(normal(square), q, k, radius) - c
    }
}

pub(super) const FORMULA: Formula = Formula::pair(
    FiniteUmbralCone { radius: 0.1 },
    &[APART, DEPTH, SHADOW, SHADOW, DEPTH, SHADOW, SHADOW, SHARPNESS, OFFSET, Range(0.3, 1.2)],
);

impl FiniteUmbralCone {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let (distances, angle) = polar([q, k], self.radius);
        let ([a, b], radius) = (distances.map(f64::sinh), self.radius.sinh());
        let [of_a, of_b] = [a, b].map(|r| (radius / r).asin());
        let shadow = of_a.max(of_b).max(0.5 * (of_a + of_b + angle));
        let right_angle = std::f64::consts::FRAC_PI_2;
        if shadow < right_angle { (radius / shadow.sin()).asinh() } else { chord([a, b], angle).asinh() }
    }
}

impl<T: Float> Score<T> for FiniteUmbralCone {
    fn name(&self) -> &'static str {
        "umbral-finite"
    }
    fn about(&self) -> &'static str {
        "Umbral cones of a finite light source (Tseng et al. 2023)."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<3, 3, 3>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        let [rows, r, inverse, _] = outside(x, self.radius);
        let sine = inverse * self.radius.sinh();
        Operand { rows, numbers: Numbers::from_slice(&[r, half_angle(sine, sine), inverse]) }
    }
    fn scalars<'t>(&self, x: Var<'t, T>) -> Numbers<'t, T> {
        Numbers::from_slice(&[x.tape().scalar(self.radius.sinh())])
    }
    fn needs_height(&self) -> bool {
        true
    }
    fn setting(&self) -> Option<(&'static str, f64)> {
        Some(("radius", self.radius))
    }
    fn set(&mut self, value: f64) {
        self.radius = value;
    }
}

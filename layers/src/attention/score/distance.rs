//! The distance in the Poincaré ball. Gulcehre et al. 2019, eq. 2; López & Strube 2020, eq. 8.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::Formula;
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::PoincareBall;

use super::{FACTOR, Numbers, OFFSET, Operand, PointMap, SHARPNESS, SQUARE, Score, Side, distance_from_sinh};

/// `−β d(exp₀ q, exp₀ k) − c` in the Poincaré ball of curvature −1. The distance on the
/// hyperboloid is the same. By the map [`Weierstrass`](PointMap::Weierstrass) in place of exp₀, x is the
/// point `(√(1 + ‖x‖²), x)` of the hyperboloid. Gulcehre et al. 2019, eq. 2; López & Strube 2020,
/// eq. 8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance;

/// From half the conformal factors of both points, `1/(1 − ‖x‖²)`:
/// `sinh(d/2) = ‖x − y‖ √(λ_x λ_y)/2`.
impl PairFormula<1, 1, 2> for Distance {
    const NAME: &'static str = "scores.distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [x]: [S; 1], [y]: [S; 1], [beta, c]: [S; 2]) -> S {
        -beta * distance_from_sinh((square * (x * y)).sqrt()) - c
    }
}

/// Maps whose rows are a point's coordinates. [`PolarDistance`](super::PolarDistance) takes polar ones and
/// [`HalfSpaceDistance`](super::HalfSpaceDistance) those of the half-space, both farther from the origin.
const CARTESIAN: [PointMap; 2] = [PointMap::Exp, PointMap::Weierstrass];

pub(super) const FORMULA: Formula = Formula::pair(Distance, &[SQUARE, FACTOR, FACTOR, SHARPNESS, OFFSET]);

impl Distance {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let ball = PoincareBall::new(-1.0);
        -ball.dist(&ball.exp0(q), &ball.exp0(k))
    }
}

impl<T: Float> Score<T> for Distance {
    fn name(&self) -> &'static str {
        "distance"
    }
    fn about(&self) -> &'static str {
        "Hyperbolic distance, in the ball or on the hyperboloid (Gulcehre et al. 2019)."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<1, 1, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
        self.prepare_by(CARTESIAN[0], x, side)
    }
    fn maps(&self) -> &'static [PointMap] {
        &CARTESIAN
    }
    fn prepare_by<'t>(&self, map: PointMap, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        let rows = map.ball(&x);
        Operand { rows, numbers: Numbers::from_slice(&[0.5 * PoincareBall::new(-1.0).lambda(&rows)]) }
    }
}

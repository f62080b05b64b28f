//! The distance in the half-space, over the map ψ. Tseng et al. 2023, eq. 10.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::Formula;
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::formulas::half_space::distance;
use cotangent_manifolds::{HalfSpace, Manifold};

use super::{
    BY_PSI, FACTOR, Numbers, OFFSET, Operand, PointMap, SHARPNESS, SQUARE, Score, Side, normal, parts,
};

/// `−β d(ψ(q), ψ(k)) − c` in the half-space of curvature −1.
///
/// For last coordinates up to ±42 (`f64`: ±345). Beyond that, the square of a distance between half-space
/// coordinates overflows or underflows. It is then taken as the type's largest number or as 0, without a
/// gradient. Scores and gradients stay finite, but are not those of the distance. Tseng et al. 2023, eq. 10
/// for ψ.
#[derive(Clone, Copy, Debug, Default)]
pub struct HalfSpaceDistance;

/// From the inverse roots of both heights, `1/√x_n`. The rows are whole points, including the heights.
impl PairFormula<1, 1, 2> for HalfSpaceDistance {
    const NAME: &'static str = "scores.half_space_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [x]: [S; 1], [y]: [S; 1], [beta, c]: [S; 2]) -> S {
        let root = normal(square).sqrt().sqrt();
        -beta * distance(root * x, root * y) - c
    }
}

pub(super) const FORMULA: Formula =
    Formula::pair(HalfSpaceDistance, &[SQUARE, FACTOR, FACTOR, SHARPNESS, OFFSET]);

impl HalfSpaceDistance {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let half_space = HalfSpace::new(-1.0);
        -half_space.dist(&half_space.psi(q), &half_space.psi(k))
    }
}

impl<T: Float> Score<T> for HalfSpaceDistance {
    fn name(&self) -> &'static str {
        "half-space"
    }
    fn about(&self) -> &'static str {
        "Hyperbolic distance in the half-space, through the map psi (Tseng et al. 2023)."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<1, 1, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, side: Side) -> Operand<'t, T> {
        self.prepare_by(BY_PSI[0], x, side)
    }
    fn maps(&self) -> &'static [PointMap] {
        &BY_PSI
    }
    fn prepare_by<'t>(&self, map: PointMap, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        let rows = map.half_space(&x, 1.0);
        // Below this the derivative of the inverse root would overflow, and squares underflow.
        let lowest = x.tape().scalar(if T::EPSILON < 1e-10 { 1e-200 } else { 1e-25 });
        Operand { rows, numbers: Numbers::from_slice(&[lowest.maximum(parts(rows)[1]).sqrt().recip()]) }
    }
    fn needs_height(&self) -> bool {
        true
    }
}

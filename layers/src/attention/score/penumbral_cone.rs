//! Penumbral cones. Tseng et al. 2023, eq. 5 to 7.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::HalfSpace;
use cotangent_manifolds::shadow_cones::penumbral_height_of_gaps;

use super::{
    BY_XI, HEIGHT, Numbers, OFFSET, Operand, PointMap, SHARPNESS, SQUARE, Score, Side, cone_score, normal,
    parts,
};

/// `−γ H(ξ(q), ξ(k)) − c`: H is the height of the lowest penumbral cone that contains both points, for
/// a light source at a given height: see
/// [`penumbral_height`](cotangent_manifolds::shadow_cones::penumbral_height).
/// Tseng et al. 2023, eq. 5 to 7, eq. 11 for ξ.
#[derive(Clone, Copy, Debug)]
pub struct PenumbralCone {
    /// The height of the light source, h = r: 1 in the paper.
    pub light: f64,
}

/// From the heights and the [gaps](HalfSpace::penumbral_gap) of query and key; parameters γ, c and the
/// height of the light source. The rows are the horizontal parts alone.
impl PairFormula<2, 2, 3> for PenumbralCone {
    const NAME: &'static str = "scores.penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, q: [S; 2], k: [S; 2], [gamma, c, light]: [S; 3]) -> S {
        -gamma * height(square, q, k, light) - c
    }
}

/// `−γH² − c` in place of the `−γH − c` of [`PenumbralCone`], as in the released program of Tseng
/// et al. 2023, which produced the paper's figures.
#[derive(Clone, Copy, Debug)]
pub struct ReleasedPenumbralCone {
    /// The height of the light source, h = r.
    pub light: f64,
}

impl PairFormula<2, 2, 3> for ReleasedPenumbralCone {
    const NAME: &'static str = "scores.released_penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, q: [S; 2], k: [S; 2], [gamma, c, light]: [S; 3]) -> S {
        -gamma * height(square, q, k, light).square() - c
    }
}

/// The height of the lowest cone, from the squared horizontal distance and the numbers of both rows.
#[inline(always)]
fn height<S: Scalar>(square: S, [q, q_gap]: [S; 2], [k, k_gap]: [S; 2], light: S) -> S {
    penumbral_height_of_gaps(normal(square).sqrt(), [q, k], [q_gap, k_gap], light)
}

/// Far enough above the heights that are drawn that some cone always contains both points: without one
/// the slope is different.
const LIGHT: Range = Range(1.5, 2.0);
const GAP: Range = Range(0.05, 0.4);

pub(super) const FORMULA: Formula = Formula::pair(
    PenumbralCone { light: 1.0 },
    &[SQUARE, HEIGHT, GAP, HEIGHT, GAP, SHARPNESS, OFFSET, LIGHT],
);
pub(super) const RELEASED: Formula = Formula::pair(
    ReleasedPenumbralCone { light: 1.0 },
    &[SQUARE, HEIGHT, GAP, HEIGHT, GAP, SHARPNESS, OFFSET, LIGHT],
);

/// Points by a map; those above the light are lowered to its height. Tseng et al. 2023, section 5.1.
fn lit<T: Float>(map: PointMap, x: Var<'_, T>, light: f64) -> Var<'_, T> {
    let points = map.half_space(&x, light);
    if map == PointMap::Xi {
        return points; // already at most as high
    }
    let [rows, heights] = parts(points);
    // At the light's height the derivative is that of the height.
    let heights = x.tape().scalar(light).min(heights);
    Var::concat(&[rows, heights.reshape(heights.shape().with_width(1))], -1)
}

impl PenumbralCone {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let (half_space, light) = (HalfSpace::new(-1.0), self.light);
        -half_space.penumbral_ancestor(&half_space.xi(q, light), &half_space.xi(k, light), light)
    }
}

cone_score! {
    PenumbralCone { light: 1.0 } by PenumbralCone of 2, "penumbral",
    "Penumbral cones (Tseng et al. 2023).", BY_XI;
    |self, x, map| lit(map, x, self.light),
    |point| [HalfSpace::new(-1.0).penumbral_gap(&point, self.light)], self.light
}
impl ReleasedPenumbralCone {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        -PenumbralCone { light: self.light }.by_hand(q, k).powi(2)
    }
}

cone_score! {
    ReleasedPenumbralCone { light: 1.0 } by ReleasedPenumbralCone of 2, "penumbral-released",
    "Penumbral cones as in the released program of Tseng et al. 2023: squared heights.", BY_XI;
    |self, x, map| lit(map, x, self.light),
    |point| [HalfSpace::new(-1.0).penumbral_gap(&point, self.light)], self.light
}

//! Penumbral cones. Tseng et al. 2023, eq. 5 to 7.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Scalar, Var};
use cotangent_manifolds::HalfSpace;
use cotangent_manifolds::shadow_cones::penumbral_height;

use super::{HEIGHT, Numbers, OFFSET, Operand, SHARPNESS, SQUARE, Score, Side, cone_score, parts};

/// `−γ H(ξ(q), ξ(k)) − c`: H is the height of the lowest penumbral cone that contains both points, for
/// a light source at a given height: see [`penumbral_height`]. Tseng et al. 2023, eq. 5 to 7, eq. 11 for ξ.
#[derive(Clone, Copy, Debug)]
pub struct PenumbralCone {
    /// The height of the light source, h = r: 1 in the paper.
    pub light: f64,
}

/// From the heights of query and key; parameters γ, c and the height of the light source. The rows are
/// the horizontal parts alone.
impl PairFormula<1, 1, 3> for PenumbralCone {
    const NAME: &'static str = "scores.penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, light]: [S; 3]) -> S {
        -gamma * penumbral_height(square.sqrt(), q, k, light) - c
    }
}

/// `−γH² − c` in place of the `−γH − c` of [`PenumbralCone`], as in the released program of Tseng
/// et al. 2023, which produced the paper's figures.
#[derive(Clone, Copy, Debug)]
pub struct ReleasedPenumbralCone {
    /// The height of the light source, h = r.
    pub light: f64,
}

impl PairFormula<1, 1, 3> for ReleasedPenumbralCone {
    const NAME: &'static str = "scores.released_penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, light]: [S; 3]) -> S {
        -gamma * penumbral_height(square.sqrt(), q, k, light).square() - c
    }
}

/// Far enough above the heights that are drawn that some cone always contains both points: without one
/// the slope is different.
const LIGHT: Range = Range(1.5, 2.0);

pub(super) const FORMULA: Formula =
    Formula::pair(PenumbralCone { light: 1.0 }, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, LIGHT]);
pub(super) const RELEASED: Formula =
    Formula::pair(ReleasedPenumbralCone { light: 1.0 }, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, LIGHT]);

cone_score! {
    PenumbralCone { light: 1.0 } by PenumbralCone, "penumbral", "Penumbral cones (Tseng et al. 2023).";
    |self, x| HalfSpace::new(-1.0).xi(&x, self.light), self.light
}
cone_score! {
    ReleasedPenumbralCone { light: 1.0 } by ReleasedPenumbralCone, "penumbral-released",
    "Penumbral cones as in the released program of Tseng et al. 2023: squared heights.";
    |self, x| HalfSpace::new(-1.0).xi(&x, self.light), self.light
}

//! Umbral cones. Tseng et al. 2023, eq. 8.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Tensor, Var};
use cotangent_manifolds::HalfSpace;
use cotangent_manifolds::shadow_cones::umbral_height;

use super::{
    BY_PSI, HEIGHT, Numbers, OFFSET, Operand, PointMap, SHARPNESS, SQUARE, Score, Side, cone_score, normal,
    parts,
};

/// `−γ H(ψ(q), ψ(k)) − c`: H is the height of the lowest umbral cone that contains both points, for
/// balls of a given hyperbolic radius: see [`umbral_height`].
///
/// For last coordinates up to 88 (`f64`: 709), where the height reaches the type's largest number. In
/// `f32`, horizontal distances above 1.7·10¹⁹ count as 1.7·10¹⁹. Farther up, scores are finite, but
/// gradients need not be. Tseng et al. 2023, eq. 8.
#[derive(Clone, Copy, Debug)]
pub struct UmbralCone {
    /// The radius of the balls: 0.1 in the paper.
    pub radius: f64,
}

/// From the heights of query and key; parameters γ, c and sinh r of the radius r of the balls. The rows
/// are the horizontal parts alone.
impl PairFormula<1, 1, 3> for UmbralCone {
    const NAME: &'static str = "scores.umbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, slope]: [S; 3]) -> S {
        -gamma * umbral_height(normal(square).sqrt(), q, k, slope) - c
    }
}

/// Same as [`UmbralCone`], with heights `exp(x_d/d)` in place of `exp x_d` for d-dimensional queries and
/// keys, as in the released program of Tseng et al. 2023, which produced the paper's figures.
#[derive(Clone, Copy, Debug)]
pub struct ReleasedUmbralCone {
    /// The radius of the balls.
    pub radius: f64,
}

pub(super) const FORMULA: Formula =
    Formula::pair(UmbralCone { radius: 0.1 }, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, Range(0.3, 1.2)]);

/// Rows with the last of d coordinates divided by d.
fn lowered<T: Float>(x: Var<'_, T>) -> Var<'_, T> {
    let d = x.shape().width();
    let factor = |i| T::nearest(if i + 1 == d { 1.0 / d as f64 } else { 1.0 });
    x * x.tape().constant(&Tensor::from_fn([d], factor))
}

impl UmbralCone {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let half_space = HalfSpace::new(-1.0);
        -half_space.umbral_ancestor(&half_space.psi(q), &half_space.psi(k), self.radius)
    }
}

cone_score! {
    UmbralCone { radius: 0.1 } by UmbralCone of 1, "umbral", "Umbral cones (Tseng et al. 2023).", BY_PSI;
    |self, x, map| map.half_space(&x, 1.0), |_point| [], self.radius.sinh()
}
impl ReleasedUmbralCone {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let [q, k] = [q, k].map(|x| {
            let (mut x, d) = (x.clone(), x.len());
            x[d - 1] /= d as f64;
            x
        });
        UmbralCone { radius: self.radius }.by_hand(&q, &k)
    }
}

cone_score! {
    ReleasedUmbralCone { radius: 0.1 } by UmbralCone of 1, "umbral-released",
    "Umbral cones as in the released program of Tseng et al. 2023: heights exp(x/d).", BY_PSI;
    |self, x, map| map.half_space(&lowered(x), 1.0), |_point| [], self.radius.sinh()
}

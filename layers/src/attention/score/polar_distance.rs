//! The distance of points in polar coordinates. Gulcehre et al. 2019, section 4.1.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};
use cotangent_manifolds::{Lorentz, Manifold, direction};

use super::{Numbers, OFFSET, Operand, SHARPNESS, Score, Side, distance_from_sinh, parts, squares};

/// `−β d(q, k) − c` in hyperbolic space of curvature −1, of points in pseudo-polar coordinates: the
/// last coordinate is the distance from the origin, the others the direction. A negative distance means the
/// opposite direction. The direction 0 means the origin, whatever the distance.
///
/// Works for all distances from the origin that the type can hold, and tells them apart. In `f32`
/// directions closer than 3·10⁻¹⁹ count as one direction where a point is beyond 44. Gulcehre
/// et al. 2019, eq. 2 and section 4.1.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolarDistance;

impl PolarDistance {
    /// Up to this distance from the origin the formula is used as it stands: sinh² of more overflows in
    /// `f32`.
    pub const NEAR: f64 = 44.0;

    /// The distance of points one of which is farther from the origin than [`NEAR`](Self::NEAR). The
    /// part of r beyond that is a factor `e^(r − 44)` of its sinh, to the last digit:
    /// `4 sinh²(d/2) = e^2t factor`. In the logarithm of this nothing overflows.
    #[inline(always)]
    fn distant<S: Scalar>(square: S, [r, sinh_r]: [S; 2], [s, sinh_s]: [S; 2]) -> S {
        let (half, [least, _]) = (S::constant(0.5), squares::<S>());
        let excess = |r: S| S::zero().max(r - S::constant(Self::NEAR));
        let (gap, nearer) = ((r - s).abs(), r.min(s));
        let aligned = square.lt(least);
        let t = half * S::select(aligned, gap, excess(r) + excess(s));
        // ½ gap − t, without the terms that cancel.
        let left = r.max(s).min(S::constant(Self::NEAR)) - nearer - excess(nearer);
        let along = -(-gap).exp_m1() * (half * S::select(aligned, S::zero(), left)).exp();
        let factor = along.square() + S::select(aligned, S::zero(), square * sinh_r * sinh_s);
        let same = factor.lt(least);
        let logarithm = t + half * S::select(same, S::one(), factor).ln();
        // Beyond this, sinh is half of the exponential.
        let limit = S::constant(40.0);
        let sinh = half * logarithm.min(limit).exp();
        let beyond = S::constant(2.0) * S::zero().max(logarithm - limit);
        S::select(same, S::zero(), distance_from_sinh(sinh) + beyond)
    }
}

/// Rows are directions, unit vectors n, with two numbers: the distance r ≥ 0 from the origin, and sinh r,
/// or sinh 44 where r is larger ([`NEAR`](PolarDistance::NEAR)).
/// `sinh²(d/2) = sinh²((r − s)/2) + sinh r sinh s ‖n − m‖²/4`, in which nothing cancels.
impl PairFormula<2, 2, 2> for PolarDistance {
    const NAME: &'static str = "scores.polar_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [r, sinh_r]: [S; 2], [s, sinh_s]: [S; 2], [beta, c]: [S; 2]) -> S {
        let distance = S::choose(
            r.max(s).lt(S::constant(Self::NEAR)),
            #[inline(always)]
            || {
                let along = (S::constant(0.5) * (r - s)).sinh().square();
                let across = S::constant(0.25) * square * sinh_r * sinh_s;
                // Rounding may leave the sum below 0. At 0 the derivative is that of the sum.
                distance_from_sinh(S::zero().max(along + across).sqrt())
            },
            #[inline(always)]
            || Self::distant(square, [r, sinh_r], [s, sinh_s]),
        );
        -beta * distance - c
    }
}

const POLAR: Range = Range(0.2, 3.0);

pub(super) const FORMULA: Formula =
    Formula::pair(PolarDistance, &[Range(0.1, 3.5), POLAR, POLAR, POLAR, POLAR, SHARPNESS, OFFSET]);

impl PolarDistance {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let hyperboloid = Lorentz::new(-1.0);
        -hyperboloid.dist(&hyperboloid.pseudo_polar(q), &hyperboloid.pseudo_polar(k))
    }
}

impl<T: Float> Score<T> for PolarDistance {
    fn name(&self) -> &'static str {
        "polar-distance"
    }
    fn about(&self) -> &'static str {
        "Hyperbolic distance of points in pseudo-polar coordinates (Gulcehre et al. 2019)."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<2, 2, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        let ([d, r], tape) = (parts(x), x.tape());
        // No gradient passes through the mask.
        let sign = tape.scalar(1.0).masked_fill((-r).relu(), -1.0);
        let direction = direction(&d);
        // Without a direction the point is the origin, at whatever distance.
        let nowhere = tape.scalar(1.0).masked_fill(direction.norm_axis(-1), 0.0);
        let rows = direction * sign.reshape(r.shape().with_width(1));
        let r = r.abs().masked_fill(nowhere, 0.0);
        // At equality the derivative is that of r.
        let sinh = tape.scalar(PolarDistance::NEAR).min(r).sinh();
        Operand { rows, numbers: Numbers::from_slice(&[r, sinh]) }
    }
    fn needs_height(&self) -> bool {
        true
    }
}

//! Attention scores of all pairs of a query and a key, as pair formulas: for
//! [`Tape::pairs`](cotangent_engine::Tape::pairs), and for
//! [`Tape::attend`](cotangent_engine::Tape::attend), which never stores them.
//!
//! | score | formula | source |
//! |---|---|---|
//! | dot product | [`Dot`] | Vaswani et al. 2017, eq. 1 |
//! | distance in the ball | [`BallDistance`] | Gulcehre et al. 2019, eq. 2; López & Strube 2020, eq. 8 |
//! | distance of points in polar coordinates | [`PolarDistance`] | Gulcehre et al. 2019, eq. 2, section 4.1 |
//! | distance in the half-space | [`HalfSpaceDistance`] | the same, over ψ |
//! | penumbral cones | [`PenumbralCone`] | Tseng et al. 2023, eq. 5 to 7 |
//! | umbral cones | [`UmbralCone`] | Tseng et al. 2023, eq. 8 |
//! | Laplacian kernel | [`Laplacian`] | Tseng et al. 2023, section 4 |
//! | the same, as released | [`SquaredPenumbralCone`] | the program of Tseng et al. 2023 |
//! | additive | [`Additive`] | Veličković et al. 2018, eq. 3 |
//!
//! [`BallDistance`] also gives the distance on the hyperboloid, from the images of its points in the
//! ball.

use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{PairFormula, Pairing, Scalar};

use crate::hyperbolic::half_space::formulas::separation;
use crate::shadow_cones::{penumbral_height, umbral_height};

/// `γ⟨x, y⟩ − c`; parameters γ, c.
#[derive(Clone, Copy, Debug)]
pub struct Dot;

impl PairFormula<0, 0, 2> for Dot {
    const NAME: &'static str = "scores.dot";
    const PAIRING: Pairing = Pairing::Dot;
    #[inline(always)]
    fn eval<S: Scalar>(dot: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
        gamma * dot - c
    }
}

/// The distance in hyperbolic space of curvature −1, from `sinh(d/2)`.
#[inline(always)]
fn distance<S: Scalar>(sinh: S) -> S {
    S::constant(2.0) * sinh.asinh()
}

/// `−βd(x, y) − c` in the Poincaré ball of curvature −1, from half the conformal factors of both,
/// `1/(1 − ‖x‖²)`; parameters β, c. `sinh(d/2) = ‖x − y‖ √(λ_x λ_y)/2`.
#[derive(Clone, Copy, Debug)]
pub struct BallDistance;

impl PairFormula<1, 1, 2> for BallDistance {
    const NAME: &'static str = "scores.ball_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [x]: [S; 1], [y]: [S; 1], [beta, c]: [S; 2]) -> S {
        -beta * distance((square * (x * y)).sqrt()) - c
    }
}

/// `−βd(x, y) − c` in hyperbolic space of curvature −1, of points in polar coordinates; parameters β, c.
/// Rows are directions, unit vectors n, with two numbers: the distance r ≥ 0 from the origin, and
/// sinh r, or sinh 44 where r is larger ([`NEAR`](Self::NEAR)).
/// `sinh²(d/2) = sinh²((r − s)/2) + sinh r sinh s ‖n − m‖²/4`, in which nothing cancels.
///
/// Works for all distances from the origin that the type can hold, and tells them apart. In `f32`
/// directions closer than 3·10⁻¹⁹ count as one direction where a point is beyond 44.
#[derive(Clone, Copy, Debug)]
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
        S::select(same, S::zero(), distance(sinh) + beyond)
    }
}

impl PairFormula<2, 2, 2> for PolarDistance {
    const NAME: &'static str = "scores.polar_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [r, sinh_r]: [S; 2], [s, sinh_s]: [S; 2], [beta, c]: [S; 2]) -> S {
        let distance = S::choose(
            r.max(s).lt(S::constant(Self::NEAR)),
            #[inline(always)]
            || {
                let along = (S::constant(0.5) * (r - s)).sinh().square();
                let across = S::constant(0.25) * square * sinh_r * sinh_s;
                // Zero comes first, so that NaN gives NaN.
                distance(S::zero().max(along + across).sqrt())
            },
            #[inline(always)]
            || Self::distant(square, [r, sinh_r], [s, sinh_s]),
        );
        -beta * distance - c
    }
}

/// The smallest and the largest square that all formulas here can handle.
#[inline(always)]
fn squares<S: Scalar>() -> [S; 2] {
    if S::EPSILON < 1e-10 { [1e-300, 1e308] } else { [1e-37, 3e38] }.map(S::constant)
}

/// The square of a distance: 0 if it is too small for the type, and the largest number if it is too
/// large, which is finite. Both have no gradient.
#[inline(always)]
fn normal<S: Scalar>(square: S) -> S {
    let [least, largest] = squares::<S>();
    // The constant comes first, so that NaN gives NaN.
    let square = largest.min(square);
    S::select(square.lt(least), S::zero(), square)
}

/// `−βd(x, y) − c` in the half-space of curvature −1, from the inverse roots of both heights, `1/√x_n`;
/// parameters β, c. The rows are whole points, including the heights.
#[derive(Clone, Copy, Debug)]
pub struct HalfSpaceDistance;

impl PairFormula<1, 1, 2> for HalfSpaceDistance {
    const NAME: &'static str = "scores.half_space_distance";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [x]: [S; 1], [y]: [S; 1], [beta, c]: [S; 2]) -> S {
        let root = normal(square).sqrt().sqrt();
        -beta * separation(root * x, root * y).2 - c
    }
}

/// `−γH − c`, with H the height of the lowest penumbral cone that contains both points: see
/// [`penumbral_height`]. From the heights of query and key; parameters γ, c and the height of the light
/// source. The rows are the horizontal parts alone.
#[derive(Clone, Copy, Debug)]
pub struct PenumbralCone;

impl PairFormula<1, 1, 3> for PenumbralCone {
    const NAME: &'static str = "scores.penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, light]: [S; 3]) -> S {
        -gamma * penumbral_height(square.sqrt(), q, k, light) - c
    }
}

/// `−γH² − c`, with H as for [`PenumbralCone`], as in the released program of Tseng et al. 2023.
#[derive(Clone, Copy, Debug)]
pub struct SquaredPenumbralCone;

impl PairFormula<1, 1, 3> for SquaredPenumbralCone {
    const NAME: &'static str = "scores.squared_penumbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, light]: [S; 3]) -> S {
        -gamma * penumbral_height(square.sqrt(), q, k, light).square() - c
    }
}

/// `−γH − c`, with H the height of the lowest umbral cone that contains both points: see
/// [`umbral_height`]. From the heights of query and key; parameters γ, c and sinh r of the radius r of
/// the balls. The rows are the horizontal parts alone.
#[derive(Clone, Copy, Debug)]
pub struct UmbralCone;

impl PairFormula<1, 1, 3> for UmbralCone {
    const NAME: &'static str = "scores.umbral_cone";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, [q]: [S; 1], [k]: [S; 1], [gamma, c, slope]: [S; 3]) -> S {
        -gamma * umbral_height(normal(square).sqrt(), q, k, slope) - c
    }
}

/// `−γ‖x − y‖ − c`, the logarithm of the Laplacian kernel; parameters γ, c.
#[derive(Clone, Copy, Debug)]
pub struct Laplacian;

impl PairFormula<0, 0, 2> for Laplacian {
    const NAME: &'static str = "scores.laplacian";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    #[inline(always)]
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
        -gamma * square.sqrt() - c
    }
}

/// `γ LeakyReLU(x + y) − c` from one number of each row, with slope 0.2 where the sum is negative;
/// parameters γ, c. The rows themselves are not used.
#[derive(Clone, Copy, Debug)]
pub struct Additive;

impl PairFormula<1, 1, 2> for Additive {
    const NAME: &'static str = "scores.additive";
    const PAIRING: Pairing = Pairing::Dot;
    #[inline(always)]
    fn eval<S: Scalar>(_: S, [x]: [S; 1], [y]: [S; 1], [gamma, c]: [S; 2]) -> S {
        let sum = x + y;
        gamma * S::select(S::zero().lt(sum), sum, S::constant(0.2) * sum) - c
    }
}

const SQUARE: Range = Range(0.1, 4.0);
const FACTOR: Range = Range(1.0, 5.0);
const HEIGHT: Range = Range(0.2, 1.0);
const SHARPNESS: Range = Range(0.5, 2.0);
const OFFSET: Range = Range(-1.0, 1.0);
const POLAR: Range = Range(0.2, 3.0);
const RADIUS: Range = Range(0.3, 1.2);
/// Far enough above the heights that are drawn that some cone always contains both points: without one
/// the slope is different.
const LIGHT: Range = Range(1.5, 2.0);

/// All scores, for the test that compares their evaluations.
pub const ALL: &[Formula] = &[
    Formula::pair(BallDistance, &[SQUARE, FACTOR, FACTOR, SHARPNESS, OFFSET]),
    Formula::pair(PolarDistance, &[Range(0.1, 3.5), POLAR, POLAR, POLAR, POLAR, SHARPNESS, OFFSET]),
    Formula::pair(HalfSpaceDistance, &[SQUARE, FACTOR, FACTOR, SHARPNESS, OFFSET]),
    Formula::pair(PenumbralCone, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, LIGHT]),
    Formula::pair(UmbralCone, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, RADIUS]),
    Formula::pair(Laplacian, &[SQUARE, SHARPNESS, OFFSET]),
    Formula::pair(Additive, &[SQUARE, Range(-2.0, -0.5), Range(-1.5, 0.4), SHARPNESS, OFFSET]),
    Formula::pair(SquaredPenumbralCone, &[SQUARE, HEIGHT, HEIGHT, SHARPNESS, OFFSET, LIGHT]),
    Formula::pair(Dot, &[Range(-2.0, 2.0), SHARPNESS, OFFSET]),
];

//! Shadow cones of a finite light source at the origin, at curvature −1. Sources: Ganea, Bécigneul,
//! Hofmann 2018, Hyperbolic Entailment Cones, section 4; Tseng, Yu, Liu, De Sa 2023, section 2.3; the
//! depths of ancestors are this project's own.
//!
//! In the penumbral order the light is a ball of radius R, and the shadow of x lies between the geodesics
//! through x that touch it. Half the angle at x is `arcsin(sinh R/sinh r)` for x at the distance r from the
//! origin: these are the entailment cones of Ganea et al. with 2K = sinh R
//! ([`EntailmentCones`](crate::EntailmentCones)). In the umbral order the light is a point, and points are
//! balls of radius ρ: y descends from x if its ball is wholly in the shadow of x's ball.
//!
//! A shadow ends in an arc of the boundary at infinity. Seen from the origin, half of this arc is
//!
//! | order | half-angle of the shadow |
//! |---|---|
//! | penumbral | `σ(r) = arccos(tanh R) − arccos(tanh R/tanh r)` |
//! | umbral | `σ(r) = arcsin(sinh ρ/sinh r)` |
//!
//! and y descends from x exactly where its arc lies in that of x, `θ + σ(y) ≤ σ(x)` for an angle θ
//! between the two. So the deepest common ancestor, the one farthest from the light, has the half-angle
//! `max(σ(x), σ(y), ½(σ(x) + σ(y) + θ))`, and its depth follows. As a score of attention, the depth is
//! eq. 4 of Tseng et al. for a finite light source.

use std::f64::consts::FRAC_PI_2;

use cotangent_engine::Scalar;
use cotangent_engine::scalar::chosen;

/// Distance from the origin of the deepest common ancestor of two points in the penumbral order of a light
/// source with `light` = sinh R. `square` is the squared distance of their directions, which are unit
/// vectors. Each point gives its distance r from the origin, the half-angle σ(r) of its shadow and
/// `coth r − 1`. `widest` is the largest half-angle, `σ(R) = 2 arctan e^{−R}`.
///
/// Two points without a common ancestor have a geodesic between them that passes through the light. The
/// result is then its distance from the origin: the radius of the largest light source with an ancestor of
/// both. Tseng et al. 2023, eq. 6, does the same for infinite light.
#[inline(always)]
pub fn penumbral_depth<S: Scalar>(square: S, x: [S; 3], y: [S; 3], [light, widest]: [S; 2]) -> S {
    // With a = coth r and b = coth s, sinh² of the geodesic's distance from the origin is
    // sin²θ/(a² + b² − 2ab cos θ − sin²θ). Here both are less by 1: far away they are near 1.
    let ([_, _, a], [_, _, b]) = (x, y);
    let reach = (a - b).square() + square * (a + b + a * b + S::constant(0.25) * square);
    ancestor(
        [square, widest, reach],
        [x, y],
        #[inline(always)]
        |shadow| {
            let (half, two) = (S::constant(0.5), S::constant(2.0));
            let (sin, cos) = (half * shadow).sin_cos();
            half * (two / (two * sin * (cos / light - sin))).ln_1p()
        },
    )
}

/// Distance from the origin of the deepest common ancestor of two points in the umbral order of balls with
/// `radius` = sinh ρ, and light from the origin. `square` is the squared distance of their directions, which
/// are unit vectors. Each point gives its distance r from the origin, the half-angle σ(r) of its shadow and
/// `1/sinh r`.
///
/// Two points without a common ancestor have one for smaller balls. The result is the radius of the largest
/// such balls.
#[inline(always)]
pub fn umbral_depth<S: Scalar>(square: S, x: [S; 3], y: [S; 3], radius: S) -> S {
    let ([_, _, a], [_, _, b]) = (x, y);
    let (widest, reach) = (S::constant(FRAC_PI_2), (a - b).square() + square * (a * b));
    ancestor(
        [square, widest, reach],
        [x, y],
        #[inline(always)]
        |shadow| (radius / shadow.sin()).asinh(),
    )
}

/// The depth of the deepest common ancestor. `depth` takes the half-angle of a shadow, of which `widest` is
/// the largest. Without an ancestor it is `arsinh(sin θ/√reach)`.
#[inline(always)]
fn ancestor<S: Scalar>(
    [square, widest, reach]: [S; 3],
    [[r, of_x, _], [s, of_y, _]]: [[S; 3]; 2],
    depth: impl FnOnce(S) -> S,
) -> S {
    // Unit vectors at an angle θ are 2 sin(θ/2) apart.
    let opposite = S::zero().max(S::constant(4.0) - square);
    let quarter = (square.sqrt() / (S::constant(2.0) + opposite.sqrt())).atan();
    let shadow = S::constant(0.5) * (of_x + of_y) + S::constant(2.0) * quarter;
    let wider = of_x.max(of_y);
    let common = S::choose(
        widest.lt(shadow),
        #[inline(always)]
        || {
            let sine = S::constant(0.25) * square * opposite;
            let positive = S::zero().lt(reach);
            (sine / S::select(positive, reach, S::one())).sqrt().asinh()
        },
        #[inline(always)]
        || S::select(wider.lt(shadow), depth(shadow), r.min(s)),
    );
    chosen(shadow, shadow, common)
}

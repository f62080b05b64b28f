//! Points of geodesics as linear combinations of their ends. The combinations are in flat coordinates
//! with one dimension more, those of the hyperboloid or the sphere. With d the distance of the ends and
//! sin_κ(s) = sinh(√-κ s)/√-κ for κ < 0, sin(√κ s)/√κ for κ > 0,
//!
//! ```text
//! γ(t) = (sin_κ((1 − t) d) x + sin_κ(t d) y)/sin_κ d
//! ```
//!
//! Source: Shoemake 1985, section 3.3 (spherical linear interpolation). Between distant points the
//! exponential map of the logarithm would amplify the rounding of the velocity by sinh(√-κ d); this form
//! does not.

use cotangent_engine::Scalar;

/// t, limited for κ < 0 to a distance of `reach`/√-κ beyond the ends, given s = κd². `reach` must be
/// enough to reach the boundary in every storage format.
#[inline(always)]
pub(crate) fn within<S: Scalar>(s: S, t: S, reach: f64) -> S {
    let (zero, one) = (S::zero(), S::one());
    let curved = s.lt(zero);
    let length = S::select(curved, -s, one).sqrt();
    let beyond = S::select(curved, S::constant(reach) / length, S::constant(1e300));
    let (lower, upper) = (-beyond, one + beyond);
    S::select(t.lt(lower), lower, S::select(upper.lt(t), upper, t))
}

/// The coefficients of x and y in the point at time t, given s = κd². t must be [`within`] its bounds.
#[inline(always)]
pub(crate) fn parts<S: Scalar>(s: S, t: S) -> [S; 2] {
    [part(s, S::one() - t), part(s, t)]
}

/// Half of 1 minus the sum of the parts: `sin_κ(t d/2) sin_κ((1 − t) d/2)/cos_κ(d/2)` times −κ.
#[inline(always)]
pub(crate) fn half_deficit<S: Scalar>(s: S, t: S) -> S {
    let (r, quarter) = (S::one() - t, S::constant(0.25) * s);
    let sines = t * r * (t.square() * quarter).sinc() * (r.square() * quarter).sinc();
    -quarter * sines / quarter.cosc()
}

/// `sin_κ(r d)/sin_κ d`.
#[inline(always)]
fn part<S: Scalar>(s: S, r: S) -> S {
    let long = S::constant(-900.0);
    S::choose(
        s.lt(long),
        // The sine of d is half an exponential here and may overflow; the quotient is formed in the
        // exponents.
        #[inline(always)]
        || {
            let (d, one) = ((-s.min(long)).sqrt(), S::one());
            ((r - one) * d).exp() - (-(r + one) * d).exp()
        },
        #[inline(always)]
        || r * (r.square() * s).sinc() / s.max(long).sinc(),
    )
}

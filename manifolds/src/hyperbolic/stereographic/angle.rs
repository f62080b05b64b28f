//! Angles that the model's formulas share: the arc sine, and the turn of a gyration.

use std::f64::consts::FRAC_PI_2;

use cotangent_engine::Scalar;

/// `arcsinc`; where rounding takes its argument beyond 1 (antipodal points, κ > 0), π/2 with slope 0.
#[inline(always)]
pub(super) fn half_angle<S: Scalar>(s: S) -> S {
    let below = s.lt(S::one());
    let arc = S::select(below, s, S::zero()).arcsinc();
    S::select(below, arc, S::constant(FRAC_PI_2))
}

/// Coefficients of x and d = y − x in `gyr[y, ⊖x] v − v`: law 6 in differences,
/// `(2/D)(A d − κ(κ‖d‖²⟨x, v⟩ + m_x⟨d, v⟩) x)`,
/// `A = κ⟨x, v⟩(m_y − κ‖d‖²) − κ(m_x − 1)⟨d, v⟩`.
#[inline(always)]
pub(super) fn turn<S: Scalar>(mx: S, my: S, dd: S, xv: S, dv: S, kappa: S) -> [S; 2] {
    let factor = S::constant(2.0) * kappa / (mx * my - kappa * dd);
    let of_d = xv * (my - kappa * dd) - (mx - S::one()) * dv;
    let of_x = kappa * dd * xv + mx * dv;
    [-factor * of_x, factor * of_d]
}

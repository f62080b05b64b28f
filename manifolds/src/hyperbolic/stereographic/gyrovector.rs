//! The gyrovector operations of the model as row formulas: Ungar's algebra of points.

use cotangent_engine::{Scalar, row_formulas};

use super::angle::{half_angle, turn};
use super::ranges::{KAPPA, STEP};

row_formulas! {
    /// All formulas here, for the test that compares their evaluations.
    pub(super) ALL;

    /// Möbius addition x ⊕ y. Ganea et al. 2018, eq. 4; with e = x + y it is
    /// `(m_x e − κ‖e‖² x)/(m_x m_y − κ‖e‖²)`.
    pub Add = "stereographic.add": vector [Input(0), Input(1), Sum(0, 1)], domain Ball, kernel specialised,
        tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), ee = Dot(2, 2), kappa = Param(0) => {
        let (mm, ke) = (mx * my, kappa * ee);
        let den = mm - ke;
        // At the boundary the coefficient is near 1. The derivative of a quotient near 1 cancels, so it
        // is computed as 1 minus the rest.
        let of_x = S::select(mm.lt(-ke), S::one() - mm / den, -ke / den);
        [of_x, S::zero(), mx / den]
    };

    /// Möbius co-addition x ⊞ y, commutative: `(m_y x + m_x y)/(1 − κ²‖x‖²‖y‖²)`.
    ///
    /// With e = x + y and d = y − x the numerator is `((m_x + m_y) e + (m_x − m_y) d)/2`, which keeps
    /// its digits where the points are nearly opposite. The denominator is `m_x + m_y − m_x m_y`. Law 11.
    pub CoAdd = "stereographic.coadd": vector [Input(0), Input(1), Sum(0, 1), Difference(1, 0)],
        domain Ball, tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), ee = Dot(2, 2), dd = Dot(3, 3), ed = Dot(2, 3), kappa = Param(0) => {
        let (sum, mm, half, zero) = (mx + my, mx * my, S::constant(0.5), S::zero());
        // m_x − m_y = −κ⟨e, d⟩: takes the form with the smaller terms.
        let by_product = (kappa.square() * ee * dd).lt(sum.square());
        let difference = S::select(by_product, -kappa * ed, mx - my);
        let den = sum - mm;
        // If one point is much nearer to the boundary, its coefficient is near 1. The derivative of a
        // quotient near 1 cancels, so it is computed as 1 minus the rest; likewise near ½.
        let first = mx.lt(my);
        let [smaller, larger] = [S::select(first, mx, my), S::select(first, my, mx)];
        let [major, minor] = [S::one() - smaller * (S::one() - larger) / den, smaller / den];
        let uneven = (half * sum).lt((mx - my).abs());
        [
            S::select(uneven, S::select(first, major, minor), zero),
            S::select(uneven, S::select(first, minor, major), zero),
            S::select(uneven, zero, half + half * mm / den),
            S::select(uneven, zero, half * difference / den),
        ]
    };

    /// Gyration gyr[x, y] w: the rotation by which x ⊕ (y ⊕ w) and (x ⊕ y) ⊕ w differ. Ungar 2008;
    /// law 6, written with e = x + y in place of the products that cancel.
    pub Gyration = "stereographic.gyration": vector [Input(0), Input(1), Sum(0, 1), Input(2)],
        tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), ee = Dot(2, 2), yw = Dot(1, 3), ew = Dot(2, 3), kappa = Param(0) => {
        // The turn from ⊖y to x: their difference is e.
        let [of_y, of_e] = turn(my, mx, ee, -yw, ew, kappa);
        [S::zero(), -of_y, of_e, S::one()]
    };

    /// Möbius scalar multiplication r ⊗ x, r = parameter 1. Ganea et al. 2018, eq. 5.
    pub Scale = "stereographic.scale": vector [Input(0)], domain Ball, kernel specialised,
        tested in Ball [KAPPA, STEP];
    mx = Margin(0), xx = Dot(0, 0), kappa = Param(0), r = Param(1) => {
        let a = r * stretched(mx, xx, kappa);
        // Beyond 1 the tangent itself is used. Its slope is small there, and products of quotients reach
        // that only by cancelling.
        let long = (kappa * xx * a.square()).lt(-S::one());
        let norm = S::select(long, -kappa * xx, S::one()).sqrt();
        [S::select(long, (norm * a).tanh() / norm, a * shrunk(xx * a.square(), kappa))]
    };

    /// The exponential map at the origin, `tan_κ(‖v‖) v/‖v‖`. Ganea et al. 2018, eq. 11.
    pub Exp0 = "stereographic.exp0": vector [Input(0)], domain Ball, kernel specialised,
        tested in Ball [KAPPA];
    vv = Dot(0, 0), kappa = Param(0) => [shrunk(vv, kappa)];

    /// The logarithm at the origin, `tan_κ⁻¹(‖x‖) x/‖x‖`. Ganea et al. 2018, eq. 11.
    pub Log0 = "stereographic.log0": vector [Input(0)], kernel specialised, tested in Ball [KAPPA];
    mx = Margin(0), xx = Dot(0, 0), kappa = Param(0) => [stretched(mx, xx, kappa)];
}

/// `artanh(√-κ‖x‖)/(√-κ‖x‖)` for κ < 0, `arctan(√κ‖x‖)/(√κ‖x‖)` for κ > 0.
///
/// `artanh` is computed from the margin, `arctanc(s) = arcsinc(s/(1+s))/√(1+s)`, which is accurate at
/// the boundary.
#[inline(always)]
fn stretched<S: Scalar>(mx: S, xx: S, kappa: S) -> S {
    let s = kappa * xx;
    S::choose(
        S::zero().lt(s),
        #[inline(always)]
        || s.arctanc(),
        #[inline(always)]
        || half_angle(s / mx) / mx.sqrt(),
    )
}

/// `tanh(√-κ‖v‖)/(√-κ‖v‖)` for κ < 0, `tan(√κ‖v‖)/(√κ‖v‖)` for κ > 0.
#[inline(always)]
fn shrunk<S: Scalar>(vv: S, kappa: S) -> S {
    // Where the square overflows, the point has long reached the boundary.
    (kappa * vv.min(S::constant(1e270))).tanc()
}

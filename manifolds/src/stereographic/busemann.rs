//! The Busemann function of an ideal point, as a row formula: the signed distance to its horosphere through the origin.

use cotangent_engine::{Invariant, RowFormula, Scalar, Vector};

use Invariant::{Along, Dot, Margin, Param, Wedge};
use Vector::Input;

/// `B_ω(x) = (1/√c) ln(‖u − √c x‖²/m_x)`, u = ω/‖ω‖ and κ = −c < 0: the limit of d(x, γ(t)) − t along the unit speed
/// geodesic γ from the origin towards ω, which gives a direction and need not be of any length. Law 24.
///
/// Near ω, `‖u − √c x‖² = (1 − √c‖x‖)² + 2√c (‖x‖ − ⟨x, u⟩)`, the last difference from the area that x and u span.
#[derive(Clone, Copy, Debug)]
pub struct Busemann;

impl RowFormula<2, 2, 6, 1> for Busemann {
    const NAME: &'static str = "stereographic.busemann";
    const VECTOR: bool = false;
    const BASIS: [Vector; 2] = [Input(0), Input(1)];
    const INVARIANTS: [Invariant; 6] =
        [Margin(0), Dot(0, 0), Along(0, 1), Dot(1, 1), Wedge(1, 0, 0), Param(0)];
    #[inline(always)]
    fn eval<S: Scalar>([mx, xx, xu, ww, area, kappa]: [S; 6]) -> [S; 1] {
        let (two, c) = (S::constant(2.0), (-kappa).sqrt());
        let x = xx.sqrt();
        let beside = S::select(S::zero().lt(xu), area / ww / (x + xu), x - xu);
        let gap = mx / (S::one() + c * x);
        let ratio = (gap.square() + two * c * beside) / mx;
        // Near the horosphere through the origin, the ratio less 1.
        let t = two * c * (c * xx - xu) / mx;
        let near = t.abs().lt(S::constant(0.5));
        [S::select(near, t.ln_1p(), ratio.ln()) / c]
    }
}

//! The Busemann function of an ideal point, as a row formula: the signed distance to its horosphere
//! through the origin.

use cotangent_engine::{Invariant, RowFormula, Scalar, Vector};

use crate::hyperbolic::ideal::by_components;

use Invariant::{Along, Dot, Margin, Param, Wedge};
use Vector::Input;

/// `B_ω(x) = (1/√c) ln(‖u − √c x‖²/m_x)`, u = ω/‖ω‖ and κ = −c < 0: the limit of d(x, γ(t)) − t along
/// the unit speed geodesic γ from the origin towards ω. The length of ω does not matter. Law 24.
#[derive(Clone, Copy, Debug)]
pub struct Busemann;

impl RowFormula<2, 2, 6, 1> for Busemann {
    const NAME: &'static str = "stereographic.busemann";
    const VECTOR: bool = false;
    const BASIS: [Vector; 2] = [Input(0), Input(1)];
    const INVARIANTS: [Invariant; 6] =
        [Margin(0), Dot(0, 0), Along(0, 1), Dot(1, 1), Wedge(1, 0, 0), Param(0)];
    cotangent_engine::compiled_here!(row);
    #[inline(always)]
    fn eval<S: Scalar>([mx, xx, xu, ww, area, kappa]: [S; 6]) -> [S; 1] {
        let (scale, c) = (S::constant(2.0) / mx, -kappa);
        let (rise, along) = (scale * c * xx, scale * c.sqrt() * xu);
        [by_components(rise, along, scale.square() * c * (area / ww), kappa)]
    }
}

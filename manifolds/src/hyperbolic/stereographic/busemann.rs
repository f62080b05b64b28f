//! The Busemann function of an ideal point, as a row formula: the signed distance to its horosphere
//! through the origin.

use cotangent_engine::row_formulas;

use super::ranges::NEGATIVE;
use crate::hyperbolic::ideal::by_components;

row_formulas! {
    /// All formulas here, for the test that compares their evaluations.
    pub(super) ALL;

    /// `B_ω(x) = (1/√c) ln(‖u − √c x‖²/m_x)`, u = ω/‖ω‖ and κ = −c < 0: the limit of
    /// d(x, γ(t)) − t along the unit speed geodesic γ from the origin towards ω. The length of ω does
    /// not matter. Law 24.
    pub Busemann = "stereographic.busemann": number [Input(0), Input(1)], tested in Ball [NEGATIVE];
    mx = Margin(0), xx = Dot(0, 0), xu = Along(0, 1), ww = Dot(1, 1), area = Wedge(1, 0, 0),
    kappa = Param(0) => {
        let (scale, c) = (S::constant(2.0) / mx, -kappa);
        let (rise, along) = (scale * c * xx, scale * c.sqrt() * xu);
        by_components(rise, along, scale.square() * c * (area / ww), kappa)
    };
}

//! Gyroplanes, the hyperplanes of the model, and the logits of multinomial regression with them, as row
//! formulas. Sources: Ganea, Bécigneul, Hofmann 2018, section 3.1; Shimizu, Mukuta, Harada 2021 (HNN++),
//! section 3.1.

use cotangent_engine::registry::{Formula, Range, Sample::Ball};
use cotangent_engine::{Invariant, PairFormula, Pairing, RowFormula, Scalar, Vector, row_formulas};

use super::angle::half_angle;
use super::ranges::{KAPPA, STEP};
use Invariant::{Dot, Margin, Param};
use Vector::{Difference, Input};

const BASIS: [Vector; 4] = [Input(0), Input(1), Input(2), Difference(0, 1)];
const INVARIANTS: [Invariant; 7] =
    [Margin(0), Margin(1), Dot(3, 3), Dot(3, 2), Dot(1, 2), Dot(2, 2), Param(0)];

/// Returns `‖a‖ sin_κ⁻¹(t/‖a‖)`, for a t that is 0 where a is 0, and ‖a‖.
///
/// Where a = 0 the slope is that of t, as at κ = 0, so that normals can be learned from zero.
#[inline(always)]
fn arc<S: Scalar>(t: S, aa: S, kappa: S) -> (S, S) {
    let a = aa.sqrt();
    // Where a is 0 or NaN, the sine is a itself.
    let sine = S::select(S::zero().lt(a), t / a, a);
    (t * half_angle(kappa * sine.square()), a)
}

/// The signed distance to the gyroplane times ‖a‖, with w = ⊖p ⊕ x and d = x − p:
/// `2⟨w, a⟩/(1 + κ‖w‖²) = 2 (m_p ⟨d, a⟩ + κ‖d‖² ⟨p, a⟩)/(m_p m_x)`.
#[inline(always)]
fn weighed<S: Scalar>([mx, mp, dd, da, pa, aa, kappa]: [S; 7]) -> (S, S) {
    let t = S::constant(2.0) * (mp * da + kappa * dd * pa) / (mp * mx);
    arc(t, aa, kappa)
}

/// Signed distance from x to the gyroplane through p with normal a. Ganea et al. 2018, eq. 21; law 49.
#[derive(Clone, Copy, Debug)]
pub struct Gyroplane;

impl RowFormula<3, 4, 7, 1> for Gyroplane {
    const NAME: &'static str = "stereographic.gyroplane";
    const VECTOR: bool = false;
    const BASIS: [Vector; 4] = BASIS;
    const INVARIANTS: [Invariant; 7] = INVARIANTS;
    cotangent_engine::compiled_here!(row);
    #[inline(always)]
    fn eval<S: Scalar>(invariants: [S; 7]) -> [S; 1] {
        let (distance, a) = weighed(invariants);
        [S::select(S::zero().lt(a), distance / a, a)]
    }
}

/// The logit of x for the class whose gyroplane goes through p with normal a: `λ_p ‖a‖` times the signed
/// distance. Ganea et al. 2018, eq. 23.
#[derive(Clone, Copy, Debug)]
pub struct Logit;

impl RowFormula<3, 4, 7, 1> for Logit {
    const NAME: &'static str = "stereographic.logit";
    const VECTOR: bool = false;
    const BASIS: [Vector; 4] = BASIS;
    const INVARIANTS: [Invariant; 7] = INVARIANTS;
    cotangent_engine::compiled_here!(row);
    #[inline(always)]
    fn eval<S: Scalar>(invariants: [S; 7]) -> [S; 1] {
        [S::constant(2.0) / invariants[1] * weighed(invariants).0]
    }
}

row_formulas! {
    /// All formulas here, for the test that compares their evaluations.
    pub(super) ALL and [
        Formula::row(Gyroplane, Ball, &[KAPPA]),
        Formula::row(Logit, Ball, &[KAPPA]),
        Formula::pair(Logits, &[Range(-0.3, 0.3), Range(1.0, 3.0), Range(-0.3, 0.3), Range(0.2, 1.0), KAPPA]),
    ];

    /// What points are multiplied with for a class with point p and normal a: `n = λ_p² (m_p a −
    /// 2κ⟨p, a⟩ p)`. The numerator of [`Logit`] is
    /// `m_p ⟨d, a⟩ + κ‖d‖² ⟨p, a⟩ = (⟨x, n⟩ − (2 − m_x) q)/λ_p²`, with q of
    /// [`LogitOffset`].
    pub LogitNormal = "stereographic.logit_normal": vector [Input(0), Input(1)], domain Free,
        tested in Ball [KAPPA];
    mp = Margin(0), pa = Dot(0, 1), kappa = Param(0) => {
        let lambda = S::constant(2.0) / mp;
        [S::constant(-2.0) * kappa * pa * lambda.square(), S::constant(2.0) * lambda]
    };

    /// The offset of a class with point p and normal a, `q = λ_p² ⟨p, a⟩`.
    pub LogitOffset = "stereographic.logit_offset": number [Input(0), Input(1)], tested in Ball [KAPPA];
    mp = Margin(0), pa = Dot(0, 1) => S::constant(4.0) * pa / mp.square();

    /// `v = 1/(λ_p ‖a‖)` of a class with point p and normal a; 0 where a is 0.
    pub LogitScale = "stereographic.logit_scale": number [Input(0), Input(1)], tested in Ball [KAPPA];
    mp = Margin(0), aa = Dot(1, 1) => S::constant(0.5) * mp * inverse_root(aa);

    /// The logit of x for the class of direction z and offset r = parameter 1,
    /// `2‖z‖ sin_κ⁻¹(λ_x ⟨x, z/‖z‖⟩ cosh(2√c r) − (λ_x − 1) sinh(2√c r)/√c)`
    /// for κ = −c < 0 and its continuation: [`Logit`] with p = exp₀(r z/‖z‖) and
    /// a = sech²(√c r) z, so that no p or a must be kept on a manifold. Shimizu et al. 2021, eq. 6; law
    /// 50.
    pub UnidirectionalLogit = "stereographic.unidirectional_logit": number [Input(0), Input(1)],
        tested in Ball [KAPPA, STEP];
    mx = Margin(0), xz = Dot(0, 1), zz = Dot(1, 1), r = Param(1), kappa = Param(0) => {
        let [normal, offset] = unidirectional(r, kappa);
        let class = [offset * zz.sqrt(), unidirectional_scale(zz)];
        multiplied_out(normal * xz / mx, (S::constant(2.0) - mx) / mx, class, kappa)
    };

    /// The right rows n of [`Logits`] for a class of direction z and offset r = parameter 1.
    pub UnidirectionalNormal = "stereographic.unidirectional_normal": vector [Input(0)],
        tested in Ball [KAPPA, STEP];
    kappa = Param(0), r = Param(1) => [unidirectional(r, kappa)[0]];

    /// The offset q of a class of direction z and offset r = parameter 1.
    pub UnidirectionalOffset = "stereographic.unidirectional_offset": number [Input(0)],
        tested in Ball [KAPPA, STEP];
    z = Along(0, 0), kappa = Param(0), r = Param(1) => unidirectional(r, kappa)[1] * z;

    /// The scale v of a class of direction z.
    pub UnidirectionalScale = "stereographic.unidirectional_scale": number [Input(0)], tested in Ball [];
    zz = Dot(0, 0) => unidirectional_scale(zz);
}

/// `1/√s`; where s is 0 or NaN, s itself.
#[inline(always)]
fn inverse_root<S: Scalar>(s: S) -> S {
    let positive = S::zero().lt(s);
    S::select(positive, S::select(positive, s, S::one()).sqrt().recip(), s)
}

/// `t sin_κ⁻¹(t v)/(t v)` with `t = xn − l q`: a logit from the product of a point and a class. See
/// [`Logits`].
#[inline(always)]
fn multiplied_out<S: Scalar>(xn: S, l: S, [q, v]: [S; 2], kappa: S) -> S {
    let t = xn - l * q;
    t * half_angle(kappa * (t * v).square())
}

/// The logits of all pairs of a point and a class, those of [`Logit`] or [`UnidirectionalLogit`]: with the
/// left rows ½λ_x x, of number λ_x − 1, and the right rows n, of the numbers q and v, it is
/// `t sin_κ⁻¹(t v)/(t v)` for `t = ½λ_x ⟨x, n⟩ − (λ_x − 1) q`. The parameter is κ. Where x is
/// near the class's point, the terms of t cancel.
#[derive(Clone, Copy, Debug)]
pub struct Logits;

impl PairFormula<1, 2, 1> for Logits {
    const NAME: &'static str = "stereographic.logits";
    cotangent_engine::compiled_here!(pair);
    const PAIRING: Pairing = Pairing::Dot;
    #[inline(always)]
    fn eval<S: Scalar>(xn: S, [l]: [S; 1], class: [S; 2], [kappa]: [S; 1]) -> S {
        multiplied_out(xn, l, class, kappa)
    }
}

/// For a class of direction z and offset r: n as a multiple of z, `4 cosh(2√c r)`, and
/// `q/‖z‖ = 2 sinh(2√c r)/√c`, for κ = −c < 0 and its continuation.
#[inline(always)]
fn unidirectional<S: Scalar>(r: S, kappa: S) -> [S; 2] {
    let four = S::constant(4.0);
    let (sinc, cosc) = (four * kappa * r.square()).sinc_cosc();
    [four * cosc, four * r * sinc]
}

/// `v = 1/(2‖z‖)`; 0 where z is 0.
#[inline(always)]
fn unidirectional_scale<S: Scalar>(zz: S) -> S {
    S::constant(0.5) * inverse_root(zz)
}

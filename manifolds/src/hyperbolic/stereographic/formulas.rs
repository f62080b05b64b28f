//! The row formulas of the model. Parameter 0 is κ.

use std::f64::consts::FRAC_PI_2;

use cotangent_engine::registry::{self, Formula};
use cotangent_engine::{Scalar, norm, row_formulas};

use super::angle::{half_angle, turn};
pub use super::busemann::*;
pub use super::gyroplane::*;
pub use super::gyrovector::*;
use super::ranges::{KAPPA, STEP};
use super::{busemann, gyroplane, gyrovector};
use crate::hyperbolic::geodesic::{half_deficit, parts, within};

row_formulas! {
    /// Those of this file.
    OWN;

    /// Distance between x and y: `2√q arcsinc(κq)`, q = ‖d‖²/(m_x m_y). For κ < 0 that is
    /// `(2/√-κ) arsinh √(-κq)`.
    pub Dist = "stereographic.dist": number [Input(0), Input(1), Difference(1, 0)], kernel specialised,
        tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), dd = Dot(2, 2), extreme = Extreme(2), kappa = Param(0) => {
        let (zero, one) = (S::zero(), S::one());
        // Where ‖d‖² underflows, ‖d‖ is taken out of the root. Where it overflows, the margins do,
        // and the distance is NaN.
        let length = S::select(dd.lt(one), extreme, zero);
        let tiny = zero.lt(length);
        let q = S::select(tiny, one, dd) / (mx * my);
        let root = q.sqrt();
        let root = S::select(tiny, length * root, root);
        S::constant(2.0) * root * half_angle(S::select(tiny, zero, kappa * q))
    };

    /// Exponential map at x of v: x ⊕ y with `y = tanc(κ‖v‖²/m_x²) v/m_x`.
    ///
    /// The margin of y is `sech²`, and ‖x + y‖² comes from the area that x and v span, so both
    /// coefficients have all their digits. The coefficient of x is near 1 at the boundary; it is computed
    /// as 1 minus a product, because the derivative of a quotient near 1 cancels. Where v takes the
    /// geodesic back past the origin the coefficients are large, up to λ_x, and their terms cancel. The
    /// error of the result's coordinates is then an ulp of these terms, as much as rounding v itself
    /// causes. Ganea et al. 2018, eq. 10.
    pub Exp = "stereographic.exp": vector [Input(0), Input(1)], domain Ball, kernel specialised,
        tested in Ball [KAPPA];
    mx = Margin(0), xx = Dot(0, 0), xv = Dot(0, 1), vv = Dot(1, 1), area = Wedge(0, 1, 1),
    kappa = Param(0) => exp(mx, xx, xv, vv, area, kappa);

    /// Logarithm at x of y: `A (m_x d + κ‖d‖² x)` with `A = m_x arcsinc(κq)/√(m_x m_y D)`; at the
    /// antipode 0, as on the sphere.
    pub Log = "stereographic.log": vector [Input(0), Input(1), Difference(1, 0)], kernel specialised,
        tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), dd = Dot(2, 2), xx = Dot(0, 0), xy = Dot(0, 1),
    area = Wedge(0, 1, 1), kappa = Param(0) => {
        let (pair, zero) = (Opposite::new([mx, my, dd, xx, xy, area], kappa), S::zero());
        let a = mx * pair.half_angle() / (pair.whole * pair.cosine).sqrt();
        let scale = S::select(pair.defined, a, zero);
        let outward = (pair.p - S::one()) * pair.inner + kappa * area / pair.square;
        [
            S::select(pair.beyond, scale * (outward - mx * pair.p), a * kappa * dd),
            S::select(pair.beyond, scale * mx, zero),
            S::select(pair.beyond, zero, a * mx),
        ]
    };

    /// The point at time t = parameter 1 of the geodesic from x to y: the sum `(A x/m_x + B y/m_y)/h` with
    /// the parts A and B of the ends, `h = A/m_x + B/m_y + (1 − A − B)/2`. It is computed as a difference
    /// from the nearer end. Every term of h is positive for κ < 0 and t in [0, 1]. Beyond the ends, for
    /// κ < 0, h comes from `height_beyond`; on the sphere the sums may cancel.
    pub Geodesic = "stereographic.geodesic": vector [Input(0), Input(1), Difference(1, 0)], domain Ball,
        tested in Ball [KAPPA, STEP];
    mx = Margin(0), my = Margin(1), xd = Dot(0, 2), yd = Dot(1, 2), dd = Dot(2, 2),
    area = Wedge(0, 2, 2), kappa = Param(0), t = Param(1) => {
        let quarter = kappa * dd / (mx * my);
        let s = S::constant(4.0) * quarter * half_angle(quarter).square();
        let t = within(s, t, FARTHEST);
        let ([a, b], deficit) = (parts(s, t), half_deficit(s, t));
        let (of_x, of_y, zero, one) = (a / mx, b / my, S::zero(), S::one());
        let first = of_y.lt(of_x);
        let beyond = S::select(kappa.lt(zero), t * (one - t), one).lt(zero);
        let margins = [S::select(first, mx, my), S::select(first, my, mx)];
        let (outward, part) = (S::select(first, xd, -yd), S::select(first, b, a));
        let cosh = (S::select(first, t, one - t).square() * s).cosc();
        let height = height_beyond(margins, outward, dd, area, part, cosh, kappa);
        let h = S::select(beyond, height, of_x + of_y + deficit);
        let whole = one - deficit / h;
        [S::select(first, whole, zero), S::select(first, zero, whole), S::select(first, of_y, -of_x) / h]
    };

    /// Parallel transport of v from x to y, `(λ_x/λ_y) gyr[y, ⊖x] v`.
    ///
    /// The gyration turns v by the angle `2 arctan(κ √area/(1 + κ⟨x, y⟩))` in the plane of x and y.
    /// At the antipode that angle is undefined; there v is reflected in x, so that on the sphere it stays the
    /// same vector.
    pub Transport = "stereographic.transport": vector [Input(0), Input(1), Difference(1, 0), Input(2)],
        kernel specialised, tested in Ball [KAPPA];
    mx = Margin(0), my = Margin(1), dd = Dot(2, 2), xx = Dot(0, 0), xy = Dot(0, 1),
    area = Wedge(0, 1, 1), xv = Dot(0, 3), yv = Dot(1, 3), dv = Dot(2, 3), kappa = Param(0) => {
        let (ratio, zero, two) = (my / mx, S::zero(), S::constant(2.0));
        let [of_x, of_d] = turn(mx, my, dd, xv, dv, kappa);
        let pair = Opposite::new([mx, my, dd, xx, xy, area], kappa);
        // ⟨x∧y, x∧v⟩.
        let aside = xx * yv - xy * xv;
        let factor = two * kappa / pair.cosine;
        let beside = S::select(pair.defined, factor * (pair.inner * xv - kappa * aside), zero);
        let along = -factor * (kappa * area * xv + pair.inner * aside) / pair.square;
        let along = S::select(pair.defined, along, -two * xv / pair.square);
        [
            ratio * S::select(pair.beyond, along - pair.p * beside, of_x),
            ratio * S::select(pair.beyond, beside, zero),
            ratio * S::select(pair.beyond, zero, of_d),
            ratio,
        ]
    };

    /// Riemannian gradient from the coordinate gradient g: `g/λ_x²`.
    pub EgradToRgrad = "stereographic.egrad_to_rgrad": vector [Input(0), Input(1)], tested in Ball [KAPPA];
    mx = Margin(0) => [S::zero(), inverse_metric(mx)];

    /// A step of Riemannian gradient descent: `exp_x(−t g/λ_x²)`, t = parameter 1.
    pub Descend = "stereographic.descend": vector [Input(0), Input(1)], domain Ball, kernel specialised,
        tested in Ball [KAPPA, STEP];
    mx = Margin(0), xx = Dot(0, 0), xg = Dot(0, 1), gg = Dot(1, 1), area = Wedge(0, 1, 1),
    kappa = Param(0), rate = Param(1) => descent(mx, xx, xg, gg, area, kappa, rate);

    /// Riemannian inner product of u and v at x: `λ_x²⟨u, v⟩`.
    pub Inner = "stereographic.inner": number [Input(0), Input(1), Input(2)], tested in Ball [KAPPA];
    mx = Margin(0), uv = Dot(1, 2) => uv / inverse_metric(mx);

    /// Riemannian norm of v at x: `λ_x‖v‖`.
    pub Norm = "stereographic.norm": number [Input(0), Input(1)], tested in Ball [KAPPA];
    mx = Margin(0), vv = Dot(1, 1), extreme = Extreme(1) => S::constant(2.0) * norm(vv, extreme) / mx;

    /// The conformal factor `λ_x = 2/m_x`: Riemannian lengths at x are this times those of the coordinates.
    pub Lambda = "stereographic.lambda": number [Input(0)], tested in Ball [KAPPA];
    mx = Margin(0) => S::constant(2.0) / mx;

    /// The size of the gyroline element, `‖v‖/m_x`.
    pub GyrolineElement = "stereographic.gyroline_element": number [Input(0), Input(1)],
        tested in Ball [KAPPA];
    mx = Margin(0), v = Along(1, 1) => v / mx;

    /// The identity on points; a row on or outside the boundary is scaled to just inside.
    pub Project = "stereographic.project": vector [Input(0)], domain Ball, tested in Ball [KAPPA];
    mx = Margin(0), xx = Dot(0, 0), extreme = Extreme(0), kappa = Param(0), epsilon = Epsilon => {
        // Only a ball has an outside. The margin of a row whose square overflows is NaN.
        let or_one = |outside: S| {
            let in_ball = S::select(S::zero().lt(mx), S::one(), outside);
            S::select(kappa.lt(S::zero()), in_ball, S::one())
        };
        // Inside, the root is not used; 1 keeps it and its derivative finite. Where the square overflows, the
        // norm takes its place.
        let huge = S::one().lt(extreme);
        let s = or_one(-kappa * S::select(huge, S::one(), xx));
        let length = or_one(S::select(huge, extreme, S::one()));
        [or_one(((S::one() - epsilon) / s).sqrt() / length)]
    };
}

/// Coefficients of x and v in the exponential map; `area` is `‖x‖²‖v‖² − ⟨x, v⟩²`.
#[inline(always)]
fn exp<S: Scalar>(mx: S, xx: S, xv: S, vv: S, area: S, kappa: S) -> [S; 2] {
    flow(mx, xx, xv, vv, area, kappa).0
}

/// Coefficients of x and v in the exponential map, and the parallel transport along the geodesic of a
/// vector w that is a multiple of v: it becomes `a ⟨v, w⟩ x + b w`.
///
/// With y = τ v as in the exponential map, D = m_x m_y − κ‖x + y‖² and E = m_x − κ‖x‖² m_y,
/// the differential of y ↦ x ⊕ y takes w to `(m_y/D²) (E w − κ τ ⟨v, w⟩ (D + E) x)`. Nothing
/// cancels for κ < 0.
#[inline(always)]
pub(super) fn flow<S: Scalar>(mx: S, xx: S, xv: S, vv: S, area: S, kappa: S) -> ([S; 2], [S; 2]) {
    // Where squares of v overflow, the map has long reached the boundary.
    let largest = S::constant(1e270);
    let vv = vv.min(largest);
    let per_mx = S::one() / mx;
    let (tanc, my) = (kappa * vv * per_mx.square()).tanc_secant();
    let tau = tanc * per_mx;
    let (x, v) = (xx.sqrt(), vv.sqrt());
    // ‖x + y‖². With an obtuse angle between them it is (‖x‖ − ‖y‖)² + 2
    // (‖x‖‖y‖ + ⟨x, y⟩); near the boundary the first difference comes from the margins.
    let y = tau * v;
    let sum = x + y;
    let by_margins = mx.max(my).lt(kappa.abs() * sum.square());
    let difference = S::select(by_margins, (mx - my) / (kappa * sum), x - y);
    // Where squares underflow, the two are treated as parallel.
    let wide = S::constant(f64::MIN_POSITIVE).lt(x * v - xv);
    let spread = S::select(wide, x * v - xv, S::one());
    let aside = S::select(wide, S::select(vv.lt(largest), tau * area / spread, S::zero()), S::zero());
    let obtuse = difference.square() + aside + aside;
    let ee = S::select(xv.lt(S::zero()), obtuse, xx + tau * (xv + xv + tau * vv));
    let den = mx * my - kappa * ee;
    let turn = mx - kappa * xx * my;
    let per_den = S::one() / den;
    let scale = my * per_den.square();
    let carried = [-kappa * tau * scale * (den + turn), scale * turn];
    let of_x = S::one() - kappa * (tau * vv * tau) * mx * per_den;
    ([of_x, mx * tau * per_den], carried)
}

/// Two points, for operations that are not defined at antipodes; d = y − x.
///
/// Beyond a right angle (κ > 0) `D = m_x m_y − κ‖d‖²` cancels, and so do combinations of x and d.
/// There D is computed as `(1 + κ⟨x, y⟩)² + κ² area`, and y is split into `p x`, with
/// p = ⟨x, y⟩/‖x‖², and the part orthogonal to x. Relative errors are then those of the angle to the
/// antipode.
struct Opposite<S: Scalar> {
    beyond: S::Mask,
    /// False where y is the antipode of x, up to rounding.
    defined: S::Mask,
    /// `m_x m_y`; and `κ‖d‖²`, which is `m_x m_y` times the squared sine of half the angle.
    whole: S,
    sine: S,
    /// D, which is `m_x m_y` times the squared cosine of half the angle.
    cosine: S,
    /// `1 + κ⟨x, y⟩`.
    inner: S,
    /// ‖x‖²; 1 where that is 0.
    square: S,
    p: S,
}

impl<S: Scalar> Opposite<S> {
    #[inline(always)]
    fn new([mx, my, dd, xx, xy, area]: [S; 6], kappa: S) -> Self {
        let (whole, sine, inner) = (mx * my, kappa * dd, S::one() + kappa * xy);
        let beyond = whole.lt(sine + sine);
        let cosine = S::select(beyond, inner.square() + kappa.square() * area, whole - sine);
        let square = S::select(S::zero().lt(xx), xx, S::one());
        let defined = (S::constant(1e-30) * whole).lt(cosine);
        Opposite { beyond, defined, whole, sine, cosine, inner, square, p: xy / square }
    }

    /// `arcsinc` of the squared sine of half the angle; beyond a right angle it is computed from the
    /// cosine.
    #[inline(always)]
    fn half_angle(&self) -> S {
        let square = self.sine / self.whole;
        let arc = half_angle(S::select(self.beyond, self.cosine / self.whole, square));
        let complement = S::constant(FRAC_PI_2) - (self.cosine / self.whole).sqrt() * arc;
        S::select(self.beyond, complement / square.sqrt(), arc)
    }
}

/// How far [`Geodesic`] goes beyond an end, at curvature −1: more than from one boundary of the ball in
/// `f64` to the other.
const FARTHEST: f64 = 100.0;

/// Half of 1 + Z₀ for the point Z beyond the end E of a geodesic to O, on the hyperboloid of curvature
/// −1: `Z = C E + B V`, `V = O − cosh d E`, with C the cosh of the distance from E and B < 0 the part of
/// O. It is computed from E's margin m and O's, the product `outward` of E with o − e, and the squared
/// area that the ends span.
///
/// Where Z lies back past the origin, `C E₀ + B V₀` is computed as
/// `(E₀² + C² − 1 + B² ‖E_s ∧ O_s‖²)/(C E₀ − B V₀)`. This holds because
/// `sinh² d E₀² − V₀² = sinh² d + ‖E_s ∧ O_s‖²`.
#[inline(always)]
fn height_beyond<S: Scalar>([m, other]: [S; 2], outward: S, dd: S, area: S, part: S, cosh: S, kappa: S) -> S {
    let (one, four, half) = (S::one(), S::constant(4.0), S::constant(0.5));
    let factor = four * kappa / (m * other);
    let time = (S::constant(2.0) - m) / m;
    let (along, lean) = (cosh * time, part * factor * (dd * (one - m) / m - outward));
    let square = time.square() + cosh.square() - one + (part * factor).square() * area;
    let back = lean.lt(S::zero());
    half * (one + S::select(back, square / (along - lean), along + lean))
}

/// `1/λ_x²`.
#[inline(always)]
pub(super) fn inverse_metric<S: Scalar>(mx: S) -> S {
    S::constant(0.25) * mx.square()
}

/// Coefficients of x and g in a step of descent; `area` is `‖x‖²‖g‖² − ⟨x, g⟩²`.
#[inline(always)]
pub(super) fn descent<S: Scalar>(mx: S, xx: S, xg: S, gg: S, area: S, kappa: S, rate: S) -> [S; 2] {
    let a = -rate * inverse_metric(mx);
    let [of_x, of_v] = exp(mx, xx, a * xg, a.square() * gg, a.square() * area, kappa);
    [of_x, a * of_v]
}

const LISTS: &[&[Formula]] = &[OWN, gyrovector::ALL, gyroplane::ALL, busemann::ALL];

/// All formulas of the model, for the test that compares their evaluations.
pub const ALL: &[Formula] = &registry::joined::<{ registry::count(LISTS) }>(LISTS);

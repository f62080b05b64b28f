//! Shadow cones: partial orders of the half-space in which a point's descendants lie in the shadow that
//! it casts. Source: Tseng, Yu, Liu, De Sa 2023, sections 2.3 and 3.1 and appendices 7.2 and 7.3, light
//! from infinitely far up.
//!
//! A cone is a function of heights and of the horizontal distance Δ. In the penumbral order light comes
//! from the horosphere at a height r, and a shadow lies below two semicircles of radius r. In the umbral
//! order light falls straight down on balls of hyperbolic radius r, and the cone is a triangle. The
//! height H of the lowest common ancestor of two points is an attention score, `−γH`, with
//! [`penumbral_height`] and [`umbral_height`] as its formulas.

use cotangent_engine::{Rows, Scalar};

use crate::hyperbolic::half_space::HalfSpace;

/// Height of the lowest cone that contains both points in the umbral order, from their heights and
/// horizontal distance `delta`, for balls of hyperbolic radius r at curvature −1; `slope` is sinh r:
/// `max(q, k, ½(Δ/sinh r + q + k))`. Tseng et al. 2023, eq. 8.
#[inline(always)]
pub fn umbral_height<S: Scalar>(delta: S, q: S, k: S, slope: S) -> S {
    // Halves first: the sum of both heights may overflow.
    let half = S::constant(0.5);
    let crossing = half * delta / slope + (half * q + half * k);
    q.max(k).max(crossing)
}

/// Height of the lowest cone that contains both points in the penumbral order of a light source at height
/// `light` = r. If there is no such cone, it is the height of the lowest light source that has one. With
/// a = √(r² − q²) and b = √(r² − k²): for Δ ≤ a + b
/// `max(q, k, √(r² − ((a + b − Δ)/2)²))`, else the radius of the semicircle through both,
/// `√(Δ²/4 + (q² + k²)/2 + ((q² − k²)/2Δ)²)`.
///
/// For heights up to r; a point above the light source is treated as if its cone had no width. Tseng
/// et al. 2023, eq. 5 and 6.
#[inline(always)]
pub fn penumbral_height<S: Scalar>(delta: S, q: S, k: S, light: S) -> S {
    penumbral_height_of_gaps(delta, [q, k], [penumbral_gap(q, light), penumbral_gap(k, light)], light)
}

/// [`penumbral_height`] from the two heights and their [gaps](penumbral_gap). Attention computes the gaps
/// once for each row, not once for each pair.
///
/// With g half the sum of both gaps and of Δ, (a + b − Δ)/2 is r − g.
#[inline(always)]
pub fn penumbral_height_of_gaps<S: Scalar>(delta: S, [q, k]: [S; 2], gaps: [S; 2], light: S) -> S {
    let (half, quarter) = (S::constant(0.5), S::constant(0.25));
    let gap = half * ((gaps[0] + gaps[1]) + delta);
    // At 0 the derivative is that of the product.
    let crossing = S::zero().max(gap * (light + (light - gap)));
    let difference = (q - k) * (q + k) * delta.recip();
    let semicircle = quarter * (delta.square() + difference.square()) + half * (q.square() + k.square());
    // The semicircle through both is higher than either.
    q.max(k).max(S::select(light.lt(gap), semicircle, crossing).sqrt())
}

/// Horizontal distance of a point at this height from the centres of the semicircles of radius `light`
/// through it: √(r² − h²).
#[inline(always)]
fn penumbral_width<S: Scalar>(height: S, light: S) -> S {
    S::zero().max((light - height) * (light + height)).sqrt()
}

/// Horizontal distance of a point at this height from where the semicircle of radius `light` through it
/// meets the boundary: r − √(r² − h²), and r for a point above the light source. It is computed as
/// `h²/(r + √(r² − h²))`, because far below the source the difference would cancel.
#[inline(always)]
pub fn penumbral_gap<S: Scalar>(height: S, light: S) -> S {
    let below = height.min(light);
    below * (below / (light + penumbral_width(height, light)))
}

/// The energy of a point at height h, of which `slack` says by how much it is inside a cone, as a horizontal
/// distance. Outside it is the hyperbolic distance to the nearest point of the cone at the same height,
/// `2 arsinh(−slack/2h)`; inside it is 0. It does not change if all coordinates are scaled.
#[inline(always)]
pub fn energy<S: Scalar>(slack: S, height: S) -> S {
    let two = S::constant(2.0);
    two * ((-slack).max(S::zero()) / (two * height)).asinh()
}

/// The radius or the light of an order, for rows of the same level as these.
#[track_caller]
fn positive<R: Rows>(rows: &R, name: &str, value: f64) -> R::Scalar {
    assert!(
        value > 0.0 && value.is_finite(),
        "shadow cones: the {name} is {value}; a positive number is needed"
    );
    rows.constant(value)
}

/// The partial orders of shadow cones. Heights and horizontal distances are those of the rows; curvature
/// only scales distances and does not change the cones.
impl HalfSpace {
    /// Height of the lowest common ancestor of x and y in the umbral order: see [`umbral_height`].
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::HalfSpace;
    /// let m = HalfSpace::new(-1.0);
    /// let (x, y) = (Row::from([0.0, 1.0]), Row::from([4.0, 1.0]));
    /// let radius = 1.0_f64.asinh();
    /// assert!((m.umbral_ancestor(&x, &y, radius) - 3.0).abs() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// If `radius` is not positive and finite.
    #[track_caller]
    pub fn umbral_ancestor<R: Rows>(&self, x: &R, y: &R, radius: f64) -> R::Scalar {
        R::scalar(formulas::UmbralAncestor, [x, y], [&positive(x, "radius", radius)])
    }

    /// The lowest common ancestor of x and y in the umbral order, as a point: its cone is the lowest one
    /// that contains both. It lies above the segment between them. Its height is the
    /// [`umbral_ancestor`](Self::umbral_ancestor). Tseng et al. 2023, appendix 7.3 and Theorem 2.
    ///
    /// # Panics
    /// If `radius` is not positive and finite.
    #[track_caller]
    pub fn umbral_supremum<R: Rows>(&self, x: &R, y: &R, radius: f64) -> R {
        R::vector(formulas::UmbralSupremum, [x, y], [&positive(x, "radius", radius)])
    }

    /// By how much, as a horizontal distance, y is inside the umbral cone at x:
    /// `(x_n − y_n) sinh r − Δ` with r = `radius`, negative outside. x precedes y where it is not
    /// negative.
    ///
    /// # Panics
    /// If `radius` is not positive and finite.
    #[track_caller]
    pub fn umbral_slack<R: Rows>(&self, x: &R, y: &R, radius: f64) -> R::Scalar {
        R::scalar(formulas::UmbralSlack, [x, y], [&positive(x, "radius", radius)])
    }

    /// By how much, as a hyperbolic distance at κ = −1, y is outside the umbral cone at x: see [`energy`].
    ///
    /// # Panics
    /// If `radius` is not positive and finite.
    #[track_caller]
    pub fn umbral_energy<R: Rows>(&self, x: &R, y: &R, radius: f64) -> R::Scalar {
        R::scalar(formulas::UmbralEnergy, [x, y], [&positive(x, "radius", radius)])
    }

    /// Height of the lowest common ancestor of x and y in the penumbral order: see [`penumbral_height`].
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_ancestor<R: Rows>(&self, x: &R, y: &R, light: f64) -> R::Scalar {
        R::scalar(formulas::PenumbralAncestor, [x, y], [&positive(x, "light", light)])
    }

    /// The lowest common ancestor of x and y in the penumbral order, as a point: its cone is the lowest one
    /// that contains both. It lies in the vertical plane through them. If they have no common cone, it is
    /// the top of the geodesic through them, which the lowest light source with one touches. Its height is
    /// the [`penumbral_ancestor`](Self::penumbral_ancestor). Tseng et al. 2023, appendix 7.2 and Theorem 2.
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_supremum<R: Rows>(&self, x: &R, y: &R, light: f64) -> R {
        R::vector(formulas::PenumbralSupremum, [x, y], [&positive(x, "light", light)])
    }

    /// The [`penumbral_gap`] of x.
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_gap<R: Rows>(&self, x: &R, light: f64) -> R::Scalar {
        R::scalar(formulas::PenumbralGap, [x], [&positive(x, "light", light)])
    }

    /// By how much, as a horizontal distance, y is inside the penumbral cone at x:
    /// `√(r² − y_n²) − √(r² − x_n²) − Δ` with r = `light`, negative outside. x precedes y
    /// where it is not negative. A point above the light source counts as the point below it at the
    /// light's height, whose cone has no width.
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_slack<R: Rows>(&self, x: &R, y: &R, light: f64) -> R::Scalar {
        R::scalar(formulas::PenumbralSlack, [x, y], [&positive(x, "light", light)])
    }

    /// By how much, as a hyperbolic distance at κ = −1, y is outside the penumbral cone at x: see
    /// [`energy`]. A point above the light source counts as in [`penumbral_slack`](Self::penumbral_slack).
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn penumbral_energy<R: Rows>(&self, x: &R, y: &R, light: f64) -> R::Scalar {
        R::scalar(formulas::PenumbralEnergy, [x, y], [&positive(x, "light", light)])
    }
}

/// The row formulas of the cones. Parameter 0 is the radius, or the height of the light source.
pub mod formulas {
    use cotangent_engine::registry::{Formula, Range, Sample::HalfSpace};
    use cotangent_engine::{Invariant, Metric, RowFormula, Scalar, Vector, compiled_here, row_formulas};

    use super::{energy, penumbral_gap, penumbral_height, penumbral_width, umbral_height};
    use Invariant::{Along, Last, Param};
    use Vector::Difference;

    macro_rules! of_heights {
        ($(#[$doc:meta])* $name:ident $label:literal
         ($delta:ident, $x:ident, $y:ident, $r:ident) $body:expr) => {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl RowFormula<2, 1, 4, 1> for $name {
                const NAME: &'static str = $label;
                const VECTOR: bool = false;
                const METRIC: Metric = Metric::Horizontal;
                const BASIS: [Vector; 1] = [Difference(1, 0)];
                const INVARIANTS: [Invariant; 4] = [Along(0, 0), Last(0), Last(1), Param(0)];
                compiled_here!(row);
                #[inline(always)]
                fn eval<S: Scalar>([$delta, $x, $y, $r]: [S; 4]) -> [S; 1] {
                    [$body]
                }
            }
        };
    }

    of_heights! {
        /// [`umbral_height`] of two points.
        UmbralAncestor "shadow_cones.umbral_ancestor"
        (delta, x, y, radius) umbral_height(delta, x, y, radius.sinh())
    }
    of_heights! {
        /// [`penumbral_height`] of two points.
        PenumbralAncestor "shadow_cones.penumbral_ancestor"
        (delta, x, y, light) penumbral_height(delta, x, y, light)
    }
    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL and [
            Formula::row(UmbralAncestor, HalfSpace, &[RADIUS]),
            Formula::row(PenumbralAncestor, HalfSpace, &[LIGHT]),
            Formula::row(UmbralSlack, HalfSpace, &[RADIUS]),
            Formula::row(UmbralEnergy, HalfSpace, &[RADIUS]),
            Formula::row(PenumbralSlack, HalfSpace, &[LIGHT]),
            Formula::row(PenumbralEnergy, HalfSpace, &[LIGHT]),
        ];

        /// The lowest common ancestor in the umbral order: from x the share `(H − x_n) sinh r/Δ` of the
        /// way to y, at most 1.
        pub UmbralSupremum = "shadow_cones.umbral_supremum":
            vector [Input(0), Difference(1, 0), Height], metric Horizontal, tested in HalfSpace [RADIUS];
        delta = Along(1, 1), x = Last(0), y = Last(1), radius = Param(0) => {
            let height = umbral_height(delta, x, y, radius.sinh());
            [S::one(), share((height - x) * radius.sinh(), delta).min(S::one()), height]
        };

        /// The lowest common ancestor in the penumbral order. The semicircle of radius r that falls from it
        /// through x has its centre at the distance √(r² − x_n²) from x, and √(r² − H²) from the
        /// ancestor. Without a common cone it is above the centre of the semicircle through both points.
        pub PenumbralSupremum = "shadow_cones.penumbral_supremum":
            vector [Input(0), Difference(1, 0), Height], metric Horizontal, tested in HalfSpace [LIGHT];
        delta = Along(1, 1), x = Last(0), y = Last(1), light = Param(0) => {
            let height = penumbral_height(delta, x, y, light);
            let [of_x, of_y, of_top] = [x, y, height].map(|height| penumbral_width(height, light));
            let inside = share(of_x - of_top, delta).min(S::one());
            let half = S::constant(0.5);
            let outside = half + half * share((y - x) * (y + x), delta) / delta;
            let separate = (of_x + of_y).lt(delta);
            [S::one(), S::select(separate, S::select(separate, outside, S::zero()), inside), height]
        };

        /// [`penumbral_gap`] of a point.
        pub PenumbralGap = "shadow_cones.penumbral_gap": number [Input(0)], metric Horizontal,
            tested in HalfSpace [LIGHT];
        height = Last(0), light = Param(0) => penumbral_gap(height, light);
    }

    /// `part/whole`; 0 where the whole is 0.
    #[inline(always)]
    fn share<S: Scalar>(part: S, whole: S) -> S {
        let positive = S::zero().lt(whole);
        S::select(positive, part / S::select(positive, whole, S::one()), S::zero())
    }

    of_heights! {
        /// `(x_n − y_n) sinh r − Δ`.
        UmbralSlack "shadow_cones.umbral_slack" (delta, x, y, radius) umbral_slack(delta, x, y, radius)
    }
    of_heights! {
        /// [`energy`] by the umbral slack.
        UmbralEnergy "shadow_cones.umbral_energy" (delta, x, y, radius) {
            energy(umbral_slack(delta, x, y, radius), y)
        }
    }
    of_heights! {
        /// `√(r² − y_n²) − √(r² − x_n²) − Δ`.
        PenumbralSlack "shadow_cones.penumbral_slack" (delta, x, y, light) penumbral_slack(delta, x, y, light)
    }
    of_heights! {
        /// [`energy`] by the penumbral slack.
        PenumbralEnergy "shadow_cones.penumbral_energy" (delta, x, y, light) {
            energy(penumbral_slack(delta, x, y, light), light.min(y))
        }
    }

    #[inline(always)]
    fn umbral_slack<S: Scalar>(delta: S, x: S, y: S, radius: S) -> S {
        (x - y) * radius.sinh() - delta
    }

    #[inline(always)]
    fn penumbral_slack<S: Scalar>(delta: S, x: S, y: S, light: S) -> S {
        // A point above the light source has a cone without width, as one at the light's height.
        let (x, y) = (light.min(x), light.min(y));
        let widths = penumbral_width(x, light) + penumbral_width(y, light);
        // The difference of the roots, without cancelling.
        S::select(S::zero().lt(widths), (x - y) * (x + y) / widths, S::zero()) - delta
    }

    const RADIUS: Range = Range(0.3, 1.2);
    /// Above the heights at which points are drawn.
    const LIGHT: Range = Range(2.0, 3.0);
}

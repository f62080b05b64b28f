//! Pseudo-polar coordinates: an activation as a direction and a radius, taken to the hyperboloid.
//! Source: Gulcehre et al. 2019, section 4.1, where directions have length 1; Tseng et al. 2023, eq. 13,
//! takes them as they are. Here every direction is scaled to length 1.

use cotangent_engine::Rows;

use crate::hyperbolic::lorentz::Lorentz;
use crate::manifold::ConstantCurvature;

impl Lorentz {
    /// The point at distance |r| from the origin in the direction of d, or of −d for r < 0. Rows are (d,
    /// r): any n numbers, then the radius, as in the paper. The point is
    /// `(cosh √c r, sinh(√c r) d/‖d‖)/√c`, time first.
    ///
    /// Defined for all finite rows. d = 0 has no direction; the result is then the origin, with a
    /// gradient of 0. Radii beyond 360/√c, and smaller ones that a coordinate of the storage type cannot
    /// reach (44/√c in f32), end at the outermost point in their direction.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Lorentz, Manifold};
    /// let m = Lorentz::new(-1.0);
    /// let x = m.pseudo_polar(&Row::from([3.0, 4.0, 2.0])); // direction [2], radius; point [3]
    /// assert!((m.dist(&m.origin(2), &x) - 2.0).abs() < 1e-14);
    /// assert!((x[2] - 0.8 * 2.0_f64.sinh()).abs() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// If the rows are narrower than 2.
    #[track_caller]
    pub fn pseudo_polar<R: Rows>(&self, x: &R) -> R {
        let dim = x.width().saturating_sub(1);
        assert!(
            dim > 0,
            "pseudo_polar: a direction and a radius are needed, not rows of width {}",
            x.width()
        );
        // Moves the radius to where the time coordinate will be.
        let row = R::concat(&x.columns(dim..dim + 1), &x.columns(0..dim));
        R::vector(formulas::PseudoPolar, [&row], [&x.constant(self.kappa())])
    }
}

/// The direction d/‖d‖ of rows; 0 where d = 0, with gradient 0.
pub fn direction<R: Rows>(d: &R) -> R {
    R::vector(formulas::Direction, [d], [])
}

/// The row formulas. Parameter 0 of the map's formula is κ.
pub mod formulas {
    use cotangent_engine::registry::Range;
    use cotangent_engine::row_formulas;

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// A row (r, d) to `(cosh √c r, sinh(√c r) d/‖d‖)/√c`.
        pub PseudoPolar = "lorentz.pseudo_polar": vector [Input(0), Time], metric Space, domain Hyperboloid,
            tested in Free [Range(-1.5, -0.5)];
        norm = Along(0, 0), radius = First(0), kappa = Param(0) => {
            let (longest, limit) = (S::constant(360.0), S::constant(1e300));
            let c = (-kappa).sqrt();
            let (sinh, cosh) = (c * radius).min(longest).max(-longest).sinh_cosh();
            // Kept finite, because the combination also multiplies it by 0.
            let finite = |x: S| x.min(limit).max(-limit);
            let factor = S::select(S::zero().lt(norm), finite(sinh / (c * norm)), S::zero());
            // Subtracts the radius, which is in the place of the time coordinate.
            [factor, finite(cosh / c - factor * radius)]
        };

        /// `d/‖d‖`.
        pub Direction = "direction": vector [Input(0)], tested in Free [];
        norm = Along(0, 0) => {
            // Kept finite, because a row of zeros is multiplied by it too.
            let factor = norm.recip().min(S::constant(1e300));
            [S::select(S::zero().lt(norm), factor, S::zero())]
        };
    }
}

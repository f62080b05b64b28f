//! The maps ψ and ξ from activations to the half-space: of the form `(x_h, x_n) ↦ (x_h f(x_n), f(x_n))`,
//! with f exponential towards the boundary. Source: Tseng, Yu, Liu, De Sa 2023, section 3.2.

use cotangent_engine::Rows;

use crate::hyperbolic::half_space::HalfSpace;

impl HalfSpace {
    /// ψ: `f(x_n) = exp(x_n)`, onto the whole half-space. For umbral cones.
    ///
    /// Defined for all finite rows. Heights outside the range of the storage type become its largest
    /// number, or its smallest of full precision (f32: beyond x_n = 88 and −86); coordinates that
    /// overflow become its largest number. Tseng et al. 2023, eq. 10.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::HalfSpace;
    /// let x = HalfSpace::new(-1.0).psi(&Row::from([3.0, 2.0_f64.ln()]));
    /// assert!((x[0] - 6.0).abs() < 1e-14 && (x[1] - 2.0).abs() < 1e-15);
    /// ```
    pub fn psi<R: Rows>(&self, x: &R) -> R {
        R::vector(formulas::Psi, [x], [])
    }

    /// ξ: `f(x_n) = h/(1 + exp(−x_n))`, into the region below the light source at height `light` = h.
    /// For penumbral cones.
    ///
    /// Defined for all finite rows. From x_n = 37 on (f32: 17) the height rounds to h itself, which
    /// penumbral cones admit; far down it becomes the smallest number of full precision, as for
    /// [`psi`](Self::psi). Tseng et al. 2023, eq. 11, whose x in the exponent is the last coordinate.
    ///
    /// # Panics
    /// If `light` is not positive and finite.
    #[track_caller]
    pub fn xi<R: Rows>(&self, x: &R, light: f64) -> R {
        assert!(
            light > 0.0 && light.is_finite(),
            "xi: the light source needs a positive height, not {light}"
        );
        R::vector(formulas::Xi, [x], [&x.constant(light)])
    }
}

/// The row formulas of the maps.
pub mod formulas {
    use cotangent_engine::registry::Range;
    use cotangent_engine::row_formulas;

    row_formulas! {
        /// All formulas here, for the test that compares their evaluations.
        pub ALL;

        /// `(x_h f, f)`, f = exp x_n.
        pub Psi = "half_space.psi": vector [Input(0), Height], metric Horizontal, domain HalfSpace,
            tested in Free [];
        x = Last(0) => {
            // Kept finite, because zeros are multiplied by it too.
            let f = x.min(S::constant(709.0)).exp();
            [f, f]
        };

        /// `(x_h f, f)`, f = h/(1 + exp(−x_n)), h = parameter 0.
        pub Xi = "half_space.xi": vector [Input(0), Height], metric Horizontal, domain HalfSpace,
            tested in Free [Range(0.5, 2.0)];
        x = Last(0), light = Param(0) => {
            let f = light * x.sigmoid();
            [f, f]
        };
    }
}

//! The maps ψ and ξ from activations to the half-space: of the form `(x_h, x_n) ↦ (x_h f(x_n), f(x_n))`,
//! with f exponential towards the boundary. Source: Tseng, Yu, Liu, De Sa 2023, section 3.2.

use cotangent_engine::Rows;

use crate::hyperbolic::half_space::HalfSpace;

impl HalfSpace {
    /// ψ, Tseng et al. 2023, eq. 10: `f(x_n) = exp(x_n)`, onto the whole half-space. For umbral cones.
    ///
    /// Defined for all finite rows. Heights outside the range of the storage type become its largest
    /// number, or its smallest of full precision (f32: beyond x_n = 88 and −86); coordinates that
    /// overflow become its largest number.
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

    /// ξ, Tseng et al. 2023, eq. 11 (whose x in the exponent is the last coordinate):
    /// `f(x_n) = h/(1 + exp(−x_n))`, into the region below the light source at height `light` = h. For
    /// penumbral cones.
    ///
    /// Defined for all finite rows. From x_n = 37 on (f32: 17) the height rounds to h itself, which
    /// penumbral cones admit; far down it becomes the smallest number of full precision, as for
    /// [`psi`](Self::psi).
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
    use cotangent_engine::registry::{Formula, Range, Sample::Free};
    use cotangent_engine::{Domain, Invariant, Metric, RowFormula, Scalar, Vector};

    use Invariant::{Last, Param};
    use Vector::{Height, Input};

    /// `(x_h f, f)`, f = exp x_n.
    #[derive(Clone, Copy, Debug)]
    pub struct Psi;

    impl RowFormula<1, 2, 1, 2> for Psi {
        const NAME: &'static str = "half_space.psi";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Horizontal;
        const BASIS: [Vector; 2] = [Input(0), Height];
        const INVARIANTS: [Invariant; 1] = [Last(0)];
        const DOMAIN: Domain = Domain::HalfSpace;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([x]: [S; 1]) -> [S; 2] {
            // Kept finite, because zeros are multiplied by it too.
            let f = x.min(S::constant(709.0)).exp();
            [f, f]
        }
    }

    /// `(x_h f, f)`, f = h/(1 + exp(−x_n)), h = parameter 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Xi;

    impl RowFormula<1, 2, 2, 2> for Xi {
        const NAME: &'static str = "half_space.xi";
        const VECTOR: bool = true;
        const METRIC: Metric = Metric::Horizontal;
        const BASIS: [Vector; 2] = [Input(0), Height];
        const INVARIANTS: [Invariant; 2] = [Last(0), Param(0)];
        const DOMAIN: Domain = Domain::HalfSpace;
        cotangent_engine::compiled_here!(row);
        #[inline(always)]
        fn eval<S: Scalar>([x, light]: [S; 2]) -> [S; 2] {
            let f = light * x.sigmoid();
            [f, f]
        }
    }

    /// All formulas of the maps, for the test that compares their evaluations.
    pub const ALL: &[Formula] = &[Formula::row(Psi, Free, &[]), Formula::row(Xi, Free, &[Range(0.5, 2.0)])];
}

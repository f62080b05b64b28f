//! The list of scores. Whatever names all of them comes from here.

use cotangent_engine::registry::Formula;
use cotangent_engine::{Float, Row};

use super::Score;

/// Reads the list below: each score with its file and, if it has a formula of its own, the formula's entry in
/// the registry.
macro_rules! scores {
    ($($file:ident: $score:ident $(, $formula:ident)?;)+) => {
        $(pub use super::$file::$score;)+

        /// One score of each kind, with the papers' constants.
        pub fn all<T: Float>() -> Vec<Box<dyn Score<T>>> {
            vec![$(Box::new($score::default())),+]
        }

        /// The formulas of all scores, for the tests that compare their evaluations.
        pub const FORMULAS: &[Formula] = &[$($(super::$file::$formula,)?)+];

        /// For tests: the score of two rows with γ = 1 and c = 0, by operations of manifolds on single rows,
        /// which each score states in its file.
        ///
        /// # Panics
        /// If the score is none of the list.
        #[doc(hidden)]
        pub fn by_hand(score: &dyn Score<f64>, q: &Row<f64>, k: &Row<f64>) -> f64 {
            $(
                let mut own = $score::default();
                if Score::<f64>::name(&own) == score.name() {
                    if let Some((_, value)) = score.setting() {
                        Score::<f64>::set(&mut own, value);
                    }
                    return own.by_hand(q, k);
                }
            )+
            panic!("score {}: not of the list", score.name())
        }
    };
}

scores! {
    additive: Additive, FORMULA;
    dot: Dot, FORMULA;
    distance: Distance, FORMULA;
    polar_distance: PolarDistance, FORMULA;
    half_space_distance: HalfSpaceDistance, FORMULA;
    penumbral_cone: PenumbralCone, FORMULA;
    umbral_cone: UmbralCone, FORMULA;
    entailment_cone: EntailmentCone, FORMULA;
    finite_umbral_cone: FiniteUmbralCone, FORMULA;
    laplacian: Laplacian, FORMULA;
    penumbral_cone: ReleasedPenumbralCone, RELEASED;
    umbral_cone: ReleasedUmbralCone;
}

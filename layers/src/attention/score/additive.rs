//! The score of graph attention networks. Veličković et al. 2018, eq. 3.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};

use super::{Numbers, OFFSET, Operand, SHARPNESS, SQUARE, Score, Side};

/// `γ LeakyReLU(Σ q + Σ k) − c`, with slope 0.2 for negative arguments. If queries and keys are the
/// values times a vector, coordinate by coordinate, it is the score of graph attention networks.
/// Veličković et al. 2018, eq. 3.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additive;

/// From one number of each row. The rows themselves are not used.
impl PairFormula<1, 1, 2> for Additive {
    const NAME: &'static str = "scores.additive";
    const PAIRING: Pairing = Pairing::Dot;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(_: S, [x]: [S; 1], [y]: [S; 1], [gamma, c]: [S; 2]) -> S {
        let sum = x + y;
        gamma * S::select(S::zero().lt(sum), sum, S::constant(0.2) * sum) - c
    }
}

pub(super) const FORMULA: Formula =
    Formula::pair(Additive, &[SQUARE, Range(-2.0, -0.5), Range(-1.5, 0.4), SHARPNESS, OFFSET]);

impl Additive {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        let sum: f64 = q.iter().chain(k.iter()).sum();
        if sum > 0.0 { sum } else { 0.2 * sum }
    }
}

impl<T: Float> Score<T> for Additive {
    fn name(&self) -> &'static str {
        "additive"
    }
    fn about(&self) -> &'static str {
        "LeakyReLU of a sum, as in graph attention networks (Veličković et al. 2018)."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<1, 1, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        // Only the sums count, so the rows themselves need not be wide.
        let sums = x.sum_axis(-1);
        let rows = sums.reshape(sums.shape().with_width(1));
        Operand { rows, numbers: Numbers::from_slice(&[sums]) }
    }
}

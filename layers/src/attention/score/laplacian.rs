//! The Laplacian kernel. Tseng et al. 2023, section 4.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::Formula;
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};

use super::{OFFSET, Operand, SHARPNESS, SQUARE, Score, Side};

/// `−γ‖q − k‖ − c`, the logarithm of the Laplacian kernel. Tseng et al. 2023, section 4.
#[derive(Clone, Copy, Debug, Default)]
pub struct Laplacian;

impl PairFormula<0, 0, 2> for Laplacian {
    const NAME: &'static str = "scores.laplacian";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
        -gamma * square.sqrt() - c
    }
}

pub(super) const FORMULA: Formula = Formula::pair(Laplacian, &[SQUARE, SHARPNESS, OFFSET]);

impl Laplacian {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        -q.iter().zip(k.iter()).map(|(q, k)| (q - k).powi(2)).sum::<f64>().sqrt()
    }
}

impl<T: Float> Score<T> for Laplacian {
    fn name(&self) -> &'static str {
        "laplacian"
    }
    fn about(&self) -> &'static str {
        "Laplacian kernel."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<0, 0, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        Operand::from(x)
    }
}

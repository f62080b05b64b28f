//! The dot product. Vaswani et al. 2017, eq. 1.

use cotangent_engine::compiled::{Compiled, Pair};
use cotangent_engine::registry::{Formula, Range};
use cotangent_engine::{Float, PairFormula, Pairing, Row, Scalar, Var};

use super::{OFFSET, Operand, SHARPNESS, Score, Side};

/// `γ⟨q, k⟩ − c`, γ = 1/√d to begin with. Vaswani et al. 2017, eq. 1.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dot;

impl PairFormula<0, 0, 2> for Dot {
    const NAME: &'static str = "scores.dot";
    const PAIRING: Pairing = Pairing::Dot;
    cotangent_engine::compiled_here!(pair);
    #[inline(always)]
    fn eval<S: Scalar>(dot: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
        gamma * dot - c
    }
}

pub(super) const FORMULA: Formula = Formula::pair(Dot, &[Range(-2.0, 2.0), SHARPNESS, OFFSET]);

impl Dot {
    pub(super) fn by_hand(self, q: &Row<f64>, k: &Row<f64>) -> f64 {
        q.iter().zip(k.iter()).map(|(q, k)| q * k).sum()
    }
}

impl<T: Float> Score<T> for Dot {
    fn name(&self) -> &'static str {
        "dot"
    }
    fn about(&self) -> &'static str {
        "Dot product."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<0, 0, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        Operand::from(x)
    }
    fn sharpness(&self, d: usize) -> f64 {
        (d as f64).powf(-0.5)
    }
}

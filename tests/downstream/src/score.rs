//! The Gaussian kernel as a score of attention.

use cotangent::engine::compiled::{Compiled, Pair};
use cotangent::layers::score::{Operand, Side};
use cotangent::prelude::*;

/// `−γ‖q − k‖² − c`.
#[derive(Clone, Copy, Debug)]
pub struct Gaussian;

impl PairFormula<0, 0, 2> for Gaussian {
    const NAME: &'static str = "gaussian";
    const PAIRING: Pairing = Pairing::SquaredDistance;
    fn eval<S: Scalar>(square: S, _: [S; 0], _: [S; 0], [gamma, c]: [S; 2]) -> S {
        -gamma * square - c
    }
}

impl<T: Float> Score<T> for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }
    fn about(&self) -> &'static str {
        "Gaussian kernel."
    }
    fn formula(&self) -> &'static Compiled<Pair> {
        <Self as PairFormula<0, 0, 2>>::compiled()
    }
    fn prepare<'t>(&self, x: Var<'t, T>, _: Side) -> Operand<'t, T> {
        Operand::from(x)
    }
}

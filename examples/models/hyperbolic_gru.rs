//! A classifier of sequences by a hyperbolic GRU: Ganea et al. 2018, sections 3.1 and 3.3.

use cotangent::prelude::*;

#[derive(Module)]
pub struct Classifier {
    pub gru: Gru<PoincareBall, f64>,
    pub classes: LogisticRegression<PoincareBall, f64>,
}

impl Classifier {
    /// The loss of sequences of points of the ball, `[length, batch, n]`.
    pub fn loss<'t>(&self, x: Point<PoincareBall, Var<'t, f64>>, labels: &[u32]) -> Var<'t, f64> {
        loss::cross_entropy(self.classes.forward(self.gru.forward(x).last()), labels, 0.0)
    }
}

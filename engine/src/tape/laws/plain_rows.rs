//! A row formula in plain loops, which kernels are compared with.

use crate::formula::plain::{Basis, Plain};
use crate::formula::plan::{Number, ROWS, RowPlan};
use crate::formula::row::{Invariant, Metric};
use crate::formula::sums::Sum;

impl RowPlan {
    /// The results of the scalar function in the last lane, with the same arguments in every lane.
    pub(super) fn on_lanes(&self, arguments: &[f64]) -> Vec<f64> {
        let arguments: Vec<Number> = arguments.iter().map(|&x| Number::splat(x)).collect();
        let mut outputs = vec![Number::splat(0.0); self.outputs];
        self.values(&arguments, &mut outputs);
        outputs.into_iter().map(|y| y.get(ROWS - 1)).collect()
    }

    /// The invariants of vectors of one width and of parameters, in the plan's order.
    pub fn invariants_at(&self, vectors: &[&[f64]], params: &[f64]) -> Vec<f64> {
        let basis = &Basis::new(self, vectors);
        let row = Plain { basis, inputs: vectors, params, epsilon: f64::EPSILON };
        let value = |invariant: &Invariant| match invariant.sum() {
            Sum::Products(vectors) => wedge(self.metric, basis, vectors),
            _ => invariant.find(self.metric, &row).0,
        };
        self.invariants.iter().map(value).collect()
    }

    /// The linear combination of the basis vectors of some inputs.
    pub fn combination_at(&self, vectors: &[&[f64]], coefficients: &[f64]) -> Vec<f64> {
        let combine = |(_, v): (usize, &[f64])| v.iter().zip(coefficients).map(|(v, a)| v * a).sum();
        Basis::new(self, vectors).coordinates().map(combine).collect()
    }
}

/// `⟨a∧b, a∧d⟩` by Lagrange's identity.
fn wedge(metric: Metric, basis: &Basis<f64>, [a, b, d]: [usize; 3]) -> f64 {
    let minors = |(i, x): (usize, &[f64]), (j, y): (usize, &[f64])| {
        let minor = |b: usize| x[a] * y[b] - y[a] * x[b];
        basis.lowered(metric, basis.lowered(metric, minor(b) * minor(d), i), j)
    };
    let before = |y: (usize, _)| basis.coordinates().take(y.0).map(move |x| minors(x, y)).sum::<f64>();
    basis.coordinates().map(before).sum()
}

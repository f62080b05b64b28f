//! Hyperbolic multinomial logistic regression: Ganea et al. 2018, section 3.1.

use cotangent::prelude::*;

/// The loss of features `[rows, n]`, which are taken as tangent vectors at the origin.
pub fn loss<'t>(
    classes: &LogisticRegression<PoincareBall, f64>,
    features: Var<'t, f64>,
    labels: &[u32],
) -> Var<'t, f64> {
    loss::cross_entropy(classes.forward(exp0(*classes.points.manifold(), features)), labels, 0.0)
}

//! Steepest descent.

use cotangent_engine::Row;
use cotangent_manifolds::Manifold;

use super::{Outcome, Problem, Run, Solution, Stopping, scaled};

/// Riemannian gradient descent with Armijo's line search. Absil, Mahony, Sepulchre 2008, algorithm 1.
pub fn gradient_descent<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    problem: &mut Problem<M, F>,
    start: Row<f64>,
    stopping: Stopping,
) -> Solution {
    let mut run = Run::new(problem, stopping);
    let mut iterate = run.evaluate(start);
    let mut step = 0.0;
    // The first trial has a length of at most 1. Later trials take twice the last time.
    let mut t = 1.0 / iterate.square.sqrt().max(1.0);
    loop {
        if let Some(outcome) = run.note(&iterate, step) {
            return run.finish(iterate, outcome);
        }
        let direction = scaled(-1.0, &iterate.gradient);
        let Some((next, time)) = run.line_search(&iterate, &direction, -iterate.square, t) else {
            return run.finish(iterate, Outcome::NoDescent);
        };
        step = time * iterate.square.sqrt();
        t = 2.0 * time;
        iterate = next;
    }
}

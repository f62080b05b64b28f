//! Nonlinear conjugate gradients.

use cotangent_engine::Row;
use cotangent_manifolds::Manifold;

use super::{Outcome, Problem, Run, Solution, Stopping, combine, scaled};

/// Riemannian conjugate gradients by Polak and Ribière, with a restart when β would be negative.
/// Directions move by transport. Absil, Mahony, Sepulchre 2008, algorithm 13; Powell 1984.
pub fn conjugate_gradient<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    problem: &mut Problem<M, F>,
    start: Row<f64>,
    stopping: Stopping,
) -> Solution {
    let m = problem.manifold;
    let mut run = Run::new(problem, stopping);
    let mut iterate = run.evaluate(start);
    let mut direction = scaled(-1.0, &iterate.gradient);
    let (mut slope, mut step) = (-iterate.square, 0.0);
    let mut t = 1.0 / iterate.square.sqrt().max(1.0);
    loop {
        if let Some(outcome) = run.note(&iterate, step) {
            return run.finish(iterate, outcome);
        }
        let steepest = slope == -iterate.square;
        let Some((next, time)) = run.line_search(&iterate, &direction, slope, t) else {
            if steepest {
                return run.finish(iterate, Outcome::NoDescent);
            }
            (direction, slope) = (scaled(-1.0, &iterate.gradient), -iterate.square);
            run.log.pop();
            continue;
        };
        step = time * m.norm(&iterate.x, &direction);
        let carried = m.transport(&iterate.x, &next.x, &direction);
        let old = m.transport(&iterate.x, &next.x, &iterate.gradient);
        let change = combine(1.0, &next.gradient, -1.0, &old);
        let beta = (m.inner(&next.x, &next.gradient, &change) / iterate.square).max(0.0);
        direction = combine(beta, &carried, -1.0, &next.gradient);
        let before = slope;
        slope = m.inner(&next.x, &next.gradient, &direction);
        // Not a direction of descent: restart from the steepest one.
        if !(slope < 0.0) {
            (direction, slope) = (scaled(-1.0, &next.gradient), -next.square);
        }
        // The time that gives the same decrease as this step, to first order.
        t = time * (before / slope).min(10.0);
        iterate = next;
    }
}

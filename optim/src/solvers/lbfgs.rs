//! Limited-memory BFGS.

use std::collections::VecDeque;

use cotangent_engine::Row;
use cotangent_manifolds::Manifold;

use super::{Iterate, Outcome, Problem, Run, Solution, Stopping, combine, scaled};

/// Number of past steps that estimate the curvature.
const MEMORY: usize = 10;

/// A step, the change of the gradient over it, and 1/⟨step, change⟩.
struct Pair {
    step: Row<f64>,
    change: Row<f64>,
    inverse: f64,
}

/// Riemannian L-BFGS with a memory of ten steps, which move by transport. Updates are cautious, so that
/// the matrix stays positive. Huang, Gallivan, Absil 2015, algorithm 2 and eq. 3.1; Nocedal 1980.
pub fn lbfgs<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    problem: &mut Problem<M, F>,
    start: Row<f64>,
    stopping: Stopping,
) -> Solution {
    let m = problem.manifold;
    let mut run = Run::new(problem, stopping);
    let mut iterate = run.evaluate(start);
    let mut memory: VecDeque<Pair> = VecDeque::new();
    let mut length = 0.0;
    loop {
        if let Some(outcome) = run.note(&iterate, length) {
            return run.finish(iterate, outcome);
        }
        let mut direction = scaled(-1.0, &quasi_newton(&m, &iterate, &memory));
        let mut slope = m.inner(&iterate.x, &iterate.gradient, &direction);
        if !(slope < 0.0) {
            memory.clear();
            (direction, slope) = (scaled(-1.0, &iterate.gradient), -iterate.square);
        }
        let first = if memory.is_empty() { 1.0 / iterate.square.sqrt().max(1.0) } else { 1.0 };
        let Some((next, time)) = run.line_search(&iterate, &direction, slope, first) else {
            if memory.is_empty() {
                return run.finish(iterate, Outcome::NoDescent);
            }
            memory.clear();
            run.log.pop();
            continue;
        };
        let carry = |v: &Row<f64>| m.transport(&iterate.x, &next.x, v);
        let step = carry(&scaled(time, &direction));
        let change = combine(1.0, &next.gradient, -1.0, &carry(&iterate.gradient));
        length = m.norm(&next.x, &step);
        for pair in &mut memory {
            (pair.step, pair.change) = (carry(&pair.step), carry(&pair.change));
        }
        let product = m.inner(&next.x, &step, &change);
        if product > 1e-4 * iterate.square.sqrt().min(1.0) * length * length {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back(Pair { step, change, inverse: product.recip() });
        }
        iterate = next;
    }
}

/// The estimated inverse Hessian times the gradient, by the two-loop recursion.
fn quasi_newton<M: Manifold>(m: &M, iterate: &Iterate, memory: &VecDeque<Pair>) -> Row<f64> {
    let inner = |u: &Row<f64>, v: &Row<f64>| m.inner(&iterate.x, u, v);
    let mut q = iterate.gradient.clone();
    let mut parts = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let part = pair.inverse * inner(&pair.step, &q);
        q = combine(1.0, &q, -part, &pair.change);
        parts.push(part);
    }
    if let Some(last) = memory.back() {
        q = scaled(1.0 / (last.inverse * inner(&last.change, &last.change)), &q);
    }
    for (pair, part) in memory.iter().zip(parts.into_iter().rev()) {
        let back = pair.inverse * inner(&pair.change, &q);
        q = combine(1.0, &q, part - back, &pair.step);
    }
    q
}

//! Trust regions.

use cotangent_engine::Row;
use cotangent_manifolds::Manifold;

use super::{Iterate, Outcome, Problem, Run, Solution, Stopping, combine, scaled};

/// Length of the step for the Hessian's finite differences: the root of the rounding error of a
/// gradient.
const DIFFERENCE: f64 = 1.0 / (1 << 20) as f64;

/// A step is accepted if the cost decreases by more than this part of the model's decrease.
const ACCEPT: f64 = 0.1;

/// The largest radius of the region.
const LARGEST: f64 = 8.0;

/// Riemannian trust regions with truncated conjugate gradients, with κ = 0.1 and θ = 1, which gives
/// quadratic convergence. The product of the Hessian with a vector is a difference of gradients along a
/// geodesic, which takes one evaluation. Absil, Baker, Gallivan 2007, algorithms 1 and 2.
///
/// ```
/// use cotangent_engine::{Row, Tensor};
/// use cotangent_manifolds::{FrechetMean, Manifold, PoincareBall, Point};
/// use cotangent_optim::solvers::{Problem, Stopping, trust_region};
/// // The Fréchet mean of points in the ball minimises the sum of the squared distances to them.
/// let ball = PoincareBall::new(-1.0);
/// let points = Tensor::new([4, 2], vec![0.9, 0.1, -0.5, 0.6, 0.0, -0.8, 0.3, 0.3]); // [n, ambient]
/// let mut problem = Problem::on_tape(ball, |x| {
///     let points = Point::new(ball, x.coordinates().tape().constant(&points));
///     0.5 * x.dist(&points).square().mean()
/// });
/// let solution = trust_region(&mut problem, ball.origin(2), Stopping::default());
/// let mean = FrechetMean::default().solve(&ball, &points, &Tensor::new([4], vec![1.0; 4]))?; // [ambient]
/// assert!(solution.converged() && ball.dist(&solution.point, &Row::from(mean.data())) < 1e-8);
/// assert!(solution.log.len() < 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn trust_region<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    problem: &mut Problem<M, F>,
    start: Row<f64>,
    stopping: Stopping,
) -> Solution {
    let m = problem.manifold;
    let mut run = Run::new(problem, stopping);
    let mut iterate = run.evaluate(start);
    let (mut radius, mut length) = (LARGEST / 8.0, 0.0);
    let mut refused = 0;
    loop {
        if refused == 0
            && let Some(outcome) = run.note(&iterate, length)
        {
            return run.finish(iterate, outcome);
        }
        let Model { step, decrease, at_edge } = run.model(&iterate, radius);
        let next = run.evaluate(m.retract(&iterate.x, &step));
        length = m.norm(&iterate.x, &step);
        // Near the minimum both decreases are only rounding. Adding `rounding` to both brings their
        // ratio to 1. Conn, Gould, Toint 2000, section 17.4.2.
        let rounding = 1e3 * f64::EPSILON * iterate.cost.abs().max(1.0);
        let ratio = (iterate.cost - next.cost + rounding) / (decrease + rounding);
        if !(ratio >= 0.25) {
            radius *= 0.25;
        } else if ratio > 0.75 && at_edge {
            radius = (2.0 * radius).min(LARGEST);
        }
        if ratio > ACCEPT && next.is_finite() {
            (iterate, refused) = (next, 0);
        } else {
            refused += 1;
            if refused > 40 {
                return run.finish(iterate, Outcome::NoDescent);
            }
        }
    }
}

/// A step, the decrease of the quadratic model over it, and whether it ends at the edge of the region.
struct Model {
    step: Row<f64>,
    decrease: f64,
    at_edge: bool,
}

impl<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)> Run<'_, M, F> {
    /// The Hessian times a tangent vector.
    fn hessian(&mut self, iterate: &Iterate, v: &Row<f64>) -> Row<f64> {
        let m = self.manifold();
        let norm = m.norm(&iterate.x, v);
        if !(norm > 0.0) {
            return scaled(0.0, v);
        }
        let near = self.evaluate(m.exp(&iterate.x, &scaled(DIFFERENCE / norm, v)));
        let gradient = m.transport(&near.x, &iterate.x, &near.gradient);
        combine(norm / DIFFERENCE, &gradient, -norm / DIFFERENCE, &iterate.gradient)
    }

    /// Truncated conjugate gradients: Steihaug 1983, Toint 1981.
    fn model(&mut self, iterate: &Iterate, radius: f64) -> Model {
        let m = self.manifold();
        let inner = |u: &Row<f64>, v: &Row<f64>| m.inner(&iterate.x, u, v);
        let zero = scaled(0.0, &iterate.gradient);
        let (mut step, mut hessian_step) = (zero.clone(), zero);
        let (mut residual, mut square) = (iterate.gradient.clone(), iterate.square);
        let mut direction = scaled(-1.0, &residual);
        let enough = iterate.square.sqrt() * iterate.square.sqrt().min(0.1);
        let decrease = |step: &Row<f64>, hessian_step: &Row<f64>| {
            -inner(&iterate.gradient, step) - 0.5 * inner(step, hessian_step)
        };
        for _ in 0..m.dimension(iterate.x.len()).max(1) {
            let hessian_direction = self.hessian(iterate, &direction);
            let curvature = inner(&direction, &hessian_direction);
            let t = square / curvature;
            let further = combine(1.0, &step, t, &direction);
            if !(curvature > 0.0) || inner(&further, &further) >= radius * radius {
                // To the edge: ‖step + t direction‖ = radius.
                let (dd, sd, ss) =
                    (inner(&direction, &direction), inner(&step, &direction), inner(&step, &step));
                let t = ((sd * sd + dd * (radius * radius - ss)).max(0.0).sqrt() - sd) / dd;
                step = combine(1.0, &step, t, &direction);
                hessian_step = combine(1.0, &hessian_step, t, &hessian_direction);
                return Model { decrease: decrease(&step, &hessian_step), step, at_edge: true };
            }
            step = further;
            hessian_step = combine(1.0, &hessian_step, t, &hessian_direction);
            residual = combine(1.0, &residual, t, &hessian_direction);
            let before = square;
            square = inner(&residual, &residual);
            if square.sqrt() <= enough {
                break;
            }
            direction = combine(square / before, &direction, -1.0, &residual);
        }
        Model { decrease: decrease(&step, &hessian_step), step, at_edge: false }
    }
}

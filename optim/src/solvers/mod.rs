//! Solvers: deterministic minimisation of a smooth cost on a manifold, until the gradient is as small as
//! requested.
//!
//! | solver | file | source |
//! |---|---|---|
//! | [`gradient_descent`] with Armijo line search | `gradient_descent.rs` | Absil et al. 2008, section 4.2 |
//! | [`conjugate_gradient`] | `conjugate_gradient.rs` | the same, section 8.3 |
//! | [`lbfgs`] | `lbfgs.rs` | Huang, Gallivan, Absil 2015 |
//! | [`trust_region`] | `trust_region.rs` | Absil, Baker, Gallivan 2007 |
//!
//! Absil et al. 2008 is Absil, Mahony, Sepulchre. For conjugate gradients see also Polak & Ribière 1969
//! and Powell 1984.
//!
//! A point is one row; several unknowns are a point of a product. A [`Problem`] returns cost and
//! gradient. [`Problem::on_tape`] makes one of a computation on the tape.

mod conjugate_gradient;
mod gradient_descent;
mod lbfgs;
mod line_search;
mod trust_region;

use cotangent_engine::{Device, Row, Tape, Tensor, Var};
use cotangent_manifolds::{Manifold, Point};

pub use conjugate_gradient::conjugate_gradient;
pub use gradient_descent::gradient_descent;
pub use lbfgs::lbfgs;
pub use trust_region::trust_region;

/// A cost on a manifold. A function takes a point to the cost and to its gradient with respect to the
/// coordinates.
pub struct Problem<M, F> {
    /// The manifold.
    pub manifold: M,
    evaluate: F,
}

impl<M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)> Problem<M, F> {
    /// A problem given by one function for cost and gradient.
    pub fn new(manifold: M, evaluate: F) -> Self {
        Problem { manifold, evaluate }
    }
}

impl<M: Manifold> Problem<M, ()> {
    /// A problem given by a computation on the tape.
    ///
    /// ```
    /// use cotangent_engine::Row;
    /// use cotangent_manifolds::{Manifold, PoincareBall, Point};
    /// use cotangent_optim::solvers::{Problem, Stopping, lbfgs};
    /// // The point at the least sum of squared distances to three others.
    /// let ball = PoincareBall::new(-1.0);
    /// let others = cotangent_engine::Tensor::new([3, 2], vec![0.5, 0.0, -0.5, 0.0, 0.0, 0.6]);
    /// let mut problem = Problem::on_tape(ball, |x| {
    ///     let others = Point::new(ball, x.coordinates().tape().constant(&others));
    ///     x.dist(&others).square().sum()
    /// });
    /// let solution = lbfgs(&mut problem, ball.origin(2), Stopping::default());
    /// assert!(solution.converged() && solution.point[0].abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_tape(
        manifold: M,
        cost: impl for<'t> Fn(Point<M, Var<'t, f64>>) -> Var<'t, f64>,
    ) -> Problem<M, impl FnMut(&Row<f64>) -> (f64, Row<f64>)> {
        Problem::recorded(Tape::new(), manifold, cost)
    }

    /// Same as [`on_tape`](Self::on_tape), computed on a device: points are sent there; costs and
    /// gradients are read back.
    pub fn on_device(
        device: Device,
        manifold: M,
        cost: impl for<'t> Fn(Point<M, Var<'t, f64>>) -> Var<'t, f64>,
    ) -> Problem<M, impl FnMut(&Row<f64>) -> (f64, Row<f64>)> {
        Problem::recorded(Tape::with_device(device), manifold, cost)
    }

    fn recorded(
        mut tape: Tape<f64>,
        manifold: M,
        cost: impl for<'t> Fn(Point<M, Var<'t, f64>>) -> Var<'t, f64>,
    ) -> Problem<M, impl FnMut(&Row<f64>) -> (f64, Row<f64>)> {
        Problem::new(manifold, move |x: &Row<f64>| {
            tape.reset();
            let width = x.len();
            let x = tape.variable(&Tensor::new([width], x.to_vec()));
            let cost = cost(Point::new(manifold, x));
            let gradients = tape.backward(cost);
            (cost.item(), Row::from(gradients.wrt(x).data()))
        })
    }
}

/// When a solver stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// Stop with [`Outcome::Converged`] when the gradient's Riemannian norm is at most this.
    pub gradient_norm: f64,
    /// Stop after this many iterations.
    pub iterations: usize,
}

impl Default for Stopping {
    /// A norm of 10⁻⁸, 1000 iterations.
    fn default() -> Self {
        Stopping { gradient_norm: 1e-8, iterations: 1000 }
    }
}

/// Why a solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The gradient is as small as requested.
    Converged,
    /// The iterations were used up.
    Iterations,
    /// No step lowers the cost any more, because of rounding or a gradient that is not the cost's.
    NoDescent,
    /// The cost or its gradient is NaN or infinite.
    NotFinite,
}

/// The state at the start of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// The cost.
    pub cost: f64,
    /// The gradient's Riemannian norm.
    pub gradient_norm: f64,
    /// The length of the step that led here.
    pub step: f64,
}

/// The result of a solver.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The last point.
    pub point: Row<f64>,
    /// Its cost.
    pub cost: f64,
    /// Its gradient's Riemannian norm.
    pub gradient_norm: f64,
    /// Why the solver stopped.
    pub outcome: Outcome,
    /// One entry for the start and one for each iteration.
    pub log: Vec<Iteration>,
    /// Number of evaluations of the cost with its gradient.
    pub evaluations: usize,
}

impl Solution {
    /// Whether the gradient is as small as requested.
    pub fn converged(&self) -> bool {
        self.outcome == Outcome::Converged
    }
}

/// A point, with its cost and gradient.
#[derive(Clone, Debug)]
struct Iterate {
    x: Row<f64>,
    cost: f64,
    /// The Riemannian gradient and its squared norm.
    gradient: Row<f64>,
    square: f64,
}

impl Iterate {
    fn is_finite(&self) -> bool {
        self.cost.is_finite() && self.square.is_finite()
    }
}

/// A run of a solver: the problem, the best point so far, and the record.
struct Run<'p, M, F> {
    problem: &'p mut Problem<M, F>,
    stopping: Stopping,
    log: Vec<Iteration>,
    evaluations: usize,
}

impl<'p, M: Manifold, F: FnMut(&Row<f64>) -> (f64, Row<f64>)> Run<'p, M, F> {
    fn new(problem: &'p mut Problem<M, F>, stopping: Stopping) -> Self {
        Run { problem, stopping, log: Vec::new(), evaluations: 0 }
    }

    fn manifold(&self) -> M {
        self.problem.manifold
    }

    fn evaluate(&mut self, x: Row<f64>) -> Iterate {
        self.evaluations += 1;
        let (cost, g) = (self.problem.evaluate)(&x);
        let gradient = self.manifold().egrad_to_rgrad(&x, &g);
        let square = self.manifold().inner(&x, &gradient, &gradient);
        Iterate { x, cost, gradient, square }
    }

    /// Records the start of an iteration. Returns the reason to stop, if there is one.
    fn note(&mut self, iterate: &Iterate, step: f64) -> Option<Outcome> {
        let gradient_norm = iterate.square.max(0.0).sqrt();
        self.log.push(Iteration { cost: iterate.cost, gradient_norm, step });
        if !iterate.is_finite() {
            Some(Outcome::NotFinite)
        } else if gradient_norm <= self.stopping.gradient_norm {
            Some(Outcome::Converged)
        } else {
            (self.log.len() > self.stopping.iterations).then_some(Outcome::Iterations)
        }
    }

    fn finish(self, iterate: Iterate, outcome: Outcome) -> Solution {
        Solution {
            gradient_norm: iterate.square.max(0.0).sqrt(),
            point: iterate.x,
            cost: iterate.cost,
            outcome,
            log: self.log,
            evaluations: self.evaluations,
        }
    }
}

/// `a u + b v`.
fn combine(a: f64, u: &Row<f64>, b: f64, v: &Row<f64>) -> Row<f64> {
    let mut sum = u.clone();
    sum.iter_mut().zip(v.iter()).for_each(|(u, v)| *u = a * *u + b * v);
    sum
}

/// `a u`.
fn scaled(a: f64, u: &Row<f64>) -> Row<f64> {
    let mut scaled = u.clone();
    scaled.iter_mut().for_each(|u| *u *= a);
    scaled
}

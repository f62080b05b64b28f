//! Shared by the tests: every manifold, and random points on it.
#![allow(dead_code, unreachable_pub)]

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Tensor, Var};
use cotangent_manifolds::laws::Family;
use cotangent_manifolds::{PoincareBall, Point, Product, Sphere, Steps, for_each_manifold};
use cotangent_optim::solvers::{
    Problem, Solution, Stopping, conjugate_gradient, gradient_descent, lbfgs, trust_region,
};

/// A check to run on a manifold of dimension `dim`, within `radius` of its origin, where any two points
/// have exactly one shortest geodesic.
pub trait OnManifold {
    fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64);
}

/// Runs the check on every manifold of the library.
pub fn every_manifold(work: &mut impl OnManifold) {
    macro_rules! samples {
        ($name:ident, $family:ty $(, $curvature:ident)?) => {
            for (m, dim, radius) in <$family>::samples() {
                work.on(&format!("{m:?}"), m, dim, radius);
            }
        };
    }
    for_each_manifold!(samples);
    work.on("ball × sphere", Product::new(PoincareBall::new(-1.0), 2, Sphere::new(1.0)), 4, 1.2);
}

/// A table of random points, one per row.
pub fn points<M: Steps, T: Float>(m: &M, n: usize, dim: usize, radius: f64, rng: &mut Rng) -> Tensor<T> {
    let mut table = Tensor::zeros([n, m.ambient(dim)]);
    (0..n).for_each(|i| table.row_mut(i).copy_from_slice(&m.random_point::<T>(dim, radius, rng)));
    table
}

/// Half the sum of the squared distances.
pub fn pull<'t, M: Steps, T: Float>(x: &Point<M, Var<'t, T>>, target: &Tensor<T>) -> Var<'t, T> {
    let tape = x.coordinates().tape();
    0.5 * x.dist(&Point::new(*x.manifold(), tape.constant(target))).square().sum()
}

/// The largest distance between corresponding rows.
pub fn farthest<M: Steps>(m: &M, x: &Tensor<f64>, y: &Tensor<f64>) -> f64 {
    m.dist(x, y).data().iter().fold(0.0, |largest, d| d.max(largest))
}

/// `a u + b v`.
pub fn combine(a: f64, u: &Row<f64>, b: f64, v: &Row<f64>) -> Row<f64> {
    let sum: Vec<f64> = u.iter().zip(v.iter()).map(|(u, v)| a * u + b * v).collect();
    Row::from(sum.as_slice())
}

/// Runs every solver on a problem, and passes its name and solution to `check`.
pub fn solve_all<M: Steps, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    problem: &mut Problem<M, F>,
    start: &Row<f64>,
    stopping: Stopping,
    mut check: impl FnMut(&str, Solution),
) {
    check("gradient descent", gradient_descent(problem, start.clone(), stopping));
    check("conjugate gradient", conjugate_gradient(problem, start.clone(), stopping));
    check("L-BFGS", lbfgs(problem, start.clone(), stopping));
    check("trust region", trust_region(problem, start.clone(), stopping));
}

//! Every solver on every manifold finds the known minimum of two functions: half the squared distance to
//! a point, and Rosenbrock's function in normal coordinates, whose valley is curved and 250 times as
//! steep across as along.
//!
//! `cargo test -p cotangent-optim --test rates -- --nocapture --test-threads 1`
//! prints how fast they are: the tables of results/solvers.md.

mod common;

use common::*;
use cotangent_engine::{Row, Tensor, rng};
use cotangent_manifolds::{HalfSpace, Klein, Lorentz, PoincareBall, Point, Steps};
use cotangent_optim::solvers::{Problem, Solution, Stopping};

/// Prints a line of a table. For each solver: iterations, evaluations, and by how many decades the
/// gradient shrinks per iteration on average.
fn tabulate(name: &str, solutions: &[Solution]) {
    let entries = solutions.iter().map(|solution| {
        let iterations = solution.log.len() - 1;
        let decades = (solution.log[0].gradient_norm / solution.gradient_norm).log10() / iterations as f64;
        format!(" {iterations} ({}), {decades:.3} |", solution.evaluations)
    });
    println!("| {name} |{}", entries.collect::<String>());
}

/// The solutions of every solver. Checks that all are near the minimum.
fn solutions<M: Steps, F: FnMut(&Row<f64>) -> (f64, Row<f64>)>(
    name: &str,
    problem: &mut Problem<M, F>,
    start: &Row<f64>,
    minimum: &Row<f64>,
) -> Vec<Solution> {
    let stopping = Stopping { gradient_norm: 1e-8, iterations: 10_000 };
    let (m, mut found) = (problem.manifold, Vec::new());
    solve_all(problem, start, stopping, |solver, solution| {
        let last = solution.log.last();
        assert!(solution.converged(), "{name}, {solver}: {:?} {last:?}", solution.outcome);
        let distance = m.dist(&solution.point, minimum);
        assert!(distance < 1e-7, "{name}, {solver}: {distance:e} from the minimum");
        found.push(solution);
    });
    found
}

/// This cost is quadratic along every geodesic through its minimum, so a few steps suffice.
#[test]
fn distances_are_minimised_in_a_few_steps() {
    struct Distance;
    impl OnManifold for Distance {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let mut rng = rng::stream(1, 0, 0);
            let target: Tensor<f64> = points(&m, 1, dim, radius, &mut rng);
            let (start, minimum) = (m.random_point(dim, radius, &mut rng), Row::from(target.row(0)));
            let mut problem = Problem::on_tape(m, |x| pull(&x, &target));
            let solutions = solutions(name, &mut problem, &start, &minimum);
            tabulate(name, &solutions);
            let steps = solutions.iter().map(|solution| solution.log.len() - 1).max();
            assert!(steps < Some(12), "{name}: {steps:?} iterations");
        }
    }
    every_manifold(&mut Distance);
}

/// `10 (c₂ − c₁²)² + (1 − c₁)² + Σ_{i>2} cᵢ²`, where c are the coordinates of log_p x at a
/// point p, in units of [`Valley::UNIT`]. Rosenbrock 1960, with 10 in place of his 100, from his start
/// (−1.2, 1).
struct Valley {
    /// From tangent vectors to coordinates: `[width, dim]`.
    coordinates: Tensor<f64>,
    base: Tensor<f64>,
    start: Row<f64>,
    minimum: Row<f64>,
}

impl Valley {
    const UNIT: f64 = 0.3;

    fn new<M: Steps>(m: &M, dim: usize, radius: f64) -> Self {
        let mut rng = rng::stream(2, 0, 0);
        let p: Row<f64> = m.random_point(dim, 0.3 * radius, &mut rng);
        // An orthonormal basis, by Gram–Schmidt.
        let mut basis: Vec<Row<f64>> = Vec::new();
        while basis.len() < dim {
            let mut v = m.random_tangent(&p, &mut rng);
            for b in &basis {
                v = combine(1.0, &v, -m.inner(&p, &v, b), b);
            }
            basis.push(combine(1.0 / m.norm(&p, &v), &v, 0.0, &v));
        }
        let axis =
            |k: usize| Row::from((0..p.len()).map(|i| f64::from(i == k)).collect::<Vec<_>>().as_slice());
        let coordinates =
            Tensor::from_fn([p.len(), dim], |at| m.inner(&p, &basis[at % dim], &axis(at / dim)) / Self::UNIT);
        let at =
            |c: [f64; 2]| m.exp(&p, &combine(Self::UNIT * c[0], &basis[0], Self::UNIT * c[1], &basis[1]));
        let (start, minimum) = (at([-1.2, 1.0]), at([1.0, 1.0]));
        Valley { coordinates, base: Tensor::new([1, p.len()], p.to_vec()), start, minimum }
    }
}

/// Every solver's solution in the valley.
fn valley<M: Steps>(name: &str, m: M, dim: usize, radius: f64) -> Vec<Solution> {
    let valley = Valley::new(&m, dim, radius);
    let mut problem = Problem::on_tape(m, |x| {
        let tape = x.coordinates().tape();
        let base = Point::new(m, tape.constant(&valley.base));
        let log = *base.log(&x).coordinates(); // [1, width]
        let c = log.matmul(tape.constant(&valley.coordinates)); // [1, dim]
        let (a, b) = (c.slice(-1, 0..1), c.slice(-1, 1..2));
        let others = c.slice(-1, 2..dim).square().sum();
        (10.0 * (b - a.square()).square() + (1.0 - a).square()).sum() + others
    });
    solutions(name, &mut problem, &valley.start, &valley.minimum)
}

/// Steepest descent needs some hundreds of steps, conjugate gradients a few dozen, the others fewer.
#[test]
fn the_end_of_a_curved_valley_is_found() {
    struct Rosenbrock;
    impl OnManifold for Rosenbrock {
        fn on<M: Steps>(&mut self, name: &str, m: M, dim: usize, radius: f64) {
            let solutions = valley(name, m, dim, radius);
            tabulate(name, &solutions);
            let steps: Vec<usize> = solutions.iter().map(|solution| solution.log.len() - 1).collect();
            let [descent, cg, bfgs, newton] = steps[..] else { unreachable!() };
            assert!(cg < descent / 3 && bfgs < descent / 8 && newton < 20, "{name}: {steps:?}");
        }
    }
    every_manifold(&mut Rosenbrock);
}

/// The space looks the same from every point and in every model, so the solvers take the same steps in
/// all models.
#[test]
fn solvers_take_the_same_steps_in_every_model() {
    let models = [
        valley("ball", PoincareBall::new(-1.0), 3, 3.0),
        valley("Lorentz", Lorentz::new(-1.0), 3, 3.0),
        valley("Klein", Klein::new(-1.0), 3, 2.0),
        valley("half-space", HalfSpace::new(-1.0), 3, 2.0),
    ];
    // The trust region has a lower tolerance, because its Hessian is a difference of gradients.
    let tolerances = [1e-8, 1e-8, 1e-8, 1e-4];
    for model in &models[1..] {
        for (i, (solution, expected)) in model.iter().zip(&models[0]).enumerate() {
            for (k, (entry, expected)) in solution.log.iter().zip(&expected.log).take(9).enumerate() {
                for (a, b) in [(entry.cost, expected.cost), (entry.step, expected.step)] {
                    assert!(
                        (a - b).abs() <= tolerances[i] * (a.abs() + b.abs()),
                        "solver {i}, step {k}: {a} {b}"
                    );
                }
            }
        }
    }
}

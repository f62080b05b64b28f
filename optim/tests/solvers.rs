//! The solvers find known minima from far away, to the last digits of the cost.

mod common;

use common::*;
use cotangent_engine::{Row, Tensor, rng};
use cotangent_manifolds::{Euclidean, Lorentz, Manifold, PoincareBall, Point, Spd, Steps};
use cotangent_optim::solvers::{Outcome, Problem, Stopping, gradient_descent, trust_region};
use rand::RngExt;

/// Law 44: at the Fréchet mean, the logarithms of the points add up to zero.
#[test]
fn frechet_means_are_stationary() {
    fn mean<M: Steps>(m: M, dim: usize, radius: f64) {
        let mut rng = rng::stream(1, 0, 0);
        let data = points(&m, 30, dim, radius, &mut rng);
        let start: Row<f64> = m.random_point(dim, radius, &mut rng);
        let mut problem = Problem::on_tape(m, |x| {
            let data = Point::new(m, x.coordinates().tape().constant(&data));
            0.5 * x.dist(&data).square().mean()
        });
        solve_all(
            &mut problem,
            &start,
            Stopping { gradient_norm: 1e-10, iterations: 500 },
            |name, solution| {
                assert!(
                    solution.converged(),
                    "{} {name}: {:?} {:?}",
                    M::NAME,
                    solution.outcome,
                    solution.log.last()
                );
                let logs = m.log(&Tensor::new([1, start.len()], solution.point.to_vec()), &data);
                let mut sum = Row::from(vec![0.0; start.len()].as_slice());
                logs.rows().for_each(|row| sum.iter_mut().zip(row).for_each(|(s, v)| *s += v / 30.0));
                assert!(m.norm(&solution.point, &sum) < 1e-9, "{} {name}: {sum:?}", M::NAME);
            },
        );
    }
    mean(PoincareBall::new(-1.0), 3, 3.0);
    mean(Lorentz::new(-0.5), 4, 3.0);
    mean(Euclidean, 3, 3.0);
}

/// A quadratic with eigenvalues from 1 to 100. Conjugate gradients and L-BFGS need fewer evaluations
/// than steepest descent.
#[test]
fn quadratics_are_solved_in_few_evaluations() {
    let n = 20;
    let scale = |i: usize| 100_f64.powf(i as f64 / (n - 1) as f64);
    let mut problem = Problem::new(Euclidean, |x: &Row<f64>| {
        let cost = x.iter().enumerate().map(|(i, x)| 0.5 * scale(i) * (x - 1.0) * (x - 1.0)).sum();
        let mut g = x.clone();
        g.iter_mut().enumerate().for_each(|(i, g)| *g = scale(i) * (*g - 1.0));
        (cost, g)
    });
    let mut evaluations = Vec::new();
    solve_all(&mut problem, &Row::from([0.0; 20]), Stopping::default(), |name, solution| {
        assert!(solution.converged(), "{name}: {:?}", solution.log.last());
        assert!(solution.point.iter().all(|x| (x - 1.0).abs() < 1e-8), "{name}");
        evaluations.push(solution.evaluations);
    });
    let [descent, cg, bfgs, _] = evaluations[..] else { unreachable!() };
    assert!(cg < descent && bfgs < descent / 2, "{evaluations:?}");
}

/// Newton's convergence near the minimum: each step squares the gradient.
#[test]
fn trust_regions_converge_quadratically() {
    let ball = PoincareBall::new(-1.0);
    let data = points(&ball, 10, 5, 4.0, &mut rng::stream(2, 0, 0));
    let mut problem = Problem::on_tape(ball, |x| {
        let data = Point::new(ball, x.coordinates().tape().constant(&data));
        x.dist(&data).square().mean()
    });
    let stopping = Stopping { gradient_norm: 1e-11, iterations: 50 };
    let solution = trust_region(&mut problem, ball.origin(5), stopping);
    assert!(solution.converged(), "{:?}", solution.log);
    let norms: Vec<f64> = solution.log.iter().map(|entry| entry.gradient_norm).collect();
    assert!(norms.len() < 12, "{norms:?}");
    let fast = norms.windows(2).filter(|pair| pair[0] < 0.1 && pair[1] < 10.0 * pair[0].powf(1.8)).count();
    assert!(fast >= 1, "{norms:?}");
}

/// The maximum-likelihood covariance of normal data, `ln det X + tr(X⁻¹ S)`, is the sample covariance S.
#[test]
fn the_sample_covariance_is_the_most_likely_one() {
    let n = 3;
    let mut rng = rng::stream(3, 0, 0);
    let mut s = [[0.0; 3]; 3];
    for _ in 0..50 {
        let x: [f64; 3] = std::array::from_fn(|i| (i + 1) as f64 * rng.random_range(-1.0..1.0));
        (0..9).for_each(|k| s[k / 3][k % 3] += x[k / 3] * x[k % 3] / 50.0);
    }
    let inverse = |x: &Row<f64>| {
        let minor = |i: usize, j: usize| {
            let [a, b] = [(i + 1) % 3, (i + 2) % 3];
            let [c, d] = [(j + 1) % 3, (j + 2) % 3];
            x[3 * a + c] * x[3 * b + d] - x[3 * a + d] * x[3 * b + c]
        };
        let det = (0..3).map(|j| x[j] * minor(0, j)).sum::<f64>();
        (det, std::array::from_fn::<f64, 9, _>(|k| minor(k % 3, k / 3) / det))
    };
    let cost = |x: &Row<f64>| {
        let (det, y) = inverse(x);
        let ys: [f64; 9] = std::array::from_fn(|k| (0..3).map(|j| y[k / 3 * 3 + j] * s[j][k % 3]).sum());
        // The gradient X⁻¹ − X⁻¹ S X⁻¹.
        let g: [f64; 9] =
            std::array::from_fn(|k| y[k] - (0..3).map(|j| ys[k / 3 * 3 + j] * y[3 * j + k % 3]).sum::<f64>());
        (det.ln() + ys[0] + ys[4] + ys[8], Row::from(g))
    };
    for spd in [Spd::affine_invariant(n), Spd::log_euclidean(n)] {
        let start = Row::from([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        solve_all(&mut Problem::new(spd, cost), &start, Stopping::default(), |name, solution| {
            assert!(solution.converged(), "{name}: {:?} {:?}", solution.outcome, solution.log.last());
            for (k, x) in solution.point.iter().enumerate() {
                assert!((x - s[k / 3][k % 3]).abs() < 1e-7, "{name}: {:?} {s:?}", solution.point);
            }
        });
    }
}

/// NaN stops the solver, and a wrong gradient is noticed.
#[test]
fn bad_problems_end() {
    let mut nan = Problem::new(Euclidean, |x: &Row<f64>| (f64::NAN, x.clone()));
    solve_all(&mut nan, &Row::from([1.0]), Stopping::default(), |name, solution| {
        assert_eq!(solution.outcome, Outcome::NotFinite, "{name}");
    });
    let mut wrong = Problem::new(Euclidean, |x: &Row<f64>| (x[0] * x[0] + 1.0, Row::from([-2.0 * x[0]])));
    solve_all(&mut wrong, &Row::from([1.0]), Stopping::default(), |name, solution| {
        assert!(!solution.converged() && (solution.point[0] - 1.0).abs() < 1e-6, "{name}: {solution:?}");
    });
    let stopping = Stopping { gradient_norm: 0.0, iterations: 3 };
    let mut steep = Problem::new(Euclidean, |x: &Row<f64>| {
        let e = x[0].exp() + (-2.0 * x[0]).exp();
        (e, Row::from([x[0].exp() - 2.0 * (-2.0 * x[0]).exp()]))
    });
    let solution = gradient_descent(&mut steep, Row::from([3.0]), stopping);
    assert_eq!((solution.outcome, solution.log.len()), (Outcome::Iterations, 4));
}

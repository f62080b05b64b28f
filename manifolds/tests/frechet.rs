//! Fréchet means: stationarity, equivariance, midpoints, the implicit gradient against finite differences.

mod common;

use common::*;
use cotangent_engine::{Float, Row, Rows, Tape, Tensor, Var, check, rng};
use cotangent_manifolds::{
    Barycentre, ConstantCurvature, Euclidean, FrechetError, FrechetMean, Grassmann, HalfSpace, Klein,
    Lorentz, Manifold, PoincareBall, Product, Spd, Sphere, Stereographic,
};
use rand::RngExt;

fn mean<M: Manifold>(m: &M, points: &Tensor<f64>, weights: &Tensor<f64>) -> Row<f64> {
    Row::from(FrechetMean::default().solve(m, points, weights).unwrap().data())
}

/// `Σ w log_μ x / Σ w` as a length.
fn gradient<M: Manifold>(m: &M, mean: &Row<f64>, points: &Tensor<f64>, weights: &Tensor<f64>) -> f64 {
    let mut sum = mean.zeros(mean.len());
    for (x, w) in points.rows().zip(weights.data()) {
        sum.iter_mut().zip(m.log(mean, &Row::from(x)).iter()).for_each(|(s, v)| *s += w * v);
    }
    m.norm(mean, &sum) / weights.data().iter().sum::<f64>()
}

/// Law 44, from clusters to sets that fill the representable ball.
#[test]
fn stationarity() {
    let mut worst = Worst::default();
    let mut rng = rng::stream(1, 0, 0);
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        for i in 0..40 {
            let part = f64::from(i) / 40.0;
            let (n, dim) = (rng.random_range(1..9), rng.random_range(1..6));
            let limit = 0.9 * limit::<f64>(kappa);
            let (radius, reach) = (part * limit, (1.0 - part) * limit * rng.random::<f64>());
            let points = cluster(&m, [n, dim], radius, reach, &mut rng);
            let weights = weights(n, &mut rng);
            let mean = mean(&m, &points, &weights);
            m.contains(&mean).unwrap();
            // What remains of the last step, times the largest eigenvalue of the Hessian.
            let hessian = 1.0 + (-kappa).max(0.0).sqrt() * 2.0 * reach;
            let bound = hessian * (2e-13 * reach + 32.0 * f64::EPSILON * lambda(&m, &mean) * norm(&mean));
            worst.see(
                "Σ w log x",
                gradient(&m, &mean, &points, &weights),
                bound,
                &(kappa, radius, reach, &points),
            );
        }
    }
    worst.report("stationarity");
}

/// Law 44 on every manifold whose logarithm is exact.
#[test]
fn stationarity_everywhere() {
    fn check<M: Manifold>(m: M, reach: f64) {
        let (mut rng, dim) = (rng::stream(11, 0, 0), m.fixed_dimension().unwrap_or(3));
        for _ in 0..20 {
            let [radius, spread] = [(); 2].map(|()| reach * rng.random::<f64>());
            let points = cluster(&m, [6, dim], radius, spread, &mut rng);
            let weights = weights(6, &mut rng);
            let mean = mean(&m, &points, &weights);
            m.contains(&mean).unwrap();
            let length = gradient(&m, &mean, &points, &weights);
            assert!(length < 1e-9, "{m:?}: {length:e}");
        }
    }
    for kappa in [-2.5_f64, -1.0, -0.37] {
        check(Lorentz::new(kappa), 3.0);
        check(Klein::new(kappa), 2.0);
        check(HalfSpace::new(kappa), 3.0);
    }
    check(Sphere::new(0.6), 0.6);
    check(Product::new(Stereographic::new(-1.0), 1, Sphere::new(0.6)), 0.6);
    check(Grassmann::new(4, 2), 0.3);
    check(Spd::affine_invariant(2), 1.0);
    check(Spd::log_euclidean(2), 1.0);
}

/// Two points have their midpoint as mean (law 40); in flat space the mean is the weighted mean; on a
/// line through the origin it is the mean of the coordinates.
#[test]
fn closed_forms() {
    let mut rng = rng::stream(2, 0, 0);
    for kappa in KAPPAS {
        let m = Stereographic::new(kappa);
        let points = cluster(&m, [2, 3], 0.4, 0.9, &mut rng);
        let (x, y) = (row(&points, 0), row(&points, 1));
        let middle = mean(&m, &points, &Tensor::new([2], vec![0.5, 0.5]));
        assert!(m.dist(&middle, &m.geodesic(&x, &y, &0.5)) < 2e-13, "{kappa}");
        let uneven = mean(&m, &points, &Tensor::new([2], vec![0.9, 2.1]));
        assert!(m.dist(&uneven, &m.geodesic(&x, &y, &0.7)) < 2e-13, "{kappa}");

        let lengths = [-0.7, 0.1, 0.5, 1.3];
        let on_line = |t: f64| m.exp(&Row::from([0.0, 0.0]), &Row::from([0.3 * t, 0.4 * t]));
        let line = Tensor::new([4, 2], lengths.iter().flat_map(|&t| on_line(t).to_vec()).collect());
        let w = weights(4, &mut rng);
        let total: f64 = w.data().iter().sum();
        let want = lengths.iter().zip(w.data()).map(|(t, w)| w * t / total).sum::<f64>();
        assert!(m.dist(&mean(&m, &line, &w), &on_line(want)) < 2e-13, "{kappa}");
    }
    let (points, w) = (cluster(&Euclidean, [7, 4], 3.0, 5.0, &mut rng), weights(7, &mut rng));
    let got = mean(&Euclidean, &points, &w);
    assert!(Euclidean.dist(&got, &Row::from(Euclidean.barycentre(&points, &w).data())) < 2e-13);
}

/// Law 43: isometries, permutations and the scale of the weights. The mean is not the barycentre.
#[test]
fn equivariance() {
    let mut rng = rng::stream(3, 0, 0);
    for kappa in [-2.5, -0.37, 0.6] {
        let m = Stereographic::new(kappa);
        let points = cluster::<_, f64>(&m, [5, 3], 0.4, 0.9, &mut rng);
        let w = weights(5, &mut rng);
        let z = Row::from([0.1, -0.2, 0.3]);
        let moved = m.add(&Tensor::new([1, 3], z.to_vec()), &points);
        let first = mean(&m, &points, &w);
        assert!(m.dist(&mean(&m, &moved, &w), &m.add(&z, &first)) < 2e-13, "{kappa}");
        let reversed = Tensor::new([5, 3], (0..5).rev().flat_map(|i| points.row(i).to_vec()).collect());
        let other = Tensor::from_fn([5], |i| 7.0 * w.data()[4 - i]);
        assert!(m.dist(&mean(&m, &reversed, &other), &first) < 2e-13, "{kappa}");
        assert!(m.dist(&Row::from(m.barycentre(&points, &w).data()), &first) > 1e-3, "{kappa}");
    }
}

/// The implicit gradient in points and weights is that of finite differences of the whole computation.
#[test]
fn gradients() {
    fn check<M: Manifold>(m: M, radius: f64, spread: f64) {
        let mut rng = rng::stream(4, 0, 0);
        let width = m.ambient(2);
        let sets =
            (0..2).flat_map(|_| cluster::<_, f64>(&m, [3, 2], radius, spread, &mut rng).data().to_vec());
        let points = Tensor::new([2, 3, width], sets.collect());
        let each = Tensor::from_fn([2, 3], |_| rng.random_range(0.2..1.0));
        let direction = Tensor::from_fn([2, width], |i| 0.4 + (i as f64).sin());
        for weights in [each, Tensor::new([3], vec![0.3, 0.9, 0.5])] {
            let worst = check::gradients(&[points.clone(), weights], |v| {
                let mean = FrechetMean::default().on_tape(&m, m.project(&v[0]), v[1]).unwrap();
                (mean * mean * v[0].tape().constant(&direction)).sum()
            });
            assert!(worst.relative < 1e-7, "{m:?}: {worst:?}");
        }
    }
    for kappa in [-2.5, -1.0, 0.0, 0.6] {
        check(Stereographic::new(kappa), 0.5, 1.2);
    }
    check(Lorentz::new(-1.0), 0.5, 1.2);
    check(Lorentz::new(-0.37), 1.0, 2.0);
    check(Klein::new(-0.37), 0.5, 1.2);
    check(HalfSpace::new(-0.37), 0.5, 1.2);
    check(Product::new(Stereographic::new(-1.0), 1, HalfSpace::new(-0.5)), 0.5, 1.2);
}

/// With n = 2 and equal weights the gradient is that of the geodesic's middle, also far out: the reverse
/// passes of both agree.
#[test]
fn gradient_of_the_midpoint_far_out() {
    let m = PoincareBall::new(-1.0);
    let mut rng = rng::stream(5, 0, 0);
    for radius in [1.0, 5.0, 10.0, 15.0] {
        let points = cluster::<_, f64>(&m, [2, 3], radius, 2.0, &mut rng);
        let direction = Tensor::new([3], vec![0.3, -0.8, 0.5]);
        let gradient = |mean: &dyn for<'t> Fn(Var<'t, f64>) -> Var<'t, f64>| {
            let tape = Tape::new();
            let x = tape.variable(&points);
            let loss = (mean(x) * tape.constant(&direction)).sum();
            let gradients = tape.backward(loss);
            assert!(gradients.view(x).is_some());
            gradients.wrt(x).data().to_vec()
        };
        let implicit = gradient(&|x| {
            let w = x.tape().constant(&Tensor::new([2], vec![1.0, 1.0]));
            FrechetMean::default().on_tape(&m, x, w).unwrap()
        });
        let direct = gradient(&|x| {
            m.geodesic(&x.slice(0, 0..1), &x.slice(0, 1..2), &x.tape().scalar(0.5)).reshape([3])
        });
        let scale = norm(&direct);
        let bound = 64.0 * f64::EPSILON * radius.cosh().powi(2);
        for (a, b) in implicit.iter().zip(&direct) {
            assert!((a - b).abs() <= bound.max(1e-13) * scale, "{radius}: {implicit:?} {direct:?}");
        }
    }
}

/// One point, equal points, points without weight, batches that broadcast, f32.
#[test]
fn edges() {
    fn check<M: Manifold + ConstantCurvature, T: Float>(m: M) {
        let mut rng = rng::stream(6, 0, 0);
        let x: Row<T> = at_distance(&m, &m.origin(3), 1.5, &mut rng);
        let y: Row<T> = at_distance(&m, &m.origin(3), 1.0, &mut rng);
        let solver = FrechetMean::default();
        for n in [1, 4] {
            let points = Tensor::new([n, x.len()], (0..n).flat_map(|_| x.to_vec()).collect());
            let got = solver.solve(&m, &points, &Tensor::from_fn([n], |i| 1.0 + i as f64)).unwrap();
            assert!(m.dist(&Row::from(got.data()), &x) <= 64.0 * T::EPSILON, "{m:?} {n}");
            let tape = Tape::new();
            let (p, w) = (tape.variable(&points), tape.variable(&Tensor::from_fn([n], |_| T::one())));
            let gradients = tape.backward(solver.on_tape(&m, p, w).unwrap().sum());
            for v in [p, w] {
                assert!(gradients.view(v).is_some());
                assert!(gradients.wrt(v).data().iter().all(|g| g.is_finite()));
            }
        }
        let two = Tensor::new([2, x.len()], x.iter().chain(y.iter()).copied().collect());
        let got = solver.solve(&m, &two, &Tensor::new([3, 2], vec![1.0, 0.0, 0.0, 5.0, 1.0, 1.0])).unwrap();
        assert_eq!(got.shape().axes(), [3, x.len()]);
        for (i, want) in [x.clone(), y.clone(), m.geodesic(&x, &y, &0.5)].iter().enumerate() {
            assert!(m.dist(&row(&got, i), want) <= (32.0 * T::EPSILON).max(2e-13), "{m:?} {i}");
            m.contains(got.row(i)).unwrap();
        }
    }
    for kappa in [-1.0, 0.0, 0.3] {
        check::<_, f64>(Stereographic::new(kappa));
        check::<_, f32>(Stereographic::new(kappa));
    }
    check::<_, f64>(Lorentz::new(-1.0));
}

/// Sets without a mean are reported as errors.
#[test]
fn errors() {
    let m = PoincareBall::new(-1.0);
    let solver = FrechetMean::default();
    let points = Tensor::new([2, 2, 1], vec![0.1_f64, 0.2, 0.3, -0.9]);
    let error = |weights: Vec<f64>| solver.solve(&m, &points, &Tensor::new([2, 2], weights)).unwrap_err();
    assert_eq!(error(vec![1.0, 1.0, 0.0, 0.0]), FrechetError::Empty { set: 1 });
    let negative = error(vec![1.0, 1.0, 1.0, -2.0]);
    assert_eq!(negative, FrechetError::Weight { set: 1, point: 1, weight: -2.0 });
    assert_eq!(
        negative.to_string(),
        "Fréchet mean: the weight -2 of point 1 in set 1 is not finite and at least 0"
    );
    assert!(matches!(error(vec![1.0, f64::NAN, 1.0, 1.0]), FrechetError::Weight { set: 0, point: 1, .. }));
    let empty = solver.solve(&m, &Tensor::<f64>::zeros([0, 2]), &Tensor::zeros([0]));
    assert_eq!(empty.unwrap_err(), FrechetError::Empty { set: 0 });
    let hasty = FrechetMean { iterations: 1, ..solver };
    let wide = Tensor::new([3, 2], vec![0.9, 0.1, -0.3, 0.8, 0.1, -0.95]);
    let error = hasty.solve(&m, &wide, &Tensor::new([3], vec![1.0, 2.0, 3.0])).unwrap_err();
    assert!(
        matches!(error, FrechetError::NotConverged { iterations: 1, gradient, .. } if gradient > 0.0),
        "{error}"
    );
}

/// Where the logarithm of a point is 0 because it is opposite to the result, the result is no minimum.
#[test]
fn antipodal_points_have_no_mean() {
    let (sphere, solver) = (Sphere::new(0.25), FrechetMean::default());
    let points = Tensor::new([3, 3], vec![0.0_f64, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, -2.0, 0.0]);
    let error = solver.solve(&sphere, &points, &Tensor::new([3], vec![1.0, 1.0, 2.0])).unwrap_err();
    assert_eq!(error, FrechetError::Antipodal { set: 0, point: 2 });
    assert_eq!(
        error.to_string(),
        "Fréchet mean: point 2 of set 0 is antipodal to the result, which is no minimum"
    );
    // A point without weight does not count.
    let mean = solver.solve(&sphere, &points, &Tensor::new([3], vec![1.0, 1.0, 0.0])).unwrap();
    assert!(sphere.dist(&Row::from(mean.data()), &row(&points, 0)) < 1e-14);
}

#[test]
#[should_panic(expected = "frechet_mean: points [4, 2] of weights [3]")]
fn shapes_that_do_not_fit_are_named() {
    let _ = FrechetMean::default().solve(&Euclidean, &Tensor::<f64>::zeros([4, 2]), &Tensor::zeros([3]));
}

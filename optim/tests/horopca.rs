//! The search for HoroPCA's directions.

use cotangent_engine::{Row, Rows, Tensor, rng};
use cotangent_manifolds::{
    FrechetError, HoroPca, HoroPcaError, Hyperbolic, Lorentz, Manifold, OriginFrame, PoincareBall, Stiefel,
    standard_normal,
};
use cotangent_optim::HoroPcaFit;

/// Number of points: the test build computes slowly.
const POINTS: u32 = 24;

/// Points of a plane in `dim` dimensions of the ball: three branches at equal angles, up to distance
/// `length`, about a point at distance 1 from the origin.
fn branches(dim: usize, length: f64, seed: u64) -> Tensor<f64> {
    let (ball, mut rng) = (PoincareBall::new(-1.0), rng::stream(seed, 0, 0));
    let normal = standard_normal::<f64>([2 * dim], &mut rng);
    let frame = Stiefel::new(dim, 2).project(&Row::from(normal.data()));
    let mut centre = ball.random_tangent(&ball.origin::<f64>(dim), &mut rng);
    let norm = ball.norm(&ball.origin(dim), &centre);
    centre.iter_mut().for_each(|x| *x /= norm);
    let centre = ball.exp(&ball.origin(dim), &centre);
    let mut data = Vec::new();
    for i in 0..POINTS {
        let (r, angle) =
            (length * f64::from(i + 1) / f64::from(POINTS), std::f64::consts::TAU / 3.0 * f64::from(i % 3));
        let angle = angle + 0.1 * f64::from(i).sin();
        let flat = [0.5 * r * angle.cos(), 0.5 * r * angle.sin()];
        let v: Vec<f64> = (0..dim).map(|k| frame[2 * k] * flat[0] + frame[2 * k + 1] * flat[1]).collect();
        let v = ball.transport(&ball.origin(dim), &centre, &Row::from(v.as_slice()));
        data.extend_from_slice(&ball.exp(&centre, &v));
    }
    Tensor::new([POINTS as usize, dim], data)
}

/// The distances of all pairs of points.
fn distances<M: Manifold>(m: &M, points: &Tensor<f64>) -> Vec<f64> {
    m.dist(&points.reshape(points.shape().insert(1)), points).data().to_vec()
}

/// Data in a plane of five dimensions: the plane is found, and all distances are kept. The same data on the
/// hyperboloid, whose coordinates and starts differ, have the same picture.
#[test]
fn the_plane_of_the_data_is_found() {
    for (length, seed) in [(2.0, 1), (6.0, 2), (20.0, 3)] {
        let (ball, points) = (PoincareBall::new(-1.0), branches(5, length, seed));
        let pca = HoroPcaFit::new(2).fit(ball, &points).unwrap();
        let want = distances(&ball, &points);
        let got = distances(&ball, &pca.coordinates(&points));
        let lorentz = Lorentz::new(-1.0);
        let points = ball.onto_hyperboloid(&points);
        let on_hyperboloid = HoroPcaFit::new(2).fit(lorentz, &points).unwrap().coordinates(&points);
        let other = distances(&lorentz, &on_hyperboloid);
        for ((want, got), other) in want.iter().zip(&got).zip(&other) {
            let bound = 1e-3 * (1.0 + want);
            assert!((got - want).abs() < bound, "{length}: {got}, not {want}");
            assert!((other - want).abs() < bound, "{length}, on the hyperboloid: {other}, not {want}");
        }
    }
}

/// One component: no direction has Busemann functions of more variance.
#[test]
fn one_component_has_the_most_variance() {
    let m = Lorentz::new(-1.0);
    let mut rng = rng::stream(4, 0, 0);
    let data: Vec<f64> = (0..80).flat_map(|_| m.random_point::<f64>(3, 4.0, &mut rng).to_vec()).collect();
    let points = Tensor::new([80, 4], data);
    let pca = HoroPcaFit::new(1).fit(m, &points).unwrap();
    let variance = |flat: &Tensor<f64>| distances(&m, flat).iter().map(|d| d * d).sum::<f64>();
    let best = variance(&pca.coordinates(&points));
    for _ in 0..200 {
        let normal = standard_normal::<f64>([3], &mut rng);
        let direction = Stiefel::new(3, 1).project(&Row::from(normal.data()));
        let direction = Tensor::new([1, 3], direction.to_vec());
        let other = HoroPca::new(m, pca.base().clone(), direction).unwrap();
        assert!(variance(&other.coordinates(&points)) <= best * (1.0 + 1e-6));
    }
    let direction = m.frame(&Row::from(pca.directions().row(0)));
    assert_eq!(direction.columns(0..1)[0], 0.0);
}

#[test]
fn a_seed_gives_the_same_bits() {
    let m = PoincareBall::new(-1.0);
    let mut rng = rng::stream(5, 0, 0);
    let data: Vec<f64> = (0..100).flat_map(|_| m.random_point::<f64>(4, 5.0, &mut rng).to_vec()).collect();
    let points = Tensor::new([100, 4], data);
    let search = HoroPcaFit { sample: 40, starts: 2, ..HoroPcaFit::new(2) };
    let fit = |seed| HoroPcaFit { seed, ..search }.fit(m, &points).unwrap();
    assert_eq!(fit(1), fit(1));
    assert_ne!(fit(1), fit(2), "other points are drawn");
}

/// Points without a spread, or with fewer directions than asked for, are no error.
#[test]
fn degenerate_points() {
    let m = PoincareBall::new(-1.0);
    let points = Tensor::from_fn([7, 3], |i| [0.1, 0.2, -0.3][i % 3]);
    let flat = HoroPcaFit::new(2).fit(m, &points).unwrap().coordinates(&points);
    assert!(flat.data().iter().all(|x| x.abs() < 1e-12), "{flat:?}");
    let points = Tensor::from_fn([5, 3], |i| [0.1, 0.0, 0.0][i % 3] * (i / 3) as f64);
    let flat = HoroPcaFit::new(3).fit(m, &points).unwrap().coordinates(&points);
    assert!(flat.data().iter().all(|x| x.is_finite()));
}

#[test]
fn bad_input_is_refused() {
    let m = PoincareBall::new(-1.0);
    let refused = |components, points| HoroPcaFit::new(components).fit(m, &points).unwrap_err();
    assert_eq!(refused(2, Tensor::zeros([0, 3])), HoroPcaError::NoPoints);
    let impossible = |components| HoroPcaError::Components { components, dimension: 3 };
    assert_eq!(refused(0, Tensor::zeros([4, 3])), impossible(0));
    assert_eq!(refused(4, Tensor::zeros([4, 3])), impossible(4));
    let not_finite = refused(2, Tensor::new([2, 3], vec![f64::NAN; 6]));
    assert!(matches!(not_finite, HoroPcaError::Mean(FrechetError::NotConverged { .. })), "{not_finite}");
}

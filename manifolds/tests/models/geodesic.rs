//! Geodesics beyond their ends, to the last distance that storage holds.

use cotangent_engine::domain::largest_time;
use cotangent_engine::{Float, Row, Tape, Tensor, rng};
use cotangent_manifolds::{
    ConstantCurvature, HalfSpace, Hyperbolic, Klein, Lorentz, Manifold, PoincareBall, Point,
};

use crate::common::at_distance;
use crate::weighted;

type Ball = Point<PoincareBall, Row<f64>>;

fn times(v: &Row<f64>, by: f64) -> Row<f64> {
    let mut w = v.clone();
    w.iter_mut().for_each(|c| *c *= by);
    w
}

/// The largest coordinate of a difference.
fn deviation(x: &Row<f64>, y: &Row<f64>) -> f64 {
    x.iter().zip(y.iter()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

/// The point at time t, checked to be valid and to have finite gradients.
fn point<M: Manifold>(m: &M, [x, y]: [&Row<f64>; 2], t: f64) -> Row<f64> {
    let z = m.geodesic(x, y, &t);
    let what = format!("{m:?} {x:?} {y:?} t {t}: {z:?}");
    m.contains(&z).unwrap_or_else(|e| panic!("{what}: {e}"));
    let tape = Tape::new();
    let rows = [x, y].map(|x| tape.variable(&Tensor::new([1, x.len()], x.to_vec())));
    let time = tape.variable(&Tensor::scalar(t));
    let gradients = tape.backward(weighted(m.geodesic(&rows[0], &rows[1], &time)));
    for variable in [rows[0], rows[1], time] {
        let g = gradients.wrt(variable).data().to_vec();
        assert!(g.iter().all(|g| g.is_finite()), "{what}: gradient {g:?}");
    }
    z
}

/// Checks that the point of another model's geodesic, taken to the ball, has the coordinates `want`.
fn check<N: Hyperbolic>([x, y]: [&Ball; 2], t: f64, want: &Row<f64>, tolerance: f64) {
    let [start, end]: [Point<N, _>; 2] = [x.to(), y.to()];
    let m = start.manifold();
    let z = Point::new(*m, point(m, [start.coordinates(), end.coordinates()], t));
    let back: Ball = z.to();
    let miss = deviation(back.coordinates(), want) * (-m.kappa()).sqrt();
    assert!(miss <= tolerance, "{x:?} {y:?} t {t}: {z:?} is {back:?}, not {want:?}: {miss:e}");
}

/// Compared with the exponential map of t times the logarithm in the ball.
#[test]
fn geodesics_beyond_their_ends() {
    let mut rng = rng::stream(41, 0, 0);
    for kappa in [-1.0, -3.7] {
        let (m, length) = (PoincareBall::new(kappa), f64::sqrt(-kappa).recip());
        for (i, dim) in [1, 2, 3, 5].into_iter().cycle().enumerate().take(24) {
            let distant = i % 2 == 1;
            let (radius, distance) = if distant { (0.999, [8.7, 8.3]) } else { (0.3, [0.8, 1.3]) };
            let direction = m.random_tangent(&m.origin::<f64>(dim), &mut rng);
            let norm = direction.iter().map(|c| c * c).sum::<f64>().sqrt();
            let x = times(&direction, radius * length / norm);
            // Anywhere, or straight outwards or inwards.
            let y = match i % 3 {
                0 => at_distance(&m, &x, distance[0] * length, &mut rng),
                k => {
                    let v = times(&x, if k == 1 { 1.0 } else { -1.0 });
                    m.exp(&x, &times(&v, distance[1] * length / m.norm(&x, &v)))
                }
            };
            for t in [3.0, 40.0, 1000.0, -3.0, -40.0, -1000.0] {
                let z = m.exp(&x, &times(&m.log(&x, &y), t));
                let [a, b] = [&x, &y].map(|x| Point::new(m, x.clone()));
                let got = point(&m, [&x, &y], t);
                let miss = deviation(&got, &z) / length;
                // Rounding turns the logarithm, and the far side of the ball turns by up to 2/m² times
                // that, where m is the margin of x. The largest miss seen is 1.6e-11, at t = -40.
                assert!(
                    miss < if distant { 2e-11 } else { 1e-12 },
                    "{x:?} {y:?} t {t}: {got:?}, not {z:?}: {miss:e}"
                );
                check::<Lorentz>([&a, &b], t, &z, 1e-7);
                check::<Klein>([&a, &b], t, &z, 1e-7);
                check::<HalfSpace>([&a, &b], t, &z, 1e-7);
                assert_eq!(point(&m, [&x, &x], t), x);
                check::<Lorentz>([&a, &a], t, &x, 1e-12);
                check::<HalfSpace>([&a, &a], t, &x, 1e-12);
            }
        }
    }
}

/// The distances from both ends, up to the radius that the hyperboloid holds.
fn reach<M: ConstantCurvature, T: Float>(m: M) {
    let (mut rng, c) = (rng::stream(42, 0, 0), (-m.kappa()).sqrt());
    let farthest = largest_time::<T>().ln();
    for dim in [1, 2, 3, 5] {
        let x = m.random_point::<T>(dim, 0.3 / c, &mut rng);
        let y = at_distance(&m, &x, 1.0 / c, &mut rng);
        let d = m.dist(&x, &y);
        for part in [0.05, 0.3, 0.9] {
            for t in [part, -part].map(|part| farthest * part) {
                let z = m.geodesic(&x, &y, &t);
                m.contains(&z).unwrap();
                for (got, times) in [(m.dist(&x, &z), t), (m.dist(&y, &z), t - 1.0)] {
                    let (want, bound) = (times.abs() * d, 64.0 * T::EPSILON * (1.0 + t.abs()) / c);
                    assert!(
                        (got - want).abs() < bound,
                        "{m:?} {}: {x:?} {y:?} t {t}: {z:?} is {got} away, not {want}",
                        T::NAME
                    );
                }
            }
        }
    }
}

#[test]
fn geodesics_as_far_as_storage_holds() {
    for kappa in [-1.0, -3.7] {
        reach::<_, f64>(Lorentz::new(kappa));
        reach::<_, f32>(Lorentz::new(kappa));
        reach::<_, f64>(HalfSpace::new(kappa));
        reach::<_, f32>(HalfSpace::new(kappa));
    }
}

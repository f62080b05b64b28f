//! Laws that involve forward mode or an optimiser. Laws of the manifolds themselves are tested in
//! `manifolds/tests/laws`.

use cotangent::engine::check;
use cotangent::manifolds::{HalfSpace, Klein, Product, Sphere};
use cotangent::prelude::*;

/// Half the squared distance is smooth where the points coincide. In both modes its gradient is −log,
/// also at x = y. There, its Hessian is the identity on the tangent space.
#[test]
fn half_the_squared_distance_is_smooth_where_points_coincide() {
    fn half<'t, M: Manifold>(m: M, v: &[Var<'t, f64>]) -> Var<'t, f64> {
        0.5 * m.squared_dist(&v[0], &v[1]).sum()
    }
    fn differentiate<M: Manifold>(m: M) {
        let mut rng = rng::stream(6, 5, 0);
        for radius in [0.0, 1e-9, 2.0, 2.0, 2.0, 2.0] {
            let x = m.random_point::<f64>(4, radius, &mut rng);
            let distant = m.random_point::<f64>(4, 1.0, &mut rng);
            let nearby = m.exp(
                &x,
                &Row::from(
                    m.random_tangent(&x, &mut rng).iter().map(|v| 1e-9 * v).collect::<Vec<_>>().as_slice(),
                ),
            );
            let v = m.random_tangent(&x, &mut rng);
            let shape = [1, x.len()];
            let [point, direction] = [&x, &v].map(|row| Tensor::new(shape, row.to_vec()));
            for y in [&x, &nearby, &distant] {
                let target = Tensor::new(shape, y.to_vec());
                // Cotangents may have components normal to the tangent space; directions have none.
                let along = m.random_tangent(y, &mut rng);
                let directions = [direction.clone(), Tensor::new(shape, along.to_vec())];
                let worst =
                    check::forward_mode(&[point.clone(), target.clone()], &directions, |v| half(m, v));
                assert!(worst < 1e-9, "{m:?}: forward mode differs by {worst:e}");
                let tape = Tape::new();
                let [x_, y_] = [tape.variable(&point), tape.constant(&target)];
                let half = half(m, &[x_, y_]);
                let d = m.dist(&x, y);
                assert!(
                    (half.item() - 0.5 * d * d).abs() <= 1e-12 * (d * d + 1e-12 * d),
                    "{m:?}: {}",
                    half.item()
                );
                let slope = tape.jvp(half, &[(x_, tape.constant(&direction))]);
                let hessian = tape.backward(slope).wrt(x_).data().to_vec();
                let hessian = m.egrad_to_rgrad(&x, &Row::from(hessian.as_slice()));
                if y != &distant {
                    // At a nearby point the Hessian differs from the identity by the square of the distance.
                    let worst = hessian.iter().zip(v.iter()).map(|(h, v)| (h - v).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-7 * (1.0 + m.norm(&x, &v)), "{m:?}: H v is {worst:e} off v");
                }
                let tape = Tape::new();
                let x_ = tape.variable(&point);
                let half = 0.5 * m.squared_dist(&x_, &tape.constant(&target)).sum();
                let gradient = tape.backward(half).wrt(x_).data().to_vec();
                let gradient = m.egrad_to_rgrad(&x, &Row::from(gradient.as_slice()));
                for (g, log) in gradient.iter().zip(m.log(&x, y).iter()) {
                    // The projection onto the tangent space has rounding errors of the coordinates' size.
                    let bound = 1e-9 * d + 2.0 * f64::EPSILON;
                    assert!((g + log).abs() <= bound, "{m:?}: the gradient has {g}, -log {}", -log);
                }
            }
        }
    }
    differentiate(Euclidean);
    for kappa in [-1.0, -0.37, 0.0, 0.6] {
        differentiate(Stereographic::new(kappa));
    }
    for kappa in [-1.0, -0.37] {
        differentiate(Lorentz::new(kappa));
        differentiate(Klein::new(kappa));
        differentiate(HalfSpace::new(kappa));
    }
    differentiate(Sphere::new(0.6));
    differentiate(Product::new(PoincareBall::new(-1.0), 2, Lorentz::new(-0.37)));
}

/// A step of gradient descent with rate 1 on half the squared distance lands on the target.
#[test]
fn one_exact_step_lands_on_the_target() {
    fn check<M: Steps>(m: M) {
        let mut rng = rng::stream(5, 5, 0);
        for _ in 0..100 {
            let (start, target) =
                (m.random_point::<f64>(4, 5.0, &mut rng), m.random_point::<f64>(4, 5.0, &mut rng));
            let shape = [1, start.len()];
            let mut x = Param::new("x", m, Tensor::new(shape, start.to_vec()));
            let tape = Tape::new();
            let y = Point::new(m, tape.constant(&Tensor::new(shape, target.to_vec())));
            let loss = 0.5 * x.on(&tape).dist(&y).square().sum();
            RiemannianSgd::new(1.0).unwrap().step(&mut x, &tape.backward(loss)).unwrap();
            let miss = m.dist(&Row::from(x.value().row(0)), &target);
            assert!(miss < 1e-7, "{m:?}: {miss:e}");
        }
    }
    check(Euclidean);
    check(PoincareBall::new(-1.0));
    check(PoincareBall::new(-0.37));
    check(Stereographic::new(0.0));
    check(Lorentz::new(-1.0));
    check(Lorentz::new(-0.37));
}

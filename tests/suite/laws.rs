//! Laws that need more than a manifold. Those of the manifolds themselves are tested beside them, in
//! `manifolds/tests/laws`.

use cotangent::prelude::*;

/// A step of gradient descent at rate 1 on half the squared distance lands on the target.
#[test]
fn one_exact_step_lands_on_the_target() {
    fn check<M: Manifold>(m: M) {
        let mut rng = rng::stream(5, 5, 0);
        for _ in 0..100 {
            let (start, target) =
                (m.random_point::<f64>(4, 5.0, &mut rng), m.random_point::<f64>(4, 5.0, &mut rng));
            let shape = [1, start.len()];
            let mut x = Param::new("x", m, Tensor::new(shape, start.to_vec()));
            let tape = Tape::new();
            let y = Point::new(m, tape.constant(&Tensor::new(shape, target.to_vec())));
            let loss = 0.5 * tape.point(&x).dist(&y).square().sum();
            RiemannianSgd::new(1.0).unwrap().step(&mut x, &tape.backward(loss)).unwrap();
            let miss = m.dist(&Row::from(x.value().row(0)), &target);
            assert!(miss < 1e-7, "{m:?}: {miss:e}");
        }
    }
    check(Euclidean);
    check(PoincareBall::ball(-1.0).unwrap());
    check(PoincareBall::ball(-0.37).unwrap());
    check(Stereographic::new(0.0).unwrap());
    check(Lorentz::new(-1.0).unwrap());
    check(Lorentz::new(-0.37).unwrap());
}

//! Angles and triangles: Ganea, Bécigneul, Hofmann 2018, eq. 3 and section 2.4.

use std::f64::consts::{FRAC_PI_2, PI};

use cotangent_engine::{Row, Tensor, Var, check, rng};
use cotangent_manifolds::{
    ConstantCurvature, Euclidean, HalfSpace, Klein, Lorentz, Manifold, PoincareBall, Sphere, Stereographic,
};
use rand::RngExt;

/// Does something with manifolds of constant curvature.
trait OnSpace {
    fn on<M: ConstantCurvature>(&mut self, m: M);
}

fn every_space(visitor: &mut impl OnSpace) {
    for kappa in [-2.5, -1.0, -0.37] {
        visitor.on(PoincareBall::new(kappa));
        visitor.on(Lorentz::new(kappa));
        visitor.on(Klein::new(kappa));
        visitor.on(HalfSpace::new(kappa));
        visitor.on(Stereographic::new(-kappa));
        visitor.on(Sphere::new(-kappa));
    }
    visitor.on(Stereographic::new(0.0));
    visitor.on(Euclidean);
}

/// `sin_κ t`: sin t, t or sinh t at the curvatures 1, 0 and −1.
fn sine(kappa: f64, t: f64) -> f64 {
    let root = kappa.abs().sqrt();
    match kappa {
        0.0 => t,
        kappa if kappa < 0.0 => (root * t).sinh() / root,
        _ => (root * t).sin() / root,
    }
}

/// The derivative of [`sine`].
fn cosine(kappa: f64, t: f64) -> f64 {
    let root = kappa.abs().sqrt();
    if kappa < 0.0 { (root * t).cosh() } else { (root * t).cos() }
}

/// The law of sines, `sin α/sin_κ a = sin β/sin_κ b = sin γ/sin_κ c`; the law of cosines for angles,
/// `cos α = −cos β cos γ + sin β sin γ cos_κ a`; and the sum of the angles: less than π for κ < 0,
/// more for κ > 0.
#[test]
fn sines_and_cosines_of_triangles() {
    struct Triangles;
    impl OnSpace for Triangles {
        fn on<M: ConstantCurvature>(&mut self, m: M) {
            let (mut rng, kappa) = (rng::stream(11, 0, 0), m.kappa());
            for _ in 0..50 {
                let corners: [Row<f64>; 3] = std::array::from_fn(|_| m.random_point(3, 0.7, &mut rng));
                let [sines, cosines, sides] = {
                    let angle = |i: usize| {
                        let [x, y, z] = [0, 1, 2].map(|k| &corners[(i + k) % 3]);
                        m.angle(x, &m.log(x, y), &m.log(x, z))
                    };
                    let angles = [0, 1, 2].map(angle);
                    let sides = [0, 1, 2].map(|i| m.dist(&corners[(i + 1) % 3], &corners[(i + 2) % 3]));
                    let excess = angles.iter().sum::<f64>() - PI;
                    assert!(excess * kappa.signum() > -1e-12, "{m:?}: {excess}");
                    assert!(kappa != 0.0 || excess.abs() < 1e-12, "{m:?}: {excess}");
                    [angles.map(f64::sin), angles.map(f64::cos), sides]
                };
                for i in 0..3 {
                    let [j, k] = [(i + 1) % 3, (i + 2) % 3];
                    let crossed = [sines[i] * sine(kappa, sides[j]), sines[j] * sine(kappa, sides[i])];
                    assert!((crossed[0] - crossed[1]).abs() < 1e-12, "{m:?}: sines {crossed:?}");
                    let want = -cosines[j] * cosines[k] + sines[j] * sines[k] * cosine(kappa, sides[i]);
                    assert!((cosines[i] - want).abs() < 1e-12, "{m:?}: {} {want}", cosines[i]);
                }
            }
        }
    }
    every_space(&mut Triangles);
}

/// A vector that is transported once around a triangle, along its sides, has turned by the excess of the
/// angles, which is the curvature times the area (Gauss & Bonnet): for κ > 0 in the sense of the way
/// around.
#[test]
fn transport_around_a_triangle_turns_by_its_excess() {
    struct Triangles(f64);
    impl OnSpace for Triangles {
        fn on<M: ConstantCurvature>(&mut self, m: M) {
            let mut rng = rng::stream(12, 0, 0);
            for _ in 0..50 {
                let corners: [Row<f64>; 3] = std::array::from_fn(|_| m.random_point(3, 0.7, &mut rng));
                let corner = |i: usize| &corners[i % 3];
                let angles = [0, 1, 2].map(|i| {
                    m.angle(corner(i), &m.log(corner(i), corner(i + 1)), &m.log(corner(i), corner(i + 2)))
                });
                let excess = angles.iter().sum::<f64>() - PI;
                let [start, end] = [m.log(corner(0), corner(1)), m.log(corner(0), corner(2))];
                let turned = (0..3).fold(start.clone(), |v, i| m.transport(corner(i), corner(i + 1), &v));
                let to_end = (angles[0] - excess).abs();
                let want = [excess.abs(), to_end.min(2.0 * PI - to_end)];
                let have = [&start, &end].map(|v| m.angle(corner(0), &turned, v));
                for (have, want) in have.into_iter().zip(want) {
                    assert!((have - want).abs() < 1e-12, "{m:?}: {have}, not {want}");
                }
                let lengths = [&turned, &start].map(|v| m.norm(corner(0), v));
                assert!((lengths[0] / lengths[1] - 1.0).abs() < 1e-12, "{m:?}: {lengths:?}");
                self.0 = self.0.max(excess.abs());
            }
        }
    }
    let mut triangles = Triangles(0.0);
    every_space(&mut triangles);
    assert!(triangles.0 > 0.3, "all triangles are small: {}", triangles.0);
}

/// The ball is conformal: its angles are those of the coordinates. Angles near 0 and π are as exact as
/// others, and vectors of any length have an angle.
#[test]
fn angles_in_the_ball_are_euclidean() {
    let (m, mut rng) = (PoincareBall::new(-1.0), rng::stream(12, 0, 0));
    for _ in 0..200 {
        let x: Row<f64> = m.random_point(4, 8.0, &mut rng);
        let [u, v] = [(); 2].map(|()| m.random_tangent(&x, &mut rng));
        let (angle, flat) = (m.angle(&x, &u, &v), Euclidean.angle(&x, &u, &v));
        assert!((angle - flat).abs() < 1e-14, "{angle} {flat}");
        let [dot, of_u, of_v] = [(&u, &v), (&u, &u), (&v, &v)]
            .map(|(a, b)| a.iter().zip(b.iter()).map(|(a, b)| a * b).sum::<f64>());
        assert!((angle.cos() - dot / (of_u * of_v).sqrt()).abs() < 1e-14, "{angle}");
    }
    let x = Row::from([0.3, -0.2]);
    for t in [1e-18_f64, 1e-9, 1e-3, 1.0, 2.0] {
        let turned = Row::from([t.cos(), t.sin()]);
        let small = m.angle(&x, &Row::from([1e90, 0.0]), &turned);
        assert!((small - t).abs() < 1e-15, "{t}: {small}");
        let opposite = m.angle(&x, &Row::from([-1e-90, 0.0]), &turned);
        assert!((opposite - (PI - t)).abs() < 1e-15, "{t}: {opposite}");
    }
    let zero = Row::from([0.0, 0.0]);
    let angles = [m.angle(&x, &zero, &x), m.angle(&x, &x, &x), m.angle(&x, &zero, &zero)];
    assert!((angles[0] - FRAC_PI_2).abs() < 1e-15 && angles[1..] == [0.0, 0.0], "{angles:?}");
}

#[test]
fn gradients_of_angles() {
    let mut rng = rng::stream(13, 0, 0);
    let inputs = [(); 3].map(|()| Tensor::<f64>::from_fn([5, 3], |_| rng.random_range(-0.5..0.5)));
    type Operation = for<'t> fn(&[Var<'t, f64>]) -> Var<'t, f64>;
    let operations: [(&str, Operation); 3] = [
        ("ball", |v| PoincareBall::new(-0.7).angle(&v[0], &v[1], &v[2])),
        ("Klein model", |v| Klein::new(-0.7).angle(&v[0], &v[1], &v[2])),
        ("gyroline element", |v| PoincareBall::new(-0.7).gyroline_element(&v[0], &v[1])),
    ];
    for (name, operation) in operations {
        let worst = check::gradients(&inputs, |v| crate::weighted(operation(v)));
        assert!(worst.relative < 2e-8, "{name}: {worst:?}");
    }
}

/// Eq. 7: the gyroline element is `‖(x + v) ⊖ x‖` up to the square of v.
#[test]
fn the_gyroline_element_is_an_infinitesimal_difference() {
    let mut rng = rng::stream(14, 0, 0);
    for kappa in [-2.5, -1.0, 0.0, 0.6] {
        let m = Stereographic::new(kappa);
        for _ in 0..50 {
            let x: Row<f64> = m.random_point(3, 1.0, &mut rng);
            let v = m.random_tangent(&x, &mut rng);
            let element = m.gyroline_element(&x, &v);
            assert!((element - 0.5 * m.norm(&x, &v)).abs() < 1e-14 * element);
            for t in [1e-3, 1e-5] {
                let moved: Row<f64> = Row::from([0, 1, 2].map(|i| x[i] + t * v[i]));
                let size = m.sub(&moved, &x).iter().map(|x| x * x).sum::<f64>().sqrt() / t;
                assert!((size / element - 1.0).abs() < 100.0 * t, "{kappa}: {size} {element}");
            }
        }
    }
}

//! Entailment cones and shadow cones. Laws 55 to 58.

use cotangent_engine::{Float, Row, Tensor, Var, check, rng};
use cotangent_manifolds::{
    ConstantCurvature, EntailmentCones, HalfSpace, Hyperbolic, Klein, Lorentz, Manifold, PoincareBall, Point,
    Stereographic,
};
use rand::RngExt;

fn ball(kappa: f64) -> PoincareBall {
    PoincareBall::new(kappa)
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The angle of two points and the aperture of the first, in another model.
fn in_model<N: EntailmentCones>([x, y]: &[Point<PoincareBall, Row<f64>>; 2]) -> [f64; 2] {
    let (x, y) = (x.to::<N>(), y.to::<N>());
    let m = x.manifold();
    [m.cone_angle(x.coordinates(), y.coordinates()), m.cone_aperture(x.coordinates(), 0.1)]
}

/// 55: the angle is that between x and log_x y; it is the same in the other models, and by the arc cosine
/// on the hyperboloid.
#[test]
fn angle_is_that_of_the_logarithm() {
    let mut rng = rng::stream(1, 0, 0);
    for kappa in [-2.5, -1.0, -0.37] {
        let (m, c) = (ball(kappa), f64::sqrt(-kappa));
        for _ in 0..200 {
            let [x, y] = [0, 0].map(|_| m.random_point::<f64>(3, 4.0 / c, &mut rng));
            let log = m.log(&x, &y);
            let cosine =
                x.iter().zip(log.iter()).map(|(x, v)| x * v).sum::<f64>() / length(&x) / length(&log);
            let angle = m.cone_angle(&x, &y);
            assert!((angle.cos() - cosine).abs() < 1e-12, "{kappa} {x:?} {y:?}: {angle}");
            let [lx, ly] = [&x, &y].map(|p| Point::new(m, p.clone()).to::<Lorentz>());
            let l = *lx.manifold();
            let on_hyperboloid = l.cone_angle(lx.coordinates(), ly.coordinates());
            assert!((on_hyperboloid - angle).abs() < 1e-12, "{kappa} {x:?} {y:?}: {angle} {on_hyperboloid}");
            // At curvature −1. At a distance of 0.3 or more the arc cosine still has its digits.
            let [p, q] = [&lx, &ly].map(|p| p.coordinates().iter().map(|x| c * x).collect::<Vec<f64>>());
            let product = p[1..].iter().zip(&q[1..]).map(|(p, q)| p * q).sum::<f64>() - p[0] * q[0];
            if c * m.dist(&x, &y) > 0.3 {
                let cosine = (q[0] + p[0] * product) / (length(&p[1..]) * (product * product - 1.0).sqrt());
                assert!(
                    (on_hyperboloid.cos() - cosine).abs() < 1e-9,
                    "{kappa} {x:?} {y:?}: {on_hyperboloid} {cosine}"
                );
            }
            let (a, b) = (m.cone_aperture(&x, 0.1), l.cone_aperture(lx.coordinates(), 0.1));
            assert!((a - b).abs() < 1e-13, "{kappa} {x:?}: aperture {a} {b}");
            let sine = 0.1 * (1.0 + kappa * length(&x).powi(2)) / (c * length(&x));
            assert!((a.sin() - sine.min(1.0)).abs() < 1e-13, "{kappa} {x:?}: aperture {a} {sine}");
            let points = [&x, &y].map(|p| Point::new(m, p.clone()));
            for [of_model, width] in [in_model::<Klein>(&points), in_model::<HalfSpace>(&points)] {
                assert!((of_model - angle).abs() < 1e-9, "{kappa} {x:?} {y:?}: {of_model} {angle}");
                assert!((width - b).abs() < 1e-9, "{kappa} {x:?}: aperture {width} {b}");
            }
        }
    }
}

/// In every model that has cones, at all radii: without a direction the angle is exactly 0, and for the
/// direction back to the origin it is π.
#[test]
fn angles_without_a_direction_are_zero() {
    fn check<M: EntailmentCones, T: Float>() {
        let mut rng = rng::stream(9, 0, 0);
        for kappa in [-2.5, -1.0, -0.37, -1e-6] {
            let m = M::with_curvature(kappa).unwrap();
            let o = m.origin::<T>(3);
            assert_eq!(m.cone_aperture(&o, 0.1), std::f64::consts::FRAC_PI_2);
            for _ in 0..500 {
                let x = m.random_point::<T>(3, 0.4 * (0.1 / T::EPSILON).ln() / (-kappa).sqrt(), &mut rng);
                assert_eq!(m.cone_angle(&x, &x), 0.0, "{m:?} {x:?}");
                assert_eq!(m.cone_angle(&o, &x), 0.0, "{m:?} {x:?}");
                let back = m.cone_angle(&x, &o);
                assert!((back - std::f64::consts::PI).abs() < 1e-15, "{m:?} {x:?}: {back}");
            }
        }
    }
    check::<PoincareBall, f64>();
    check::<PoincareBall, f32>();
    check::<Lorentz, f64>();
    check::<Lorentz, f32>();
    check::<Klein, f64>();
    check::<Klein, f32>();
    check::<HalfSpace, f64>();
    check::<HalfSpace, f32>();
}

/// 56: transitivity, and an energy of exactly 0 inside, also close to the boundary.
fn entailment_is_transitive<M: EntailmentCones + Manifold>(m: M, radius: f64) {
    let (k, mut rng) = (0.1, rng::stream(2, 0, 0));
    let mut seen = 0;
    for _ in 0..4000 {
        // Descendants of descendants, drawn around the ray outwards.
        let mut step = |x: &Row<f64>| {
            let away = m.log(x, &m.origin(m.dimension(x.len())));
            let (d, noise) = (m.norm(x, &away), m.random_tangent(x, &mut rng));
            let n = 2.0 * m.norm(x, &noise);
            let reach = 0.3 * radius * rng.random::<f64>();
            let aside = 10f64.powf(-rng.random_range(0.0..4.0)) / n;
            let mut v = away.clone();
            v.iter_mut().zip(noise.iter()).for_each(|(v, w)| *v = reach * (w * aside - *v / d));
            m.exp(x, &v)
        };
        let x = step(&m.random_point(3, 0.1 * radius, &mut rng::stream(3, 0, 0)));
        let y = step(&x);
        let z = step(&y);
        let energy = |a: &Row<f64>, b: &Row<f64>| m.cone_energy(a, b, k);
        assert!(energy(&x, &y) >= 0.0);
        if energy(&x, &y) == 0.0 && energy(&y, &z) == 0.0 {
            seen += 1;
            assert!(energy(&x, &z) <= 1e-12, "{m:?} {x:?} {y:?} {z:?}: {:e}", energy(&x, &z));
        }
    }
    assert!(seen > 100, "{m:?}: {seen}");
}

#[test]
fn entailment() {
    for kappa in [-1.0, -0.37] {
        entailment_is_transitive(ball(kappa), 12.0 / f64::sqrt(-kappa));
        entailment_is_transitive(Lorentz::with_curvature(kappa).unwrap(), 8.0 / f64::sqrt(-kappa));
        assert_eq!(ball(kappa).kappa(), kappa);
    }
}

#[test]
#[should_panic(expected = "entailment cones: negative curvature is needed, not 0")]
fn flat_space_has_no_entailment_cones() {
    let _ = Stereographic::new(0.0).cone_angle(&Row::from([0.3, 0.1]), &Row::from([0.2, 0.5]));
}

fn half_space() -> HalfSpace {
    HalfSpace::new(-1.0)
}

/// Distance from y to the point at its height by `slack` nearer to the axis of the cone at x.
fn to_the_cone(m: HalfSpace, x: &Row<f64>, y: &Row<f64>, slack: f64) -> f64 {
    let t = (-slack).max(0.0) / (x[0] - y[0]).hypot(x[1] - y[1]);
    m.dist(y, &Row::from([y[0] + t * (x[0] - y[0]), y[1] + t * (x[1] - y[1]), y[2]]))
}

/// 57.
#[test]
fn umbral_cones() {
    let (m, mut rng) = (half_space(), rng::stream(4, 0, 0));
    for _ in 0..1000 {
        let mut point = || Row::from([0, 0, 1].map(|c| f64::from(c) + rng.random_range(-0.9..0.9)));
        let (x, y, z) = (point(), point(), point());
        let radius = rng.random_range(0.2..2.0);
        let h = m.umbral_ancestor(&x, &y, radius);
        assert_eq!(h, m.umbral_ancestor(&y, &x, radius));
        let delta = (x[0] - y[0]).hypot(x[1] - y[1]);
        let want = x[2].max(y[2]).max(0.5 * (delta / radius.sinh() + x[2] + y[2]));
        assert!((h - want).abs() < 1e-15);
        // The lowest common ancestor is one of the two where that one precedes the other.
        let slack = m.umbral_slack(&x, &y, radius);
        assert!((h == x[2]) == (slack >= 0.0) || slack.abs() < 1e-15, "{x:?} {y:?} {h} {slack}");
        let energy = m.umbral_energy(&x, &y, radius);
        assert!(
            (energy - to_the_cone(m, &x, &y, slack)).abs() < 1e-14 * (1.0 + energy),
            "{x:?} {y:?} {energy}"
        );
        // Where neither precedes the other, both are on the border of its cone.
        if slack < 0.0 && m.umbral_slack(&y, &x, radius) < 0.0 {
            let t = (h - x[2]) * radius.sinh() / delta;
            let top = Row::from([x[0] + t * (y[0] - x[0]), x[1] + t * (y[1] - x[1]), h]);
            for p in [&x, &y] {
                assert!(m.umbral_slack(&top, p, radius).abs() < 1e-14, "{x:?} {y:?} {top:?}");
            }
        }
        if slack >= 0.0 && m.umbral_slack(&y, &z, radius) >= 0.0 {
            assert!(m.umbral_slack(&x, &z, radius) >= -1e-15);
        }
        // At equal heights the Laplacian kernel: e^{−γh} exp(−γΔ/(2 sinh r)).
        let level = Row::from([y[0], y[1], x[2]]);
        let want = x[2] + delta / (2.0 * radius.sinh());
        assert!((m.umbral_ancestor(&x, &level, radius) - want).abs() < 1e-14);
    }
}

/// 58.
#[test]
fn penumbral_cones() {
    let (m, light, mut rng) = (half_space(), 2.0_f64, rng::stream(5, 0, 0));
    let width = |h: f64| ((light - h) * (light + h)).sqrt();
    let (mut inside, mut preceding) = (0, 0);
    for _ in 0..3000 {
        let mut point = || Row::from([0, 0, 1].map(|c| f64::from(c) + rng.random_range(-0.95..0.95)));
        let (x, y, z) = (point(), point(), point());
        let h = m.penumbral_ancestor(&x, &y, light);
        assert_eq!(h, m.penumbral_ancestor(&y, &x, light));
        let delta = (x[0] - y[0]).hypot(x[1] - y[1]);
        let (a, b) = (width(x[2]), width(y[2]));
        let (common, slack) = (delta <= a + b, m.penumbral_slack(&x, &y, light));
        assert_eq!(common, h <= light, "{x:?} {y:?}: {h}");
        if common {
            inside += 1;
            let square = light.powi(2) - (0.5 * (a + b - delta)).powi(2);
            let want = x[2].max(y[2]).max(square.max(0.0).sqrt());
            assert!((h - want).abs() < 1e-14 * light, "{x:?} {y:?}: {h} {want}");
            assert!((h == x[2]) == (slack >= 0.0) || slack.abs() < 1e-14, "{x:?} {y:?} {h} {slack}");
        } else {
            let middle = (delta * delta + y[2] * y[2] - x[2] * x[2]) / (2.0 * delta);
            assert!((h - middle.hypot(x[2])).abs() < 1e-14 * h, "{x:?} {y:?}: {h}");
        }
        let energy = m.penumbral_energy(&x, &y, light);
        assert!(
            (energy - to_the_cone(m, &x, &y, slack)).abs() < 1e-13 * (1.0 + energy),
            "{x:?} {y:?} {energy}"
        );
        // Both lie on the border of the cone at the lowest common ancestor.
        if common && slack < 0.0 && m.penumbral_slack(&y, &x, light) < 0.0 {
            let t = 0.5 * (1.0 + (a - b) / delta);
            let top = Row::from([x[0] + t * (y[0] - x[0]), x[1] + t * (y[1] - x[1]), h]);
            for p in [&x, &y] {
                assert!(m.penumbral_slack(&top, p, light).abs() < 1e-13, "{x:?} {y:?} {top:?}");
            }
        }
        if slack >= 0.0 {
            preceding += 1;
            if m.penumbral_slack(&y, &z, light) >= 0.0 {
                assert!(m.penumbral_slack(&x, &z, light) >= -1e-14);
            }
        }
        // Continuous where cones cease to meet, and where one point enters the other's.
        for (edge, want) in [(a + b, light), ((a - b).abs(), x[2].max(y[2]))] {
            let ancestor =
                |delta: f64| m.penumbral_ancestor(&Row::from([0.0, x[2]]), &Row::from([delta, y[2]]), light);
            for delta in [edge * (1.0 - 1e-12), edge, edge * (1.0 + 1e-12)] {
                assert!(
                    (ancestor(delta) - want).abs() < 1e-6,
                    "{x:?} {y:?} {delta}: {} {want}",
                    ancestor(delta)
                );
            }
        }
    }
    assert!(inside > 300 && preceding > 100, "{inside} {preceding}");
    // At the light source itself, and above it.
    assert_eq!(m.penumbral_ancestor(&Row::from([1.0, 2.0]), &Row::from([1.0, 0.5]), 2.0), 2.0);
    assert!(m.penumbral_ancestor(&Row::from([1.0, 2.5]), &Row::from([1.3, 0.5]), 2.0).is_finite());
}

/// A point above the light source counts as one at the light's height.
#[test]
fn penumbral_cones_above_the_light() {
    let (m, light, below) = (half_space(), 1.0, Row::from([0.3, 0.5]));
    for height in [1.0, 2.0, 5.0] {
        let x = Row::from([0.3, height]);
        assert!((m.penumbral_slack(&x, &below, light) - 0.75_f64.sqrt()).abs() < 1e-15, "{height}");
        assert_eq!(m.penumbral_energy(&x, &below, light), 0.0, "{height}");
        let beside = Row::from([0.4, height]);
        let to_the_light = Row::from([0.3, light]);
        let want = m.penumbral_energy(&to_the_light, &Row::from([0.4, light]), light);
        assert_eq!(m.penumbral_energy(&x, &beside, light), want, "{height}");
    }
    let (x, y, z) = (Row::from([0.3, 2.0]), Row::from([0.3, 5.0]), Row::from([0.5, 3.0]));
    for (a, b) in [(&x, &y), (&x, &z), (&y, &z)] {
        let slack = [m.penumbral_slack(a, b, light), m.penumbral_slack(b, a, light)];
        assert!(slack[0] == slack[1] && slack[0] <= 0.0, "{a:?} {b:?}: {slack:?}");
    }
}

#[test]
#[should_panic(expected = "shadow cones: the light is 0; a positive number is needed")]
fn a_light_is_above_the_boundary() {
    let _ = half_space().penumbral_slack(&Row::from([0.3, 1.5]), &Row::from([0.3, 0.5]), 0.0);
}

#[test]
#[should_panic(expected = "shadow cones: the radius is -1; a positive number is needed")]
fn a_ball_has_a_radius() {
    let _ = half_space().umbral_energy(&Row::from([0.3, 1.5]), &Row::from([0.3, 0.5]), -1.0);
}

/// Points under each other, and a point with itself.
#[test]
fn shadow_cones_of_vertical_pairs() {
    let m = half_space();
    let (x, y) = (Row::from([0.3, 1.5]), Row::from([0.3, 0.25]));
    for ancestor in [m.umbral_ancestor(&x, &y, 0.7), m.penumbral_ancestor(&x, &y, 2.0)] {
        assert_eq!(ancestor, 1.5);
    }
    assert_eq!(m.umbral_ancestor(&x, &x, 0.7), 1.5);
    assert!((m.penumbral_ancestor(&x, &x, 2.0) - 1.5).abs() < 1e-15);
    assert_eq!((m.umbral_slack(&x, &x, 0.7), m.penumbral_slack(&x, &x, 2.0)), (0.0, 0.0));
}

#[test]
fn gradients_of_cones() {
    type Operation = for<'t> fn(&[Var<'t, f64>]) -> Var<'t, f64>;
    let operations: [(&str, Operation); 12] = [
        ("ball angle", |v| ball(-0.7).cone_angle(&v[0], &v[1])),
        ("ball aperture", |v| ball(-0.7).cone_aperture(&v[0], 0.03)),
        ("ball energy", |v| ball(-0.7).cone_energy(&v[0], &v[1], 0.03)),
        ("hyperboloid angle", |v| Lorentz::new(-0.7).cone_angle(&v[0], &v[1])),
        ("hyperboloid aperture", |v| Lorentz::new(-0.7).cone_aperture(&v[0], 0.03)),
        ("hyperboloid energy", |v| Lorentz::new(-0.7).cone_energy(&v[0], &v[1], 0.03)),
        ("umbral ancestor", |v| half_space().umbral_ancestor(&v[0].exp(), &v[1].exp(), 0.4)),
        ("umbral supremum", |v| half_space().umbral_supremum(&v[0].exp(), &v[1].exp(), 0.4)),
        ("penumbral supremum", |v| half_space().penumbral_supremum(&v[0].exp(), &v[1].exp(), 2.0)),
        ("umbral slack", |v| half_space().umbral_slack(&v[0].exp(), &v[1].exp(), 0.4)),
        ("penumbral ancestor", |v| half_space().penumbral_ancestor(&v[0].exp(), &v[1].exp(), 2.0)),
        ("penumbral slack", |v| half_space().penumbral_slack(&v[0].exp(), &v[1].exp(), 2.0)),
    ];
    let mut rng = rng::stream(6, 0, 0);
    let mut free = || Tensor::<f64>::from_fn([5, 3], |_| rng.random_range(-0.6..0.6));
    let inputs = [free(), free()];
    for (name, operation) in operations {
        let worst = check::gradients(&inputs, |v| crate::weighted(operation(v)));
        assert!(worst.relative < 2e-8, "{name}: {worst:?}");
    }
}

/// A row with some of its coordinates turned.
fn rotated(x: &Row<f64>, coordinates: std::ops::Range<usize>) -> Row<f64> {
    let mut x = x.clone();
    for (i, angle) in coordinates.skip(1).zip([0.7_f64, -1.1, 2.3]) {
        let (sin, cos) = angle.sin_cos();
        (x[i - 1], x[i]) = (cos * x[i - 1] - sin * x[i], sin * x[i - 1] + cos * x[i]);
    }
    x
}

/// 56: rotations about the origin take entailment cones to entailment cones, rotations and translations
/// of the horizontal coordinates shadow cones to shadow cones.
#[test]
fn cones_are_invariant_under_rotations() {
    fn entailment<M: EntailmentCones + Manifold>(m: M, coordinates: std::ops::Range<usize>) {
        let mut rng = rng::stream(7, 0, 0);
        let (mut inside, mut outside) = (0, 0);
        for _ in 0..200 {
            let [x, y] = [(); 2].map(|()| m.random_point::<f64>(3, 2.0, &mut rng));
            let numbers = |x: &Row<f64>, y: &Row<f64>| {
                [m.cone_angle(x, y), m.cone_aperture(x, 0.3), m.cone_energy(x, y, 0.3)]
            };
            let (want, have) = (
                numbers(&x, &y),
                numbers(&rotated(&x, coordinates.clone()), &rotated(&y, coordinates.clone())),
            );
            let error = want.iter().zip(have).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-13, "{m:?} {x:?} {y:?}: {want:?} {have:?}");
            (inside, outside) = if want[2] == 0.0 { (inside + 1, outside) } else { (inside, outside + 1) };
        }
        assert!(inside > 10 && outside > 10, "{m:?}: {inside} {outside}");
    }
    entailment(ball(-0.7), 0..3);
    entailment(Lorentz::new(-0.7), 1..4);
    let (m, mut rng) = (half_space(), rng::stream(8, 0, 0));
    for _ in 0..200 {
        let mut point = || Row::from([0, 0, 0, 1].map(|c| f64::from(c) + rng.random_range(-0.9..0.9)));
        let (x, y) = (point(), point());
        let numbers = |x: &Row<f64>, y: &Row<f64>| {
            [
                m.umbral_ancestor(x, y, 0.7),
                m.umbral_slack(x, y, 0.7),
                m.penumbral_ancestor(x, y, 2.0),
                m.penumbral_slack(x, y, 2.0),
            ]
        };
        let moved = |x: &Row<f64>| {
            let mut x = rotated(x, 0..3);
            (x[0], x[2]) = (x[0] + 0.4, x[2] - 1.3);
            x
        };
        for (want, have) in numbers(&x, &y).iter().zip(numbers(&moved(&x), &moved(&y))) {
            assert!((want - have).abs() < 1e-13, "{x:?} {y:?}: {want} {have}");
        }
    }
}

//! Wrong conversions, cone angles, samplers and expansions that have been shipped elsewhere. For each
//! there is a law that the right one obeys and the wrong one does not. Wrong manifolds are in
//! `tests/laws`.

use cotangent_engine::{Row, Rows, Scalar, rng};
use cotangent_manifolds::{
    EntailmentCones, Euclidean, Isometric, Lorentz, Manifold, PoincareBall, Spread, Stereographic,
    WrappedNormal, standard_normal,
};

const KAPPA: f64 = -0.37;

fn ball() -> PoincareBall {
    PoincareBall::new(KAPPA)
}

fn points() -> [Row<f64>; 2] {
    let mut rng = rng::stream(9, 0, 0);
    [0, 0].map(|_| ball().random_point(3, 2.0, &mut rng))
}

fn onto_lorentz(ball: PoincareBall, x: &Row<f64>) -> Row<f64> {
    Isometric::<Lorentz>::convert(&ball, x)
}

/// A conversion that ignores the scale of the curvature does not lead onto the hyperboloid and is no
/// isometry.
#[test]
fn a_conversion_without_the_scale() {
    let ([x, y], lorentz) = (points(), Lorentz::new(KAPPA));
    let lawful = |convert: &dyn Fn(&Row<f64>) -> Row<f64>| {
        let [a, b] = [&x, &y].map(convert);
        lorentz.contains(&a).is_ok() && (lorentz.dist(&a, &b) - ball().dist(&x, &y)).abs() < 1e-13
    };
    assert!(lawful(&|x| onto_lorentz(ball(), x)));
    assert!(!lawful(&|x| onto_lorentz(PoincareBall::new(-1.0), x)));
}

/// A tangent vector that is moved like coordinates, not by the differential, loses its norm.
#[test]
fn a_tangent_vector_without_the_differential() {
    let ([x, y], lorentz) = (points(), Lorentz::new(KAPPA));
    let (v, to) = (ball().log(&x, &y), onto_lorentz(ball(), &x));
    let lawful = |w: &Row<f64>| (lorentz.norm(&to, w) - ball().norm(&x, &v)).abs() < 1e-13;
    assert!(lawful(&Isometric::<Lorentz>::push(&ball(), &x, &v)));
    assert!(!lawful(&lorentz.project_tangent(&to, &Row::concat(&v.zeros(1), &v))));
}

/// The angle of a cone is at its apex: on the ray away from the origin it is 0, seen from beyond it is π.
#[test]
fn a_cone_angle_at_the_wrong_point() {
    let [x, _] = points();
    let outwards = Row::from(x.iter().map(|x| 1.2 * x).collect::<Vec<_>>().as_slice());
    let lawful = |angle: &dyn Fn(&Row<f64>, &Row<f64>) -> f64| angle(&x, &outwards) < 1e-7;
    assert!(lawful(&|x, y| ball().cone_angle(x, y)));
    assert!(!lawful(&|x, y| ball().cone_angle(y, x)));
}

/// Samples whose coordinates are taken for lengths at the origin lie λ₀ = 2 times too far away.
#[test]
fn samples_off_by_the_conformal_factor() {
    let ([mean, _], deviation, n) = (points(), 0.3, 4000);
    let mut rng = rng::stream(10, 0, 0);
    let normal = WrappedNormal::new(ball(), mean.clone(), Spread::Isotropic(deviation));
    let mut lawful = |sample: &dyn Fn(&mut rng::Rng) -> Row<f64>| {
        let square: f64 = (0..n).map(|_| ball().dist(&mean, &sample(&mut rng)).powi(2)).sum::<f64>();
        (square / f64::from(n) / (3.0 * deviation * deviation) - 1.0).abs() < 0.1
    };
    assert!(lawful(&|rng| normal.sample(rng)));
    assert!(!lawful(&|rng| {
        let noise = standard_normal::<f64>([3], rng);
        let v = Row::from(noise.data().iter().map(|z| deviation * z).collect::<Vec<_>>().as_slice());
        ball().exp(&mean, &ball().transport(&ball().origin(3), &mean, &v))
    }));
}

/// The distance to first order in κ has Δ⟨x, y⟩, not Δ²⟨x, y⟩.
#[test]
fn an_expansion_with_the_square_of_the_distance() {
    let [x, y] = points();
    let (delta, inner) = (Euclidean.dist(&x, &y), Euclidean.inner(&x, &x, &y));
    let lawful = |first: f64| {
        [-1e-4, -1e-6, 1e-6, 1e-4].into_iter().all(|kappa: f64| {
            let d = Stereographic::new(kappa).dist(&x, &y);
            (d - 2.0 * delta - kappa * first).abs() <= 1e-14 + 100.0 * kappa * kappa
        })
    };
    assert!(lawful(-2.0 * (inner * delta + delta.powi(3) / 3.0)));
    assert!(!lawful(-2.0 * (inner * delta.powi(2) + delta.powi(3) / 3.0)));
}

/// Inverse hyperbolic functions from logarithms lose small and negative arguments.
#[test]
fn inverse_functions_by_logarithms() {
    let asinh = |f: &dyn Fn(f64) -> f64| {
        let x = 1e9;
        (f(-x) + f(x)).abs() < 1e-13 && (f(1e-9) / 1e-9 - 1.0).abs() < 1e-15
    };
    assert!(asinh(&Scalar::asinh));
    assert!(!asinh(&|x: f64| (x + (1.0 + x * x).sqrt()).ln()));
    let atanh = |f: &dyn Fn(f64) -> f64| (f(1e-9) / 1e-9 - 1.0).abs() < 1e-15;
    assert!(atanh(&Scalar::atanh));
    assert!(!atanh(&|x: f64| 0.5 * ((1.0 + x).ln() - (1.0 - x).ln())));
}

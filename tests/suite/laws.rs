//! Laws of the manifolds, over radii up to the representable limit.
//!
//! Errors are measured as hyperbolic distances between the point that came out and the one that should
//! have, and compared with `C · u · condition`, u the unit roundoff of the storage type. The condition of a
//! point result is λ‖x‖ of the points involved (an ulp of a coordinate near the boundary *is* a distance of
//! u λ‖x‖) times the stretch of the map. Draws whose bound is above `MEANINGLESS` say nothing and are skipped.

use cotangent::prelude::*;
use proptest::prelude::*;
use rand::RngExt;

const KAPPAS: [f64; 8] = [-2.5, -1.0, -0.37, -1e-6, -1e-12, 0.0, 1e-12, 0.6];
const MEANINGLESS: f64 = 0.1;

/// Radius up to which points are drawn: what the format reaches in the ball, a hemisphere on the sphere.
fn limit<T: Float>(kappa: f64) -> f64 {
    if kappa < 0.0 {
        (2.0 / T::EPSILON).ln() / (-kappa).sqrt()
    } else if kappa > 0.0 {
        0.7 / kappa.sqrt()
    } else {
        10.0
    }
    .min(100.0)
}

/// How far the point moves when its coordinates move by one, relative to their size (or to 1).
fn lambda<T: Float>(m: &Stereographic, x: &Row<T>) -> f64 {
    let norm = x.iter().map(|c| c.to_f64().powi(2)).sum::<f64>().sqrt();
    2.0 * norm.max(1.0) / cotangent::engine::domain::margin(x, m.kappa())
}

/// cosh of a hyperbolic length; 1 in curvature ≥ 0.
fn stretch(kappa: f64, d: f64) -> f64 {
    if kappa < 0.0 { ((-kappa).sqrt() * d).cosh() } else { 1.0 }
}

fn neg<T: Float>(x: &Row<T>) -> Row<T> {
    let mut y = x.clone();
    y.iter_mut().for_each(|c| *c = -*c);
    y
}

struct Case<T: Float> {
    m: Stereographic,
    x: Row<T>,
    y: Row<T>,
    v: Row<T>,
    kappa: f64,
    dim: usize,
    u: f64,
}

/// Two points and a tangent vector at the first, for each curvature; every fourth pair is nearly equal.
fn cases<T: Float>(seed: u64, dim: usize) -> Vec<Case<T>> {
    let mut rng = rng::stream(seed, 1, dim as u64);
    let case = |&kappa: &f64| {
        let m = Stereographic::new(kappa).unwrap();
        let radius = limit::<T>(kappa);
        let x = m.random_point::<T>(dim, radius, &mut rng);
        let near = rng.random_range(0..4) == 0;
        let mut v = m.random_tangent(&x, &mut rng);
        let norm = m.norm(&x, &v);
        let length =
            if near { 10f64.powf(-rng.random_range(1.0..6.0)) } else { radius * rng.random::<f64>() };
        v.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() * length / norm));
        let y = if near { m.exp(&x, &v) } else { m.random_point::<T>(dim, radius, &mut rng) };
        Case { m, x, y, v, kappa, dim, u: T::EPSILON / 2.0 }
    };
    KAPPAS.iter().map(case).collect()
}

#[track_caller]
fn assert_within(what: &str, error: f64, bound: f64, context: &dyn std::fmt::Debug) {
    if bound <= MEANINGLESS {
        assert!(error <= bound, "{what}: error {error:e}, bound {bound:e}; {context:?}");
    }
}

fn left_cancellation<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, y, kappa, u, .. } in cases::<T>(seed, dim) {
        let z = m.add(&x, &y);
        m.contains(&z).unwrap();
        let back = m.add(&neg(&x), &z);
        let condition = lambda(&m, &z) + lambda(&m, &x) + lambda(&m, &y);
        assert_within("left cancellation", m.dist(&y, &back), 8.0 * u * condition, &(kappa, &x, &y));
    }
}

fn exp_log_roundtrip<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, y, v, kappa, u, .. } in cases::<T>(seed, dim) {
        let d = m.dist(&x, &y);
        let back = m.exp(&x, &m.log(&x, &y));
        m.contains(&back).unwrap();
        let size = stretch(kappa, d) * (1.0 + d);
        let condition = size * (lambda(&m, &x) + lambda(&m, &y));
        assert_within("exp(log y) = y", m.dist(&y, &back), 8.0 * u * condition, &(kappa, &x, &y, d));

        let length = m.norm(&x, &v);
        let z = m.exp(&x, &v);
        m.contains(&z).unwrap();
        let condition = lambda(&m, &z) * (1.0 + length) + stretch(kappa, length) * lambda(&m, &x);
        let bound = 8.0 * u * condition;
        assert_within("d(x, exp v) = |v|", (m.dist(&x, &z) - length).abs(), bound, &(kappa, &x, &v));
        let w = m.log(&x, &z);
        let mut difference = w.clone();
        difference.iter_mut().zip(v.iter()).for_each(|(a, b)| *a = *a - *b);
        assert_within("log(exp v) = v", m.norm(&x, &difference), bound * (1.0 + length), &(kappa, &x, &v));
    }
}

fn distance_laws<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, y, kappa, u, dim, .. } in cases::<T>(seed, dim) {
        let d = m.dist(&x, &y);
        assert!(d >= 0.0 && d.is_finite());
        assert_eq!(m.dist(&x, &x), 0.0);
        assert_eq!(d.to_bits(), m.dist(&y, &x).to_bits(), "symmetry {kappa} {x:?} {y:?}");
        let along = m.norm(&x, &m.log(&x, &y));
        assert!((along - d).abs() <= 64.0 * u.max(1e-16) * d, "|log| = d: {along} {d} {kappa} {x:?} {y:?}");
        let z = m.random_point::<T>(dim, limit::<T>(kappa), &mut rng::stream(seed, 2, 0));
        assert!(m.dist(&x, &z) + m.dist(&z, &y) >= d * (1.0 - 1e-13), "triangle {kappa} {x:?} {y:?} {z:?}");
        // Distances agree with the artanh form where that one is accurate.
        if kappa != 0.0 && lambda(&m, &x) + lambda(&m, &y) < 10.0 && d > 0.01 {
            let xy = m.add(&neg(&x), &y);
            let r = kappa.abs().sqrt() * xy.iter().map(|c| c.to_f64().powi(2)).sum::<f64>().sqrt();
            let want = 2.0 / kappa.abs().sqrt() * if kappa < 0.0 { r.atanh() } else { r.atan() };
            assert!((d / want - 1.0).abs() < 1e3 * u, "{d} {want} {kappa}");
        }
    }
}

fn transport_is_isometry<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, y, v, kappa, u, .. } in cases::<T>(seed, dim) {
        let carried = m.transport(&x, &y, &v);
        let (before, after) = (m.norm(&x, &v), m.norm(&y, &carried));
        let condition = 1.0 + (lambda(&m, &x) + lambda(&m, &y)) * stretch(kappa, m.dist(&x, &y)).min(1e12);
        if before > 0.0 {
            assert_within(
                "|Pv| = |v|",
                (after / before - 1.0).abs(),
                16.0 * u * condition,
                &(kappa, &x, &y, &v),
            );
        }
        let back = m.transport(&y, &x, &carried);
        let mut difference = back.clone();
        difference.iter_mut().zip(v.iter()).for_each(|(a, b)| *a = *a - *b);
        let error = m.norm(&x, &difference);
        assert_within("PPv = v", error, 16.0 * u * condition * before, &(kappa, &x, &y, &v));
    }
}

/// Nothing that comes out of valid points is off the manifold, NaN or infinite.
fn closed<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, y, v, .. } in cases::<T>(seed, dim) {
        for scale in [0.0, 1e-30, 1.0, 1e10, 1e30] {
            let mut far = v.clone();
            far.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() * scale));
            if m.kappa() <= 0.0 && scale <= 1.0 || m.kappa() < 0.0 {
                m.contains(&m.exp(&x, &far)).unwrap();
                m.contains(&m.descend(&x, &far, &0.3)).unwrap();
            }
        }
        for point in
            [m.add(&x, &y), m.scale(&0.5, &x), m.scale(&-1.0, &x), m.geodesic(&x, &y, &0.5), m.project(&x)]
        {
            m.contains(&point).unwrap();
        }
        assert_eq!(m.project(&x), x);
        let v = m.log(&x, &y);
        assert!(v.iter().all(|c| c.is_finite()));
    }
}

fn scalar_multiplication<T: Float>(seed: u64, dim: usize) {
    for Case { m, x, kappa, u, .. } in cases::<T>(seed, dim) {
        let condition = 8.0 * u * lambda(&m, &x);
        assert_within(
            "1 ⊗ x = x",
            m.dist(&m.scale(&1.0, &x), &x),
            condition * (1.0 + limit::<T>(kappa)),
            &(kappa, &x),
        );
        let half = m.scale(&0.5, &x);
        let sum = m.add(&half, &half);
        let bound = condition * (1.0 + limit::<T>(kappa)) + 32.0 * u * lambda(&m, &half);
        assert_within("½x ⊕ ½x = x", m.dist(&sum, &x), bound, &(kappa, &x));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stereographic_left_cancellation(seed: u64, dim in 1_usize..20) {
        left_cancellation::<f64>(seed, dim);
        left_cancellation::<f32>(seed, dim);
    }

    #[test]
    fn stereographic_exp_log(seed: u64, dim in 1_usize..20) {
        exp_log_roundtrip::<f64>(seed, dim);
        exp_log_roundtrip::<f32>(seed, dim);
    }

    #[test]
    fn stereographic_distance(seed: u64, dim in 1_usize..20) {
        distance_laws::<f64>(seed, dim);
        distance_laws::<f32>(seed, dim);
    }

    #[test]
    fn stereographic_transport(seed: u64, dim in 1_usize..20) {
        transport_is_isometry::<f64>(seed, dim);
        transport_is_isometry::<f32>(seed, dim);
    }

    #[test]
    fn stereographic_is_closed(seed: u64, dim in 1_usize..20) {
        closed::<f64>(seed, dim);
        closed::<f32>(seed, dim);
    }

    #[test]
    fn stereographic_scalar_multiplication(seed: u64, dim in 1_usize..20) {
        scalar_multiplication::<f64>(seed, dim);
        scalar_multiplication::<f32>(seed, dim);
    }
}

/// From the ball to the hyperboloid of the same curvature: `X₀ = (2/m − 1)/√c`, `X_s = 2p/m`.
fn lift(m: &Lorentz, p: &Row<f64>) -> Row<f64> {
    let margin = cotangent::engine::domain::margin(p, m.kappa());
    let mut x = m.origin::<f64>(p.len());
    for (x, p) in x[1..].iter_mut().zip(p.iter()) {
        *x = 2.0 * p / margin;
    }
    m.project(&x)
}

fn lorentz_laws(seed: u64, dim: usize) {
    let u = f64::EPSILON / 2.0;
    let mut rng = rng::stream(seed, 3, 0);
    for kappa in [-2.5_f64, -1.0, -0.37] {
        let (m, ball) = (Lorentz::new(kappa).unwrap(), PoincareBall::ball(kappa).unwrap());
        let mut point = || ball.random_point::<f64>(dim, 17.0 / (-kappa).sqrt(), &mut rng);
        let (p, q) = (point(), point());
        let (x, y) = (lift(&m, &p), lift(&m, &q));
        m.contains(&x).unwrap();
        m.contains(&y).unwrap();
        let d = m.dist(&x, &y);
        assert_eq!(m.dist(&x, &x), 0.0);
        assert_eq!(d.to_bits(), m.dist(&y, &x).to_bits());
        // cosh² of the radius, as the chord cancels.
        let cosh = (-kappa).sqrt() * x[0].max(y[0]);
        let bound = 32.0 * u * cosh * cosh;
        assert_within(
            "the ball's distance",
            (d - ball.dist(&p, &q)).abs(),
            bound / d.max(1e-9),
            &(kappa, &p, &q),
        );

        let v = m.log(&x, &y);
        assert_within("|log| = d", (m.norm(&x, &v) - d).abs(), bound * (1.0 + d), &(kappa, &p, &q));
        let back = m.exp(&x, &v);
        m.contains(&back).unwrap();
        // ‖v‖ of a tangent vector far out cancels as cosh², and its error is stretched as much again on the
        // way back from there.
        let far = 256.0 * u * (cosh * cosh).powi(2) * (1.0 + d);
        assert_within("exp(log y) = y", m.dist(&back, &y), far, &(kappa, &p, &q));
        let w = m.random_tangent(&x, &mut rng);
        let carried = m.transport(&x, &y, &w);
        let ratio = m.norm(&y, &carried) / m.norm(&x, &w);
        assert_within("|Pw| = |w|", (ratio - 1.0).abs(), bound * stretch(kappa, d), &(kappa, &p, &q));
        for scale in [0.0, 1e-30, 1e3, 1e30, 1e200] {
            let mut far = w.clone();
            far.iter_mut().for_each(|c| *c *= scale);
            m.contains(&m.exp(&x, &far)).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lorentz(seed: u64, dim in 1_usize..20) {
        lorentz_laws(seed, dim);
    }
}

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

/// The gradient of the distance has Riemannian norm 1, and is 0 by definition where the points coincide.
#[test]
fn gradient_of_distance_has_unit_norm() {
    fn check<M: Manifold>(m: M, radius: f64, tolerance: f64) {
        let mut rng = rng::stream(6, 5, 0);
        for i in 0..200 {
            let x = m.random_point::<f64>(3, radius, &mut rng);
            let y = if i == 0 { x.clone() } else { m.random_point::<f64>(3, radius, &mut rng) };
            let shape = [1, x.len()];
            let tape = Tape::new();
            let v = tape.variable(&Tensor::new(shape, x.to_vec()));
            let w = tape.constant(&Tensor::new(shape, y.to_vec()));
            let g = tape.backward(m.dist(&v, &w).sum());
            let g = g.wrt(v).unwrap().to_dense(1, x.len());
            let norm = m.norm(&x, &m.egrad_to_rgrad(&x, &Row::from(g.as_slice())));
            let want = f64::from(i != 0);
            assert!((norm - want).abs() < tolerance, "{m:?} {x:?} {y:?}: {norm}");
        }
    }
    check(Euclidean, 5.0, 1e-12);
    for kappa in [-2.5_f64, -1.0, -0.37] {
        // The ball, to the representable limit.
        check(PoincareBall::ball(kappa).unwrap(), 36.0 / (-kappa).sqrt(), 1e-9);
        check(Lorentz::new(kappa).unwrap(), 4.0, 1e-9);
    }
}

/// As κ → 0 the ball becomes flat, with d → 2‖x − y‖; the first-order term is −2κ(⟨x,y⟩Δ + Δ³/3).
#[test]
fn flat_limit() {
    let (x, y) = (Row::from([0.3, -0.2, 0.1]), Row::from([-0.1, 0.4, 0.2]));
    let delta = Euclidean.dist(&x, &y);
    let inner = Euclidean.inner(&x, &x, &y);
    for kappa in [-1e-2, -1e-5, -1e-9, 0.0, 1e-9, 1e-5, 1e-2] {
        let m = Stereographic::new(kappa).unwrap();
        let first = 2.0 * delta - 2.0 * kappa * (inner * delta + delta.powi(3) / 3.0);
        assert!((m.dist(&x, &y) - first).abs() <= 1e-15 + 2.0 * kappa * kappa, "{kappa}");
        let tape = Tape::<f64>::new();
        let k = tape.variable(&Tensor::scalar(kappa));
        let [a, b] = [&x, &y].map(|p| tape.constant(&Tensor::new([1, 3], p.to_vec())));
        let d = Var::scalar(cotangent::manifolds::formulas::stereographic::Dist, [&a, &b], [&k]);
        let slope = tape.backward(d.sum()).wrt(k).unwrap().to_dense(1, 1)[0];
        let want = -2.0 * (inner * delta + delta.powi(3) / 3.0);
        assert!((slope - want).abs() <= 1e-14 + 4.0 * kappa.abs(), "{kappa}: {slope} {want}");
    }
}

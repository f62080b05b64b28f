//! Distances to gyroplanes: law 49, and the properties that make them distances.

use cotangent_engine::{Float, Row, Tape, Tensor, rng};
use cotangent_manifolds::{
    Euclidean, Gyroplanes, HalfSpace, Isometric, Klein, Lorentz, Manifold, PoincareBall, Point, Sphere,
    Stereographic, Tangent,
};

use crate::common::{Worst, at_distance};

const KAPPAS: [f64; 4] = [-2.5, -1.0, -0.37, -1e-6];

/// Runs a check in every model; models with a curvature are tried at these values.
macro_rules! everywhere {
    ($check:ident, $negative:expr, $positive:expr) => {
        $check(Euclidean);
        for kappa in $negative {
            $check(Stereographic::new(kappa));
            $check(Lorentz::new(kappa));
            $check(Klein::new(kappa));
            $check(HalfSpace::new(kappa));
        }
        for kappa in $positive {
            $check(Stereographic::new(kappa));
            $check(Sphere::new(kappa));
        }
    };
}

/// `κ`'s unit of length.
fn unit<M: Gyroplanes>(m: &M) -> f64 {
    if m.kappa() == 0.0 { 1.0 } else { m.kappa().abs().sqrt().recip() }
}

fn scaled<T: Float>(v: &Row<T>, by: f64) -> Row<T> {
    let mut w = v.clone();
    w.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() * by));
    w
}

/// The part of v at p that is orthogonal to a.
fn across<M: Manifold>(m: &M, p: &Row<f64>, v: &Row<f64>, a: &Row<f64>) -> Row<f64> {
    let along = m.inner(p, v, a) / m.inner(p, a, a);
    let mut w = v.clone();
    w.iter_mut().zip(a.iter()).for_each(|(w, a)| *w -= along * a);
    w
}

/// Two models give the same, up to the last radius that storage holds. `condition` says how much the
/// rounding of points at a radius is amplified in the worse model.
fn isometry<M, N, T>(m: M, radius: f64, condition: impl Fn(f64) -> f64)
where
    M: Gyroplanes + Isometric<N>,
    N: Gyroplanes,
    T: Float,
{
    let (mut rng, mut worst, length) = (rng::stream(21, 0, 0), Worst::default(), unit(&m));
    for (i, dim) in [1, 2, 3, 5, 17].into_iter().cycle().enumerate().take(200) {
        let reach = radius * (i + 1) as f64 / 200.0;
        let p = Point::new(m, m.random_point::<T>(dim, reach, &mut rng));
        // Near the other point, or anywhere.
        let x = if i % 2 == 0 {
            m.random_point(dim, reach, &mut rng)
        } else {
            at_distance(&m, p.coordinates(), 0.3 * length, &mut rng)
        };
        let (x, a) = (Point::new(m, x), Tangent::new(m, m.random_tangent(p.coordinates(), &mut rng)));
        let (fx, fp, fa): (Point<N, _>, Point<N, _>, Tangent<N, _>) = (x.to(), p.to(), a.to(&p));
        let got = fx.manifold().gyroplane(fx.coordinates(), fp.coordinates(), fa.coordinates());
        let want = m.gyroplane(x.coordinates(), p.coordinates(), a.coordinates());
        let r = |p: &Point<M, Row<T>>| m.dist(&m.origin(dim), p.coordinates());
        // Rounding moves the gyroplane by that at p, and by more far from p.
        let lever = if m.kappa() < 0.0 { (x.dist(&p) / length).cosh() / (want / length).cosh() } else { 1.0 };
        let bound = 8.0 * T::EPSILON * condition(r(&x).max(r(&p))) * lever;
        if bound < 0.1 {
            worst.see("gyroplane", (got - want).abs(), bound * (length + want.abs()), &(m, &x, &p, &a));
        }
    }
    worst.report(&format!("gyroplanes, {} to {}, kappa {}, {}", M::NAME, N::NAME, m.kappa(), T::NAME));
}

#[test]
fn gyroplanes_are_the_same_in_all_models() {
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        let (plain, klein) = (|r: f64| (c * r).cosh(), |r: f64| (c * r).cosh().powi(2));
        let b = PoincareBall::new(kappa);
        isometry::<_, HalfSpace, f64>(b, 36.0 / c, plain);
        isometry::<_, Lorentz, f64>(b, 17.0 / c, klein);
        isometry::<_, Klein, f64>(b, 17.0 / c, klein);
        isometry::<_, HalfSpace, f32>(b, 16.0 / c, plain);
        isometry::<_, Lorentz, f32>(b, 7.5 / c, klein);
        isometry::<_, Klein, f32>(b, 7.5 / c, klein);
    }
    for kappa in [0.4, 1.0, 1.7] {
        let m = Stereographic::new(kappa);
        isometry::<_, Sphere, f64>(m, 1.4 / f64::sqrt(kappa), |_| 1.0);
        isometry::<_, Sphere, f32>(m, 1.4 / f64::sqrt(kappa), |_| 1.0);
    }
}

/// The points of the gyroplane have the distance 0. The gradient has length 1 and leads to a foot on the
/// gyroplane, as far away as the distance says; no other point of the gyroplane is nearer.
fn distance<M: Gyroplanes>(m: M) {
    let (mut rng, length) = (rng::stream(22, 0, 0), unit(&m));
    for (i, dim) in [1, 2, 3, 5].into_iter().cycle().enumerate().take(60) {
        let p = m.random_point::<f64>(dim, 1.2 * length, &mut rng);
        let a = m.random_tangent(&p, &mut rng);
        let x = at_distance(&m, &p, 1.1 * length * (i + 1) as f64 / 60.0, &mut rng);
        let what = format!("{m:?}: {x:?} {p:?} {a:?}");
        let want = m.gyroplane(&x, &p, &a);
        assert_eq!(m.gyroplane(&x, &p, &scaled(&a, -4.0)), -want, "{what}");
        assert!((want > 0.0) == (m.inner(&p, &m.log(&p, &x), &a) > 0.0), "{what}: {want}");

        let tape = Tape::new();
        let [row, base, normal] =
            [&x, &p, &a].map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
        let gradients = tape.backward(m.gyroplane(&row, &base, &normal).sum());
        let g = gradients.wrt(row).data().to_vec();
        let g = m.egrad_to_rgrad(&x, &Row::from(g.as_slice()));
        assert!((m.norm(&x, &g) - 1.0).abs() < 1e-13, "{what}: gradient {}", m.norm(&x, &g));
        let foot = m.exp(&x, &scaled(&g, -want));
        let left = m.gyroplane(&foot, &p, &a);
        assert!(left.abs() < 1e-13 * length, "{what}: foot off by {left:e}");
        assert!((m.dist(&x, &foot) - want.abs()).abs() < 1e-13 * length, "{what}: {}", m.dist(&x, &foot));

        for _ in 0..20 {
            let v = across(&m, &p, &m.random_tangent(&p, &mut rng), &a);
            let norm = m.norm(&p, &v);
            if norm > 1e-3 {
                let on = m.exp(&p, &scaled(&v, 0.8 * length / norm));
                let off = m.gyroplane(&on, &p, &a);
                assert!(off.abs() < 1e-12 * length, "{what}: {on:?} off by {off:e}");
                assert!(m.dist(&x, &on) > want.abs() - 1e-12 * length, "{what}: {on:?} is nearer");
            }
        }
    }
}

#[test]
fn gyroplane_distances_are_the_least_ones() {
    everywhere!(distance, [-2.5, -1.0, -0.37], [0.4, 1.7]);
}

/// With a normal of length 0, which is still to be learned, and at a point of the gyroplane itself, the
/// distance is 0 and gradients are finite.
#[test]
fn gyroplanes_without_a_normal() {
    fn check<M: Gyroplanes>(m: M) {
        let mut rng = rng::stream(23, 0, 0);
        let [x, p] = [0, 0].map(|_| m.random_point::<f64>(3, 0.7 * unit(&m), &mut rng));
        let a = m.random_tangent(&p, &mut rng);
        for (x, a) in [(&x, &scaled(&a, 0.0)), (&p, &a), (&p, &scaled(&a, 0.0))] {
            let tape = Tape::new();
            let rows = [x, &p, a].map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
            let value = m.gyroplane(&rows[0], &rows[1], &rows[2]);
            assert!(value.to_tensor().data()[0].abs() < 1e-15, "{m:?}: {}", value.to_tensor());
            let gradients = tape.backward(value.sum());
            for row in rows {
                let g = gradients.wrt(row).data().to_vec();
                assert!(g.iter().all(|g| g.is_finite()), "{m:?} {x:?} {p:?} {a:?}: {g:?}");
            }
        }
    }
    everywhere!(check, [-0.7], [0.7]);
}

/// Through the point itself the gradient is the normal, of length 1.
#[test]
fn gyroplanes_through_the_point() {
    fn check<M: Gyroplanes>(m: M) {
        let mut rng = rng::stream(24, 0, 0);
        for dim in [1, 2, 3, 5] {
            let p = m.random_point::<f64>(dim, 1.2 * unit(&m), &mut rng);
            let a = m.random_tangent(&p, &mut rng);
            let tape = Tape::new();
            let rows = [&p, &p, &a].map(|row| tape.variable(&Tensor::new([1, row.len()], row.to_vec())));
            let gradients = tape.backward(m.gyroplane(&rows[0], &rows[1], &rows[2]).sum());
            let g = gradients.wrt(rows[0]).data().to_vec();
            let g = m.egrad_to_rgrad(&p, &Row::from(g.as_slice()));
            let [length, along] = [m.norm(&p, &g), m.inner(&p, &g, &a) / m.norm(&p, &a)];
            assert!((length - 1.0).abs() < 1e-13, "{m:?} {p:?} {a:?}: {length}");
            assert!((along - 1.0).abs() < 1e-13, "{m:?} {p:?} {a:?}: {along}");
        }
    }
    everywhere!(check, [-2.5, -1.0, -0.37], [0.4, 1.7]);
}

/// At heights whose quotients overflow.
#[test]
fn gyroplanes_of_the_half_space_at_all_heights() {
    let (m, ln10) = (HalfSpace::new(-1.0), 10.0_f64.ln());
    let (p, up, aside) = (Row::from([0.0, 1.0]), Row::from([0.0, 2.0]), Row::from([3.0, 0.0]));
    for (x, a, want) in [
        ([1e200, 1e-200], &aside, 400.0 * ln10 + 2.0_f64.ln()),
        ([-1e200, 1e-200], &aside, -400.0 * ln10 - 2.0_f64.ln()),
        ([1e250, 1e-250], &up, 750.0 * ln10),
        ([0.0, 1e-300], &up, -300.0 * ln10),
        ([0.0, 1e300], &up, 300.0 * ln10),
        ([0.0, 1e-300], &aside, 0.0),
    ] {
        let got = m.gyroplane(&Row::from(x), &p, a);
        assert!((got - want).abs() <= 1e-15 * want.abs(), "{x:?} {a:?}: {got}, not {want}");
    }
    // From a low point, the half-sphere beneath which everything lies.
    let low = Row::from([0.0, 1e-250]);
    let got = m.gyroplane(&Row::from([0.0, 1e250]), &low, &up);
    assert!((got - 500.0 * ln10).abs() < 1e-12, "{got}");
}

//! How geometry depends on curvature: scaling, and the flat limit.

use cotangent_engine::{Row, Rows, Tape, Tensor, Var, rng};
use cotangent_manifolds::laws::Lawful;
use cotangent_manifolds::{Euclidean, Lorentz, Manifold, Stereographic, formulas};

fn twice(x: &Row<f64>) -> Row<f64> {
    let mut y = x.clone();
    y.iter_mut().for_each(|c| *c *= 2.0);
    y
}

/// `f_κ(x) = f_{4κ}(x/2) · 2` for points and lengths, bit for bit, because powers of two round nothing.
#[test]
fn scaling() {
    fn check<M: Lawful>(small: M, large: M) {
        for seed in 0..200 {
            let mut rng = rng::stream(seed, 12, 0);
            let radius = small.radius::<f64>();
            let mut draw = || small.random_point::<f64>(4, radius, &mut rng);
            let [x, y, z] = [draw(), draw(), draw()];
            let v = small.log(&x, &z);
            let [x2, y2, v2] = [&x, &y, &v].map(twice);
            assert_eq!(large.dist(&x2, &y2), 2.0 * small.dist(&x, &y), "{small:?} {x:?} {y:?}");
            assert_eq!(large.exp(&x2, &v2), twice(&small.exp(&x, &v)), "{small:?} {x:?} {v:?}");
            assert_eq!(large.log(&x2, &y2), twice(&small.log(&x, &y)), "{small:?} {x:?} {y:?}");
            assert_eq!(
                large.transport(&x2, &y2, &v),
                small.transport(&x, &y, &v),
                "{small:?} {x:?} {y:?} {v:?}"
            );
            assert_eq!(large.norm(&x2, &v2), 2.0 * small.norm(&x, &v), "{small:?} {x:?} {v:?}");
        }
    }
    fn sums(small: Stereographic, large: Stereographic) {
        for seed in 0..200 {
            let mut rng = rng::stream(seed, 14, 0);
            let [x, y] = [(); 2].map(|()| small.random_point::<f64>(4, small.radius::<f64>(), &mut rng));
            let [x2, y2] = [&x, &y].map(twice);
            assert_eq!(large.add(&x2, &y2), twice(&small.add(&x, &y)), "{small:?} {x:?} {y:?}");
            assert_eq!(large.scale(&0.3, &x2), twice(&small.scale(&0.3, &x)), "{small:?} {x:?}");
        }
    }
    for kappa in [-2.5, -1.0, -0.37, 0.6] {
        check(Stereographic::new(kappa), Stereographic::new(0.25 * kappa));
        sums(Stereographic::new(kappa), Stereographic::new(0.25 * kappa));
        if kappa < 0.0 {
            check(Lorentz::new(kappa), Lorentz::new(0.25 * kappa));
        }
    }
}

/// As κ → 0 the ball becomes flat, with d → 2‖x − y‖; the first-order term is
/// −2κ(⟨x,y⟩Δ + Δ³/3).
#[test]
fn flat_limit() {
    let (x, y) = (Row::from([0.3, -0.2, 0.1]), Row::from([-0.1, 0.4, 0.2]));
    let delta = Euclidean.dist(&x, &y);
    let inner = Euclidean.inner(&x, &x, &y);
    for kappa in [-1e-2, -1e-5, -1e-9, 0.0, 1e-9, 1e-5, 1e-2] {
        let m = Stereographic::new(kappa);
        let first = 2.0 * delta - 2.0 * kappa * (inner * delta + delta.powi(3) / 3.0);
        assert!((m.dist(&x, &y) - first).abs() <= 1e-15 + 2.0 * kappa * kappa, "{kappa}");
        let tape = Tape::<f64>::new();
        let k = tape.variable(&Tensor::scalar(kappa));
        let [a, b] = [&x, &y].map(|p| tape.constant(&Tensor::new([1, 3], p.to_vec())));
        let d = Var::scalar(formulas::stereographic::Dist, [&a, &b], [&k]);
        let slope = tape.backward(d.sum()).wrt(k).data()[0];
        let want = -2.0 * (inner * delta + delta.powi(3) / 3.0);
        assert!((slope - want).abs() <= 1e-14 + 4.0 * kappa.abs(), "{kappa}: {slope} {want}");
    }
}

/// The operations of the flat model are those of Euclidean space, and those of tiny curvature differ by
/// its order.
#[test]
fn operations_tend_to_flat_ones() {
    let mut rng = rng::stream(13, 0, 0);
    let mut draw = || Euclidean.random_point::<f64>(3, 1.0, &mut rng);
    let [x, y, v] = [draw(), draw(), draw()];
    for kappa in [-1e-3, -1e-6, -1e-12, 0.0, 1e-12, 1e-6, 1e-3_f64] {
        let m = Stereographic::new(kappa);
        let close = |what: &str, got: &Row<f64>, want: &Row<f64>| {
            let error = Euclidean.dist(got, want);
            assert!(error <= 1e-15 + 10.0 * kappa.abs(), "{what} at {kappa}: {error:e}");
        };
        close("exp", &m.exp(&x, &v), &Euclidean.exp(&x, &v));
        close("log", &m.log(&x, &y), &Euclidean.log(&x, &y));
        close("transport", &m.transport(&x, &y, &v), &v);
        close("add", &m.add(&x, &y), &Euclidean.exp(&x, &y));
        close("scale", &m.scale(&0.7, &x), &Row::from([0.7 * x[0], 0.7 * x[1], 0.7 * x[2]]));
        close("gyration", &m.gyration(&x, &y, &v), &v);
        close("geodesic", &m.geodesic(&x, &y, &0.3), &Euclidean.geodesic(&x, &y, &0.3));
    }
}

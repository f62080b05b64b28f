//! Conversions between the models of one space against the laws that make them isometries. Against values of
//! 80 digits they are in `tests/reference`.

use cotangent_engine::{Float, Row, Storage, Tape, Tensor, check, rng};
use cotangent_manifolds::{
    ConstantCurvature, HalfSpace, Hyperbolic, Isometric, Klein, Lorentz, Manifold, PoincareBall, Point,
    ProjectedSphere, Sphere, Stereographic, Tangent,
};

use crate::common::Worst;
use crate::weighted;

const KAPPAS: [f64; 4] = [-2.5, -1.0, -0.37, -1e-6];

fn ball(kappa: f64) -> PoincareBall {
    PoincareBall::new(kappa)
}

fn largest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

fn difference<T: Float>(x: &Row<T>, y: &Row<T>) -> Row<T> {
    let mut d = x.clone();
    d.iter_mut().zip(y.iter()).for_each(|(d, y)| *d = *d - *y);
    d
}

fn table(rows: &[Row<f64>]) -> Tensor<f64> {
    let data: Vec<f64> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    Tensor::new([rows.len(), rows[0].len()], data)
}

#[track_caller]
fn assert_close(what: &str, got: &Row<f64>, want: &[f64]) {
    let error = got.iter().zip(want).fold(0.0, |m: f64, (g, w)| m.max((g - w).abs()));
    assert!(error <= 1e-15 * largest(want), "{what}: {got:?}, not {want:?}");
}

/// To the other model and back, for points up to a radius. The error is a distance, in units of u times the
/// distance that an ulp of a coordinate moves a point.
fn roundtrip<M, N, T>(m: M, radius: f64, condition: impl Fn(f64) -> f64)
where
    M: Isometric<N>,
    N: ConstantCurvature + Isometric<M>,
    T: Float,
{
    let (mut rng, mut worst) = (rng::stream(1, 0, 0), Worst::default());
    for i in 0..300 {
        let x = m.random_point::<T>(1 + i % 5, radius, &mut rng);
        let p = Point::new(m, x.clone());
        let image: Point<N, Row<T>> = p.to();
        image.manifold().contains(image.coordinates()).unwrap();
        let back: Point<M, Row<T>> = image.to();
        m.contains(back.coordinates()).unwrap();
        let r = m.dist(&m.origin(1 + i % 5), &x);
        let bound = 8.0 * T::EPSILON * condition(r);
        worst.see("round trip", m.dist(&x, back.coordinates()), bound, &(m, N::NAME, r, &x));
    }
    worst.report(&format!("round trip, {} to {}, kappa {}, {}", M::NAME, N::NAME, m.kappa(), T::NAME));
}

#[test]
fn conversions_go_out_and_back() {
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        // An ulp of a coordinate is a distance of u cosh r in the ball, u cosh²r in the Klein model.
        let plain = |r: f64| (c * r).cosh() / c;
        let klein = |r: f64| (c * r).cosh().powi(2) / c;
        let (b, l, k, h) = (ball(kappa), Lorentz::new(kappa), Klein::new(kappa), HalfSpace::new(kappa));
        roundtrip::<_, Lorentz, f64>(b, 36.0 / c, plain);
        roundtrip::<_, HalfSpace, f64>(b, 36.0 / c, plain);
        roundtrip::<_, Klein, f64>(b, 17.0 / c, klein);
        roundtrip::<_, PoincareBall, f64>(k, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f64>(k, 17.0 / c, klein);
        roundtrip::<_, PoincareBall, f64>(l, 17.0 / c, klein);
        roundtrip::<_, HalfSpace, f64>(l, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f64>(h, 17.0 / c, klein);
        roundtrip::<_, Lorentz, f32>(b, 16.0 / c, plain);
        roundtrip::<_, HalfSpace, f32>(b, 16.0 / c, plain);
        roundtrip::<_, Klein, f32>(b, 7.5 / c, klein);
        roundtrip::<_, PoincareBall, f32>(k, 7.5 / c, klein);
        roundtrip::<_, PoincareBall, f32>(h, 7.5 / c, klein);
    }
    for kappa in [0.4, 1.0, 1.7] {
        // Nearly to the antipode of the origin. An ulp of a coordinate is a distance of at most u/√κ on
        // the sphere, and in its projection, where λ‖x‖ is at most 1/√κ.
        let (unit, reach) = (f64::sqrt(kappa).recip(), 3.0 / f64::sqrt(kappa));
        let plain = |_: f64| unit;
        roundtrip::<_, Sphere, f64>(Stereographic::new(kappa), reach, plain);
        roundtrip::<_, Sphere, f64>(ProjectedSphere::new(kappa), reach, plain);
        roundtrip::<_, Stereographic, f64>(Sphere::new(kappa), reach, plain);
        roundtrip::<_, Stereographic, f32>(Sphere::new(kappa), reach, plain);
        roundtrip::<_, ProjectedSphere, f64>(Sphere::new(kappa), reach, plain);
    }
}

/// Distances, inner products, exp, log and transport are the same before and after, up to the last
/// radius that storage holds. Laws 29 to 34. `condition` says how much the rounding of points and
/// vectors at a radius is amplified in the worse model.
fn isometry<M, N, T>(m: M, radius: f64, condition: impl Fn(f64) -> f64)
where
    M: Isometric<N>,
    N: ConstantCurvature + Isometric<M>,
    T: Float,
{
    let (mut rng, mut worst, mut seen) = (rng::stream(2, 0, 0), Worst::default(), 0);
    let length = m.kappa().abs().sqrt().recip();
    for (i, dim) in [1, 2, 3, 5, 17].into_iter().cycle().enumerate().take(100) {
        let reach = radius * (i + 1) as f64 / 100.0;
        let [x, y] = [0, 0].map(|_| Point::new(m, m.random_point::<T>(dim, reach, &mut rng)));
        let [u, v] = [0, 0].map(|_| Tangent::new(m, m.random_tangent(x.coordinates(), &mut rng)));
        let (fx, fy): (Point<N, _>, Point<N, _>) = (x.to(), y.to());
        let (fu, fv): (Tangent<N, _>, Tangent<N, _>) = (u.to(&x), v.to(&x));
        let n = *fx.manifold();
        assert_eq!(n.kappa(), m.kappa());
        n.contains(fx.coordinates()).unwrap();
        let r = |p: &Point<M, Row<T>>| m.dist(&m.origin(dim), p.coordinates());
        let unit = 8.0 * T::EPSILON * condition(r(&x).max(r(&y)));
        let norm = |w: &Row<T>| m.norm(x.coordinates(), w);
        let norm_of_image = |point: &Point<N, Row<T>>, w: &Row<T>| n.norm(point.coordinates(), w);
        let (d, image) = (x.dist(&y), fx.dist(&fy));
        let mut see = |what: &str, error: f64, size: f64, amplified: f64| {
            let bound = unit * amplified;
            if bound < 0.1 {
                seen += 1;
                let context = (m, n.kappa(), N::NAME, reach, &x, &y, &u);
                worst.see(what, error, bound * size, &context);
            }
        };
        see("dist", (image - d).abs(), length + d, 1.0);
        let size = norm(u.coordinates()) * norm(v.coordinates());
        see("inner", (fx.inner(&fu, &fv) - x.inner(&u, &v)).abs(), size, 1.0);
        let back = fu.to::<M>(&fx);
        let size = norm(u.coordinates());
        see("tangent", norm(&difference(back.coordinates(), u.coordinates())), size, 1.0);
        let want = x.log(&y).to::<N>(&x);
        let miss = difference(fx.log(&fy).coordinates(), want.coordinates());
        see("log", norm_of_image(&fx, &miss), length + d, 1.0);
        let want = x.transport(&y, &u).to::<N>(&y);
        let miss = difference(fx.transport(&fy, &fu).coordinates(), want.coordinates());
        see("transport", norm_of_image(&fy, &miss), size, 1.0);
        // Geodesics part exponentially.
        let short = Tangent::new(m, x.log(&y).coordinates().clone());
        let (end, want) = (fx.exp(&short.to(&x)), x.exp(&short).to::<N>());
        see("exp", end.dist(&want), length + d, (d / length).cosh());
    }
    // There are six identities for each draw. Beyond some radius rounding leaves nothing to compare.
    assert!(seen > 400, "{seen} comparisons");
    worst.report(&format!("{} to {}, kappa {}, {}", M::NAME, N::NAME, m.kappa(), T::NAME));
}

#[test]
fn conversions_are_isometries() {
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        let plain = |r: f64| (c * r).cosh();
        let klein = |r: f64| (c * r).cosh().powi(2);
        let (b, l) = (ball(kappa), Lorentz::new(kappa));
        let (k, h) = (Klein::new(kappa), HalfSpace::new(kappa));
        isometry::<_, HalfSpace, f64>(b, 36.0 / c, plain);
        isometry::<_, HalfSpace, f32>(b, 16.0 / c, plain);
        isometry::<_, PoincareBall, f64>(h, 36.0 / c, plain);
        isometry::<_, Lorentz, f64>(b, 17.0 / c, klein);
        isometry::<_, Klein, f64>(b, 17.0 / c, klein);
        isometry::<_, Klein, f64>(l, 17.0 / c, klein);
        isometry::<_, HalfSpace, f64>(l, 17.0 / c, klein);
        isometry::<_, Lorentz, f64>(k, 17.0 / c, klein);
        isometry::<_, HalfSpace, f64>(k, 17.0 / c, klein);
        isometry::<_, Lorentz, f32>(b, 7.5 / c, klein);
        isometry::<_, Klein, f32>(b, 7.5 / c, klein);
        isometry::<_, HalfSpace, f32>(l, 7.5 / c, klein);
    }
    for kappa in [0.4, 1.0, 1.7] {
        let radius = 1.4 / f64::sqrt(kappa);
        isometry::<_, Sphere, f64>(Stereographic::new(kappa), radius, |_| 1.0);
        isometry::<_, Stereographic, f64>(Sphere::new(kappa), radius, |_| 1.0);
        isometry::<_, Stereographic, f32>(Sphere::new(kappa), radius, |_| 1.0);
    }
}

/// The origins of the models are the same point.
#[test]
fn origins_correspond() {
    for kappa in KAPPAS {
        let o = Point::new(ball(kappa), ball(kappa).origin::<f64>(3));
        assert_eq!(*o.to::<Lorentz>().coordinates(), Lorentz::new(kappa).origin(3));
        assert_eq!(*o.to::<Klein>().coordinates(), Klein::new(kappa).origin(3));
        assert_close("half-space", o.to::<HalfSpace>().coordinates(), &[0.0, 0.0, 1.0]);
    }
    let m = Stereographic::new(0.7);
    let o = Point::new(m, m.origin::<f64>(3)).to::<Sphere>();
    assert_eq!(*o.coordinates(), Sphere::new(0.7).origin(3));
}

/// Between models with the same coordinates points and tangent vectors are copied, at any radius.
#[test]
fn the_same_coordinates_are_kept_exactly() {
    fn check<M: Hyperbolic, N: Hyperbolic>(m: M, radius: f64) {
        let mut rng = rng::stream(4, 0, 0);
        for i in 1..=40 {
            let x = Point::new(m, m.random_point::<f64>(3, radius * f64::from(i) / 40.0, &mut rng));
            let v = Tangent::new(m, m.random_tangent(x.coordinates(), &mut rng));
            assert_eq!(x.to::<N>().coordinates(), x.coordinates(), "{m:?}");
            assert_eq!(v.to::<N>(&x).coordinates(), v.coordinates(), "{m:?}");
        }
    }
    for kappa in KAPPAS {
        let c = (-kappa).sqrt();
        check::<_, Stereographic>(ball(kappa), 36.0 / c);
        check::<_, PoincareBall>(Stereographic::new(kappa), 36.0 / c);
        check::<_, Klein>(Klein::new(kappa), 17.0 / c);
        check::<_, HalfSpace>(HalfSpace::new(kappa), 300.0 / c);
        check::<_, Lorentz>(Lorentz::new(kappa), 300.0 / c);
    }
}

/// The κ-stereographic model of any curvature is a model of hyperbolic space for κ < 0 alone.
#[test]
fn hyperbolic_space_has_negative_curvature() {
    assert_eq!(Stereographic::with_curvature(-0.5), Ok(Stereographic::new(-0.5)));
    for kappa in [0.0, 0.5] {
        let error = Stereographic::with_curvature(kappa).unwrap_err().to_string();
        assert_eq!(error, format!("the stereographic model needs negative curvature, not kappa = {kappa}"));
    }
    assert!(Stereographic::with_curvature(f64::NEG_INFINITY).is_err());
}

/// Half-space points beyond the range of the hyperboloid settle at its end; nothing becomes NaN.
#[test]
fn extreme_points_stay_points() {
    for kappa in [-1.0, -1e-6, -1e6] {
        let h = HalfSpace::new(kappa);
        for row in [
            [0.0, 1e300],
            [0.0, 1e-300],
            [1e300, 1e-300],
            [-1e200, 1.0],
            [1e300, 1e300],
            [1.0, 3e-308],
            [0.0, f64::MAX],
        ] {
            h.contains(&row).unwrap();
            let p = Point::new(h, Row::from(row));
            let (l, b) = (p.to::<Lorentz>(), p.to::<PoincareBall>());
            l.manifold().contains(l.coordinates()).unwrap();
            b.manifold().contains(b.coordinates()).unwrap();
            h.contains(l.to::<HalfSpace>().coordinates()).unwrap();
            let single = Point::new(h, h.project(&Row::from(row.map(|x| x as f32)))).to::<Lorentz>();
            single.manifold().contains(single.coordinates()).unwrap();
        }
    }
}

#[test]
#[should_panic(expected = "the Lorentz model needs negative curvature, not kappa = 0.5")]
fn a_model_that_does_not_exist_is_named() {
    let m = Stereographic::new(0.5);
    Point::new(m, m.origin::<f64>(2)).to::<Lorentz>();
}

/// The gradient flows through points and tangents on the tape, and agrees with differences.
#[test]
fn gradients_flow_through_conversions() {
    fn check_model<M: Isometric<N>, N: ConstantCurvature>(m: M) {
        let mut rng = rng::stream(3, 0, 0);
        let rows: Vec<Row<f64>> = (0..3).map(|_| m.random_point(3, 1.0, &mut rng)).collect();
        let x = table(&rows);
        let tangents: Vec<Row<f64>> = rows.iter().map(|x| m.random_tangent(x, &mut rng)).collect();
        let v = table(&tangents);
        let worst = check::gradients(std::slice::from_ref(&x), |x| {
            weighted(*Point::new(m, x[0]).to::<N>().coordinates())
        });
        assert!(worst.relative < 1e-8, "{m:?} {}: {worst:?}", N::NAME);
        let worst = check::gradients(&[x.clone(), v.clone()], |x| {
            weighted(*Tangent::new(m, x[1]).to::<N>(&Point::new(m, x[0])).coordinates())
        });
        assert!(worst.relative < 1e-8, "tangents, {m:?} {}: {worst:?}", N::NAME);
        // All three levels give the same.
        let tape = Tape::new();
        let on_tape = Point::new(m, tape.constant(&x)).to::<N>().coordinates().to_tensor();
        assert_eq!(on_tape, *Point::new(m, x).to::<N>().coordinates());
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(on_tape.row(i), &Point::new(m, row.clone()).to::<N>().coordinates()[..]);
        }
    }
    for kappa in [-1.0, -0.37] {
        check_model::<_, Lorentz>(ball(kappa));
        check_model::<_, PoincareBall>(Lorentz::new(kappa));
        check_model::<_, Lorentz>(Klein::new(kappa));
        check_model::<_, Klein>(Lorentz::new(kappa));
        check_model::<_, Lorentz>(HalfSpace::new(kappa));
        check_model::<_, HalfSpace>(Lorentz::new(kappa));
    }
    check_model::<_, Sphere>(Stereographic::new(0.7));
    check_model::<_, Stereographic>(Sphere::new(0.7));
}

/// On the axis to the point that goes to infinity, as far out as storage has points, and at heights
/// whose squares overflow.
#[test]
fn tangent_vectors_at_the_ends_of_the_half_space() {
    for kappa in [-1.0_f64, -2.0, -3.7, -0.37] {
        let ball = PoincareBall::new(kappa);
        let half_space: HalfSpace = Isometric::<HalfSpace>::counterpart(&ball);
        for x in [[0.0, 2.0], [0.0, -2.0], [1e-9, 2.0]] {
            let x = ball.project(&Row::from(x.map(|x| x / (-kappa).sqrt())));
            for v in [[0.0, 1.0], [1.0, 0.0], [0.6, -0.8]].map(Row::from) {
                let image = Isometric::<HalfSpace>::convert(&ball, &x);
                let pushed = Isometric::<HalfSpace>::push(&ball, &x, &v);
                let ratio = half_space.norm(&image, &pushed) / ball.norm(&x, &v);
                assert!((ratio - 1.0).abs() < 1e-12, "{kappa}: {x:?} {v:?}: {pushed:?}");
            }
        }
        let x = Row::from([1e150, 1e200]);
        let v = Row::from([0.0, 1e200]);
        let klein = Isometric::<Klein>::push(&half_space, &x, &v);
        assert!(klein.iter().all(|c| c.is_finite()), "{klein:?}");
        assert_eq!(Isometric::<HalfSpace>::push(&half_space, &x, &v), v);
    }
}

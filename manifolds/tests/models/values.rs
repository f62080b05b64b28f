//! Known values of the Klein model, the half-space, the sphere and products, and what they refuse. Their
//! laws are in `tests/laws`.

use cotangent_engine::domain::bounded_time;
use cotangent_engine::{Float, Row, Rows, Tape, Tensor, check};
use cotangent_manifolds::{
    Curved, Euclidean, HalfSpace, Klein, Lorentz, Manifold, PoincareBall, Product, ProductSpace,
    ProjectedSphere, Sphere, Steps, Stereographic,
};

fn difference<T: Float>(x: &Row<T>, y: &Row<T>) -> Row<T> {
    let mut d = x.clone();
    d.iter_mut().zip(y.iter()).for_each(|(d, y)| *d = *d - *y);
    d
}

fn scaled<T: Float>(v: &Row<T>, by: f64) -> Row<T> {
    let mut w = v.clone();
    w.iter_mut().for_each(|c| *c = T::nearest((c.to_f64() * by).clamp(-T::LARGEST, T::LARGEST)));
    w
}

/// Beyond a right angle as well: through points near the antipode, to it, and away from it.
#[test]
fn the_far_side_of_the_sphere() {
    let m = Sphere::new(0.25);
    let pole = m.origin::<f64>(2);
    for angle in [1e-8_f64, 1e-3, 1.0, 2.0, 3.0, 3.1, std::f64::consts::PI - 1e-8] {
        let v = Row::from([0.0, 2.0 * angle * 0.6, 2.0 * angle * 0.8]);
        let x = m.exp(&pole, &v);
        m.contains(&x).unwrap();
        assert!((m.dist(&pole, &x) - 2.0 * angle).abs() < 2e-15 * (1.0 + angle), "{angle}");
        // The direction of a point near the antipode is that of a small vector.
        let bound = 4e-15 * (1.0 + angle) * (1.0 + 1.0 / (std::f64::consts::PI - angle));
        let miss = |a: &Row<f64>, b: &Row<f64>| m.norm(a, &difference(a, b));
        assert!(miss(&m.log(&pole, &x), &v) < bound, "{angle}: {x:?}");
        let w = Row::from([0.0, -0.8, 0.6]);
        assert!(miss(&m.transport(&pole, &x, &w), &w) < bound, "{angle}: {x:?}");
    }
    let antipode = scaled(&pole, -1.0);
    assert_eq!(m.dist(&pole, &antipode), 2.0 * std::f64::consts::PI);
    assert_eq!(m.log(&pole, &antipode)[..], [0.0; 3]);
    let v = Row::from([0.0, 1.0, 2.0]);
    assert_eq!(m.transport(&pole, &antipode, &v), v);
}

/// The height of a geodesic's end, up and down by more than an f32 holds. Tseng et al. 2023, eq. 9.
#[test]
fn vertical_geodesics_of_the_half_space() {
    let m = HalfSpace::new(-0.25);
    for (height, length) in [(1.0_f64, 80.0), (1e-100, 340.0), (1e100, -340.0), (1.0, -340.0), (3.0, 1e-9)] {
        let x = Row::from([7.0, height]);
        let end = m.exp(&x, &Row::from([0.0, height * length]));
        assert_eq!(end[0], 7.0);
        let error = ((end[1] / height).ln() - length).abs();
        assert!(error <= 1e-15 * (1.0 + length.abs()), "{height} {length}: {end:?}");
        assert!((m.dist(&x, &end) - 2.0 * length.abs()).abs() < 1e-12, "{height} {length}: {end:?}");
    }
}

#[test]
fn rows_off_a_manifold_are_refused_by_how_much() {
    let message = |r: Result<(), cotangent_manifolds::OffManifold>| r.unwrap_err().to_string();
    let klein = Klein::new(-1.0);
    assert_eq!(
        message(klein.contains(&[1.5, 0.0])),
        "not a point of the Klein model: 1 + kappa |x|^2 > 0 fails by 1.25e0"
    );
    let half_space = HalfSpace::new(-1.0);
    assert!(
        message(half_space.contains(&[1.0, -0.5])).ends_with("coordinate, no subnormal one fails by 5e-1")
    );
    assert!(message(half_space.contains(&[f64::INFINITY, 0.5])).contains("finite coordinates"));
    let sphere = Sphere::new(1.0);
    assert_eq!(
        message(sphere.contains(&[1.0, 1.0])),
        "not a point of the sphere: kappa |x|^2 = 1 fails by 1e0"
    );
    let product = Product::new(half_space, 2, sphere);
    assert!(product.contains(&[1.0, 2.0, 1.0, 0.0]).is_ok());
    assert!(
        message(product.contains(&[1.0, -2.0, 1.0, 0.0])).starts_with("not a point of the half-space model")
    );
    assert!(message(product.contains(&[1.0, 2.0, 1.0, 3.0])).starts_with("not a point of the sphere"));
    for kappa in [0.0, 1.0, f64::NAN, f64::NEG_INFINITY] {
        assert!(Klein::try_new(kappa).is_err() && HalfSpace::try_new(kappa).is_err());
        assert!(Sphere::try_new(-kappa).is_err());
        assert!(PoincareBall::try_new(kappa).is_err() && ProjectedSphere::try_new(-kappa).is_err());
    }
    assert!(Stereographic::try_new(1.0).is_ok() && Stereographic::try_new(0.0).is_ok());
}

#[test]
#[should_panic(expected = "the Poincaré ball needs negative curvature, not kappa = 1")]
fn a_ball_has_negative_curvature() {
    let _ = PoincareBall::new(1.0);
}

/// Rows off a manifold are moved onto it.
#[test]
fn projections_land_on_the_manifold() {
    let sphere = Sphere::new(0.3);
    for row in [[3.0, 4.0, 0.0], [0.0; 3], [1e300, 1e300, -1e300], [1e-300, 0.0, 0.0], [0.0, -2.0, 1e-9]] {
        let x = sphere.project(&Row::from(row));
        sphere.contains(&x).unwrap();
        assert_eq!(sphere.project(&x), x);
        sphere.contains(&sphere.project(&Row::from(row.map(|c| c as f32)))).unwrap();
    }
    assert!((sphere.project(&Row::from([3.0, 4.0, 0.0]))[1] - 0.8 / 0.3_f64.sqrt()).abs() < 1e-15);
    // Squares of these overflow.
    for row in [[3e200, -4e200], [f64::MAX, f64::MAX]] {
        for ball in [PoincareBall::new(-0.5), PoincareBall::new(-3.0)] {
            ball.contains(&ball.project(&Row::from(row))).unwrap();
        }
        assert_eq!(ProjectedSphere::new(0.5).project(&Row::from(row)), Row::from(row));
    }
    let x: Row<f64> = PoincareBall::new(-0.5).project(&Row::from([3e200, -4e200]));
    assert!((x[0] - 0.6 * 2f64.sqrt()).abs() + (x[1] + 0.8 * 2f64.sqrt()).abs() < 1e-15, "{x:?}");
    let x: Row<f64> = Lorentz::new(-0.5).project(&Row::from([0.0, 3e200, -4e200]));
    Lorentz::new(-0.5).contains(&x).unwrap();
    assert!(x[1] > 1e70 && (x[2] / x[1] + 4.0 / 3.0).abs() < 1e-15, "{x:?}");
    let x = Lorentz::new(-0.5).project(&Row::from([1e200, 1.0, 1.0]));
    assert_eq!(x, Row::from([2.0, 1.0, 1.0]));
    let half_space = HalfSpace::new(-1.0);
    for row in [[1.0, -1.0], [f64::INFINITY, 0.0], [0.0, f64::INFINITY]] {
        half_space.contains(&half_space.project(&Row::from(row))).unwrap();
    }
}

#[test]
fn products_add_squared_distances() {
    let (a, b) = (Klein::new(-0.5), HalfSpace::new(-2.0));
    let m = Product::new(a, 2, b);
    let (x, y) = (Row::from([0.1, 0.2, 3.0, 0.5]), Row::from([-0.3, 0.4, 1.0, 2.0]));
    let (xs, ys) = (m.parts(&x), m.parts(&y));
    let want = a.dist(&xs.0, &ys.0).powi(2) + b.dist(&xs.1, &ys.1).powi(2);
    assert!((m.dist(&x, &y).powi(2) / want - 1.0).abs() < 1e-15);
    let carried = m.transport(&x, &y, &x);
    assert_eq!(carried.columns(0..2), a.transport(&xs.0, &ys.0, &xs.0));
    assert_eq!(carried.columns(2..4), b.transport(&xs.1, &ys.1, &xs.1));
    // Each factor's gradient by its own metric.
    let gradient = m.egrad_to_rgrad(&x, &y);
    assert_eq!(gradient.columns(2..4), b.egrad_to_rgrad(&xs.1, &ys.1));
}

#[test]
#[should_panic(expected = "rows of width 2, of which the left factor alone takes 2")]
fn a_row_without_a_right_part_is_refused() {
    let m = Product::new(Klein::new(-1.0), 2, Euclidean);
    let x = Row::from([0.1, 0.2]);
    m.dist(&x, &x);
}

/// Both at points, which projection returns unchanged, and beside them: the part normal to the sphere
/// has no effect.
#[test]
fn the_gradient_of_projection_to_the_sphere_is_tangent() {
    for kappa in [0.25, 1.0, 3.7] {
        let m = Sphere::new(kappa);
        for by in [1.0, 1.0 + 1e-6, 3.0] {
            let x = m.project(&Row::from([0.3, -0.5, 0.7, 0.2]));
            let x = Tensor::new([1, 4], x.iter().map(|c| c * by).collect::<Vec<f64>>());
            let worst = check::gradients(&[x], |x| crate::weighted(m.project(&x[0])));
            assert!(worst.relative < 1e-9, "{kappa} {by}: {worst:?}");
        }
    }
}

/// Points of the hyperboloid are left alone up to the largest time at which coordinates can hold a gradient,
/// and pulled back to it from beyond. Points of products are, factor by factor.
#[test]
fn points_of_the_hyperboloid_are_bounded() {
    fn check<T: Float>(kappa: f64) {
        let (m, largest) = (Lorentz::new(kappa), bounded_time::<T>(kappa));
        let at = |time: f64| m.project(&Row::from([0.0, 0.6 * time, -0.8 * time].map(T::nearest)));
        for time in [0.0, 1.0, 0.99 * largest] {
            assert_eq!(m.bounded(&at(time)), at(time));
        }
        for times in [1.01, 8.0, 1e6] {
            let x = m.bounded(&at(times * largest));
            m.contains(&x).unwrap();
            assert!((0.998 * largest..largest).contains(&x[0].to_f64()), "{x:?}");
            assert!((x[1].to_f64() / x[2].to_f64() + 0.75).abs() < 4.0 * T::EPSILON, "{x:?}");
        }
        let beyond = at(8.0 * largest);
        let pair = Row::concat(&beyond, &beyond);
        let flat = Product::new(m, 2, Euclidean).bounded(&pair);
        assert_eq!((flat.columns(0..3), flat.columns(3..6)), (m.bounded(&beyond), beyond.clone()));
        let space = ProductSpace::new(&[(Euclidean.into(), 3)], m.into()).bounded(&pair);
        assert_eq!((space.columns(0..3), space.columns(3..6)), (beyond.clone(), m.bounded(&beyond)));
        assert!(m.bounded(&Row::from([1.0, f64::NAN, 0.0].map(T::nearest)))[1].to_f64().is_nan());
    }
    for kappa in [-1.0, -0.04, -9.0] {
        check::<f32>(kappa);
        check::<f64>(kappa);
    }
}

/// Distances and norms of vectors whose squares overflow or underflow have their digits and gradients.
#[test]
fn lengths_of_any_size() {
    fn check<M: Manifold>(m: M, units: &[f64], scale: f64) {
        for &unit in units {
            let (x, zero) = (Row::from([3.0 * unit, -4.0 * unit]), Row::from([0.0, 0.0]));
            for length in [m.dist(&zero, &x), m.dist(&x, &zero), m.norm(&zero, &x)] {
                assert!((length / (5.0 * unit * scale) - 1.0).abs() < 1e-15, "{m:?}, {unit:e}: {length}");
            }
            for is_distance in [true, false] {
                let tape = Tape::new();
                let [p, o] = [&x, &zero].map(|row| tape.variable(&Tensor::new([1, 2], row.to_vec())));
                let length = if is_distance { m.dist(&p, &o) } else { m.norm(&o, &p) };
                let gradients = tape.backward(length.sum());
                let slopes = gradients.wrt(p).data().to_vec();
                let error = (slopes[0] / scale - 0.6).abs() + (slopes[1] / scale + 0.8).abs();
                assert!(error < 1e-15, "{m:?}, {unit:e}: {slopes:?}");
            }
        }
    }
    check(Euclidean, &[1e-300, 1e-165, 1e-3, 1e200, 1e306], 1.0);
    for kappa in [-1.0, 0.0, 1.0] {
        check(Stereographic::new(kappa), &[1e-300, 1e-165, 1e-150], 2.0);
    }
    // Tangent vectors may be of any length.
    let (o, v) = (Row::from([0.0, 0.0]), Row::from([3e200, -4e200]));
    assert!((PoincareBall::new(-1.0).norm(&o, &v) / 1e201 - 1.0).abs() < 1e-15);
}

/// A row far outside the ball is moved to the boundary at its learned curvature, and the boundary moves
/// with the curvature.
#[test]
fn curvature_moves_the_boundary_under_distant_rows() {
    for unit in [1.0, 1e150, 1e200, 1e300] {
        let tape = Tape::new();
        let kappa = tape.variable(&Tensor::scalar(-0.5));
        let x = tape.variable(&Tensor::new([2, 2], vec![3.0 * unit, -4.0 * unit, 0.3, 0.4]));
        let y = Curved::new(kappa).project(&x);
        let first = y.to_tensor().data()[0];
        assert!((first - 0.6 * 2f64.sqrt()).abs() < 1e-15, "{unit:e}: {first}");
        let gradients = tape.backward(y.slice(1, 0..1).sum());
        // The radius is 1/√−κ, its derivative 1/(2 (−κ)^1.5).
        let (slope, want) = (gradients.wrt(kappa).data()[0], 0.6 * 2f64.sqrt());
        assert!((slope - want).abs() < 1e-14, "{unit:e}: {slope}, not {want}");
    }
}

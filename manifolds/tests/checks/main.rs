//! Rows that are not points and vectors that are not tangent are refused, with how far they are off. So
//! are invalid steps, and states that do not fit a module.

// The name by which `#[derive(Module)]` looks for the trait.
extern crate cotangent_manifolds as cotangent;

mod module;

use cotangent_engine::{Float, Row, Scalar, Tape, Tensor, rng};
use cotangent_manifolds::laws::Family;
use cotangent_manifolds::steps::{Motion, Moving, OnTape, Rule};
use cotangent_manifolds::{
    Euclidean, HalfSpace, Klein, Lorentz, Manifold, OffManifold, PoincareBall, Point, Product, Spd, Sphere,
    Steps, Stereographic, Stiefel, Tangent, for_each_manifold,
};

/// A check of every manifold.
trait Check {
    fn check<M: Manifold, T: Float>(&mut self, m: &M, dim: usize);
}

fn everywhere<C: Check>(check: &mut C) {
    fn in_both_types<C: Check, M: Manifold>(check: &mut C, m: M, dim: usize) {
        check.check::<M, f64>(&m, dim);
        check.check::<M, f32>(&m, dim);
    }
    macro_rules! members {
        ($name:ident, $family:ty $(, $curvature:ident)?) => {
            for m in <$family>::members() {
                let dimensions = m.fixed_dimension().map_or(vec![1, 3, 10], |only| vec![only]);
                dimensions.into_iter().for_each(|dim| in_both_types(check, m, dim));
            }
        };
    }
    for_each_manifold!(members);
    let product = Product::new(PoincareBall::new(-1.0), 2, Sphere::new(4.0));
    [1, 3, 10].into_iter().for_each(|dim| in_both_types(check, product, 2 + dim));
}

/// A gradient whose inner product with itself overflows to NaN is reported by both forms of a step: by
/// one as the row, by the other as numbers of the row that are not finite. It does not count as a
/// gradient of length 0, whose step would be `rate/ε` long.
#[test]
fn an_inner_product_that_overflows_is_no_zero() {
    #[derive(Clone, Copy)]
    struct Adam;
    impl Rule<1> for Adam {
        fn blend(&self) -> [f64; 2] {
            [0.9, 0.1]
        }
        fn length<S: Scalar>(&self, square: S, [v]: [S; 1]) -> (S, [S; 1]) {
            let v = S::constant(0.99) * v + S::constant(0.01) * square;
            (S::constant(0.3) / (v.sqrt() + S::constant(1e-8)), [v])
        }
    }
    let lorentz = Lorentz::new(-1.0);
    let (x, g) = ([1.25, 0.75], [1e200, 2e200]);
    assert!(lorentz.contains(&x[..]).is_ok());
    let tape = Tape::<f64>::new();
    let row = |row: [f64; 2]| tape.constant(&Tensor::new([1, 2], row.to_vec()));
    let rows = OnTape {
        points: row(x),
        momenta: row([0.0; 2]),
        moments: [tape.constant(&Tensor::new([1, 1], vec![1e300]))],
        gradients: row(g),
    };
    let stepped = lorentz.step_on_tape(Adam, Motion::default(), rows);
    let [moment] = stepped.moments;
    assert!(!moment.to_tensor().data()[0].is_finite(), "{}", moment.to_tensor());
    let (mut points, mut momenta, mut moments) = (x, [0.0; 2], [1e300]);
    let rows = Moving {
        points: &mut points,
        momenta: &mut momenta,
        moments: [&mut moments],
        gradients: &g,
        width: 2,
    };
    assert_eq!(lorentz.step(&Adam, Motion::default(), rows), Err(0));
}

#[test]
fn coordinates_that_are_no_numbers() {
    struct NoNumbers;
    impl Check for NoNumbers {
        fn check<M: Manifold, T: Float>(&mut self, m: &M, dim: usize) {
            let origin = m.origin::<T>(dim);
            assert_eq!(m.contains(&origin), Ok(()), "{m:?}");
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                for i in 0..origin.len() {
                    let mut x = origin.clone();
                    x[i] = T::nearest(bad);
                    let off = m.contains(&x).expect_err(&format!("{m:?}: {:?}", &x[..]));
                    assert_eq!(off.condition, "finite coordinates", "{m:?}");
                    assert!(off.by == f64::INFINITY || (bad.is_nan() && off.by.is_nan()), "{off}");
                    let by = m.contains_tangent(&origin, &x).unwrap_err().by;
                    assert!(by == f64::INFINITY || (bad.is_nan() && by.is_nan()), "{m:?}: {by}");
                }
            }
        }
    }
    everywhere(&mut NoNumbers);
}

/// At points up to near the boundary.
#[test]
fn tangent_vectors() {
    struct Tangents;
    impl Check for Tangents {
        fn check<M: Manifold, T: Float>(&mut self, m: &M, dim: usize) {
            let mut rng = rng::stream(17, 0, dim as u64);
            for _ in 0..40 {
                let x = m.random_point::<T>(dim, 1.0, &mut rng);
                let v = m.random_tangent(&x, &mut rng);
                assert_eq!(m.contains_tangent(&x, &v), Ok(()), "{m:?}");
            }
        }
    }
    everywhere(&mut Tangents);
    let hyperboloid = Lorentz::new(-0.37);
    for radius in [1.0, 10.0, 25.0] {
        let mut rng = rng::stream(18, 0, 0);
        let x = hyperboloid.random_point::<f64>(5, radius, &mut rng);
        let v = hyperboloid.random_tangent(&x, &mut rng);
        assert_eq!(hyperboloid.contains_tangent(&x, &v), Ok(()), "{radius}");
    }
}

/// Vectors that are tangent elsewhere, or nowhere: the error is the part that is off, relative to the
/// vector.
#[test]
fn vectors_off_the_tangent_space() {
    let off = |m: &dyn Fn() -> f64, want: f64| assert!((m() - want).abs() < 1e-6, "{} {want}", m());
    let sphere = Sphere::new(1.0);
    let x = Row::from([0.6, 0.8, 0.0]);
    off(&|| sphere.contains_tangent(&x, &Row::from([1.2, 1.6, 0.0])).unwrap_err().by, 1.0);
    off(&|| sphere.contains_tangent(&x, &Row::from([0.0, 1e-3, 1.0])).unwrap_err().by, 0.64e-3);
    let hyperboloid = Lorentz::new(-1.0);
    let x = Row::from([1.25, 0.75]);
    assert!(hyperboloid.contains_tangent(&x, &Row::from([0.75, 1.25])).is_ok());
    // (1, 0) + ⟨x, (1, 0)⟩ x = (1, 0) − 1.25 x.
    off(&|| hyperboloid.contains_tangent(&x, &Row::from([1.0, 0.0])).unwrap_err().by, 1.5625);
    let frames = Stiefel::new(2, 2);
    assert!(
        frames.contains_tangent(&Row::from([1.0, 0.0, 0.0, 1.0]), &Row::from([0.0, 1.0, -1.0, 0.0])).is_ok()
    );
    let symmetric = Row::from([0.0, 1.0, 1.0, 0.0]);
    off(&|| frames.contains_tangent(&Row::from([1.0, 0.0, 0.0, 1.0]), &symmetric).unwrap_err().by, 1.0);
    let matrices = Spd::affine_invariant(2);
    let turn = Row::from([0.0, 1.0, -1.0, 0.0]);
    off(&|| matrices.contains_tangent(&matrices.origin(3), &turn).unwrap_err().by, 1.0);
    // The part of a small factor is not lost beside a large one.
    let product = Product::new(Sphere::new(1.0), 1, Euclidean);
    let x = Row::from([1.0, 0.0, 5.0]);
    let by = product.contains_tangent(&x, &Row::from([1e-20, 0.0, 1.0])).unwrap_err();
    assert!(by.by == 1.0 && by.manifold == Sphere::TITLE, "{by}");
}

#[test]
fn no_dimension_at_all() {
    fn refused<M: Manifold + std::panic::RefUnwindSafe>(m: M, missing: f64) {
        let want = OffManifold { manifold: M::TITLE, condition: "at least one dimension", by: missing };
        assert_eq!(m.contains::<f64>(&[]), Err(want));
        let origin = std::panic::catch_unwind(|| m.origin::<f64>(0)).expect_err("dimension 0");
        let message = origin.downcast_ref::<String>().expect("a message");
        assert!(message.contains(M::TITLE) && message.contains("dimension 0"), "{message}");
    }
    refused(Stereographic::new(-1.0), 1.0);
    refused(Stereographic::new(0.6), 1.0);
    refused(Klein::new(-1.0), 1.0);
    refused(HalfSpace::new(-1.0), 1.0);
    refused(Lorentz::new(-1.0), 2.0);
    refused(Sphere::new(1.0), 2.0);
    assert!(Euclidean.contains::<f64>(&[]).is_err());
}

#[test]
#[should_panic(expected = "the stereographic model: the vector must have as many coordinates as the point")]
fn tangent_vectors_have_the_width_of_points() {
    let ball = Stereographic::new(-1.0);
    let _ = ball.contains_tangent(&Row::from([0.1, 0.2]), &Row::from([0.1, 0.2, 0.3]));
}

/// How far points are off, as numbers.
#[test]
fn points_off_the_manifold() {
    fn by<M: Manifold>(m: M, x: &[f64]) -> f64 {
        m.contains(x).expect_err("off").by
    }
    assert_eq!(by(Stereographic::new(-1.0), &[3.0, 4.0]), 24.0);
    assert_eq!(by(Klein::new(-4.0), &[1.0, 0.0]), 3.0);
    assert_eq!(by(Stereographic::new(-1.0), &[1e200, 0.0]), f64::INFINITY);
    assert_eq!(by(Klein::new(-1.0), &[1e200]), f64::INFINITY);
    assert_eq!(by(HalfSpace::new(-1.0), &[7.0, -2.0]), 2.0 + f64::MIN_POSITIVE);
    assert_eq!(by(Sphere::new(1.0), &[2.0, 0.0]), 3.0);
    assert_eq!(by(Lorentz::new(-1.0), &[-1.0, 0.0]), 2.0);
    assert_eq!(by(Lorentz::new(-1.0), &[2.0, 0.0]), 1.0);
    assert!(by(Stereographic::new(0.0), &[1e200, 0.0]) >= 1e200);
    // The last of both storage types, and one beyond.
    let single = Lorentz::new(-1.0).contains(&[5.0_f32, f32::MAX]).unwrap_err();
    assert!(single.by > 1e38, "{single}");
    assert!((by(Spd::affine_invariant(2), &[1.0, 2.0, 2.0, 1.0]) - 1.0).abs() < 1e-15);
    assert_eq!(by(Spd::affine_invariant(2), &[1.0, 0.5, 0.25, 1.0]), 0.25);
    assert_eq!(by(Stiefel::new(2, 1), &[1.0, 1.0]), 1.0);
}

#[test]
fn points_and_tangent_vectors_as_types() {
    let ball = Stereographic::new(-1.0);
    let table = Tensor::new([3, 1], vec![0.0_f32, 1.0, 2.0]);
    let (row, off) = Point::new(ball, table).checked().unwrap_err();
    assert_eq!((row, off.by), (1, 0.0), "the boundary is outside");
    let inside = Point::new(ball, Tensor::new([2, 1], vec![0.0, 0.5])).checked().unwrap();
    assert_eq!(inside.coordinates().len(), 2);
    let sphere = Sphere::new(1.0);
    let north = Point::new(sphere, Row::from([1.0, 0.0, 0.0])).checked().unwrap();
    let east = Tangent::new(sphere, Row::from([0.0, 1.0, 0.0]));
    let end = north.exp(&east.clone().checked(&north).unwrap());
    let error = east.checked(&end).unwrap_err();
    assert!(error.to_string().starts_with("not a tangent vector of the sphere at this point: "), "{error}");
}

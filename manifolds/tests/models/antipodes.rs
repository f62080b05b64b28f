//! Logarithm and parallel transport at antipodes and near them. There the direction of a geodesic comes
//! from differences of coordinates, and its relative error is an ulp over the angle to the antipode.

use cotangent_engine::{Float, Row, rng};
use cotangent_manifolds::{ConstantCurvature, Isometric, Manifold, Sphere, Stereographic};

fn stereographic(kappa: f64) -> Stereographic {
    Stereographic::new(kappa)
}

fn scaled<T: Float>(x: &Row<T>, s: f64) -> Row<T> {
    let scaled: Vec<T> = x.iter().map(|c| T::nearest(s * c.to_f64())).collect();
    Row::from(scaled.as_slice())
}

fn difference<T: Float>(a: &Row<T>, b: &Row<T>) -> Row<T> {
    let difference: Vec<T> = a.iter().zip(b.iter()).map(|(a, b)| *a - *b).collect();
    Row::from(difference.as_slice())
}

/// At antipodes results are those of the sphere: the logarithm there is 0, and v stays the same vector
/// of space.
#[test]
fn antipodes_are_those_of_the_sphere() {
    let (m, sphere) = (stereographic(1.0), Sphere::new(1.0));
    let (x, y, v) = (Row::from([1.0, 0.0]), Row::from([-1.0, 0.0]), Row::from([0.3, 0.4]));
    assert_eq!(m.log(&x, &y)[..], [0.0, 0.0]);
    assert_eq!(m.transport(&x, &y, &v)[..], [-0.3, 0.4]);
    let [a, b]: [Row<f64>; 2] = [&x, &y].map(|p| Isometric::<Sphere>::convert(&m, p));
    let w = Isometric::<Sphere>::push(&m, &x, &v);
    assert_eq!(sphere.log(&a, &b)[..], [0.0; 3]);
    let (image, want) =
        (Isometric::<Sphere>::push(&m, &y, &m.transport(&x, &y, &v)), sphere.transport(&a, &b, &w));
    assert!(image.iter().zip(want.iter()).all(|(a, b)| (a - b).abs() < 1e-15), "{image:?} {want:?}");
}

/// Points at all distances from the origin, and others at an angle of 2 gap from their antipodes.
fn near_antipodes<T: Float>() {
    let mut rng = rng::stream(11, 0, 0);
    for kappa in [1.0, 0.6, 4.0] {
        let (m, unit) = (stereographic(kappa), f64::sqrt(kappa).recip());
        for case in 0..400 {
            let gap = if case % 8 == 0 {
                0.0
            } else {
                10f64.powf(-f64::from(case % 8) * if T::COMPENSATED { 1.8 } else { 0.8 })
            };
            let direction = m.random_tangent(&m.origin::<T>(3), &mut rng);
            let x = m.exp(
                &m.origin(3),
                &scaled(&direction, unit * (0.05 + 0.0035 * f64::from(case)) / length(&direction)),
            );
            let square = x.iter().map(|c| kappa * c.to_f64().powi(2)).sum::<f64>();
            let antipode = scaled(&x, -1.0 / square);
            let aside = m.random_tangent(&antipode, &mut rng);
            let y = m.exp(&antipode, &scaled(&aside, 2.0 * gap * unit / m.norm(&antipode, &aside)));
            let [v, w] = [(); 2].map(|()| m.random_tangent(&x, &mut rng));
            let (log, back) = (m.log(&x, &y), m.log(&y, &x));
            let [carried, other] = [&v, &w].map(|v| m.transport(&x, &y, v));
            let what = format!("{}, kappa {kappa}, gap {gap:e}: {x:?} {y:?}", T::NAME);
            let all = [&log, &back, &carried, &other];
            assert!(all.iter().all(|row| row.iter().all(|c| c.is_finite())), "{what}: {all:?}");
            if gap == 0.0 {
                continue;
            }
            let bound = 64.0 * T::EPSILON / gap;
            let angle = std::f64::consts::PI - 2.0 * gap;
            assert!((m.norm(&x, &log) - unit * angle).abs() < unit * (bound + 1e-3 * gap), "{what}: {log:?}");
            let end = m.dist(&m.exp(&x, &log), &y);
            assert!(end < bound * unit, "{what}: exp(log y) is {end:e} from y");
            let product = m.inner(&x, &v, &w) - m.inner(&y, &carried, &other);
            let size = m.norm(&x, &v) * m.norm(&x, &w);
            assert!(
                product.abs() < bound * size,
                "{what}: the product of {v:?} and {w:?} changes by {product:e}"
            );
            let home = m.norm(&x, &difference(&m.transport(&y, &x, &carried), &v));
            assert!(home < bound * m.norm(&x, &v), "{what}: {v:?} comes back {home:e} from itself");
            let turned = m.norm(&y, &difference(&m.transport(&x, &y, &log), &scaled(&back, -1.0)));
            assert!(turned < 4.0 * bound * unit, "{what}: P log y is {turned:e} from -log x");
        }
    }
}

fn length<T: Float>(x: &Row<T>) -> f64 {
    x.iter().map(|c| c.to_f64().powi(2)).sum::<f64>().sqrt()
}

#[test]
fn logarithm_and_transport_near_antipodes() {
    near_antipodes::<f64>();
    near_antipodes::<f32>();
    assert_eq!(stereographic(1.0).kappa(), 1.0);
}

//! Horospherical projections: what defines them, and errors.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Row, Tensor, check, rng};
use cotangent_manifolds::{
    Busemann, HoroPca, HoroPcaError, Hyperbolic, Klein, Lorentz, Manifold, PoincareBall, Stiefel,
    standard_normal,
};

use crate::common::{Worst, at_distance};
use crate::weighted;

/// K random orthonormal directions, `[K, d]`.
fn directions([components, dim]: [usize; 2], rng: &mut Rng) -> Tensor<f64> {
    let normal = standard_normal::<f64>([dim * components], rng);
    let frame = Stiefel::new(dim, components).project(&Row::from(normal.data()));
    Tensor::from_fn([components, dim], |i| frame[i % dim * components + i / dim])
}

/// Points at the given distances from the origin, in random directions.
fn points<M: Manifold>(m: &M, dim: usize, distances: &[f64], rng: &mut Rng) -> Tensor<f64> {
    let rows = distances.iter().map(|&r| at_distance(m, &m.origin::<f64>(dim), r, rng).to_vec());
    Tensor::new([distances.len(), m.ambient(dim)], rows.collect::<Vec<_>>().concat())
}

/// A direction at the origin in a model's coordinates.
fn ideal<M: Hyperbolic>(direction: &[f64]) -> Row<f64> {
    let time: &[f64] = if M::HYPERBOLOID { &[0.0] } else { &[] };
    Row::from([time, direction].concat().as_slice())
}

/// The Busemann functions of the K ideal points are kept, up to a distance from the origin. `condition` says
/// how much a rounding of the coordinates there changes a distance.
fn keeps_busemann_functions<M: Busemann>(m: M, farthest: f64, condition: impl Fn(f64) -> f64) {
    let (mut rng, mut worst) = (rng::stream(51, 0, 0), Worst::default());
    let c = (-m.kappa()).sqrt();
    for [components, dim] in [[1, 1], [1, 2], [2, 2], [1, 5], [2, 5], [3, 5], [5, 5]] {
        let p = directions([components, dim], &mut rng);
        let pca = HoroPca::new(m, m.origin(dim), p.clone()).unwrap();
        let distances: Vec<f64> = (0..=40).map(|i| farthest / c * f64::from(i) / 40.0).collect();
        let x = points(&m, dim, &distances, &mut rng);
        let (flat, moved) = (pca.coordinates(&x), pca.project(&x));
        for i in 0..=40 {
            m.contains(flat.row(i)).unwrap();
            let row = Row::from(x.row(i));
            for j in 0..components {
                let unit: Vec<f64> = (0..components).map(|k| f64::from(u8::from(k == j))).collect();
                let omega = ideal::<M>(p.row(j));
                let want = m.busemann(&row, &omega);
                // Rounding a direction moves the function by the inverse of the angle.
                let space = &row[row.len() - dim..];
                let length = space.iter().map(|x| x * x).sum::<f64>().sqrt();
                let along: f64 = space.iter().zip(p.row(j)).map(|(x, p)| x * p).sum();
                let angle = (1.0 - along / length.max(1e-300)).max(1e-12).sqrt();
                let bound = 100.0 * f64::EPSILON * condition(c * distances[i]) / (c * angle);
                let what = (m, components, i, j);
                let got = m.busemann(&Row::from(flat.row(i)), &ideal::<M>(&unit));
                worst.see("coordinates", (got - want).abs(), bound, &what);
                let got = m.busemann(&Row::from(moved.row(i)), &omega);
                worst.see("project", (got - want).abs(), bound, &what);
            }
        }
    }
    worst.report(&format!("horospherical projections, {}", M::NAME));
}

#[test]
fn busemann_functions_are_kept() {
    for kappa in [-2.5, -1.0, -0.37] {
        keeps_busemann_functions(Lorentz::new(kappa), 28.0, |r| 1.0 + r);
        // 1 − √c ‖x‖ is 1e-12 at distance 28/√c.
        keeps_busemann_functions(PoincareBall::new(kappa), 28.0, f64::cosh);
        keeps_busemann_functions(Klein::new(kappa), 12.0, |r| r.cosh().powi(2));
    }
}

/// Far out and near the end of a hull, coordinates of 1 beside those of 1e12 keep their digits.
#[test]
fn points_near_an_ideal_point_keep_their_digits() {
    let m = Lorentz::new(-1.0);
    let units = [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]].map(Row::from);
    let x = m.project(&Row::from([0.0, 1e12, -2.0, 3.0]));
    let y = m.horospherical(&x, &units);
    for (unit, flat) in units.iter().zip([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]) {
        let [got, want] = [m.busemann(&y, &Row::from(flat)), m.busemann(&x, unit)];
        // X₀ = 1e12 + 7e-12 is rounded to 1e12, which moves the other coordinate by 3e-12.
        assert!((got - want).abs() < 4e-12, "{got}, not {want}");
    }
    // At a distance of 27.6, on the horosphere through the origin: the projection to a line is the origin.
    let x = m.project(&Row::from([0.0, 5e11, 1e6, 0.0]));
    let y = m.horospherical(&x, &units[..1]);
    let busemann = m.busemann(&x, &units[0]);
    assert!(busemann.abs() < 1e-11 && (y[1] + busemann.sinh()).abs() < 1e-15, "{y:?} {busemann}");
}

/// Points of the submanifold stay where they are if they are on the base's side of the hull.
#[test]
fn points_of_the_submanifold_stay() {
    let mut rng = rng::stream(52, 0, 0);
    let (m, dim) = (PoincareBall::new(-0.7), 5);
    for components in [1, 2, 3, 5] {
        let base = at_distance(&m, &m.origin::<f64>(dim), 1.5, &mut rng);
        let pca = HoroPca::new(m, base, directions([components, dim], &mut rng)).unwrap();
        let x = points(&m, dim, &[0.0, 0.3, 1.0, 2.0, 4.0, 8.0, 10.0, 12.0], &mut rng);
        let once = pca.project(&x);
        let twice = pca.project(&once);
        let mut moved = 0.0_f64;
        for i in 0..8 {
            let [x, y, z] = [x.row(i), once.row(i), twice.row(i)].map(Row::from);
            // A rounding of the coordinates is as long as it is far from the origin.
            let bound = 1e-13 * m.dist(&m.origin(dim), &y).exp();
            assert!(m.dist(&y, &z) < bound, "{components} {i}: {} {bound:e}", m.dist(&y, &z));
            moved = moved.max(m.dist(&x, &y));
        }
        assert!(moved > 1.0 || components == dim, "{components}: {moved}");
        assert_eq!((pca.base().len(), pca.manifold()), (dim, &m));
    }
}

/// To a geodesic, distances become differences of Busemann functions. To any submanifold they do not grow.
#[test]
fn distances_are_differences_of_busemann_functions_or_do_not_grow() {
    let mut rng = rng::stream(53, 0, 0);
    let (m, dim) = (Lorentz::new(-1.3), 4);
    let x = points(&m, dim, &[0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 3.0, 5.0, 8.0], &mut rng);
    for components in 1..=4 {
        let p = directions([components, dim], &mut rng);
        let flat = HoroPca::new(m, m.origin(dim), p.clone()).unwrap().coordinates(&x);
        for (i, j) in (0..10).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let [before, after] = [&x, &flat].map(|t| m.dist(&Row::from(t.row(i)), &Row::from(t.row(j))));
            assert!(after <= before * (1.0 + 1e-12), "{components} {i} {j}: {after} {before}");
            let [a, b] = [i, j].map(|i| m.busemann(&Row::from(x.row(i)), &ideal::<Lorentz>(p.row(0))));
            assert!(components > 1 || (after - (a - b).abs()).abs() < 1e-12, "{i} {j}: {after} {a} {b}");
        }
    }
}

/// Turned points, base and directions have the same coordinates, and so have those of another model.
#[test]
fn projections_commute_with_isometries() {
    let mut rng = rng::stream(54, 0, 0);
    let (m, dim) = (PoincareBall::new(-1.0), 4);
    let turn = directions([dim, dim], &mut rng);
    let turned = |x: &Tensor<f64>| {
        let product = |i: usize| {
            let (row, column) = (x.row(i / dim), i % dim);
            (0..dim).map(|k| row[k] * turn.row(k)[column]).sum()
        };
        Tensor::from_fn(x.shape().clone(), product)
    };
    let x = points(&m, dim, &[0.2, 1.0, 2.0, 3.0, 4.0, 5.0], &mut rng);
    let base = points(&m, dim, &[1.2], &mut rng);
    let p = directions([2, dim], &mut rng);
    let row = |t: &Tensor<f64>| Row::from(t.row(0));
    let pca = HoroPca::new(m, row(&base), p.clone()).unwrap();
    let flat = pca.coordinates(&x);
    let of_turned = HoroPca::new(m, row(&turned(&base)), turned(&p)).unwrap();
    let lorentz = Lorentz::new(-1.0);
    let of_lorentz = HoroPca::new(lorentz, row(&m.onto_hyperboloid(&base)), p).unwrap();
    let on_hyperboloid = of_lorentz.coordinates(&m.onto_hyperboloid(&x));
    for other in [of_turned.coordinates(&turned(&x)), m.back_from_hyperboloid(&on_hyperboloid)] {
        for (a, b) in flat.data().iter().zip(other.data()) {
            assert!((a - b).abs() < 1e-12, "{flat:?} {other:?}");
        }
    }
    // The base is the origin of the coordinates.
    assert!(pca.coordinates(&base).data().iter().all(|x| x.abs() < 1e-15));
}

#[test]
fn gradients_of_horospherical_projections() {
    let m = Lorentz::new(-0.6);
    let mut rng = rng::stream(55, 0, 0);
    let x = points(&m, 4, &[0.3, 1.0, 2.0, 3.0, 2.5], &mut rng);
    for components in 1..=3 {
        let p = directions([components, 4], &mut rng);
        let mut inputs = vec![x.clone()];
        inputs.extend(p.rows().map(|p| Tensor::new([5], [&[0.0][..], p].concat())));
        let worst = check::gradients(&inputs, |v| weighted(m.horospherical(&v[0], &v[1..])));
        assert!(worst.relative < 1e-7, "{components}: {worst:?}");
    }
}

#[test]
fn bad_projections_are_refused() {
    let m = PoincareBall::new(-1.0);
    let new = |base: &[f64], directions: Tensor<f64>| HoroPca::new(m, Row::from(base), directions);
    let refused = new(&[0.0, 0.0], Tensor::zeros([0, 2])).unwrap_err();
    assert_eq!(refused, HoroPcaError::Components { components: 0, dimension: 2 });
    let refused = new(&[0.0, 0.0], Tensor::zeros([3, 2])).unwrap_err();
    assert_eq!(refused.to_string(), "HoroPCA: 3 components; 1 to 2 are possible");
    let refused = new(&[0.0, 0.0], Tensor::new([1, 2], vec![1.0, 0.1])).unwrap_err();
    assert!(matches!(refused, HoroPcaError::Directions(_)), "{refused}");
    let refused = new(&[1.0, 0.0], Tensor::new([1, 2], vec![1.0, 0.0])).unwrap_err();
    assert!(matches!(refused, HoroPcaError::Base(_)), "{refused}");
}

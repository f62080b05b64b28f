//! Gyrovector operations that are compositions: Möbius matrices and maps, Busemann functions, tables of
//! logits, a curvature for each row, steps of optimisers.

mod momentum;

use cotangent_engine::{Row, Tape, Tensor, rng};
use cotangent_manifolds::{Busemann, Curved, Manifold, Point, Stereographic};

fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (a, b) in got.iter().zip(want) {
        assert!((a - b).abs() <= 1e-14, "{got:?}, not {want:?}");
    }
}

/// Law 48, at the three levels.
#[test]
fn matrices_act_as_on_vectors() {
    let (sin, cos) = 0.7_f64.sin_cos();
    let rotation = Tensor::new([3, 3], vec![cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0]);
    let (wide, narrow) =
        (Tensor::new([2, 3], vec![0.3, -0.2, 0.9, 0.0, 1.1, 0.4]), Tensor::new([1, 2], vec![0.8, -0.5]));
    let product = Tensor::new([1, 3], vec![0.24, -0.71, 0.52]);
    for kappa in [-1.0, -0.25, 0.0, 0.5] {
        let m = Stereographic::new(kappa);
        let x = Row::from([0.5, -0.3, 0.6]);
        close(&m.matvec(&rotation, &x), &[0.5 * cos + 0.3 * sin, 0.5 * sin - 0.3 * cos, 0.6]);
        close(&m.matvec(&narrow, &m.matvec(&wide, &x)), &m.matvec(&product, &x));
        let table = Tensor::new([2, 3], [&x[..], &[0.1, 0.2, 0.3]].concat());
        let y = m.matvec(&wide, &table);
        assert_eq!(y.row(0), &m.matvec(&wide, &x)[..]);
        let tape = Tape::<f64>::new();
        let on_tape = m.matvec(&tape.constant(&wide), &tape.constant(&table));
        close(on_tape.to_tensor().data(), y.data());
        // A map takes the origin to the origin.
        assert_eq!(m.map(&Row::from([0.0; 3]), |v| m.neg(v))[..], [0.0; 3]);
        close(&m.map(&x, |v| m.neg(v)), &m.neg(&x));
    }
}

#[test]
#[should_panic(expected = "matvec: a matrix [2, 3] on rows of 2")]
fn a_matrix_that_does_not_fit_is_refused() {
    let m = Stereographic::new(-1.0);
    let _ = m.matvec(&Tensor::zeros([2, 3]), &Row::from([0.1_f64, 0.2]));
}

/// Law 24: the limit of d(x, γ(t)) − t. The length of ω does not matter.
#[test]
fn busemann_functions_are_limits_of_distances() {
    for (kappa, x) in
        [(-1.0_f64, [0.5, -0.3]), (-0.25, [-1.1, 0.4]), (-1.0, [0.0, 0.0]), (-1.0, [0.59, 0.79])]
    {
        let m = Stereographic::new(kappa);
        let (x, c) = (Row::from(x), (-kappa).sqrt());
        let t = 30.0 / c;
        let end = m.exp0(&Row::from([0.3 * t, 0.4 * t])); // ‖v‖ = t/2
        let want = m.dist(&x, &end) - t;
        // The end is not at distance t exactly, but as far out as storage has a point.
        let reached = m.dist(&Row::from([0.0, 0.0]), &end);
        let got = m.busemann(&x, &Row::from([300.0, 400.0]));
        assert!((got - (want + t - reached)).abs() < 1e-9, "{kappa} {x:?}: {got} {want}");
    }
}

/// Law 24: the gradient of a Busemann function is a unit vector everywhere, also near the ideal point.
#[test]
fn busemann_functions_have_unit_gradients() {
    for (kappa, x) in [
        (-1.0, [0.5, -0.3]),
        (-0.25, [-1.1, 0.4]),
        (-1.0, [0.0, 0.0]),
        (-1.0, [0.599_999, 0.799_999]),
        (-1.0, [-0.599_999, -0.799_999]),
    ] {
        let m = Stereographic::new(kappa);
        let tape = Tape::<f64>::new();
        let row = tape.variable(&Tensor::new([1, 2], x.to_vec()));
        let omega = tape.constant(&Tensor::new([1, 2], vec![0.6, 0.8]));
        let gradients = tape.backward(m.busemann(&row, &omega).sum());
        let g = Row::from(gradients.wrt(row).data());
        let x = Row::from(x);
        let norm = m.norm(&x, &m.egrad_to_rgrad(&x, &g));
        // The reverse pass forms a difference of multiples of x and ω. Where these are near each other,
        // rounding of x counts λ times as much.
        assert!((norm - 1.0).abs() < 1e-15 * m.lambda(&x), "{kappa} {x:?}: {norm}");
    }
}

/// Law 11, a negative statement: co-addition is not associative, except where the space is flat.
#[test]
fn coaddition_is_not_associative() {
    let [x, y, z] = [[0.5, 0.1], [-0.2, 0.6], [0.3, -0.7]].map(Row::from);
    for (kappa, associative) in [(-1.0, false), (-0.25, false), (0.0, true), (0.5, false)] {
        let m = Stereographic::new(kappa);
        let (left, right) = (m.coadd(&m.coadd(&x, &y), &z), m.coadd(&x, &m.coadd(&y, &z)));
        let error = m.dist(&left, &right);
        assert!(if associative { error < 1e-15 } else { error > 1e-3 }, "{kappa}: {error}");
    }
}

/// Law 34: on the hemisphere (2p, 1 − ‖p‖²)/(1 + ‖p‖²), `cosh d = (1 − ⟨a, b⟩)/(a₃b₃)`,
/// where the products leave out the last coordinates. The points of the hemisphere are unit vectors.
#[test]
fn distances_are_those_of_the_hemisphere() {
    let m = Stereographic::new(-1.0);
    let points = [[0.5, -0.3], [0.0, 0.0], [-0.6, 0.7], [0.1, 0.2]];
    let lift = |p: [f64; 2]| {
        let square = p[0] * p[0] + p[1] * p[1];
        [2.0 * p[0], 2.0 * p[1], 1.0 - square].map(|c| c / (1.0 + square))
    };
    for p in points {
        let a = lift(p);
        assert!((a.iter().map(|a| a * a).sum::<f64>() - 1.0).abs() < 1e-15);
        for q in points.into_iter().filter(|&q| q != p) {
            let b = lift(q);
            let cosh = (1.0 - a[0] * b[0] - a[1] * b[1]) / (a[2] * b[2]);
            let d = m.dist(&Row::from(p), &Row::from(q));
            assert!((d.cosh() / cosh - 1.0).abs() < 1e-13, "{p:?} {q:?}: {d}");
        }
    }
}

#[test]
#[should_panic(expected = "busemann: negative curvature is needed, not 0")]
fn flat_space_has_no_ideal_points() {
    let x = Row::from([0.1, 0.2]);
    Stereographic::new(0.0).busemann(&x, &x);
}

#[test]
fn a_table_of_logits_is_that_of_its_pairs() {
    let tape = Tape::<f64>::new();
    let x = Tensor::new([2, 2], vec![0.1, 0.7, -0.4, 0.2]);
    let z = Tensor::new([3, 2], vec![1.0, 0.3, -0.2, 0.5, 0.0, 2.0]);
    let r = [0.3, -0.8, 0.1];
    for kappa in [-1.0, 0.0, 0.5] {
        let (m, k) = (Stereographic::new(kappa), tape.scalar(kappa));
        let [a, b] = [&x, &z].map(|t| tape.constant(t));
        let table = Curved::new(k).unidirectional_logits(a, b, tape.constant(&Tensor::new([3], r.to_vec())));
        for i in 0..2 {
            for j in 0..3 {
                let want = m.unidirectional_logit(&Row::from(x.row(i)), &Row::from(z.row(j)), &r[j]);
                close(&[table.to_tensor().row(i)[j]], &[want]);
            }
        }
    }
}

/// The logits of all pairs are those of each pair, with their gradients: also where points are near those of
/// the classes, far out and at the origin.
#[test]
fn all_logits_are_those_of_their_pairs() {
    let mut rng = rng::stream(9, 0, 0);
    for kappa in [-1.0, -2.0, 0.0, 0.5] {
        let m = Stereographic::new(kappa);
        let reach = if kappa < 0.0 { 12.0 } else { 1.0 };
        let mut rows = |n: usize| -> Vec<f64> {
            (0..n).flat_map(|_| m.random_point::<f64>(3, reach, &mut rng).to_vec()).collect()
        };
        let (mut x, mut p, a) = (rows(6), rows(5), rows(5));
        // The first two points are at and near points of classes; one class is at the origin, one point too.
        x[..6].copy_from_slice(&p[..6]);
        x[3] *= 1.0 - 1e-9;
        p[12..].fill(0.0);
        x[15..].fill(0.0);
        let inputs = [([6, 3], x), ([5, 3], p), ([5, 3], a)].map(|(shape, data)| Tensor::new(shape, data));
        let weights = Tensor::from_fn([6, 5], |i| (1.0 + i as f64).sin());
        let evaluate = |all: bool| {
            let tape = Tape::<f64>::new();
            let k = tape.variable(&Tensor::scalar(kappa));
            let [x, p, a] = inputs.each_ref().map(|t| tape.variable(t));
            let space = Curved::new(k);
            let logits = if all {
                space.logits(x, p, a)
            } else {
                space.logit(&x.insert_axis(1), &p.insert_axis(0), &a.insert_axis(0))
            };
            let values = logits.to_tensor().data().to_vec();
            let gradients = tape.backward((logits * tape.constant(&weights)).sum());
            (values, [x, p, a, k].map(|v| gradients.wrt(v).data().to_vec()))
        };
        let ((got, slopes), (want, want_slopes)) = (evaluate(true), evaluate(false));
        let largest = want.iter().fold(1.0, |largest: f64, x| largest.max(x.abs()));
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() < 1e-13 * (want.abs() + 1e-3 * largest), "{kappa}: {got} {want}");
        }
        for (got, want) in slopes.iter().zip(&want_slopes) {
            let largest = want.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() < 1e-11 * largest, "{kappa}: {got} {want}");
            }
        }
    }
}

/// Spaces with a variable curvature are equal if the curvature is the same variable, not if it has the same
/// value.
#[test]
fn spaces_are_equal_by_their_variable() {
    let tape = Tape::<f64>::new();
    let [a, b] = [(); 2].map(|()| tape.variable(&Tensor::scalar(-1.0)));
    assert_eq!(Curved::new(a), Curved::new(a));
    assert_ne!(Curved::new(a), Curved::new(b));
}

#[test]
#[should_panic(expected = "points of two learned curvatures do not mix")]
fn points_of_two_curvatures_do_not_mix() {
    let tape = Tape::<f64>::new();
    let x = tape.constant(&Tensor::new([1, 2], vec![0.1, 0.2]));
    let [a, b] = [(); 2].map(|()| Point::new(Curved::new(tape.variable(&Tensor::scalar(-1.0))), x));
    a.dist(&b);
}

#[test]
fn rows_may_have_a_curvature_each() {
    let x = Tensor::new([2, 2], vec![0.1, 0.7, -0.4, 0.2]);
    let y = Row::from([0.3, 0.3]);
    let d =
        Curved::<Tensor<f64>>::new(Tensor::new([2], vec![-1.0, 0.5])).dist(&x, &Tensor::new([2], y.to_vec()));
    for (i, kappa) in [-1.0, 0.5].into_iter().enumerate() {
        assert_eq!(d.data()[i], Stereographic::new(kappa).dist(&Row::from(x.row(i)), &y));
    }
}

//! Symmetric positive definite matrices.

use cotangent_manifolds::Spd;

use super::*;

const SIZES: [usize; 5] = [1, 2, 3, 5, 8];

fn both_metrics(n: usize) -> [Spd; 2] {
    [Spd::affine_invariant(n), Spd::log_euclidean(n)]
}

/// Two eigenvalues of a matrix at distance r from the identity differ at most by a factor of e^(√2 r).
fn condition(radius: f64) -> f64 {
    (2f64.sqrt() * radius).exp()
}

#[test]
fn laws() {
    for n in SIZES {
        for m in both_metrics(n) {
            Laws { m, radius: 1.5, condition, parallel: true }.all();
        }
    }
}

#[test]
fn gradients_equal_finite_differences() {
    for n in [1, 2, 3, 4] {
        both_metrics(n).into_iter().for_each(|m| gradients(m, n as u64));
    }
}

/// Off the manifold, projection takes the positive part.
#[test]
fn gradient_of_projection() {
    let x = Tensor::new([1, 9], vec![1.0, 0.3, -0.2, 0.5, -2.0, 0.4, 0.1, -0.7, 0.5]);
    let worst = check::gradients(&[x], |v| weighted(Spd::affine_invariant(3).project(&v[0])));
    assert!(worst.relative < 1e-8, "{worst:?}");
}

/// Where eigenvalues or points coincide.
#[test]
fn gradients_at_coinciding_eigenvalues() {
    let twice = Tensor::new([1, 4], vec![2.0, 0.0, 0.0, 2.0]);
    let thrice = Tensor::new([1, 4], vec![3.0, 0.0, 0.0, 3.0]);
    let u = Tensor::new([1, 4], vec![0.4, 0.1, 0.1, 0.4]);
    for m in both_metrics(2) {
        for y in [&twice, &thrice] {
            let inputs = [twice.clone(), y.clone(), u.clone(), u.clone()];
            for_each_operation(m, |name, operation| {
                if name == "dist" && *y == twice {
                    return;
                }
                let worst = check::gradients(&inputs, |v| operation([v[0], v[1], v[2], v[3]]));
                assert!(worst.relative < 1e-8, "{name} {m:?}: {worst:?}");
            });
        }
        let tape = Tape::new();
        let (x, y) = (tape.variable(&twice), tape.variable(&twice));
        let gradients = tape.backward(m.dist(&x, &y).sum());
        assert!(gradients.view(x).is_some());
        assert_eq!(gradients.wrt(x).data(), [0.0; 4]);
    }
}

#[test]
fn levels_agree_bit_for_bit() {
    for n in [1, 3] {
        for m in both_metrics(n) {
            levels::<_, f64>(m);
            levels::<_, f32>(m);
        }
    }
}

/// Commuting matrices: distances, geodesics and transports are those of the logarithms of the eigenvalues,
/// however far apart these are.
#[test]
fn diagonal_matrices() {
    let (a, b) = ([1e-40, 3.0, 1e20], [1e-30, 3.0 + 3e-12, 1e5]);
    let (x, y) = (diagonal(&a), diagonal(&b));
    let ratio = |i: usize| (b[i] / a[i]).ln();
    let want = (0..3).map(|i| ratio(i).powi(2)).sum::<f64>().sqrt();
    for m in both_metrics(3) {
        assert!((m.dist(&x, &y) / want - 1.0).abs() < 1e-14);
    }
    let m = Spd::affine_invariant(3);
    let (log, carried) = (m.log(&x, &y), m.transport(&x, &y, &x));
    for i in 0..3 {
        // The ratio of the middle ones, computed here, has four digits.
        assert!((log[4 * i] / (a[i] * ratio(i)) - 1.0).abs() < 1e-3, "{i} {log:?}");
        assert!((carried[4 * i] / b[i] - 1.0).abs() < 1e-14);
        assert!((m.exp(&x, &log)[4 * i] / b[i] - 1.0).abs() < 1e-13);
    }
}

/// Nearby points: accuracy is relative to the distance, not to the points.
#[test]
fn small_distances_are_accurate() {
    let m = Spd::affine_invariant(2);
    let x = Row::from([2.0, 1.0, 1.0, 2.0]);
    for k in [10, 25, 40, 50] {
        // Half of the steps are eigenvalues of X⁻¹ D, for D = h [[1, 0], [0, −1]]: ±h/√3.
        let h = 2f64.powi(-k);
        let y = Row::from([2.0 + h, 1.0, 1.0, 2.0 - h]);
        let e = h / 3f64.sqrt();
        let want = (e.ln_1p().powi(2) + (-e).ln_1p().powi(2)).sqrt();
        assert!((m.dist(&x, &y) / want - 1.0).abs() < 8.0 * f64::EPSILON, "{k}");
    }
}

#[test]
fn invariances() {
    for n in SIZES {
        let [m, flat] = both_metrics(n);
        let dim = m.fixed_dimension().unwrap();
        let mut rng = rng::stream(3, 74, n as u64);
        let (x, y) = (m.random_point::<f64>(dim, 1.5, &mut rng), m.random_point::<f64>(dim, 1.5, &mut rng));
        let mut a = diagonal(&vec![1.0; n]);
        a.iter_mut().for_each(|c| *c += rng.random_range(-0.2..0.2));
        let moved = |x: &Row<f64>| m.project(&product(&product(&a, x, n), &transpose(&a, n), n));
        let bound = 64.0 * (n * n) as f64 * f64::EPSILON * condition(1.5);
        assert!((m.dist(&moved(&x), &moved(&y)) - m.dist(&x, &y)).abs() < bound, "congruence {n}");
        // Transport commutes with the congruence.
        let v = m.random_tangent(&x, &mut rng);
        let (carried, of_moved) = (moved_tangent(&a, &m.transport(&x, &y, &v), n), {
            m.transport(&moved(&x), &moved(&y), &moved_tangent(&a, &v, n))
        });
        assert!(m.norm(&moved(&y), &combine(&carried, -1.0, &of_moved)) < bound * m.norm(&x, &v));
        // The inverse of X is exp(−log X), at the identity.
        let o = m.origin::<f64>(dim);
        let inverse = |x: &Row<f64>| m.exp(&o, &scaled(&m.log(&o, x), -1.0));
        for m in [m, flat] {
            assert!((m.dist(&inverse(&x), &inverse(&y)) - m.dist(&x, &y)).abs() < bound, "inverse {n}");
        }
        let double = |x| scaled(x, 2.0);
        assert!((flat.dist(&double(&x), &double(&y)) - flat.dist(&x, &y)).abs() < bound, "scaling {n}");
    }
}

fn moved_tangent(a: &Row<f64>, v: &Row<f64>, n: usize) -> Row<f64> {
    let s = product(&product(a, v, n), &transpose(a, n), n);
    combine(&scaled(&s, 0.5), 0.5, &transpose(&s, n))
}

#[test]
fn rows_off_the_manifold_are_told_by_how_much() {
    let m = Spd::affine_invariant(2);
    let error = m.contains(&[1.0, 2.0, 2.0, 1.0]).unwrap_err();
    assert_eq!(error.condition, "smallest eigenvalue > 0");
    assert!((error.by - 1.0).abs() < 1e-14, "{error}");
    assert_eq!(m.contains(&[1.0, 0.5, 0.25, 1.0]).unwrap_err().by, 0.25);
    assert!(m.contains(&[f64::NAN, 0.0, 0.0, 1.0]).is_err());
    assert!(m.contains(&[f64::INFINITY, 0.0, 0.0, 1.0]).is_err());
    // Projection of rows that are not positive definite at all.
    for row in [[0.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, -2.0], [1.0, 1.0, 1.0, 1.0], [1e300, 0.0, 0.0, 1.0]] {
        m.contains(&m.project(&Row::from(row))).unwrap();
        m.contains(&m.project(&Row::from(row.map(|x| x as f32).map(|x| x.min(f32::MAX))))).unwrap();
    }
}

#[test]
#[should_panic(expected = "spd.dist: rows of 3 x 3 matrices are needed, 9 elements each, not [4, 9]")]
fn sizes_are_checked() {
    let m = Spd::affine_invariant(3);
    m.dist(&Row::from([1.0, 0.0, 0.0, 1.0]), &m.origin::<f64>(6));
}

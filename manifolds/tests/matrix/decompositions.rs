//! Decompositions of small matrices, and the exponential.

use cotangent_engine::{Tensor, rng};
use cotangent_manifolds::symmetric_eigen;
use cotangent_numbers::matrix::Matrix;
use rand::RngExt;

fn random(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut rng = rng::stream(seed, 70, (rows * 100 + cols) as u64);
    Matrix::new(rows, cols, &(0..rows * cols).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<_>>())
}

fn columns(u: &Matrix, d: &[f64]) -> Matrix {
    u.weigh(|_, j| d[j])
}

#[test]
fn decompositions_multiply_back() {
    for (rows, cols) in [(1, 1), (2, 2), (3, 3), (7, 7), (20, 20), (4, 1), (5, 2), (9, 8)] {
        let a = random(rows, cols, 1);
        let (u, sigma, v) = a.svd();
        let bound = 8.0 * rows as f64 * f64::EPSILON;
        assert!((&(&columns(&u, &sigma) * &v.t()) - &a).largest() < bound, "svd {rows} {cols}");
        assert!((&(&u.t() * &u) - &Matrix::identity(cols)).largest() < bound);
        assert!((&(&v.t() * &v) - &Matrix::identity(cols)).largest() < bound);
        let q = a.orthonormal_columns();
        assert!((&(&q.t() * &q) - &Matrix::identity(cols)).largest() < bound, "qr {rows} {cols}");
        let r = &q.t() * &a;
        assert!((&(&q * &r) - &a).largest() < bound);
        assert!((0..cols).all(|i| r[(i, i)] > 0.0 && (0..i).all(|j| r[(i, j)].abs() < bound)));
        if rows != cols {
            continue;
        }
        let s = a.sym();
        let (u, values) = s.eigen();
        assert!((&(&columns(&u, &values) * &u.t()) - &s).largest() < bound, "eigen {rows}");
        assert!((&(&u.t() * &u) - &Matrix::identity(cols)).largest() < bound);
        let square = &(&a * &a.t()) + &Matrix::identity(rows);
        let l = square.cholesky();
        assert!((&(&l * &l.t()) - &square).largest() < bound * square.largest(), "cholesky {rows}");
        assert!((&(&l * &l.solve_lower(&a)) - &a).largest() < bound, "lower {rows}");
        assert!((&(&l.t() * &l.solve_upper(&a)) - &a).largest() < bound, "upper {rows}");
    }
}

/// A reflection of diag(1, 5, −2): the eigenvectors are known, and so are their signs.
#[test]
fn eigenvectors_descend_and_have_one_sign() {
    let normal = [2.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0];
    let reflection = Matrix::from_fn(3, 3, |i, j| f64::from(u8::from(i == j)) - 2.0 * normal[i] * normal[j]);
    let a = &columns(&reflection, &[1.0, 5.0, -2.0]) * &reflection.t();
    let (values, vectors) = symmetric_eigen(&Tensor::from_fn([3, 3], |k| a[(k / 3, k % 3)]));
    let close = |found: &[f64], want: [f64; 3]| found.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-14);
    assert!(close(&values, [5.0, 1.0, -2.0]), "{values:?}");
    let ninths = [[4.0, 7.0, 4.0], [-1.0, -4.0, 8.0], [8.0, -4.0, -1.0]];
    for (row, want) in vectors.rows().zip(ninths) {
        assert!(close(row, want.map(|x| x / 9.0)), "{vectors}");
    }
    let (values, _) = symmetric_eigen(&Tensor::new([2, 2], vec![1.0, f64::INFINITY, 0.0, 1.0]));
    assert!(values.iter().all(|x| x.is_nan()));
}

/// The small eigenvalues of a graded matrix D B D with well-conditioned B have all their digits: the
/// product of all is the determinant, and a congruence by a power of two is exact.
#[test]
fn small_eigenvalues_of_graded_matrices_are_accurate() {
    let grade = [1.0, 2f64.powi(-20), 2f64.powi(-45), 2f64.powi(-70)];
    let b = &random(4, 4, 2) * &random(4, 4, 2).t();
    let b = &b + &Matrix::identity(4);
    let graded = b.weigh(|i, j| grade[i] * grade[j]);
    let (_, sigma, _) = graded.cholesky().svd();
    let product: f64 = sigma.iter().product();
    let determinant: f64 = (0..4).map(|i| b.cholesky()[(i, i)] * grade[i]).product();
    assert!((product / determinant - 1.0).abs() < 1e-14, "{product:e} {determinant:e}");
    // Column by column of the elimination, the eigenvalues are nearly the pivots.
    let mut sorted = sigma.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    for i in 0..4 {
        let pivot = b.cholesky()[(i, i)] * grade[i];
        assert!((sorted[i] / pivot - 1.0).abs() < 1e-9, "{i}: {sorted:?}");
    }
}

/// The exponential of an antisymmetric matrix is a rotation, so its transpose is its inverse; the
/// derivative against differences.
#[test]
fn exponentials() {
    for scale in [1e-9, 0.3, 4.0, 50.0] {
        let a = random(4, 4, 3);
        let skew = (&a - &a.t()).scale(scale);
        let rotation = skew.exp();
        let bound = 64.0 * (1.0 + scale) * f64::EPSILON;
        assert!((&(&rotation.t() * &rotation) - &Matrix::identity(4)).largest() < bound, "{scale}");
    }
    let plane = Matrix::new(2, 2, &[0.0, -1.0, 1.0, 0.0]);
    assert!(
        (&plane.exp() - &Matrix::new(2, 2, &[1f64.cos(), -1f64.sin(), 1f64.sin(), 1f64.cos()])).largest()
            < 1e-15
    );
    let (a, g, v) = (random(3, 3, 4), random(3, 3, 5), random(3, 3, 6).scale(1e-5));
    let difference = (&(&a + &v).exp() - &(&a - &v).exp()).scale(0.5);
    assert!((difference.dot(&g) - a.exp_pullback(&g).dot(&v)).abs() < 1e-13);
}

#[test]
fn deficient_matrices_have_orthonormal_factors() {
    for a in [
        Matrix::from_fn(3, 3, |_, _| 0.0),
        Matrix::from_fn(4, 3, |_, _| 1.0),
        Matrix::from_fn(3, 2, |i, j| f64::from(u8::from(i == 0 && j == 1))),
    ] {
        let (u, sigma, v) = a.svd();
        assert!((&(&u.t() * &u) - &Matrix::identity(sigma.len())).largest() < 1e-14, "{u:?}");
        assert!((&(&columns(&u, &sigma) * &v.t()) - &a).largest() < 1e-14);
        let q = a.orthonormal_columns();
        assert!((&(&q.t() * &q) - &Matrix::identity(sigma.len())).largest() < 1e-14, "{q:?}");
    }
    assert!(!Matrix::from_fn(2, 2, |_, _| 1.0).is_positive_definite());
    let nan = Matrix::from_fn(2, 2, |_, _| f64::NAN);
    assert!(nan.largest().is_nan() && nan.norm().is_nan());
    assert!(Matrix::new(1, 3, &[0.0, f64::NAN, 1.0]).largest().is_nan());
    assert!((Matrix::new(1, 2, &[3e200, -4e200]).norm() / 5e200 - 1.0).abs() <= f64::EPSILON);
    assert!(!nan.is_positive_definite() && nan.eigen().1[0].is_nan() && nan.svd().1[0].is_nan());
}

//! Eigenvalues and eigenvectors of a symmetric matrix.

use cotangent_engine::Tensor;
use cotangent_numbers::matrix::Matrix;

/// Eigenvalues of a symmetric matrix `[n, n]`, descending, and its unit eigenvectors in the same order,
/// as the rows of a tensor `[n, n]`. The sign of each vector makes the first of its largest coordinates
/// positive.
///
/// Cyclic Jacobi rotations: for tens or hundreds of rows, and accurate also for small eigenvalues of a
/// graded matrix. Only the symmetric part of the matrix is used. If an element is not finite, all results
/// are NaN. Golub, Van Loan 2013, "Matrix Computations", §8.5.
///
/// # Panics
/// If the matrix is not square.
#[track_caller]
pub fn symmetric_eigen(matrix: &Tensor<f64>) -> (Vec<f64>, Tensor<f64>) {
    let &[n, cols] = matrix.shape().axes() else {
        panic!("symmetric_eigen: a matrix is needed, not {}", matrix.shape())
    };
    assert_eq!(n, cols, "symmetric_eigen: a square matrix is needed, not {}", matrix.shape());
    if !matrix.data().iter().all(|x| x.is_finite()) {
        return (vec![f64::NAN; n], Tensor::new([n, n], vec![f64::NAN; n * n]));
    }
    let (vectors, values) = Matrix::symmetric(n, matrix.data()).eigen();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[j].total_cmp(&values[i]));
    let sign = |k: usize| {
        let column = (0..n).map(|i| vectors[(i, k)]);
        column.fold(0.0, |a: f64, x| if x.abs() > a.abs() { x } else { a }).signum()
    };
    let signs: Vec<f64> = (0..n).map(sign).collect();
    let element = |at: usize| vectors[(at % n, order[at / n])] * signs[order[at / n]];
    (order.iter().map(|&k| values[k]).collect(), Tensor::from_fn([n, n], element))
}

//! Matrices applied to rows, at the three levels.

use cotangent_engine::{Float, Row, Rows, Tensor, Var};

/// Rows that a matrix can be applied to.
pub trait MatVec: Rows {
    /// A matrix `[m, n]`.
    type Matrix;

    /// `M x` of each row x: `[…, n]` to `[…, m]`.
    ///
    /// # Panics
    /// If the matrix is not `[m, n]`.
    fn matvec(&self, matrix: &Self::Matrix) -> Self;
}

/// `M x` of one row, accumulated in `f64`.
#[track_caller]
fn product<'a, T: Float>(matrix: &'a Tensor<T>, x: &'a [T]) -> impl Iterator<Item = T> + 'a {
    let axes = matrix.shape().axes();
    assert!(
        axes.len() == 2 && axes[1] == x.len(),
        "matvec: a matrix {} on rows of {}",
        matrix.shape(),
        x.len()
    );
    matrix.rows().map(move |row| T::nearest(row.iter().zip(x).map(|(a, b)| a.to_f64() * b.to_f64()).sum()))
}

impl<T: Float> MatVec for Row<T> {
    type Matrix = Tensor<T>;
    #[track_caller]
    fn matvec(&self, matrix: &Tensor<T>) -> Self {
        Row::from(product(matrix, self).collect::<Vec<_>>().as_slice())
    }
}

impl<T: Float> MatVec for Tensor<T> {
    type Matrix = Tensor<T>;
    #[track_caller]
    fn matvec(&self, matrix: &Tensor<T>) -> Self {
        let data = self.rows().flat_map(|row| product(matrix, row)).collect();
        Tensor::new(self.shape().rows().with_width(matrix.shape()[0]), data)
    }
}

impl<'t, T: Float> MatVec for Var<'t, T> {
    type Matrix = Var<'t, T>;
    #[track_caller]
    fn matvec(&self, matrix: &Var<'t, T>) -> Self {
        self.matmul_nt(*matrix)
    }
}

//! Dense matrices of `f64` and their decompositions, for functions of rows that hold a matrix.
//!
//! Eigenvalues and singular values are found by Jacobi's method. On the small matrices that rows hold it
//! is as fast as any, and it alone finds the small values of a graded matrix to full relative accuracy
//! (Demmel, Veselić 1992, "Jacobi's method is more accurate than QR"). Logarithms of eigenvalues need
//! this.

use std::ops::{Add, Index, IndexMut, Mul, Range, Sub};

use crate::norm::norm_of;
use crate::storage::Storage;

/// A `rows × cols` matrix, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The elements, `rows · cols`, row by row.
    pub data: Vec<f64>,
}

impl Matrix {
    /// From its elements.
    pub fn new(rows: usize, cols: usize, data: &[f64]) -> Self {
        assert_eq!(data.len(), rows * cols, "a matrix of {rows} x {cols}");
        Matrix { rows, cols, data: data.to_vec() }
    }

    /// Element (i, j) is `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Matrix { rows, cols, data }
    }

    /// The symmetric part of a square matrix, given as a row.
    pub fn symmetric(n: usize, data: &[f64]) -> Self {
        Matrix::new(n, n, data).sym()
    }

    /// The identity.
    pub fn identity(n: usize) -> Self {
        Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)))
    }

    /// The transpose.
    pub fn t(&self) -> Self {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// `½(A + Aᵀ)`: exactly symmetric, and A itself if A is symmetric.
    pub fn sym(&self) -> Self {
        Matrix::from_fn(self.rows, self.cols, |i, j| match (self[(i, j)], self[(j, i)]) {
            (a, b) if a == b => a,
            (a, b) => 0.5 * a + 0.5 * b,
        })
    }

    /// Each element as `f` maps it.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Matrix { data: self.data.iter().map(|&x| f(x)).collect(), ..*self }
    }

    /// The matrix times a number.
    pub fn scale(&self, factor: f64) -> Self {
        self.map(|x| factor * x)
    }

    /// The elementwise product with `f(i, j)`.
    pub fn weigh(&self, f: impl Fn(usize, usize) -> f64) -> Self {
        Matrix::from_fn(self.rows, self.cols, |i, j| self[(i, j)] * f(i, j))
    }

    /// `Σ Aᵢⱼ Bᵢⱼ`.
    pub fn dot(&self, other: &Self) -> f64 {
        self.data.iter().zip(&other.data).map(|(a, b)| a * b).sum()
    }

    /// The Frobenius norm, also where the squares would leave the range of `f64`.
    pub fn norm(&self) -> f64 {
        norm_of(self.dot(self), self.data.iter().copied())
    }

    /// The largest magnitude of an element; NaN if there is one.
    pub fn largest(&self) -> f64 {
        self.data.iter().fold(0.0, |m: f64, x| if m.is_nan() || x.abs() <= m { m } else { x.abs() })
    }

    /// Each element rounded to the storage type.
    pub fn rounded<T: Storage>(&self) -> Self {
        self.map(|x| T::nearest(x).to_f64())
    }

    /// Copies the elements to a slice of the same length.
    pub fn write(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.data);
    }

    /// `L⁻¹ A` for lower triangular L = `self`.
    pub fn solve_lower(&self, a: &Self) -> Self {
        let mut x = a.clone();
        for i in 0..x.rows {
            for k in 0..i {
                let factor = self[(i, k)];
                for j in 0..x.cols {
                    x[(i, j)] -= factor * x[(k, j)];
                }
            }
            (0..x.cols).for_each(|j| x[(i, j)] /= self[(i, i)]);
        }
        x
    }

    /// `L⁻ᵀ A` for lower triangular L = `self`.
    pub fn solve_upper(&self, a: &Self) -> Self {
        let mut x = a.clone();
        for i in (0..x.rows).rev() {
            for k in i + 1..x.rows {
                let factor = self[(k, i)];
                for j in 0..x.cols {
                    x[(i, j)] -= factor * x[(k, j)];
                }
            }
            (0..x.cols).for_each(|j| x[(i, j)] /= self[(i, i)]);
        }
        x
    }

    /// The lower triangular L with `L Lᵀ = A`, of a symmetric A; NaN if A is not positive definite.
    pub fn cholesky(&self) -> Self {
        let n = self.rows;
        let mut l = Matrix::from_fn(n, n, |_, _| 0.0);
        for j in 0..n {
            for i in j..n {
                let sum: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
                let remainder = self[(i, j)] - sum;
                // With a pivot of 0 a matrix is not positive definite either.
                l[(i, j)] = match i == j {
                    true if remainder > 0.0 => remainder.sqrt(),
                    true => f64::NAN,
                    false => remainder / l[(j, j)],
                };
            }
        }
        l
    }

    /// Whether a symmetric matrix is positive definite to the accuracy of `f64`, that is, whether it has
    /// a Cholesky factor.
    pub fn is_positive_definite(&self) -> bool {
        self.cholesky().data.iter().all(|x| x.is_finite())
    }

    /// Eigenvectors (columns) and eigenvalues of a symmetric matrix, in no particular order: cyclic
    /// Jacobi rotations.
    pub fn eigen(&self) -> (Self, Vec<f64>) {
        let n = self.rows;
        // Until the end the rows of `v` are the eigenvectors, so that rotations run along memory.
        let (mut a, mut v) = (self.clone(), Matrix::identity(n));
        for _ in 0..SWEEPS {
            let mut rotated = false;
            for p in 0..n {
                for q in p + 1..n {
                    let (off, app, aqq) = (a[(p, q)], a[(p, p)], a[(q, q)]);
                    if off.is_nan() || negligible(off, app) && negligible(off, aqq) {
                        continue;
                    }
                    rotated = true;
                    let (c, s, t) = rotation((aqq - app) / (2.0 * off));
                    a.rotate(p, q, c, s);
                    for k in 0..n {
                        (a[(k, p)], a[(k, q)]) = (a[(p, k)], a[(q, k)]);
                    }
                    (a[(p, p)], a[(q, q)]) = (app - t * off, aqq + t * off);
                    (a[(p, q)], a[(q, p)]) = (0.0, 0.0);
                    v.rotate(p, q, c, s);
                }
            }
            if !rotated {
                break;
            }
        }
        let values = (0..n).map(|i| a[(i, i)]).collect();
        (v.t(), values)
    }

    /// U, σ, V of the thin singular value decomposition `A = U diag(σ) Vᵀ` of a matrix with at least as
    /// many rows as columns, by one-sided Jacobi rotations. σ is in no particular order. U has orthonormal
    /// columns, also where σ is 0. Hestenes 1958.
    pub fn svd(&self) -> (Self, Vec<f64>, Self) {
        let n = self.cols;
        // Columns as rows, so that they are contiguous.
        let (mut a, mut v) = (self.t(), Matrix::identity(n));
        for _ in 0..SWEEPS {
            let mut rotated = false;
            for p in 0..n {
                for q in p + 1..n {
                    let (pp, qq, pq) = (a.dot_rows(p, p), a.dot_rows(q, q), a.dot_rows(p, q));
                    if !(pq.abs() > f64::EPSILON * pp.sqrt() * qq.sqrt()) {
                        continue;
                    }
                    rotated = true;
                    let (c, s, _) = rotation((qq - pp) / (2.0 * pq));
                    a.rotate(p, q, c, s);
                    v.rotate(p, q, c, s);
                }
            }
            if !rotated {
                break;
            }
        }
        let sigma: Vec<f64> = (0..n).map(|i| a.dot_rows(i, i).sqrt()).collect();
        a = Matrix::from_fn(
            n,
            self.rows,
            |i, j| if sigma[i] > 0.0 { a[(i, j)] / sigma[i] } else { a[(i, j)] },
        );
        for i in 0..n {
            if sigma[i] == 0.0 {
                a.fill_orthonormal(i, |j| j != i && (j < i || sigma[j] > 0.0));
            }
        }
        (a.t(), sigma, v.t())
    }

    /// `e^A`, by scaling and squaring of the exponential series.
    pub fn exp(&self) -> Self {
        let squarings = (2.0 * self.norm()).log2().ceil().clamp(0.0, 1000.0) as i32;
        let (small, one) = (self.scale(0.5_f64.powi(squarings)), Matrix::identity(self.rows));
        // 0.5¹⁶/16! is beyond the last digit.
        let mut sum = one.clone();
        for k in (1..16).rev() {
            sum = &one + &(&small * &sum).scale(f64::from(k).recip());
        }
        (0..squarings).fold(sum, |power, _| &power * &power)
    }

    /// The cotangent of A, given that of `e^A`: the derivative of the exponential at Aᵀ along it, which
    /// is a block of `exp [[Aᵀ, G], [0, Aᵀ]]` (Najfeld, Havel 1995).
    pub fn exp_pullback(&self, g: &Self) -> Self {
        let (n, size) = (self.rows, g.norm());
        if size == 0.0 {
            return g.clone();
        }
        let block = Matrix::from_fn(2 * n, 2 * n, |i, j| match (i < n, j < n) {
            (true, false) => g[(i, j - n)] / size,
            (false, true) => 0.0,
            _ => self[(j % n, i % n)],
        });
        block.exp().block(0..n, n..2 * n).scale(size)
    }

    /// The block of these rows and columns.
    pub fn block(&self, rows: Range<usize>, columns: Range<usize>) -> Self {
        Matrix::from_fn(rows.len(), columns.len(), |i, j| self[(rows.start + i, columns.start + j)])
    }

    fn dot_rows(&self, p: usize, q: usize) -> f64 {
        self.row(p).iter().zip(self.row(q)).map(|(a, b)| a * b).sum()
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Rows p < q become `c p − s q` and `s p + c q`.
    fn rotate(&mut self, p: usize, q: usize, c: f64, s: f64) {
        let (front, back) = self.data.split_at_mut(q * self.cols);
        let row = &mut front[p * self.cols..(p + 1) * self.cols];
        for (x, y) in row.iter_mut().zip(&mut back[..self.cols]) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }

    /// The Q of the QR decomposition with a positive diagonal, by Gram–Schmidt, repeated as often as
    /// necessary. Columns that depend on those before them are replaced.
    pub fn orthonormal_columns(&self) -> Self {
        let mut q = self.t();
        for i in 0..q.rows {
            let mut norm = q.dot_rows(i, i).sqrt();
            loop {
                let before = norm;
                q.deflate(i, |k| k < i);
                norm = q.dot_rows(i, i).sqrt();
                // A row that is orthogonal already loses next to nothing. NaN ends the loop, too.
                if !(norm < 0.5 * before) {
                    break;
                }
            }
            if norm == 0.0 {
                q.fill_orthonormal(i, |k| k < i);
            } else {
                (0..q.cols).for_each(|j| q[(i, j)] /= norm);
            }
        }
        q.t()
    }

    /// Row i becomes a unit vector orthogonal to the orthonormal rows that are `taken`.
    fn fill_orthonormal(&mut self, i: usize, taken: impl Fn(usize) -> bool) {
        for axis in 0..self.cols {
            (0..self.cols).for_each(|j| self[(i, j)] = f64::from(u8::from(j == axis)));
            for _ in 0..2 {
                self.deflate(i, &taken);
            }
            let norm = self.dot_rows(i, i).sqrt();
            // At least one axis is this far from the span of the taken rows, which are fewer than the
            // axes.
            if norm * norm > 0.5 / self.cols as f64 {
                (0..self.cols).for_each(|j| self[(i, j)] /= norm);
                return;
            }
        }
    }

    /// Removes from row i its components along the orthonormal rows that are `taken`.
    fn deflate(&mut self, i: usize, taken: impl Fn(usize) -> bool) {
        for k in (0..self.rows).filter(|&k| taken(k)) {
            let along = self.dot_rows(i, k);
            for j in 0..self.cols {
                self[(i, j)] -= along * self[(k, j)];
            }
        }
    }
}

/// Far more sweeps than Jacobi's method needs. NaN ends the iteration, too.
const SWEEPS: usize = 60;

/// Whether an off-diagonal element is below the last digit of a diagonal one.
fn negligible(off: f64, diagonal: f64) -> bool {
    off.abs() <= 0.25 * f64::EPSILON * diagonal.abs()
}

/// Cosine, sine and tangent of the smaller angle with `cot 2θ = zeta`.
fn rotation(zeta: f64) -> (f64, f64, f64) {
    let t = 1.0_f64.copysign(zeta) / (zeta.abs() + zeta.hypot(1.0));
    let c = (1.0 + t * t).sqrt().recip();
    (c, c * t, t)
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.cols + j]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.cols + j]
    }
}

impl Mul for &Matrix {
    type Output = Matrix;
    fn mul(self, other: &Matrix) -> Matrix {
        assert_eq!(self.cols, other.rows, "a product of matrices that do not fit");
        let mut out = Matrix { rows: self.rows, cols: other.cols, data: vec![0.0; self.rows * other.cols] };
        for i in 0..self.rows {
            let row = &mut out.data[i * other.cols..(i + 1) * other.cols];
            for (k, &a) in self.row(i).iter().enumerate() {
                row.iter_mut().zip(other.row(k)).for_each(|(x, b)| *x += a * b);
            }
        }
        out
    }
}

impl Add for &Matrix {
    type Output = Matrix;
    fn add(self, other: &Matrix) -> Matrix {
        Matrix::from_fn(self.rows, self.cols, |i, j| self[(i, j)] + other[(i, j)])
    }
}

impl Sub for &Matrix {
    type Output = Matrix;
    fn sub(self, other: &Matrix) -> Matrix {
        Matrix::from_fn(self.rows, self.cols, |i, j| self[(i, j)] - other[(i, j)])
    }
}

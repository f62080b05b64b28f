//! Dense matrices of `f64`, for functions of the matrix that a row holds, and their decompositions.
//!
//! Eigenvalues and singular values are found by Jacobi's method: on the small matrices that rows hold it is as
//! fast as any, and it alone keeps the small ones of a graded matrix to full relative accuracy (Demmel, Veselić
//! 1992, "Jacobi's method is more accurate than QR"), which logarithms of eigenvalues need.

use std::ops::{Add, Index, IndexMut, Mul, Sub};

use cotangent_engine::Float;

/// A `rows × cols` matrix, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) data: Vec<f64>,
}

impl Matrix {
    pub(crate) fn new(rows: usize, cols: usize, data: &[f64]) -> Self {
        debug_assert_eq!(data.len(), rows * cols);
        Matrix { rows, cols, data: data.to_vec() }
    }

    pub(crate) fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Matrix { rows, cols, data }
    }

    /// The symmetric part of a square row.
    pub(crate) fn symmetric(n: usize, data: &[f64]) -> Self {
        Matrix::new(n, n, data).sym()
    }

    pub(crate) fn identity(n: usize) -> Self {
        Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)))
    }

    /// The transpose.
    pub(crate) fn t(&self) -> Self {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// `½(A + Aᵀ)`: symmetric to the bit, and A itself where A is that.
    pub(crate) fn sym(&self) -> Self {
        Matrix::from_fn(self.rows, self.cols, |i, j| match (self[(i, j)], self[(j, i)]) {
            (a, b) if a == b => a,
            (a, b) => 0.5 * a + 0.5 * b,
        })
    }

    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Matrix { data: self.data.iter().map(|&x| f(x)).collect(), ..*self }
    }

    pub(crate) fn scale(&self, factor: f64) -> Self {
        self.map(|x| factor * x)
    }

    /// The elementwise product with `f(i, j)`.
    pub(crate) fn weigh(&self, f: impl Fn(usize, usize) -> f64) -> Self {
        Matrix::from_fn(self.rows, self.cols, |i, j| self[(i, j)] * f(i, j))
    }

    /// `Σ Aᵢⱼ Bᵢⱼ`.
    pub(crate) fn dot(&self, other: &Self) -> f64 {
        self.data.iter().zip(&other.data).map(|(a, b)| a * b).sum()
    }

    /// The Frobenius norm.
    pub(crate) fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The largest magnitude of an element; NaN if there is one.
    pub(crate) fn largest(&self) -> f64 {
        self.data.iter().fold(0.0, |m, x| if x.abs() <= m { m } else { x.abs() })
    }

    /// Each element rounded to the storage type.
    pub(crate) fn rounded<T: Float>(&self) -> Self {
        self.map(|x| T::nearest(x).to_f64())
    }

    pub(crate) fn write(&self, out: &mut [f64]) {
        out.copy_from_slice(&self.data);
    }

    /// `L⁻¹ A` for lower triangular L = `self`.
    pub(crate) fn solve_lower(&self, a: &Self) -> Self {
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
    pub(crate) fn solve_upper(&self, a: &Self) -> Self {
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
    pub(crate) fn cholesky(&self) -> Self {
        let n = self.rows;
        let mut l = Matrix::from_fn(n, n, |_, _| 0.0);
        for j in 0..n {
            for i in j..n {
                let sum: f64 = (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum();
                let rest = self[(i, j)] - sum;
                // A pivot of 0 is as indefinite as a negative one.
                l[(i, j)] = match i == j {
                    true if rest > 0.0 => rest.sqrt(),
                    true => f64::NAN,
                    false => rest / l[(j, j)],
                };
            }
        }
        l
    }

    /// Whether a symmetric matrix is positive definite, to the accuracy of `f64`: whether it has a Cholesky factor.
    pub(crate) fn is_positive_definite(&self) -> bool {
        self.cholesky().data.iter().all(|x| x.is_finite())
    }

    /// Eigenvectors (columns) and eigenvalues of a symmetric matrix, in no order: cyclic Jacobi rotations.
    pub(crate) fn eigen(&self) -> (Self, Vec<f64>) {
        let n = self.rows;
        // The rows of `v` are the eigenvectors until the end: rotations then run along memory.
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

    /// U, σ, V of the thin singular value decomposition `A = U diag(σ) Vᵀ` of a matrix with at least as many rows
    /// as columns, σ in no order: one-sided Jacobi rotations (Hestenes 1958). U has orthonormal columns, also
    /// where σ is 0.
    pub(crate) fn svd(&self) -> (Self, Vec<f64>, Self) {
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

    /// Row i becomes a unit vector orthogonal to the orthonormal rows that are `taken`.
    fn fill_orthonormal(&mut self, i: usize, taken: impl Fn(usize) -> bool) {
        for axis in 0..self.cols {
            (0..self.cols).for_each(|j| self[(i, j)] = f64::from(u8::from(j == axis)));
            for _ in 0..2 {
                self.deflate(i, &taken);
            }
            let norm = self.dot_rows(i, i).sqrt();
            // Of all axes, one at least is that far from the span of fewer rows than there are axes.
            if norm * norm > 0.5 / self.cols as f64 {
                (0..self.cols).for_each(|j| self[(i, j)] /= norm);
                return;
            }
        }
    }

    /// Takes out of row i what it has of the orthonormal rows that are `taken`.
    fn deflate(&mut self, i: usize, taken: impl Fn(usize) -> bool) {
        for k in (0..self.rows).filter(|&k| taken(k)) {
            let along = self.dot_rows(i, k);
            for j in 0..self.cols {
                self[(i, j)] -= along * self[(k, j)];
            }
        }
    }
}

/// Far more than Jacobi's method needs: NaN ends it, too.
const SWEEPS: usize = 60;

/// Whether an off-diagonal element is beyond the last digit of a diagonal one.
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

/// The width of the result where every row must hold a `rows × cols` matrix.
pub(crate) fn matrices<const V: usize>(
    [rows, cols]: [usize; 2],
    widths: [usize; V],
    result: usize,
) -> Result<usize, String> {
    if widths.iter().all(|&width| width == rows * cols) {
        return Ok(result);
    }
    Err(format!("rows of {rows} x {cols} matrices are needed, {} elements each, not {widths:?}", rows * cols))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotangent_engine::rng;
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

    /// Of a graded matrix D B D with well-conditioned B, the small eigenvalues have all their digits: the product
    /// of all is the determinant, and a congruence by a power of two is exact.
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

    #[test]
    fn deficient_matrices_have_orthonormal_factors() {
        for a in [
            Matrix::from_fn(3, 3, |_, _| 0.0),
            Matrix::from_fn(4, 3, |_, _| 1.0),
            Matrix::from_fn(3, 2, |i, j| f64::from(u8::from(i == 0 && j == 1))),
        ] {
            let (u, sigma, v) = a.svd();
            assert!((&(&u.t() * &u) - &Matrix::identity(a.cols)).largest() < 1e-14, "{u:?}");
            assert!((&(&columns(&u, &sigma) * &v.t()) - &a).largest() < 1e-14);
        }
        assert!(!Matrix::from_fn(2, 2, |_, _| 1.0).is_positive_definite());
        let nan = Matrix::from_fn(2, 2, |_, _| f64::NAN);
        assert!(!nan.is_positive_definite() && nan.eigen().1[0].is_nan() && nan.svd().1[0].is_nan());
    }
}

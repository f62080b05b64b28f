//! Matrices with orthonormal columns: what the Stiefel and Grassmann manifolds share. Sources: Absil, Mahony,
//! Sepulchre 2008, section 4.1 (retractions); Walter, Lehmann 2013 (the reverse pass of QR).

use cotangent_engine::{Float, RowFunction, Rows, ShapeError};
use cotangent_numbers::matrix::Matrix;

use crate::euclidean::formulas as euclidean;
use crate::manifold::OffManifold;
use crate::matrix::matrices;

/// How a tangent step `X + V` becomes a matrix with orthonormal columns again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retraction {
    /// The Q of its QR decomposition with a positive diagonal: cheap, of first order on the Stiefel manifold.
    #[default]
    Qr,
    /// Its polar factor `(X + V)(I + VᵀV)^-½`, the nearest matrix with orthonormal columns: of second
    /// order.
    Polar,
}

impl Retraction {
    pub(crate) fn retract<R: Rows>(self, size: [usize; 2], x: &R, v: &R) -> R {
        R::row_function(Orthonormal { size, by: self }, [&R::vector(euclidean::Add, [x, v], [])])
    }
}

/// The largest element of `XᵀX − I`.
fn deviation(x: &Matrix) -> f64 {
    (&(&x.t() * x) - &Matrix::identity(x.cols)).largest()
}

/// How much `XᵀX` of a point may differ from I: a few roundings of its elements, and those of this
/// check.
fn tolerance<T: Float>(n: usize) -> f64 {
    4.0 * T::EPSILON + 0.5 * n as f64 * f64::EPSILON
}

/// Whether a row of elements is a matrix with orthonormal columns.
#[track_caller]
pub(crate) fn contains<T: Float>(
    manifold: &'static str,
    [n, p]: [usize; 2],
    x: &[T],
) -> Result<(), OffManifold> {
    assert_eq!(x.len(), n * p, "{manifold}: the elements of {n} x {p} matrices");
    OffManifold::unless_finite(manifold, x, 1)?;
    let by = deviation(&Matrix::from_fn(n, p, |i, j| x[i * p + j].to_f64()));
    if by <= tolerance::<T>(n) {
        return Ok(());
    }
    Err(OffManifold { manifold, condition: "X^T X = I", by })
}

/// Methods shared by the manifolds of such matrices, which have fields `n` and `p`.
macro_rules! orthonormal_columns {
    () => {
        #[track_caller]
        fn ambient(&self, dim: usize) -> usize {
            assert_eq!(Some(dim), self.fixed_dimension(), "{}: the dimension of {self:?}", Self::TITLE);
            self.n * self.p
        }
        #[track_caller]
        fn dimension(&self, ambient: usize) -> usize {
            assert_eq!(ambient, self.n * self.p, "{}: the elements of {self:?}", Self::TITLE);
            self.fixed_dimension().expect("it is fixed")
        }
        /// The first unit vectors.
        fn origin<T: Float>(&self, dim: usize) -> cotangent_engine::Row<T> {
            let mut row = cotangent_engine::Row::from(vec![T::zero(); self.ambient(dim)].as_slice());
            (0..self.p).for_each(|i| row[i * (self.p + 1)] = T::nearest(1.0));
            row
        }
        fn project<R: Rows>(&self, x: &R) -> R {
            let by = $crate::matrix::orthonormal::Retraction::Polar;
            R::row_function($crate::matrix::orthonormal::Orthonormal { size: self.size(), by }, [x])
        }
        #[track_caller]
        fn contains<T: Float>(&self, x: &[T]) -> Result<(), $crate::OffManifold> {
            $crate::matrix::orthonormal::contains(Self::TITLE, self.size(), x)
        }
    };
}
pub(crate) use orthonormal_columns;

/// The reverse pass of a distance d(x, y), from its Riemannian gradients −log_x y/d and −log_y x/d.
pub(crate) fn dist_pullback(
    log: impl Fn(&[f64], &[f64]) -> Matrix,
    [x, y]: [&[f64]; 2],
    g: f64,
    [dx, dy]: [&mut [f64]; 2],
) {
    for (from, to, cotangent) in [(x, y, dx), (y, x, dy)] {
        let log = log(from, to);
        let dist = log.norm();
        log.scale(if dist == 0.0 { 0.0 } else { -g / dist }).write(cotangent);
    }
}

/// The polar factor of a matrix, rounded to storage; the matrix itself if it is a point already.
pub(crate) fn settle<T: Float>(x: &Matrix, out: &mut [f64]) {
    let mut x = x.clone();
    for _ in 0..10 {
        let rounded = x.rounded::<T>();
        rounded.write(out);
        if deviation(&rounded) <= tolerance::<T>(x.rows) {
            return;
        }
        let off = deviation(&x);
        x = if off < 0.1 {
            // Newton's iteration towards the polar factor (Schulz 1933).
            let correction = &Matrix::identity(x.cols) - &(&x.t() * &x);
            &x + &(&x * &correction).scale(0.5)
        } else {
            let (u, _, v) = x.svd();
            &u * &v.t()
        };
    }
}

/// The polar factor of a matrix.
pub(crate) fn nearest(x: &Matrix) -> Matrix {
    let mut out = x.clone();
    settle::<f64>(x, &mut out.data);
    out
}

/// The nearest matrix with orthonormal columns, or the Q of QR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Orthonormal {
    pub(crate) size: [usize; 2],
    pub(crate) by: Retraction,
}

impl RowFunction<1> for Orthonormal {
    fn name(&self) -> &'static str {
        match self.by {
            Retraction::Qr => "qr",
            Retraction::Polar => "polar factor",
        }
    }
    fn width(&self, widths: [usize; 1]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, [x]: [&[f64]; 1], out: &mut [f64]) {
        let x = Matrix::new(self.size[0], self.size[1], x);
        match self.by {
            Retraction::Qr => settle::<T>(&x.orthonormal_columns(), out),
            Retraction::Polar => settle::<T>(&x, out),
        }
    }
    fn pullback(&self, [x]: [&[f64]; 1], _out: &[f64], g: &[f64], [dx]: [&mut [f64]; 1]) {
        let [x, g] = [x, g].map(|row| Matrix::new(self.size[0], self.size[1], row));
        match self.by {
            Retraction::Qr => {
                let q = x.orthonormal_columns();
                let (r, m) = (&q.t() * &x, &g.t() * &q);
                // −QᵀG below the diagonal, mirrored: what may change of an upper triangular R.
                let mirrored = Matrix::from_fn(m.rows, m.rows, |i, j| -m[(i.max(j), i.min(j))]);
                let right = (&g + &(&q * &mirrored)).t();
                // (G + Q mirrored) R⁻ᵀ, by the lower triangular Rᵀ.
                r.t().solve_upper(&right).t().write(dx);
            }
            Retraction::Polar => {
                let (u, sigma, v) = x.svd();
                let gv = &g * &v;
                let ugv = &u.t() * &gv;
                let turned = Matrix::from_fn(sigma.len(), sigma.len(), |i, j| {
                    (ugv[(i, j)] - ugv[(j, i)]) / (sigma[i] + sigma[j])
                });
                let outside = (&gv - &(&u * &ugv)).weigh(|_, j| sigma[j].recip());
                (&(&(&u * &turned) + &outside) * &v.t()).write(dx);
            }
        }
    }
}

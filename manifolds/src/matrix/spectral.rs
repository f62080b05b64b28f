//! Functions of symmetric matrices and their derivatives (Daleckii, Krein 1965): on eigenvectors,
//! `f(S)ᵢⱼ = f(λᵢ) δᵢⱼ` and `Df(S)[V]ᵢⱼ = f[λᵢ, λⱼ] Vᵢⱼ` with the divided
//! differences `f[a, b] = (f(a) − f(b))/(a − b)`, `f[a, a] = f′(a)`.
//!
//! All are written in divided differences of exp. These do not cancel, because exp is convex with all
//! its derivatives. Those of ln at `eᵃ, eᵇ` are the inverses `1/exp[a, b]`.

use cotangent_engine::{Float, RowFunction, Scalar, ShapeError};
use cotangent_numbers::matrix::Matrix;

use crate::matrix::matrices;

/// Bound on exponents: beyond it e^a times a matrix could leave the range of `f64`.
const STEEPEST: f64 = 300.0;

/// Eigenvectors (columns) and eigenvalues of a symmetric matrix; for a positive definite matrix, the
/// logarithms of its eigenvalues.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    pub(crate) u: Matrix,
    pub(crate) logs: Vec<f64>,
}

impl Eigen {
    /// From the logarithm, a symmetric matrix; its eigenvalues are bounded by [`STEEPEST`].
    pub(crate) fn from_logarithm(s: &Matrix) -> Self {
        let (u, logs) = s.eigen();
        Eigen {
            u,
            logs: logs
                .into_iter()
                .map(|a| if a.abs() > STEEPEST { STEEPEST.copysign(a) } else { a })
                .collect(),
        }
    }

    /// From the exponential, a positive definite matrix.
    pub(crate) fn from_exponential(x: &Matrix) -> Self {
        Eigen::relative(&Matrix::identity(x.rows), &Matrix::identity(x.rows), x)
    }

    /// From the exponential `L⁻¹ Y L⁻ᵀ`, with `L Lᵀ = X`: by `Y − X` if X and Y are near, so
    /// that small logarithms have all their digits, and by the factors of X and Y if they are far apart.
    pub(crate) fn relative(l: &Matrix, x: &Matrix, y: &Matrix) -> Self {
        let difference = whiten(l, &(y - x));
        if difference.norm() < 0.5 {
            let (u, differences) = difference.eigen();
            return Eigen { u, logs: differences.into_iter().map(f64::ln_1p).collect() };
        }
        let (u, sigma, _) = l.solve_lower(&y.cholesky()).svd();
        Eigen { u, logs: sigma.into_iter().map(|s| 2.0 * s.ln()).collect() }
    }

    /// The symmetric matrix with these eigenvectors and `f` of the logarithms.
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Matrix {
        (&self.u.weigh(|_, j| f(self.logs[j])) * &self.u.t()).sym()
    }

    /// `Uᵀ V U`.
    fn enter(&self, v: &Matrix) -> Matrix {
        &(&self.u.t() * v) * &self.u
    }

    /// `U V Uᵀ`.
    fn leave(&self, v: &Matrix) -> Matrix {
        (&(&self.u * v) * &self.u.t()).sym()
    }

    /// The derivative along V of a function with these divided differences. The map is its own adjoint.
    pub(crate) fn derivative(&self, divided: impl Fn(f64, f64) -> f64, v: &Matrix) -> Matrix {
        self.leave(&self.enter(v).weigh(|i, j| divided(self.logs[i], self.logs[j])))
    }

    /// The second derivative along V and W, from second divided differences. Its product with a third
    /// matrix is symmetric in all three.
    fn second(&self, divided: impl Fn(f64, f64, f64) -> f64, v: &Matrix, w: &Matrix) -> Matrix {
        let (v, w, a) = (self.enter(v), self.enter(w), &self.logs);
        let term = |i, k, j| divided(a[i], a[k], a[j]) * (v[(i, k)] * w[(k, j)] + w[(i, k)] * v[(k, j)]);
        self.leave(&Matrix::from_fn(v.rows, v.cols, |i, j| (0..v.rows).map(|k| term(i, k, j)).sum()))
    }
}

/// `L⁻¹ V L⁻ᵀ` of a symmetric V.
pub(crate) fn whiten(l: &Matrix, v: &Matrix) -> Matrix {
    l.solve_lower(&l.solve_lower(v).t()).sym()
}

/// `L⁻ᵀ V L⁻¹` of a symmetric V.
pub(crate) fn unwhiten(l: &Matrix, v: &Matrix) -> Matrix {
    l.solve_upper(&l.solve_upper(v).t()).sym()
}

/// A symmetric matrix rounded to storage. If the rounded one is not positive definite, its eigenvalues
/// are raised to the smallest common bound that makes it so. If it would overflow, it is scaled down.
/// NaN stays NaN.
pub(crate) fn settle<T: Float>(x: &Matrix, out: &mut [f64]) {
    let largest = x.largest();
    // Its tangent vectors are at most as long as it times the logarithm of the range of T.
    let limit = T::LARGEST / 4096.0;
    let x = if largest > limit { x.scale(0.5 * limit / largest) } else { x.sym() };
    let rounded = x.rounded::<T>();
    rounded.write(out);
    if !largest.is_finite() || rounded.is_positive_definite() {
        return;
    }
    let (u, values) = x.eigen();
    let mut gap = x.rows as f64 * T::EPSILON;
    let top = values.iter().fold(4.0 / (T::LARGEST * gap), |top, value| value.abs().max(top));
    loop {
        let raised = (&u.weigh(|_, j| values[j].max(gap * top)) * &u.t()).sym().rounded::<T>();
        raised.write(out);
        if raised.is_positive_definite() {
            return;
        }
        gap *= 2.0;
    }
}

/// `exp[a, b] = e^((a+b)/2) sinh(h)/h`, h = (a − b)/2.
pub fn exp_divided(a: f64, b: f64) -> f64 {
    let h = 0.5 * (a - b);
    (0.5 * (a + b)).exp() * (-h * h).sinc()
}

/// `exp[a, b, c]`.
pub fn exp_divided_twice(a: f64, b: f64, c: f64) -> f64 {
    let mut sorted = [a, b, c];
    sorted.sort_by(f64::total_cmp);
    let [a, b, c] = sorted;
    // At this distance the difference loses one bit at most.
    if c - a > 1.0 {
        return (exp_divided(b, c) - exp_divided(a, b)) / (c - a);
    }
    // Σ hₖ(a, b, c)/(k+2)! about the middle, hₖ the sum of all monomials of degree k.
    let middle = 0.5 * (a + c);
    let (a, b, c) = (a - middle, b - middle, c - middle);
    let (mut one, mut two, mut three) = (1.0, 1.0, 1.0);
    let (mut factorial, mut sum) = (2.0, 0.5);
    for k in 1..20 {
        one *= a;
        two = one + b * two;
        three = two + c * three;
        factorial *= f64::from(k + 2);
        sum += three / factorial;
    }
    middle.exp() * sum
}

/// A function of symmetric matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    Exp,
    Log,
}

impl Function {
    /// The eigenvectors of its argument.
    fn eigen(self, s: &Matrix) -> Eigen {
        match self {
            Function::Exp => Eigen::from_logarithm(s),
            Function::Log => Eigen::from_exponential(s),
        }
    }

    pub(crate) fn value(self, eigen: &Eigen) -> Matrix {
        match self {
            Function::Exp => eigen.map(f64::exp),
            Function::Log => eigen.map(|a| a),
        }
    }

    pub(crate) fn derivative(self, eigen: &Eigen, v: &Matrix) -> Matrix {
        match self {
            Function::Exp => eigen.derivative(exp_divided, v),
            Function::Log => eigen.derivative(|a, b| exp_divided(a, b).recip(), v),
        }
    }

    fn second(self, eigen: &Eigen, v: &Matrix, w: &Matrix) -> Matrix {
        let log =
            |a, b, c| -exp_divided_twice(a, b, c) / exp_divided(a, b) / exp_divided(b, c) / exp_divided(a, c);
        match self {
            Function::Exp => eigen.second(exp_divided_twice, v, w),
            Function::Log => eigen.second(log, v, w),
        }
    }
}

/// The exponential or the logarithm of a symmetric n × n matrix: these give the points and the
/// coordinates of the log-Euclidean geometry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spectral {
    pub(crate) n: usize,
    pub(crate) function: Function,
}

impl RowFunction<1> for Spectral {
    fn name(&self) -> &'static str {
        match self.function {
            Function::Exp => "matrix exponential",
            Function::Log => "matrix logarithm",
        }
    }
    fn width(&self, widths: [usize; 1]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, [s]: [&[f64]; 1], out: &mut [f64]) {
        let value = self.function.value(&self.function.eigen(&Matrix::symmetric(self.n, s)));
        match self.function {
            Function::Exp => settle::<T>(&value, out),
            Function::Log => value.write(out),
        }
    }
    fn pullback(&self, [s]: [&[f64]; 1], _out: &[f64], g: &[f64], [ds]: [&mut [f64]; 1]) {
        let eigen = self.function.eigen(&Matrix::symmetric(self.n, s));
        self.function.derivative(&eigen, &Matrix::symmetric(self.n, g)).write(ds);
    }
}

/// The derivative of [`Spectral`] at the first matrix along the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differential {
    pub(crate) n: usize,
    pub(crate) function: Function,
}

impl RowFunction<2> for Differential {
    fn name(&self) -> &'static str {
        match self.function {
            Function::Exp => "differential of the matrix exponential",
            Function::Log => "differential of the matrix logarithm",
        }
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let [s, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        self.function.derivative(&self.function.eigen(&s), &v).write(out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [ds, dv]: [&mut [f64]; 2]) {
        let [s, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        let (eigen, g) = (self.function.eigen(&s), Matrix::symmetric(self.n, g));
        self.function.derivative(&eigen, &g).write(dv);
        self.function.second(&eigen, &v, &g).write(ds);
    }
}

//! The Grassmann manifold of the p-dimensional subspaces of ℝⁿ, with the canonical metric. Sources:
//! Edelman, Arias, Smith 1998; Bendokat, Zimmermann, Absil 2024 ("A Grassmann manifold handbook").
//!
//! With `M = XᵀY = A C Bᵀ`, whose singular values C are the cosines of the principal angles, and the
//! residual `R = (I − X Xᵀ) Y`, whose singular values are their sines,
//!
//! ```text
//! log_X Y = R B (θ/sin θ) Aᵀ,      θ/sin θ = arcsinc((1−c)/2)/√((1+c)/2)
//! ```
//!
//! which is as accurate for angles near 0, where R is small and the factor flat, as near π/2, where the
//! cosine is small and R flat. R is formed from the difference Y − X.

use cotangent_engine::{Dual, Float, Row, RowFunction, Rows, Scalar, ShapeError};
use cotangent_numbers::matrix::Matrix;

use crate::euclidean::euclidean_metric;
use crate::laws::lawful::{Lawful, family};
use crate::manifold::Manifold;
use crate::matrix::matrices;
use crate::matrix::orthonormal::{Retraction, dist_pullback, orthonormal_columns, settle};
use crate::matrix::spectral::Eigen;
use crate::module::constant;
use crate::steps::Steps;

/// The p-dimensional subspaces of ℝⁿ. A row holds an n × p matrix X with orthonormal columns, row-major,
/// which stands for the span of its columns; a tangent vector is H with `XᵀH = 0`, in the gauge of X.
///
/// Points are compared as subspaces: X and X Q are the same point for every orthogonal Q, at distance 0
/// up to rounding. [`log`](Manifold::log) has its closed form where no principal angle is π/2. Where one
/// is, it still gives a shortest geodesic, but has no gradient. The retraction is QR.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Grassmann, Manifold};
/// let lines = Grassmann::new(2, 1);
/// let (x, y) = (Row::from([1.0, 0.0]), Row::from([-0.6, 0.8]));
/// assert!((lines.dist(&x, &y) - 0.6_f64.acos()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grassmann {
    n: usize,
    p: usize,
}

impl Grassmann {
    /// Subspaces of dimension `p` of the space of dimension `n`.
    ///
    /// # Panics
    /// Unless `1 ≤ p ≤ n`.
    #[track_caller]
    pub fn new(n: usize, p: usize) -> Self {
        assert!(0 < p && p <= n, "grassmann: no subspaces of {p} dimensions in {n}");
        Grassmann { n, p }
    }

    /// Rows and columns of the matrices.
    pub fn size(&self) -> [usize; 2] {
        [self.n, self.p]
    }
}

/// `(I − X Xᵀ) V`, subtracted twice, so that the rounding left along X is relative to the result, not to
/// V.
fn horizontal(x: &Matrix, v: &Matrix) -> Matrix {
    let once = v - &(x * &(&x.t() * v));
    &once - &(x * &(&x.t() * &once))
}

/// `θ/sin θ` as a function of `c = cos θ`: analytic for c > −1.
fn arc_over_sine<S: Scalar>(c: S) -> S {
    let half = S::constant(0.5);
    (half * (S::one() - c)).arcsinc() / (half * (S::one() + c)).sqrt()
}

/// Two subspaces and their relation.
struct Pair {
    x: Matrix,
    y: Matrix,
    /// `XᵀY = A diag(cosines) Bᵀ`.
    a: Matrix,
    cosines: Vec<f64>,
    b: Matrix,
    /// `(I − X Xᵀ) Y`.
    residual: Matrix,
}

impl Pair {
    fn new([n, p]: [usize; 2], x: &[f64], y: &[f64]) -> Self {
        let [x, y] = [x, y].map(|row| Matrix::new(n, p, row));
        let residual = horizontal(&x, &(&y - &x));
        let (a, cosines, b) = (&x.t() * &y).svd();
        Pair { x, y, a, cosines, b, residual }
    }

    /// `A f(cos) Bᵀ`.
    fn function(&self, f: impl Fn(f64) -> f64) -> Matrix {
        &self.a.weigh(|_, j| f(self.cosines[j])) * &self.b.t()
    }

    /// The cotangent of M = XᵀY, given that of [`function`](Self::function): divided differences
    /// multiply the symmetric part of `AᵀGB`, divided sums the antisymmetric part.
    fn function_cotangent(
        &self,
        f: impl Fn(f64) -> f64,
        difference: impl Fn(f64, f64) -> f64,
        g: &Matrix,
    ) -> Matrix {
        let inner = &(&self.a.t() * g) * &self.b;
        let c = &self.cosines;
        let within = Matrix::from_fn(c.len(), c.len(), |i, j| {
            let (plus, minus) = (inner[(i, j)] + inner[(j, i)], inner[(i, j)] - inner[(j, i)]);
            let turned = if minus == 0.0 { 0.0 } else { minus * (f(c[i]) + f(c[j])) / (c[i] + c[j]) };
            0.5 * (plus * difference(c[i], c[j]) + turned)
        });
        &(&self.a * &within) * &self.b.t()
    }

    fn log(&self) -> Matrix {
        &self.residual * &self.function(arc_over_sine).t()
    }

    /// Cotangents of X and Y, given those of the residual and of M. The residual is `Y − X M`.
    fn finish(&self, of_residual: &Matrix, of_m: &Matrix, dx: &mut [f64], dy: &mut [f64]) {
        let of_m = of_m - &(&self.x.t() * of_residual);
        let m = self.function(|c| c);
        (&(&self.y * &of_m.t()) - &(of_residual * &m.t())).write(dx);
        (of_residual + &(&self.x * &of_m)).write(dy);
    }
}

/// The logarithm.
#[derive(Clone, Copy, Debug)]
struct Log {
    size: [usize; 2],
}

impl RowFunction<2> for Log {
    fn name(&self) -> &'static str {
        "grassmann.log"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        Pair::new(self.size, x, y).log().write(out);
    }
    fn pullback(&self, [x, y]: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dy]: [&mut [f64]; 2]) {
        let pair = Pair::new(self.size, x, y);
        let g = Matrix::new(self.size[0], self.size[1], g);
        let of_residual = &g * &pair.function(arc_over_sine);
        let cotangent = &g.t() * &pair.residual;
        let of_m = pair.function_cotangent(
            arc_over_sine,
            |a, b| divided(a, b, arc_over_sine, arc_over_sine),
            &cotangent,
        );
        pair.finish(&of_residual, &of_m, dx, dy);
    }
}

/// `(f(a) − f(b))/(a − b)`: by the definition, or for nearby a and b as the mean of the derivative
/// between them (Gauss's quadrature, exact for polynomials of degree 9).
fn divided(a: f64, b: f64, f: impl Fn(f64) -> f64, dual: impl Fn(Dual<f64, 1>) -> Dual<f64, 1>) -> f64 {
    const NODES: [(f64, f64); 5] = [
        (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    if (a - b).abs() > 0.05 * (1.0 + a.abs().min(b.abs())) {
        return (f(a) - f(b)) / (a - b);
    }
    let (middle, half) = (0.5 * (a + b), 0.5 * (a - b));
    let slope = |t: f64| dual(Dual::variables([middle + t * half])[0]).partials[0];
    NODES.iter().map(|&(t, weight)| 0.5 * weight * slope(t)).sum()
}

/// The geodesic distance `√Σθ²`, θ the principal angles.
#[derive(Clone, Copy, Debug)]
struct Dist {
    size: [usize; 2],
}

impl RowFunction<2> for Dist {
    fn name(&self) -> &'static str {
        "grassmann.dist"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, 1)
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        out[0] = Pair::new(self.size, x, y).log().norm();
    }
    // By the Riemannian gradients: no other part of a cotangent moves a subspace.
    fn pullback(&self, points: [&[f64]; 2], _out: &[f64], g: &[f64], cotangents: [&mut [f64]; 2]) {
        dist_pullback(|x, y| Pair::new(self.size, x, y).log(), points, g[0], cotangents);
    }
}

/// The exponential map `X cos √K + H (sin √K)/√K`, `K = HᵀH`. Edelman et al. 1998, eq. 2.65.
#[derive(Clone, Copy, Debug)]
struct Exp {
    size: [usize; 2],
}

impl Exp {
    fn read(&self, rows: [&[f64]; 2]) -> ([Matrix; 2], Eigen) {
        let [x, h] = rows.map(|row| Matrix::new(self.size[0], self.size[1], row));
        let (u, squares) = (&h.t() * &h).sym().eigen();
        ([x, h], Eigen { u, logs: squares.into_iter().map(|s| s.max(0.0)).collect() })
    }
}

impl RowFunction<2> for Exp {
    fn name(&self) -> &'static str {
        "grassmann.exp"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let ([x, h], k) = self.read(rows);
        settle::<T>(&(&(&x * &k.map(f64::cosc)) + &(&h * &k.map(f64::sinc))), out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dh]: [&mut [f64]; 2]) {
        let ([x, h], k) = self.read(rows);
        let g = Matrix::new(self.size[0], self.size[1], g);
        let cosc = |a, b| divided(a, b, f64::cosc, Dual::cosc);
        let sinc = |a, b| divided(a, b, f64::sinc, Dual::sinc);
        let of_k = &k.derivative(cosc, &(&x.t() * &g).sym()) + &k.derivative(sinc, &(&h.t() * &g).sym());
        (&g * &k.map(f64::cosc)).write(dx);
        (&(&g * &k.map(f64::sinc)) + &(&h * &of_k).scale(2.0)).write(dh);
    }
}

/// Parallel transport along the geodesic from X to Y: Edelman et al. 1998, eq. 2.68, which is
/// `(V − (X Q + Y)(I + P)⁻¹ Yᵀ V) Q` with the polar decomposition `XᵀY = Q P`. For p = 1 it is the
/// transport of the sphere.
#[derive(Clone, Copy, Debug)]
struct Transport {
    size: [usize; 2],
}

impl RowFunction<3> for Transport {
    fn name(&self) -> &'static str {
        "grassmann.transport"
    }
    fn width(&self, widths: [usize; 3]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, [x, y, v]: [&[f64]; 3], out: &mut [f64]) {
        let pair = Pair::new(self.size, x, y);
        let v = Matrix::new(self.size[0], self.size[1], v);
        let q = pair.function(|_| 1.0);
        let sum = &(&pair.x * &q) + &pair.y;
        (&(&v - &(&sum * &(&pair.shrink() * &(&pair.y.t() * &v)))) * &q).write(out);
    }
    fn pullback(&self, [x, y, v]: [&[f64]; 3], _out: &[f64], g: &[f64], [dx, dy, dv]: [&mut [f64]; 3]) {
        let pair = Pair::new(self.size, x, y);
        let [v, g] = [v, g].map(|row| Matrix::new(self.size[0], self.size[1], row));
        let Pair { x, y, .. } = &pair;
        let (q, m, shrink) = (pair.function(|_| 1.0), pair.function(|c| c), pair.shrink());
        let sum = &(x * &q) + y;
        let along = &shrink * &(&y.t() * &v);
        // out = O Q, O = V − S T, S = X Q + Y, T = (I + P)⁻¹ YᵀV, P = QᵀM: the cotangent of each in
        // turn.
        let of_o = &g * &q.t();
        let of_sum = (&of_o * &along.t()).scale(-1.0);
        let of_product = (&shrink * &(&sum.t() * &of_o)).scale(-1.0);
        let of_p = (&of_product * &along.t()).scale(-1.0);
        let of_q = &(&(&(&v - &(&sum * &along)).t() * &g) + &(&x.t() * &of_sum)) + &(&m * &of_p.t());
        let of_m = &(&q * &of_p) + &pair.function_cotangent(|_| 1.0, |_, _| 0.0, &of_q);
        (&of_o + &(y * &of_product)).write(dv);
        (&(&of_sum * &q.t()) + &(y * &of_m.t())).write(dx);
        (&(&of_sum + &(&v * &of_product.t())) + &(x * &of_m)).write(dy);
    }
}

impl Pair {
    /// `(I + P)⁻¹`.
    fn shrink(&self) -> Matrix {
        (&self.b.weigh(|_, j| (1.0 + self.cosines[j]).recip()) * &self.b.t()).sym()
    }
}

/// The horizontal part `(I − X Xᵀ) V`.
#[derive(Clone, Copy, Debug)]
struct Horizontal {
    size: [usize; 2],
}

impl RowFunction<2> for Horizontal {
    fn name(&self) -> &'static str {
        "grassmann.project_tangent"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let [x, v] = rows.map(|row| Matrix::new(self.size[0], self.size[1], row));
        horizontal(&x, &v).write(out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let [x, v] = rows.map(|row| Matrix::new(self.size[0], self.size[1], row));
        let g = Matrix::new(self.size[0], self.size[1], g);
        let xg = &x.t() * &g;
        (&g - &(&x * &xg)).write(dv);
        (&(&g * &(&v.t() * &x)) + &(&v * &xg.t())).scale(-1.0).write(dx);
    }
}

impl Manifold for Grassmann {
    const NAME: &'static str = "grassmann";
    const TITLE: &'static str = "the Grassmann manifold";

    euclidean_metric!();
    orthonormal_columns!();

    fn fixed_dimension(&self) -> Option<usize> {
        Some(self.p * (self.n - self.p))
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        R::scalar_function(Dist { size: self.size() }, [x, y])
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        R::row_function(Exp { size: self.size() }, [x, v])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        R::row_function(Log { size: self.size() }, [x, y])
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        R::row_function(Transport { size: self.size() }, [x, y, v])
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        R::row_function(Horizontal { size: self.size() }, [x, v])
    }
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        Retraction::Qr.retract(self.size(), x, v)
    }
}

impl Steps for Grassmann {}

impl Lawful for Grassmann {
    const SYMMETRIC: bool = false;

    /// 0 and 2 in general; a projective space of lines or hyperplanes has 1.
    fn curvature_bounds(&self) -> [f64; 2] {
        let [n, p] = self.size();
        if p.min(n - p) > 1 { [0.0, 2.0] } else { [1.0, 1.0] }
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x.len() as f64
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

family!(
    Grassmann: [(3, 1), (4, 2), (6, 2)].map(|(n, p)| Grassmann::new(n, p)),
    [(Grassmann::new(4, 2), 4, 0.7)]
);

constant!(Grassmann);

//! Symmetric positive definite matrices, with the affine-invariant metric or the log-Euclidean one.
//! Sources: Pennec, Fillard, Ayache 2006 (affine-invariant); Arsigny, Fillard, Pennec, Ayache 2007
//! (log-Euclidean); Bhatia 2007, *Positive Definite Matrices*.
//!
//! Both geometries are spectral functions. The affine-invariant one at X is the one at the identity
//! after the congruence by a factor, `L⁻¹ · L⁻ᵀ` with `L Lᵀ = X`. Every such factor gives the same;
//! Cholesky's keeps the small eigenvalues of a graded matrix. The log-Euclidean one is flat: `X ↦ log X`
//! is an isometry onto the symmetric matrices.

use cotangent_engine::{Float, Row, RowFunction, Rows, ShapeError};
use cotangent_numbers::matrix::Matrix;

use crate::euclidean::formulas as euclidean;
use crate::laws::lawful::{Lawful, family, length, wide};
use crate::manifold::{Manifold, OffManifold};
use crate::matrix::matrices;
use crate::matrix::spectral::{Differential, Eigen, Function, Spectral, settle, unwhiten, whiten};
use crate::module::constant;
use crate::steps::Steps;

/// The symmetric positive definite n × n matrices, one in each row, row-major; tangent vectors are symmetric
/// matrices. Operations read the symmetric part of their rows.
///
/// A row is a point if it is exactly symmetric and `f64` finds a Cholesky factor of it. With ε that of
/// the storage type, the eigenvalues of a stored matrix span a factor of 1/ε at most, unless it is
/// graded. If those of a result span more, the small ones are raised as far as storage needs.
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Spd};
/// let (x, y) = (Row::from([1.0, 0.0, 0.0, 4.0]), Row::from([2.0, 0.0, 0.0, 4.0]));
/// for spd in [Spd::affine_invariant(2), Spd::log_euclidean(2)] {
///     assert!((spd.dist(&x, &y) - 2.0_f64.ln()).abs() < 1e-15);
///     assert!(spd.dist(&spd.exp(&x, &spd.log(&x, &y)), &y) < 1e-15);
/// }
/// assert!(Spd::affine_invariant(2).contains(&[1.0, 2.0, 2.0, 1.0]).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spd {
    n: usize,
    flat: bool,
}

impl Spd {
    /// With the metric `⟨U, V⟩_X = tr(X⁻¹ U X⁻¹ V)`: complete, of nonpositive curvature, and
    /// invariant under `X ↦ A X Aᵀ` for every invertible A, and under inversion.
    ///
    /// # Panics
    /// If `n` is 0.
    #[track_caller]
    pub fn affine_invariant(n: usize) -> Self {
        assert!(n > 0, "spd: a matrix needs at least one row");
        Spd { n, flat: false }
    }

    /// With the metric `⟨U, V⟩_X = tr(D log(X)[U] D log(X)[V])`: flat, invariant under rotations, scaling
    /// and inversion. Distances have the absolute accuracy of the logarithms.
    ///
    /// # Panics
    /// If `n` is 0.
    #[track_caller]
    pub fn log_euclidean(n: usize) -> Self {
        Spd { flat: true, ..Spd::affine_invariant(n) }
    }

    /// Rows and columns of the matrices.
    pub fn size(&self) -> usize {
        self.n
    }

    /// Whether the metric is the log-Euclidean one.
    pub fn is_flat(&self) -> bool {
        self.flat
    }

    /// Symmetric coordinates of points, `log X`, in which the log-Euclidean geometry is Euclidean.
    fn chart<R: Rows>(&self, x: &R) -> R {
        R::row_function(Spectral { n: self.n, function: Function::Log }, [x])
    }

    fn in_chart<R: Rows>(&self, x: &R, v: &R) -> R {
        R::row_function(Differential { n: self.n, function: Function::Log }, [x, v])
    }

    fn out_of_chart<R: Rows>(&self, s: &R, v: &R) -> R {
        R::row_function(Differential { n: self.n, function: Function::Exp }, [s, v])
    }

    fn symmetrise<R: Rows>(&self, v: &R) -> R {
        R::row_function(Operation { n: self.n, kind: Kind::Symmetrise }, [v])
    }
}

/// The two points and their relation: `L Lᵀ = X`, and the eigenvectors of `L⁻¹ Y L⁻ᵀ`.
struct Pair {
    l: Matrix,
    relation: Eigen,
}

impl Pair {
    fn new(n: usize, x: &[f64], y: &[f64]) -> Self {
        let [x, y] = [x, y].map(|row| Matrix::symmetric(n, row));
        let l = x.cholesky();
        Pair { relation: Eigen::relative(&l, &x, &y), l }
    }
}

/// `A B Aᵀ` of a symmetric B.
fn congruence(a: &Matrix, b: &Matrix) -> Matrix {
    (&(a * b) * &a.t()).sym()
}

/// `L f(L⁻¹ A L⁻ᵀ) Lᵀ` with `L Lᵀ = X`: the exponential map at X of A, or the logarithm at X of A.
/// Pennec et al. 2006, eq. 5 and 6.
#[derive(Clone, Copy, Debug)]
struct Congruent {
    n: usize,
    function: Function,
}

impl Congruent {
    fn pair(&self, x: &[f64], a: &[f64]) -> Pair {
        match self.function {
            Function::Log => Pair::new(self.n, x, a),
            Function::Exp => {
                let l = Matrix::symmetric(self.n, x).cholesky();
                let relation = Eigen::from_logarithm(&whiten(&l, &Matrix::symmetric(self.n, a)));
                Pair { l, relation }
            }
        }
    }
}

impl RowFunction<2> for Congruent {
    fn name(&self) -> &'static str {
        match self.function {
            Function::Exp => "spd.exp",
            Function::Log => "spd.log",
        }
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, [x, a]: [&[f64]; 2], out: &mut [f64]) {
        let Pair { l, relation } = self.pair(x, a);
        let value = congruence(&l, &self.function.value(&relation));
        match self.function {
            Function::Exp => settle::<T>(&value, out),
            Function::Log => value.write(out),
        }
    }
    fn pullback(&self, [x, a]: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, da]: [&mut [f64]; 2]) {
        let Pair { l, relation } = self.pair(x, a);
        // As functions of W = L⁻¹ A L⁻ᵀ and of L; the cotangent of L is 2 X̄ L.
        let g = congruence(&l.t(), &Matrix::symmetric(self.n, g));
        let of_w = self.function.derivative(&relation, &g);
        let w = match self.function {
            Function::Exp => relation.map(|a| a),
            Function::Log => relation.map(f64::exp),
        };
        unwhiten(&l, &of_w).write(da);
        let of_l = &(&g * &self.function.value(&relation)) - &(&of_w * &w);
        unwhiten(&l, &of_l.sym()).write(dx);
    }
}

/// The affine-invariant distance `‖log(L⁻¹ Y L⁻ᵀ)‖`.
#[derive(Clone, Copy, Debug)]
struct Dist {
    n: usize,
}

impl RowFunction<2> for Dist {
    fn name(&self) -> &'static str {
        "spd.dist"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, 1)
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        out[0] = norm(&Pair::new(self.n, x, y).relation.logs);
    }
    fn pullback(&self, [x, y]: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dy]: [&mut [f64]; 2]) {
        let Pair { l, relation } = Pair::new(self.n, x, y);
        let dist = norm(&relation.logs);
        let rate = if dist == 0.0 { 0.0 } else { g[0] / dist };
        unwhiten(&l, &relation.map(|a| -rate * a)).write(dx);
        unwhiten(&l, &relation.map(|a| rate * a * (-a).exp())).write(dy);
    }
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|a| a * a).sum::<f64>().sqrt()
}

/// Parallel transport `E V Eᵀ` along the affine-invariant geodesic from X to Y,
/// `E = (Y X⁻¹)^½ = L W^½ L⁻¹`. Sra, Hosseini 2015, eq. 3.4.
#[derive(Clone, Copy, Debug)]
struct Transport {
    n: usize,
}

impl RowFunction<3> for Transport {
    fn name(&self) -> &'static str {
        "spd.transport"
    }
    fn width(&self, widths: [usize; 3]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, [x, y, v]: [&[f64]; 3], out: &mut [f64]) {
        let Pair { l, relation } = Pair::new(self.n, x, y);
        let v = whiten(&l, &Matrix::symmetric(self.n, v));
        congruence(&(&l * &relation.map(|a| (0.5 * a).exp())), &v).write(out);
    }
    fn pullback(&self, [x, y, v]: [&[f64]; 3], _out: &[f64], g: &[f64], [dx, dy, dv]: [&mut [f64]; 3]) {
        let Pair { l, relation } = Pair::new(self.n, x, y);
        let [g, v] =
            [congruence(&l.t(), &Matrix::symmetric(self.n, g)), whiten(&l, &Matrix::symmetric(self.n, v))];
        let root = relation.map(|a| (0.5 * a).exp());
        let of_v = congruence(&root, &g);
        let of_root = (&(&g * &root) * &v).sym().scale(2.0);
        // √[x, y] = 1/(√x + √y).
        let of_w = relation.derivative(|a, b| ((0.5 * a).exp() + (0.5 * b).exp()).recip(), &of_root);
        unwhiten(&l, &of_v).write(dv);
        unwhiten(&l, &of_w).write(dy);
        let of_l = &(&g * &congruence(&root, &v)) - &(&(&of_v * &v) + &(&of_w * &relation.map(f64::exp)));
        unwhiten(&l, &of_l.sym()).write(dx);
    }
}

/// The affine-invariant inner product `tr(X⁻¹ U X⁻¹ V)`.
#[derive(Clone, Copy, Debug)]
struct Inner {
    n: usize,
}

impl RowFunction<3> for Inner {
    fn name(&self) -> &'static str {
        "spd.inner"
    }
    fn width(&self, widths: [usize; 3]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, 1)
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 3], out: &mut [f64]) {
        let [x, u, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        let l = x.cholesky();
        out[0] = whiten(&l, &u).dot(&whiten(&l, &v));
    }
    fn pullback(&self, rows: [&[f64]; 3], _out: &[f64], g: &[f64], [dx, du, dv]: [&mut [f64]; 3]) {
        let [x, u, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        let l = x.cholesky();
        let [u, v] = [&u, &v].map(|w| whiten(&l, w));
        unwhiten(&l, &v.scale(g[0])).write(du);
        unwhiten(&l, &u.scale(g[0])).write(dv);
        unwhiten(&l, &(&u * &v).sym().scale(-2.0 * g[0])).write(dx);
    }
}

/// The affine-invariant norm `‖L⁻¹ V L⁻ᵀ‖`.
#[derive(Clone, Copy, Debug)]
struct Norm {
    n: usize,
}

impl RowFunction<2> for Norm {
    fn name(&self) -> &'static str {
        "spd.norm"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, 1)
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let [x, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        out[0] = whiten(&x.cholesky(), &v).norm();
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let [x, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        let l = x.cholesky();
        let v = whiten(&l, &v);
        let norm = v.norm();
        let rate = if norm == 0.0 { 0.0 } else { g[0] / norm };
        unwhiten(&l, &v.scale(rate)).write(dv);
        unwhiten(&l, &(&v * &v).scale(-rate)).write(dx);
    }
}

/// The affine-invariant gradient `X sym(G) X`.
#[derive(Clone, Copy, Debug)]
struct Gradient {
    n: usize,
}

impl RowFunction<2> for Gradient {
    fn name(&self) -> &'static str {
        "spd.egrad_to_rgrad"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let [x, g] = rows.map(|row| Matrix::symmetric(self.n, row));
        congruence(&x, &g).write(out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let [x, v] = rows.map(|row| Matrix::symmetric(self.n, row));
        let g = Matrix::symmetric(self.n, g);
        congruence(&x, &g).write(dv);
        (&(&g * &x) * &v).sym().scale(2.0).write(dx);
    }
}

/// Ways to make any matrix symmetric or positive definite.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Symmetrise,
    Settle,
}

#[derive(Clone, Copy, Debug)]
struct Operation {
    n: usize,
    kind: Kind,
}

impl RowFunction<1> for Operation {
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Symmetrise => "spd.project_tangent",
            Kind::Settle => "spd.project",
        }
    }
    fn width(&self, widths: [usize; 1]) -> Result<usize, ShapeError> {
        matrices([self.n, self.n], widths, widths[0])
    }
    fn eval<T: Float>(&self, [x]: [&[f64]; 1], out: &mut [f64]) {
        let x = Matrix::symmetric(self.n, x);
        match self.kind {
            Kind::Symmetrise => x.write(out),
            Kind::Settle => settle::<T>(&x, out),
        }
    }
    fn pullback(&self, [x]: [&[f64]; 1], _out: &[f64], g: &[f64], [dx]: [&mut [f64]; 1]) {
        let [x, g] = [x, g].map(|row| Matrix::symmetric(self.n, row));
        if self.kind == Kind::Symmetrise || x.is_positive_definite() {
            return g.write(dx);
        }
        // The positive part of a symmetric matrix, except for the value to which its other eigenvalues
        // are raised.
        let (u, logs) = x.eigen();
        let divided = |a: f64, b: f64| match (a > 0.0, b > 0.0) {
            (true, true) => 1.0,
            (false, false) => 0.0,
            _ => a.max(b) / (a - b).abs(),
        };
        Eigen { u, logs }.derivative(divided, &g).write(dx);
    }
}

impl Manifold for Spd {
    const NAME: &'static str = "spd";
    const TITLE: &'static str = "the positive definite matrices";

    fn fixed_dimension(&self) -> Option<usize> {
        Some(self.n * (self.n + 1) / 2)
    }
    #[track_caller]
    fn ambient(&self, dim: usize) -> usize {
        assert_eq!(Some(dim), self.fixed_dimension(), "spd: the dimension of {} x {0} matrices", self.n);
        self.n * self.n
    }
    #[track_caller]
    fn dimension(&self, ambient: usize) -> usize {
        assert_eq!(ambient, self.n * self.n, "spd: the elements of {} x {0} matrices", self.n);
        self.n * (self.n + 1) / 2
    }
    fn origin<T: Float>(&self, dim: usize) -> Row<T> {
        let mut row = Row::from(vec![T::zero(); self.ambient(dim)].as_slice());
        (0..self.n).for_each(|i| row[i * (self.n + 1)] = T::nearest(1.0));
        row
    }
    fn dist<R: Rows>(&self, x: &R, y: &R) -> R::Scalar {
        match self.flat {
            true => R::scalar(euclidean::Dist, [&self.chart(x), &self.chart(y)], []),
            false => R::scalar_function(Dist { n: self.n }, [x, y]),
        }
    }
    fn inner<R: Rows>(&self, x: &R, u: &R, v: &R) -> R::Scalar {
        match self.flat {
            true => R::scalar(euclidean::Inner, [&self.in_chart(x, u), &self.in_chart(x, v)], []),
            false => R::scalar_function(Inner { n: self.n }, [x, u, v]),
        }
    }
    fn norm<R: Rows>(&self, x: &R, v: &R) -> R::Scalar {
        match self.flat {
            true => R::scalar(euclidean::Norm, [&self.in_chart(x, v)], []),
            false => R::scalar_function(Norm { n: self.n }, [x, v]),
        }
    }
    fn exp<R: Rows>(&self, x: &R, v: &R) -> R {
        if !self.flat {
            return R::row_function(Congruent { n: self.n, function: Function::Exp }, [x, v]);
        }
        let s = R::vector(euclidean::Add, [&self.chart(x), &self.in_chart(x, v)], []);
        R::row_function(Spectral { n: self.n, function: Function::Exp }, [&s])
    }
    fn log<R: Rows>(&self, x: &R, y: &R) -> R {
        if !self.flat {
            return R::row_function(Congruent { n: self.n, function: Function::Log }, [x, y]);
        }
        let s = self.chart(x);
        self.out_of_chart(&s, &R::vector(euclidean::Sub, [&s, &self.chart(y)], []))
    }
    fn transport<R: Rows>(&self, x: &R, y: &R, v: &R) -> R {
        match self.flat {
            true => self.out_of_chart(&self.chart(y), &self.in_chart(x, v)),
            false => R::row_function(Transport { n: self.n }, [x, y, v]),
        }
    }
    fn egrad_to_rgrad<R: Rows>(&self, x: &R, g: &R) -> R {
        if !self.flat {
            return R::row_function(Gradient { n: self.n }, [x, g]);
        }
        let s = self.chart(x);
        self.out_of_chart(&s, &self.out_of_chart(&s, g))
    }
    fn project_tangent<R: Rows>(&self, _x: &R, v: &R) -> R {
        self.symmetrise(v)
    }
    fn project<R: Rows>(&self, x: &R) -> R {
        R::row_function(Operation { n: self.n, kind: Kind::Settle }, [x])
    }
    #[track_caller]
    fn contains<T: Float>(&self, x: &[T]) -> Result<(), OffManifold> {
        let n = self.n;
        assert_eq!(x.len(), n * n, "spd: the elements of {n} x {n} matrices");
        OffManifold::unless_finite(Self::TITLE, x, 1)?;
        let x = Matrix::from_fn(n, n, |i, j| x[i * n + j].to_f64());
        let off = |condition, by| Err(OffManifold { manifold: Self::TITLE, condition, by });
        let asymmetry = (&x - &x.t()).largest();
        // Written as not equal to 0, so that it also holds for NaN and for infinity minus infinity.
        if !(asymmetry == 0.0) {
            return off("x = x^T", asymmetry);
        }
        if !x.is_positive_definite() {
            let (_, values) = x.eigen();
            return off("smallest eigenvalue > 0", -values.into_iter().fold(f64::INFINITY, f64::min));
        }
        Ok(())
    }
}

impl Steps for Spd {}

/// Rounding a matrix moves it by its condition number.
impl Lawful for Spd {
    const SYMMETRIC: bool = false;

    /// −½ to 0 for the affine-invariant metric.
    fn curvature_bounds(&self) -> [f64; 2] {
        [if self.is_flat() { 0.0 } else { -0.5 }, 0.0]
    }
    /// The radius at which condition numbers are the square root of what storage allows.
    fn radius<T: Float>(&self) -> f64 {
        0.25 * (0.1 / T::EPSILON).ln()
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        let x = wide(x);
        let identity = self.origin::<f64>(self.dimension(x.len()));
        // The condition number, ‖x‖‖x⁻¹‖. The result also has a factor for the size of logarithms.
        let condition = length(&x) * self.norm(&x, &identity);
        self.size() as f64 * condition * (1.0 + self.dist(&identity, &x))
    }
    fn distortion<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

family!(
    Spd: [Spd::affine_invariant, Spd::log_euclidean].into_iter().flat_map(|spd| [1, 2, 3, 5].map(spd)),
    [(Spd::affine_invariant(2), 3, 2.0), (Spd::log_euclidean(2), 3, 2.0)]
);

constant!(Spd);

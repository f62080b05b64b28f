//! The Stiefel manifold of orthonormal p-frames in ℝⁿ, with the metric of the space of matrices.
//! Sources: Edelman, Arias, Smith 1998; Absil, Mahony, Sepulchre 2008; Zimmermann, Hüper 2022
//! (logarithms by shooting).

use cotangent_engine::{Float, Row, RowFunction, Rows, ShapeError};
use cotangent_numbers::matrix::Matrix;

use crate::euclidean::euclidean_metric;
use crate::laws::lawful::{Lawful, family};
use crate::manifold::Manifold;
use crate::matrix::matrices;
use crate::matrix::orthonormal::{Retraction, dist_pullback, nearest, orthonormal_columns, settle};
use crate::module::constant;
use crate::steps::Steps;

/// The n × p matrices X with orthonormal columns, one in each row, row-major; tangent vectors V have
/// `XᵀV + VᵀX = 0`. The metric is the Euclidean one, `tr UᵀV`: p = 1 is the unit sphere, p = n the
/// orthogonal group.
///
/// - [`exp`](Manifold::exp) follows the geodesics of this metric, in closed form.
/// - [`dist`](Manifold::dist) and [`log`](Manifold::log) have no closed form. They are found by
///   shooting, to an absolute accuracy of a few roundings. This takes at most 40 iterations up to a
///   distance of 2, and some hundreds near π, the injectivity radius (Zimmermann, Stoye 2024), below
///   which a geodesic is a shortest one. Where shooting does not converge, they and their gradients are
///   NaN: beyond that distance, or in different components of the orthogonal group.
/// - [`transport`](Manifold::transport) is the projection onto the other tangent space, unscaled: a
///   vector transport, which shortens vectors. Parallel transport in this metric has no closed form.
/// - [`retract`](Manifold::retract) is the chosen [`Retraction`].
///
/// ```
/// use cotangent_engine::Row;
/// use cotangent_manifolds::{Manifold, Retraction, Stiefel};
/// let frames = Stiefel::new(3, 2).with_retraction(Retraction::Polar);
/// let x = frames.project(&Row::from([1.0, 0.1, 0.0, 1.0, 0.0, 0.0]));
/// assert!(frames.contains(&x[..]).is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stiefel {
    n: usize,
    p: usize,
    retraction: Retraction,
}

impl Stiefel {
    /// Frames of `p` vectors in the space of dimension `n`; the retraction is QR.
    ///
    /// # Panics
    /// Unless `1 ≤ p ≤ n`.
    #[track_caller]
    pub fn new(n: usize, p: usize) -> Self {
        assert!(0 < p && p <= n, "stiefel: no frames of {p} vectors in {n} dimensions");
        Stiefel { n, p, retraction: Retraction::default() }
    }

    /// The same manifold with this retraction.
    pub fn with_retraction(self, retraction: Retraction) -> Self {
        Stiefel { retraction, ..self }
    }

    /// Rows and columns of the matrices.
    pub fn size(&self) -> [usize; 2] {
        [self.n, self.p]
    }
}

/// `V − X sym(XᵀV)`.
fn tangent(x: &Matrix, v: &Matrix) -> Matrix {
    v - &(x * &(&x.t() * v).sym())
}

/// The tangent part `V − X sym(XᵀV)`, which also gives the gradient. Edelman et al. 1998, eq. 2.4.
#[derive(Clone, Copy, Debug)]
struct Tangent {
    size: [usize; 2],
}

impl RowFunction<2> for Tangent {
    fn name(&self) -> &'static str {
        "stiefel.project_tangent"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        let [x, v] = rows.map(|row| Matrix::new(self.size[0], self.size[1], row));
        tangent(&x, &v).write(out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let [x, v] = rows.map(|row| Matrix::new(self.size[0], self.size[1], row));
        let g = Matrix::new(self.size[0], self.size[1], g);
        tangent(&x, &g).write(dv);
        let of_x = &(&g * &(&x.t() * &v).sym()) + &(&v * &(&x.t() * &g).sym());
        of_x.scale(-1.0).write(dx);
    }
}

/// A tangent vector beyond this norm is shortened to it: its geodesic has by then gone round thousands
/// of times.
const LONGEST: f64 = 1e4;

/// The geodesic at time 1, `(X, V/ν) exp [[A, −S/ν], [ν I, A]] (I, 0)ᵀ exp(−A)` with `A = XᵀV`,
/// `S = VᵀV`: Edelman et al. 1998, eq. 2.7, with its blocks balanced by ν = ‖V‖.
#[derive(Clone, Copy, Debug)]
struct Exp {
    size: [usize; 2],
}

/// The parts of the geodesic.
struct Geodesic {
    x: Matrix,
    /// V/ν.
    direction: Matrix,
    nu: f64,
    /// The factor by which the tangent vector was shortened.
    factor: f64,
    /// A.
    turn: Matrix,
    /// The matrix that is exponentiated.
    block: Matrix,
}

impl Geodesic {
    fn new([n, p]: [usize; 2], rows: [&[f64]; 2]) -> Self {
        let [x, v] = rows.map(|row| Matrix::new(n, p, row));
        let norm = v.norm();
        let factor = if norm > LONGEST { LONGEST / norm } else { 1.0 };
        let nu = if norm > 0.0 { factor * norm } else { 1.0 };
        let direction = v.scale(factor / nu);
        let turn = (&x.t() * &direction).scale(nu);
        let square = (&direction.t() * &direction).scale(nu);
        let block = Matrix::from_fn(2 * p, 2 * p, |i, j| match (i < p, j < p) {
            (true, false) => -square[(i, j - p)],
            (false, true) => nu * f64::from(u8::from(i - p == j)),
            _ => turn[(i % p, j % p)],
        });
        Geodesic { x, direction, nu, factor, turn, block }
    }

    /// The first p columns of the exponential: the coefficients of X and of the direction.
    fn coefficients(&self) -> [Matrix; 2] {
        let (e, p) = (self.block.exp(), self.x.cols);
        [e.block(0..p, 0..p), e.block(p..2 * p, 0..p)]
    }

    /// (X, V/ν) times the coefficients.
    fn before_turn(&self, [of_x, of_v]: &[Matrix; 2]) -> Matrix {
        &(&self.x * of_x) + &(&self.direction * of_v)
    }

    fn end(&self) -> Matrix {
        &self.before_turn(&self.coefficients()) * &self.turn.scale(-1.0).exp()
    }
}

impl RowFunction<2> for Exp {
    fn name(&self) -> &'static str {
        "stiefel.exp"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, rows: [&[f64]; 2], out: &mut [f64]) {
        settle::<T>(&Geodesic::new(self.size, rows).end(), out);
    }
    fn pullback(&self, rows: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dv]: [&mut [f64]; 2]) {
        let geodesic = Geodesic::new(self.size, rows);
        let Geodesic { x, direction, nu, factor, turn, block } = &geodesic;
        let (g, p) = (Matrix::new(self.size[0], self.size[1], g), self.size[1]);
        let coefficients = geodesic.coefficients();
        let back = turn.scale(-1.0);
        let of_sum = &g * &back.exp().t();
        let of_coefficients = [&(&x.t() * &of_sum), &(&direction.t() * &of_sum)];
        let of_e =
            Matrix::from_fn(
                2 * p,
                2 * p,
                |i, j| if j < p { of_coefficients[i / p][(i % p, j)] } else { 0.0 },
            );
        let of_block = block.exp_pullback(&of_e);
        let of_turn = &(&of_block.block(0..p, 0..p) + &of_block.block(p..2 * p, p..2 * p))
            - &back.exp_pullback(&(&geodesic.before_turn(&coefficients).t() * &g));
        // ν is not a variable: the result does not depend on it. V is `ν direction`.
        let of_square = of_block.block(0..p, p..2 * p).sym().scale(-2.0);
        let of_x = &(&of_sum * &coefficients[0].t()) + &(direction * &of_turn.t()).scale(*nu);
        of_x.write(dx);
        let of_v = &(&(&of_sum * &coefficients[1].t()).scale(nu.recip()) + &(direction * &of_square))
            + &(x * &of_turn);
        of_v.scale(*factor).write(dv);
    }
}

/// A geodesic from X to Y, `exp(tW) X exp(−tA)` with `W = V Xᵀ − X Vᵀ` and `A = XᵀV`.
struct Shot {
    x: Matrix,
    /// Orthonormal columns whose span contains both frames, those of X first. The fields that follow are
    /// in these coordinates.
    basis: Matrix,
    v: Matrix,
    w: Matrix,
    a: Matrix,
    /// exp(W).
    left: Matrix,
    /// exp(−A).
    right: Matrix,
}

impl Shot {
    /// By shooting: the velocity is corrected by the difference by which its geodesic misses Y, carried
    /// back along it. None if that does not converge, where the frames are too far apart for a shortest
    /// geodesic to be found.
    fn new([n, p]: [usize; 2], x: &[f64], y: &[f64]) -> Option<Self> {
        // Stored frames are orthonormal only to the rounding of storage. Shooting could not hit them, so
        // it takes the nearest orthonormal ones.
        let [x, y] = [x, y].map(|row| nearest(&Matrix::new(n, p, row)));
        let difference = &y - &x;
        // If the whole space is not larger than the span of both, it is used: X and arbitrary other
        // columns.
        let frames = match 2 * p < n {
            true => Matrix::from_fn(n, 2 * p, |i, j| if j < p { x[(i, j)] } else { difference[(i, j - p)] }),
            false => Matrix::from_fn(n, n, |i, j| if j < p { x[(i, j)] } else { 0.0 }),
        };
        let basis = frames.orthonormal_columns();
        let start = Matrix::identity(basis.cols).block(0..basis.cols, 0..p);
        let difference = &basis.t() * &difference;
        let mut v = tangent(&start, &difference);
        let mut stop = Stop::new([n, p]);
        for _ in 0..ITERATIONS {
            let half = &v * &start.t();
            let (w, a) = (&half - &half.t(), &start.t() * &v);
            let (left, right) = (w.exp(), a.scale(-1.0).exp());
            let miss = &difference - &(&(&(&left * &start) * &right) - &start);
            if stop.converged(miss.norm()) {
                return Some(Shot { x, basis, v, w, a, left, right });
            }
            let back = tangent(&start, &(&(&left.t() * &miss) * &right.t()));
            v = &v + &parallel(&start, |z| &w * z, &a, back);
        }
        None
    }

    fn log(&self) -> Matrix {
        &self.basis * &self.v
    }

    /// Parallel transport of a tangent vector at X to the end.
    fn carry(&self, z: Matrix) -> Matrix {
        let inside = |by: &Matrix, z: &Matrix| &self.basis * &(by * &(&self.basis.t() * z));
        let (w, a) = (self.w.scale(-1.0), self.a.scale(-1.0));
        let z = parallel(&self.x, |z| inside(&w, z), &a, z);
        let turned = inside(&(&self.left - &Matrix::identity(self.left.rows)), &z);
        &(&z + &turned) * &self.right
    }
}

/// The logarithm, NaN where it is not found.
fn log([n, p]: [usize; 2], x: &[f64], y: &[f64]) -> Matrix {
    Shot::new([n, p], x, y).map_or_else(|| Matrix::from_fn(n, p, |_, _| f64::NAN), |shot| shot.log())
}

const ITERATIONS: usize = 1000;

/// Decides when an iteration has converged: the miss is of the size of rounding and no longer shrinks.
struct Stop {
    rounding: f64,
    least: f64,
}

impl Stop {
    fn new([n, p]: [usize; 2]) -> Self {
        Stop { rounding: 64.0 * f64::EPSILON * ((n * p) as f64).sqrt(), least: f64::INFINITY }
    }

    fn converged(&mut self, miss: f64) -> bool {
        let stopped = miss == 0.0 || miss < self.rounding && miss >= self.least;
        self.least = miss.min(self.least);
        stopped
    }
}

/// Parallel transport to X of `exp(W) Z exp(−A)`, tangent at the end of the geodesic. A field
/// `exp(tW) Z exp(−tA)` along the geodesic is parallel if `dZ/dt = −P(W Z − Z A)`, P the tangent part
/// at X. This sums the exponential series of that, as far as a correction needs it.
fn parallel(x: &Matrix, w: impl Fn(&Matrix) -> Matrix, a: &Matrix, z: Matrix) -> Matrix {
    let (mut term, mut sum) = (z.clone(), z);
    for k in 1..100 {
        term = tangent(x, &(&w(&term) - &(&term * a))).scale(f64::from(k).recip());
        sum = &sum + &term;
        if term.norm() <= 1e-6 * sum.norm() {
            break;
        }
    }
    sum
}

#[derive(Clone, Copy, Debug)]
struct Log {
    size: [usize; 2],
}

impl RowFunction<2> for Log {
    fn name(&self) -> &'static str {
        "stiefel.log"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, widths[0])
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        log(self.size, x, y).write(out);
    }
    // By the implicit function theorem on exp(X, V) = Y. λ, the cotangent of Y, is the one that the
    // pullback of exp takes to the tangent part of G. It is found in the same way as V, with corrections
    // carried in the opposite direction.
    fn pullback(&self, [x, y]: [&[f64]; 2], _out: &[f64], g: &[f64], [dx, dy]: [&mut [f64]; 2]) {
        let Some(shot) = Shot::new(self.size, x, y) else {
            return [dx, dy].into_iter().for_each(|cotangent| cotangent.fill(f64::NAN));
        };
        let (x, v, g) = (&shot.x, shot.log(), Matrix::new(self.size[0], self.size[1], g));
        let size = g.norm();
        let g = if size > 0.0 { g.scale(size.recip()) } else { g };
        let mut lambda = g.scale(0.0);
        let (mut of_x, mut of_v) = (lambda.clone(), lambda.clone());
        let mut stop = Stop::new(self.size);
        for _ in 0..ITERATIONS {
            let cotangents = [&mut of_x.data[..], &mut of_v.data[..]];
            Exp { size: self.size }.pullback([&x.data, &v.data], &[], &lambda.data, cotangents);
            let residual = &g - &of_v;
            let miss = tangent(x, &residual);
            if stop.converged(miss.norm()) {
                // V is tangent at X, and turns with X.
                let turned = &v * &(&x.t() * &residual).sym();
                (&of_x + &turned).scale(-size).write(dx);
                return lambda.scale(size).write(dy);
            }
            lambda = &lambda + &shot.carry(miss);
        }
        [dx, dy].into_iter().for_each(|cotangent| cotangent.fill(f64::NAN));
    }
}

/// The geodesic distance.
#[derive(Clone, Copy, Debug)]
struct Dist {
    size: [usize; 2],
}

impl RowFunction<2> for Dist {
    fn name(&self) -> &'static str {
        "stiefel.dist"
    }
    fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
        matrices(self.size, widths, 1)
    }
    fn eval<T: Float>(&self, [x, y]: [&[f64]; 2], out: &mut [f64]) {
        out[0] = log(self.size, x, y).norm();
    }
    fn pullback(&self, points: [&[f64]; 2], _out: &[f64], g: &[f64], cotangents: [&mut [f64]; 2]) {
        dist_pullback(|x, y| log(self.size, x, y), points, g[0], cotangents);
    }
}

impl Manifold for Stiefel {
    const NAME: &'static str = "stiefel";
    const TITLE: &'static str = "the Stiefel manifold";

    euclidean_metric!();
    orthonormal_columns!();

    fn fixed_dimension(&self) -> Option<usize> {
        Some(self.n * self.p - self.p * (self.p + 1) / 2)
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
    fn transport<R: Rows>(&self, _x: &R, y: &R, v: &R) -> R {
        self.project_tangent(y, v)
    }
    fn project_tangent<R: Rows>(&self, x: &R, v: &R) -> R {
        R::row_function(Tangent { size: self.size() }, [x, v])
    }
    fn retract<R: Rows>(&self, x: &R, v: &R) -> R {
        self.retraction.retract(self.size(), x, v)
    }
}

impl Steps for Stiefel {}

impl Lawful for Stiefel {
    const PARALLEL: bool = false;
    const SYMMETRIC: bool = false;

    /// Those of the Euclidean metric. Zimmermann, Stoye 2024.
    fn curvature_bounds(&self) -> [f64; 2] {
        [-0.5, 1.0]
    }
    fn rounding<T: Float>(&self, x: &Row<T>) -> f64 {
        x.len() as f64
    }
    fn off<T: Float>(&self, x: &Row<T>) -> f64 {
        self.rounding(x)
    }
}

family!(Stiefel: [(3, 1), (4, 2), (5, 3)].map(|(n, p)| Stiefel::new(n, p)), [(Stiefel::new(3, 2), 3, 0.7)]);

constant!(Stiefel);

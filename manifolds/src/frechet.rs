//! The Fréchet (Karcher) mean: the point μ of least `½ Σ wᵢ d(μ, xᵢ)²`, where
//! `F(μ) = Σ wᵢ log_μ xᵢ` vanishes.
//!
//! It exists and is unique on manifolds of curvature ≤ 0 (Karcher 1977), and for points within a ball of
//! radius π/(4√κ) on the sphere (Afsari 2011). F is the negative gradient of the objective, and its
//! covariant derivative is the negative Hessian. For curvature ≤ 0 the Hessian is at least the identity
//! (weights that sum to 1). Where F vanishes at the antipode of a point of the sphere, that is no mean: the
//! point's logarithm there is 0 by definition, but the objective falls in every direction.
//!
//! **The mean** is found by Newton's method on the manifold: μ ← exp_μ ξ with Hess ξ = F. A step is
//! taken if it halves ‖F‖; otherwise it is shortened until the objective falls sufficiently (Armijo). As
//! the objective is strongly convex along geodesics, both converge from any start: the halving
//! trivially, the descent by Absil, Mahony, Sepulchre 2008, theorem 4.3.1. Near the mean whole steps
//! converge quadratically (theorem 6.3.2).
//!
//! **Its derivative** is implicit (Lou et al. 2020, theorem 3.2): F(μ, x, w) = 0 defines μ, so
//! `∂μ = −(∂F/∂μ)⁻¹ ∂F`. A reverse pass solves one linear system per set, whatever the number
//! of iterations.
//!
//! Both need only `exp`, `log` and `transport` of a manifold. The derivative of F comes from a reverse
//! pass through `v ↦ P_{exp_μ v→μ} F(exp_μ v)` at v = 0, where P is the transport. With the projection
//! Π onto the tangent space, `Π F′ Π + 1 − Π` is invertible as a matrix over all ambient coordinates.

use cotangent_engine::{
    Broadcast, Float, Operation, Outcome, Row, Rows, Shape, ShapeError, Tape, Tensor, Var, View,
};
use cotangent_numbers::matrix::Matrix;

use crate::manifold::{Manifold, Scale};
use crate::sets::Sets;

/// Why there is no Fréchet mean.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FrechetError {
    /// No point has a weight.
    #[error("Fréchet mean: set {set} has no point of positive weight")]
    Empty {
        /// The number of the set, in row-major order.
        set: usize,
    },
    /// A weight that is negative or not finite.
    #[error("Fréchet mean: the weight {weight} of point {point} in set {set} is not finite and at least 0")]
    Weight {
        /// The number of the set, in row-major order.
        set: usize,
        /// The point's number in the set.
        point: usize,
        /// What was given.
        weight: f64,
    },
    /// The iteration did not converge.
    #[error(
        "Fréchet mean: after {iterations} iterations on set {set} the gradient has norm {gradient:e}, \
         the mean is some {step:e} away"
    )]
    NotConverged {
        /// The number of the set, in row-major order.
        set: usize,
        /// Iterations done.
        iterations: usize,
        /// Riemannian norm of the gradient, for weights that sum to 1.
        gradient: f64,
        /// Length of the last Newton step: about the distance from the mean.
        step: f64,
    },
    /// On a sphere, F vanishes only because a point is antipodal to the result, where its logarithm is 0 by
    /// definition. Every step away from there is nearer to that point, so the result is no minimum.
    #[error("Fréchet mean: point {point} of set {set} is antipodal to the result, which is no minimum")]
    Antipodal {
        /// The number of the set, in row-major order.
        set: usize,
        /// The point's number in the set.
        point: usize,
    },
}

/// Computes Fréchet means. The mathematics is described at the head of this file.
///
/// ```
/// use cotangent_engine::Tensor;
/// use cotangent_manifolds::{FrechetMean, PoincareBall};
/// let ball = PoincareBall::new(-1.0);
/// let points = Tensor::new([3, 1], vec![0.0_f64, 0.6, -0.8]); // [n, ambient]; distances ln 1, ln 4, −ln 9
/// let weights = Tensor::new([3], vec![1.0; 3]);
/// let mean = FrechetMean::default().solve(&ball, &points, &weights).unwrap(); // [ambient]
/// let distance = (4.0_f64.ln() - 9.0_f64.ln()) / 3.0;
/// assert!((mean.data()[0] - (distance / 2.0).tanh()).abs() < 1e-13);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrechetMean {
    /// At most this many iterations; 64 by default.
    pub iterations: usize,
    /// How far from the mean the result may be, relative to the points' root mean square distance from
    /// it; `1e-12` by default. The distance that 16 units in the last place of its coordinates make is
    /// allowed in addition.
    pub tolerance: f64,
}

impl Default for FrechetMean {
    fn default() -> Self {
        FrechetMean { iterations: 64, tolerance: 1e-12 }
    }
}

impl FrechetMean {
    /// The mean of each set: points `[…, n, ambient]` and weights `[…, n]` to `[…, ambient]`. The
    /// leading axes broadcast. Computed in `f64` whatever the type.
    ///
    /// # Errors
    /// If a set is empty, a weight is negative or not finite, the iteration does not converge, or it ends
    /// opposite to a point of a sphere.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn solve<M: Manifold, T: Float>(
        &self,
        manifold: &M,
        points: &Tensor<T>,
        weights: &Tensor<f64>,
    ) -> Result<Tensor<T>, FrechetError> {
        let sets = common(points.shape(), weights.shape());
        let (points, weights) = (spread(points, &sets, 2), spread(weights, &sets, 1));
        let (n, ambient) = (weights.width(), points.width());
        let mut means = Tensor::zeros(sets.with_width(ambient));
        for set in 0..sets.elements() {
            let problem = Problem::new(manifold, &points, &weights, set, n)?;
            let mean = problem.solve(self, set)?;
            if let Some(point) = problem.antipode(&mean) {
                return Err(FrechetError::Antipodal { set, point });
            }
            let rounded: Vec<T> = mean.iter().map(|&x| T::nearest(x)).collect();
            means.row_mut(set).copy_from_slice(&manifold.project(&Row::from(rounded.as_slice())));
        }
        Ok(means)
    }

    /// As [`solve`](Self::solve) on a tape: differentiable in points and weights.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    ///
    /// # Panics
    /// As [`solve`](Self::solve), and if they are on different tapes.
    #[track_caller]
    pub fn on_tape<'t, M: Manifold, T: Float>(
        &self,
        manifold: &M,
        points: Var<'t, T>,
        weights: Var<'t, T>,
    ) -> Result<Var<'t, T>, FrechetError> {
        let sets = common(&points.shape(), &weights.shape());
        let broadcast = |v: Var<'t, T>, axes: usize| {
            let shape = v.shape();
            let full = shape.axes()[shape.rank() - axes..].iter().fold(sets.clone(), |s, &n| s.with_width(n));
            if shape == full { v } else { v.broadcast_to(full) }
        };
        let (points, weights) = (broadcast(points, 2), broadcast(weights, 1));
        let means = self.solve(manifold, &points.to_tensor(), &weights.to_tensor().cast())?;
        let operation = Implicit { manifold: *manifold, means };
        Ok(points.tape().shared_operation(std::sync::Arc::new(operation), &[points, weights]))
    }
}

/// The common leading axes of points and weights.
#[track_caller]
fn common(points: &Shape, weights: &Shape) -> Shape {
    let of_points = points.rows();
    let fits = of_points.axes().last().is_some_and(|n| weights.axes().last() == Some(n));
    let sets = Broadcast::common(&[of_points.rows().axes(), weights.rows().axes()]);
    match sets {
        Some(sets) if fits => sets,
        _ => panic!(
            "frechet_mean: points {points} of weights {weights}: […, n, ambient] and […, n] are needed"
        ),
    }
}

/// A tensor whose last `axes` axes are those of a set, with the leading ones broadcast.
fn spread<T: Float>(tensor: &Tensor<T>, sets: &Shape, axes: usize) -> Tensor<f64> {
    let shape = tensor.shape();
    let (lead, own) = shape.axes().split_at(shape.rank() - axes);
    let read = Broadcast::new(lead, sets.axes()).expect("a common shape fits all");
    let size: usize = own.iter().product();
    let full = own.iter().fold(sets.clone(), |shape, &n| shape.with_width(n));
    Tensor::from_fn(full, |i| tensor.data()[read.at(i / size) * size + i % size].to_f64())
}

/// One set: points `[n, ambient]`, and weights `[n]` that sum to 1.
struct Problem<'a, M> {
    manifold: &'a M,
    points: Tensor<f64>,
    weights: Tensor<f64>,
    /// The sum of the weights as given.
    total: f64,
}

impl<'a, M: Manifold> Problem<'a, M> {
    /// Set number `set` of points `[…, n, ambient]`, weights `[…, n]`.
    fn new(
        manifold: &'a M,
        points: &Tensor<f64>,
        weights: &Tensor<f64>,
        set: usize,
        n: usize,
    ) -> Result<Self, FrechetError> {
        let ambient = points.width();
        let weights = &weights.data()[set * n..(set + 1) * n];
        if let Some(point) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
            return Err(FrechetError::Weight { set, point, weight: weights[point] });
        }
        let total: f64 = weights.iter().sum();
        if total == 0.0 {
            return Err(FrechetError::Empty { set });
        }
        Ok(Problem {
            manifold,
            points: Tensor::new(
                [n, ambient],
                points.data()[set * n * ambient..(set + 1) * n * ambient].to_vec(),
            ),
            weights: Tensor::from_fn([n], |i| weights[i] / total),
            total,
        })
    }

    /// `Σ w log_μ x`: the negative gradient. It is projected because points stored in less than `f64`
    /// are off the manifold, and their logarithms off the tangent space.
    fn pull(&self, mean: &Row<f64>) -> Row<f64> {
        let base = Tensor::new([1, mean.len()], mean.to_vec());
        let sum = Tensor::combine(&self.weights, &self.manifold.log(&base, &self.points));
        self.manifold.project_tangent(mean, &Row::from(sum.data()))
    }

    /// `Σ w d²`.
    fn square(&self, mean: &Row<f64>) -> f64 {
        let base = Tensor::new([1, mean.len()], mean.to_vec());
        let distances = self.manifold.dist(&base, &self.points);
        distances.data().iter().zip(self.weights.data()).map(|(d, w)| w * d * d).sum()
    }

    /// The first point with a weight that is antipodal to the mean: its logarithm is 0, its distance is not.
    fn antipode(&self, mean: &Row<f64>) -> Option<usize> {
        let base = Tensor::new([1, mean.len()], mean.to_vec());
        let logarithms = self.manifold.log(&base, &self.points);
        let distances = self.manifold.dist(&base, &self.points);
        (0..distances.len()).find(|&i| {
            let no_direction = logarithms.row(i).iter().all(|c| *c == 0.0);
            // The logarithm of a point next to the mean may underflow.
            self.weights.data()[i] > 0.0 && no_direction && distances.data()[i] > 1e-100
        })
    }

    /// The projection Π onto the tangent space at μ, and `Π F′ Π + 1 − Π`, as matrices.
    fn derivative(&self, mean: &Row<f64>) -> (Matrix, Matrix) {
        let (m, a) = (self.manifold, mean.len());
        let one = Matrix::identity(a);
        let identity = Tensor::new([a, a], one.data.clone());
        let base = Tensor::new([1, a], mean.to_vec());
        let projection = Matrix::new(a, a, m.project_tangent(&base, &identity).data()).t();

        // One copy of the velocity for each coordinate of F, so that one pass gives all rows of the
        // derivative.
        let tape = Tape::<f64>::new();
        let v = tape.variable(&Tensor::zeros([a, 1, a]));
        let base = tape.constant(&base);
        let moved = m.exp(&base, &v);
        let pull = Var::combine(&tape.constant(&self.weights), &m.log(&moved, &tape.constant(&self.points)));
        let back = m.transport(&moved.reshape([a, a]), &base, &pull);
        let gradients = tape.backward_from(back, &identity);
        let slope = gradients.view(v).expect("F depends on μ").to_dense(a, a);
        let system = &(&projection * &(&Matrix::new(a, a, &slope) * &projection)) + &(&one - &projection);
        (projection, system)
    }

    /// The distance that an ulp of the coordinates of μ makes.
    fn resolution(&self, mean: &Row<f64>) -> f64 {
        let mut next = mean.clone();
        for (i, x) in next.iter_mut().enumerate() {
            *x *= if i % 2 == 0 { 1.0 - f64::EPSILON } else { 1.0 + f64::EPSILON };
        }
        self.manifold.dist(mean, &self.manifold.project(&next))
    }

    /// The mean of the points taken one after another (Sturm 2003): where the iteration starts.
    fn start(&self) -> Row<f64> {
        let mut mean = Row::from(self.points.row(0));
        let mut total = 0.0;
        for (x, &w) in self.points.rows().zip(self.weights.data()) {
            total += w;
            if w > 0.0 {
                mean = self.manifold.geodesic(&mean, &Row::from(x), &(w / total));
            }
        }
        mean
    }

    fn solve(&self, options: &FrechetMean, set: usize) -> Result<Row<f64>, FrechetError> {
        let m = self.manifold;
        let mut mean = self.start();
        let (mut gradient, mut length) = (f64::NAN, f64::NAN);
        for iterations in 0..options.iterations {
            let pull = self.pull(&mean);
            gradient = m.norm(&mean, &pull);
            let square = self.square(&mean);
            let step = solution(&self.derivative(&mean).1, pull.iter().map(|x| -x));
            let mut step = m.project_tangent(&mean, &Row::from(step.data.as_slice()));
            let mut slope = m.inner(&mean, &pull, &step);
            if !(slope > 0.0) {
                // Beyond the strongly convex part of a sphere the step is the negative gradient.
                (slope, step) = (gradient * gradient, pull.clone());
            }
            length = m.norm(&mean, &step);
            let close = options.tolerance * square.sqrt() + 16.0 * self.resolution(&mean);
            if length <= close {
                // Newton's last step is nearly free of error.
                return Ok(m.exp(&mean, &step));
            }
            if 4.0 * gradient <= close {
                // Where no eigenvalue of the Hessian is below ¼, the mean is no farther than 4‖F‖: a
                // longer Newton step is rounding.
                return Ok(m.exp(&mean, &pull));
            }
            let accepted = (0..60).map(|halvings| 0.5_f64.powi(halvings)).find_map(|t| {
                let next = m.exp(&mean, &Row::vector(Scale, [&step], [&t]));
                let halved = t == 1.0 && m.norm(&next, &self.pull(&next)) <= 0.5 * gradient;
                // Armijo: d/dt Σ w d² = −2 ⟨F, ξ⟩.
                let fallen =
                    self.square(&next) <= square - 2e-4 * t * slope && t * slope > f64::EPSILON * square;
                (halved || fallen).then_some(next)
            });
            let Some(next) = accepted else {
                return Err(FrechetError::NotConverged { set, iterations, gradient, step: length });
            };
            mean = next;
        }
        Err(FrechetError::NotConverged { set, iterations: options.iterations, gradient, step: length })
    }
}

/// The solution of a square system.
fn solution(matrix: &Matrix, right: impl Iterator<Item = f64>) -> Matrix {
    let right = Matrix::new(matrix.rows, 1, &right.collect::<Vec<f64>>());
    let (u, sigma, v) = matrix.svd();
    let along = &u.t() * &right;
    &v * &along.weigh(|i, _| sigma[i].recip())
}

/// The means as an operation of a tape on points `[…, n, ambient]` and weights `[…, n]`, already
/// computed.
struct Implicit<M, T: Float> {
    manifold: M,
    means: Tensor<T>,
}

impl<M: Manifold, T: Float> Operation<T> for Implicit<M, T> {
    fn name(&self) -> &'static str {
        "frechet_mean"
    }

    fn shape(&self, _inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(self.means.shape().clone())
    }

    fn forward(&self, _inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        out.copy_from_slice(self.means.data());
    }

    /// With the cotangent g of μ, that of F is `−Πᵀ (Π F′ Π + 1 − Π)⁻ᵀ g`; F gives those of
    /// points and weights.
    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let wide = |view: &View<'_, T>| {
            Tensor::new(view.shape.clone(), view.data.iter().map(|x| x.to_f64()).collect::<Vec<f64>>())
        };
        let (points, weights, means) = (wide(&inputs[0]), wide(&inputs[1]), self.means.cast::<f64>());
        let (n, a) = (weights.width(), points.width());
        let mut tape = Tape::<f64>::new();
        for (set, g) in g.chunks_exact(a).enumerate() {
            let problem =
                Problem::new(&self.manifold, &points, &weights, set, n).expect("the mean was found");
            let mean = Row::from(means.row(set));
            let (projection, system) = problem.derivative(&mean);
            let solved = solution(&system.t(), g.iter().map(|g| -g.to_f64() / problem.total));
            let of_pull = Tensor::new([a], (&projection.t() * &solved).data);

            tape.reset();
            let x = tape.variable(&problem.points);
            let w = tape.variable(&Tensor::new([n], weights.data()[set * n..(set + 1) * n].to_vec()));
            let base = tape.constant(&Tensor::new([1, a], mean.to_vec()));
            let pull = Var::combine(&w, &self.manifold.log(&base, &x));
            let gradients = tape.backward_from(pull, &of_pull);
            for (input, variable) in [(0, x), (1, w)] {
                let Some(place) = grads[input].as_deref_mut() else { continue };
                let size = variable.shape().elements();
                let gradient = gradients.view(variable).expect("F depends on it").to_dense(n, size / n);
                for (to, from) in place[set * size..].iter_mut().zip(&gradient) {
                    *to = T::nearest(*from);
                }
            }
        }
    }
}

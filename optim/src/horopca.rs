//! The search for HoroPCA's directions. Source: Chami, Gu, Nguyen, Ré 2021, section 4.2: of all
//! horospherical projections through the Fréchet mean, the one of most variance, which is the mean squared
//! distance between the projected points.
//!
//! All directions are found together, on the Stiefel manifold, by L-BFGS from several starts: the principal
//! tangent directions at the mean, and random ones. There are local maxima.

use cotangent_engine::{Row, Rows, Tensor, Var, rng};
use cotangent_manifolds::horopca::centred;
use cotangent_manifolds::{
    FrechetMean, HoroPca, HoroPcaError, Hyperbolic, Isometric, Lorentz, Manifold, OriginFrame, Stiefel,
    standard_normal, symmetric_eigen,
};
use rand::seq::index;

use crate::solvers::{Problem, Stopping, lbfgs};

/// When the search from a start ends: the gradient is that of the share of the variance that is kept.
const STOPPING: Stopping = Stopping { gradient_norm: 1e-5, iterations: 50 };

/// Finds the horospherical projection of most variance.
///
/// ```
/// use cotangent_engine::Tensor;
/// use cotangent_manifolds::PoincareBall;
/// use cotangent_optim::HoroPcaFit;
/// // Points of a geodesic in three dimensions: one component keeps their distances.
/// let points = Tensor::from_fn([9, 3], |i| [0.1, 0.0, 0.2][i % 3] * ((i / 3) as f64 - 4.0)); // [n, ambient]
/// let pca = HoroPcaFit::new(1).fit(PoincareBall::new(-1.0), &points)?;
/// let line = pca.coordinates(&points); // [n, 1]
/// assert!((line.data()[8].abs() - 0.8_f64.hypot(0.4)).abs() < 1e-6);
/// # Ok::<(), cotangent_manifolds::HoroPcaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoroPcaFit {
    /// Number of directions: the dimension K of the projection.
    pub components: usize,
    /// Mean and directions are fitted to at most this many points, drawn from those given; 200 by default.
    pub sample: usize,
    /// Number of starts of the search; 4 by default.
    pub starts: usize,
    /// Seed of the drawn points and of the random starts; 42 by default.
    pub seed: u64,
}

impl HoroPcaFit {
    /// A search for `components` directions.
    pub fn new(components: usize) -> Self {
        HoroPcaFit { components, sample: 200, starts: 4, seed: 42 }
    }

    /// The projection of most variance that is found for points `[n, ambient]`. The order of its directions
    /// has no meaning.
    ///
    /// # Errors
    /// If there are no points, `components` is 0 or more than the dimension of the space, or the Fréchet
    /// mean is not found.
    ///
    /// # Panics
    /// If the curvature is not negative.
    pub fn fit<M: Hyperbolic>(&self, manifold: M, points: &Tensor<f64>) -> Result<HoroPca<M>, HoroPcaError> {
        let (n, dimension) = (points.rows().len(), manifold.dimension(points.width()));
        if n == 0 {
            return Err(HoroPcaError::NoPoints);
        }
        HoroPcaError::unless_possible(self.components, dimension)?;
        let drawn = self.drawn(points);
        let weights = Tensor::from_fn([drawn.rows().len()], |_| 1.0);
        let mean = Row::from(FrechetMean::default().solve(&manifold, &drawn, &weights)?.data());
        let lorentz: Lorentz = manifold.counterpart();
        let frame = self.search(lorentz, &centred(&manifold, &mean, &drawn));
        let directions = Tensor::from_fn([self.components, dimension], |i| {
            frame[i % dimension * self.components + i / dimension]
        });
        HoroPca::new(manifold, mean, directions)
    }

    /// A sample of points `[n, ambient]`, in their order.
    fn drawn(&self, points: &Tensor<f64>) -> Tensor<f64> {
        let n = points.rows().len();
        if n <= self.sample {
            return points.clone();
        }
        let mut rows = index::sample(&mut rng::stream(self.seed, "horopca", 0), n, self.sample).into_vec();
        rows.sort_unstable();
        let data = rows.iter().flat_map(|&i| points.row(i)).copied().collect();
        Tensor::new([rows.len(), points.width()], data)
    }

    /// The orthonormal frame of most variance for points of the hyperboloid `[n, d + 1]`: the columns of
    /// `[d, K]`.
    fn search(&self, lorentz: Lorentz, points: &Tensor<f64>) -> Row<f64> {
        let dimension = lorentz.dimension(points.width());
        let stiefel = Stiefel::new(dimension, self.components);
        let first = principal(lorentz, points, self.components);
        let variance = variance(lorentz, points);
        if !(variance > 0.0) {
            return first;
        }
        let mut problem = Problem::on_tape(stiefel, |frame| {
            let points = frame.coordinates().tape().constant(points);
            let flat = lorentz.horospherical(&points, &directions(*frame.coordinates(), stiefel.size()));
            let squares = lorentz.dist(&flat.insert_axis(1), &flat.insert_axis(0)).square();
            (-1.0 / variance) * squares.mean()
        });
        let start = |i: usize| match i {
            0 => first.clone(),
            _ => {
                let mut rng = rng::stream(self.seed, "horopca", i as u64);
                let normal = standard_normal::<f64>([dimension * self.components], &mut rng);
                stiefel.project(&Row::from(normal.data()))
            }
        };
        let found = (0..self.starts.max(1)).map(|i| lbfgs(&mut problem, start(i), STOPPING));
        let best = found.reduce(
            |best, other| {
                if best.cost <= other.cost || other.cost.is_nan() { best } else { other }
            },
        );
        best.expect("there is a start").point
    }
}

/// The columns of a frame `[d, K]` as K directions of `d + 1` coordinates, with a time coordinate of 0.
fn directions<'t>(frame: Var<'t, f64>, [dimension, components]: [usize; 2]) -> Vec<Var<'t, f64>> {
    let columns = frame.reshape([dimension, components]).swap_axes(0, 1);
    let timed = Var::concat(&[columns.zeros(1), columns], 1);
    (0..components).map(|j| timed.slice(0, j..j + 1).reshape([1 + dimension])).collect()
}

/// The mean squared distance between points of the hyperboloid `[n, d + 1]`.
fn variance(lorentz: Lorentz, points: &Tensor<f64>) -> f64 {
    let distances = lorentz.dist(&points.reshape(points.shape().insert(1)), points);
    distances.data().iter().map(|d| d * d).sum::<f64>() / distances.len() as f64
}

/// The principal directions of the logarithms at the origin, as the columns of a frame `[d, K]`.
fn principal(lorentz: Lorentz, points: &Tensor<f64>, components: usize) -> Row<f64> {
    let tangents = lorentz.log_in_frame(&lorentz.origins(points), points); // [n, d]
    let dimension = tangents.width();
    let moment = |i: usize| tangents.rows().map(|v| v[i / dimension] * v[i % dimension]).sum();
    let (_, axes) = symmetric_eigen(&Tensor::from_fn([dimension, dimension], moment));
    let frame = Tensor::from_fn([dimension * components], |i| axes.row(i % components)[i / components]);
    Row::from(frame.data())
}

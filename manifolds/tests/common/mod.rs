//! Helpers that the tests of this crate share.
#![allow(dead_code)]

use cotangent_engine::domain::margin;
use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Row, Rows, Tensor};
use cotangent_manifolds::{ConstantCurvature, Lorentz, Manifold, Stereographic};
use rand::RngExt;

/// Curvatures of the tolerance policy.
pub(crate) const KAPPAS: [f64; 8] = [-2.5, -1.0, -0.37, -1e-6, -1e-12, 0.0, 1e-12, 0.6];

/// Unit roundoff of a storage type.
pub(crate) fn roundoff<T: Float>() -> f64 {
    T::EPSILON / 2.0
}

/// Radius up to which points of the κ-stereographic model are drawn: what the format reaches in the
/// ball, half a hemisphere on the sphere.
pub(crate) fn limit<T: Float>(kappa: f64) -> f64 {
    let limit = match kappa {
        k if k < 0.0 => (2.0 / T::EPSILON).ln() / (-k).sqrt(),
        k if k > 0.0 => 0.7 / k.sqrt(),
        _ => 10.0,
    };
    limit.min(100.0)
}

/// The conformal factor.
pub(crate) fn lambda<T: Float>(m: &Stereographic, x: &[T]) -> f64 {
    2.0 / margin(x, m.kappa())
}

/// The Euclidean norm.
pub(crate) fn norm<T: Float>(x: &[T]) -> f64 {
    x.iter().map(|c| c.to_f64().powi(2)).sum::<f64>().sqrt()
}

/// `n` points within `spread` of a point at distance `radius` from the origin: `[n, ambient]`.
pub(crate) fn cluster<M: Manifold, T: Float>(
    m: &M,
    [n, dim]: [usize; 2],
    radius: f64,
    spread: f64,
    rng: &mut Rng,
) -> Tensor<T> {
    let origin = m.origin::<T>(dim);
    let centre = at_distance(m, &origin, radius, rng);
    let mut points = Tensor::zeros([n, m.ambient(dim)]);
    for i in 0..n {
        points.row_mut(i).copy_from_slice(&at_distance(m, &centre, spread * rng.random::<f64>(), rng));
    }
    points
}

/// A point at a distance from another, in a random direction.
pub(crate) fn at_distance<M: Manifold, T: Float>(m: &M, x: &Row<T>, distance: f64, rng: &mut Rng) -> Row<T> {
    let mut v = m.random_tangent(x, rng);
    let norm = m.norm(x, &v);
    v.iter_mut().for_each(|c| *c = T::nearest(c.to_f64() * distance / norm));
    m.exp(x, &v)
}

/// Numbers in `[0.2, 1)`.
pub(crate) fn weights(n: usize, rng: &mut Rng) -> Tensor<f64> {
    Tensor::from_fn([n], |_| rng.random_range(0.2..1.0))
}

/// From the ball to the hyperboloid of the same curvature: `X₀ = (2/m − 1)/√c`, `X_s = 2p/m`.
pub(crate) fn lift(m: &Lorentz, p: &[f64]) -> Row<f64> {
    let margin = margin(p, m.kappa());
    let space: Vec<f64> = p.iter().map(|p| 2.0 * p / margin).collect();
    m.project(&Row::concat(&Row::from([0.0]), &Row::from(space.as_slice())))
}

/// A row of a tensor.
pub(crate) fn row<T: Float>(t: &Tensor<T>, i: usize) -> Row<T> {
    Row::from(t.row(i))
}

/// The largest of some ratios of error and bound, printed with its circumstances.
#[derive(Default)]
pub(crate) struct Worst(f64);

impl Worst {
    /// Panics if an error is above its bound (or NaN).
    #[track_caller]
    pub(crate) fn see(&mut self, what: &str, error: f64, bound: f64, context: &dyn std::fmt::Debug) {
        assert!(error <= bound, "{what}: error {error:e}, bound {bound:e}; {context:?}");
        self.0 = self.0.max(error / bound);
    }

    /// Prints the slack.
    pub(crate) fn report(&self, what: &str) {
        println!("{what}: worst error / bound {:.2e}", self.0);
    }
}

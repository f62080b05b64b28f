//! Initial values of weights.

use cotangent_engine::rng::Rng;
use cotangent_engine::{Float, Tensor};
use cotangent_manifolds::{Manifold, Stiefel};
use rand::RngExt;
use rand_distr::StandardNormal;

/// A weight `[m, n]` uniform in `±√(6/(m + n))`. Glorot & Bengio 2010, eq. 16.
///
/// ```
/// use cotangent_engine::rng;
/// let w = cotangent_layers::init::glorot_uniform::<f64>(2, 4, &mut rng::stream(1, 0, 0));
/// assert!(w.data().iter().all(|w| w.abs() <= 1.0));
/// ```
pub fn glorot_uniform<T: Float>(m: usize, n: usize, rng: &mut Rng) -> Tensor<T> {
    let range = (6.0 / (m + n) as f64).sqrt();
    Tensor::from_fn([m, n], |_| T::nearest(rng.random_range(-range..=range)))
}

/// Numbers `[m, n]`, normal with this standard deviation.
pub fn normal<T: Float>(m: usize, n: usize, deviation: f64, rng: &mut Rng) -> Tensor<T> {
    Tensor::from_fn([m, n], |_| T::nearest(deviation * rng.sample::<f64, _>(StandardNormal)))
}

/// A weight `[m, n]`, normal with standard deviation `√(2/n)`, for layers before a ReLU. He et al. 2015,
/// eq. 10.
pub fn he_normal<T: Float>(m: usize, n: usize, rng: &mut Rng) -> Tensor<T> {
    normal(m, n, (2.0 / n as f64).sqrt(), rng)
}

/// A weight `[m, n]` with orthonormal columns, or orthonormal rows where m < n, uniform among all such
/// matrices: the polar factor of a normal matrix. For recurrent weights. Saxe, McClelland, Ganguli 2014.
pub fn orthogonal<T: Float>(m: usize, n: usize, rng: &mut Rng) -> Tensor<T> {
    let (long, short) = (m.max(n), m.min(n));
    let normal = Tensor::from_fn([1, long * short], |_| T::nearest(rng.sample(StandardNormal)));
    let frame = Stiefel::new(long, short).project(&normal);
    let element = |row: usize, column: usize| frame.data()[row * short + column];
    Tensor::from_fn([m, n], |i| if m < n { element(i % n, i / n) } else { element(i / n, i % n) })
}

/// Several weights `[m, n]`, one below the other: `[blocks · m, n]`.
pub(crate) fn stacked<T: Float>(blocks: usize, mut one: impl FnMut() -> Tensor<T>) -> Tensor<T> {
    let parts: Vec<Tensor<T>> = (0..blocks).map(|_| one()).collect();
    let [m, n] = [parts[0].shape()[0], parts[0].shape()[1]];
    Tensor::new([blocks * m, n], parts.iter().flat_map(|part| part.data()).copied().collect())
}

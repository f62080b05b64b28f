//! Losses: those of the engine, and over distances.

pub use cotangent_engine::loss::*;
use cotangent_engine::{Float, Var, softmax_in_place};

/// The ranking loss, a softmax over one positive and its negatives: for each row
/// `d₊ + ln Σ_j e^{−d_j}`. `distances` is `[batch, 1 + negatives]` with the positive's distance first;
/// the result is `[batch]`. Nickel & Kiela 2017, eq. 6.
///
/// # Panics
/// If there is no distance, or the distances have other than two axes.
#[track_caller]
pub fn ranking<'t, T: Float>(distances: Var<'t, T>) -> Var<'t, T> {
    let batch = distances.shape()[0];
    let positive = distances.slice(1, 0..1).reshape([batch]);
    positive + (-distances).logsumexp(1)
}

/// The [`ranking`] loss of one row of distances, outside a tape. Writes its derivatives by the distances:
/// 1 for the first, minus the softmax of −d for all. A negative at an infinite distance does not count.
///
/// ```
/// let mut slopes = [0.0; 2];
/// let loss = cotangent_layers::loss::ranking_with_gradient(&[1.0, 1.0], &mut slopes);
/// assert_eq!((loss, slopes), (2.0_f64.ln(), [0.5, -0.5]));
/// ```
///
/// # Panics
/// If there is no distance, or there are not as many derivatives.
#[track_caller]
pub fn ranking_with_gradient<T: Float>(distances: &[T], gradient: &mut [T]) -> f64 {
    assert_eq!(distances.len(), gradient.len(), "ranking_with_gradient: distances and their derivatives");
    gradient.iter_mut().zip(distances).for_each(|(slope, &distance)| *slope = -distance);
    let total = softmax_in_place(gradient);
    gradient.iter_mut().for_each(|slope| *slope = -*slope);
    gradient[0] = gradient[0] + T::one();
    distances[0].to_f64() + total
}

//! Losses: those of the engine, and over distances.

pub use cotangent_engine::loss::*;
use cotangent_engine::{Float, Var, softmax_in_place};

/// The ranking loss of Nickel & Kiela 2017, eq. 6: a softmax over one positive and its negatives. For
/// each row it is `d₊ + ln Σ_j e^{−d_j}`: `[batch]`.
///
/// `distances` is `[batch, 1 + negatives]` with the positive's distance first.
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
/// 1 for the first, minus the softmax of −d for all.
///
/// # Panics
/// If there is no distance, or there are not as many derivatives.
///
/// ```
/// let mut slopes = [0.0; 2];
/// let loss = cotangent_layers::loss::ranking_with_gradient(&[1.0, 1.0], &mut slopes);
/// assert_eq!((loss, slopes), (2.0_f64.ln(), [0.5, -0.5]));
/// ```
pub fn ranking_with_gradient(distances: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.iter_mut().zip(distances).for_each(|(slope, distance)| *slope = -distance);
    let total = softmax_in_place(gradient);
    gradient.iter_mut().for_each(|slope| *slope = -*slope);
    gradient[0] += 1.0;
    distances[0] + total
}

/// The [`ranking`] loss of one row outside a tape, from the distance of the positive and those of the
/// negatives, which are infinite where a negative does not count. Returns the loss and its derivative by the
/// positive's distance; the derivatives by the others take the place of the distances.
///
/// ```
/// let mut negatives = [1.0, f64::INFINITY];
/// let loss = cotangent_layers::loss::ranking_in_place(1.0, &mut negatives);
/// assert_eq!((loss, negatives), ([2.0_f64.ln(), 0.5], [-0.5, 0.0]));
/// ```
pub fn ranking_in_place<T: Float>(positive: f64, negatives: &mut [T]) -> [f64; 2] {
    if negatives.iter().all(|&distance| distance.to_f64() == f64::INFINITY) {
        negatives.fill(T::zero());
        return [0.0, 0.0];
    }
    negatives.iter_mut().for_each(|x| *x = -*x);
    let excess = positive + softmax_in_place(negatives);
    // The derivative is σ(excess), the loss ln(1 + e^excess).
    let small = (-excess.abs()).exp();
    let slope = if excess > 0.0 { 1.0 } else { small } / (1.0 + small);
    let factor = T::nearest(-slope);
    negatives.iter_mut().for_each(|x| *x = *x * factor);
    [excess.max(0.0) + small.ln_1p(), slope]
}

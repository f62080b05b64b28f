//! Losses: those of the engine, and over distances.

pub use cotangent_engine::loss::*;
use cotangent_engine::{Float, Var};

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

//! Helpers for measurements of single operations.

use std::time::Instant;

use cotangent::prelude::*;
use rand::RngExt;

/// The median time of a call in milliseconds, over at least 7 calls and a quarter of a second.
pub(crate) fn median_ms(mut f: impl FnMut()) -> f64 {
    (0..3).for_each(|_| f());
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < 7 || (start.elapsed().as_secs_f64() < 0.25 && times.len() < 1000) {
        let call = Instant::now();
        f();
        times.push(call.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub(crate) fn uniform<T: Float>(shape: &[usize], low: f64, high: f64, seed: u64) -> Tensor<T> {
    let mut rng = rng::stream(seed, 0, 0);
    Tensor::from_fn(shape, |_| T::nearest(rng.random_range(low..high)))
}

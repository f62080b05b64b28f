//! Positions in a sequence.
//!
//! Learned ones are an [`Embedding`](crate::Embedding) of the numbers 0, 1, …, in any geometry; the point of a word and
//! its position is `r = x ⊕ p` (López & Strube 2020, section 4.1): [`GyrovectorSpace::add`](crate::GyrovectorSpace::add),
//! in Euclidean space the sum.

use cotangent_engine::{Float, Tensor};

/// Sinusoidal positions, `[len, width]`: `sin(i/10000^{2k/width})` and its cosine in columns 2k and 2k + 1. Vaswani et
/// al. 2017, section 3.5.
///
/// ```
/// let p = cotangent_layers::position::sinusoidal::<f64>(3, 4);
/// assert_eq!(p.row(0), [0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(p.row(2), [2_f64.sin(), 2_f64.cos(), 0.02_f64.sin(), 0.02_f64.cos()]);
/// ```
pub fn sinusoidal<T: Float>(len: usize, width: usize) -> Tensor<T> {
    Tensor::from_fn([len, width], |at| {
        let (i, column) = (at / width, at % width);
        let angle = i as f64 / 10_000_f64.powf((column - column % 2) as f64 / width as f64);
        T::nearest(if column % 2 == 0 { angle.sin() } else { angle.cos() })
    })
}

//! Dropout. Srivastava et al. 2014.

use crate::numbers::rng::Rng;
use crate::tape::float::Float;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    /// Each element is 0 with probability `rate`, else divided by `1 − rate`, so that the mean stays the
    /// same. The draws are the stream's: the same stream drops the same elements.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn dropout(self, rate: f64, rng: &mut Rng) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout: a rate of {rate}");
        self * self.tape().dropout_mask(self.shape(), [rate, 1.0 / (1.0 - rate)], rng)
    }
}

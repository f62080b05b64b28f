//! Dropout. Srivastava et al. 2014.

use rand::RngExt;

use crate::rng::Rng;
use crate::{Float, Var};

impl<T: Float> Var<'_, T> {
    /// Each element is 0 with probability `rate`, else divided by `1 − rate`, so that the mean stays. The draws are
    /// the stream's: the same stream drops the same elements.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn dropout(self, rate: f64, rng: &mut Rng) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout: a rate of {rate}");
        let kept = T::nearest(1.0 / (1.0 - rate));
        let mask = self.tape().constant_with(self.shape(), |mask| {
            for x in mask {
                *x = if rng.random::<f64>() < rate { T::zero() } else { kept };
            }
        });
        self * mask
    }
}

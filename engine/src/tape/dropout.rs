//! Dropout (Srivastava et al. 2014).

use crate::tape::float::Float;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    /// On a tape that is [`training`](crate::Tape::training), each element becomes 0 with probability `rate`
    /// and is otherwise divided by `1 − rate`, so that its expected value stays the same. The draws are
    /// from the tape's stream: the same stream drops the same elements. On a tape that is not training, the
    /// result is the variable itself.
    ///
    /// # Panics
    /// If the rate is not in [0, 1).
    #[track_caller]
    pub fn dropout(self, rate: f64) -> Self {
        assert!((0.0..1.0).contains(&rate), "dropout: a rate of {rate}");
        match self.tape().draw_dropout(rate, self.shape().elements()) {
            Some(dropout) => self * self.tape().dropout_mask(self.shape(), &dropout),
            None => self,
        }
    }
}

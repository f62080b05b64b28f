//! Dropout of elements: the numbers that they are multiplied by, from a random stream.

use rand::RngExt;

use crate::numbers::rng::Rng;
use crate::numbers::storage::Storage;

/// Words of the stream that a draw takes.
const WORDS: u128 = 2;

/// Numbers that are 0 with probability `rate`, else `1/(1 − rate)`. Each takes a draw of its own.
#[derive(Clone, Debug)]
pub(crate) struct Dropout {
    pub(crate) rate: f64,
    /// The stream before the first draw.
    pub(crate) rng: Rng,
}

impl Dropout {
    /// What is not dropped is multiplied by this.
    pub(crate) fn kept(&self) -> f64 {
        1.0 / (1.0 - self.rate)
    }

    /// The numbers from the one at `position` on.
    #[inline(never)]
    pub(crate) fn fill<T: Storage>(&self, position: usize, numbers: &mut [T]) {
        let mut rng = self.stream_at(position);
        // Draws first, then compares: the comparing loop is vectorised. In one loop each comparison
        // would be a branch that the processor often mispredicts.
        let (mut draws, kept) = ([0.0; 64], T::nearest(self.kept()));
        for numbers in numbers.chunks_mut(draws.len()) {
            draws[..numbers.len()].fill_with(|| rng.random::<f64>());
            for (x, &draw) in numbers.iter_mut().zip(&draws) {
                *x = if draw < self.rate { T::zero() } else { kept };
            }
        }
    }

    /// The stream before the draw of the number at `position`.
    pub(crate) fn stream_at(&self, position: usize) -> Rng {
        let mut rng = self.rng.clone();
        rng.set_word_pos(self.rng.get_word_pos() + WORDS * position as u128);
        rng
    }
}

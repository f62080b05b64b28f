//! Linear combinations of the vectors of a tile.

use crate::formula::plan::BASIS;
use crate::numbers::simd::{Aligned, Block};

/// A linear combination of basis vectors of a tile.
pub(super) struct Terms<'a, S> {
    factors: [S; BASIS],
    vectors: [&'a [Aligned]; BASIS],
    count: usize,
}

impl<'a, S: Block> Terms<'a, S> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Terms { factors: [S::splat(0.0); BASIS], vectors: [&[]; BASIS], count: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, factor: S, vector: &'a [Aligned]) {
        self.factors[self.count] = factor;
        self.vectors[self.count] = vector;
        self.count += 1;
    }

    /// Writes the combination to `out`, or adds it.
    #[inline(always)]
    pub(super) fn write(&self, add: bool, out: &mut [Aligned]) {
        match self.count {
            1 => self.write_terms::<1>(add, out),
            2 => self.write_terms::<2>(add, out),
            3 => self.write_terms::<3>(add, out),
            4 => self.write_terms::<4>(add, out),
            5 => self.write_terms::<5>(add, out),
            6 => self.write_terms::<6>(add, out),
            _ => self.write_terms::<0>(add, out),
        }
    }

    /// The combination of `N` vectors, a number that is known when compiled: the factors stay in registers.
    #[inline(always)]
    fn write_terms<const N: usize>(&self, add: bool, out: &mut [Aligned]) {
        let (mut factors, mut vectors) = ([S::splat(0.0); N], [[].as_slice(); N]);
        for n in 0..N {
            (factors[n], vectors[n]) = (self.factors[n], &self.vectors[n][..out.len()]);
        }
        for c in 0..out.len() {
            let mut sum = if add { out[c].read() } else { S::splat(0.0) };
            for n in 0..N {
                sum = factors[n].mul_add(vectors[n][c].read(), sum);
            }
            out[c].write(sum);
        }
    }
}

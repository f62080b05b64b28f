//! The buffer pool: memory that a tape keeps from step to step.
//!
//! On virtual machines a page fault costs about 2.3 µs per 4 KiB, so an engine whose large buffers are
//! fresh mappings at every step spends most of its time in the kernel. A tape returns every buffer here
//! and takes it again in the next step.

use crate::Float;

/// Buffers by size class (powers of two).
#[derive(Debug)]
pub(crate) struct Pool<T> {
    classes: Vec<Vec<Vec<T>>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { classes: (0..usize::BITS).map(|_| Vec::new()).collect() }
    }
}

impl<T: Float> Pool<T> {
    /// A buffer of at least `len` elements, of unspecified content.
    pub(crate) fn take(&mut self, len: usize) -> Vec<T> {
        let class = len.next_power_of_two().trailing_zeros() as usize;
        self.classes[class].pop().unwrap_or_else(|| vec![T::zero(); 1 << class])
    }

    /// A buffer whose first `len` elements are zero.
    pub(crate) fn take_zeroed(&mut self, len: usize) -> Vec<T> {
        let mut buffer = self.take(len);
        buffer[..len].fill(T::zero());
        buffer
    }

    /// Gives a buffer back.
    pub(crate) fn give(&mut self, buffer: Vec<T>) {
        if buffer.len().is_power_of_two() {
            self.classes[buffer.len().trailing_zeros() as usize].push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused() {
        let mut pool = Pool::<f32>::default();
        let buffer = pool.take(1000);
        let address = buffer.as_ptr();
        pool.give(buffer);
        let again = pool.take(600);
        assert_eq!(again.as_ptr(), address);
        assert_eq!(pool.take_zeroed(0).len(), 1);
    }
}

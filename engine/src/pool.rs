//! The buffer pool: memory that a tape keeps from step to step.
//!
//! On virtual machines a page fault costs about 2.3 µs per 4 KiB, so an engine whose large buffers are
//! fresh mappings at every step spends most of its time in the kernel. A tape returns every buffer here
//! and takes it again in the next step.

use std::ops::{Deref, DerefMut};

use crate::Float;
use crate::elements::Elements;

/// Bytes of a tape's buffers. See [`Tape::memory`](crate::Tape::memory).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// In use by nodes and gradients.
    pub in_use: usize,
    /// The most that was in use at one time.
    pub peak: usize,
    /// In use or waiting for reuse.
    pub held: usize,
}

/// A cache line, and the widest vector register: where every buffer starts.
const ALIGNMENT: usize = 64;

/// A power of two of elements, the first at the start of a cache line.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    memory: Elements<T>,
    start: usize,
    class: u32,
}

impl<T: Float> Buffer<T> {
    fn new(class: u32) -> Self {
        let memory = Elements::<T>::zeroed((1 << class) + ALIGNMENT / size_of::<T>());
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Buffer { memory, start, class }
    }
}

impl<T: Float> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory[self.start..][..1 << self.class]
    }
}

impl<T: Float> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..][..1 << self.class]
    }
}

/// Buffers by size class (powers of two).
#[derive(Debug)]
pub(crate) struct Pool<T> {
    classes: Vec<Vec<Buffer<T>>>,
    memory: Memory,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { classes: (0..usize::BITS).map(|_| Vec::new()).collect(), memory: Memory::default() }
    }
}

impl<T: Float> Pool<T> {
    /// A buffer of at least `len` elements, of unspecified content.
    pub(crate) fn take(&mut self, len: usize) -> Buffer<T> {
        let class = len.next_power_of_two().trailing_zeros();
        let bytes = size_of::<T>() << class;
        let memory = &mut self.memory;
        memory.in_use += bytes;
        memory.peak = memory.peak.max(memory.in_use);
        self.classes[class as usize].pop().unwrap_or_else(|| {
            memory.held += bytes;
            Buffer::new(class)
        })
    }

    /// A buffer whose first `len` elements are zero.
    pub(crate) fn take_zeroed(&mut self, len: usize) -> Buffer<T> {
        let mut buffer = self.take(len);
        buffer[..len].fill(T::zero());
        buffer
    }

    /// Gives a buffer back.
    pub(crate) fn give(&mut self, buffer: Buffer<T>) {
        self.memory.in_use -= size_of_val(&*buffer);
        self.classes[buffer.class as usize].push(buffer);
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_reused_and_counted() {
        let mut pool = Pool::<f32>::default();
        let buffer = pool.take(1000);
        let address = buffer.as_ptr();
        assert_eq!(address.addr() % 64, 0);
        assert_eq!(pool.memory(), Memory { in_use: 4096, peak: 4096, held: 4096 });
        pool.give(buffer);
        assert_eq!(pool.memory(), Memory { in_use: 0, peak: 4096, held: 4096 });
        let again = pool.take(600);
        assert_eq!(again.as_ptr(), address);
        assert_eq!(pool.take_zeroed(0).len(), 1);
        assert_eq!(pool.memory(), Memory { in_use: 4100, peak: 4100, held: 4100 });
    }
}

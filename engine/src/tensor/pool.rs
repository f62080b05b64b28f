//! The buffer pool: memory that a tape keeps from step to step.
//!
//! On virtual machines a page fault costs about 2.3 µs per 4 KiB, so an engine whose large buffers are
//! fresh mappings at every step spends most of its time in the kernel. A tape returns every buffer here
//! and takes it again in the next step.

use std::ops::{Deref, DerefMut};

use crate::numbers::storage::Storage;
use crate::tensor::device::Device;
use crate::tensor::elements::Elements;
use crate::tensor::shape::elements;

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

/// Bytes of a cache line, and of the widest vector register. Every buffer starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// Elements whose number is a power of two, the first at the start of a cache line. On a device, as many
/// elements as were asked for.
#[derive(Debug)]
pub(crate) struct Buffer<T> {
    memory: Elements<T>,
    start: usize,
    len: usize,
    class: u32,
}

impl<T: Storage> Buffer<T> {
    fn new(class: u32) -> Self {
        let memory = Elements::<T>::zeroed((1 << class) + ALIGNMENT / size_of::<T>());
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Buffer { memory, start, len: 1 << class, class }
    }

    /// Its elements, for a device. On the host, they begin before the buffer does.
    #[cfg(feature = "opencl")]
    pub(crate) fn elements(&self) -> &Elements<T> {
        &self.memory
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A copy of the first `len`, where they are.
    pub(crate) fn first(&self, len: usize) -> Elements<T> {
        if self.memory.is_on_device() { self.memory.first(len) } else { Elements::from(self[..len].to_vec()) }
    }
}

#[cfg(feature = "opencl")]
impl<T: Storage> Buffer<T> {
    /// See [`Elements::on`].
    pub(crate) fn on(
        &self,
        device: &crate::tensor::device::queue::Queue,
    ) -> std::sync::Arc<crate::tensor::device::memory::Memory> {
        self.memory.on(device)
    }

    /// See [`Elements::write_on`].
    pub(crate) fn write_on(
        &mut self,
        device: &crate::tensor::device::queue::Queue,
    ) -> std::sync::Arc<crate::tensor::device::memory::Memory> {
        self.memory.write_on(device)
    }
}

impl<T: Storage> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory[self.start..][..self.len]
    }
}

impl<T: Storage> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..][..self.len]
    }
}

/// Buffers by size class (powers of two). The device itself reuses those that are on a device.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    device: Device,
    classes: Vec<Vec<Buffer<T>>>,
    memory: Memory,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool::on(Device::cpu())
    }
}

impl<T> Pool<T> {
    /// Buffers on a device.
    pub(crate) fn on(device: Device) -> Self {
        let classes = (0..usize::BITS).map(|_| Vec::new()).collect();
        Pool { device, classes, memory: Memory::default() }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}

impl<T: Storage> Pool<T> {
    /// A buffer of at least `len` elements, of unspecified content.
    #[track_caller]
    pub(crate) fn take(&mut self, len: usize) -> Buffer<T> {
        let class = elements(&[len]).next_power_of_two().trailing_zeros();
        let bytes = size_of::<T>() << class;
        let memory = &mut self.memory;
        memory.in_use += bytes;
        memory.peak = memory.peak.max(memory.in_use);
        if !self.device.is_cpu() {
            memory.held = memory.peak;
            return Buffer { memory: Elements::unwritten(len), start: 0, len, class };
        }
        self.classes[class as usize].pop().unwrap_or_else(|| {
            memory.held += bytes;
            Buffer::new(class)
        })
    }

    /// A buffer whose first `len` elements are zero.
    #[track_caller]
    pub(crate) fn take_zeroed(&mut self, len: usize) -> Buffer<T> {
        let mut buffer = self.take(len);
        buffer[..len].fill(T::zero());
        buffer
    }

    /// Gives a buffer back.
    pub(crate) fn give(&mut self, buffer: Buffer<T>) {
        self.memory.in_use -= size_of::<T>() << buffer.class;
        if self.device.is_cpu() {
            self.classes[buffer.class as usize].push(buffer);
        }
    }

    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }
}

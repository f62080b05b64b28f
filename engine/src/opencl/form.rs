//! What an operation is on a device.

use std::sync::Arc;

use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::queue::Queue;
use crate::tensor::elements::Elements;
use crate::tensor::shape::Shape;

/// A tensor as an operation on a device reads it.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a, T: Storage> {
    pub(crate) shape: &'a Shape,
    pub(crate) elements: &'a Elements<T>,
    /// The number it stands for, if it is one given in full precision.
    pub(crate) constant: Option<f64>,
}

impl<T: Storage> Array<'_, T> {
    /// Its elements on the device.
    pub(crate) fn on(&self, queue: &Queue) -> Arc<Memory> {
        self.elements.on(queue)
    }
}

/// What a forward pass on a device is given: as [`Operation::forward`](crate::Operation::forward).
pub struct Forward<'a, T: Storage> {
    pub(crate) inputs: &'a [Array<'a, T>],
    /// The shape of the result.
    pub(crate) shape: &'a Shape,
    pub(crate) out: &'a Memory,
    /// For what is kept for the reverse pass, if something is.
    pub(crate) kept: Option<&'a Memory>,
}

/// What a reverse pass on a device is given: as [`Operation::backward`](crate::Operation::backward).
pub struct Reverse<'a, T: Storage> {
    pub(crate) inputs: &'a [Array<'a, T>],
    pub(crate) out: Array<'a, T>,
    pub(crate) kept: Option<Arc<Memory>>,
    /// The gradient of the result.
    pub(crate) g: &'a Memory,
    /// Places for the gradients that are asked for, of unspecified content.
    pub(crate) grads: &'a [Option<Arc<Memory>>],
}

/// An operation on a device. It only launches kernels and waits for nothing.
pub trait OnDevice<T: Storage> {
    /// Writes the result, and what is kept for the reverse pass.
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>);

    /// Writes the gradients that are asked for.
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>);
}

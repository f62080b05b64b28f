//! The interface of an operation on a device.

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
    /// The full-precision value, if the tensor is a constant number.
    pub(crate) constant: Option<f64>,
}

impl<T: Storage> Array<'_, T> {
    /// The elements, uploaded if they are not on the device yet.
    pub(crate) fn on(&self, queue: &Queue) -> Arc<Memory> {
        self.elements.on(queue)
    }
}

/// The arguments of a forward pass, as those of [`Operation::forward`](crate::Operation::forward).
pub struct Forward<'a, T: Storage> {
    pub(crate) inputs: &'a [Array<'a, T>],
    /// The shape of the result.
    pub(crate) shape: &'a Shape,
    pub(crate) out: &'a Memory,
    /// Memory for what is kept for the reverse pass, if something is.
    pub(crate) kept: Option<&'a Memory>,
}

/// The arguments of a reverse pass, as those of [`Operation::backward`](crate::Operation::backward).
pub struct Reverse<'a, T: Storage> {
    pub(crate) inputs: &'a [Array<'a, T>],
    pub(crate) out: Array<'a, T>,
    pub(crate) kept: Option<Arc<Memory>>,
    /// The gradient of the result.
    pub(crate) g: &'a Memory,
    /// Memory for the gradients of those inputs that need one, of unspecified content.
    pub(crate) grads: &'a [Option<Arc<Memory>>],
}

/// An operation on a device. The passes launch kernels and do not wait for them.
pub trait OnDevice<T: Storage> {
    /// Writes the result, and what is kept for the reverse pass.
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>);

    /// Writes the gradients for which there is memory.
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>);
}

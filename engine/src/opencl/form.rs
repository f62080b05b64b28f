//! What an operation is on a device.

use std::sync::Arc;

use super::{Memory, Queue};
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tensor::elements::Elements;
use crate::tensor::shape::Shape;

/// A tensor as an operation on a device reads it.
#[derive(Clone, Copy)]
pub(super) struct Array<'a, T: Float> {
    pub(crate) shape: &'a Shape,
    pub(crate) elements: &'a Elements<T>,
    /// The number it stands for, if it is one given in full precision.
    pub(crate) constant: Option<f64>,
}

impl<T: Float> Array<'_, T> {
    /// Its elements on the device.
    pub(super) fn on(&self, queue: &Queue) -> Arc<Memory> {
        self.elements.on(queue)
    }
}

/// What a forward pass on a device is given: as [`Operation::forward`](crate::Operation::forward).
pub struct Forward<'a, T: Float> {
    pub(super) inputs: &'a [Array<'a, T>],
    /// The shape of the result.
    pub(super) shape: &'a Shape,
    pub(super) out: &'a Memory,
    /// For what is kept for the reverse pass, if something is.
    pub(super) kept: Option<&'a Memory>,
}

/// What a reverse pass on a device is given: as [`Operation::backward`](crate::Operation::backward).
pub struct Reverse<'a, T: Float> {
    pub(super) inputs: &'a [Array<'a, T>],
    pub(super) out: Array<'a, T>,
    pub(super) kept: Option<Arc<Memory>>,
    /// The gradient of the result.
    pub(super) g: &'a Memory,
    /// Places for the gradients that are asked for, of unspecified content.
    pub(super) grads: &'a [Option<Arc<Memory>>],
}

/// An operation on a device. It only launches kernels and waits for nothing.
pub trait OnDevice<T: Float> {
    /// Writes the result, and what is kept for the reverse pass.
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>);

    /// Writes the gradients that are asked for.
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>);
}

/// The device form of an operation. Every kernel has one. Operations of users and row functions have
/// none and are computed on the host.
pub(super) fn form<T: Float>(op: &Op<T>) -> Option<&dyn OnDevice<T>> {
    Some(match op {
        Op::Leaf | Op::Constant(_) | Op::Reshape(_) => unreachable!("nothing is computed"),
        Op::Static(operation) => return operation.on_device(),
        Op::Shared(operation) => return operation.on_device(),
        Op::Reduce(operation) => operation,
        Op::Softmax(operation) => operation,
        Op::LayerNorm(operation) => operation,
        Op::Matmul(operation) => operation,
        Op::Attend(operation) => operation,
        Op::SparseMatmul(operation) => operation,
        Op::SegmentSoftmax(operation) => operation,
        Op::SparsePairs(operation) => operation,
        Op::Conv2d(operation) => operation,
        Op::Pool2d(operation) => operation,
        Op::Gather(operation) => operation,
        Op::ScatterAdd(operation) => operation,
        Op::TakeAlong(operation) => operation,
        Op::Slice(operation) => operation,
        Op::Concat(operation) => operation,
        Op::Permute(operation) => operation,
    })
}

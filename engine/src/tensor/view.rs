//! Tensors as kernels read them.

use smallvec::SmallVec;

use crate::tensor::shape::Shape;

/// A tensor as an operation reads it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// Its shape.
    pub shape: &'a Shape,
    /// Its elements, row-major.
    pub data: &'a [T],
    /// For a constant, the `f64` that its one element is rounded from.
    pub(crate) constant: Option<f64>,
}

/// The shapes of some tensors.
pub(crate) fn shapes<'a, T>(views: &[View<'a, T>]) -> SmallVec<[&'a Shape; 6]> {
    views.iter().map(|v| v.shape).collect()
}

/// What an operation computed, as its reverse pass reads it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a, T> {
    /// The result's elements.
    pub out: &'a [T],
    /// What [`Operation::forward`](crate::Operation::forward) kept for the reverse pass.
    pub kept: &'a [T],
}

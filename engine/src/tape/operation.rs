//! What a node of a tape computes: one trait for the engine's kernels and for operations of your own.

use smallvec::SmallVec;

use crate::tape::Tape;
use crate::tape::float::Float;
use crate::tape::var::Var;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// An operation with a hand-written reverse pass.
///
/// An elementwise operation needs none: write its formula ([`MapFormula`](crate::MapFormula)); nor does an
/// operation of geometry ([`RowFormula`](crate::RowFormula)). This trait is for the rest.
///
/// ```
/// use cotangent_engine::{Float, Operation, Outcome, Shape, ShapeError, Tape, Tensor, View};
///
/// /// Running sums along the last axis: `y_i = x_0 + … + x_i`.
/// struct Cumsum;
///
/// impl<T: Float> Operation<T> for Cumsum {
///     fn name(&self) -> &'static str {
///         "cumsum"
///     }
///     fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
///         Ok(inputs[0].clone())
///     }
///     fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
///         let width = inputs[0].shape.width();
///         for (x, y) in inputs[0].data.chunks(width).zip(out.chunks_mut(width)) {
///             let mut sum = T::zero();
///             for (x, y) in x.iter().zip(y) {
///                 sum = sum + *x;
///                 *y = sum;
///             }
///         }
///     }
///     fn backward(
///         &self,
///         inputs: &[View<'_, T>],
///         _outcome: Outcome<'_, T>,
///         g: &[T],
///         grads: &mut [Option<&mut [T]>],
///     ) {
///         // x_i is in y_i and all later ones.
///         let Some(dx) = grads[0].as_deref_mut() else { return };
///         let width = inputs[0].shape.width();
///         for (g, dx) in g.chunks(width).zip(dx.chunks_mut(width)) {
///             let mut sum = T::zero();
///             for (g, dx) in g.iter().zip(dx).rev() {
///                 sum = sum + *g;
///                 *dx = sum;
///             }
///         }
///     }
/// }
///
/// static CUMSUM: Cumsum = Cumsum;
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([3], vec![1.0, 2.0, 3.0]));
/// let y = tape.operation(&CUMSUM, &[x]);
/// assert_eq!(y.to_tensor().data(), [1.0, 3.0, 6.0]);
/// let gradients = tape.backward(y.sum());
/// assert_eq!(gradients.wrt(x).data(), [3.0, 2.0, 1.0]);
/// ```
pub trait Operation<T: Float>: Send + Sync + 'static {
    /// The name shown in messages.
    fn name(&self) -> &'static str;

    /// The result's shape.
    ///
    /// # Errors
    /// What does not fit, in words, with the shapes. The tape panics with the operation's name and this
    /// message.
    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError>;

    /// How many elements the forward pass keeps for the reverse pass, besides its inputs and its result.
    fn keeps(&self, inputs: &[&Shape]) -> usize {
        let _ = inputs;
        0
    }

    /// Writes the result, every element of it, and what is kept. Buffers come with unspecified content.
    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], kept: &mut [T]);

    /// Writes the gradient of every input for which `grads` has a buffer, given the gradient `g` of the
    /// result. Buffers come with unspecified content, and every element must be written.
    fn backward(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    );

    /// How an OpenCL device computes the operation. Without such a form it is computed on the host: its
    /// inputs are read back, and its results are uploaded.
    #[cfg(feature = "opencl")]
    #[doc(hidden)]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        None
    }

    /// Forward mode: computes the tangent of the result by operations of the tape. `tangents` are those of
    /// the inputs; `None` is zero, and at least one is not `None`. [`Tape::jvp`] calls it.
    ///
    /// # Panics
    /// Unless it is implemented: an operation need not offer forward mode.
    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let _ = (inputs, out, tangents);
        panic!("{}: forward mode is not offered for this operation", self.name())
    }
}

/// The tangent of an operation that is linear in all its inputs together: the operation itself, applied
/// to the tangents.
pub(crate) fn linear_jvp<'t, T: Float>(
    inputs: &[Var<'t, T>],
    tangents: &[Option<Var<'t, T>>],
    operation: impl FnOnce(&[Var<'t, T>]) -> Var<'t, T>,
) -> Var<'t, T> {
    let tangents: SmallVec<[Var<'t, T>; 6]> = inputs
        .iter()
        .zip(tangents)
        .map(|(x, tangent)| tangent.unwrap_or_else(|| x.tape().zeros(x.shape())))
        .collect();
    operation(&tangents)
}

impl<'t, T: Float> Var<'t, T> {
    /// The sum of the terms that are not `None`; `None` if all are.
    pub(crate) fn sum_of(terms: impl IntoIterator<Item = Option<Var<'t, T>>>) -> Option<Var<'t, T>> {
        terms.into_iter().flatten().reduce(|a, b| a + b)
    }
}

impl<T: Float> Tape<T> {
    /// Applies an operation that lives as long as the program. See [`Operation`].
    ///
    /// # Panics
    /// If the shapes do not fit, or the variables are on different tapes.
    #[track_caller]
    pub fn operation<'t>(
        &'t self,
        operation: &'static dyn Operation<T>,
        inputs: &[Var<'t, T>],
    ) -> Var<'t, T> {
        self.record(crate::tape::arena::Op::Static(operation), inputs)
    }

    /// Applies an operation that carries data of its own. See [`Operation`].
    ///
    /// # Panics
    /// If the shapes do not fit, or the variables are on different tapes.
    #[track_caller]
    pub fn shared_operation<'t>(
        &'t self,
        operation: std::sync::Arc<dyn Operation<T>>,
        inputs: &[Var<'t, T>],
    ) -> Var<'t, T> {
        self.record(crate::tape::arena::Op::Shared(operation), inputs)
    }
}

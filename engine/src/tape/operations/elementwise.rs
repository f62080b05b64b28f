//! Elementwise functions that carry numbers, which may differ from call to call. Optimisers update moments
//! with them. They have no gradient.

use smallvec::SmallVec;

use crate::kernels::map::common;
use crate::numbers::scalar::Scalar;
use crate::tape::Tape;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View, shapes};

/// A function of elements. Unlike a [`MapFormula`](crate::MapFormula), it is a value and may hold numbers,
/// so that a rate that changes with every step needs no new kernel. It has no gradient.
pub trait Elementwise: Send + Sync + 'static {
    /// The name shown in messages.
    fn name(&self) -> &'static str;
    /// The function of one element of each operand.
    fn eval<S: Scalar>(&self, operands: &[S]) -> S;
}

impl<T: Float> Tape<T> {
    /// Applies an elementwise function; the operands broadcast. A backward pass through the result panics.
    ///
    /// ```
    /// use cotangent_engine::{Elementwise, Scalar, Tape, Tensor};
    ///
    /// /// `keep x + y`.
    /// struct Decay {
    ///     keep: f64,
    /// }
    ///
    /// impl Elementwise for Decay {
    ///     fn name(&self) -> &'static str {
    ///         "decay"
    ///     }
    ///     fn eval<S: Scalar>(&self, operands: &[S]) -> S {
    ///         S::constant(self.keep) * operands[0] + operands[1]
    ///     }
    /// }
    ///
    /// let tape = Tape::<f64>::new();
    /// let x = tape.constant(&Tensor::new([2], vec![1.0, 2.0]));
    /// assert_eq!(tape.elementwise(Decay { keep: 0.5 }, &[x, x]).to_tensor().data(), [1.5, 3.0]);
    /// ```
    ///
    /// # Panics
    /// If the operands do not broadcast, or are on different tapes.
    #[track_caller]
    pub fn elementwise<'t>(&'t self, function: impl Elementwise, operands: &[Var<'t, T>]) -> Var<'t, T> {
        self.shared_operation(std::sync::Arc::new(ElementwiseOperation(function)), operands)
    }
}

fn no_gradient(name: &str) -> ! {
    panic!("{name}: an elementwise function has no gradient; a MapFormula has one")
}

/// A function as an operation.
struct ElementwiseOperation<F>(F);

impl<F: Elementwise, T: Float> Operation<T> for ElementwiseOperation<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let read = |view: &View<'_, T>| {
            Broadcast::new(view.shape.axes(), shape.axes()).expect("a common shape fits all")
        };
        let reads: SmallVec<[Broadcast; 6]> = inputs.iter().map(read).collect();
        for (p, y) in out.iter_mut().enumerate() {
            let elements = inputs.iter().zip(&reads).map(|(view, read)| view.data[read.at(p)]);
            *y = self.0.eval(&elements.collect::<SmallVec<[T; 6]>>());
        }
    }

    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        no_gradient(self.0.name())
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(self)
    }
}

#[cfg(feature = "opencl")]
impl<F: Elementwise, T: Float> crate::opencl::OnDevice<T> for ElementwiseOperation<F> {
    fn forward(&self, queue: &crate::tensor::device::queue::Queue, forward: &crate::opencl::Forward<'_, T>) {
        crate::opencl::map_expression(queue, forward, |x| vec![self.0.eval(x)]);
    }

    fn backward(&self, _: &crate::tensor::device::queue::Queue, _: &crate::opencl::Reverse<'_, T>) {
        no_gradient(self.0.name())
    }
}

//! Elementwise functions with numbers of their own, which may differ from call to call: optimisers
//! compute with them on moments. No gradient flows through them.

use smallvec::SmallVec;

use crate::kernels::map::common;
use crate::numbers::scalar::Scalar;
use crate::tape::Tape;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View, shapes};

/// A function of elements: like a [`MapFormula`](crate::MapFormula), but its constants belong to the
/// value and not to the type, so a rate that changes with every step needs no new kernel.
pub trait Elementwise: Send + Sync + 'static {
    /// The name shown in messages.
    fn name(&self) -> &'static str;
    /// The function. It is given as many operands as it is applied to.
    fn eval<S: Scalar>(&self, operands: &[S]) -> S;
}

impl<T: Float> Tape<T> {
    /// Applies an elementwise function; the operands broadcast.
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
    #[track_caller]
    pub fn elementwise<'t>(&'t self, function: impl Elementwise, operands: &[Var<'t, T>]) -> Var<'t, T> {
        self.shared_operation(std::sync::Arc::new(OnTape(function)), operands)
    }
}

/// A function as an operation.
struct OnTape<F>(F);

impl<F: Elementwise, T: Float> Operation<T> for OnTape<F> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let read = |view: &View<'_, T>| Broadcast::new(view.shape, &shape).expect("a common shape fits all");
        let reads: SmallVec<[Broadcast; 6]> = inputs.iter().map(read).collect();
        for (p, y) in out.iter_mut().enumerate() {
            let at = inputs.iter().zip(&reads).map(|(view, read)| view.data[read.at(p)]);
            *y = self.0.eval(&at.collect::<SmallVec<[T; 6]>>());
        }
    }

    fn backward(&self, _: &[View<'_, T>], _: Outcome<'_, T>, _: &[T], _: &mut [Option<&mut [T]>]) {
        panic!("{}: no gradient flows through an elementwise function with numbers of its own", self.0.name())
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(self)
    }
}

#[cfg(feature = "opencl")]
impl<F: Elementwise, T: Float> crate::opencl::OnDevice<T> for OnTape<F> {
    fn forward(&self, queue: &crate::tensor::device::queue::Queue, forward: &crate::opencl::Forward<'_, T>) {
        crate::opencl::map_expression(queue, forward, |x| vec![self.0.eval(x)]);
    }

    fn backward(&self, _: &crate::tensor::device::queue::Queue, _: &crate::opencl::Reverse<'_, T>) {
        panic!("{}: no gradient flows through an elementwise function with numbers of its own", self.0.name())
    }
}

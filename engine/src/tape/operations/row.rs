//! Row formulas on the tape.

use crate::formula::plan::RowPlan;
use crate::kernels::operands::row_shape;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::operations::derivative;
use crate::tape::var::Var;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// A row formula as an operation: vector operands first, then parameters.
impl<T: Float> Operation<T> for RowPlan {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        row_shape(inputs, &|i| i < self.vectors, self.vector)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        self.compute(inputs, out);
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        self.pullback(inputs, g, grads);
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        Some(self)
    }

    #[track_caller]
    fn jvp<'t>(
        &self,
        inputs: &[Var<'t, T>],
        _out: Var<'t, T>,
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        derivative::record((self.functions.plan)(), inputs, tangents)
    }
}

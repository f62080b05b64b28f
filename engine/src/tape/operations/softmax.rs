//! Softmax and its logarithm on the tape.

use crate::kernels::reduce::Axis;
use crate::kernels::softmax::Softmax;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn softmax_along(self, axis: isize, operation: Softmax) -> Self {
        let shape = self.shape();
        let name = Operation::<T>::name(&operation);
        let (at, _) = Axis::new(&shape, axis).unwrap_or_else(|message| panic!("{name}: {message}"));
        let last = shape.rank() - 1;
        let apply = |x: Self| x.tape().record(Op::Softmax(operation), &[x]);
        if at == last { apply(self) } else { apply(self.swap_axes(at, last)).swap_axes(at, last) }
    }

    /// `exp(x) / Σ exp(x)` along an axis; a negative axis counts from the last. Never overflows. A line of
    /// −∞ gives weights 0, as of an empty set.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn softmax(self, axis: isize) -> Self {
        self.softmax_along(axis, Softmax { logarithm: false })
    }

    /// `x − ln Σ exp(x)` along an axis: the logarithm of [`softmax`](Self::softmax), accurate where that
    /// is small. A line of −∞ stays as it is.
    ///
    /// # Panics
    /// If there is no such axis.
    #[track_caller]
    pub fn log_softmax(self, axis: isize) -> Self {
        self.softmax_along(axis, Softmax { logarithm: true })
    }
}

impl<T: Float> Operation<T> for Softmax {
    fn name(&self) -> &'static str {
        if self.logarithm { "log_softmax" } else { "softmax" }
    }

    kernel_passes!(Softmax);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], out: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let last = inputs[0].shape().rank() as isize - 1;
        let row = |v: Var<'t, T>| v.insert_axis(last as usize);
        let dx = tangents[0].expect("one input, one tangent");
        if self.logarithm {
            dx - row((out.exp() * dx).sum_axis(last))
        } else {
            out * (dx - row((out * dx).sum_axis(last)))
        }
    }
}

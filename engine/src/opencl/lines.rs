//! Operations along an axis: reductions and softmax.

use std::sync::Arc;

use super::fold::{Broadcasted, DOT, Fold, INVERSE_SUM_EXP, LOG_SUM, LOG_SUM_EXP, MAX, MEAN, NORM, SUM};
use super::form::{Forward, OnDevice, Reverse};
use crate::kernels::reduce::{Axis, Reduce, Reduction};
use crate::kernels::softmax::Softmax;
use crate::numbers::norm;
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, c_type, functions};
use crate::tensor::device::queue::{Launch, Queue};
use crate::tensor::shape::{Broadcast, Shape};

/// The lines along an axis. They are described by how an operand with one element for each line is
/// broadcast.
fn lines(Axis { outer, n, inner }: Axis) -> Broadcasted {
    let read = Broadcast { repeat: 1, len: outer * inner, inner: inner.max(1), hold: n };
    Broadcasted { read, n: outer * n * inner, width: 1 }
}

/// The launch of a kernel over `count` elements or lines.
fn launch_over<'q, T: Storage>(queue: &'q Queue, name: &'static str, axis: Axis, count: usize) -> Launch<'q> {
    let source = || functions(c_type::<T>(), &[]) + include_str!("lines.cl");
    let program = queue.program::<T>(Key::new::<T>("lines", None), source);
    queue.launch(&program, name).size(count).size(axis.n).size(axis.inner)
}

fn launch<'q, T: Storage>(queue: &'q Queue, name: &'static str, axis: Axis) -> Launch<'q> {
    launch_over::<T>(queue, name, axis, axis.outer * axis.n * axis.inner)
}

/// A reduction into new memory.
fn folded<T: Storage>(
    queue: &Queue,
    fold: &Fold,
    x: &Memory,
    axis: Axis,
    given: Option<&Memory>,
) -> Arc<Memory> {
    let out = queue.take_for::<T>(&[axis.outer, axis.inner]);
    fold.run::<T>(queue, x, lines(axis), given, &out);
    out
}

impl<T: Storage> OnDevice<T> for Reduce {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let (x, axis) = (inputs[0].on(queue), self.view(inputs[0].shape).expect("checked"));
        let fold = match self.reduction {
            Reduction::Sum => SUM,
            Reduction::Mean => MEAN,
            Reduction::Norm => NORM,
            Reduction::Max => MAX,
            Reduction::LogSumExp => {
                let largest = folded::<T>(queue, &MAX, &x, axis, None);
                return LOG_SUM_EXP.run::<T>(queue, &x, lines(axis), Some(&largest), out);
            }
        };
        fold.run::<T>(queue, &x, lines(axis), None, out);
        if self.reduction == Reduction::Norm {
            // The roots of the least sums of squares that have all their digits, in `f64` and in `f32`.
            let least = if queue.has_f64() { norm::LEAST_SQUARE.sqrt() } else { 2f64.powi(-50) };
            let count = axis.outer * axis.inner;
            let launch = launch_over::<T>(queue, "scaled_norm", axis, count).number(least);
            launch.memory(&x).memory(out).over(count);
        }
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let (input, g) = (&reverse.inputs[0], reverse.g);
        let axis = self.view(input.shape).expect("checked");
        let name = match self.reduction {
            Reduction::Sum | Reduction::Mean => {
                let scale = if self.reduction == Reduction::Sum { 1.0 } else { 1.0 / axis.n as f64 };
                let launch = launch::<T>(queue, "sum_gradient", axis).memory(g).number(scale).memory(dx);
                return launch.over(input.shape.elements());
            }
            Reduction::LogSumExp => "logsumexp_gradient",
            Reduction::Norm => "norm_gradient",
            Reduction::Max => "max_gradient",
        };
        let launch = launch::<T>(queue, name, axis).memory(g).keep(input.on(queue));
        launch.keep(reverse.out.on(queue)).memory(dx).over(input.shape.elements());
    }
}

impl<T: Storage> OnDevice<T> for Softmax {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let (x, axis) = (inputs[0].on(queue), rows(shape));
        let largest = folded::<T>(queue, &MAX, &x, axis, None);
        let (name, fold) =
            if self.logarithm { ("log_softmax", LOG_SUM) } else { ("softmax", INVERSE_SUM_EXP) };
        let sums = folded::<T>(queue, &fold, &x, axis, Some(&largest));
        let launch = launch::<T>(queue, name, axis).memory(&x).memory(&largest).memory(&sums);
        launch.memory(out).over(shape.elements());
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let (y, g, axis) = (reverse.out.on(queue), reverse.g, rows(reverse.out.shape));
        let (name, sums) = if self.logarithm {
            ("log_softmax_gradient", folded::<T>(queue, &SUM, g, axis, None))
        } else {
            ("softmax_gradient", folded::<T>(queue, &DOT, &y, axis, Some(g)))
        };
        let launch = launch::<T>(queue, name, axis).memory(&y).memory(g).memory(&sums);
        launch.memory(dx).over(reverse.out.shape.elements());
    }
}

/// The rows of a tensor as lines.
fn rows(shape: &Shape) -> Axis {
    Axis { outer: shape.elements() / shape.width().max(1), n: shape.width(), inner: 1 }
}

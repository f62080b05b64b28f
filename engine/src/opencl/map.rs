//! The `map` kernel: elementwise formulas.

use std::sync::Arc;

use smallvec::SmallVec;

use super::fold::{Broadcasted, SUM};
use super::form::{Array, Forward, OnDevice, Reverse};
use crate::formula::map::MapForm;
use crate::numbers::storage::Storage;
use crate::numbers::trace::{Expression, Trace};
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, c_type, functions};
use crate::tensor::device::queue::{Launch, Queue};
use crate::tensor::shape::{Broadcast, Shape};

/// The source of a kernel for an expression over operands: for its values, or for the operands' gradients.
fn source<T: Storage>(operands: usize, forward: bool, expression: Expression) -> String {
    let each = |separator: &str, text: &dyn Fn(usize) -> String| {
        (0..operands).map(text).collect::<Vec<_>>().join(separator)
    };
    let declared = each(", ", &|k| format!("__global const elem *x{k}, wide c{k}, ulong4 r{k}"));
    let load = each("; ", &|k| format!("in[{k}] = x{k} ? x{k}[at(r{k}, p)] : (elem)c{k}"));
    let grads = each(", ", &|k| format!("__global elem *d{k}"));
    let store = each("; ", &|k| format!("if (d{k}) d{k}[p] = slope[{k}] * (g)"));
    format!(
        "{}\n{}#define K {operands}\n#define OPERANDS {declared}\n#define LOAD(in, p) {load}\n\
         #define GRADS {grads}\n#define STORE(slope, g, p) {store}\n{}",
        functions(c_type::<T>(), &[(if forward { "value" } else { "slopes" }, expression)]),
        if forward { "#define FORWARD\n" } else { "" },
        include_str!("map.cl"),
    )
}

/// Computes an expression over operands that broadcast. Its constants are arguments of the kernel, which is
/// compiled once for all their values.
pub(crate) fn map_expression<T: Storage>(
    queue: &Queue,
    forward: &Forward<'_, T>,
    expression: impl FnOnce(&[Trace<T>]) -> Vec<Trace<T>>,
) {
    let &Forward { inputs, shape, out, .. } = forward;
    let expression = Expression::trace_as::<T>(inputs.len(), expression);
    let (expression, constants) = expression.with_arguments_for_constants();
    let key = Key { fingerprint: expression.fingerprint(), ..Key::new::<T>("elementwise", None) };
    let program = queue.program::<T>(key, || source::<T>(inputs.len() + constants.len(), true, expression));
    let launch = queue.launch(&program, "forward").size(shape.elements()).memory(out);
    let mut launch = operands(launch, queue, inputs, shape);
    for constant in constants {
        launch = launch.optional(None).number(constant).broadcast(Broadcast::cycled(1));
    }
    launch.over(shape.elements());
}

/// Adds the operands to the arguments of a launch.
fn operands<'q, T: Storage>(
    mut launch: Launch<'q>,
    queue: &Queue,
    inputs: &[Array<'_, T>],
    shape: &Shape,
) -> Launch<'q> {
    for input in inputs {
        let read = Broadcast::new(input.shape.axes(), shape.axes());
        let read = read.expect("shapes were checked when the node was made");
        let memory = input.constant.is_none().then(|| input.on(queue));
        launch = launch.keep_optional(memory).number(input.constant.unwrap_or(0.0)).broadcast(read);
    }
    launch
}

impl<T: Storage> OnDevice<T> for MapForm {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let key = Key::new::<T>("map forward", Some((self.formula)()));
        let program = queue.program::<T>(key, || source::<T>(self.operands, true, (self.value)()));
        let launch = queue.launch(&program, "forward").size(shape.elements()).memory(out);
        operands(launch, queue, inputs, shape).over(shape.elements());
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (shape, n) = (reverse.out.shape, reverse.out.shape.elements());
        let key = Key::new::<T>("map backward", Some((self.formula)()));
        let program = queue.program::<T>(key, || source::<T>(self.operands, false, (self.slopes)()));
        let launch = queue.launch(&program, "backward").size(n).memory(reverse.g);
        let mut launch = operands(launch, queue, reverse.inputs, shape);
        // The gradient of an operand that is read in full is written in place. The others are written for
        // each output position and then summed.
        let mut sums: SmallVec<[(Broadcast, Arc<Memory>, &Memory); 6]> = SmallVec::new();
        for (input, grad) in reverse.inputs.iter().zip(reverse.grads) {
            let read = Broadcast::new(input.shape.axes(), shape.axes()).expect("checked");
            match grad {
                Some(grad) if !read.is_full(n) => {
                    let all = queue.take_for::<T>(&[n]);
                    launch = launch.keep(Arc::clone(&all));
                    sums.push((read, all, grad));
                }
                grad => launch = launch.optional(grad.as_deref()),
            }
        }
        launch.over(n);
        for (read, all, grad) in sums {
            SUM.run::<T>(queue, &all, Broadcasted { read, n, width: 1 }, None, grad);
        }
    }
}

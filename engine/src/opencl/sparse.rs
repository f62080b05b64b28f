//! The `sparse` kernel: products, softmax and scores at the elements of sparse matrices.

use std::sync::Arc;

use super::form::{Array, Forward, OnDevice, Reverse};
use super::index;
use super::pair::{Operand, Tile, operands};
use crate::formula::pair::{PairForm, Pairing};
use crate::kernels::pair::Sizes;
use crate::kernels::sparse::{SegmentSoftmax, SparseMatmul, SparsePairs};
use crate::numbers::storage::Storage;
use crate::tensor::device::copies;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program, c_type, functions};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::Shape;
use crate::tensor::sparsity::{Lists, Sparsity};

fn program<T: Storage>(queue: &Queue) -> Arc<Program> {
    let source = || functions(c_type::<T>(), &[]) + include_str!("sparse.cl");
    queue.program::<T>(Key::new::<T>("sparse", None), source)
}

/// For each row of `lists`, a sum over its elements, as on the host. Without `own`, of weighted other rows;
/// with `own`, of twice the weighted differences `own − other`; without either, of the weights.
fn products<T: Storage>(
    queue: &Queue,
    lists: &Lists,
    [heads, width]: [usize; 2],
    w: &Memory,
    [others, own]: [Option<&Memory>; 2],
    out: &Memory,
) {
    let n = lists.len() * heads * width;
    let numbers = [&lists.starts, &lists.elements, &lists.others].map(|numbers| numbers.on(queue));
    let mut launch = queue.launch(&program::<T>(queue), "products").size(n).size(heads).size(width);
    for numbers in &numbers {
        launch = launch.memory(numbers);
    }
    launch.memory(w).optional(others).optional(own).memory(out).over(n);
}

/// The row numbers and the column numbers of the elements.
fn pairs(queue: &Queue, sparsity: &Sparsity) -> [Arc<Memory>; 2] {
    sparsity.ends().map(|numbers| numbers.on(queue))
}

/// The pairing of the left and the right row of each element, for each head.
fn sampled<T: Storage>(
    queue: &Queue,
    [rows, columns]: &[Arc<Memory>; 2],
    pairing: Pairing,
    [n, heads, width]: [usize; 3],
    [x, y]: [&Memory; 2],
    out: &Memory,
) {
    let launch = queue.launch(&program::<T>(queue), "sampled").size(n).size(heads).size(width);
    let launch = launch.size(usize::from(pairing == Pairing::SquaredDistance));
    launch.memory(rows).memory(columns).memory(x).memory(y).memory(out).over(n);
}

impl<T: Storage> OnDevice<T> for SparseMatmul {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let (sizes, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let [w, x] = [&inputs[0], &inputs[1]].map(|input| input.on(queue));
        products::<T>(queue, self.sparsity.by_row(), sizes, &w, [Some(&x), None], out);
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let &Reverse { inputs, grads, g, .. } = reverse;
        let (sizes, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let [w, x] = [&inputs[0], &inputs[1]].map(|input| input.on(queue));
        if let Some(weights) = &grads[0] {
            let sizes = [inputs[0].shape.elements(), sizes[0], sizes[1]];
            let pairs = pairs(queue, &self.sparsity);
            sampled::<T>(queue, &pairs, Pairing::Dot, sizes, [g, &x], weights);
        }
        if let Some(dense) = &grads[1] {
            products::<T>(queue, self.sparsity.by_column(), sizes, &w, [Some(g), None], dense);
        }
    }
}

impl<T: Storage> OnDevice<T> for SegmentSoftmax {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let lists = self.sparsity.by_row();
        let heads = SegmentSoftmax::heads(inputs[0].shape);
        let (n, starts) = (lists.len() * heads, lists.starts.on(queue));
        let launch = queue.launch(&program::<T>(queue), "segment_softmax").size(n).size(heads);
        launch.memory(&starts).memory(&inputs[0].on(queue)).memory(out).over(n);
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let lists = self.sparsity.by_row();
        let heads = SegmentSoftmax::heads(reverse.out.shape);
        let (n, starts, y) = (lists.len() * heads, lists.starts.on(queue), reverse.out.on(queue));
        let launch = queue.launch(&program::<T>(queue), "segment_softmax_gradient").size(n).size(heads);
        launch.memory(&starts).memory(&y).memory(reverse.g).memory(dx).over(n);
    }
}

/// Pairs of one left and one right row each, as a batch of `count` entries.
fn matched(count: usize) -> Tile {
    Tile { sizes: Sizes { batch: count, n: 1, m: 1, width: 1 }, start: 0, columns: 1 }
}

impl<T: Storage> SparsePairs<T> {
    /// The form of the score, heads and width, and rows and columns of the elements.
    fn parts(
        &self,
        queue: &Queue,
        inputs: &[Array<'_, T>],
    ) -> (&'static PairForm, [usize; 2], [Arc<Memory>; 2]) {
        let shapes: Vec<&Shape> = inputs.iter().map(|input| input.shape).collect();
        (self.score.form(), self.sizes(&shapes).expect("checked").0, pairs(queue, &self.sparsity))
    }

    /// The numbers of the rows of each element, then the parameters.
    fn operands(
        &self,
        queue: &Queue,
        inputs: &[Array<'_, T>],
        [rows, columns]: &[Arc<Memory>; 2],
        heads: usize,
        n: usize,
    ) -> Vec<Operand> {
        let [l, r, _] = self.score.counts();
        let of_element = |(k, input): (usize, &Array<'_, T>)| {
            let numbers = queue.take_for::<T>(&[n]);
            let ends = if k < l { rows } else { columns };
            index::gather::<T>(queue, &input.on(queue), ends, [n, heads], &numbers);
            Operand { memory: Some(numbers), number: 0.0, count: n }
        };
        let (numbers, params) = inputs[2..].split_at(l + r);
        numbers.iter().enumerate().map(of_element).chain(operands(queue, params)).collect()
    }
}

impl<T: Storage> OnDevice<T> for SparsePairs<T> {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let (form, [heads, width], pairs) = self.parts(queue, inputs);
        let n = shape.elements();
        let [x, y] = [&inputs[0], &inputs[1]].map(|input| input.on(queue));
        sampled::<T>(queue, &pairs, self.score.pairing(), [n, heads, width], [&x, &y], out);
        form.score::<T>(queue, matched(n), &self.operands(queue, inputs, &pairs, heads, n), false, out);
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let &Reverse { inputs, grads, g, .. } = reverse;
        let (form, [heads, width], pairs) = self.parts(queue, inputs);
        let n = reverse.out.shape.elements();
        let rows = [&inputs[0], &inputs[1]].map(|input| input.on(queue));
        let [x, y] = rows.each_ref().map(|rows| &**rows);
        let [s, w] = [(); 2].map(|_| queue.take_for::<T>(&[n]));
        sampled::<T>(queue, &pairs, self.score.pairing(), [n, heads, width], [x, y], &s);
        copies::copy::<T>(queue, g, &w, n);
        let [l, r, _] = self.score.counts();
        // The numbers first have a gradient for each element. These are then summed over the elements of a
        // row.
        let each: Vec<Option<Arc<Memory>>> = grads[2..]
            .iter()
            .enumerate()
            .map(|(k, grad)| {
                let grad = grad.as_ref()?;
                Some(if k < l + r { queue.take_for::<T>(&[n]) } else { Arc::clone(grad) })
            })
            .collect();
        let operands = self.operands(queue, inputs, &pairs, heads, n);
        form.slopes::<T>(queue, matched(n), &operands, [&s, &w], &each);
        let lists = [self.sparsity.by_row(), self.sparsity.by_column()];
        for (k, (grad, each)) in grads[2..2 + l + r].iter().zip(&each).enumerate() {
            if let (Some(grad), Some(each)) = (grad, each) {
                products::<T>(queue, lists[usize::from(k >= l)], [heads, 1], each, [None, None], grad);
            }
        }
        for (k, [own, others]) in [[x, y], [y, x]].into_iter().enumerate() {
            if let Some(grad) = &grads[k] {
                let own = (self.score.pairing() == Pairing::SquaredDistance).then_some(own);
                products::<T>(queue, lists[k], [heads, width], &w, [Some(others), own], grad);
            }
        }
    }
}

//! The `index` kernel: gather, scatter, slice, concatenation, order of axes, largest elements.

use std::sync::Arc;

use super::form::{Array, Forward, OnDevice, Reverse};
use super::scalar::PLAIN;
use crate::kernels::index::{Concat, Gather, Permute, ScatterAdd, Slice, TakeAlong};
use crate::kernels::reduce::Axis;
use crate::numbers::storage::Storage;
use crate::tensor::device::copies::by_row;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::{Shape, elements, row_numbers};

fn program<T: Storage>(queue: &Queue) -> Arc<Program> {
    queue.program::<T>(Key::new::<T>("index", None), || include_str!("index.cl").to_owned())
}

/// Writes zeros.
pub(crate) fn fill<T: Storage>(queue: &Queue, x: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "fill").size(len).memory(x).over(len);
}

/// `sum += g`.
pub(crate) fn add<T: Storage>(queue: &Queue, sum: &Memory, g: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "add").size(len).memory(sum).memory(g).over(len);
}

/// `table[rows[i]] += g[i]`, in the order of `i` for each row.
pub(crate) fn scatter_add<T: Storage>(queue: &Queue, g: &Memory, rows: &[u32], width: usize, table: &Memory) {
    segments::<T>(queue, g, rows, width, usize::MAX, table);
}

/// As [`scatter_add`], but rows from number `fresh` on are overwritten: their old content is unspecified.
/// One work-item computes one element of a row.
pub(crate) fn segments<T: Storage>(
    queue: &Queue,
    g: &Memory,
    rows: &[u32],
    width: usize,
    fresh: usize,
    table: &Memory,
) {
    let entries = by_row(rows);
    let (mut targets, mut offsets): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let positions = row_numbers(entries.len());
    for (k, &i) in positions.clone().zip(&entries) {
        if targets.last() != Some(&rows[i as usize]) {
            targets.push(rows[i as usize]);
            offsets.push(k);
        }
    }
    offsets.push(positions.end);
    let n = targets.len() * width;
    let [targets, offsets, entries] =
        [targets, offsets, entries].map(|numbers| queue.upload(bytemuck::cast_slice(&numbers)));
    let launch = queue.launch(&program::<T>(queue), "segments").size(n).size(width).size(fresh);
    launch.memory(&targets).memory(&offsets).memory(&entries).memory(g).memory(table).over(n);
}

/// The entries `rows` of a table. `n` elements are written, `width` for each entry.
pub(crate) fn gather<T: Storage>(
    queue: &Queue,
    x: &Memory,
    rows: &Memory,
    [n, width]: [usize; 2],
    out: &Memory,
) {
    let launch = queue.launch(&program::<T>(queue), "gather").size(n).size(width);
    launch.memory(rows).memory(x).memory(out).over(n);
}

/// Copies between runs of `whole` elements and parts of them, `take` elements from `start` on.
///
/// | kernel | what it does | `n` |
/// |---|---|---|
/// | `slice` | copies the runs to the parts | elements of all parts |
/// | `paste` | copies the parts to the runs | elements of all parts |
/// | `unslice` | the same as `paste`, with zeros beside the parts | elements of all runs |
pub(crate) fn part<T: Storage>(
    queue: &Queue,
    kernel: &'static str,
    n: usize,
    [take, whole, start]: [usize; 3],
    from: &Memory,
    to: &Memory,
) {
    let launch = queue.launch(&program::<T>(queue), kernel).size(n).size(take).size(whole).size(start);
    launch.memory(from).memory(to).over(n);
}

/// The positions of the `k` largest elements of each row, in descending order, read back.
pub(crate) fn top_k<T: Storage>(queue: &Queue, x: &Memory, [rows, width, k]: [usize; 3]) -> Vec<u32> {
    let team = queue.team(0);
    let source = || PLAIN.to_owned() + &team.source() + include_str!("top_k.cl");
    let program = queue.program::<T>(Key::new::<T>("top_k", None), source);
    let mut columns = vec![0_u32; elements(&[rows, k])];
    let out = queue.take_for::<u32>(&[rows, k]);
    let launch = queue.launch(&program, "top_k").size(rows).size(width).size(k);
    launch.memory(x).memory(&out).over_rows(team, rows);
    queue.read(&out, bytemuck::cast_slice_mut(&mut columns));
    columns
}

/// A tensor with its axes in another order.
fn permute<T: Storage>(queue: &Queue, x: &Memory, shape: &[usize], axes: &[usize], out: &Memory) {
    let n = shape.iter().product();
    let step = |a: usize| shape[a + 1..].iter().product::<usize>() as u64;
    let extents: Vec<u64> = axes.iter().map(|&a| shape[a] as u64).collect();
    let steps: Vec<u64> = axes.iter().map(|&a| step(a)).collect();
    let [extents, steps] = [extents, steps].map(|numbers| queue.upload(bytemuck::cast_slice(&numbers)));
    let launch = queue.launch(&program::<T>(queue), "permute").size(n).size(axes.len());
    launch.memory(&extents).memory(&steps).memory(x).memory(out).over(n);
}

impl<T: Storage> OnDevice<T> for Gather {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let (width, rows) =
            (shape.elements() / self.rows.len().max(1), queue.upload(bytemuck::cast_slice(&self.rows)));
        gather::<T>(queue, &inputs[0].on(queue), &rows, [shape.elements(), width], out);
    }
    fn backward(&self, _: &Queue, _: &Reverse<'_, T>) {
        unreachable!("the tape sums the gradient into the table's own, row-sparse where it can be")
    }
}

impl<T: Storage> OnDevice<T> for ScatterAdd {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let width = inputs[0].shape.elements() / self.rows.len().max(1);
        fill::<T>(queue, out, shape.elements());
        scatter_add::<T>(queue, &inputs[0].on(queue), &self.rows, width, out);
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let n = reverse.inputs[0].shape.elements();
        let (width, rows) = (n / self.rows.len().max(1), queue.upload(bytemuck::cast_slice(&self.rows)));
        gather::<T>(queue, reverse.g, &rows, [n, width], dx);
    }
}

impl<T: Storage> OnDevice<T> for TakeAlong {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let ((width, take), columns) =
            (self.widths(inputs[0].shape), queue.upload(bytemuck::cast_slice(&self.columns)));
        let launch =
            queue.launch(&program::<T>(queue), "take_along").size(shape.elements()).size(take).size(width);
        launch.memory(&columns).memory(&inputs[0].on(queue)).memory(out).over(shape.elements());
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let shape = reverse.inputs[0].shape;
        let ((width, take), rows) = (self.widths(shape), shape.elements() / shape.width().max(1));
        let columns = queue.upload(bytemuck::cast_slice(&self.columns));
        let launch = queue.launch(&program::<T>(queue), "take_along_gradient");
        let launch = launch.size(rows).size(take).size(width);
        launch.memory(&columns).memory(reverse.g).memory(dx).over(rows);
    }
}

impl Slice {
    /// The sizes for [`part`].
    fn sizes(&self, shape: &Shape) -> [usize; 3] {
        let (_, Axis { n, inner, .. }) = Axis::new(shape, self.axis).expect("checked");
        [self.range.len() * inner, n * inner, self.range.start * inner]
    }
}

impl<T: Storage> OnDevice<T> for Slice {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let sizes = self.sizes(inputs[0].shape);
        part::<T>(queue, "slice", shape.elements(), sizes, &inputs[0].on(queue), out);
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        let shape = reverse.inputs[0].shape;
        part::<T>(queue, "unslice", shape.elements(), self.sizes(shape), reverse.g, dx);
    }
}

impl Concat {
    /// For each input, the sizes for [`part`].
    fn sizes<T: Storage>(&self, inputs: &[Array<'_, T>], shape: &Shape) -> Vec<[usize; 3]> {
        let (_, Axis { n, inner, .. }) = Axis::new(shape, self.axis).expect("checked");
        let mut start = 0;
        let mut next = |input: &Array<'_, T>| {
            let take = Axis::new(input.shape, self.axis).expect("checked").1.n * inner;
            start += take;
            [take, n * inner, start - take]
        };
        inputs.iter().map(&mut next).collect()
    }
}

impl<T: Storage> OnDevice<T> for Concat {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        for (input, sizes) in inputs.iter().zip(self.sizes(inputs, shape)) {
            part::<T>(queue, "paste", input.shape.elements(), sizes, &input.on(queue), out);
        }
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let sizes = self.sizes(reverse.inputs, reverse.out.shape);
        for ((input, grad), sizes) in reverse.inputs.iter().zip(reverse.grads).zip(sizes) {
            if let Some(dx) = grad {
                part::<T>(queue, "slice", input.shape.elements(), sizes, reverse.g, dx);
            }
        }
    }
}

impl<T: Storage> OnDevice<T> for Permute {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        permute::<T>(queue, &inputs[0].on(queue), inputs[0].shape.axes(), &self.axes, out);
    }
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let Some(dx) = &reverse.grads[0] else { return };
        permute::<T>(queue, reverse.g, reverse.out.shape.axes(), &self.inverse(), dx);
    }
}

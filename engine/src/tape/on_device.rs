//! The tape's two passes over nodes whose values are on a device.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::dropout::Dropout;
use crate::kernels::index::{Gather, SparseRows, UNTOUCHED};
use crate::opencl::{Array, Forward, OnDevice, Reverse, index, random};
use crate::tape::arena::{Arena, Cotangent, Op, check_gradients};
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tensor::device::copies;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::queue::Queue;
use crate::tensor::pool::Buffer;
use crate::tensor::shape::Shape;

impl<T: Float> Arena<T> {
    fn queue(&self) -> Option<Queue> {
        self.pool.device().queue().cloned()
    }

    fn array(&self, id: u32) -> Array<'_, T> {
        let constant = match self.nodes[id as usize].op {
            Op::Constant(value) => Some(value),
            _ => None,
        };
        Array { shape: self.shape(id), elements: self.elements(id), constant }
    }

    fn arrays(&self, ids: &[u32]) -> SmallVec<[Array<'_, T>; 6]> {
        ids.iter().map(|&id| self.array(id)).collect()
    }

    /// Computes an operation on the tape's device. `false` if there is no device, or the operation has no
    /// form for it.
    pub(crate) fn forward_on_device(
        &self,
        op: &Op<T>,
        inputs: &[u32],
        shape: &Shape,
        out: &mut Buffer<T>,
        kept: Option<&mut Buffer<T>>,
    ) -> bool {
        let Some((queue, form)) = self.queue().zip(form(op)) else { return false };
        let kept = kept.map(|kept| kept.write_on(&queue));
        let (inputs, out) = (self.arrays(inputs), out.write_on(&queue));
        form.forward(&queue, &Forward { inputs: &inputs, shape, out: &out, kept: kept.as_deref() });
        true
    }

    /// One node of the backward pass on the tape's device. `false` if there is no device, or the
    /// operation has no form.
    pub(crate) fn propagate_on_device(&mut self, id: usize, g: &Buffer<T>) -> bool {
        let Some(queue) = self.queue() else { return false };
        if let Op::Gather(Gather { rows }) = &mut self.nodes[id].op {
            let (rows, input) = (std::mem::take(rows), self.nodes[id].inputs[0]);
            self.accumulate_rows_on_device(&queue, input, &g.on(&queue), &rows);
            self.index_buffers.push(rows);
            return true;
        }
        if form(&self.nodes[id].op).is_none() {
            return false;
        }
        let inputs = self.nodes[id].inputs.clone();
        let mut buffers: SmallVec<[Option<Buffer<T>>; 6]> = SmallVec::new();
        for &input in &inputs {
            let node = &self.nodes[input as usize];
            buffers.push(node.needs_gradient.then(|| self.pool.take(node.shape.elements())));
        }
        let grads: SmallVec<[Option<Arc<Memory>>; 6]> =
            buffers.iter_mut().map(|b| b.as_mut().map(|b| b.write_on(&queue))).collect();
        let node = &self.nodes[id];
        let arrays = self.arrays(&inputs);
        let reverse = Reverse {
            inputs: &arrays,
            out: self.array(id as u32),
            kept: node.kept.as_ref().map(|(kept, _)| kept.on(&queue)),
            g: &g.on(&queue),
            grads: &grads,
        };
        form(&node.op).expect("found above").backward(&queue, &reverse);
        drop(arrays);
        if self.checked {
            check_gradients(node, buffers.iter().map(|buffer| buffer.as_deref()));
        }
        for (&input, buffer) in inputs.iter().zip(buffers) {
            if let Some(buffer) = buffer {
                self.accumulate(input, buffer);
            }
        }
        true
    }

    /// Draws a mask of [`dropout`](crate::Var::dropout) on the tape's device. `false` if there is none.
    pub(crate) fn dropout_on_device(&self, dropout: &Dropout, len: usize, mask: &mut Buffer<T>) -> bool {
        let Some(queue) = self.queue() else { return false };
        random::dropout::<T>(&queue, dropout, len, &mask.write_on(&queue));
        true
    }

    /// The positions of the `k` largest elements of each row of a node, on the tape's device, if it has one.
    pub(crate) fn top_k_on_device(&self, id: u32, k: usize) -> Option<Vec<u32>> {
        let (queue, shape) = (self.queue()?, self.shape(id));
        let rows = shape.elements() / shape.width().max(1);
        Some(index::top_k::<T>(&queue, &self.elements(id).on(&queue), [rows, shape.width(), k]))
    }

    /// `sum += g` on the tape's device. `false` if there is none.
    pub(crate) fn add_on_device(&self, sum: &mut Buffer<T>, g: &Buffer<T>, len: usize) -> bool {
        let Some(queue) = self.queue() else { return false };
        index::add::<T>(&queue, &sum.write_on(&queue), &g.on(&queue), len);
        true
    }

    /// `table[rows[i]] += g[i]` for a row-sparse gradient, on the tape's device. `false` if there is none.
    pub(crate) fn scatter_on_device(&self, rows: &SparseRows<T>, table: &mut Buffer<T>) -> bool {
        let Some(queue) = self.queue() else { return false };
        let (g, table) = (rows.values.on(&queue), table.write_on(&queue));
        index::scatter_add::<T>(&queue, &g, &rows.rows, rows.width, &table);
        true
    }

    /// As `accumulate_rows` on the host, with the rows in the same order: row-sparse for a leaf `[n, d]`,
    /// else dense.
    fn accumulate_rows_on_device(&mut self, queue: &Queue, id: u32, g: &Memory, rows: &[u32]) {
        let node = &self.nodes[id as usize];
        let (len, table_rows) = (node.shape.elements(), node.shape[0]);
        let width = len / table_rows.max(1);
        let is_table = node.is_table();
        let mut sparse = match self.cotangents[id as usize].take() {
            None if is_table => {
                let mut slots = self.slot_buffers.pop().unwrap_or_default();
                slots.resize(table_rows.max(slots.len()), UNTOUCHED);
                let values = self.pool.take(rows.len() * width);
                SparseRows { rows: self.indices(&[]), values, width, slots }
            }
            Some(Cotangent::Rows(sparse)) => sparse,
            other => {
                let mut sum = match other {
                    Some(Cotangent::Dense(sum)) => sum,
                    _ => {
                        let mut zeros = self.pool.take(len);
                        index::fill::<T>(queue, &zeros.write_on(queue), len);
                        zeros
                    }
                };
                index::scatter_add::<T>(queue, g, rows, width, &sum.write_on(queue));
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
                return;
            }
        };
        let before = sparse.rows.len();
        let mut slots = self.indices(&[]);
        for &row in rows {
            let next = sparse.next();
            let slot = &mut sparse.slots[row as usize];
            if *slot == UNTOUCHED {
                *slot = next;
                sparse.rows.push(row);
            }
            slots.push(*slot);
        }
        let room = sparse.rows.len() * width;
        if sparse.values.len() < room {
            let mut larger = self.pool.take(room.max(2 * sparse.values.len()));
            copies::copy::<T>(queue, &sparse.values.on(queue), &larger.write_on(queue), before * width);
            self.pool.give(std::mem::replace(&mut sparse.values, larger));
        }
        index::segments::<T>(queue, g, &slots, width, before, &sparse.values.write_on(queue));
        self.index_buffers.push(slots);
        self.cotangents[id as usize] = Some(Cotangent::Rows(sparse));
    }
}

/// The device form of an operation. Every kernel of the engine has one. Operations of users and row
/// functions have none and are computed on the host.
fn form<T: Float>(op: &Op<T>) -> Option<&dyn OnDevice<T>> {
    Some(match op {
        Op::Leaf | Op::Constant(_) | Op::Reshape(_) => unreachable!("nothing is computed"),
        Op::Map(kernel) => return kernel.on_device(),
        Op::Row(plan) => return Operation::<T>::on_device(*plan),
        Op::Pair(kernels) => return kernels.on_device(),
        Op::Static(operation) => return operation.on_device(),
        Op::Shared(operation) => return operation.on_device(),
        Op::Reduce(operation) => operation,
        Op::Softmax(operation) => operation,
        Op::LayerNorm(operation) => operation,
        Op::Matmul(operation) => operation,
        Op::Attend(operation) => operation,
        Op::SparseMatmul(operation) => operation,
        Op::SegmentSoftmax(operation) => operation,
        Op::SparsePairs(operation) => operation,
        Op::Conv2d(operation) => operation,
        Op::Pool2d(operation) => operation,
        Op::Gather(operation) => operation,
        Op::ScatterAdd(operation) => operation,
        Op::TakeAlong(operation) => operation,
        Op::Slice(operation) => operation,
        Op::Concat(operation) => operation,
        Op::Permute(operation) => operation,
    })
}

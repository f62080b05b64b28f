//! The tape's memory: nodes in the order of computation, and the reverse pass through one of them.
//!
//! The first gradient of a node is moved in, later ones accumulate in place, and what is no longer needed goes
//! back to the buffer pool at once.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::gradients::Gradient;
use crate::kernels::gram::{Operand, RowKernel};
use crate::kernels::index::{self, SparseRows, UNTOUCHED};
use crate::kernels::map::{Elements, MapKernel};
use crate::kernels::reduce::{self, Axis, Reduction};
use crate::pool::Pool;
use crate::shape::Broadcast;
use crate::tape::ParamId;
use crate::{Float, Shape};

/// What computed a node.
pub(crate) enum Op<T: Float> {
    /// Given from outside.
    Leaf,
    /// A number, kept in full precision for the row formulas.
    Constant(f64),
    Map(&'static dyn MapKernel<T>),
    /// A row formula: how many of the inputs are vectors, and their width.
    Gram(&'static dyn RowKernel<T>, usize, usize),
    Reduce(Reduction, Axis),
    /// Row numbers.
    Gather(Vec<u32>),
    /// Part of an axis, from this position on.
    Slice(Axis, usize),
    Reshape,
}

impl<T: Float> Op<T> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Leaf => "leaf",
            Op::Constant(_) => "constant",
            Op::Map(kernel) => kernel.name(),
            Op::Gram(kernel, ..) => kernel.name(),
            Op::Reduce(reduction, _) => reduction.name(),
            Op::Gather(_) => "gather",
            Op::Slice(..) => "slice",
            Op::Reshape => "reshape",
        }
    }
}

/// Where a node's elements are. Pooled buffers are longer than the node: its shape says how much counts.
pub(crate) enum Value<T> {
    Owned(Vec<T>),
    Shared(Arc<Vec<T>>),
    /// The elements of an earlier node.
    Alias(u32),
    /// Given back by the backward pass.
    Released,
}

pub(crate) struct Node<T: Float> {
    pub(crate) op: Op<T>,
    pub(crate) inputs: SmallVec<[u32; 4]>,
    pub(crate) shape: Shape,
    pub(crate) value: Value<T>,
    pub(crate) needs_gradient: bool,
    pub(crate) param: Option<ParamId>,
}

/// The gradient of a node while the backward pass is under way.
pub(crate) enum Cotangent<T> {
    Dense(Vec<T>),
    Rows(SparseRows<T>),
}

#[derive(Default)]
pub(crate) struct Arena<T: Float> {
    pub(crate) nodes: Vec<Node<T>>,
    pub(crate) cotangents: Vec<Option<Cotangent<T>>>,
    pub(crate) pool: Pool<T>,
    index_buffers: Vec<Vec<u32>>,
    /// Slot maps of sparse gradients, all entries untouched.
    slot_buffers: Vec<Vec<u32>>,
}

impl<T: Float> Arena<T> {
    pub(crate) fn values(&self, id: u32) -> &[T] {
        let node = &self.nodes[id as usize];
        let data: &[T] = match &node.value {
            Value::Owned(data) => data,
            Value::Shared(data) => data,
            Value::Alias(source) => return self.values(*source),
            Value::Released => panic!(
                "{}: the value of this variable was released by the backward pass; read it before, \
                 or build the graph again",
                node.op.name()
            ),
        };
        &data[..node.shape.len()]
    }

    pub(crate) fn shape(&self, id: u32) -> &Shape {
        &self.nodes[id as usize].shape
    }

    pub(crate) fn release(&mut self, id: usize) {
        let node = &mut self.nodes[id];
        if let Value::Owned(buffer) = std::mem::replace(&mut node.value, Value::Released) {
            self.pool.give(buffer);
        }
        if let Op::Gather(rows) = &mut node.op {
            self.index_buffers.push(std::mem::take(rows));
        }
    }

    pub(crate) fn recycle(&mut self, gradient: Gradient<T>) {
        match gradient {
            Gradient::Dense(buffer) => self.pool.give(buffer),
            Gradient::Rows(rows) => self.recycle_rows(rows),
        }
    }

    pub(crate) fn recycle_rows(&mut self, mut rows: SparseRows<T>) {
        rows.clear();
        self.pool.give(rows.values);
        self.index_buffers.push(rows.rows);
        self.slot_buffers.push(rows.slots);
    }

    pub(crate) fn index_buffer(&mut self) -> Vec<u32> {
        let mut buffer = self.index_buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Adds a dense cotangent to a node's; the first is moved in.
    fn accumulate(&mut self, id: u32, buffer: Vec<T>) {
        let len = self.shape(id).len();
        match self.cotangents[id as usize].take() {
            None => self.cotangents[id as usize] = Some(Cotangent::Dense(buffer)),
            Some(Cotangent::Dense(mut sum)) => {
                index::add(&mut sum[..len], &buffer[..len]);
                self.pool.give(buffer);
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
            }
            Some(Cotangent::Rows(rows)) => {
                let mut sum = buffer;
                index::scatter_add(
                    &rows.values[..rows.rows.len() * rows.width],
                    &rows.rows,
                    rows.width,
                    &mut sum,
                );
                self.recycle_rows(rows);
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
            }
        }
    }

    /// Adds the cotangent of gathered rows to the table's: row-sparse for a leaf, else dense.
    fn accumulate_rows(&mut self, id: u32, g: &[T], rows: &[u32]) {
        let node = &self.nodes[id as usize];
        let width = node.shape.width();
        let len = node.shape.len();
        let table_rows = len / width.max(1);
        let is_leaf = matches!(node.op, Op::Leaf);
        match self.cotangents[id as usize].take() {
            None if is_leaf => {
                let mut slots = self.slot_buffers.pop().unwrap_or_default();
                slots.resize(table_rows.max(slots.len()), UNTOUCHED);
                let values = self.pool.take(g.len());
                let mut sparse = SparseRows { rows: self.index_buffer(), values, width, slots };
                sparse.add(g, rows, grow_from(&mut self.pool));
                self.cotangents[id as usize] = Some(Cotangent::Rows(sparse));
            }
            Some(Cotangent::Rows(mut sparse)) => {
                sparse.add(g, rows, grow_from(&mut self.pool));
                self.cotangents[id as usize] = Some(Cotangent::Rows(sparse));
            }
            other => {
                let mut sum = match other {
                    Some(Cotangent::Dense(sum)) => sum,
                    _ => self.pool.take_zeroed(len),
                };
                index::scatter_add(g, rows, width, &mut sum);
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
            }
        }
    }

    /// One node of the backward pass: turns its cotangent into those of its inputs.
    pub(crate) fn propagate(&mut self, id: usize, g: &[T]) {
        let inputs = std::mem::take(&mut self.nodes[id].inputs);
        if let Op::Gather(rows) = &mut self.nodes[id].op {
            // The table's gradient is summed in place, not through a buffer of its own.
            let rows = std::mem::take(rows);
            self.accumulate_rows(inputs[0], g, &rows);
            self.index_buffers.push(rows);
            return;
        }
        // Gradients are written to fresh buffers and then moved or added to the inputs' cotangents.
        let mut buffers: SmallVec<[Option<Vec<T>>; 6]> = SmallVec::new();
        for &input in &inputs {
            let node = &self.nodes[input as usize];
            buffers.push(node.needs_gradient.then(|| self.pool.take(node.shape.len())));
        }
        let node = &self.nodes[id];
        match &node.op {
            Op::Leaf | Op::Constant(_) | Op::Gather(_) => {}
            Op::Reshape => {
                if let Some(dx) = &mut buffers[0] {
                    dx[..g.len()].copy_from_slice(g);
                }
            }
            Op::Slice(axis, start) => {
                if let Some(dx) = &mut buffers[0] {
                    let len = self.shape(inputs[0]).len();
                    index::unslice(*axis, *start, g, &mut dx[..len]);
                }
            }
            Op::Reduce(reduction, axis) => {
                if let Some(dx) = &mut buffers[0] {
                    let x = if *reduction == Reduction::LogSumExp { self.values(inputs[0]) } else { &[] };
                    let y = if *reduction == Reduction::LogSumExp { self.values(id as u32) } else { &[] };
                    let len = self.shape(inputs[0]).len();
                    reduce::backward(*reduction, *axis, x, y, g, &mut dx[..len]);
                }
            }
            Op::Map(kernel) => {
                let operands = self.elements(&inputs, &node.shape);
                let mut grads = self.slices(&inputs, &mut buffers);
                kernel.backward(&operands, g, &mut grads);
            }
            Op::Gram(kernel, vectors, width) => {
                let operands = self.operands(&inputs, *vectors, *width, &node.shape, g.len());
                let mut grads = self.slices(&inputs, &mut buffers);
                kernel.backward(&operands, *width, g, &mut grads);
            }
        }
        for (&input, buffer) in inputs.iter().zip(buffers) {
            if let Some(buffer) = buffer {
                self.accumulate(input, buffer);
            }
        }
    }

    fn slices<'a>(
        &self,
        inputs: &[u32],
        buffers: &'a mut [Option<Vec<T>>],
    ) -> SmallVec<[Option<&'a mut [T]>; 6]> {
        let lens = inputs.iter().map(|&i| self.shape(i).len());
        buffers.iter_mut().zip(lens).map(|(b, len)| b.as_mut().map(|b| &mut b[..len])).collect()
    }

    pub(crate) fn elements(&self, inputs: &[u32], shape: &Shape) -> SmallVec<[Elements<'_, T>; 6]> {
        let read = |&i: &u32| {
            let read =
                Broadcast::new(self.shape(i), shape).expect("shapes were checked when the node was made");
            Elements { data: self.values(i), read }
        };
        inputs.iter().map(read).collect()
    }

    /// Operands of a row formula over an output of `len` elements.
    pub(crate) fn operands(
        &self,
        inputs: &[u32],
        vectors: usize,
        width: usize,
        shape: &Shape,
        len: usize,
    ) -> SmallVec<[Operand<'_, T>; 6]> {
        // The output has one row per position of `rows`: its own axes for a scalar formula, all but the
        // last for a vector one.
        let row_axes = self.row_axes(inputs, vectors).expect("shapes were checked when the node was made");
        debug_assert!(len == row_axes.len() || len == row_axes.len() * width, "{shape}");
        let operand = |(k, &i): (usize, &u32)| {
            let own = self.shape(i);
            let own = if k < vectors { own.rows() } else { own.clone() };
            let rows = Broadcast::new(&own, &row_axes).expect("shapes were checked when the node was made");
            let constant = match self.nodes[i as usize].op {
                Op::Constant(value) => Some(value),
                _ => None,
            };
            Operand { data: self.values(i), rows, constant }
        };
        inputs.iter().enumerate().map(operand).collect()
    }

    /// The common leading axes of a row formula's operands.
    pub(crate) fn row_axes(&self, inputs: &[u32], vectors: usize) -> Option<Shape> {
        let shapes: SmallVec<[Shape; 6]> = inputs
            .iter()
            .enumerate()
            .map(|(k, &i)| if k < vectors { self.shape(i).rows() } else { self.shape(i).clone() })
            .collect();
        let axes: SmallVec<[&[usize]; 6]> = shapes.iter().map(|s| s.axes()).collect();
        Broadcast::common(&axes)
    }
}

/// Makes room in a sparse gradient's values, by a larger buffer of the pool.
fn grow_from<T: Float>(pool: &mut Pool<T>) -> impl FnMut(&mut Vec<T>, usize) {
    |values, len| {
        let mut larger = pool.take(len.max(2 * values.len()));
        larger[..values.len()].copy_from_slice(values);
        pool.give(std::mem::replace(values, larger));
    }
}

//! The tape's memory: nodes in the order of computation, and the reverse pass through one of them.
//!
//! The first gradient that a node receives is moved in; later ones are added to it. Buffers that are no
//! longer needed go back to the pool at once.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::formula::plan::RowPlan;
use crate::kernels::attend::Attend;
use crate::kernels::conv::Conv2d;
use crate::kernels::finite::first_not_finite;
use crate::kernels::index::{
    self, Concat, Gather, Permute, Reshape, ScatterAdd, Slice, SparseRows, TakeAlong, UNTOUCHED,
};
use crate::kernels::layer_norm::LayerNorm;
use crate::kernels::map::MapKernel;
use crate::kernels::matmul::Matmul;
use crate::kernels::pair::PairKernels;
use crate::kernels::pool2d::Pool2d;
use crate::kernels::reduce::Reduce;
use crate::kernels::softmax::Softmax;
use crate::kernels::sparse::{SegmentSoftmax, SparseMatmul, SparsePairs};
use crate::tape::ParamId;
use crate::tape::float::Float;
use crate::tape::gradients::{Entry, Gradient};
use crate::tape::operation::Operation;
use crate::tensor::elements::Elements;
use crate::tensor::pool::{Buffer, Pool};
use crate::tensor::shape::Shape;
use crate::tensor::view::{Outcome, View};

/// What computed a node: a formula, a kernel with its settings, or an operation from outside the engine.
pub(crate) enum Op<T: Float> {
    /// Nothing: the value was given.
    Leaf,
    /// A number, kept in full precision for the row formulas.
    Constant(f64),
    /// An elementwise formula.
    Map(&'static MapKernel<T>),
    /// A row formula.
    Row(&'static RowPlan),
    /// A pair formula.
    Pair(&'static PairKernels<T>),
    /// An operation that lives as long as the program.
    Static(&'static dyn Operation<T>),
    /// An operation with data of its own.
    Shared(Arc<dyn Operation<T>>),
    Reduce(Reduce),
    Softmax(Softmax),
    LayerNorm(LayerNorm),
    Matmul(Matmul),
    Attend(Attend<T>),
    SparseMatmul(SparseMatmul),
    SegmentSoftmax(SegmentSoftmax),
    SparsePairs(SparsePairs<T>),
    Conv2d(Conv2d),
    Pool2d(Pool2d),
    Gather(Gather),
    ScatterAdd(ScatterAdd),
    TakeAlong(TakeAlong),
    Slice(Slice),
    Concat(Concat),
    Permute(Permute),
    Reshape(Reshape),
}

impl<T: Float> Op<T> {
    /// The operation; `None` for a leaf or a constant. It is not inlined, so that the kernels are compiled in
    /// this crate and not in the crates that use it.
    #[inline(never)]
    pub(crate) fn operation(&self) -> Option<&dyn Operation<T>> {
        Some(match self {
            Op::Leaf | Op::Constant(_) => return None,
            Op::Map(kernel) => *kernel,
            Op::Row(plan) => *plan,
            Op::Pair(kernels) => *kernels,
            Op::Static(operation) => *operation,
            Op::Shared(operation) => &**operation,
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
            Op::Reshape(operation) => operation,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Op::Leaf => "leaf",
            Op::Constant(_) => "constant",
            other => other.operation().expect("a node that was computed").name(),
        }
    }

    /// The operation's list of row or column numbers, which is reused.
    fn indices(&mut self) -> Option<&mut Vec<u32>> {
        match self {
            Op::Gather(Gather { rows }) => Some(rows),
            Op::ScatterAdd(operation) => Some(&mut operation.rows),
            Op::TakeAlong(operation) => Some(&mut operation.columns),
            _ => None,
        }
    }
}

/// Where a node's elements are. A buffer of the pool may be longer than the node: the node's elements are
/// the first `shape.elements()`.
pub(crate) enum Value<T> {
    Owned(Buffer<T>),
    Shared(Arc<Elements<T>>),
    /// The elements of this earlier node.
    Alias(u32),
    /// Given back to the pool by a backward pass.
    Released,
}

pub(crate) struct Node<T: Float> {
    pub(crate) op: Op<T>,
    pub(crate) inputs: SmallVec<[u32; 4]>,
    pub(crate) shape: Shape,
    pub(crate) value: Value<T>,
    /// What its operation kept for the reverse pass: a buffer, and how many of its elements are used.
    pub(crate) kept: Option<(Buffer<T>, usize)>,
    pub(crate) needs_gradient: bool,
    pub(crate) param: Option<ParamId>,
    /// The line that recorded the node.
    pub(crate) location: &'static Location<'static>,
}

/// The gradient of a node while the backward pass is under way.
pub(crate) enum Cotangent<T> {
    Dense(Buffer<T>),
    Rows(SparseRows<T>),
}

pub(crate) struct Arena<T: Float> {
    pub(crate) nodes: Vec<Node<T>>,
    pub(crate) params: HashMap<ParamId, u32>,
    pub(crate) cotangents: Vec<Option<Cotangent<T>>>,
    pub(crate) pool: Pool<T>,
    /// Whether every result is searched for NaN and infinity.
    pub(crate) checked: bool,
    /// The list of the last backward pass, emptied, for the next one.
    pub(crate) entries: Vec<Entry<T>>,
    /// Recycled lists of numbers.
    pub(crate) index_buffers: Vec<Vec<u32>>,
    /// Recycled slot maps of sparse gradients. All their entries are [`UNTOUCHED`].
    pub(crate) slot_buffers: Vec<Vec<u32>>,
}

impl<T: Float> Default for Arena<T> {
    fn default() -> Self {
        Arena {
            nodes: Vec::new(),
            params: HashMap::new(),
            cotangents: Vec::new(),
            pool: Pool::default(),
            checked: false,
            entries: Vec::new(),
            index_buffers: Vec::new(),
            slot_buffers: Vec::new(),
        }
    }
}

impl<T: Float> Node<T> {
    /// Whether this is an input `[n, d]`. Only then is the gradient of gathered entries row-sparse, because
    /// optimisers step rows, which are the last axis.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.op, Op::Leaf) && self.shape.rank() == 2
    }
}

impl<T: Float> Arena<T> {
    /// The node that owns a node's elements. An alias never refers to another alias.
    pub(crate) fn source(&self, id: u32) -> u32 {
        match self.nodes[id as usize].value {
            Value::Alias(source) => source,
            _ => id,
        }
    }

    /// The value of the node that owns a node's elements.
    fn value(&self, id: u32) -> &Value<T> {
        &self.nodes[self.source(id) as usize].value
    }

    fn buffer(&self, id: u32) -> &[T] {
        match self.value(id) {
            Value::Owned(data) => data,
            Value::Shared(data) => data,
            _ => released(self.nodes[id as usize].op.name()),
        }
    }

    /// A copy of a node's elements, on the host or the device as they are.
    pub(crate) fn copy(&self, id: u32) -> Elements<T> {
        let len = self.shape(id).elements();
        match self.value(id) {
            Value::Owned(data) => data.first(len),
            Value::Shared(data) => data.first(len),
            _ => released(self.nodes[id as usize].op.name()),
        }
    }

    /// As [`values`](Self::values), but possibly on a device.
    #[cfg(feature = "opencl")]
    pub(crate) fn elements(&self, id: u32) -> &Elements<T> {
        match self.value(id) {
            Value::Owned(data) => data.elements(),
            Value::Shared(data) => data,
            _ => released(self.nodes[id as usize].op.name()),
        }
    }

    pub(crate) fn values(&self, id: u32) -> &[T] {
        &self.buffer(id)[..self.shape(id).elements()]
    }

    fn outcome(&self, id: u32) -> Outcome<'_, T> {
        let node = &self.nodes[id as usize];
        let kept = node.kept.as_ref().map_or(&[][..], |(buffer, len)| &buffer[..*len]);
        Outcome { out: self.values(id), kept }
    }

    /// Panics if a backward pass has released a node or an input of it: a derivative may need them.
    #[track_caller]
    pub(crate) fn assert_unreleased(&self, name: &str, id: usize) {
        let node = &self.nodes[id];
        let released_value = |id: u32| matches!(self.value(id), Value::Released);
        if released_value(id as u32) || node.inputs.iter().any(|&input| released_value(input)) {
            released(&format!("{name} through {}", node.op.name()));
        }
    }

    pub(crate) fn shape(&self, id: u32) -> &Shape {
        &self.nodes[id as usize].shape
    }

    pub(crate) fn views(&self, ids: &[u32]) -> SmallVec<[View<'_, T>; 6]> {
        let view = |&id: &u32| {
            let constant = match self.nodes[id as usize].op {
                Op::Constant(value) => Some(value),
                _ => None,
            };
            View { shape: self.shape(id), data: self.values(id), constant }
        };
        ids.iter().map(view).collect()
    }

    pub(crate) fn release(&mut self, id: usize) {
        let node = &mut self.nodes[id];
        if let Value::Owned(buffer) = std::mem::replace(&mut node.value, Value::Released) {
            self.pool.give(buffer);
        }
        if let Some((buffer, _)) = node.kept.take() {
            self.pool.give(buffer);
        }
        // A list that was given back before has left an empty one of capacity 0.
        if let Some(indices) = node.op.indices().filter(|indices| indices.capacity() > 0) {
            self.index_buffers.push(std::mem::take(indices));
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

    /// A list of numbers in recycled memory.
    pub(crate) fn indices(&mut self, numbers: &[u32]) -> Vec<u32> {
        let mut buffer = self.index_buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(numbers);
        buffer
    }

    /// Adds a dense cotangent to a node's; the first is moved in.
    #[inline(never)]
    pub(crate) fn accumulate(&mut self, id: u32, buffer: Buffer<T>) {
        let len = self.shape(id).elements();
        match self.cotangents[id as usize].take() {
            None => self.cotangents[id as usize] = Some(Cotangent::Dense(buffer)),
            Some(Cotangent::Dense(mut sum)) => {
                if !self.add_on_device(&mut sum, &buffer, len) {
                    index::add(&mut sum[..len], &buffer[..len]);
                }
                self.pool.give(buffer);
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
            }
            Some(Cotangent::Rows(rows)) => {
                let mut sum = buffer;
                if !self.scatter_on_device(&rows, &mut sum) {
                    index::scatter_add(
                        &rows.values[..rows.rows.len() * rows.width],
                        &rows.rows,
                        rows.width,
                        &mut sum,
                    );
                }
                self.recycle_rows(rows);
                self.cotangents[id as usize] = Some(Cotangent::Dense(sum));
            }
        }
    }

    /// Adds the cotangent of gathered rows to the table's: row-sparse for a leaf `[n, d]`, else dense.
    fn accumulate_rows(&mut self, id: u32, g: &[T], rows: &[u32]) {
        let node = &self.nodes[id as usize];
        let len = node.shape.elements();
        let table_rows = node.shape[0];
        let width = len / table_rows.max(1);
        let is_table = node.is_table();
        match self.cotangents[id as usize].take() {
            None if is_table => {
                let mut slots = self.slot_buffers.pop().unwrap_or_default();
                slots.resize(table_rows.max(slots.len()), UNTOUCHED);
                let values = self.pool.take(g.len());
                let mut sparse = SparseRows { rows: self.indices(&[]), values, width, slots };
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
    #[inline(never)]
    pub(crate) fn propagate(&mut self, id: usize, g: &[T]) {
        let node = &mut self.nodes[id];
        let len = node.shape.elements();
        match &mut node.op {
            // The gradient of the gathered rows is added to the table's directly, without a dense buffer.
            Op::Gather(Gather { rows }) => {
                let (rows, input) = (std::mem::take(rows), node.inputs[0]);
                self.accumulate_rows(input, &g[..len], &rows);
                self.index_buffers.push(rows);
            }
            _ => {
                // Gradients are written to fresh buffers, which are then moved into the inputs' cotangents or
                // added to them.
                let mut buffers: SmallVec<[Option<Buffer<T>>; 6]> = SmallVec::new();
                for &input in &self.nodes[id].inputs {
                    let node = &self.nodes[input as usize];
                    buffers.push(node.needs_gradient.then(|| self.pool.take(node.shape.elements())));
                }
                let node = &self.nodes[id];
                if let Some(operation) = node.op.operation() {
                    let mut grads: SmallVec<[Option<&mut [T]>; 6]> = node
                        .inputs
                        .iter()
                        .zip(&mut buffers)
                        .map(|(&i, b)| b.as_mut().map(|b| &mut b[..self.shape(i).elements()]))
                        .collect();
                    let (inputs, outcome) = (self.views(&node.inputs), self.outcome(id as u32));
                    operation.backward(&inputs, outcome, &g[..len], &mut grads);
                    if self.checked {
                        check_gradients(node, grads.iter().map(|grad| grad.as_deref()));
                    }
                }
                for (k, buffer) in buffers.into_iter().enumerate() {
                    if let Some(buffer) = buffer {
                        self.accumulate(self.nodes[id].inputs[k], buffer);
                    }
                }
            }
        }
    }
}

/// Without OpenCL there is no device but the processor.
#[cfg(not(feature = "opencl"))]
impl<T: Float> Arena<T> {
    pub(crate) fn forward_on_device(
        &self,
        _: &Op<T>,
        _: &[u32],
        _: &Shape,
        _: &mut Buffer<T>,
        _: Option<&mut Buffer<T>>,
    ) -> bool {
        false
    }
    pub(crate) fn propagate_on_device(&mut self, _: usize, _: &Buffer<T>) -> bool {
        false
    }
    pub(crate) fn dropout_on_device(
        &self,
        _: &crate::kernels::dropout::Dropout,
        _: usize,
        _: &mut Buffer<T>,
    ) -> bool {
        false
    }
    pub(crate) fn top_k_on_device(&self, _: u32, _: usize) -> Option<Vec<u32>> {
        None
    }
    fn add_on_device(&self, _: &mut Buffer<T>, _: &Buffer<T>, _: usize) -> bool {
        false
    }
    fn scatter_on_device(&self, _: &SparseRows<T>, _: &mut Buffer<T>) -> bool {
        false
    }
}

#[track_caller]
fn released(name: &str) -> ! {
    panic!(
        "{name}: a value that this needs was released by the backward pass; read it before that pass, or \
         record the graph anew"
    )
}

/// The first element that is not finite, and its position.
pub(crate) fn first_bad<T: Float>(values: &[T]) -> Option<(usize, T)> {
    first_not_finite(values).map(|at| (at, values[at]))
}

pub(crate) fn check_gradients<'a, T: Float>(node: &Node<T>, grads: impl Iterator<Item = Option<&'a [T]>>) {
    for (i, grad) in grads.enumerate() {
        if let Some((at, x)) = grad.and_then(first_bad) {
            panic!(
                "{}: the gradient of input {i} is {x} at element {at}; recorded at {}",
                node.op.name(),
                node.location
            )
        }
    }
}

/// Returns a function that moves the values of a sparse gradient to a larger buffer of the pool.
fn grow_from<T: Float>(pool: &mut Pool<T>) -> impl FnMut(&mut Buffer<T>, usize) {
    |values, len| {
        let mut larger = pool.take(len.max(2 * values.len()));
        larger[..values.len()].copy_from_slice(values);
        pool.give(std::mem::replace(values, larger));
    }
}

//! The tape: an arena of nodes in the order of computation, and the reverse pass over it.
//!
//! A [`Var`] is an id and a reference to its tape, never a reference into a node. Reverse order of the
//! arena is topological order, so the backward pass is a loop and deep graphs cannot overflow the stack.
//! The pass gives each node's value back to the buffer pool as soon as it is done with it.

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::arena::{Arena, Cotangent, Node, Op, Value};
use crate::gradients::{Gradient, Gradients};
use crate::kernels::gram::RowKernel;
use crate::kernels::index;
use crate::kernels::map::MapKernel;
use crate::kernels::reduce::{self, Axis, Reduction};
use crate::shape::Broadcast;
use crate::{Float, Shape, Tensor, Var};

/// Identifies a parameter that lives outside the tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(u64);

impl ParamId {
    /// An id that no other parameter of this process has.
    pub fn unique() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ParamId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A record of computation, to be differentiated in reverse.
///
/// One tape serves one step: build the graph, call [`backward`](Tape::backward) once, and
/// [`reset`](Tape::reset) it for the next step, which then computes in the same memory.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([3], vec![1.0, 2.0, 3.0]));
/// let loss = (x * x).sum();
/// let gradients = tape.backward(loss);
/// assert_eq!(gradients.wrt(x).unwrap().to_dense(3, 1).as_slice(), [2.0, 4.0, 6.0]);
/// ```
#[derive(Default)]
pub struct Tape<T: Float = f32> {
    arena: RefCell<Arena<T>>,
}

impl<T: Float> Tape<T> {
    /// An empty tape.
    pub fn new() -> Self {
        Tape::default()
    }

    /// Forgets all nodes and keeps their memory. No [`Var`] or [`Gradients`] of the tape may be alive,
    /// which the borrow checker sees to.
    pub fn reset(&mut self) {
        let arena = self.arena.get_mut();
        for id in 0..arena.nodes.len() {
            arena.release(id);
        }
        arena.nodes.clear();
        arena.cotangents.clear();
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.arena.borrow().nodes.len()
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A differentiable input. Shares the tensor's elements; nothing is copied.
    pub fn variable(&self, tensor: &Tensor<T>) -> Var<'_, T> {
        self.leaf(tensor, true, None)
    }

    /// An input that no gradient flows to.
    pub fn constant(&self, tensor: &Tensor<T>) -> Var<'_, T> {
        self.leaf(tensor, false, None)
    }

    /// A parameter: a differentiable input whose gradient is found by its id. The same parameter put on
    /// the tape twice is the same variable.
    pub fn parameter(&self, id: ParamId, tensor: &Tensor<T>) -> Var<'_, T> {
        let known = self.arena.borrow().nodes.iter().position(|node| node.param == Some(id));
        match known {
            Some(node) => Var::new(self, node as u32),
            None => self.leaf(tensor, true, Some(id)),
        }
    }

    /// A number without a gradient. Row formulas read it in full `f64` precision.
    pub fn scalar(&self, value: f64) -> Var<'_, T> {
        let mut arena = self.arena.borrow_mut();
        let mut buffer = arena.pool.take(1);
        buffer[0] = T::nearest(value);
        self.push(&mut arena, Op::Constant(value), &[], Shape::default(), Value::Owned(buffer), false, None)
    }

    fn leaf(&self, tensor: &Tensor<T>, needs_gradient: bool, param: Option<ParamId>) -> Var<'_, T> {
        let mut arena = self.arena.borrow_mut();
        let value = Value::Shared(tensor.share());
        self.push(&mut arena, Op::Leaf, &[], tensor.shape().clone(), value, needs_gradient, param)
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &self,
        arena: &mut Arena<T>,
        op: Op<T>,
        inputs: &[u32],
        shape: Shape,
        value: Value<T>,
        needs_gradient: bool,
        param: Option<ParamId>,
    ) -> Var<'_, T> {
        let id = u32::try_from(arena.nodes.len()).expect("a tape holds at most 2^32 nodes");
        arena.nodes.push(Node {
            op,
            inputs: SmallVec::from_slice(inputs),
            shape,
            value,
            needs_gradient,
            param,
        });
        Var::new(self, id)
    }

    /// Records the result of an operation on earlier nodes.
    fn record(
        &self,
        arena: &mut Arena<T>,
        op: Op<T>,
        inputs: &[u32],
        shape: Shape,
        value: Value<T>,
    ) -> Var<'_, T> {
        let needs_gradient = inputs.iter().any(|&i| arena.nodes[i as usize].needs_gradient);
        self.push(arena, op, inputs, shape, value, needs_gradient, None)
    }

    #[track_caller]
    fn ids(&self, name: &str, inputs: &[Var<'_, T>]) -> SmallVec<[u32; 6]> {
        let same = |v: &Var<'_, T>| std::ptr::eq(v.tape(), self);
        assert!(inputs.iter().all(same), "{name}: the variables are on different tapes");
        inputs.iter().map(|v| v.id()).collect()
    }

    #[track_caller]
    pub(crate) fn record_map(&self, kernel: &'static dyn MapKernel<T>, inputs: &[Var<'_, T>]) -> Var<'_, T> {
        let ids = self.ids(kernel.name(), inputs);
        let mut arena = self.arena.borrow_mut();
        let shapes: SmallVec<[&[usize]; 6]> = ids.iter().map(|&i| arena.shape(i).axes()).collect();
        let Some(shape) = Broadcast::common(&shapes) else {
            panic!(
                "{}: shapes {shapes:?} do not broadcast: axes must be equal or 1, in one run",
                kernel.name()
            )
        };
        drop(shapes);
        let mut out = arena.pool.take(shape.len());
        kernel.forward(&arena.elements(&ids, &shape), &mut out[..shape.len()]);
        self.record(&mut arena, Op::Map(kernel), &ids, shape, Value::Owned(out))
    }

    #[track_caller]
    pub(crate) fn record_gram(
        &self,
        kernel: &'static dyn RowKernel<T>,
        is_vector: bool,
        vectors: &[Var<'_, T>],
        params: &[Var<'_, T>],
    ) -> Var<'_, T> {
        let name = kernel.name();
        let mut ids = self.ids(name, vectors);
        ids.extend(self.ids(name, params));
        let mut arena = self.arena.borrow_mut();
        let width = arena.shape(ids[0]).width();
        let shapes =
            |arena: &Arena<T>| ids.iter().map(|&i| arena.shape(i).to_string()).collect::<Vec<_>>().join(", ");
        let fits = ids[..vectors.len()]
            .iter()
            .all(|&i| !arena.shape(i).axes().is_empty() && arena.shape(i).width() == width);
        assert!(fits && width > 0, "{name}: vectors of one width are needed, not {}", shapes(&arena));
        let Some(rows) = arena.row_axes(&ids, vectors.len()) else {
            panic!("{name}: the rows of shapes {} do not broadcast", shapes(&arena))
        };
        let shape = if is_vector { rows.with_width(width) } else { rows };
        let len = shape.len();
        let mut out = arena.pool.take(len);
        kernel.forward(&arena.operands(&ids, vectors.len(), width, &shape, len), width, &mut out[..len]);
        self.record(&mut arena, Op::Gram(kernel, vectors.len(), width), &ids, shape, Value::Owned(out))
    }

    #[track_caller]
    pub(crate) fn record_reduce(
        &self,
        reduction: Reduction,
        axis: Option<isize>,
        x: Var<'_, T>,
    ) -> Var<'_, T> {
        let ids = self.ids(reduction.name(), &[x]);
        let mut arena = self.arena.borrow_mut();
        let shape = arena.shape(ids[0]);
        let (axis, out_shape) = match axis {
            None => (Axis { outer: 1, n: shape.len(), inner: 1 }, Shape::default()),
            Some(axis) => {
                let Some((at, found)) = Axis::of(shape, axis) else {
                    panic!("{}: shape {shape} has no axis {axis}", reduction.name())
                };
                let kept = shape.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, &n)| n);
                (found, Shape::from(kept.collect::<SmallVec<[usize; 4]>>().as_slice()))
            }
        };
        let mut out = arena.pool.take(out_shape.len());
        reduce::forward(reduction, axis, arena.values(ids[0]), &mut out[..out_shape.len()]);
        self.record(&mut arena, Op::Reduce(reduction, axis), &ids, out_shape, Value::Owned(out))
    }

    #[track_caller]
    pub(crate) fn record_gather(&self, table: Var<'_, T>, rows: &[u32]) -> Var<'_, T> {
        let ids = self.ids("gather", &[table]);
        let mut arena = self.arena.borrow_mut();
        let shape = arena.shape(ids[0]);
        let &[table_rows, width] = shape.axes() else {
            panic!("gather: a table [rows, width] is needed, not {shape}")
        };
        if let Some(row) = rows.iter().find(|&&row| row as usize >= table_rows) {
            panic!("gather: row {row} of a table of {table_rows} rows")
        }
        let shape = Shape::new(&[rows.len(), width]);
        let mut out = arena.pool.take(shape.len());
        index::gather(arena.values(ids[0]), rows, width, &mut out[..shape.len()]);
        let mut kept = arena.index_buffer();
        kept.extend_from_slice(rows);
        self.record(&mut arena, Op::Gather(kept), &ids, shape, Value::Owned(out))
    }

    #[track_caller]
    pub(crate) fn record_slice(
        &self,
        x: Var<'_, T>,
        axis: isize,
        range: std::ops::Range<usize>,
    ) -> Var<'_, T> {
        let ids = self.ids("slice", &[x]);
        let mut arena = self.arena.borrow_mut();
        let shape = arena.shape(ids[0]);
        let Some((at, view)) = Axis::of(shape, axis) else {
            panic!("slice: shape {shape} has no axis {axis}")
        };
        assert!(
            range.start <= range.end && range.end <= view.n,
            "slice: {range:?} of axis {axis} of shape {shape}, which has {}",
            view.n
        );
        let mut axes: SmallVec<[usize; 4]> = SmallVec::from_slice(shape);
        axes[at] = range.len();
        let shape = Shape::new(&axes);
        let mut out = arena.pool.take(shape.len());
        index::slice(view, range.start, arena.values(ids[0]), &mut out[..shape.len()]);
        self.record(&mut arena, Op::Slice(view, range.start), &ids, shape, Value::Owned(out))
    }

    #[track_caller]
    pub(crate) fn record_reshape(&self, x: Var<'_, T>, shape: Shape) -> Var<'_, T> {
        let ids = self.ids("reshape", &[x]);
        let mut arena = self.arena.borrow_mut();
        let before = arena.shape(ids[0]);
        assert_eq!(
            before.len(),
            shape.len(),
            "reshape: {before} has {} elements, {shape} has {}",
            before.len(),
            shape.len()
        );
        // An alias of an alias is one of the original: reading one never follows a chain.
        let source = match arena.nodes[ids[0] as usize].value {
            Value::Alias(source) => source,
            _ => ids[0],
        };
        self.record(&mut arena, Op::Reshape, &ids, shape, Value::Alias(source))
    }

    pub(crate) fn read<R>(&self, id: u32, read: impl FnOnce(&[T], &Shape) -> R) -> R {
        let arena = self.arena.borrow();
        read(arena.values(id), arena.shape(id))
    }

    /// The gradients of a loss with respect to every variable and parameter it depends on.
    ///
    /// Releases the values of all nodes up to the loss (the loss itself keeps its own).
    ///
    /// # Panics
    /// If the loss has more than one element, or is on another tape.
    #[track_caller]
    pub fn backward(&self, loss: Var<'_, T>) -> Gradients<'_, T> {
        let root = self.ids("backward", &[loss])[0] as usize;
        let mut arena = self.arena.borrow_mut();
        let shape = arena.shape(root as u32);
        assert_eq!(shape.len(), 1, "backward: the loss must be a single number, not {shape}");
        arena.cotangents.clear();
        arena.cotangents.resize_with(root + 1, || None);
        let mut seed = arena.pool.take(1);
        seed[0] = T::one();
        arena.cotangents[root] = Some(Cotangent::Dense(seed));

        let mut gradients = Gradients::new(self);
        for id in (0..=root).rev() {
            let cotangent = arena.cotangents[id].take();
            let node = &arena.nodes[id];
            match cotangent {
                Some(cotangent) if node.needs_gradient && matches!(node.op, Op::Leaf) => {
                    let gradient = match cotangent {
                        Cotangent::Dense(buffer) => Gradient::Dense(buffer),
                        Cotangent::Rows(rows) => Gradient::Rows(rows),
                    };
                    gradients.insert(id as u32, node.param, node.shape.len(), gradient);
                }
                Some(Cotangent::Dense(g)) => {
                    let len = node.shape.len();
                    if node.needs_gradient {
                        arena.propagate(id, &g[..len]);
                    }
                    arena.pool.give(g);
                }
                Some(Cotangent::Rows(rows)) => arena.recycle_rows(rows),
                None => {}
            }
            if id != root {
                arena.release(id);
            }
        }
        drop(arena);
        gradients
    }

    pub(crate) fn recycle(&self, gradient: Gradient<T>) {
        // Only a panic in the middle of an operation leaves the arena borrowed.
        if let Ok(mut arena) = self.arena.try_borrow_mut() {
            arena.recycle(gradient);
        }
    }
}

//! The tape: an arena of nodes in the order of computation, and the reverse and forward passes over it.
//!
//! A [`Var`] is an id and a reference to its tape, never a reference into a node. Reverse order of the
//! arena is topological order, so the backward pass is a loop and deep graphs cannot overflow the stack.
//! The pass gives each node's value back to the buffer pool as soon as it is done with it.

pub(crate) mod arena;
pub mod compiled;
mod dot;
mod dropout;
pub(crate) mod float;
pub mod formulas;
pub(crate) mod gradients;
pub(crate) mod laws;
pub mod loss;
#[cfg(feature = "opencl")]
mod on_device;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod recorded;
pub(crate) mod row_function;
pub(crate) mod rows;
pub(crate) mod var;

use std::cell::RefCell;
use std::panic::Location;
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::kernels::dropout::Dropout;
use crate::numbers::rng::Rng;
use crate::tape::arena::{Arena, Cotangent, Node, Op, Value, first_bad};
use crate::tape::float::Float;
use crate::tape::gradients::{Entry, Gradient, Gradients};
use crate::tape::var::Var;
use crate::tensor::Tensor;
use crate::tensor::device::Device;
use crate::tensor::pool::{Buffer, Memory, Pool};
use crate::tensor::shape::Shape;

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
/// assert_eq!(gradients.wrt(x).data(), [2.0, 4.0, 6.0]);
/// ```
#[derive(Default)]
pub struct Tape<T: Float = f32> {
    arena: RefCell<Arena<T>>,
    /// The stream of random numbers, while training.
    random: RefCell<Option<Rng>>,
}

/// Whether the environment variable `COTANGENT_CHECKED` says that every tape is a checked one.
fn all_checked() -> bool {
    static CHECKED: OnceLock<bool> = OnceLock::new();
    *CHECKED.get_or_init(|| match std::env::var("COTANGENT_CHECKED").as_deref() {
        Ok("1") => true,
        Ok("0" | "") | Err(_) => false,
        Ok(named) => panic!("COTANGENT_CHECKED={named}: 0 or 1 is needed"),
    })
}

/// The graph in the language DOT, as [`Tape::to_dot`], if it has at most 100 nodes; else their number.
impl<T: Float> std::fmt::Debug for Tape<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.len() {
            0..=100 => f.write_str(&self.to_dot()),
            nodes => write!(f, "a tape of {nodes} nodes"),
        }
    }
}

impl<T: Float> Tape<T> {
    /// An empty tape on the processor, or on the device that the environment variable `COTANGENT_DEVICE`
    /// names.
    ///
    /// # Panics
    /// If the variable names no usable device, or as [`with_device`](Self::with_device).
    pub fn new() -> Self {
        Tape::with_device(Device::from_environment())
    }

    /// An empty tape whose values are on a device. See [`Device`].
    ///
    /// # Panics
    /// If the elements are `f64` and the device has none; if the environment variable `COTANGENT_CHECKED`
    /// is neither 0 nor 1. See [`checked`](Self::checked).
    #[track_caller]
    pub fn with_device(device: Device) -> Self {
        device.computes::<T>().unwrap_or_else(|error| panic!("{error}"));
        let tape = Tape::default();
        let mut arena = tape.arena.borrow_mut();
        arena.pool = Pool::on(device);
        arena.checked = all_checked();
        drop(arena);
        tape
    }

    /// The device that the tape's values are on.
    pub fn device(&self) -> Device {
        self.arena.borrow().pool.device().clone()
    }

    /// An empty tape that searches every result and every gradient for NaN and infinity. For debugging: it
    /// costs a pass over each result. With the environment variable `COTANGENT_CHECKED=1` all tapes do so,
    /// those of a trainer and of the applications too.
    ///
    /// # Panics
    /// As [`new`](Self::new). Later, the first operation whose result or gradient is not finite panics, with
    /// its name, the position and the line that recorded it.
    ///
    /// ```should_panic
    /// use cotangent_engine::{Tape, Tensor};
    /// let tape = Tape::<f32>::checked();
    /// let x = tape.variable(&Tensor::new([2], vec![1.0, 0.0]));
    /// let y = x.ln() * 0.0; // ln: the result of shape [2] is -inf at element 1 …
    /// ```
    pub fn checked() -> Self {
        let tape = Tape::new();
        tape.arena.borrow_mut().checked = true;
        tape
    }

    /// Starts training: from here on [`Var::dropout`] drops elements, drawn from this stream.
    /// [`reset`](Tape::reset) and [`evaluation`](Tape::evaluation) end it.
    ///
    /// ```
    /// use cotangent_engine::{Tape, Tensor, rng};
    /// let tape = Tape::<f32>::new();
    /// let x = tape.constant(&Tensor::from_fn([100], |_| 1.0));
    /// assert_eq!(x.dropout(0.5).to_tensor(), x.to_tensor());
    /// tape.training(rng::stream(1, 0, 0));
    /// assert!(x.dropout(0.5).to_tensor().data().contains(&0.0));
    /// ```
    pub fn training(&self, rng: Rng) {
        *self.random.borrow_mut() = Some(rng);
    }

    /// Whether the tape is [`training`](Self::training).
    pub fn is_training(&self) -> bool {
        self.random.borrow().is_some()
    }

    /// Ends training. Returns the stream, which continues after the last number drawn.
    pub fn evaluation(&self) -> Option<Rng> {
        self.random.borrow_mut().take()
    }

    /// Forgets all nodes and keeps their memory. Ends [`training`](Tape::training). No [`Var`] or
    /// [`Gradients`] of the tape may be alive; the borrow checker makes sure of that.
    #[inline(never)]
    pub fn reset(&mut self) {
        *self.random.get_mut() = None;
        let arena = self.arena.get_mut();
        for id in 0..arena.nodes.len() {
            arena.release(id);
        }
        arena.nodes.clear();
        arena.params.clear();
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

    /// Bytes of the buffers that the tape holds. Inputs and parameters, which it shares, do not count.
    pub fn memory(&self) -> Memory {
        self.arena.borrow().pool.memory()
    }

    /// A differentiable input. Shares the tensor's elements; nothing is copied.
    #[track_caller]
    #[inline(never)]
    pub fn variable(&self, tensor: &Tensor<T>) -> Var<'_, T> {
        self.leaf(tensor, true, None)
    }

    /// An input that no gradient flows to.
    #[track_caller]
    #[inline(never)]
    pub fn constant(&self, tensor: &Tensor<T>) -> Var<'_, T> {
        self.leaf(tensor, false, None)
    }

    /// A parameter: a differentiable input of the tensor's shape, whose gradient is found by its id. If
    /// the id is on the tape already, its variable is returned, and `tensor` is not read, even if it
    /// differs.
    #[track_caller]
    #[inline(never)]
    pub fn parameter(&self, id: ParamId, tensor: &Tensor<T>) -> Var<'_, T> {
        let known = self.arena.borrow().params.get(&id).copied();
        match known {
            Some(node) => Var::new(self, node),
            None => self.leaf(tensor, true, Some(id)),
        }
    }

    /// A number without a gradient. Row formulas read it in full `f64` precision.
    #[track_caller]
    #[inline(never)]
    pub fn scalar(&self, value: f64) -> Var<'_, T> {
        self.generate(Op::Constant(value), Shape::default(), |out| out[0] = T::nearest(value))
    }

    /// Zeros, without a gradient.
    #[track_caller]
    pub fn zeros(&self, shape: impl Into<Shape>) -> Var<'_, T> {
        self.constant_with(shape, |out| out.fill(T::zero()))
    }

    /// A tensor without a gradient that `fill` writes in the tape's own memory: nothing is allocated in the
    /// steady state. The elements come with unspecified content.
    #[track_caller]
    pub fn constant_with(&self, shape: impl Into<Shape>, fill: impl FnOnce(&mut [T])) -> Var<'_, T> {
        self.generate(Op::Leaf, shape.into(), fill)
    }

    #[track_caller]
    fn generate(&self, op: Op<T>, shape: Shape, fill: impl FnOnce(&mut [T])) -> Var<'_, T> {
        let mut buffer = self.arena.borrow_mut().pool.take(shape.elements());
        fill(&mut buffer[..shape.elements()]);
        self.generated(op, shape, buffer)
    }

    /// While training, the next `count` numbers of dropout at a rate above 0. The tape's stream moves past
    /// them.
    pub(crate) fn draw_dropout(&self, rate: f64, count: usize) -> Option<Dropout> {
        let mut random = self.random.borrow_mut();
        let rng = random.as_mut().filter(|_| rate > 0.0)?;
        let dropout = Dropout { rate, rng: rng.clone() };
        *rng = dropout.stream_at(count);
        Some(dropout)
    }

    /// The numbers of dropout, computed where the tape computes.
    #[track_caller]
    pub(crate) fn dropout_mask(&self, shape: Shape, dropout: &Dropout) -> Var<'_, T> {
        let (len, mut mask) = (shape.elements(), self.arena.borrow_mut().pool.take(shape.elements()));
        if !self.arena.borrow().dropout_on_device(dropout, len, &mut mask) {
            dropout.fill(0, &mut mask[..len]);
        }
        self.generated(Op::Leaf, shape, mask)
    }

    #[track_caller]
    fn generated(&self, op: Op<T>, shape: Shape, buffer: Buffer<T>) -> Var<'_, T> {
        self.push(Node {
            op,
            inputs: SmallVec::new(),
            shape,
            value: Value::Owned(buffer),
            kept: None,
            needs_gradient: false,
            param: None,
            location: Location::caller(),
        })
    }

    #[track_caller]
    fn leaf(&self, tensor: &Tensor<T>, needs_gradient: bool, param: Option<ParamId>) -> Var<'_, T> {
        let leaf = self.push(Node {
            op: Op::Leaf,
            inputs: SmallVec::new(),
            shape: tensor.shape().clone(),
            value: Value::Shared(tensor.share()),
            kept: None,
            needs_gradient,
            param,
            location: Location::caller(),
        });
        if let Some(param) = param {
            self.arena.borrow_mut().params.insert(param, leaf.id());
        }
        leaf
    }

    fn push(&self, node: Node<T>) -> Var<'_, T> {
        let mut arena = self.arena.borrow_mut();
        let id = u32::try_from(arena.nodes.len()).expect("a tape holds at most 2^32 nodes");
        arena.nodes.push(node);
        Var::new(self, id)
    }

    /// The node that owns a node's elements: for a reshape, the node that was reshaped.
    pub(crate) fn source(&self, id: u32) -> u32 {
        self.arena.borrow().source(id)
    }

    /// The number of a variable's node. The variable must be on this tape.
    #[track_caller]
    pub(crate) fn id(&self, name: &str, variable: Var<'_, T>) -> u32 {
        assert!(std::ptr::eq(variable.tape(), self), "{name}: the variables are on different tapes");
        variable.id()
    }

    /// Computes an operation of earlier nodes and records it.
    #[track_caller]
    #[inline(never)]
    pub(crate) fn record(&self, op: Op<T>, inputs: &[Var<'_, T>]) -> Var<'_, T> {
        let operation = op.operation().expect("an operation");
        let name = operation.name();
        let mut ids: SmallVec<[u32; 4]> = SmallVec::new();
        for &input in inputs {
            ids.push(self.id(name, input));
        }
        let inputs = ids;
        let arena = &mut *self.arena.borrow_mut();
        let shapes: SmallVec<[&Shape; 6]> = inputs.iter().map(|&i| arena.shape(i)).collect();
        let shape = match operation.shape(&shapes).and_then(Shape::checked) {
            Ok(shape) => shape,
            Err(message) => panic!("{name}: {message}"),
        };
        let kept = operation.keeps(&shapes);
        drop(shapes);
        let mut kept = (kept > 0).then(|| (arena.pool.take(kept), kept));
        let value = match op {
            // The elements stay where they are. An alias of an alias refers to the original.
            Op::Reshape(_) => Value::Alias(arena.source(inputs[0])),
            _ => {
                let mut buffer = arena.pool.take(shape.elements());
                let kept_buffer = kept.as_mut().map(|(buffer, _)| buffer);
                if !arena.forward_on_device(&op, &inputs, &shape, &mut buffer, kept_buffer) {
                    let out = &mut buffer[..shape.elements()];
                    let kept = kept.as_mut().map_or(&mut [][..], |(buffer, len)| &mut buffer[..*len]);
                    operation.forward(&arena.views(&inputs), out, kept);
                }
                if arena.checked
                    && let Some((at, x)) = first_bad(&buffer[..shape.elements()])
                {
                    let shapes = inputs.iter().map(|&i| arena.shape(i).to_string());
                    let shapes = shapes.collect::<Vec<_>>().join(", ");
                    panic!(
                        "{name}: the result of shape {shape} is {x} at element {at}; \
                         inputs of shapes {shapes}"
                    )
                }
                Value::Owned(buffer)
            }
        };
        let needs_gradient = inputs.iter().any(|&i| arena.nodes[i as usize].needs_gradient);
        let id = u32::try_from(arena.nodes.len()).expect("a tape holds at most 2^32 nodes");
        let location = Location::caller();
        arena.nodes.push(Node { op, inputs, shape, value, kept, needs_gradient, param: None, location });
        Var::new(self, id)
    }

    /// A list of numbers in memory that the tape reuses.
    pub(crate) fn indices(&self, numbers: &[u32]) -> Vec<u32> {
        self.arena.borrow_mut().indices(numbers)
    }

    pub(crate) fn shape(&self, id: u32) -> Shape {
        self.arena.borrow().shape(id).clone()
    }

    pub(crate) fn read<R>(&self, id: u32, read: impl FnOnce(&[T], &Shape) -> R) -> R {
        let arena = self.arena.borrow();
        read(arena.values(id), arena.shape(id))
    }

    /// The positions of the `k` largest elements of each row of a node, if the tape is on a device.
    pub(crate) fn top_k_on_device(&self, id: u32, k: usize) -> Option<Vec<u32>> {
        self.arena.borrow().top_k_on_device(id, k)
    }

    /// A copy of a node's value.
    #[inline(never)]
    pub(crate) fn copy(&self, id: u32) -> Tensor<T> {
        let arena = self.arena.borrow();
        Tensor::from_elements(arena.shape(id).clone(), arena.copy(id))
    }

    /// The gradients of a loss with respect to every variable and parameter it depends on.
    ///
    /// Releases the values of all nodes up to the loss (the loss itself keeps its own), so memory in use
    /// falls as the pass goes.
    ///
    /// # Panics
    /// If the loss has more than one element, or is on another tape, or depends on what an earlier
    /// backward pass has released.
    #[track_caller]
    #[inline(never)]
    pub fn backward(&self, loss: Var<'_, T>) -> Gradients<'_, T> {
        let (root, shape) = (self.id("backward", loss), loss.shape());
        assert_eq!(shape.elements(), 1, "backward: the loss must be a single number, not {shape}");
        self.sweep("backward", root, &[T::one()])
    }

    /// As [`backward`](Self::backward), but from any variable, whose gradient `g` is given: the
    /// gradients of `⟨g, output⟩`.
    ///
    /// # Panics
    /// If `g` has another shape than `output`, or as [`backward`](Self::backward).
    #[track_caller]
    #[inline(never)]
    pub fn backward_from(&self, output: Var<'_, T>, g: &Tensor<T>) -> Gradients<'_, T> {
        let (root, shape) = (self.id("backward_from", output), output.shape());
        assert_eq!(shape, *g.shape(), "backward_from: a gradient {} of an output {shape}", g.shape());
        self.sweep("backward_from", root, g.data())
    }

    /// The reverse pass: from the gradient `g` of the root back over the nodes before it.
    #[track_caller]
    fn sweep(&self, name: &str, root: u32, g: &[T]) -> Gradients<'_, T> {
        let root = root as usize;
        let mut arena = self.arena.borrow_mut();
        arena.cotangents.clear();
        arena.cotangents.resize_with(root + 1, || None);

        let mut gradients = Gradients::new(self, std::mem::take(&mut arena.entries));
        let source = arena.source(root as u32) as usize;
        // The root's gradient is the caller's slice. It is copied into a buffer only for a root that has no
        // operation to run backward, and on a device.
        let is_copied =
            matches!(arena.nodes[root].op, Op::Leaf | Op::Reshape(_)) || !arena.pool.device().is_cpu();
        if is_copied {
            let mut seed = arena.pool.take(g.len());
            seed[..g.len()].copy_from_slice(g);
            arena.cotangents[root] = Some(Cotangent::Dense(seed));
        } else if arena.nodes[root].needs_gradient {
            arena.assert_unreleased(name, root);
            arena.propagate(root, g);
        }
        for id in (0..root + usize::from(is_copied)).rev() {
            let cotangent = arena.cotangents[id].take();
            let node = &arena.nodes[id];
            if cotangent.is_some() && node.needs_gradient {
                arena.assert_unreleased(name, id);
            }
            match cotangent {
                Some(cotangent) if node.needs_gradient && matches!(node.op, Op::Leaf) => {
                    let gradient = match cotangent {
                        Cotangent::Dense(buffer) => Gradient::Dense(buffer),
                        Cotangent::Rows(rows) => Gradient::Rows(rows),
                    };
                    gradients.insert(id as u32, node.param, node.shape.elements(), gradient);
                }
                // A reshape shares the elements of its input. Its gradient moves to the input as it is.
                Some(Cotangent::Dense(g)) if node.needs_gradient && matches!(node.op, Op::Reshape(_)) => {
                    let input = node.inputs[0];
                    arena.accumulate(input, g);
                }
                Some(Cotangent::Dense(g)) if node.needs_gradient => {
                    if !arena.propagate_on_device(id, &g) {
                        arena.propagate(id, &g);
                    }
                    arena.pool.give(g);
                }
                Some(Cotangent::Dense(g)) => arena.pool.give(g),
                Some(Cotangent::Rows(rows)) => arena.recycle_rows(rows),
                None => {}
            }
            if id != root && id != source {
                arena.release(id);
            }
        }
        drop(arena);
        gradients
    }

    /// Forward mode: the derivative of `output` along given tangents of some variables,
    /// `(variable, tangent)`. It is recorded on the tape like any other result, so that a backward pass
    /// through it gives second derivatives: the gradient of `⟨∇f, v⟩` is the Hessian-vector product
    /// `H v`.
    ///
    /// ```
    /// use cotangent_engine::{Tape, Tensor};
    /// let tape = Tape::<f64>::new();
    /// let x = tape.variable(&Tensor::new([2], vec![1.0, 2.0]));
    /// let v = tape.constant(&Tensor::new([2], vec![1.0, 0.0]));
    /// let f = (x * x * x).sum();
    /// let slope = tape.jvp(f, &[(x, v)]); // 3 x₀²
    /// assert_eq!(slope.item(), 3.0);
    /// let hessian_times_v = tape.backward(slope); // diag(6 x) v
    /// assert_eq!(hessian_times_v.wrt(x).data(), [6.0, 0.0]);
    /// ```
    ///
    /// # Panics
    /// If a tangent does not have its variable's shape, the variables are on different tapes, a backward
    /// pass has released a value that the derivative needs, or an operation between them offers no forward
    /// mode. Operations that were recorded before the panic stay on the tape; nothing else changes.
    #[track_caller]
    #[inline(never)]
    pub fn jvp<'t>(&'t self, output: Var<'t, T>, tangents: &[(Var<'t, T>, Var<'t, T>)]) -> Var<'t, T> {
        let root = self.id("jvp", output) as usize;
        // The nodes that the output depends on.
        let mut wanted = vec![false; root + 1];
        wanted[root] = true;
        for id in (0..=root).rev() {
            if wanted[id] {
                self.arena.borrow().nodes[id].inputs.iter().for_each(|&i| wanted[i as usize] = true);
            }
        }
        let mut node_tangents: Vec<Option<Var<'t, T>>> = vec![None; root + 1];
        for &(x, tangent) in tangents {
            let id = self.id("jvp", x) as usize;
            self.id("jvp", tangent);
            let (shape, given) = (x.shape(), tangent.shape());
            assert_eq!(shape, given, "jvp: a tangent of shape {given} for a variable of shape {shape}");
            if id <= root {
                node_tangents[id] = Some(tangent);
            }
        }
        for id in 0..=root {
            if !wanted[id] || node_tangents[id].is_some() {
                continue;
            }
            let inputs: SmallVec<[u32; 4]> = {
                let arena = self.arena.borrow();
                let inputs = &arena.nodes[id].inputs;
                if inputs.iter().all(|&i| node_tangents[i as usize].is_none()) {
                    continue;
                }
                arena.assert_unreleased("jvp", id);
                inputs.clone()
            };
            let variables: SmallVec<[Var<'t, T>; 4]> = inputs.iter().map(|&i| Var::new(self, i)).collect();
            let input_tangents: SmallVec<[Option<Var<'t, T>>; 4]> =
                inputs.iter().map(|&i| node_tangents[i as usize]).collect();
            let taken = TakenOp::take(self, id);
            let operation = taken.op.operation().expect("a node with inputs is an operation");
            node_tangents[id] = Some(operation.jvp(&variables, Var::new(self, id as u32), &input_tangents));
        }
        node_tangents[root].unwrap_or_else(|| self.zeros(output.shape()))
    }

    /// Takes the memory of gradients back.
    #[inline(never)]
    pub(crate) fn take_back(&self, mut entries: Vec<Entry<T>>) {
        // Only a panic in the middle of an operation leaves the arena borrowed.
        if let Ok(mut arena) = self.arena.try_borrow_mut() {
            entries.drain(..).for_each(|entry| arena.recycle(entry.gradient));
            arena.entries = entries;
        }
    }
}

/// A node's operation, taken out of the arena while it records others on the tape. Dropping this puts it
/// back, also after a panic.
struct TakenOp<'t, T: Float> {
    tape: &'t Tape<T>,
    id: usize,
    op: Op<T>,
}

impl<'t, T: Float> TakenOp<'t, T> {
    fn take(tape: &'t Tape<T>, id: usize) -> Self {
        let op = std::mem::replace(&mut tape.arena.borrow_mut().nodes[id].op, Op::Leaf);
        TakenOp { tape, id, op }
    }
}

impl<T: Float> Drop for TakenOp<'_, T> {
    fn drop(&mut self) {
        let op = std::mem::replace(&mut self.op, Op::Leaf);
        self.tape.arena.borrow_mut().nodes[self.id].op = op;
    }
}

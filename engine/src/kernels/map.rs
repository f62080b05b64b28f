//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::formula::map::{MapForm, MapFormula};
use crate::formula::per_type::{Compiled, Each, PerFloat, made_once};
use crate::kernels::pieces::{Place, add_runs, for_each_piece};
use crate::numbers::dual::Nested;
use crate::numbers::lanes::array;
use crate::numbers::parallel::{self, split_front};
use crate::numbers::program::{Input, Program};
use crate::numbers::scalar::Scalar;
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{View, shapes};

/// An operand's elements and how they are read over the output's.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) read: Broadcast,
}

/// Elements of the widest register.
const WIDE: usize = 16;

/// Estimated time of one element, in nanoseconds.
const COST: usize = 1;

/// Output positions that a formula is given at once. Operands that are not stored in the order in which
/// they are read are copied into that order first; the copies stay in the first cache.
const CHUNK: usize = 512;

impl<'a, T: Storage> Elements<'a, T> {
    pub(crate) fn new(views: &[View<'a, T>], out: &Shape) -> SmallVec<[Elements<'a, T>; 6]> {
        let elements = |view: &View<'a, T>| {
            let read = Broadcast::new(view.shape.axes(), out.axes());
            let read = read.expect("shapes were checked when the node was made");
            Elements { data: view.data, read }
        };
        views.iter().map(elements).collect()
    }

    /// The elements at some output positions: in place if they are neighbours, else copied.
    pub(crate) fn at<'b>(&self, positions: Range<usize>, copy: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        let count = positions.len();
        if self.read.consecutive(positions.start, count) {
            return &self.data[self.read.at(positions.start)..][..count];
        }
        let cycle = self.read.len;
        if !self.read.holds() && self.read.hold == 1 && cycle < count {
            // One cycle is laid out and then copied over and over. Short runs would each be a call.
            let (first, copy) = (self.read.at(positions.start), &mut copy[..count]);
            copy[..cycle - first].copy_from_slice(&self.data[first..cycle]);
            copy[cycle - first..cycle].copy_from_slice(&self.data[..first]);
            let mut filled = cycle;
            while filled < count {
                let more = filled.min(count - filled);
                copy.copy_within(..more, filled);
                filled += more;
            }
            return copy;
        }
        let mut remaining = &mut copy[..count];
        for (first, count) in self.read.runs(positions) {
            let run = split_front(&mut remaining, count);
            if self.read.holds() {
                run.fill(self.data[first]);
            } else {
                run.copy_from_slice(&self.data[first..first + count]);
            }
        }
        &copy[..count]
    }
}

/// The elements of all operands at some output positions. `copies` has room for `size` elements of each
/// operand, unless none is copied; `size` is at least the number of positions.
fn laid_out<'b, T: Storage>(
    operands: &'b [Elements<'_, T>],
    positions: &Range<usize>,
    copies: &'b mut [T],
    size: usize,
) -> SmallVec<[Input<'b, T>; 6]> {
    let mut copies = copies.chunks_exact_mut(size);
    let input = |operand: &'b Elements<'_, T>| {
        let copy = copies.next().unwrap_or_default();
        if operand.read.len == 1 {
            return Input::Number(operand.data[0]);
        }
        Input::Column(operand.at(positions.clone(), copy))
    };
    operands.iter().map(input).collect()
}

/// How many output positions a formula is given at once, and how many elements are copied for each operand:
/// all positions, and none, if all operands are stored in the order in which they are read.
fn chunk<T: Storage>(operands: &[Elements<'_, T>], positions: &Range<usize>) -> [usize; 2] {
    if positions.is_empty() {
        return [1, 0];
    }
    let in_place = |operand: &Elements<'_, T>| {
        operand.read.len == 1 || operand.read.consecutive(positions.start, positions.len())
    };
    if operands.iter().all(in_place) { [positions.len(), 0] } else { [CHUNK.min(positions.len()); 2] }
}

/// Output positions, `size` at a time.
fn chunks(positions: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = positions.end;
    positions.step_by(size).map(move |start| start..end.min(start + size))
}

/// A formula over all output positions.
fn forward<T: Storage>(inputs: &[View<'_, T>], out: &mut [T], program: &Program<T>) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::new(inputs, &shape);
    parallel::for_each_part(out, 1, WIDE, COST, |range, out| {
        let [size, copied] = chunk(&operands, &range);
        T::with_scratch(operands.len() * copied, |copies| {
            let mut remaining = out;
            program.session(|session| {
                for positions in chunks(range, size) {
                    let x = laid_out(&operands, &positions, copies, size);
                    session.run(&x, &mut [split_front(&mut remaining, positions.len())]);
                }
            });
        });
    });
}

/// The reverse pass of a formula over all output positions.
fn backward<T: Storage>(
    inputs: &[View<'_, T>],
    g: &[T],
    grads: &mut [Option<&mut [T]>],
    program: &Program<T>,
) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::new(inputs, &shape);
    let reads: SmallVec<[(Broadcast, usize); 6]> = operands.iter().map(|operand| (operand.read, 1)).collect();
    for_each_piece(&reads, g.len(), 3 * COST, grads, |piece| {
        let (range, places) = (piece.range.clone(), &mut piece.places);
        let in_place = operands
            .iter()
            .zip(&*places)
            .all(|(operand, place)| operand.read.is_full(g.len()) && !matches!(place, Place::Unwanted));
        let [size, copied] =
            if in_place { [range.len().max(1), 0] } else { [CHUNK.min(range.len()).max(1); 2] };
        T::with_scratch(2 * operands.len() * copied, |scratch| {
            let (copies, results) = scratch.split_at_mut(operands.len() * copied);
            program.session(|session| {
                for positions in chunks(range, size) {
                    let count = positions.len();
                    let mut x = laid_out(&operands, &positions, copies, size);
                    let mut own = results.chunks_exact_mut(size);
                    let mut dx: SmallVec<[&mut [T]; 6]> = operands
                        .iter()
                        .zip(places.iter_mut())
                        .map(|(operand, place)| {
                            let own = own.next();
                            let full = operand.read.is_full(g.len());
                            let in_place = if full { place.run(positions.start, count) } else { None };
                            in_place.unwrap_or_else(|| &mut own.expect("not in place")[..count])
                        })
                        .collect();
                    x.push(Input::Column(&g[positions.clone()]));
                    session.run(&x, &mut dx);
                    drop((x, dx));
                    for (k, result) in results.chunks_exact(size).enumerate() {
                        let (read, place) = (operands[k].read, &mut places[k]);
                        if !read.is_full(g.len())
                            && let Some(sums) = place.sums()
                        {
                            add_runs(read, positions.clone(), &result[..count], sums);
                        }
                    }
                }
            });
        });
    });
}

/// The common shape of elementwise operands.
pub(crate) fn common(inputs: &[&Shape]) -> Result<Shape, ShapeError> {
    let axes: SmallVec<[&[usize]; 6]> = inputs.iter().map(|s| s.axes()).collect();
    Broadcast::common(&axes).ok_or_else(|| {
        ShapeError::new(format!("shapes {axes:?} do not broadcast: axes must be equal or 1, in one run"))
    })
}

/// Kernels of elementwise formulas.
#[derive(Clone, Copy, Debug)]
pub struct Map;

impl PerFloat for Map {
    type Of<T: Storage> = &'static MapKernel<T>;
}

impl Compiled<Map> {
    /// The kernels of formula `F`.
    pub fn map<F: MapFormula<K>, const K: usize>() -> &'static Self {
        /// The formula with this count of operands.
        struct Key<F, const K: usize>(PhantomData<F>);
        made_once::<Key<F, K>, Self>(|| {
            let (f32, f64) = (MapKernel::new::<F, K>(), MapKernel::new::<F, K>());
            Compiled(Each { f32: Box::leak(Box::new(f32)), f64: Box::leak(Box::new(f64)) })
        })
    }
}

/// A formula with its type erased.
#[doc(hidden)]
pub struct MapKernel<T: Storage> {
    pub(crate) name: &'static str,
    pub(crate) form: MapForm,
    /// From the operands to the value.
    value: OnceLock<Program<T>>,
    /// From the operands and the gradient of the value to those of the operands.
    gradients: OnceLock<Program<T>>,
    /// The formula of one element, for forward mode.
    pub(crate) nested: fn(&[Nested]) -> Nested,
}

impl<T: Storage> MapKernel<T> {
    fn new<F: MapFormula<K>, const K: usize>() -> Self {
        MapKernel {
            name: F::NAME,
            form: MapForm::new::<F, T, K>(),
            value: OnceLock::new(),
            gradients: OnceLock::new(),
            nested: |x| F::eval(array(Nested::zero(), |k| x[k])),
        }
    }

    /// The formula over all output positions.
    pub(crate) fn compute(&self, inputs: &[View<'_, T>], out: &mut [T]) {
        forward(inputs, out, self.value.get_or_init(|| Program::new(&(self.form.value)())));
    }

    /// The reverse pass over all output positions.
    pub(crate) fn pullback(&self, inputs: &[View<'_, T>], g: &[T], grads: &mut [Option<&mut [T]>]) {
        let program = self.gradients.get_or_init(|| Program::new(&(self.form.slopes)().times_input()));
        backward(inputs, g, grads, program);
    }
}

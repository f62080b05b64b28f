//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::line::{line_add, line_of, line_total};
use crate::kernels::pieces::{Place, for_each_piece};
use crate::numbers::dual::Dual;
use crate::numbers::dual::Nested;
use crate::numbers::lanes::Lanes;
use crate::numbers::lanes::array;
use crate::numbers::parallel::{self, split_front};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Avx2, Avx512, Block, Portable, dispatch_wide};
use crate::tape::Tape;
use crate::tape::compiled::{self, Compiled};
use crate::tape::float::Float;
use crate::tape::operation::{Operation, Outcome, View, shapes};
use crate::tape::var::Var;
use crate::tensor::shape::Broadcast;
use crate::tensor::shape::Shape;

/// An elementwise operation of `K` operands.
///
/// ```
/// use cotangent_engine::{MapFormula, Scalar, Tape, Tensor};
///
/// /// x · σ(x): the swish activation.
/// #[derive(Clone, Copy)]
/// struct Swish;
///
/// impl MapFormula<1> for Swish {
///     const NAME: &'static str = "swish";
///     fn eval<S: Scalar>([x]: [S; 1]) -> S {
///         x * x.sigmoid()
///     }
/// }
///
/// let tape = Tape::<f64>::new();
/// let x = tape.variable(&Tensor::new([2], vec![0.0, 30.0]));
/// let y = tape.map(Swish, [x]);
/// assert_eq!(y.to_tensor().data(), [0.0, 30.0 * 30.0_f64.sigmoid()]);
/// ```
pub trait MapFormula<const K: usize>: Copy + Send + Sync + 'static {
    /// The name shown in messages.
    const NAME: &'static str;
    /// The formula's kernels: see [`compiled_here!`](crate::compiled_here).
    fn compiled() -> &'static Compiled<compiled::Map> {
        Compiled::map::<Self, K>()
    }
    /// The formula.
    fn eval<S: Scalar>(operands: [S; K]) -> S;
}

impl<T: Float> Tape<T> {
    /// Applies an elementwise formula; the operands broadcast.
    #[track_caller]
    pub fn map<'t, F: MapFormula<K>, const K: usize>(
        &'t self,
        _formula: F,
        operands: [Var<'t, T>; K],
    ) -> Var<'t, T> {
        self.operation(F::compiled().of_type(), &operands)
    }
}

/// An operand's elements and how they are read over the output's.
#[derive(Clone, Copy)]
struct Elements<'a, T> {
    data: &'a [T],
    read: Broadcast,
}

/// Elements side by side: with AVX2, and with AVX-512.
const LANES: usize = 8;
const WIDE: usize = 16;

/// Estimated time of one element, in nanoseconds.
const COST: usize = 1;

/// Output positions that a formula is given at once. Operands that are not stored in the order in which
/// they are read are copied into that order first; the copies stay in the first cache.
const CHUNK: usize = 512;

impl<'a, T: Float> Elements<'a, T> {
    fn of(views: &[View<'a, T>], out: &Shape) -> SmallVec<[Elements<'a, T>; 6]> {
        let elements = |view: &View<'a, T>| {
            let read = Broadcast::new(view.shape, out).expect("shapes were checked when the node was made");
            Elements { data: view.data, read }
        };
        views.iter().map(elements).collect()
    }

    /// The elements at some output positions: in place if they are neighbours, else copied.
    fn at<'b>(&self, positions: Range<usize>, copy: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        let count = positions.len();
        if self.read.consecutive(positions.start, count) {
            return &self.data[self.read.at(positions.start)..][..count];
        }
        let cycle = self.read.len;
        if !self.read.holds() && self.read.hold == 1 && cycle < count {
            // One cycle is laid out and then copied over and over: with runs of few elements, each run
            // would be a call of its own.
            let (first, copy) = (self.read.at(positions.start), &mut copy[..count]);
            copy[..cycle - first].copy_from_slice(&self.data[first..cycle]);
            copy[cycle - first..cycle].copy_from_slice(&self.data[..first]);
            let mut there = cycle;
            while there < count {
                let more = there.min(count - there);
                copy.copy_within(..more, there);
                there += more;
            }
            return copy;
        }
        let mut rest = &mut copy[..count];
        for (first, count) in self.read.runs(positions) {
            let run = split_front(&mut rest, count);
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
/// operand; `size` is at least the number of positions.
fn laid_out<'b, T: Float>(
    operands: &'b [Elements<'_, T>],
    positions: &Range<usize>,
    copies: &'b mut [T],
    size: usize,
) -> SmallVec<[&'b [T]; 6]> {
    let copies = copies.chunks_exact_mut(size);
    operands.iter().zip(copies).map(|(operand, copy)| operand.at(positions.clone(), copy)).collect()
}

/// Output positions, [`CHUNK`] at a time.
fn chunks(positions: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = positions.end;
    positions.step_by(CHUNK).map(move |start| start..end.min(start + CHUNK))
}

/// What a formula computes of its operands' elements.
type Values<'a, T> = dyn Fn(&[&[T]], &mut [T]) + Sync + 'a;

/// The gradients of a formula's operands, given their elements and the upstream gradient.
type Gradients<'a, T> = dyn Fn(&[&[T]], &[T], &mut [&mut [T]]) + Sync + 'a;

/// A formula over all output positions. Compiled once for each element type.
fn forward<T: Float>(inputs: &[View<'_, T>], out: &mut [T], values: &Values<'_, T>) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::of(inputs, &shape);
    parallel::for_each_part(out, 1, WIDE, COST, |range, out| {
        let size = CHUNK.min(out.len());
        T::with_scratch(operands.len() * size, |copies| {
            let mut rest = out;
            for positions in chunks(range) {
                let x = laid_out(&operands, &positions, copies, size);
                values(&x, split_front(&mut rest, positions.len()));
            }
        });
    });
}

/// The reverse pass of a formula over all output positions. Compiled once for each element type.
fn backward<T: Float>(
    inputs: &[View<'_, T>],
    g: &[T],
    grads: &mut [Option<&mut [T]>],
    gradients: &Gradients<'_, T>,
) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::of(inputs, &shape);
    let reads: SmallVec<[(Broadcast, usize); 6]> = operands.iter().map(|operand| (operand.read, 1)).collect();
    for_each_piece(&reads, g.len(), 3 * COST, grads, |piece| {
        let (range, places) = (piece.range.clone(), &mut piece.places);
        let size = CHUNK.min(range.len());
        let mut sums: SmallVec<[f64; 6]> = SmallVec::from_elem(0.0, operands.len());
        T::with_scratch(2 * operands.len() * size, |scratch| {
            let (copies, results) = scratch.split_at_mut(operands.len() * size);
            for positions in chunks(range) {
                let count = positions.len();
                let x = laid_out(&operands, &positions, copies, size);
                let mut dx: SmallVec<[&mut [T]; 6]> = operands
                    .iter()
                    .zip(places.iter_mut().zip(results.chunks_exact_mut(size)))
                    .map(|(operand, (place, result))| {
                        let full = operand.read.is_full(g.len());
                        let in_place = if full { place.run(positions.start, count) } else { None };
                        in_place.unwrap_or(&mut result[..count])
                    })
                    .collect();
                gradients(&x, &g[positions.clone()], &mut dx);
                drop(dx);
                for (k, result) in results.chunks_exact(size).enumerate() {
                    let (read, place) = (operands[k].read, &mut places[k]);
                    if !read.is_full(g.len()) && !matches!(place, Place::Unwanted) {
                        let (result, at) = (&result[..count], positions.clone());
                        dispatch_wide(
                            (place, &mut sums[k]),
                            #[inline(always)]
                            |(place, sum)| add_runs::<T, Avx512>(read, at.clone(), result, place, sum),
                            #[inline(always)]
                            |(place, sum)| add_runs::<T, Avx2>(read, at.clone(), result, place, sum),
                            #[inline(always)]
                            |(place, sum)| add_runs::<T, Portable>(read, at.clone(), result, place, sum),
                        );
                    }
                }
            }
        });
        for (k, sum) in sums.into_iter().enumerate() {
            let read = operands[k].read;
            if read.len == 1
                && !read.is_full(g.len())
                && let Some(place) = places[k].run(0, 1)
            {
                place[0] = T::nearest(sum);
            }
        }
    });
}

/// Adds gradients at some output positions to those of an operand that is not read in full, or to `sum`
/// if the operand is a single number.
#[inline(always)]
fn add_runs<T: Float, S: Block>(
    read: Broadcast,
    positions: Range<usize>,
    mut dx: &[T],
    place: &mut Place<'_, T>,
    sum: &mut f64,
) {
    for (first, count) in read.runs(positions) {
        let (run, rest) = dx.split_at(count);
        dx = rest;
        if read.len == 1 {
            *sum += line_total::<T, S>(run);
        } else if read.holds() {
            let element = &mut place.run(first, 1).expect("wanted")[0];
            // Few elements are added one by one, as a device does.
            let few = count < LANES;
            let before = element.to_f64();
            *element = T::nearest(if few {
                run.iter().fold(before, |sum, x| sum + x.to_f64())
            } else {
                before + line_total::<T, S>(run)
            });
        } else {
            line_add(place.run(first, count).expect("wanted"), run);
        }
    }
}

/// The common shape of elementwise operands.
pub(crate) fn common(inputs: &[&Shape]) -> Result<Shape, String> {
    let axes: SmallVec<[&[usize]; 6]> = inputs.iter().map(|s| s.axes()).collect();
    Broadcast::common(&axes)
        .ok_or_else(|| format!("shapes {axes:?} do not broadcast: axes must be equal or 1, in one run"))
}

/// A formula as an operation.
pub(crate) struct ErasedMap<F, const K: usize>(PhantomData<fn() -> F>);

impl<F: MapFormula<K>, const K: usize> ErasedMap<F, K> {
    const VALUE: Self = ErasedMap(PhantomData);

    pub(crate) const fn operation<T: Float>() -> &'static dyn Operation<T> {
        &Self::VALUE
    }
}

impl<F: MapFormula<K>, T: Float, const K: usize> Operation<T> for ErasedMap<F, K> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        forward(inputs, out, &|x, out| {
            dispatch_wide(
                out,
                #[inline(always)]
                |out| values::<F, T, K, WIDE>(x, out),
                #[inline(always)]
                |out| values::<F, T, K, LANES>(x, out),
                #[inline(always)]
                |out| values::<F, T, K, 1>(x, out),
            );
        });
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        backward(inputs, g, grads, &|x, g, dx| {
            dispatch_wide(
                dx,
                #[inline(always)]
                |dx| gradients::<F, T, K, WIDE>(x, g, dx),
                #[inline(always)]
                |dx| gradients::<F, T, K, LANES>(x, g, dx),
                #[inline(always)]
                |dx| gradients::<F, T, K, 1>(x, g, dx),
            );
        });
    }

    #[cfg(feature = "opencl")]
    fn on_device(&self) -> Option<&dyn crate::opencl::OnDevice<T>> {
        const { Some(&crate::opencl::MapForm::of::<F, T, K>()) }
    }

    #[track_caller]
    fn jvp<'t>(
        &self,
        inputs: &[Var<'t, T>],
        _out: Var<'t, T>,
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        let nested = |x: &[Nested]| F::eval(array(Nested::zero(), |k| x[k]));
        MapDerivative::record(F::NAME, nested, inputs, tangents)
    }
}

/// The formula of some elements, `R` at a time.
#[inline(always)]
fn values<F: MapFormula<K>, T: Float, const K: usize, const R: usize>(x: &[&[T]], out: &mut [T]) {
    line_of::<T, R, K>(
        out,
        x.try_into().expect("as many operands"),
        #[inline(always)]
        |x| F::eval(x),
    );
}

/// The gradients of some elements, `R` at a time.
#[inline(always)]
fn gradients<F: MapFormula<K>, T: Float, const K: usize, const R: usize>(
    x: &[&[T]],
    g: &[T],
    dx: &mut [&mut [T]],
) {
    let x: &[&[T]; K] = x.try_into().expect("as many operands");
    let dx: &mut [&mut [T]; K] = dx.try_into().expect("as many operands");
    for (b, g) in g.chunks(R).enumerate() {
        let block = array(
            Lanes::<R, T>::splat(T::zero()),
            #[inline(always)]
            |k| Lanes::load(&x[k][b * R..], 0.0),
        );
        let y = F::eval(Dual::variables(block));
        let g = Lanes::load(g, 0.0);
        for k in 0..K {
            (y.partials[k] * g).store(&mut dx[k][b * R..]);
        }
    }
}

/// The derivative of a formula along tangents. Its operands are those of the formula, then the tangents
/// that are not zero. Both passes take the formula on nested dual numbers, one partial derivative at a time.
struct MapDerivative {
    name: &'static str,
    nested: fn(&[Nested]) -> Nested,
    /// Which operands have a tangent.
    present: SmallVec<[bool; 6]>,
}

impl MapDerivative {
    #[track_caller]
    fn record<'t, T: Float>(
        name: &'static str,
        nested: fn(&[Nested]) -> Nested,
        inputs: &[Var<'t, T>],
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        let present = tangents.iter().map(Option::is_some).collect();
        let mut operands: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(inputs);
        operands.extend(tangents.iter().flatten().copied());
        inputs[0].tape().shared_operation(Arc::new(MapDerivative { name, nested, present }), &operands)
    }

    /// Operands with their tangents at an output position.
    fn at<T: Float>(&self, operands: &[Elements<'_, T>], p: usize) -> SmallVec<[Nested; 6]> {
        let (operands, tangents) = operands.split_at(self.present.len());
        let mut tangents = tangents.iter();
        let read = |e: &Elements<'_, T>| e.data[e.read.at(p)].to_f64();
        let nested = |(operand, &present): (&Elements<'_, T>, &bool)| {
            let tangent = if present { tangents.next().map_or(0.0, read) } else { 0.0 };
            Dual {
                value: Dual { value: read(operand), partials: [tangent] },
                partials: [Dual::constant(0.0)],
            }
        };
        operands.iter().zip(&self.present).map(nested).collect()
    }
}

impl<T: Float> Operation<T> for MapDerivative {
    fn name(&self) -> &'static str {
        self.name
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::of(inputs, &shape);
        for (p, y) in out.iter_mut().enumerate() {
            *y = T::nearest((self.nested)(&self.at(&operands, p)).value.partials[0]);
        }
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::of(inputs, &shape);
        grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
        let mut add = |i: usize, p: usize, x: f64| {
            if let Some(grad) = grads[i].as_deref_mut() {
                let sum = &mut grad[operands[i].read.at(p)];
                *sum = *sum + T::nearest(x);
            }
        };
        for (p, g) in g.iter().enumerate() {
            let mut x = self.at(&operands, p);
            let mut of_tangent = x.len();
            for k in 0..x.len() {
                x[k].partials = [Dual::constant(1.0)];
                let Dual { value: first, partials: [second] } = (self.nested)(&x).partials[0];
                x[k].partials = [Dual::constant(0.0)];
                add(k, p, g.to_f64() * second);
                if self.present[k] {
                    add(of_tangent, p, g.to_f64() * first);
                    of_tangent += 1;
                }
            }
        }
    }
}

//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::ops::Range;

use smallvec::SmallVec;

#[cfg(feature = "opencl")]
use crate::formula::map::MapForm;
use crate::formula::map::MapFormula;
use crate::formula::per_type::{Compiled, Each, PerFloat};
use crate::kernels::pieces::for_each_piece;
use crate::numbers::dual::{Dual, Nested};
use crate::numbers::lanes::{Lanes, array};
use crate::numbers::line::{line_of, line_total};
use crate::numbers::parallel::{self, split_front};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Avx2, Avx512, Block, Portable, dispatch_wide};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{View, shapes};

/// An operand's elements and how they are read over the output's.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) read: Broadcast,
}

/// Elements side by side: with AVX2, and with AVX-512.
const LANES: usize = 8;
const WIDE: usize = 16;

/// Estimated time of one element, in nanoseconds.
const COST: usize = 1;

/// Output positions that a formula is given at once. Operands that are not stored in the order in which
/// they are read are copied into that order first; the copies stay in the first cache.
const CHUNK: usize = 512;

impl<'a, T: Storage> Elements<'a, T> {
    pub(crate) fn new(views: &[View<'a, T>], out: &Shape) -> SmallVec<[Elements<'a, T>; 6]> {
        let elements = |view: &View<'a, T>| {
            let read = Broadcast::new(view.shape, out).expect("shapes were checked when the node was made");
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
/// operand; `size` is at least the number of positions.
fn laid_out<'b, T: Storage>(
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
fn forward<T: Storage>(inputs: &[View<'_, T>], out: &mut [T], values: &Values<'_, T>) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::new(inputs, &shape);
    parallel::for_each_part(out, 1, WIDE, COST, |range, out| {
        let size = CHUNK.min(out.len());
        T::with_scratch(operands.len() * size, |copies| {
            let mut remaining = out;
            for positions in chunks(range) {
                let x = laid_out(&operands, &positions, copies, size);
                values(&x, split_front(&mut remaining, positions.len()));
            }
        });
    });
}

/// The reverse pass of a formula over all output positions. Compiled once for each element type.
fn backward<T: Storage>(
    inputs: &[View<'_, T>],
    g: &[T],
    grads: &mut [Option<&mut [T]>],
    gradients: &Gradients<'_, T>,
) {
    let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
    let operands = Elements::new(inputs, &shape);
    let reads: SmallVec<[(Broadcast, usize); 6]> = operands.iter().map(|operand| (operand.read, 1)).collect();
    for_each_piece(&reads, g.len(), 3 * COST, grads, |piece| {
        let (range, places) = (piece.range.clone(), &mut piece.places);
        let size = CHUNK.min(range.len());
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
                    if !read.is_full(g.len())
                        && let Some(sums) = place.sums()
                    {
                        let (result, at) = (&result[..count], positions.clone());
                        dispatch_wide(
                            sums,
                            #[inline(always)]
                            |sums| add_runs::<T, Avx512>(read, at.clone(), result, sums),
                            #[inline(always)]
                            |sums| add_runs::<T, Avx2>(read, at.clone(), result, sums),
                            #[inline(always)]
                            |sums| add_runs::<T, Portable>(read, at.clone(), result, sums),
                        );
                    }
                }
            }
        });
    });
}

/// Adds gradients at some output positions to those of an operand that is not read in full, from its position
/// `start` on.
#[inline(always)]
fn add_runs<T: Storage, S: Block>(
    read: Broadcast,
    positions: Range<usize>,
    mut dx: &[T],
    (sums, start): (&mut [f64], usize),
) {
    for (first, count) in read.runs(positions) {
        let (run, following) = dx.split_at(count);
        dx = following;
        if read.holds() {
            let sum = &mut sums[first - start];
            // Few elements are added one by one, as a device does.
            let few = count < LANES && read.len > 1;
            *sum = if few {
                run.iter().fold(*sum, |sum, x| sum + x.to_f64())
            } else {
                *sum + line_total::<T, S>(run)
            };
        } else {
            sums[first - start..].iter_mut().zip(run).for_each(|(sum, x)| *sum += x.to_f64());
        }
    }
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
    pub const fn map<F: MapFormula<K>, const K: usize>() -> &'static Self {
        const {
            let f32 = const { &MapKernel::new::<F, K>() };
            let f64 = const { &MapKernel::new::<F, K>() };
            &Compiled(Each { f32, f64 })
        }
    }
}

/// The gradients of operands, given their elements and the gradient of the result.
type GradientsOf<T> = fn(&[&[T]], &[T], &mut [&mut [T]]);

/// A formula with its type erased: its values and its gradients, of operands that are laid out.
#[doc(hidden)]
pub struct MapKernel<T> {
    pub(crate) name: &'static str,
    values: fn(&[&[T]], &mut [T]),
    gradients: GradientsOf<T>,
    /// The formula of one element, for forward mode.
    pub(crate) nested: fn(&[Nested]) -> Nested,
    #[cfg(feature = "opencl")]
    pub(crate) form: MapForm,
}

impl<T: Storage> MapKernel<T> {
    const fn new<F: MapFormula<K>, const K: usize>() -> Self {
        MapKernel {
            name: F::NAME,
            values: |x, out| {
                dispatch_wide(
                    out,
                    #[inline(always)]
                    |out| values::<F, T, K, WIDE>(x, out),
                    #[inline(always)]
                    |out| values::<F, T, K, LANES>(x, out),
                    #[inline(always)]
                    |out| values::<F, T, K, 1>(x, out),
                );
            },
            gradients: |x, g, dx| {
                dispatch_wide(
                    dx,
                    #[inline(always)]
                    |dx| gradients::<F, T, K, WIDE>(x, g, dx),
                    #[inline(always)]
                    |dx| gradients::<F, T, K, LANES>(x, g, dx),
                    #[inline(always)]
                    |dx| gradients::<F, T, K, 1>(x, g, dx),
                );
            },
            nested: |x| F::eval(array(Nested::zero(), |k| x[k])),
            #[cfg(feature = "opencl")]
            form: MapForm::new::<F, T, K>(),
        }
    }

    /// The formula over all output positions.
    pub(crate) fn forward(&self, inputs: &[View<'_, T>], out: &mut [T]) {
        forward(inputs, out, &self.values);
    }

    /// The reverse pass over all output positions.
    pub(crate) fn backward(&self, inputs: &[View<'_, T>], g: &[T], grads: &mut [Option<&mut [T]>]) {
        backward(inputs, g, grads, &self.gradients);
    }
}

/// The formula of some elements, `R` at a time.
#[inline(always)]
fn values<F: MapFormula<K>, T: Storage, const K: usize, const R: usize>(x: &[&[T]], out: &mut [T]) {
    line_of::<T, R, K>(
        out,
        x.try_into().expect("as many operands"),
        #[inline(always)]
        |x| F::eval(x),
    );
}

/// The gradients of some elements, `R` at a time.
#[inline(always)]
fn gradients<F: MapFormula<K>, T: Storage, const K: usize, const R: usize>(
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

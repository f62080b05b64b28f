//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::compiled::{self, Compiled};
use crate::kernels::pieces::{Piece, Place, for_each_piece};
use crate::lanes::array;
use crate::operation::{Operation, Outcome, View, shapes};
use crate::parallel;
use crate::shape::Broadcast;
use crate::simd::dispatch_wide;
use crate::{Dual, Float, Lanes, Scalar, Shape, Tape, Var};

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

impl<'a, T: Float> Elements<'a, T> {
    fn of(views: &[View<'a, T>], out: &Shape) -> SmallVec<[Elements<'a, T>; 6]> {
        let elements = |view: &View<'a, T>| {
            let read = Broadcast::new(view.shape, out).expect("shapes were checked when the node was made");
            Elements { data: view.data, read }
        };
        views.iter().map(elements).collect()
    }

    #[inline(always)]
    fn blocks<const R: usize>(&self, start: usize, end: usize) -> Blocks<'a, T, R> {
        if self.read.len == 1 {
            Blocks::Scalar(Lanes::splat(self.data[0]))
        } else if self.read.repeat == 1 && self.read.hold == 1 && end <= self.read.len {
            Blocks::Full(&self.data[start..end])
        } else {
            Blocks::Other
        }
    }

    /// The operand's elements at the output positions from `start` on; beyond `end`, the last one again.
    #[inline(always)]
    fn load<const R: usize>(&self, start: usize, end: usize) -> Lanes<R, T> {
        if self.read.len == 1 {
            return Lanes::splat(self.data[0]);
        }
        let first = self.read.at(start);
        if start + R <= end && self.read.consecutive(start, R) {
            let block = &self.data[first..first + R];
            Lanes::from(array(T::zero(), |l| block[l]))
        } else if self.read.repeat > 1
            && start / self.read.repeat == (start + R - 1).min(end - 1) / self.read.repeat
        {
            Lanes::splat(self.data[first])
        } else {
            Lanes::from(array(T::zero(), |l| self.data[self.read.at((start + l).min(end - 1))]))
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
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::of(inputs, &shape);
        parallel::for_each_part(out, 1, WIDE, COST, |range, out| {
            dispatch_wide(
                out,
                #[inline(always)]
                |out| forward_range::<F, T, K, WIDE>(&operands, range.start, out),
                #[inline(always)]
                |out| forward_range::<F, T, K, LANES>(&operands, range.start, out),
                #[inline(always)]
                |out| forward_range::<F, T, K, 1>(&operands, range.start, out),
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
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::of(inputs, &shape);
        let reads: SmallVec<[(Broadcast, usize); 6]> = operands.iter().map(|o| (o.read, 1)).collect();
        for_each_piece(&reads, g.len(), 3 * COST, grads, |piece| {
            dispatch_wide(
                piece,
                #[inline(always)]
                |piece| backward_piece::<F, T, K, WIDE>(&operands, g, piece),
                #[inline(always)]
                |piece| backward_piece::<F, T, K, LANES>(&operands, g, piece),
                #[inline(always)]
                |piece| backward_piece::<F, T, K, 1>(&operands, g, piece),
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
        let present = array(false, |k| tangents[k].is_some());
        let mut operands: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(inputs);
        operands.extend(tangents.iter().flatten().copied());
        let derivative = Arc::new(MapDerivative::<F, K> { present, formula: PhantomData });
        inputs[0].tape().shared_operation(derivative, &operands)
    }
}

/// The output positions from `start` on, `R` at a time.
#[inline(always)]
fn forward_range<F: MapFormula<K>, T: Float, const K: usize, const R: usize>(
    operands: &[Elements<'_, T>],
    start: usize,
    out: &mut [T],
) {
    let end = start + out.len();
    let blocks: [Blocks<'_, T, R>; K] = array(Blocks::Other, |k| operands[k].blocks(start, end));
    for (b, out) in out.chunks_mut(R).enumerate() {
        let x = array(Lanes::<R, T>::splat(T::zero()), |k| match blocks[k] {
            Blocks::Full(all) if out.len() == R => {
                let block = &all[b * R..(b + 1) * R];
                Lanes::from(array(T::zero(), |l| block[l]))
            }
            Blocks::Scalar(x) => x,
            _ => operands[k].load(start + b * R, end),
        });
        F::eval(x).store(out);
    }
}

/// The usual ways to read an operand over a range of output positions.
#[derive(Clone, Copy)]
enum Blocks<'a, T: Float, const R: usize> {
    /// The range's own elements.
    Full(&'a [T]),
    /// One element for all.
    Scalar(Lanes<R, T>),
    Other,
}

/// The reverse pass of a piece, `R` positions at a time.
#[inline(always)]
fn backward_piece<F: MapFormula<K>, T: Float, const K: usize, const R: usize>(
    operands: &[Elements<'_, T>],
    g: &[T],
    piece: &mut Piece<'_, T>,
) {
    let (range, places) = (piece.range.clone(), &mut piece.places);
    let mut sums = [0.0; K];
    let blocks: [Blocks<'_, T, R>; K] = array(Blocks::Other, |k| operands[k].blocks(range.start, range.end));
    for (b, upstream) in g[range.clone()].chunks(R).enumerate() {
        let (p, count) = (range.start + b * R, upstream.len());
        let x = array(Lanes::<R, T>::splat(T::zero()), |k| match blocks[k] {
            Blocks::Full(all) if count == R => {
                let block = &all[b * R..(b + 1) * R];
                Lanes::from(array(T::zero(), |l| block[l]))
            }
            Blocks::Scalar(x) => x,
            _ => operands[k].load(p, range.end),
        });
        let y = F::eval(Dual::variables(x));
        let upstream = Lanes::load(upstream, 0.0);
        for k in 0..K {
            if matches!(places[k], Place::Unwanted) {
                continue;
            }
            let dx = y.partials[k] * upstream;
            let read = operands[k].read;
            if read.is_full(g.len()) {
                dx.store(places[k].run(p, count).expect("wanted"));
            } else if read.len == 1 {
                (0..count).for_each(|l| sums[k] += dx.get(l).to_f64());
            } else if count == R && read.consecutive(p, R) {
                let sum = places[k].run(read.at(p), R).expect("wanted");
                for l in 0..R {
                    sum[l] = sum[l] + dx.get(l);
                }
            } else {
                for l in 0..count {
                    let sum = places[k].run(read.at(p + l), 1).expect("wanted");
                    sum[0] = sum[0] + dx.get(l);
                }
            }
        }
    }
    for k in 0..K {
        let read = operands[k].read;
        if read.len == 1
            && !read.is_full(g.len())
            && let Some(sum) = places[k].run(0, 1)
        {
            sum[0] = T::nearest(sums[k]);
        }
    }
}

/// The derivative of a formula along tangents: the operands, then the tangents that are not zero. Its own
/// reverse pass takes nested dual numbers.
struct MapDerivative<F, const K: usize> {
    present: [bool; K],
    formula: PhantomData<fn() -> F>,
}

impl<F: MapFormula<K>, const K: usize> MapDerivative<F, K> {
    /// Operands with their tangents at an output position.
    fn at<T: Float>(&self, operands: &[Elements<'_, T>], p: usize) -> [Dual<f64, 1>; K] {
        let mut tangents = operands[K..].iter();
        let mut read = |e: &Elements<'_, T>| e.data[e.read.at(p)].to_f64();
        array(Dual::constant(0.0), |k| {
            let tangent = if self.present[k] { tangents.next().map_or(0.0, &mut read) } else { 0.0 };
            Dual { value: read(&operands[k]), partials: [tangent] }
        })
    }
}

impl<F: MapFormula<K>, T: Float, const K: usize> Operation<T> for MapDerivative<F, K> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        common(inputs)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let shape = common(&shapes(inputs)).expect("shapes were checked when the node was made");
        let operands = Elements::of(inputs, &shape);
        for (p, y) in out.iter_mut().enumerate() {
            *y = T::nearest(F::eval(self.at(&operands, p)).partials[0]);
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
            let y = F::eval(Dual::variables(self.at(&operands, p)));
            let mut of_tangent = K;
            for k in 0..K {
                let Dual { value: first, partials: [second] } = y.partials[k];
                add(k, p, g.to_f64() * second);
                if self.present[k] {
                    add(of_tangent, p, g.to_f64() * first);
                    of_tangent += 1;
                }
            }
        }
    }
}

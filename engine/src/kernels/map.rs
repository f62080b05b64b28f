//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::kernels::pieces::{Place, for_each_piece};
use crate::lanes::array;
use crate::parallel::{self, PIECES, split_front};
use crate::shape::Broadcast;
use crate::simd::dispatch;
use crate::{Dual, Float, Lanes, Scalar};

/// An elementwise operation of `K` operands, computed in `f64` and rounded once to the storage type.
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
    /// The formula.
    fn eval<S: Scalar>(operands: [S; K]) -> S;
}

/// An operand's elements and how they are read over the output's.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) read: Broadcast,
}

/// Elements side by side.
const LANES: usize = 8;

impl<T: Float> Elements<'_, T> {
    /// The operand's elements at some output positions below `n`; beyond `end`, the last one again.
    #[inline(always)]
    fn load(&self, start: usize, end: usize, n: usize) -> Lanes<LANES> {
        let last = end - 1;
        Lanes::from(if self.read.len == 1 {
            [self.data[0].to_f64(); LANES]
        } else if start + LANES <= end && self.read.is_full(n) {
            let block = &self.data[start..start + LANES];
            array(0.0, |l| block[l].to_f64())
        } else {
            array(0.0, |l| self.data[self.read.at((start + l).min(last))].to_f64())
        })
    }
}

/// An elementwise formula with its type erased, so that a tape can hold it.
pub(crate) trait MapKernel<T: Float>: Send + Sync {
    fn name(&self) -> &'static str;
    fn forward(&self, operands: &[Elements<'_, T>], out: &mut [T]);
    /// Writes the gradient of every operand that has a place for it.
    fn backward(&self, operands: &[Elements<'_, T>], g: &[T], grads: &mut [Option<&mut [T]>]);
}

pub(crate) struct ErasedMap<F, const K: usize>(PhantomData<fn() -> F>);

impl<F: MapFormula<K>, const K: usize> ErasedMap<F, K> {
    const VALUE: Self = ErasedMap(PhantomData);

    pub(crate) fn kernel<T: Float>() -> &'static dyn MapKernel<T> {
        &Self::VALUE
    }
}

/// Estimated time of one element, in nanoseconds.
const COST: usize = 2;

impl<F: MapFormula<K>, T: Float, const K: usize> MapKernel<T> for ErasedMap<F, K> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn forward(&self, operands: &[Elements<'_, T>], out: &mut [T]) {
        let n = out.len();
        let mut rest = out;
        let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(n, LANES, COST)
            .into_iter()
            .map(|range| (range.start, split_front(&mut rest, range.len())))
            .collect();
        parallel::run(&mut jobs, |(start, out)| {
            let (start, end) = (*start, *start + out.len());
            dispatch(
                #[inline(always)]
                || {
                    for (b, out) in out.chunks_mut(LANES).enumerate() {
                        let y = F::eval(array(Lanes::splat(0.0), |k| {
                            operands[k].load(start + b * LANES, end, n)
                        }));
                        for (l, x) in out.iter_mut().enumerate() {
                            *x = T::nearest(y.get(l));
                        }
                    }
                },
            );
        });
    }

    fn backward(&self, operands: &[Elements<'_, T>], g: &[T], grads: &mut [Option<&mut [T]>]) {
        let n = g.len();
        let reads: SmallVec<[(Broadcast, usize); 6]> = operands.iter().map(|o| (o.read, 1)).collect();
        for_each_piece(&reads, n, 3 * COST, grads, |piece| {
            let (range, places) = (piece.range.clone(), &mut piece.places);
            dispatch(
                #[inline(always)]
                || {
                    for p in range.clone().step_by(LANES) {
                        let end = range.end.min(p + LANES);
                        let x = array(Lanes::splat(0.0), |k| operands[k].load(p, range.end, n));
                        let y = F::eval(Dual::variables(x));
                        for k in 0..K {
                            if matches!(places[k], Place::Unwanted) {
                                continue;
                            }
                            let full = operands[k].read.is_full(n);
                            for (l, p) in (p..end).enumerate() {
                                let Some([element]) = places[k].at(operands[k].read.at(p), 1) else {
                                    continue;
                                };
                                let before = if full { 0.0 } else { element.to_f64() };
                                *element = T::nearest(before + g[p].to_f64() * y.partials[k].get(l));
                            }
                        }
                    }
                },
            );
        });
    }
}

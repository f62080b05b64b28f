//! The `map` kernel: elementwise formulas of k operands, broadcast.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::kernels::pieces::for_each_piece;
use crate::parallel::{self, PIECES, split_front};
use crate::shape::Broadcast;
use crate::simd::dispatch;
use crate::{Dual, Float, Scalar};

/// An elementwise operation of `K` operands, computed in the storage type.
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

const LANES: usize = 8;

impl<T: Float> Elements<'_, T> {
    /// The operand's elements at output positions `start..start + LANES`, all of them below `n`.
    #[inline(always)]
    fn load(&self, start: usize, n: usize) -> [T; LANES] {
        if self.read.is_full(n) {
            let block = &self.data[start..start + LANES];
            std::array::from_fn(|l| block[l])
        } else if self.read.len == 1 {
            [self.data[0]; LANES]
        } else {
            std::array::from_fn(|l| self.data[self.read.at(start + l)])
        }
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
            let start = *start;
            dispatch(
                #[inline(always)]
                || {
                    let whole = out.len() / LANES * LANES;
                    let (blocks, tail) = out.split_at_mut(whole);
                    for (b, block) in blocks.chunks_exact_mut(LANES).enumerate() {
                        let x: [[T; LANES]; K] =
                            std::array::from_fn(|k| operands[k].load(start + b * LANES, n));
                        for l in 0..LANES {
                            block[l] = F::eval(std::array::from_fn(|k| x[k][l]));
                        }
                    }
                    for (i, y) in tail.iter_mut().enumerate() {
                        let p = start + whole + i;
                        *y = F::eval(std::array::from_fn(|k| operands[k].data[operands[k].read.at(p)]));
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
                    for p in range {
                        let at: [usize; K] = std::array::from_fn(|k| operands[k].read.at(p));
                        let y = F::eval(Dual::variables(std::array::from_fn(|k| operands[k].data[at[k]])));
                        for k in 0..K {
                            let Some([element]) = places[k].at(at[k], 1) else { continue };
                            let before = if operands[k].read.is_full(n) { T::zero() } else { *element };
                            *element = before + g[p] * y.partials[k];
                        }
                    }
                },
            );
        });
    }
}

//! The formula on tiles of pairs.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::{PairFormula, Pairing};
use crate::kernels::line::{line_dot, load};
use crate::lanes::array;
use crate::operation::Operation;
use crate::simd::dispatch;
use crate::{Dual, Float, Lanes};

/// A tile of pairs with the numbers of its rows.
#[doc(hidden)]
#[allow(missing_docs)]
pub struct Tile<'a, T> {
    /// Right rows.
    pub(crate) columns: usize,
    /// Whether there is a left row for each right one, and only those are pairs: `left` is as long as `right`.
    pub(crate) matched: bool,
    /// For each number, one element per left row.
    pub(crate) left: SmallVec<[&'a [T]; 4]>,
    pub(crate) right: SmallVec<[&'a [T]; 4]>,
    pub(crate) params: SmallVec<[f64; 4]>,
}

/// Gradients of the numbers of a tile's rows, to be added to; none where it is not asked for.
pub(crate) struct TileGradients<'a, T> {
    pub(crate) left: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) right: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) params: SmallVec<[Option<f64>; 4]>,
}

/// A pair formula with its type erased: the elementwise part, on tiles.
#[doc(hidden)]
pub trait PairKernel<T: Float>: Send + Sync {
    fn pairing(&self) -> Pairing;
    /// How many numbers of left rows, of right rows, and parameters.
    fn counts(&self) -> [usize; 3];
    /// Turns pairings into scores, in place.
    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]);
    /// Turns pairings of left row `i` with right rows from `at` on into the partial derivatives by one of the
    /// arguments, in place: the pairing (0), the numbers of the left row, of the right rows, the parameters.
    fn partial(&self, tile: &Tile<'_, T>, which: usize, i: usize, at: usize, s: &mut [T]);
    /// The operation that computes the scores of all pairs.
    fn operation(&self) -> &'static dyn Operation<T>;
    /// The formula for a device.
    #[cfg(feature = "opencl")]
    fn form(&self) -> &'static crate::opencl::PairForm;
}

pub(crate) struct ErasedPair<F, const L: usize, const R: usize, const P: usize>(PhantomData<fn() -> F>);

impl<F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize> ErasedPair<F, L, R, P> {
    const VALUE: Self = ErasedPair(PhantomData);

    pub(crate) const fn kernel<T: Float>() -> &'static dyn PairKernel<T> {
        &Self::VALUE
    }
}

pub(super) const LANES: usize = 8;

/// A block of pairs: the arguments of the formula.
struct Block<T: Float, const L: usize, const R: usize, const P: usize> {
    pairing: Lanes<LANES, T>,
    left: [Lanes<LANES, T>; L],
    right: [Lanes<LANES, T>; R],
    params: [Lanes<LANES, T>; P],
}

impl<T: Float, const L: usize, const R: usize, const P: usize> Block<T, L, R, P> {
    /// Pairs of left row `i` with the right rows from `at` on.
    #[inline(always)]
    fn load(tile: &Tile<'_, T>, s: &[T], i: usize, at: usize) -> Self {
        let zero = Lanes::splat(T::zero());
        Block {
            pairing: load(s, 1.0),
            left: array(zero, |k| {
                let numbers = tile.left[k];
                if tile.matched { load(&numbers[at..][..s.len()], 1.0) } else { Lanes::splat(numbers[i]) }
            }),
            right: array(zero, |k| load(&tile.right[k][at..][..s.len()], 1.0)),
            params: array(zero, |p| Lanes::splat(T::nearest(tile.params[p]))),
        }
    }

    #[inline(always)]
    fn score<F: PairFormula<L, R, P>>(self) -> Lanes<LANES, T> {
        F::eval(self.pairing, self.left, self.right, self.params)
    }

    /// The partial derivative by argument `which`. One at a time: the dual numbers stay in registers.
    #[inline(always)]
    fn partial<F: PairFormula<L, R, P>>(&self, which: usize) -> Lanes<LANES, T> {
        let dual = |value, on: bool| Dual { value, partials: [Lanes::splat(T::constant(f64::from(on)))] };
        let zero = dual(Lanes::splat(T::zero()), false);
        let y = F::eval(
            dual(self.pairing, which == 0),
            array(zero, |k| dual(self.left[k], which == 1 + k)),
            array(zero, |k| dual(self.right[k], which == 1 + L + k)),
            array(zero, |k| dual(self.params[k], which == 1 + L + R + k)),
        );
        y.partials[0]
    }
}

impl<F, T, const L: usize, const R: usize, const P: usize> PairKernel<T> for ErasedPair<F, L, R, P>
where
    F: PairFormula<L, R, P>,
    T: Float,
{
    fn pairing(&self) -> Pairing {
        F::PAIRING
    }
    fn counts(&self) -> [usize; 3] {
        [L, R, P]
    }
    fn operation(&self) -> &'static dyn Operation<T> {
        &Self::VALUE
    }
    #[cfg(feature = "opencl")]
    fn form(&self) -> &'static crate::opencl::PairForm {
        const { &crate::opencl::PairForm::of::<F, T, L, R, P>() }
    }

    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]) {
        dispatch(
            #[inline(always)]
            || {
                for (i, s) in s.chunks_exact_mut(tile.columns).enumerate() {
                    for (b, s) in s.chunks_mut(LANES).enumerate() {
                        Block::<T, L, R, P>::load(tile, s, i, b * LANES).score::<F>().store(s);
                    }
                }
            },
        );
    }

    fn partial(&self, tile: &Tile<'_, T>, which: usize, i: usize, at: usize, s: &mut [T]) {
        dispatch(
            #[inline(always)]
            || {
                for (b, s) in s.chunks_mut(LANES).enumerate() {
                    Block::<T, L, R, P>::load(tile, s, i, at + b * LANES).partial::<F>(which).store(s);
                }
            },
        );
    }
}

/// Pairs of a row whose derivatives are taken together.
const PIECE: usize = 512;

/// Turns the scores' gradients `g` into the pairings' (`s` holds the pairings), and adds those of the numbers.
///
/// The formula's derivatives are stored before they are used: with the sums in the formula's own loop, whether there is
/// a gradient to add to is asked inside it, and LLVM's loop unswitching does not come to an end at opt-level 3.
pub(crate) fn gradient<T: Float>(
    kernel: &dyn PairKernel<T>,
    tile: &Tile<'_, T>,
    s: &[T],
    g: &mut [T],
    grads: &mut TileGradients<'_, T>,
) {
    let [l, r, p] = kernel.counts();
    let mut partials = [T::zero(); PIECE];
    let rows = s.chunks_exact(tile.columns).zip(g.chunks_exact_mut(tile.columns)).enumerate();
    for (i, (s, g)) in rows {
        for (at, (s, g)) in s.chunks(PIECE).zip(g.chunks_mut(PIECE)).enumerate() {
            let at = at * PIECE;
            let partials = &mut partials[..s.len()];
            // The pairing comes last: it takes the place of `g`.
            for which in (1..=l + r + p).chain([0]) {
                let mut derive = || {
                    partials.copy_from_slice(s);
                    kernel.partial(tile, which, i, at, partials);
                };
                if which == 0 {
                    derive();
                    scale(g, partials);
                } else if which <= l {
                    if let Some(sums) = grads.left[which - 1].as_deref_mut() {
                        derive();
                        if tile.matched {
                            add_products(&mut sums[at..][..s.len()], g, partials);
                        } else {
                            sums[i] = sums[i] + T::nearest(weighted(g, partials));
                        }
                    }
                } else if which <= l + r {
                    if let Some(sums) = grads.right[which - 1 - l].as_deref_mut() {
                        derive();
                        add_products(&mut sums[at..][..s.len()], g, partials);
                    }
                } else if let Some(sum) = &mut grads.params[which - 1 - l - r] {
                    derive();
                    *sum += weighted(g, partials);
                }
            }
        }
    }
}

fn weighted<T: Float>(g: &[T], partials: &[T]) -> f64 {
    dispatch(
        #[inline(always)]
        || line_dot(g, partials),
    )
}

fn add_products<T: Float>(sums: &mut [T], g: &[T], partials: &[T]) {
    dispatch(
        #[inline(always)]
        || {
            for ((sum, g), partial) in sums.iter_mut().zip(g).zip(partials) {
                *sum = *sum + *g * *partial;
            }
        },
    );
}

fn scale<T: Float>(g: &mut [T], partials: &[T]) {
    dispatch(
        #[inline(always)]
        || g.iter_mut().zip(partials).for_each(|(g, partial)| *g = *g * *partial),
    );
}

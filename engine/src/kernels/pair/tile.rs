//! The formula on tiles of pairs.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use super::PairKernels;
use crate::formula::pair::{PairFormula, Pairing};
use crate::numbers::dual::Dual;
use crate::numbers::lanes::array;
use crate::numbers::line::dot;
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Baseline, Dispatched, Register, dispatch, dispatch_wide};
use crate::numbers::storage::Storage;

/// A tile of pairs with the numbers of its rows.
pub(crate) struct Tile<'a, T> {
    /// How many right rows there are.
    pub(crate) columns: usize,
    /// Whether each right row is paired with one left row only: `left` is then as long as `right`.
    pub(crate) matched: bool,
    /// For each number, one element per left row.
    pub(crate) left: SmallVec<[&'a [T]; 4]>,
    pub(crate) right: SmallVec<[&'a [T]; 4]>,
    pub(crate) params: SmallVec<[f64; 4]>,
}

impl<T> Tile<'_, T> {
    /// Pairs of left row `i` with some right rows.
    fn part(&self, i: usize, range: Range<usize>) -> Tile<'_, T> {
        let left_range = if self.matched { range.clone() } else { i..i + 1 };
        Tile {
            columns: range.len(),
            matched: self.matched,
            left: self.left.iter().map(|x| &x[left_range.clone()]).collect(),
            right: self.right.iter().map(|x| &x[range.clone()]).collect(),
            params: self.params.clone(),
        }
    }
}

/// Gradients of the numbers of a tile's rows, to be added to; `None` where one is not asked for.
pub(crate) struct TileGradients<'a, T> {
    pub(crate) left: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) right: SmallVec<[Option<&'a mut [T]>; 4]>,
    pub(crate) params: SmallVec<[Option<f64>; 4]>,
}

/// A pair formula with its type erased: the elementwise part, on tiles.
pub(crate) trait PairKernel<T: Storage>: Send + Sync {
    /// The name shown in messages.
    fn name(&self) -> &'static str;
    fn pairing(&self) -> Pairing;
    /// How many numbers of left rows, of right rows, and parameters.
    fn counts(&self) -> [usize; 3];
    /// Turns pairings into scores, in place.
    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]);
    /// Turns pairings of left row `i` with right rows from `at` on into scores, in place, and finds
    /// their partial derivatives by the pairing, the numbers of the left row and of the right rows:
    /// `partials`, one after another.
    fn differentiate(&self, tile: &Tile<'_, T>, i: usize, at: usize, s: &mut [T], partials: &mut [T]);
    /// Turns pairings of left row `i` with right rows from `at` on into the partial derivatives by one
    /// of the arguments, in place: the pairing (0), the numbers of the left row, of the right rows, the
    /// parameters.
    fn partial(&self, tile: &Tile<'_, T>, which: usize, i: usize, at: usize, s: &mut [T]);
    /// All that is compiled for the formula.
    fn kernels(&'static self) -> &'static PairKernels<T>;
    /// The formula for a device.
    #[cfg(feature = "opencl")]
    fn form(&self) -> &crate::formula::pair::PairForm;
}

pub(crate) struct ErasedPair<F, const L: usize, const R: usize, const P: usize>(PhantomData<fn() -> F>);

impl<F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize> ErasedPair<F, L, R, P> {
    const VALUE: Self = ErasedPair(PhantomData);

    pub(crate) const fn kernel<T: Storage>() -> &'static dyn PairKernel<T> {
        &Self::VALUE
    }
}

pub(super) const LANES: usize = 8;

/// A block of pairs: the arguments of the formula.
struct Block<O, const L: usize, const R: usize, const P: usize> {
    pairing: O,
    left: [O; L],
    right: [O; R],
    params: [O; P],
}

impl<O: Scalar, const L: usize, const R: usize, const P: usize> Block<O, L, R, P> {
    /// Pairs of left row `i` with the right rows from `at` on.
    #[inline(always)]
    fn load<T: Storage>(tile: &Tile<'_, T>, s: &[T], i: usize, at: usize) -> Self
    where
        O: Register<T>,
    {
        Block {
            pairing: O::load(s),
            left: array(
                O::zero(),
                #[inline(always)]
                |k| {
                    let numbers = tile.left[k];
                    if tile.matched { O::load(&numbers[at..][..s.len()]) } else { O::splat(numbers[i]) }
                },
            ),
            right: array(
                O::zero(),
                #[inline(always)]
                |k| O::load(&tile.right[k][at..][..s.len()]),
            ),
            params: array(
                O::zero(),
                #[inline(always)]
                |p| O::splat(T::nearest(tile.params[p])),
            ),
        }
    }

    #[inline(always)]
    fn score<F: PairFormula<L, R, P>>(self) -> O {
        F::eval(self.pairing, self.left, self.right, self.params)
    }

    /// The score and its partial derivatives by the first `N` arguments together, so that what they have
    /// in common is computed once.
    #[inline(always)]
    fn dual<F: PairFormula<L, R, P>, const N: usize>(self) -> Dual<O, N> {
        let zero = Dual::constant(0.0);
        let with =
            |value, k: usize| Dual { value, partials: array(O::zero(), |p| O::constant(f64::from(p == k))) };
        F::eval(
            with(self.pairing, 0),
            array(zero, |k| with(self.left[k], 1 + k)),
            array(zero, |k| with(self.right[k], 1 + L + k)),
            array(zero, |k| with(self.params[k], N)),
        )
    }

    /// The partial derivative by argument `which`.
    #[inline(always)]
    fn partial<F: PairFormula<L, R, P>>(&self, which: usize) -> O {
        let dual = |value, on: bool| Dual { value, partials: [O::constant(f64::from(on))] };
        let zero = dual(O::zero(), false);
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
    T: Storage,
{
    fn name(&self) -> &'static str {
        F::NAME
    }
    fn pairing(&self) -> Pairing {
        F::PAIRING
    }
    fn counts(&self) -> [usize; 3] {
        [L, R, P]
    }
    fn kernels(&'static self) -> &'static PairKernels<T> {
        const { &PairKernels { score: Self::kernel() } }
    }
    #[cfg(feature = "opencl")]
    fn form(&self) -> &crate::formula::pair::PairForm {
        const { &crate::formula::pair::PairForm::new::<F, T, L, R, P>() }
    }

    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]) {
        dispatch_wide(
            s,
            #[inline(always)]
            |s| score::<T::Avx512<Dispatched>, F, T, L, R, P>(tile, s),
            #[inline(always)]
            |s| score::<T::Avx2<Dispatched>, F, T, L, R, P>(tile, s),
            #[inline(always)]
            |s| score::<Baseline<T>, F, T, L, R, P>(tile, s),
        );
    }

    fn differentiate(&self, tile: &Tile<'_, T>, i: usize, at: usize, s: &mut [T], partials: &mut [T]) {
        macro_rules! together {
            ($n:literal) => {
                dispatch_wide(
                    (s, partials),
                    #[inline(always)]
                    |(s, partials)| {
                        differentiate::<T::Avx512<Dispatched>, F, T, L, R, P, $n>(tile, i, at, s, partials)
                    },
                    #[inline(always)]
                    |(s, partials)| {
                        differentiate::<T::Avx2<Dispatched>, F, T, L, R, P, $n>(tile, i, at, s, partials)
                    },
                    #[inline(always)]
                    |(s, partials)| differentiate::<Baseline<T>, F, T, L, R, P, $n>(tile, i, at, s, partials),
                )
            };
        }
        // A constant, so that no code is made for the other cases.
        match const { 1 + L + R } {
            1 => together!(1),
            2 | 3 => together!(3),
            4 | 5 => together!(5),
            _ => {
                for (which, partials) in partials.chunks_exact_mut(s.len()).enumerate() {
                    partials.copy_from_slice(s);
                    self.partial(tile, which, i, at, partials);
                }
                self.score(&tile.part(i, at..at + s.len()), s);
            }
        }
    }

    fn partial(&self, tile: &Tile<'_, T>, which: usize, i: usize, at: usize, s: &mut [T]) {
        dispatch_wide(
            s,
            #[inline(always)]
            |s| partial::<T::Avx512<Dispatched>, F, T, L, R, P>(tile, which, i, at, s),
            #[inline(always)]
            |s| partial::<T::Avx2<Dispatched>, F, T, L, R, P>(tile, which, i, at, s),
            #[inline(always)]
            |s| partial::<Baseline<T>, F, T, L, R, P>(tile, which, i, at, s),
        );
    }
}

#[inline(always)]
fn score<O, F, T, const L: usize, const R: usize, const P: usize>(tile: &Tile<'_, T>, s: &mut [T])
where
    O: Register<T>,
    F: PairFormula<L, R, P>,
    T: Storage,
{
    for (i, s) in s.chunks_exact_mut(tile.columns).enumerate() {
        for (b, s) in s.chunks_mut(O::WIDTH).enumerate() {
            Block::<O, L, R, P>::load(tile, s, i, b * O::WIDTH).score::<F>().store(s);
        }
    }
}

#[inline(always)]
fn partial<O, F, T, const L: usize, const R: usize, const P: usize>(
    tile: &Tile<'_, T>,
    which: usize,
    i: usize,
    at: usize,
    s: &mut [T],
) where
    O: Register<T>,
    F: PairFormula<L, R, P>,
    T: Storage,
{
    for (b, s) in s.chunks_mut(O::WIDTH).enumerate() {
        Block::<O, L, R, P>::load(tile, s, i, at + b * O::WIDTH).partial::<F>(which).store(s);
    }
}

/// Scores of left row `i` and their partial derivatives by the first `N` arguments, or by all if the
/// formula has fewer.
#[inline(always)]
fn differentiate<O, F, T, const L: usize, const R: usize, const P: usize, const N: usize>(
    tile: &Tile<'_, T>,
    i: usize,
    at: usize,
    s: &mut [T],
    partials: &mut [T],
) where
    O: Register<T>,
    F: PairFormula<L, R, P>,
    T: Storage,
{
    let count = s.len();
    for (b, s) in s.chunks_mut(O::WIDTH).enumerate() {
        let y = Block::<O, L, R, P>::load(tile, s, i, at + b * O::WIDTH).dual::<F, N>();
        y.value.store(s);
        for k in 0..N.min(1 + L + R) {
            y.partials[k].store(&mut partials[k * count + b * O::WIDTH..][..s.len()]);
        }
    }
}

/// Pairs of a row whose derivatives are computed together.
const PIECE: usize = 512;

/// Turns the gradients `g` of the scores into those of the pairings (`s` holds the pairings), and adds
/// those of the numbers. Before that, `upstream` is called with the number of a left row, that of the first
/// of some right rows, their scores, and their part of `g`, which it may change.
///
/// The formula's derivatives are stored before they are summed. With the sums in the formula's own loop, the
/// test whether a gradient is wanted would be in that loop too, and LLVM's loop unswitching does not come to
/// an end at opt-level 3.
pub(crate) fn gradient<T: Storage>(
    kernel: &dyn PairKernel<T>,
    tile: &Tile<'_, T>,
    s: &[T],
    g: &mut [T],
    grads: &mut TileGradients<'_, T>,
    upstream: impl FnMut(usize, usize, &[T], &mut [T]),
) {
    gradient_in_pieces(PIECE, kernel, tile, s, g, grads, upstream);
}

/// Same as [`gradient`]; the derivatives of `piece` pairs of a row are computed together.
pub(super) fn gradient_in_pieces<T: Storage>(
    piece: usize,
    kernel: &dyn PairKernel<T>,
    tile: &Tile<'_, T>,
    s: &[T],
    g: &mut [T],
    grads: &mut TileGradients<'_, T>,
    mut upstream: impl FnMut(usize, usize, &[T], &mut [T]),
) {
    let [l, r, _] = kernel.counts();
    T::with_scratch((2 + l + r) * piece, |scratch| {
        let rows = s.chunks_exact(tile.columns).zip(g.chunks_exact_mut(tile.columns)).enumerate();
        for (i, (s, g)) in rows {
            for (at, (s, g)) in s.chunks(piece).zip(g.chunks_mut(piece)).enumerate() {
                let (at, count) = (at * piece, s.len());
                let (scores, partials) = scratch[..(2 + l + r) * count].split_at_mut(count);
                scores.copy_from_slice(s);
                kernel.differentiate(tile, i, at, scores, partials);
                upstream(i, at, scores, g);
                let mut partials = partials.chunks_exact(count);
                let pairing_partials = partials.next().expect("the pairing");
                for (sums, partials) in grads.left.iter_mut().zip(&mut partials) {
                    let Some(sums) = sums else { continue };
                    if tile.matched {
                        add_products(&mut sums[at..][..count], g, partials);
                    } else {
                        sums[i] = sums[i] + T::nearest(dot(g, partials));
                    }
                }
                for (sums, partials) in grads.right.iter_mut().zip(&mut partials) {
                    if let Some(sums) = sums {
                        add_products(&mut sums[at..][..count], g, partials);
                    }
                }
                for (p, sum) in grads.params.iter_mut().enumerate() {
                    if let Some(sum) = sum {
                        scores.copy_from_slice(s);
                        kernel.partial(tile, 1 + l + r + p, i, at, scores);
                        *sum += dot(g, scores);
                    }
                }
                // This is the last use of `g`: the pairing's gradient takes its place.
                scale(g, pairing_partials);
            }
        }
    });
}

fn add_products<T: Storage>(sums: &mut [T], g: &[T], partials: &[T]) {
    dispatch(
        #[inline(always)]
        || {
            for ((sum, g), partial) in sums.iter_mut().zip(g).zip(partials) {
                *sum = *sum + *g * *partial;
            }
        },
    );
}

fn scale<T: Storage>(g: &mut [T], partials: &[T]) {
    dispatch(
        #[inline(always)]
        || g.iter_mut().zip(partials).for_each(|(g, partial)| *g = *g * *partial),
    );
}

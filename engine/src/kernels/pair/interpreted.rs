//! The formula on tiles of pairs, interpreted: nothing is compiled for it.

use std::sync::OnceLock;

use smallvec::SmallVec;

use super::PairKernels;
use super::tile::{PairKernel, Tile};
use crate::formula::pair::{PairForm, Pairing};
use crate::numbers::program::{Input, Program};
use crate::numbers::storage::Storage;

/// A pair formula as programs.
struct InterpretedPair<T: Storage> {
    name: &'static str,
    form: PairForm,
    /// From all arguments to the score.
    value: OnceLock<Program<T>>,
    /// From all arguments to the partial derivatives by them.
    slopes: OnceLock<Program<T>>,
    kernels: OnceLock<PairKernels<T>>,
}

/// The kernels that interpret a formula, which live as long as the process.
#[inline(never)]
pub(crate) fn interpreted<T: Storage>(name: &'static str, form: PairForm) -> &'static PairKernels<T> {
    let (value, slopes, kernels) = Default::default();
    Box::leak(Box::new(InterpretedPair { name, form, value, slopes, kernels })).kernels()
}

/// The arguments of the formula for pairs of left row `i` with right rows from `at` on: `s` holds the
/// pairings.
fn arguments<'a, T: Storage>(
    tile: &'a Tile<'_, T>,
    i: usize,
    at: usize,
    s: &'a [T],
) -> SmallVec<[Input<'a, T>; 16]> {
    let of_left = |numbers: &&'a [T]| match tile.matched {
        true => Input::Column(&numbers[at..][..s.len()]),
        false => Input::Number(numbers[i]),
    };
    let of_right = |numbers: &&'a [T]| Input::Column(&numbers[at..][..s.len()]);
    let mut arguments = SmallVec::from_iter([Input::Column(s)]);
    arguments.extend(tile.left.iter().map(of_left));
    arguments.extend(tile.right.iter().map(of_right));
    arguments.extend(tile.params.iter().map(|&p| Input::Number(T::nearest(p))));
    arguments
}

impl<T: Storage> InterpretedPair<T> {
    /// Pairings of left row `i` with right rows from `at` on become scores.
    fn score_row(&self, tile: &Tile<'_, T>, i: usize, at: usize, s: &mut [T]) {
        let program = self.value.get_or_init(|| Program::new(&(self.form.value)()));
        T::with_scratch(s.len(), |pairings| {
            pairings.copy_from_slice(s);
            program.run(&arguments(tile, i, at, pairings), &mut [s]);
        });
    }

    /// The partial derivatives by all arguments, one after another, of pairs as those of
    /// [`score_row`](Self::score_row).
    fn slopes_of_row(&self, tile: &Tile<'_, T>, i: usize, at: usize, s: &[T], slopes: &mut [T]) {
        let program = self.slopes.get_or_init(|| Program::new(&(self.form.slopes)()));
        let mut slopes: SmallVec<[&mut [T]; 16]> = slopes.chunks_exact_mut(s.len()).collect();
        program.run(&arguments(tile, i, at, s), &mut slopes);
    }
}

impl<T: Storage> PairKernel<T> for InterpretedPair<T> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn pairing(&self) -> Pairing {
        self.form.pairing
    }
    fn counts(&self) -> [usize; 3] {
        self.form.counts
    }
    fn kernels(&'static self) -> &'static PairKernels<T> {
        self.kernels.get_or_init(|| PairKernels { score: self })
    }
    #[cfg(feature = "opencl")]
    fn form(&self) -> &PairForm {
        &self.form
    }

    fn score(&self, tile: &Tile<'_, T>, s: &mut [T]) {
        for (i, s) in s.chunks_exact_mut(tile.columns).enumerate() {
            self.score_row(tile, i, 0, s);
        }
    }

    fn differentiate(&self, tile: &Tile<'_, T>, i: usize, at: usize, s: &mut [T], partials: &mut [T]) {
        let [l, r, p] = self.counts();
        // Those by parameters are last, and not asked for.
        T::with_scratch((1 + l + r + p) * s.len(), |slopes| {
            self.slopes_of_row(tile, i, at, s, slopes);
            partials.copy_from_slice(&slopes[..partials.len()]);
        });
        self.score_row(tile, i, at, s);
    }

    fn partial(&self, tile: &Tile<'_, T>, which: usize, i: usize, at: usize, s: &mut [T]) {
        T::with_scratch((1 + self.counts().iter().sum::<usize>()) * s.len(), |slopes| {
            self.slopes_of_row(tile, i, at, s, slopes);
            s.copy_from_slice(&slopes[which * s.len()..][..s.len()]);
        });
    }
}

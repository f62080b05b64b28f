//! The `pair` kernel: a score of all pairs of rows (i, j), computed from their inner product or their
//! distance and from numbers of each row.
//!
//! Distance matrices, attention scores and logits of hyperplanes are pair formulas. A formula is written once
//! ([`PairFormula`]). The kernel goes over tiles of pairs; [`attend`](crate::kernels::attend) runs the
//! same formulas without storing the scores.

mod centred;
mod interpreted;
mod jobs;
mod many_to_many;
mod pairings;
mod reverse;
mod tile;

use std::ops::Range;

pub(crate) use self::interpreted::interpreted;
pub(crate) use self::jobs::{Gradients, Job, entries, even_steps, pieces, steps};
pub use self::many_to_many::{ManyToMany, PairSide};
pub(crate) use self::pairings::{Part, Right, tile_rows, with_right};
use self::reverse::gradients;
pub(crate) use self::tile::{ErasedPair, PairKernel, Tile, TileGradients, gradient};
use crate::formula::pair::{PairForm, PairFormula};
use crate::formula::per_type::{Compiled, Each, PerFloat, made_once};
use crate::numbers::parallel::{self, split_front};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{View, shapes};

/// Kernels of pair formulas.
#[derive(Clone, Copy, Debug)]
pub struct Pair;

impl PerFloat for Pair {
    type Of<T: Storage> = &'static PairKernels<T>;
}

impl Compiled<Pair> {
    /// The kernels of formula `F`: [compiled](Self::pair_compiled), or [interpreted](Self::pair_interpreted)
    /// if the engine is built with debug assertions, as with row formulas: see
    /// [`RowPlan::of`](crate::RowPlan::of).
    pub fn pair<F, const L: usize, const R: usize, const P: usize>() -> &'static Self
    where
        F: PairFormula<L, R, P>,
    {
        #[cfg(debug_assertions)]
        return Self::pair_interpreted::<F, L, R, P>();
        #[cfg(not(debug_assertions))]
        return Self::pair_compiled::<F, L, R, P>();
    }

    /// The kernels of formula `F`, of which nothing is compiled: it is a [program](crate::Program). The
    /// results are the same.
    pub fn pair_interpreted<F, const L: usize, const R: usize, const P: usize>() -> &'static Self
    where
        F: PairFormula<L, R, P>,
    {
        made_once::<ErasedPair<F, L, R, P>, Self>(|| {
            Compiled(Each {
                f32: interpreted::<f32>(F::NAME, PairForm::new::<F, f32, L, R, P>()),
                f64: interpreted::<f64>(F::NAME, PairForm::new::<F, f64, L, R, P>()),
            })
        })
    }

    /// The kernels of formula `F`, compiled for it.
    pub const fn pair_compiled<F, const L: usize, const R: usize, const P: usize>() -> &'static Self
    where
        F: PairFormula<L, R, P>,
    {
        const {
            &Compiled(Each {
                f32: const { &PairKernels { score: ErasedPair::<F, L, R, P>::kernel() } },
                f64: const { &PairKernels { score: ErasedPair::<F, L, R, P>::kernel() } },
            })
        }
    }
}

/// What is compiled for a pair formula, for one element type.
#[doc(hidden)]
pub struct PairKernels<T: Storage> {
    pub(crate) score: &'static dyn PairKernel<T>,
}

impl<T: Storage> PairKernels<T> {
    /// The scores of all pairs.
    pub(crate) fn compute(&self, inputs: &[View<'_, T>], out: &mut [T]) {
        elementwise(inputs, self.score, out, &|tile, s| self.score.score(tile, s));
    }

    /// The reverse pass.
    pub(crate) fn pullback(&self, inputs: &[View<'_, T>], g: &[T], grads: &mut [Option<&mut [T]>]) {
        let shapes = shapes(inputs);
        let (s, _) = sizes(&shapes, self.score.counts()).expect("checked");
        gradients(self.score, inputs, s, g, grads);
    }
}

/// The sizes of a batch of pairs: `n` left and `m` right rows of `width` elements in each entry.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) n: usize,
    pub(crate) m: usize,
    pub(crate) width: usize,
}

/// Checks the inputs of a pair formula and finds its sizes. The inputs are x, y, numbers of left and
/// right rows, and parameters: entry b of the batch has the number b modulo the length of each.
pub(crate) fn sizes(inputs: &[&Shape], [l, r, _]: [usize; 3]) -> Result<(Sizes, Shape), ShapeError> {
    let shapes = || inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
    let (x, y) = (inputs[0], inputs[1]);
    let ([lead_x @ .., n, d], [lead_y @ .., m, e]) = (x.axes(), y.axes()) else {
        return Err(ShapeError::new(format!("rows […, n, d] and […, m, d] are needed, not {x}, {y}")));
    };
    if *d == 0 || *m == 0 {
        return Err(ShapeError::new(format!("there is nothing to pair with: rows {x}, {y}")));
    }
    if d != e || !(lead_x == lead_y || lead_y.is_empty()) {
        return Err(ShapeError::new(format!("rows […, n, d] and […, m, d] are needed, not {x}, {y}")));
    }
    let (left, others) = inputs[2..].split_at(l);
    let (right, params) = others.split_at(r);
    if !left.iter().all(|s| **s == x.rows()) || !right.iter().all(|s| **s == y.rows()) {
        let (rows_x, rows_y) = (x.rows(), y.rows());
        return Err(ShapeError::new(format!(
            "numbers of rows must be {rows_x} and {rows_y}: shapes {}",
            shapes()
        )));
    }
    let of_entries = |param: &Shape| lead_y.last().is_some_and(|entries| param.axes() == [*entries]);
    if !params.iter().all(|param| param.elements() == 1 || of_entries(param)) {
        return Err(ShapeError::new(format!(
            "parameters must be single numbers, or one for each entry of the last leading axis: shapes {}",
            shapes()
        )));
    }
    let shape = x.rows().with_width(*m);
    // If one set of right rows serves the whole batch, the batch's left rows count as one entry's.
    let batch: usize = if lead_y.is_empty() { 1 } else { lead_x.iter().product() };
    Ok((
        Sizes { batch, n: if lead_y.is_empty() { x.rows().elements() } else { *n }, m: *m, width: *d },
        shape,
    ))
}

/// Computes the pairings of all rows, then runs `work` on them, tile by tile.
pub(crate) fn elementwise<T: Storage>(
    inputs: &[View<'_, T>],
    kernel: &dyn PairKernel<T>,
    out: &mut [T],
    work: &(dyn Fn(&Tile<'_, T>, &mut [T]) + Sync),
) {
    let (shapes, counts) = (shapes(inputs), kernel.counts());
    let (s, _) = sizes(&shapes, counts).expect("checked");
    let cost = 1 + s.m * (s.width / 16 + 2);
    let tiles = |part: &Part<'_, T>, right: &Right<'_, T>, rows: Range<usize>, remaining: &mut &mut [T]| {
        for rows in steps(rows, tile_rows(s.m)) {
            let scores = split_front(remaining, rows.len() * s.m);
            right.pairings(part.left(rows.clone()), 0..s.m, scores);
            work(&part.tile(rows, 0..s.m), scores);
        }
    };
    let part = |b: usize| Part::new(inputs, counts, s, b, b * s.n..(b + 1) * s.n);
    if s.batch == 1 {
        // The right rows are prepared once, and not for every part of the left rows.
        let part = part(0);
        return with_right(kernel.pairing(), part.y, s.width, false, |right| {
            parallel::for_each_part(out, s.m, 16, cost, |rows, mut out| tiles(&part, right, rows, &mut out));
        });
    }
    parallel::for_each_part(out, s.m, 16, cost, |rows, out| {
        let mut remaining = out;
        for (b, rows) in entries(s, rows) {
            let part = part(b);
            with_right(kernel.pairing(), part.y, s.width, false, |right| {
                tiles(&part, right, rows, &mut remaining);
            });
        }
    });
}

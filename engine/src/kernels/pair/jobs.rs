//! The reverse pass of pairs in jobs: each takes some left rows, with the right rows of their batch entries.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Sizes, TileGradients};
use crate::kernels::index::add;
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::storage::Storage;

/// With fewer batch entries than this, all left rows together are split into at most this many chunks. Each
/// has its own sum for the right rows.
const CHUNKS: usize = 4;

/// Batch entries are split at multiples of this many left rows.
const ROWS: usize = 16;

/// Splits left rows into pieces: at multiples of [`ROWS`] if there are fewer batch entries than `few`,
/// else between batch entries. `cost` is the estimated time of a row in nanoseconds.
pub(crate) fn pieces(s: Sizes, few: usize, cost: usize) -> SmallVec<[Range<usize>; PIECES]> {
    let align = if s.batch < few { ROWS.min(s.n) } else { s.n };
    parallel::pieces(s.batch * s.n, align, cost)
}

/// Left rows by batch entry: the number of each entry, and which of its rows they are.
pub(crate) fn entries(s: Sizes, rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = rows.start;
    std::iter::from_fn(move || {
        (start < rows.end).then(|| {
            let b = start / s.n;
            let first = start - b * s.n;
            start = rows.end.min((b + 1) * s.n);
            (b, first..start - b * s.n)
        })
    })
}

/// Rows in steps of at most `step`.
pub(crate) fn steps(rows: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(step).map(move |start| start..end.min(start + step))
}

/// Rows in steps whose sizes differ by two at most, of about `step`: at most half more. All sizes but the
/// last are even: products take the last rows of a step in pairs.
pub(crate) fn even_steps(rows: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let count = ((rows.len() + step / 2) / step).max(1);
    let bound = move |i: usize| match i == count {
        true => rows.end,
        false => rows.start + rows.len() * i / count / 2 * 2,
    };
    (0..count).map(move |i| bound(i)..bound(i + 1)).filter(|rows| !rows.is_empty())
}

/// Gradients, each with its number of elements per row; `None` where it is not asked for.
type RowGradients<'a, T> = SmallVec<[(usize, Option<&'a mut [T]>); 6]>;

/// The gradients of parameters, each with one number or with several, which the entries of a batch take in
/// turn; `None` where it is not asked for.
type ParamSums = SmallVec<[Option<SmallVec<[f64; 1]>>; 4]>;

/// Zeros, as many as the gradients of parameters have.
fn zeros<T>(params: &[Option<&mut [T]>]) -> ParamSums {
    params.iter().map(|grad| grad.as_ref().map(|grad| SmallVec::from_elem(0.0, grad.len()))).collect()
}

/// The gradients of the inputs of a pair formula.
pub(crate) struct Gradients<'a, T> {
    /// How many numbers right rows have.
    numbers: usize,
    left: RowGradients<'a, T>,
    right: RowGradients<'a, T>,
    params: SmallVec<[Option<&'a mut [T]>; 4]>,
}

/// The gradients of the rows of a tile.
pub(crate) struct TileRows<'a, T> {
    pub(crate) x: Option<&'a mut [T]>,
    pub(crate) y: Option<&'a mut [T]>,
    /// The gradient of the right rows' further input, if there is one and it is asked for.
    pub(crate) further: Option<&'a mut [T]>,
}

impl<'a, T: Storage> Gradients<'a, T> {
    /// The gradients of x and y (rows of `width` elements), of the numbers of left and of right rows,
    /// and of parameters.
    pub(crate) fn new(grads: &'a mut [Option<&mut [T]>], [l, r, _]: [usize; 3], width: usize) -> Self {
        let mut grads = grads.iter_mut().map(|grad| grad.as_deref_mut());
        let mut next = |size| (size, grads.next().expect("a gradient for each input"));
        let (x, y) = (next(width), next(width));
        Gradients {
            numbers: r,
            left: std::iter::once(x).chain((0..l).map(|_| next(1))).collect(),
            right: std::iter::once(y).chain((0..r).map(|_| next(1))).collect(),
            params: grads.collect(),
        }
    }

    /// Adds a further input of the right rows, with `size` elements for each row.
    pub(crate) fn and_right(mut self, size: usize, grad: Option<&'a mut [T]>) -> Self {
        self.right.push((size, grad));
        self
    }

    /// Runs `work` on jobs, in each of which all gradients are zeros to be added to. `cost` is the
    /// estimated time of a left row in nanoseconds.
    pub(crate) fn in_jobs(self, s: Sizes, cost: usize, work: impl Fn(&mut Job<'_, T>) + Sync) {
        let Gradients { numbers, mut left, mut right, params } = self;
        for (_, grad) in left.iter_mut().chain(&mut right) {
            grad.iter_mut().for_each(|grad| grad.fill(T::zero()));
        }
        let mut ranges = pieces(s, CHUNKS, cost);
        if s.batch < CHUNKS && ranges.len() > CHUNKS {
            let (rows, align) = (s.batch * s.n, ROWS.min(s.n));
            let step = rows.div_ceil(CHUNKS).next_multiple_of(align);
            ranges = (0..rows).step_by(step).map(|start| start..rows.min(start + step)).collect();
        }
        let share = s.batch < CHUNKS && ranges.len() > 1;
        let mut jobs: SmallVec<[Job<'_, T>; PIECES]> = ranges
            .into_iter()
            .map(|rows| {
                let entries = rows.end.div_ceil(s.n.max(1)) - rows.start / s.n.max(1);
                let left_grads = |(size, grad): &mut (usize, Option<&'a mut [T]>)| {
                    (*size, grad.as_mut().map(|grad| split_front(grad, rows.len() * *size)))
                };
                let right_grads = |(size, grad): &mut (usize, Option<&'a mut [T]>)| {
                    (*size, grad.as_mut().map(|grad| Side::new(grad, share, entries * s.m * *size)))
                };
                Job {
                    s,
                    numbers,
                    left: left.iter_mut().map(left_grads).collect(),
                    right: right.iter_mut().map(right_grads).collect(),
                    params: zeros(&params),
                    rows,
                }
            })
            .collect();
        parallel::run(&mut jobs, work);
        let mut sums = zeros(&params);
        for job in jobs {
            for (sums, parts) in sums.iter_mut().flatten().zip(job.params.iter().flatten()) {
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
            let first = job.rows.start / s.n.max(1) * s.m;
            for ((size, grad), (_, side)) in right.iter_mut().zip(job.right) {
                if let (Some(grad), Some(Side::Share(share))) = (grad, side) {
                    add(&mut grad[first * *size..][..share.len()], &share);
                }
            }
        }
        for (grad, sums) in params.into_iter().flatten().zip(sums.iter().flatten()) {
            grad.iter_mut().zip(sums).for_each(|(grad, sum)| *grad = T::nearest(*sum));
        }
    }
}

/// The gradient of right rows: in place, or this job's share of a sum.
enum Side<'a, T> {
    Own(&'a mut [T]),
    Share(Vec<T>),
}

impl<'a, T: Storage> Side<'a, T> {
    /// A share of `len` elements, or the next `len` elements of a gradient.
    fn new(remaining: &mut &'a mut [T], share: bool, len: usize) -> Self {
        if share { Side::Share(vec![T::zero(); len]) } else { Side::Own(split_front(remaining, len)) }
    }

    fn slice(&mut self) -> &mut [T] {
        match self {
            Side::Own(slice) => slice,
            Side::Share(sum) => sum,
        }
    }
}

/// Some left rows, with the gradients that their pairs contribute to.
pub(crate) struct Job<'a, T> {
    s: Sizes,
    /// Left rows, counted over the whole batch.
    pub(crate) rows: Range<usize>,
    /// How many numbers right rows have.
    numbers: usize,
    left: RowGradients<'a, T>,
    right: SmallVec<[(usize, Option<Side<'a, T>>); 6]>,
    params: ParamSums,
}

impl<T: Storage> Job<'_, T> {
    /// Runs `work` on the gradients of some left and some right rows of a batch entry: those of the
    /// rows, and those of their numbers and of the parameters.
    pub(crate) fn on_tile(
        &mut self,
        b: usize,
        left: Range<usize>,
        right: Range<usize>,
        work: impl FnOnce(TileRows<'_, T>, &mut TileGradients<'_, T>),
    ) {
        let (n, m) = (self.s.n, self.s.m);
        let first_left = b * n + left.start - self.rows.start;
        let first_right = (b - self.rows.start / n) * m + right.start;
        let mut left_grads = self.left.iter_mut().map(|(size, grad)| {
            grad.as_deref_mut().map(|grad| &mut grad[first_left * *size..][..left.len() * *size])
        });
        let mut right_grads = self.right.iter_mut().map(|(size, side)| {
            side.as_mut().map(|side| &mut side.slice()[first_right * *size..][..right.len() * *size])
        });
        let (x, y) = (left_grads.next().flatten(), right_grads.next().flatten());
        let mut number_grads = TileGradients {
            left: left_grads.collect(),
            right: right_grads.by_ref().take(self.numbers).collect(),
            params: self.params.iter().map(|sums| sums.as_ref().map(|sums| sums[b % sums.len()])).collect(),
        };
        work(TileRows { x, y, further: right_grads.next().flatten() }, &mut number_grads);
        for (sums, sum) in self.params.iter_mut().flatten().zip(number_grads.params.into_iter().flatten()) {
            let entries = sums.len();
            sums[b % entries] = sum;
        }
    }
}

//! Splitting rows over threads.
//!
//! The split depends on the sizes alone, never on the number of threads, and partial results are
//! combined in order: the same bits come out for any thread count.

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;
use smallvec::SmallVec;

/// At most this many pieces: enough to balance 8 threads, few enough to stay on the stack.
pub const PIECES: usize = 16;

/// Work below this many nanoseconds (estimated) stays on one thread: handing a piece to another one
/// costs several microseconds.
const WORTH_SPLITTING: usize = 40_000;

/// Splits `0..n` into at most [`PIECES`] ranges, one empty range for `n = 0`. Boundaries are multiples of
/// `align`; `cost` is the estimated time of one position in nanoseconds.
pub fn pieces(n: usize, align: usize, cost: usize) -> SmallVec<[Range<usize>; PIECES]> {
    let work = n.saturating_mul(cost.max(1));
    let count = if work < WORTH_SPLITTING { 1 } else { (work / (WORTH_SPLITTING / 2)).clamp(2, PIECES) };
    let align = align.max(1);
    let step = n.div_ceil(count).next_multiple_of(align).max(align);
    let mut ranges: SmallVec<[Range<usize>; PIECES]> = SmallVec::new();
    let mut start = 0;
    while start < n || ranges.is_empty() {
        let end = (start + step).min(n);
        ranges.push(start..end);
        start = end;
    }
    debug_assert!(ranges.len() <= PIECES, "{n} positions in {} pieces", ranges.len());
    debug_assert!(ranges[0].start == 0 && ranges[ranges.len() - 1].end == n, "{ranges:?} of {n}");
    let meet = |pair: &[Range<usize>]| pair[0].end == pair[1].start && pair[0].end.is_multiple_of(align);
    debug_assert!(ranges.windows(2).all(meet), "{ranges:?} meet at multiples of {align}");
    ranges
}

/// Runs every job, in parallel if there are several and more than one thread.
pub fn run<J: Send>(jobs: &mut [J], work: impl Fn(&mut J) + Sync) {
    if jobs.len() <= 1 || rayon::current_num_threads() == 1 {
        return jobs.iter_mut().for_each(work);
    }
    let jobs: SmallVec<[Mutex<&mut J>; PIECES]> = jobs.iter_mut().map(Mutex::new).collect();
    for_each_index(jobs.len(), &|i| work(&mut jobs[i].lock().expect("each job is run once")));
}

/// Calls `work` with each of `0..n`, in parallel. Not generic: the machinery is compiled here, once.
fn for_each_index(n: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..n).into_par_iter().with_max_len(1).for_each(work);
}

/// Runs `work` on the pieces of `out`, which holds `width` elements for each position, with the
/// positions of each piece.
pub fn for_each_part<T: Send>(
    out: &mut [T],
    width: usize,
    align: usize,
    cost: usize,
    work: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    in_parts(out, width, align, cost, &work);
}

/// As [`for_each_part`], but with `work` behind a reference, so that it is compiled once for each
/// element type.
fn in_parts<T: Send>(
    out: &mut [T],
    width: usize,
    align: usize,
    cost: usize,
    work: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    let mut remaining = out;
    let mut jobs: SmallVec<[_; PIECES]> = pieces(remaining.len() / width.max(1), align, cost)
        .into_iter()
        .map(|range| (range.clone(), split_front(&mut remaining, range.len() * width)))
        .collect();
    run(&mut jobs, |(range, out)| work(range.clone(), out));
}

/// Takes the first `n` elements off the front of a mutable slice.
///
/// # Panics
/// If it has fewer.
pub fn split_front<'a, T>(slice: &mut &'a mut [T], n: usize) -> &'a mut [T] {
    let (front, back) = std::mem::take(slice).split_at_mut(n);
    *slice = back;
    front
}

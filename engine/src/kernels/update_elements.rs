//! Updates in place: rows whose elements are rewritten from their own old values, as the steps of
//! Euclidean optimisers do. No gradient flows through them.

use std::ops::Range;

use crate::kernels::finite::first_not_finite;
use crate::numbers::lanes::Lanes;
use crate::numbers::simd::dispatch_wide;
use crate::numbers::storage::Storage;

/// Elements that [`update_elements`] works on side by side.
pub const ELEMENTS: usize = 16;

/// `ELEMENTS` elements of a type.
type Elements<T> = Lanes<ELEMENTS, T>;

/// The new values of `W` rewritten rows and of `K` numbers.
type Updated<T, const W: usize, const K: usize> = ([Elements<T>; W], [Elements<T>; K]);

/// About as many elements are rewritten, in whole rows, before it is checked whether they are finite: few
/// enough to stay in a cache.
const BATCH: usize = 512;

/// Rewrites the elements of rows of `width`, on the calling thread and in the arithmetic of their type.
/// Each element is computed from its own old values in `W` arrays that are rewritten, `K` arrays of numbers
/// that are kept for it and rewritten too, and `N` arrays that are only read.
///
/// # Errors
/// The first row in which something would not be finite. That row and those after it are unchanged.
///
/// # Panics
/// If the slices do not hold equally many rows.
#[track_caller]
pub fn update_elements<T: Storage, const W: usize, const K: usize, const N: usize>(
    written: [&mut [T]; W],
    numbers: [&mut [T]; K],
    read: [&[T]; N],
    width: usize,
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> Updated<T, W, K> + Copy,
) -> Result<(), usize> {
    let len = written[0].len();
    assert!(
        width > 0
            && len.is_multiple_of(width)
            && written.iter().chain(&numbers).all(|w| w.len() == len)
            && read.iter().all(|r| r.len() == len),
        "update_elements: as many rows of {width} elements are needed everywhere"
    );
    let batch = len.min((BATCH / width).max(1) * width);
    T::with_scratch((W + K) * batch, |before| {
        dispatch_wide(
            (written, numbers, before),
            #[inline(always)]
            |(written, numbers, before)| rewrite_rows(written, numbers, read, width, batch, before, update),
            #[inline(always)]
            |(written, numbers, before)| rewrite_rows(written, numbers, read, width, batch, before, update),
            #[inline(always)]
            |(written, numbers, before)| rewrite_rows(written, numbers, read, width, batch, before, update),
        )
    })
}

/// Works batch by batch. `before` keeps the values that a batch had before.
#[inline(always)]
fn rewrite_rows<T: Storage, const W: usize, const K: usize, const N: usize>(
    mut written: [&mut [T]; W],
    mut numbers: [&mut [T]; K],
    read: [&[T]; N],
    width: usize,
    batch: usize,
    before: &mut [T],
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> Updated<T, W, K> + Copy,
) -> Result<(), usize> {
    let len = written[0].len();
    for start in (0..len).step_by(batch.max(1)) {
        let range = start..len.min(start + batch);
        let mut saved = before.chunks_exact_mut(batch);
        for i in 0..W {
            saved.next().expect("one for each")[..range.len()].copy_from_slice(&written[i][range.clone()]);
        }
        for k in 0..K {
            saved.next().expect("one for each")[..range.len()].copy_from_slice(&numbers[k][range.clone()]);
        }
        if !rewrite_elements(&mut written, &mut numbers, &read, range.clone(), update) {
            let mut all: [&mut [T]; W] = written.each_mut().map(|w| &mut w[range.clone()]);
            let mut kept: [&mut [T]; K] = numbers.each_mut().map(|n| &mut n[range.clone()]);
            if let Some(row) = restore(&mut all, &mut kept, before, width, batch) {
                return Err(start / width + row);
            }
        }
    }
    Ok(())
}

/// Restores the first row that is not finite and those after it. Returns that row's number; `None` if there
/// is none.
#[cold]
#[inline(never)]
fn restore<'a, T: Storage>(
    written: &mut [&'a mut [T]],
    numbers: &mut [&'a mut [T]],
    before: &[T],
    width: usize,
    batch: usize,
) -> Option<usize> {
    let bad = written.iter().chain(&*numbers).filter_map(|all| first_not_finite(all)).min()? / width;
    for (all, before) in written.iter_mut().chain(numbers).zip(before.chunks_exact(batch)) {
        let len = all.len();
        all[bad * width..].copy_from_slice(&before[bad * width..len]);
    }
    Some(bad)
}

/// Rewrites some elements. Returns whether all may be finite now.
#[inline(always)]
fn rewrite_elements<T: Storage, const W: usize, const K: usize, const N: usize>(
    written: &mut [&mut [T]; W],
    numbers: &mut [&mut [T]; K],
    read: &[&[T]; N],
    range: Range<usize>,
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> Updated<T, W, K> + Copy,
) -> bool {
    let zero = Elements::<T>::splat(T::zero());
    // 0 · x is NaN where x is not finite.
    let mut bad = zero;
    // Split here, so that there is nothing to check in the loop.
    let whole = range.len() / ELEMENTS;
    let (mut old, mut old_ends) = ([const { empty::<[T; ELEMENTS]>() }; W], [const { empty::<T>() }; W]);
    for (i, written) in written.iter_mut().enumerate() {
        let (blocks, end) = written[range.clone()].as_chunks_mut();
        (old[i], old_ends[i]) = (&mut blocks[..whole], end);
    }
    let (mut kept, mut kept_ends) = ([const { empty::<[T; ELEMENTS]>() }; K], [const { empty::<T>() }; K]);
    for (k, numbers) in numbers.iter_mut().enumerate() {
        let (blocks, end) = numbers[range.clone()].as_chunks_mut();
        (kept[k], kept_ends[k]) = (&mut blocks[..whole], end);
    }
    let (mut given, mut given_ends) = ([[].as_slice(); N], [[].as_slice(); N]);
    for (i, read) in read.iter().enumerate() {
        let (blocks, end) = read[range.clone()].as_chunks();
        (given[i], given_ends[i]) = (&blocks[..whole], end);
    }
    for at in 0..whole {
        let (mut x, mut n, mut y) = ([zero; W], [zero; K], [zero; N]);
        for i in 0..W {
            x[i] = Lanes::from(old[i][at]);
        }
        for k in 0..K {
            n[k] = Lanes::from(kept[k][at]);
        }
        for i in 0..N {
            y[i] = Lanes::from(given[i][at]);
        }
        let (x, n) = update(x, n, y);
        for i in 0..W {
            bad = bad + x[i] * zero;
            old[i][at] = x[i].to_array();
        }
        for k in 0..K {
            bad = bad + n[k] * zero;
            kept[k][at] = n[k].to_array();
        }
    }
    if whole * ELEMENTS < range.len() {
        let load = |x: &[T]| Lanes::load(x, 0.0);
        let (x, n) = update(
            old_ends.each_ref().map(|x| load(x)),
            kept_ends.each_ref().map(|n| load(n)),
            given_ends.map(load),
        );
        for i in 0..W {
            bad = bad + x[i] * zero;
            x[i].store(old_ends[i]);
        }
        for k in 0..K {
            bad = bad + n[k] * zero;
            n[k].store(kept_ends[k]);
        }
    }
    // A lane beyond the end may be bad too.
    bad.to_array().iter().all(|x| x.is_finite())
}

const fn empty<'a, T>() -> &'a mut [T] {
    &mut []
}

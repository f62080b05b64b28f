//! Updates in place: rows whose elements are rewritten from their own old values, as the steps of
//! Euclidean optimisers do. No gradient flows through them.

use std::ops::Range;

use crate::kernels::finite::first_not_finite;
use crate::numbers::lanes::Lanes;
use crate::numbers::simd::dispatch_blocks;
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
#[inline(never)]
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
        dispatch_blocks!((written, numbers, before), |(written, numbers, before)| {
            rewrite_rows(written, numbers, read, width, batch, before, update)
        })
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
    let mut bad = Elements::<T>::splat(T::zero());
    let end = range.end - range.len() % ELEMENTS;
    // Apart from the last elements, so that the compiler knows how many there are.
    for at in (range.start..end).step_by(ELEMENTS) {
        bad = bad + rewrite_block(written, numbers, read, at..at + ELEMENTS, update);
    }
    if end < range.end {
        bad = bad + rewrite_block(written, numbers, read, end..range.end, update);
    }
    // A lane beyond the end may be bad too.
    bad.to_array().iter().all(|x| x.is_finite())
}

/// Rewrites at most [`ELEMENTS`] elements. Returns NaN in the lanes where a result is not finite, else zeros.
#[inline(always)]
fn rewrite_block<T: Storage, const W: usize, const K: usize, const N: usize>(
    written: &mut [&mut [T]; W],
    numbers: &mut [&mut [T]; K],
    read: &[&[T]; N],
    at: Range<usize>,
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> Updated<T, W, K>,
) -> Elements<T> {
    let zero = Elements::<T>::splat(T::zero());
    let (mut old, mut kept, mut given) = ([zero; W], [zero; K], [zero; N]);
    for i in 0..W {
        old[i] = Lanes::load(&written[i][at.clone()], 0.0);
    }
    for k in 0..K {
        kept[k] = Lanes::load(&numbers[k][at.clone()], 0.0);
    }
    for i in 0..N {
        given[i] = Lanes::load(&read[i][at.clone()], 0.0);
    }
    let (new, kept) = update(old, kept, given);
    // 0 · x is NaN where x is not finite.
    let mut bad = zero;
    for i in 0..W {
        bad = bad + new[i] * zero;
        new[i].store(&mut written[i][at.clone()]);
    }
    for k in 0..K {
        bad = bad + kept[k] * zero;
        kept[k].store(&mut numbers[k][at.clone()]);
    }
    bad
}

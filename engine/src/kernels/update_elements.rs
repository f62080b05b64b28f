//! Updates in place: elements that are rewritten from their own old values, as the steps of Euclidean optimisers do. No
//! gradient flows through them.

use crate::kernels::finite::first_not_finite;
use crate::simd::dispatch_wide;
use crate::{Float, Lanes};

/// Elements that [`update_elements`] works on side by side.
pub const ELEMENTS: usize = 16;

/// So many elements of a type.
type Elements<T> = Lanes<ELEMENTS, T>;

/// Rewrites elements, each from its own old values, `K` numbers that are kept for it and those that are read only, on
/// the calling thread, in the arithmetic of their type.
///
/// # Errors
/// The first element of the first slice that is not finite now. All are rewritten.
///
/// # Panics
/// If the slices are not of one length.
#[track_caller]
pub fn update_elements<T: Float, const W: usize, const K: usize, const N: usize>(
    written: [&mut [T]; W],
    numbers: [&mut [T]; K],
    read: [&[T]; N],
    update: impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> ([Elements<T>; W], [Elements<T>; K]),
) -> Result<(), usize> {
    let len = written[0].len();
    assert!(
        written.iter().chain(&numbers).all(|w| w.len() == len) && read.iter().all(|r| r.len() == len),
        "update_elements: slices of one length are needed"
    );
    dispatch_wide(
        (written, numbers),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
        #[inline(always)]
        |(written, numbers)| rewrite_elements(written, numbers, read, &update),
    )
}

#[inline(always)]
fn rewrite_elements<T: Float, const W: usize, const K: usize, const N: usize>(
    written: [&mut [T]; W],
    numbers: [&mut [T]; K],
    read: [&[T]; N],
    update: &impl Fn([Elements<T>; W], [Elements<T>; K], [Elements<T>; N]) -> ([Elements<T>; W], [Elements<T>; K]),
) -> Result<(), usize> {
    let len = written[0].len();
    let zero = Elements::<T>::splat(T::zero());
    // 0 · x is NaN for what is not finite.
    let mut bad = zero;
    for at in (0..len).step_by(ELEMENTS) {
        let end = len.min(at + ELEMENTS);
        let (mut old, mut kept, mut given) = ([zero; W], [zero; K], [zero; N]);
        for i in 0..W {
            old[i] = Lanes::load(&written[i][at..end], 0.0);
        }
        for k in 0..K {
            kept[k] = Lanes::load(&numbers[k][at..end], 0.0);
        }
        for i in 0..N {
            given[i] = Lanes::load(&read[i][at..end], 0.0);
        }
        let (new, kept) = update(old, kept, given);
        bad = bad + new[0] * zero;
        for i in 0..W {
            new[i].store(&mut written[i][at..end]);
        }
        for k in 0..K {
            kept[k].store(&mut numbers[k][at..end]);
        }
    }
    if bad.to_array().iter().all(|x| x.is_finite()) {
        return Ok(());
    }
    // A lane beyond the end may be the bad one.
    first_not_finite(written[0]).map_or(Ok(()), Err)
}

//! Gradients of broadcast operands, split over pieces of the output.
//!
//! An operand position that only one piece reads is written by that piece in place. One that several
//! pieces read (a bias over all rows, a learned curvature) is summed per piece, and the sums are added
//! in order, so the result does not depend on the number of threads.

use smallvec::SmallVec;

use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::storage::Storage;
use crate::tensor::shape::Broadcast;

/// Where a piece of the output puts the gradient of one operand.
pub(crate) enum Place<'a, T> {
    /// No gradient is asked for.
    Unwanted,
    /// The operand positions that only this piece reads, and the number of the first.
    Own(&'a mut [T], usize),
    /// The gradient of the whole operand, summed over this piece.
    Partial(SmallVec<[T; 8]>),
}

impl<T> Place<'_, T> {
    /// The `width` elements of an operand position, if its gradient is asked for.
    #[inline(always)]
    pub(crate) fn at(&mut self, position: usize, width: usize) -> Option<&mut [T]> {
        let (slice, first) = self.slice()?;
        let start = (position - first) * width;
        Some(&mut slice[start..start + width])
    }

    /// `count` operand positions of one element, from a position on.
    #[inline(always)]
    pub(crate) fn run(&mut self, position: usize, count: usize) -> Option<&mut [T]> {
        let (slice, first) = self.slice()?;
        Some(&mut slice[position - first..position - first + count])
    }

    /// If the gradient is asked for, its elements and the number of the first operand position among them.
    #[inline(always)]
    pub(crate) fn slice(&mut self) -> Option<(&mut [T], usize)> {
        match self {
            Place::Unwanted => None,
            Place::Own(slice, first) => Some((&mut **slice, *first)),
            Place::Partial(sum) => Some((sum.as_mut_slice(), 0)),
        }
    }
}

/// A range of output positions with the places for the operands' gradients.
pub(crate) struct Piece<'a, T> {
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) places: SmallVec<[Place<'a, T>; 6]>,
}

/// Runs `work` over `0..n` in pieces. `reads` says how each operand is read and the width of its
/// positions; `cost` estimates a position's time in nanoseconds.
///
/// Gradients of operands that are not read in full are zeroed first, and `work` adds to them. It
/// overwrites the others.
pub(crate) fn for_each_piece<T: Storage>(
    reads: &[(Broadcast, usize)],
    n: usize,
    cost: usize,
    grads: &mut [Option<&mut [T]>],
    work: impl Fn(&mut Piece<'_, T>) + Sync,
) {
    in_pieces(reads, n, cost, grads, &work);
}

/// As [`for_each_piece`], but with `work` behind a reference, so that it is compiled once for each
/// element type.
fn in_pieces<T: Storage>(
    reads: &[(Broadcast, usize)],
    n: usize,
    cost: usize,
    grads: &mut [Option<&mut [T]>],
    work: &(dyn Fn(&mut Piece<'_, T>) + Sync),
) {
    for ((read, _), grad) in reads.iter().zip(grads.iter_mut()) {
        if let Some(grad) = grad.as_deref_mut()
            && !read.is_full(n)
        {
            grad.fill(T::zero());
        }
    }
    let align = reads.iter().map(|(read, _)| read.repeat).max().unwrap_or(1);
    let ranges = parallel::pieces(n, align, cost);
    let single = ranges.len() == 1;

    let mut remaining: SmallVec<[Option<&mut [T]>; 6]> = grads.iter_mut().map(|g| g.as_deref_mut()).collect();
    let mut pieces: SmallVec<[Piece<'_, T>; PIECES]> = SmallVec::new();
    for range in ranges {
        let places = reads.iter().zip(&mut remaining).map(|(&(read, width), grad)| match grad {
            None => Place::Unwanted,
            Some(slice) if single => Place::Own(std::mem::take(slice), 0),
            Some(slice) if read.hold == 1 && read.repeat * read.len == n && align % read.repeat == 0 => {
                let first = range.start / read.repeat;
                let last = range.end.div_ceil(read.repeat);
                Place::Own(split_front(slice, (last - first) * width), first)
            }
            Some(_) => Place::Partial(SmallVec::from_elem(T::zero(), read.len * width)),
        });
        pieces.push(Piece { places: places.collect(), range });
    }
    drop(remaining);
    parallel::run(&mut pieces, work);

    let mut partials: SmallVec<[(usize, SmallVec<[T; 8]>); PIECES]> = SmallVec::new();
    for piece in pieces {
        for (i, place) in piece.places.into_iter().enumerate() {
            if let Place::Partial(sum) = place {
                partials.push((i, sum));
            }
        }
    }
    for (i, partial) in partials {
        let grad = grads[i].as_deref_mut().into_iter().flatten();
        for (sum, x) in grad.zip(partial) {
            *sum = *sum + x;
        }
    }
}

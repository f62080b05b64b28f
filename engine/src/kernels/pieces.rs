//! Gradients of broadcast operands, split over pieces of the output.
//!
//! An operand position that only one piece reads is written by that piece in place. One that several
//! pieces read (a bias over all rows, a learned curvature) is summed per piece, and the sums are added
//! in order, so the result does not depend on the number of threads. Sums are in `f64`, whatever the
//! elements: in `f32` one over a million rows would be wrong by 1e-4.

use std::ops::Range;

use smallvec::SmallVec;

use crate::numbers::line::line_total;
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::simd::{Block, LANES, dispatch_blocks};
use crate::numbers::storage::{FloatsMut, Storage};
use crate::tensor::shape::Broadcast;

/// Where a piece of the output puts the gradient of one operand.
pub(crate) enum Place<'a, T> {
    /// No gradient is asked for.
    Unwanted,
    /// The operand positions that only this piece reads, and the number of the first. They are written if the
    /// operand is read in full, else added to.
    Own(&'a mut [T], usize),
    /// The sums of this piece for an operand that is not read in full, and the number of the first position.
    Sums(&'a mut [f64], usize),
}

impl<T: Storage> Place<'_, T> {
    /// The elements of an operand that is read in full, if its gradient is asked for, and the number of the
    /// first position among them. They are to be written.
    #[inline(always)]
    pub(crate) fn slice(&mut self) -> Option<(&mut [T], usize)> {
        match self {
            Place::Unwanted => None,
            Place::Own(slice, first) => Some((&mut **slice, *first)),
            Place::Sums(..) => unreachable!("an operand that is not read in full"),
        }
    }

    /// As [`slice`](Self::slice) for an operand that is not read in full. The elements are to be added to.
    #[inline(always)]
    pub(crate) fn sums(&mut self) -> Option<(&mut [f64], usize)> {
        match self {
            Place::Unwanted => None,
            Place::Sums(sums, first) => Some((&mut **sums, *first)),
            Place::Own(slice, first) => match T::erase_mut(slice) {
                FloatsMut::F64(sums) => Some((sums, *first)),
                FloatsMut::F32(_) => unreachable!("sums are in f64"),
            },
        }
    }

    /// `count` operand positions of one element, of an operand that is read in full, from a position on.
    #[inline(always)]
    pub(crate) fn run(&mut self, position: usize, count: usize) -> Option<&mut [T]> {
        let (slice, first) = self.slice()?;
        Some(&mut slice[position - first..position - first + count])
    }

    /// Gives an operand position its gradient, or a share of it if the operand is not read in full.
    #[inline(always)]
    pub(crate) fn give(&mut self, full: bool, position: usize, gradient: &[f64]) {
        let width = gradient.len();
        if full {
            let Some((slice, first)) = self.slice() else { return };
            let row = &mut slice[(position - first) * width..][..width];
            row.iter_mut().zip(gradient).for_each(|(to, &x)| *to = T::nearest(x));
        } else {
            let Some((sums, first)) = self.sums() else { return };
            let row = &mut sums[(position - first) * width..][..width];
            row.iter_mut().zip(gradient).for_each(|(to, x)| *to += x);
        }
    }
}

/// A range of output positions with the places for the operands' gradients.
pub(crate) struct Piece<'a, T> {
    pub(crate) range: Range<usize>,
    pub(crate) places: SmallVec<[Place<'a, T>; 6]>,
}

/// Runs `work` over `0..n` in pieces. `reads` says how each operand is read and the width of its
/// positions; `cost` estimates a position's time in nanoseconds.
///
/// Gradients of operands that are not read in full are zeroed first, and `work` adds to their
/// [sums](Place::sums). It overwrites the [others](Place::slice).
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
    let align = reads.iter().map(|(read, _)| read.repeat).max().unwrap_or(1);
    let ranges = parallel::pieces(n, align, cost);
    let single = ranges.len() == 1;
    // Whether each piece has operand positions of its own.
    let splits =
        |read: Broadcast| single || read.hold == 1 && read.repeat * read.len == n && align % read.repeat == 0;
    // How many sums there are of each element beside the gradient itself, which is one if it is in `f64`.
    let mut parts: SmallVec<[usize; 6]> = SmallVec::new();
    for (&(read, _), grad) in reads.iter().zip(grads.iter_mut()) {
        parts.push(match grad.as_deref_mut() {
            Some(grad) if !read.is_full(n) => match (splits(read), T::erase_mut(grad)) {
                (false, _) => ranges.len(),
                (true, FloatsMut::F32(_)) => 1,
                (true, FloatsMut::F64(grad)) => {
                    grad.fill(0.0);
                    0
                }
            },
            _ => 0,
        });
    }
    let lengths = || parts.iter().zip(reads).map(|(parts, (read, width))| parts * read.len * width);
    f64::with_scratch(lengths().sum(), |scratch| {
        scratch.fill(0.0);
        let mut unused = &mut *scratch;
        let mut sums: SmallVec<[&mut [f64]; 6]> =
            lengths().map(|length| split_front(&mut unused, length)).collect();
        let mut remaining: SmallVec<[Option<&mut [T]>; 6]> =
            grads.iter_mut().map(|g| g.as_deref_mut()).collect();
        let mut pieces: SmallVec<[Piece<'_, T>; PIECES]> = SmallVec::new();
        for range in ranges {
            let mut places = SmallVec::new();
            for (i, &(read, width)) in reads.iter().enumerate() {
                let positions = if single || !splits(read) {
                    0..read.len
                } else {
                    range.start / read.repeat..range.end.div_ceil(read.repeat)
                };
                let length = positions.len() * width;
                places.push(match &mut remaining[i] {
                    None => Place::Unwanted,
                    Some(_) if parts[i] > 0 => {
                        Place::Sums(split_front(&mut sums[i], length), positions.start)
                    }
                    Some(slice) => Place::Own(split_front(slice, length), positions.start),
                });
            }
            pieces.push(Piece { places, range });
        }
        parallel::run(&mut pieces, work);
        drop((pieces, remaining, sums));

        let mut sums = &*scratch;
        for (grad, length) in grads.iter_mut().zip(lengths()) {
            let (own, following) = sums.split_at(length);
            sums = following;
            let Some(grad) = grad.as_deref_mut().filter(|_| length > 0) else { continue };
            let count = grad.len();
            for (k, to) in grad.iter_mut().enumerate() {
                *to = T::nearest(own[k..].iter().step_by(count).fold(0.0, |sum, x| sum + x));
            }
        }
    });
}

/// The gradient of an operand that is added to the output: each position gets the sum of `g` over the output
/// positions that read it.
pub(crate) fn sum_over_readers<T: Storage>(read: Broadcast, g: &[T], grad: &mut Option<&mut [T]>) {
    let full = read.is_full(g.len());
    for_each_piece(&[(read, 1)], g.len(), 1, std::slice::from_mut(grad), |piece| {
        let (positions, place) = (piece.range.clone(), &mut piece.places[0]);
        let g = &g[positions.clone()];
        if full {
            place.slice().into_iter().for_each(|(grad, _)| grad.copy_from_slice(g));
        } else if let Some(sums) = place.sums() {
            add_runs(read, positions, g, sums);
        }
    });
}

/// Adds gradients at some output positions to those of an operand that is not read in full, from its position
/// `start` on.
pub(crate) fn add_runs<T: Storage>(
    read: Broadcast,
    positions: Range<usize>,
    gradients: &[T],
    to: (&mut [f64], usize),
) {
    dispatch_blocks!(S, (to, positions), |(to, positions)| {
        add_each_run::<T, S>(read, positions, gradients, to)
    });
}

#[inline(always)]
fn add_each_run<T: Storage, S: Block>(
    read: Broadcast,
    positions: Range<usize>,
    mut dx: &[T],
    (sums, start): (&mut [f64], usize),
) {
    for (first, count) in read.runs(positions) {
        let (run, following) = dx.split_at(count);
        dx = following;
        if read.holds() {
            let sum = &mut sums[first - start];
            // Few elements are added one by one, as a device does.
            let few = count < LANES && read.len > 1;
            *sum = if few {
                run.iter().fold(*sum, |sum, x| sum + x.to_f64())
            } else {
                *sum + line_total::<T, S>(run)
            };
        } else {
            sums[first - start..].iter_mut().zip(run).for_each(|(sum, x)| *sum += x.to_f64());
        }
    }
}

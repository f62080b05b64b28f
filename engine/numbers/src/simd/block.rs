//! Blocks of eight neighbouring elements in `f64`, in one vector register or two. Kernels work on the
//! rows of a tensor block by block.
//!
//! The compiler turns arrays of [`Lanes`] into vector instructions in elementwise formulas, but not in the
//! reductions of row formulas. Those name the registers.

use std::ops::{Add, Div, Mul, Sub};

use crate::compensated::{Fused, two_sum};
use crate::lanes::Lanes;
use crate::line::pairwise;
use crate::storage::Storage;

/// How many neighbours are summed side by side. It is the same on every instruction set, as the bits
/// depend on it.
pub const LANES: usize = 8;

/// `LANES` numbers. Every implementation computes the same bits.
pub trait Block: Copy + Fused + Div<Output = Self> {
    /// Elements, widened.
    fn load<T: Storage>(x: &[T; LANES]) -> Self;
    /// Writes the nearest elements.
    fn store<T: Storage>(self, out: &mut [T; LANES]);
    /// Fewer than `LANES` elements, widened; zeros beyond.
    fn load_part<T: Storage>(x: &[T]) -> Self;
    /// Writes the nearest elements of the first lanes, fewer than `LANES`.
    fn store_part<T: Storage>(self, out: &mut [T]);
    /// `self · b − c`, rounded once.
    fn mul_sub(self, b: Self, c: Self) -> Self;
    /// The larger of the magnitudes, lane by lane.
    fn max_magnitude(self, b: Self) -> Self;

    /// From the numbers of the first and of the last lanes.
    #[inline(always)]
    fn join(low: &[f64; LANES / 2], high: &[f64; LANES / 2]) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (*low, *high);
        Self::load(&[a, b, c, d, e, f, g, h])
    }
    /// Writes the numbers of the first and of the last lanes.
    #[inline(always)]
    fn split(self, low: &mut [f64; LANES / 2], high: &mut [f64; LANES / 2]) {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        low.copy_from_slice(&lanes[..LANES / 2]);
        high.copy_from_slice(&lanes[LANES / 2..]);
    }

    /// Rounds to the nearest elements and widens them again.
    #[inline(always)]
    fn rounded<T: Storage>(self) -> Self {
        let mut elements = [T::zero(); LANES];
        self.store(&mut elements);
        Self::load(&elements)
    }
    /// The numbers.
    #[inline(always)]
    fn lanes(self) -> Lanes<LANES> {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        Lanes::from(lanes)
    }
    /// The sums over the lanes of four blocks, each in the order of
    /// [`pairwise`](crate::line::pairwise).
    #[inline(always)]
    fn sums_of_four(four: [Self; 4]) -> [f64; 4] {
        let [a, b, c, d] = four;
        [pairwise(a.lanes()), pairwise(b.lanes()), pairwise(c.lanes()), pairwise(d.lanes())]
    }
    /// The totals over the lanes of four blocks of sums with errors, and the errors of the totals. In
    /// each block the halves are added first, then the quarters, then the eighths.
    #[inline(always)]
    fn compensated_of_four(sums: [Self; 4], errors: [Self; 4]) -> ([f64; 4], [f64; 4]) {
        let (mut sum, mut error) = ([0.0; 4], [0.0; 4]);
        for l in 0..4 {
            (sum[l], error[l]) = compensated(sums[l].lanes(), errors[l].lanes());
        }
        (sum, error)
    }
    /// The sums over the lanes of several blocks.
    #[inline(always)]
    fn sums<const R: usize>(blocks: &[Self; R]) -> Lanes<R> {
        let mut sums = Lanes::splat(0.0);
        for l in (0..R).step_by(4) {
            if l + 4 <= R {
                let four = Self::sums_of_four([blocks[l], blocks[l + 1], blocks[l + 2], blocks[l + 3]]);
                for i in 0..4 {
                    sums.set(l + i, four[i]);
                }
            } else {
                for l in l..R {
                    sums.set(l, pairwise(blocks[l].lanes()));
                }
            }
        }
        sums
    }
    /// The totals over the lanes of several blocks of sums with errors, and the errors of the totals.
    #[inline(always)]
    fn compensated_sums<const R: usize>(sums: &[Self; R], errors: &[Self; R]) -> (Lanes<R>, Lanes<R>) {
        let (mut totals, mut total_errors) = (Lanes::splat(0.0), Lanes::splat(0.0));
        for l in (0..R).step_by(4) {
            if l + 4 <= R {
                let (sums, errors) = Self::compensated_of_four(
                    [sums[l], sums[l + 1], sums[l + 2], sums[l + 3]],
                    [errors[l], errors[l + 1], errors[l + 2], errors[l + 3]],
                );
                for i in 0..4 {
                    totals.set(l + i, sums[i]);
                    total_errors.set(l + i, errors[i]);
                }
            } else {
                for l in l..R {
                    let (sum, error) = compensated(sums[l].lanes(), errors[l].lanes());
                    totals.set(l, sum);
                    total_errors.set(l, error);
                }
            }
        }
        (totals, total_errors)
    }
}

/// A block in memory, aligned so that a register is read and written whole.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Aligned(pub [f64; LANES]);

impl Aligned {
    /// Reads the block.
    #[inline(always)]
    pub fn read<S: Block>(&self) -> S {
        S::load(&self.0)
    }

    /// Writes a block here.
    #[inline(always)]
    pub fn write<S: Block>(&mut self, block: S) {
        block.store(&mut self.0);
    }
}

/// The total over the lanes of sums with errors, and its error. Out of line, as it is called only for
/// single rows and on processors without vector instructions.
#[inline(never)]
fn compensated(sum: Lanes<LANES>, error: Lanes<LANES>) -> (f64, f64) {
    let (mut sum, mut error) = (sum.to_array(), error.to_array());
    for half in [4, 2, 1] {
        for l in 0..half {
            let (total, rounding) = two_sum(sum[l], sum[l + half]);
            error[l] = error[l] + error[l + half] + rounding;
            sum[l] = total;
        }
    }
    (sum[0], error[0])
}

/// A block for every processor. Each operation is written out lane by lane: with loops over eight lanes,
/// the compiler would spend minutes on all row formulas together.
#[derive(Clone, Copy)]
pub struct Portable([f64; LANES]);

/// `[f(0), …, f(7)]`.
macro_rules! each {
    ($l:ident => $f:expr) => {
        each!(@ $l $f; 0 1 2 3 4 5 6 7)
    };
    (@ $l:ident $f:expr; $($number:literal)*) => {
        [$({
            let $l = $number;
            $f
        }),*]
    };
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => { $(
        impl $trait for Portable {
            type Output = Self;
            #[inline(always)]
            fn $method(self, b: Self) -> Self {
                Portable(each!(l => self.0[l].$method(b.0[l])))
            }
        }
    )* };
}

operators! { Add add Sub sub Mul mul Div div }

impl Fused for Portable {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Portable([x; LANES])
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        Portable(each!(l => self.0[l].mul_add(b.0[l], c.0[l])))
    }
}

impl Block for Portable {
    #[inline(always)]
    fn load<T: Storage>(x: &[T; LANES]) -> Self {
        Portable(each!(l => x[l].to_f64()))
    }
    #[inline(always)]
    fn store<T: Storage>(self, out: &mut [T; LANES]) {
        *out = each!(l => T::nearest(self.0[l]));
    }
    #[inline(always)]
    fn load_part<T: Storage>(x: &[T]) -> Self {
        Self::load(fill(x, &mut [T::zero(); LANES]))
    }
    #[inline(always)]
    fn store_part<T: Storage>(self, out: &mut [T]) {
        let mut block = [T::zero(); LANES];
        self.store(&mut block);
        out.copy_from_slice(&block[..out.len()]);
    }
    #[inline(always)]
    fn mul_sub(self, b: Self, c: Self) -> Self {
        Portable(each!(l => self.0[l].mul_add(b.0[l], -c.0[l])))
    }
    #[inline(always)]
    fn max_magnitude(self, b: Self) -> Self {
        // As the vector instructions do it, for NaN too.
        let larger = |a: f64, b: f64| if a > b { a } else { b };
        Portable(each!(l => larger(self.0[l].abs(), b.0[l].abs())))
    }
}

/// `LANES` elements from `at` on, of which the row has `left`; zeros beyond.
#[inline(always)]
pub fn read<T: Storage, S: Block>(data: &[T], at: usize, left: usize) -> S {
    let data = &data[at..];
    match data.first_chunk::<LANES>() {
        Some(block) if left >= LANES => S::load(block),
        _ => S::load_part(&data[..left.min(LANES)]),
    }
}

/// Memory is prefetched this many bytes ahead, in rows of at least as many bytes.
const AHEAD: usize = 1024;

/// Whether rows of `width` elements are prefetched: if they are long and the load of a block is shorter
/// than a cache line, as the processor then does not read far enough ahead by itself.
#[inline(always)]
pub fn asks_ahead<T>(width: usize) -> bool {
    LANES * size_of::<T>() < LINE && width * size_of::<T>() >= AHEAD
}

/// Calls `work` for each block of some rows of `width` elements, and of one more row if there is one. It
/// gets the position of the block's first element and the block of every row, with zeros beyond the end.
/// `ahead`: whether long rows are prefetched.
#[inline(always)]
pub fn for_each_block<T: Storage, S: Block, const N: usize>(
    width: usize,
    rows: &[&[T]; N],
    more: Option<&[T]>,
    ahead: bool,
    mut work: impl FnMut(usize, [S; N], S),
) {
    let count = width / LANES;
    let end = count * LANES;
    // Split here, so that there is nothing to check in the loop.
    let mut blocks = [[].as_slice(); N];
    for i in 0..N {
        blocks[i] = &rows[i].as_chunks::<LANES>().0[..count];
    }
    let more_blocks = more.map(|row| &row.as_chunks::<LANES>().0[..count]);
    let (mut x, mut y) = ([S::splat(0.0); N], S::splat(0.0));
    let ask = ahead && asks_ahead::<T>(width);
    for b in 0..count {
        for i in 0..N {
            if ask {
                ask_ahead(&blocks[i][b]);
            }
            x[i] = S::load(&blocks[i][b]);
        }
        if let Some(more_blocks) = more_blocks {
            y = S::load(&more_blocks[b]);
        }
        work(b * LANES, x, y);
    }
    if end < width {
        for i in 0..N {
            x[i] = S::load_part(&rows[i][end..width]);
        }
        if let Some(row) = more {
            y = S::load_part(&row[end..width]);
        }
        work(end, x, y);
    }
}

/// The last elements of a row, followed by zeros. Out of line: otherwise the compiler would merge this copy
/// and the load of a whole block into one call of memmove.
#[cold]
#[inline(never)]
fn fill<'a, T: Storage, const N: usize>(data: &[T], end: &'a mut [T; N]) -> &'a [T; N] {
    *end = [T::zero(); N];
    end[..data.len()].copy_from_slice(data);
    end
}

/// Writes a block from element `at` on, where the row has `left` more elements. What is written beyond
/// the row is overwritten by the next row.
#[inline(always)]
pub fn write<T: Storage, S: Block>(out: &mut [T], at: usize, left: usize, block: S) {
    let out = &mut out[at..];
    match out.first_chunk_mut::<LANES>() {
        Some(out) => block.store(out),
        None => block.store_part(&mut out[..left]),
    }
}

/// Adds a block from element `at` on, where the row has `left` more elements.
#[inline(always)]
pub fn add<T: Storage, S: Block>(out: &mut [T], at: usize, left: usize, block: S) {
    let out = &mut out[at..];
    match out.first_chunk_mut::<LANES>() {
        Some(out) if left >= LANES => (S::load(out) + block).store(out),
        _ => {
            let out = &mut out[..left.min(LANES)];
            (S::load_part(out) + block).store_part(out);
        }
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// This processor has no AVX2.
#[cfg(not(target_arch = "x86_64"))]
pub type Avx2 = Portable;

/// This processor has no AVX-512.
#[cfg(not(target_arch = "x86_64"))]
pub type Avx512 = Portable;

/// Does nothing on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn ask_ahead<T>(_: &[T; LANES]) {}
/// Does nothing on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn prefetch<T>(_: &[T]) {}
#[cfg(target_arch = "x86_64")]
pub use x86_64::{Avx2, Avx512, ask_ahead, prefetch};

#[cfg(target_arch = "x86_64")]
mod x86_64;

//! Matrix products. Large ones use `matrixmultiply`, with the rows split over threads. Small ones and
//! those of few columns, where its packing would cost as much as the product, are computed in registers.

use smallvec::SmallVec;

use crate::numbers::lanes::Lanes;
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::simd::{Dispatched, Register, dispatch, dispatch_wide};
use crate::numbers::storage::Storage;
use crate::tensor::shape::product;

/// A matrix to be read: element `(i, j)` is `data[i · row + j · column]`.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    row: usize,
    column: usize,
}

impl<'a, T: Storage> Matrix<'a, T> {
    /// Row-major.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        assert!(product(&[rows, columns]).is_some_and(|n| n <= data.len()), "a matrix within its data");
        Matrix { data, rows, columns, row: columns, column: 1 }
    }

    pub(crate) fn transposed(self) -> Self {
        Matrix { rows: self.columns, columns: self.rows, row: self.column, column: self.row, ..self }
    }

    fn transposed_if(self, transposed: bool) -> Self {
        if transposed { self.transposed() } else { self }
    }

    /// Some rows.
    fn part(self, range: std::ops::Range<usize>) -> Self {
        let start = (range.start * self.row).min(self.data.len());
        Matrix { data: &self.data[start..], rows: range.len(), ..self }
    }

    /// A row-major matrix, to be read as its transpose or as itself.
    pub(crate) fn stored(data: &'a [T], rows: usize, columns: usize, transposed: bool) -> Self {
        Matrix::new(data, rows, columns).transposed_if(transposed)
    }

    /// The number of elements of `data` that the matrix spans.
    fn span(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row + (self.columns - 1) * self.column + 1
    }
}

/// Products of at most this many multiplications go through registers.
const SMALL: usize = 16 * 1024;

/// So do products of `f32` with at most this many columns. In `f64` packing is a smaller share of the time.
const NARROW: usize = 64;

/// Products of at least this many multiplications are split over threads: about 10 µs of work.
const LARGE: usize = 512 * 1024;

/// Multiplications of a product.
fn work<T>(a: Matrix<'_, T>, b: Matrix<'_, T>) -> usize {
    a.rows.saturating_mul(a.columns).saturating_mul(b.columns)
}

/// Checks that the factors fit each other and the product `c`.
fn assert_fit<T>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &[T]) {
    let fit = a.columns == b.rows && product(&[a.rows, b.columns]) == Some(c.len());
    assert!(fit, "a product of matrices that fit");
}

/// `c = a b`, or `c += a b`; c is row-major. The bits do not depend on how the rows are split: the same
/// kernel takes all of them.
pub(crate) fn gemm<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    let (m, n) = (a.rows, b.columns);
    if work(a, b) < LARGE {
        return serial(a, b, accumulate, c);
    }
    let parts = rayon::current_num_threads().min(PIECES);
    let step = m.div_ceil(parts).next_multiple_of(16);
    let mut remaining = c;
    let mut jobs: SmallVec<[_; PIECES]> = (0..m)
        .step_by(step.max(1))
        .map(|start| start..m.min(start + step))
        .map(|range| (range.clone(), split_front(&mut remaining, range.len() * n)))
        .collect();
    parallel::run(&mut jobs, |(range, c)| {
        by_shape(a.part(range.clone()), b, accumulate, c);
    });
}

/// On the calling thread.
pub(crate) fn serial<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    if work(a, b) <= SMALL { in_registers(a, b, accumulate, c) } else { by_shape(a, b, accumulate, c) }
}

/// The choice of the kernel does not depend on the number of rows.
fn by_shape<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    if size_of::<T>() == 4 && b.columns <= NARROW {
        in_registers(a, b, accumulate, c)
    } else {
        packed(a, b, accumulate, c)
    }
}

/// By `matrixmultiply`.
fn packed<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    assert_fit(a, b, c);
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(a.span() <= a.data.len() && b.span() <= b.data.len(), "matrices within their data");
    let beta = if accumulate { T::one() } else { T::zero() };
    let strides = [a.row, a.column, b.row, b.column].map(|stride| stride as isize);
    // SAFETY: both matrices lie within their slices, as asserted, and c holds m rows of n elements.
    unsafe { T::gemm([m, k, n], a.data.as_ptr(), b.data.as_ptr(), strides, beta, c.as_mut_ptr()) }
}

/// Elements of the widest register. The rows of b that go through registers are a multiple of this long.
const WIDE: usize = 16;

/// In tiles of sums. Each sum is taken in order and rounded once per term, so the bits are the same for
/// any tile.
fn in_registers<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    assert_fit(a, b, c);
    let (k, n) = (a.columns, b.columns);
    if b.column != 1 || !b.row.is_multiple_of(WIDE) {
        // Copied once, so that its rows can be loaded as whole registers.
        let width = n.next_multiple_of(WIDE);
        return T::with_scratch(k * width, |copy| {
            for (p, row) in copy.chunks_exact_mut(width.max(1)).enumerate() {
                let (row, padding) = row.split_at_mut(n);
                let given = b.data[p * b.row..].iter().step_by(b.column);
                row.iter_mut().zip(given).for_each(|(x, y)| *x = *y);
                padding.fill(T::zero());
            }
            in_registers(a, Matrix { columns: n, ..Matrix::new(copy, k, width) }, accumulate, c);
        });
    }
    if size_of::<T>() == 8 {
        // There are no named registers of `f64`.
        return dispatch(
            #[inline(always)]
            || tiles::<T, Lanes<8, T>, 4>(a, b, accumulate, c),
        );
    }
    dispatch_wide(
        c,
        #[inline(always)]
        |c| {
            if n > T::Avx2::<Dispatched>::WIDTH {
                tiles::<T, T::Avx512<Dispatched>, 8>(a, b, accumulate, c);
            } else {
                tiles::<T, T::Avx2<Dispatched>, 8>(a, b, accumulate, c);
            }
        },
        #[inline(always)]
        |c| tiles::<T, T::Avx2<Dispatched>, 8>(a, b, accumulate, c),
        #[inline(always)]
        |c| tiles::<T, Lanes<8, T>, 4>(a, b, accumulate, c),
    );
}

/// Tiles of `R` rows and a register of columns.
#[inline(always)]
fn tiles<T: Storage, O: Register<T>, const R: usize>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    accumulate: bool,
    c: &mut [T],
) {
    let n = b.columns;
    for (block, c) in c.chunks_mut(R * n.max(1)).enumerate() {
        for first in (0..n).step_by(O::WIDTH) {
            if c.len() == R * n {
                tile::<T, O, R>(a, b, [block * R, first], accumulate, c);
            } else {
                for (i, c) in c.chunks_exact_mut(n).enumerate() {
                    tile::<T, O, 1>(a, b, [block * R + i, first], accumulate, c);
                }
            }
        }
    }
}

/// Rows from `i` on, `R` of them, and columns from `first` on; `c` holds those rows.
#[inline(always)]
fn tile<T: Storage, O: Register<T>, const R: usize>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    [i, first]: [usize; 2],
    accumulate: bool,
    c: &mut [T],
) {
    let n = b.columns;
    let mut sums = [O::splat(T::zero()); R];
    let a_rows = &a.data[(i * a.row).min(a.data.len())..];
    for p in 0..a.columns {
        let y = O::load(&b.data[p * b.row + first..][..O::WIDTH]);
        for (r, sum) in sums.iter_mut().enumerate() {
            *sum = O::splat(a_rows[r * a.row + p * a.column]).mul_add(y, *sum);
        }
    }
    for (sum, c) in sums.into_iter().zip(c.chunks_exact_mut(n)) {
        let c = &mut c[first..n.min(first + O::WIDTH)];
        if accumulate { (O::load(c) + sum).store(c) } else { sum.store(c) }
    }
}

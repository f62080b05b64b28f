//! Matrix products: `matrixmultiply` for large ones, with the rows split over threads; lanes for small ones,
//! where its packing would cost more than the product.

use smallvec::SmallVec;

use crate::parallel::{self, PIECES, split_front};
use crate::simd::dispatch;
use crate::{Float, Lanes};

/// A matrix to be read: element `(i, j)` is `data[i · row + j · column]`.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    row: usize,
    column: usize,
}

impl<'a, T: Float> Matrix<'a, T> {
    /// Row-major.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        assert!(data.len() >= rows * columns);
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

/// Products of at most this many multiplications go through lanes.
const SMALL: usize = 16 * 1024;

/// Products of at least this many multiplications are split over threads: about 10 µs of work.
const LARGE: usize = 512 * 1024;

/// `c = a b`, or `c += a b`; c row-major. The bits do not depend on how the rows are split: one kernel takes all of them.
pub(crate) fn gemm<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    let (m, n) = (a.rows, b.columns);
    let work = m * a.columns * n;
    if work < LARGE {
        return serial(a, b, accumulate, c);
    }
    let parts = rayon::current_num_threads().min(PIECES);
    let step = m.div_ceil(parts).next_multiple_of(16);
    let mut rest = c;
    let mut jobs: SmallVec<[_; PIECES]> = (0..m)
        .step_by(step.max(1))
        .map(|start| start..m.min(start + step))
        .map(|range| (range.clone(), split_front(&mut rest, range.len() * n)))
        .collect();
    parallel::run(&mut jobs, |(range, c)| {
        packed(a.part(range.clone()), b, accumulate, c);
    });
}

/// On the calling thread.
pub(crate) fn serial<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    if m * k * n <= SMALL { small(a, b, accumulate, c) } else { packed(a, b, accumulate, c) }
}

/// By `matrixmultiply`.
fn packed<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(k == b.rows && c.len() == m * n, "a product of matrices that fit");
    assert!(a.span() <= a.data.len() && b.span() <= b.data.len(), "matrices within their data");
    let beta = if accumulate { T::one() } else { T::zero() };
    let strides = [a.row, a.column, b.row, b.column].map(|stride| stride as isize);
    // SAFETY: both matrices lie within their slices, as asserted, and c holds m rows of n elements.
    unsafe { T::gemm([m, k, n], a.data.as_ptr(), b.data.as_ptr(), strides, beta, c.as_mut_ptr()) }
}

/// A tile of a small product, in registers: its rows, and its columns.
const ROWS: usize = 4;
const LANES: usize = 8;

/// In tiles of registers.
fn small<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert!(k == b.rows && c.len() == m * n, "a product of matrices that fit");
    let width = n.next_multiple_of(LANES);
    if b.column != 1 || !b.row.is_multiple_of(LANES) {
        // Copied once, its rows can be loaded as whole lanes.
        return T::with_scratch(k * width, |packed| {
            for (p, row) in packed.chunks_exact_mut(width.max(1)).enumerate() {
                let (row, rest) = row.split_at_mut(n);
                let given = b.data[p * b.row..].iter().step_by(b.column);
                row.iter_mut().zip(given).for_each(|(x, y)| *x = *y);
                rest.fill(T::zero());
            }
            small(a, Matrix { columns: n, ..Matrix::new(packed, k, width) }, accumulate, c);
        });
    }
    dispatch(
        #[inline(always)]
        || {
            for (block, c) in c.chunks_mut(ROWS * n.max(1)).enumerate() {
                for first in (0..n).step_by(LANES) {
                    if c.len() == ROWS * n {
                        tile::<T, ROWS>(a, b, [block * ROWS, first], accumulate, c);
                    } else {
                        for (i, c) in c.chunks_exact_mut(n).enumerate() {
                            tile::<T, 1>(a, b, [block * ROWS + i, first], accumulate, c);
                        }
                    }
                }
            }
        },
    );
}

/// Rows from `i` on, `R` of them, and columns from `first` on; `c` holds those rows.
#[inline(always)]
fn tile<T: Float, const R: usize>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    [i, first]: [usize; 2],
    accumulate: bool,
    c: &mut [T],
) {
    let n = b.columns;
    let mut sums = [Lanes::<LANES, T>::splat(T::zero()); R];
    for p in 0..a.columns {
        let start = p * b.row + first;
        let y = Lanes::load(&b.data[start..start + LANES], 0.0);
        for (r, sum) in sums.iter_mut().enumerate() {
            *sum = Lanes::splat(a.data[(i + r) * a.row + p * a.column]).mul_add(y, *sum);
        }
    }
    for (sum, c) in sums.into_iter().zip(c.chunks_exact_mut(n)) {
        let c = &mut c[first..n.min(first + LANES)];
        if accumulate { (Lanes::load(c, 0.0) + sum).store(c) } else { sum.store(c) }
    }
}

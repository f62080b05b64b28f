//! Matrix products, with the rows split over threads. `matrixmultiply` packs both factors. Where that would
//! cost much of the product's time, only the right factor is laid out anew: [`Panels`]. A right factor of
//! many products, as attention has, is prepared once.

use std::ops::Range;

use smallvec::SmallVec;

use crate::numbers::lanes::Lanes;
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::simd::{
    Columns, Dispatched, Register, Strided, dispatch_wide, has_vectors, has_wide_vectors, prefetch, tile,
};
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
    fn part(self, range: Range<usize>) -> Self {
        let start = (range.start * self.row).min(self.data.len());
        Matrix { data: &self.data[start..], rows: range.len(), ..self }
    }

    /// A row-major matrix, to be read as its transpose or as itself.
    pub(crate) fn stored(data: &'a [T], rows: usize, columns: usize, transposed: bool) -> Self {
        Matrix::new(data, rows, columns).transposed_if(transposed)
    }

    /// Some columns.
    fn middle(self, range: Range<usize>) -> Self {
        let start = (range.start * self.column).min(self.data.len());
        Matrix { data: &self.data[start..], columns: range.len(), ..self }
    }

    /// Copies the matrix to rows that are `width` elements apart.
    fn copy_to(self, to: &mut [T], width: usize) {
        if self.column == 1 {
            for (i, to) in to.chunks_mut(width.max(1)).take(self.rows).enumerate() {
                to[..self.columns].copy_from_slice(&self.data[i * self.row..][..self.columns]);
            }
            return;
        }
        // Rows in groups, so that what is written stays in the cache while the columns are read.
        for first in (0..self.rows).step_by(WIDE) {
            let rows = WIDE.min(self.rows - first);
            let squares = if self.row == 1 && rows == WIDE { self.columns / WIDE } else { 0 };
            for j in (0..squares * WIDE).step_by(WIDE) {
                self.copy_square([first, j], &mut to[first * width + j..], width);
            }
            for j in squares * WIDE..self.columns {
                let given = self.data[first * self.row + j * self.column..].iter().step_by(self.row);
                let places = to[first * width + j..].iter_mut().step_by(width);
                places.zip(given).take(rows).for_each(|(to, x)| *to = *x);
            }
        }
    }

    /// Copies [`WIDE`] rows and as many columns of a transpose, from this row and column on, through
    /// registers.
    fn copy_square(self, [row, column]: [usize; 2], to: &mut [T], width: usize) {
        let mut square = [[T::zero(); WIDE]; WIDE];
        for (j, given) in self.data[row + column * self.column..].chunks(self.column).take(WIDE).enumerate() {
            square.iter_mut().zip(given).for_each(|(square, x)| square[j] = *x);
        }
        for (to, square) in to.chunks_mut(width).zip(&square) {
            to[..WIDE].copy_from_slice(square);
        }
    }

    /// The number of elements of `data` that the matrix spans.
    fn span(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row + (self.columns - 1) * self.column + 1
    }
}

/// Products of at most this many multiplications go by [`Panels`].
const SMALL: usize = 16 * 1024;

/// So do products of `f32` with at most this many columns. In `f64` packing is a smaller share of the time.
const NARROW: usize = 64;

/// So do products of `f32` whose left rows are stored as rows and have at most this many elements, if there
/// are at most [`MODERATE`] columns: `matrixmultiply` would pack the rows, which panels read as they are.
const SHORT: usize = 1024;

/// See [`SHORT`].
const MODERATE: usize = 512;

/// Rows for which the copy of a transposed right factor pays.
const MANY: usize = 128;

/// Rows that meet one panel after another. They stay in the second-level cache.
const TOGETHER: usize = 96;

/// Products of at least this many multiplications are split over threads: about 10 µs of work.
const LARGE: usize = 512 * 1024;

/// Multiplications of a product.
fn work<T>(a: Matrix<'_, T>, b: Matrix<'_, T>) -> usize {
    a.rows.saturating_mul(a.columns).saturating_mul(b.columns)
}

/// Checks that the factors fit each other and the product `c`.
fn assert_fit<T>(a: Matrix<'_, T>, b: Matrix<'_, T>, c: &[T]) {
    let fit = a.columns == b.rows && product(&[a.rows, b.columns]) == Some(c.len());
    let [m, k, l, n] = [a.rows, a.columns, b.rows, b.columns];
    assert!(fit, "a product of matrices [{m}, {k}] and [{l}, {n}] into {} numbers", c.len());
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(crate) enum Onto<'a, T> {
    Nothing,
    /// What its place holds.
    Held,
    /// In each row, this one.
    Row(&'a [T]),
}

impl<T: Storage> Onto<'_, T> {
    /// Writes the rows to the place of the product, and says whether the product is to be added to it.
    fn place(self, c: &mut [T]) -> bool {
        if let Onto::Row(row) = self {
            debug_assert!(c.len().is_multiple_of(row.len().max(1)), "rows of {} elements", row.len());
            c.chunks_exact_mut(row.len().max(1)).for_each(|c| c.copy_from_slice(row));
        }
        !matches!(self, Onto::Nothing)
    }
}

/// What computes a product.
#[derive(Clone, Copy)]
enum Method {
    Panels,
    /// `matrixmultiply`.
    Packed,
}

impl Method {
    fn new<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>) -> Self {
        let short = has_vectors()
            && a.column == 1
            && a.columns <= SHORT
            && b.columns <= MODERATE
            && (b.column == 1 || a.rows >= MANY);
        let panels = work(a, b) <= SMALL || size_of::<T>() == 4 && (b.columns <= NARROW || short);
        if panels { Method::Panels } else { Method::Packed }
    }

    fn run<T: Storage>(self, a: Matrix<'_, T>, b: Matrix<'_, T>, onto: Onto<'_, T>, c: &mut [T]) {
        match self {
            Method::Panels => {
                assert_fit(a, b, c);
                Panels::with(b, |panels| {
                    for (number, c) in c.chunks_mut((TOGETHER * b.columns).max(1)).enumerate() {
                        let first = number * TOGETHER;
                        let rows = first..a.rows.min(first + TOGETHER);
                        let accumulate = onto.place(c);
                        panels.product(a.part(rows), accumulate, c);
                    }
                });
            }
            Method::Packed => packed(a, b, onto.place(c), c),
        }
    }
}

/// `c = a b`, added to what `onto` says; c is row-major. The bits do not depend on how the rows are split:
/// the same method takes all of them.
pub(crate) fn gemm<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, onto: Onto<'_, T>, c: &mut [T]) {
    let (m, n, method) = (a.rows, b.columns, Method::new(a, b));
    if work(a, b) < LARGE {
        return method.run(a, b, onto, c);
    }
    let parts = rayon::current_num_threads().min(PIECES);
    let step = m.div_ceil(parts).next_multiple_of(16);
    let mut remaining = c;
    let mut jobs: SmallVec<[_; PIECES]> = (0..m)
        .step_by(step.max(1))
        .map(|start| start..m.min(start + step))
        .map(|range| (range.clone(), split_front(&mut remaining, range.len() * n)))
        .collect();
    parallel::run(&mut jobs, |(range, c)| method.run(a.part(range.clone()), b, onto, c));
}

/// As [`gemm`], on the calling thread.
pub(crate) fn serial<T: Storage>(a: Matrix<'_, T>, b: Matrix<'_, T>, onto: Onto<'_, T>, c: &mut [T]) {
    Method::new(a, b).run(a, b, onto, c);
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

/// Bytes of a row of [`Panels`] with AVX-512: four registers, the columns of a tile. Without AVX-512 a tile
/// has at most [`WIDE`] columns, and a panel has as many: of a wider one, what a tile reads would share few
/// sets of the first-level cache.
const PANEL: usize = 256;

/// A right factor in panels of a few columns, one panel after another, padded with zeros.
/// Prepared once, it serves many products. Each sum of a product is taken in order and rounded once per term,
/// so the bits are the same on every instruction set.
#[derive(Clone)]
pub(crate) struct Panels<'a, T> {
    data: &'a [T],
    /// The columns of a panel but the last, with the padding.
    panel: usize,
    /// The rows of a panel, and those of them that are the factor's.
    stored: usize,
    rows: Range<usize>,
    columns: usize,
    /// The columns of all panels, with the padding. The last panel has what the others leave.
    width: usize,
}

impl<'a, T: Storage> Panels<'a, T> {
    /// Elements that a matrix takes in panels.
    pub(crate) fn size(rows: usize, columns: usize) -> usize {
        rows * columns.next_multiple_of(WIDE)
    }

    /// The width of the panels of a factor with so many columns.
    fn panel(columns: usize) -> usize {
        let tile = if has_wide_vectors() { PANEL / size_of::<T>() } else { WIDE };
        columns.next_multiple_of(WIDE).clamp(WIDE, tile)
    }

    /// Copies a matrix to `data`, of [`size`](Self::size) elements.
    pub(crate) fn new(b: Matrix<'_, T>, data: &'a mut [T]) -> Self {
        let (rows, columns) = (b.rows, b.columns);
        let panel = Self::panel(columns);
        assert!(
            data.len() == Self::size(rows, columns) && b.span() <= b.data.len(),
            "a matrix and its panels"
        );
        for (number, data) in data.chunks_mut((rows * panel).max(1)).enumerate() {
            let first = number * panel;
            let count = panel.min(columns - first);
            let width = count.next_multiple_of(WIDE);
            if count < width {
                data.chunks_exact_mut(width).for_each(|row| row[count..].fill(T::zero()));
            }
            b.middle(first..first + count).copy_to(data, width);
        }
        Panels { data, panel, stored: rows, rows: 0..rows, columns, width: columns.next_multiple_of(WIDE) }
    }

    /// Calls `work` with a matrix in panels. A row-major matrix that is small or narrow is one panel as it
    /// is, if its rows fill registers.
    pub(crate) fn with<R>(b: Matrix<'_, T>, work: impl FnOnce(&Panels<'_, T>) -> R) -> R {
        let (rows, columns) = (b.rows, b.columns);
        let near = rows * columns <= SMALL || b.row <= PANEL / size_of::<T>();
        if b.column == 1 && b.row.is_multiple_of(WIDE) && near {
            let panel = b.row.max(WIDE);
            return work(&Panels { data: b.data, panel, stored: rows, rows: 0..rows, columns, width: panel });
        }
        T::with_scratch(Self::size(b.rows, b.columns), |data| work(&Panels::new(b, data)))
    }

    /// The factor's rows `rows` alone.
    pub(crate) fn rows(&self, rows: Range<usize>) -> Self {
        let first = self.rows.start;
        Panels { rows: first + rows.start..first + rows.end, ..self.clone() }
    }

    /// The factor's columns `columns` alone, which start at the first one of a panel.
    pub(crate) fn columns(&self, columns: Range<usize>) -> Self {
        assert!(columns.start.is_multiple_of(self.panel), "columns of whole panels");
        Panels {
            data: &self.data[columns.start * self.stored..],
            columns: columns.len(),
            width: self.width - columns.start,
            ..self.clone()
        }
    }

    /// `c = a b`, or `c += a b`, where b is this factor; c is row-major.
    pub(crate) fn product(&self, a: Matrix<'_, T>, accumulate: bool, c: &mut [T]) {
        let (k, n, panel) = (self.rows.len(), self.columns, self.panel);
        assert!(a.columns == k && a.rows * n == c.len(), "a product of matrices that fit");
        for first in (0..n).step_by(panel) {
            let row = panel.min(self.width - first);
            let data = &self.data[first * self.stored + self.rows.start * row..][..k * row];
            let target = Target { data: &mut *c, row: n, first };
            by_width(a, Columns { data, row }, panel.min(n - first), accumulate, target);
        }
    }
}

/// Some columns of a row-major product: from `first` on, in rows of `row` elements.
struct Target<'a, T> {
    data: &'a mut [T],
    row: usize,
    first: usize,
}

/// The `n` columns of b, by the instruction set in use. Each kernel has as many sums as there are registers
/// for.
fn by_width<T: Storage>(a: Matrix<'_, T>, b: Columns<'_, T>, n: usize, accumulate: bool, c: Target<'_, T>) {
    let a = (Strided { data: a.data, row: a.row, column: a.column }, [a.rows, a.columns]);
    dispatch_wide(
        c,
        #[inline(always)]
        |mut c| {
            let wide = T::Products::<Dispatched>::WIDTH;
            let mut first = 0;
            while first < n {
                let at = [first, n];
                match (n - first).div_ceil(wide) {
                    // At most half of a register.
                    1 if n - first <= T::Avx2::<Dispatched>::WIDTH && size_of::<T>() == 4 => {
                        tiles::<T, T::Avx2<Dispatched>, 8, 1>(a, b, at, accumulate, &mut c)
                    }
                    1 => tiles::<T, T::Products<Dispatched>, 12, 1>(a, b, at, accumulate, &mut c),
                    2 => tiles::<T, T::Products<Dispatched>, 12, 2>(a, b, at, accumulate, &mut c),
                    3 => tiles::<T, T::Products<Dispatched>, 8, 3>(a, b, at, accumulate, &mut c),
                    _ => tiles::<T, T::Products<Dispatched>, 6, 4>(a, b, at, accumulate, &mut c),
                }
                first += 4 * wide;
            }
        },
        #[inline(always)]
        |mut c| {
            if size_of::<T>() == 8 {
                // There are no registers of this type with AVX2.
                for first in (0..n).step_by(8) {
                    tiles::<T, Lanes<8, T>, 4, 1>(a, b, [first, n], accumulate, &mut c);
                }
                return;
            }
            let wide = T::Avx2::<Dispatched>::WIDTH;
            for first in (0..n).step_by(2 * wide) {
                if n - first > wide {
                    tiles::<T, T::Avx2<Dispatched>, 6, 2>(a, b, [first, n], accumulate, &mut c);
                } else {
                    tiles::<T, T::Avx2<Dispatched>, 8, 1>(a, b, [first, n], accumulate, &mut c);
                }
            }
        },
        #[inline(always)]
        |mut c| {
            for first in (0..n).step_by(8) {
                tiles::<T, Lanes<8, T>, 4, 1>(a, b, [first, n], accumulate, &mut c);
            }
        },
    );
}

/// A tile of left rows of at least this many elements takes so long that what it writes can be prefetched.
const LONG: usize = 64;

/// The next left rows are prefetched, too, if they have at most this many elements. The processor itself
/// prefetches longer rows.
const SHORTER: usize = 128;

/// `C` registers of columns, from `first` of n on, in tiles of `R` rows, then of two and of one.
#[inline(always)]
fn tiles<T: Storage, O: Register<T>, const R: usize, const C: usize>(
    (a, [m, k]): (Strided<'_, T>, [usize; 2]),
    b: Columns<'_, T>,
    [first, n]: [usize; 2],
    accumulate: bool,
    c: &mut Target<'_, T>,
) {
    let b = Columns { data: &b.data[first.min(b.data.len())..], row: b.row };
    let rows = |i: usize| Strided { data: &a.data[(i * a.row).min(a.data.len())..], ..a };
    let mut i = 0;
    while i + R <= m {
        if k >= LONG {
            for r in i..i + R {
                let row = &c.data[r * c.row + c.first + first..];
                prefetch(&row[..(n - first).min(C * O::WIDTH)]);
            }
            if k <= SHORTER && a.column == 1 {
                for r in i + R..m.min(i + 2 * R) {
                    prefetch(&a.data[r * a.row..][..k]);
                }
            }
        }
        store(tile::<T, O, R, C>(rows(i), b, k), [i, first, n], accumulate, c);
        i += R;
    }
    while i + 2 <= m {
        store(tile::<T, O, 2, C>(rows(i), b, k), [i, first, n], accumulate, c);
        i += 2;
    }
    if i < m {
        store(tile::<T, O, 1, C>(rows(i), b, k), [i, first, n], accumulate, c);
    }
}

/// Writes or adds sums: rows from `i` on, columns from `first` of n on.
#[inline(always)]
fn store<T: Storage, O: Register<T>, const R: usize, const C: usize>(
    sums: [[O; C]; R],
    [i, first, n]: [usize; 3],
    accumulate: bool,
    c: &mut Target<'_, T>,
) {
    for r in 0..R {
        let row = &mut c.data[(i + r) * c.row + c.first + first..][..(n - first).min(C * O::WIDTH)];
        for (c, &sum) in row.chunks_mut(O::WIDTH).zip(&sums[r]) {
            if accumulate { O::load(c) + sum } else { sum }.store(c);
        }
    }
}

//! Inner products and squared distances of all pairs of rows, and their gradients.

use std::ops::Range;

use smallvec::SmallVec;

use super::Sizes;
use super::tile::{LANES, Tile};
use crate::formula::pair::Pairing;
use crate::kernels::gemm::{Matrix, serial};
use crate::numbers::lanes::{LaneMask, Lanes};
use crate::numbers::line::{line_total, line_zip, load, pairwise};
use crate::numbers::scalar::Scalar;
use crate::numbers::simd::{Portable, dispatch};
use crate::numbers::storage::Storage;
use crate::tensor::view::View;

/// Rows of at most this many elements are subtracted pair by pair: products would save nothing.
const NARROW: usize = 8;

/// Pairings of some left rows with some right ones: `s[i, j]`.
pub(crate) fn pairings<T: Storage>(pairing: Pairing, x: &[T], y: &[T], width: usize, s: &mut [T]) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    match pairing {
        Pairing::Dot => serial(Matrix::new(x, n, width), Matrix::new(y, m, width).transposed(), false, s),
        Pairing::SquaredDistance if width <= NARROW => subtracted(x, y, width, s),
        Pairing::SquaredDistance => centred(x, y, width, |centred_rows| {
            serial(centred_rows.left(), centred_rows.right().transposed(), false, s);
            dispatch(
                #[inline(always)]
                || {
                    for (i, s) in s.chunks_exact_mut(m).enumerate() {
                        if centred_rows.distances(i, s) {
                            centred_rows.repair(
                                i,
                                s,
                                #[inline(always)]
                                |j| square(&x[i * width..][..width], &y[j * width..][..width]),
                            );
                        }
                    }
                },
            );
        }),
    }
}

/// Squared distances, pair by pair.
fn subtracted<T: Storage>(x: &[T], y: &[T], width: usize, s: &mut [T]) {
    let m = y.len() / width;
    T::with_scratch(width * m, |columns| {
        transpose(y, width, columns);
        dispatch(
            #[inline(always)]
            || {
                for (x, s) in x.chunks_exact(width).zip(s.chunks_exact_mut(m)) {
                    s.fill(T::zero());
                    for (x, y) in x.iter().zip(columns.chunks_exact(m)) {
                        let x = Lanes::splat(*x);
                        line_zip::<T, LANES>(
                            s,
                            y,
                            #[inline(always)]
                            |s, y| (x - y).mul_add(x - y, s),
                        );
                    }
                }
            },
        );
    });
}

/// Writes `rows` as columns: all first coordinates, then all second ones, and so on.
fn transpose<T: Storage>(rows: &[T], width: usize, columns: &mut [T]) {
    let m = rows.len() / width;
    for (j, row) in rows.chunks_exact(width).enumerate() {
        row.iter().enumerate().for_each(|(c, x)| columns[c * m + j] = *x);
    }
}

/// The squared distance of two rows.
#[inline(always)]
fn square<T: Storage>(x: &[T], y: &[T]) -> T {
    let mut sum = Lanes::<LANES, T>::splat(T::zero());
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        let d = load(x, 0.0) - load(y, 0.0);
        sum = d.mul_add(d, sum);
    }
    T::nearest(pairwise(sum.widen()))
}

/// `d += w (x − y)`.
#[inline(always)]
fn add_difference<T: Storage>(d: &mut [T], w: T, x: &[T], y: &[T]) {
    for ((d, x), y) in d.iter_mut().zip(x).zip(y) {
        *d = *d + w * (*x - *y);
    }
}

/// Rows minus the mean of the right rows, and their squares.
///
/// `‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩` turns distances into a matrix product. Where a
/// distance is small compared with the rows, the terms cancel: such pairs are *near*, and their distances and
/// gradients are computed from differences.
struct Centred<'a, T> {
    rows: &'a [T],
    squares: &'a [T],
    n: usize,
    width: usize,
}

/// Below NEAR·(‖x‖² + ‖y‖²) a squared distance has cancelled. It is recomputed from the difference
/// of the rows.
const NEAR: f64 = 0.25;

/// Calls `work` with left and right rows minus the mean of the right ones.
fn centred<T: Storage, R>(x: &[T], y: &[T], width: usize, work: impl FnOnce(Centred<'_, T>) -> R) -> R {
    let (n, m) = (x.len() / width, y.len() / width);
    T::with_scratch((n + m) * (width + 1) + width, |scratch| {
        let (rows, sums) = scratch.split_at_mut((n + m) * width);
        let (squares, mean) = sums.split_at_mut(n + m);
        dispatch(
            #[inline(always)]
            || {
                mean.fill(T::zero());
                for y in y.chunks_exact(width) {
                    mean.iter_mut().zip(y).for_each(|(mean, y)| *mean = *mean + *y);
                }
                let scale = T::nearest(1.0 / m as f64);
                for mean in mean.iter_mut() {
                    let scaled = *mean * scale;
                    // Rows with NaN or infinity must not affect other rows.
                    *mean = if scaled.to_f64().is_finite() { scaled } else { T::zero() };
                }
                let given = x.chunks_exact(width).chain(y.chunks_exact(width));
                for ((row, given), square) in rows.chunks_exact_mut(width).zip(given).zip(&mut *squares) {
                    let mut sum = Lanes::<LANES, T>::splat(T::zero());
                    for ((row, x), mean) in
                        row.chunks_mut(LANES).zip(given.chunks(LANES)).zip(mean.chunks(LANES))
                    {
                        let d = load(x, 0.0) - load(mean, 0.0);
                        sum = d.mul_add(d, sum);
                        d.store(row);
                    }
                    *square = T::nearest(pairwise(sum.widen()));
                }
            },
        );
        work(Centred { rows, squares, n, width })
    })
}

impl<T: Storage> Centred<'_, T> {
    fn left(&self) -> Matrix<'_, T> {
        Matrix::new(self.rows, self.n, self.width)
    }

    fn right(&self) -> Matrix<'_, T> {
        Matrix::new(&self.rows[self.n * self.width..], self.squares.len() - self.n, self.width)
    }

    /// Where pairs are not near: the squared distances `s` are finite and not too small compared with the
    /// squares `x` and `y` of the rows.
    #[inline(always)]
    fn distant<const R: usize>([x, y, s]: [Lanes<R, T>; 3]) -> LaneMask<R, T> {
        let finite =
            Lanes::select(s.lt(Lanes::splat(T::nearest(f64::INFINITY))), s, Lanes::splat(T::nearest(-1.0)));
        (Lanes::splat(T::constant(NEAR)) * (x + y)).lt(finite)
    }

    /// Turns inner products of left row `i` with the right rows into squared distances. Returns whether
    /// any is near.
    #[inline(always)]
    fn distances(&self, i: usize, s: &mut [T]) -> bool {
        let x = Lanes::splat(self.squares[i]);
        let mut any = false;
        for (s, y) in s.chunks_mut(LANES).zip(self.squares[self.n..].chunks(LANES)) {
            let y = load(y, 1.0);
            let distance = Lanes::splat(T::constant(-2.0)).mul_add(load(s, 0.0), x + y);
            any |= !Self::distant([x, y, distance]).all();
            distance.store(s);
        }
        any
    }

    /// Replaces the near distances of left row `i` by `distance(j)`.
    #[inline(always)]
    fn repair(&self, i: usize, s: &mut [T], distance: impl Fn(usize) -> T) {
        for (j, s) in s.iter_mut().enumerate() {
            if self.near(i, j, *s) {
                *s = distance(j);
            }
        }
    }

    /// Turns the gradients `w` of the squared distances `s` of left row `i` into what the matrix
    /// products take: `−2w`, and 0 for near pairs. Those are passed to `near_pair`: both rows, and `2w`.
    #[inline(always)]
    fn separate(&self, i: usize, s: &[T], w: &mut [T], mut near_pair: impl FnMut(usize, usize, T)) {
        let x = Lanes::splat(self.squares[i]);
        let squares = self.squares[self.n..].chunks(LANES);
        for (block, ((w, s), y)) in w.chunks_mut(LANES).zip(s.chunks(LANES)).zip(squares).enumerate() {
            let distant = Self::distant([x, load(y, 1.0), load(s, 4.0 + 4.0 * x.get(0).to_f64())]);
            if !distant.all() {
                for l in 0..w.len() {
                    if self.near(i, block * LANES + l, s[l]) {
                        near_pair(i, block * LANES + l, w[l] + w[l]);
                        w[l] = T::zero();
                    }
                }
            }
            (load(w, 0.0) * Lanes::splat(T::constant(-2.0))).store(w);
        }
    }

    /// Subtracts the rows from number `first` on, times `factors`, from gradients.
    fn subtract(&self, factors: &[T], first: usize, d: &mut [T]) {
        let rows = self.rows[first * self.width..].chunks_exact(self.width);
        dispatch(
            #[inline(always)]
            || {
                for ((d, row), factor) in d.chunks_exact_mut(self.width).zip(rows).zip(factors) {
                    d.iter_mut().zip(row).for_each(|(d, x)| *d = *d - *factor * *x);
                }
            },
        );
    }

    /// Whether left row `i` and right row `j`, at squared distance `s`, are near.
    #[inline(always)]
    fn near(&self, i: usize, j: usize, s: T) -> bool {
        !Self::distant([self.squares[i], self.squares[self.n + j], s].map(|x| Lanes::from([x]))).all()
    }
}

/// Adds the gradients of rows to `dx` and `dy`, from their pairings `s` and the gradients `w` of those.
/// `w` is overwritten.
pub(crate) fn pairings_gradient<T: Storage>(
    pairing: Pairing,
    (x, y): (&[T], &[T]),
    width: usize,
    s: &[T],
    w: &mut [T],
    dx: Option<&mut [T]>,
    dy: Option<&mut [T]>,
) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    match pairing {
        Pairing::Dot => {
            let weights = Matrix::new(w, n, m);
            if let Some(dx) = dx {
                serial(weights, Matrix::new(y, m, width), true, dx);
            }
            if let Some(dy) = dy {
                serial(weights.transposed(), Matrix::new(x, n, width), true, dy);
            }
        }
        Pairing::SquaredDistance => distances_gradient((x, y), width, s, w, dx, dy),
    }
}

/// [`pairings_gradient`] of squared distances: `2 Σ_j w_ij (x_i − y_j)` for left row i.
fn distances_gradient<T: Storage>(
    (x, y): (&[T], &[T]),
    width: usize,
    s: &[T],
    w: &mut [T],
    mut dx: Option<&mut [T]>,
    mut dy: Option<&mut [T]>,
) {
    let (n, m) = (x.len() / width, y.len() / width);
    if width <= NARROW {
        return subtracted_gradient((x, y), width, w, dx, dy);
    }
    centred(x, y, width, |centred_rows| {
        T::with_scratch(n + m, |sums| {
            let (left_sums, right_sums) = sums.split_at_mut(n);
            right_sums.fill(T::zero());
            dispatch(
                #[inline(always)]
                || {
                    let rows = w.chunks_exact_mut(m).zip(s.chunks_exact(m)).zip(&mut *left_sums);
                    for (i, ((w, s), left_sum)) in rows.enumerate() {
                        centred_rows.separate(
                            i,
                            s,
                            w,
                            #[inline(always)]
                            |i, j, w| {
                                let [i, j] = [i, j].map(|row| row * width..(row + 1) * width);
                                let (x, y) = (&x[i.clone()], &y[j.clone()]);
                                if let Some(dx) = &mut dx {
                                    add_difference(&mut dx[i], w, x, y);
                                }
                                if let Some(dy) = &mut dy {
                                    add_difference(&mut dy[j], w, y, x);
                                }
                            },
                        );
                        *left_sum = T::nearest(line_total::<T, Portable>(w));
                        right_sums.iter_mut().zip(&*w).for_each(|(sum, w)| *sum = *sum + *w);
                    }
                },
            );
            let w = Matrix::new(w, n, m);
            if let Some(dx) = dx {
                serial(w, centred_rows.right(), true, dx);
                centred_rows.subtract(left_sums, 0, dx);
            }
            if let Some(dy) = dy {
                serial(w.transposed(), centred_rows.left(), true, dy);
                centred_rows.subtract(right_sums, n, dy);
            }
        });
    });
}

/// [`distances_gradient`] of narrow rows, pair by pair.
fn subtracted_gradient<T: Storage>(
    (x, y): (&[T], &[T]),
    width: usize,
    w: &[T],
    mut dx: Option<&mut [T]>,
    dy: Option<&mut [T]>,
) {
    let m = y.len() / width;
    T::with_scratch(2 * m * width, |scratch| {
        let (columns, sums) = scratch.split_at_mut(m * width);
        transpose(y, width, columns);
        sums.fill(T::zero());
        dispatch(
            #[inline(always)]
            || {
                for (i, (x, w)) in x.chunks_exact(width).zip(w.chunks_exact(m)).enumerate() {
                    for (c, x) in x.iter().enumerate() {
                        let x = Lanes::splat(*x);
                        let mut sum = Lanes::<LANES, T>::splat(T::zero());
                        let columns = columns[c * m..][..m].chunks(LANES);
                        let sums = sums[c * m..][..m].chunks_mut(LANES);
                        for ((y, sums), w) in columns.zip(sums).zip(w.chunks(LANES)) {
                            let (w, difference) = (load(w, 0.0), x - load(y, 0.0));
                            sum = w.mul_add(difference, sum);
                            w.mul_add(difference, load(sums, 0.0)).store(sums);
                        }
                        if let Some(dx) = &mut dx {
                            let d = &mut dx[i * width + c];
                            *d = *d + T::nearest(2.0 * pairwise(sum.widen()));
                        }
                    }
                }
            },
        );
        if let Some(dy) = dy {
            for (j, d) in dy.chunks_exact_mut(width).enumerate() {
                d.iter_mut().enumerate().for_each(|(c, d)| *d = *d - (sums[c * m + j] + sums[c * m + j]));
            }
        }
    });
}

/// Left rows of a tile: about 512 KiB of scores for `m` right rows in f32.
pub(crate) fn tile_rows(m: usize) -> usize {
    (128 * 1024 / m.max(1)).clamp(16, 128) / 16 * 16
}

/// One batch entry's part of each input.
pub(crate) struct Part<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) y: &'a [T],
    left: SmallVec<[&'a [T]; 4]>,
    right: SmallVec<[&'a [T]; 4]>,
    params: SmallVec<[f64; 4]>,
    width: usize,
}

impl<'a, T: Storage> Part<'a, T> {
    /// Left rows `rows` (of all the batch's) with the right rows of batch entry `b`.
    pub(crate) fn new(
        inputs: &[View<'a, T>],
        [l, r, _]: [usize; 3],
        s: Sizes,
        b: usize,
        rows: Range<usize>,
    ) -> Self {
        let (left, others) = inputs[2..].split_at(l);
        let (right, params) = others.split_at(r);
        Part {
            x: &inputs[0].data[rows.start * s.width..rows.end * s.width],
            y: &inputs[1].data[b * s.m * s.width..(b + 1) * s.m * s.width],
            left: left.iter().map(|v| &v.data[rows.clone()]).collect(),
            right: right.iter().map(|v| &v.data[b * s.m..(b + 1) * s.m]).collect(),
            params: params.iter().map(|v| v.constant.unwrap_or_else(|| v.data[0].to_f64())).collect(),
            width: s.width,
        }
    }

    /// The numbers of the left rows `left` and the right rows `right`.
    pub(crate) fn tile(&self, left: Range<usize>, right: Range<usize>) -> Tile<'a, T> {
        Tile {
            columns: right.len(),
            matched: false,
            left: self.left.iter().map(|v| &v[left.clone()]).collect(),
            right: self.right.iter().map(|v| &v[right.clone()]).collect(),
            params: self.params.clone(),
        }
    }

    /// The left rows `left` and the right rows `right`.
    pub(crate) fn rows(&self, left: Range<usize>, right: Range<usize>) -> (&'a [T], &'a [T]) {
        let width = self.width;
        (&self.x[left.start * width..left.end * width], &self.y[right.start * width..right.end * width])
    }
}

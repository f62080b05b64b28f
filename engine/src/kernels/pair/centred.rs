//! Squared distances of all pairs of rows by one matrix product, from rows minus their mean.

use std::ops::Range;

use super::tile::LANES;
use crate::kernels::gemm::Matrix;
use crate::numbers::lanes::Lanes;
use crate::numbers::line::{load, pairwise};
use crate::numbers::simd::{Dispatched, Register, dispatch, dispatch_wide};
use crate::numbers::storage::Storage;

/// The mean of right rows, right rows minus it, and the squares of those.
pub(super) struct Centre<'a, T> {
    pub(super) mean: &'a [T],
    pub(super) rows: &'a [T],
    pub(super) squares: &'a [T],
}

/// Left rows and right rows minus the mean of the right ones, and their squares.
///
/// `‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩` turns distances into a matrix product. Where a
/// distance is small compared with the rows, the terms cancel: such pairs are *near*, and their distances and
/// gradients are computed from differences.
pub(super) struct Centred<'a, T> {
    width: usize,
    pub(super) left: &'a [T],
    pub(super) right: &'a [T],
    left_squares: &'a [T],
    right_squares: &'a [T],
}

/// Below NEAR·(‖x‖² + ‖y‖²) a squared distance has cancelled. It is recomputed from the difference
/// of the rows.
const NEAR: f64 = 0.25;

/// Finds the mean of rows.
pub(super) fn find_mean<T: Storage>(rows: &[T], mean: &mut [T]) {
    let width = mean.len();
    dispatch(
        #[inline(always)]
        || {
            mean.fill(T::zero());
            for y in rows.chunks_exact(width) {
                mean.iter_mut().zip(y).for_each(|(mean, y)| *mean = *mean + *y);
            }
            let scale = T::nearest(width as f64 / rows.len() as f64);
            for mean in mean.iter_mut() {
                let scaled = *mean * scale;
                // Rows with NaN or infinity must not affect other rows.
                *mean = if scaled.to_f64().is_finite() { scaled } else { T::zero() };
            }
        },
    );
}

/// Subtracts a mean from rows, and finds the squares of the differences.
pub(super) fn centre<T: Storage>(given: &[T], mean: &[T], rows: &mut [T], squares: &mut [T]) {
    let width = mean.len();
    dispatch(
        #[inline(always)]
        || {
            let given = given.chunks_exact(width);
            for ((row, given), square) in rows.chunks_exact_mut(width).zip(given).zip(squares) {
                let mut sum = Lanes::<LANES, T>::splat(T::zero());
                for ((row, x), mean) in row.chunks_mut(LANES).zip(given.chunks(LANES)).zip(mean.chunks(LANES))
                {
                    let d = load(x, 0.0) - load(mean, 0.0);
                    sum = d.mul_add(d, sum);
                    d.store(row);
                }
                *square = T::nearest(pairwise(sum.widen()));
            }
        },
    );
}

impl<T: Storage> Centre<'_, T> {
    /// Calls `work` with some left rows, centred, and the right rows `range`.
    pub(super) fn with<R>(&self, x: &[T], range: &Range<usize>, work: impl FnOnce(Centred<'_, T>) -> R) -> R {
        let width = self.mean.len();
        let n = x.len() / width;
        T::with_scratch(n * (width + 1), |scratch| {
            let (left, left_squares) = scratch.split_at_mut(n * width);
            centre(x, self.mean, left, left_squares);
            let right = &self.rows[range.start * width..range.end * width];
            work(Centred { width, left, right, left_squares, right_squares: &self.squares[range.clone()] })
        })
    }
}

/// Subtracts rows times `factors` from gradients.
pub(super) fn subtract<T: Storage>(rows: &[T], factors: &[T], d: &mut [T]) {
    let width = rows.len() / factors.len().max(1);
    let rows = rows.chunks_exact(width.max(1));
    dispatch(
        #[inline(always)]
        || {
            for ((d, row), factor) in d.chunks_exact_mut(width.max(1)).zip(rows).zip(factors) {
                d.iter_mut().zip(row).for_each(|(d, x)| *d = *d - *factor * *x);
            }
        },
    );
}

/// `d += w (x − y)`.
#[inline(always)]
fn add_difference<T: Storage>(d: &mut [T], w: T, x: &[T], y: &[T]) {
    for ((d, x), y) in d.iter_mut().zip(x).zip(y) {
        *d = *d + w * (*x - *y);
    }
}

impl<T: Storage> Centred<'_, T> {
    pub(super) fn left_matrix(&self) -> Matrix<'_, T> {
        Matrix::new(self.left, self.left_squares.len(), self.width)
    }

    /// Where pairs are not near: the squared distances `s` are finite and not too small compared with the
    /// squares `x` and `y` of the rows.
    #[inline(always)]
    fn distant<O: Register<T>>([x, y, s]: [O; 3]) -> O::Mask {
        let finite = O::select(s.lt(O::constant(f64::INFINITY)), s, O::constant(-1.0));
        (O::constant(NEAR) * (x + y)).lt(finite)
    }

    /// Turns inner products of left row `i` with the right rows into squared distances. Returns whether
    /// any may be near.
    pub(super) fn distances(&self, i: usize, s: &mut [T]) -> bool {
        let (x, y) = (self.left_squares[i], self.right_squares);
        dispatch_wide(
            s,
            #[inline(always)]
            |s| Self::distances_in::<T::Avx512<Dispatched>>(x, y, s),
            #[inline(always)]
            |s| Self::distances_in::<T::Avx2<Dispatched>>(x, y, s),
            #[inline(always)]
            |s| Self::distances_in::<Lanes<LANES, T>>(x, y, s),
        )
    }

    #[inline(always)]
    fn distances_in<O: Register<T>>(x: T, y: &[T], s: &mut [T]) -> bool {
        let (whole, x) = (s.len() / WHOLE * WHOLE, O::splat(x));
        let (s, s_end) = s.split_at_mut(whole);
        let mut near = Self::distances_in_whole(x, &y[..whole], s);
        if !s_end.is_empty() {
            let mut last = padded(s_end, T::zero());
            near |= Self::distances_in_whole(x, &padded(&y[whole..], T::one()), &mut last);
            s_end.copy_from_slice(&last[..s_end.len()]);
        }
        near
    }

    #[inline(always)]
    fn distances_in_whole<O: Register<T>>(x: O, y: &[T], s: &mut [T]) -> bool {
        let mut near = false;
        for (s, y) in s.chunks_exact_mut(O::WIDTH).zip(y.chunks_exact(O::WIDTH)) {
            let y = O::load(y);
            let distance = O::constant(-2.0).mul_add(O::load(s), x + y);
            near |= !O::all(Self::distant([x, y, distance]));
            distance.store(s);
        }
        near
    }

    /// Replaces the near distances of left row `i` by `distance(j)`.
    #[cold]
    #[inline(never)]
    pub(super) fn repair(&self, i: usize, s: &mut [T], distance: impl Fn(usize) -> T) {
        for (j, s) in s.iter_mut().enumerate() {
            if self.near(i, j, *s) {
                *s = distance(j);
            }
        }
    }

    /// Turns the gradients `w` of the squared distances `s` into what the matrix products take: `−2w`, and
    /// 0 for near pairs. Near pairs add their gradients to `dx` and `dy` here, from the rows `x` and `y`
    /// themselves. `left_sums` and `right_sums` are the sums of `−2w` over each left row and each right
    /// row.
    pub(super) fn separate(
        &self,
        (x, y): (&[T], &[T]),
        s: &[T],
        w: &mut [T],
        [dx, dy]: [&mut Option<&mut [T]>; 2],
        left_sums: &mut [T],
        right_sums: &mut [T],
    ) {
        let (m, width) = (right_sums.len(), self.width);
        right_sums.fill(T::zero());
        let rows = w.chunks_exact_mut(m).zip(s.chunks_exact(m)).zip(left_sums);
        for (i, ((w, s), left_sum)) in rows.enumerate() {
            if self.any_near(i, s) {
                for j in 0..m {
                    if self.near(i, j, s[j]) {
                        let twice = w[j] + w[j];
                        w[j] = T::zero();
                        let [i, j] = [i, j].map(|row| row * width..(row + 1) * width);
                        let (x, y) = (&x[i.clone()], &y[j.clone()]);
                        if let Some(dx) = dx {
                            add_difference(&mut dx[i], twice, x, y);
                        }
                        if let Some(dy) = dy {
                            add_difference(&mut dy[j], twice, y, x);
                        }
                    }
                }
            }
            *left_sum = doubled(w, right_sums);
        }
    }

    /// Whether any of the distances `s` of left row `i` may be near.
    fn any_near(&self, i: usize, s: &[T]) -> bool {
        let (x, y) = (self.left_squares[i], self.right_squares);
        dispatch_wide(
            (),
            #[inline(always)]
            |()| Self::any_near_in::<T::Avx512<Dispatched>>(x, y, s),
            #[inline(always)]
            |()| Self::any_near_in::<T::Avx2<Dispatched>>(x, y, s),
            #[inline(always)]
            |()| Self::any_near_in::<Lanes<LANES, T>>(x, y, s),
        )
    }

    #[inline(always)]
    fn any_near_in<O: Register<T>>(x: T, y: &[T], s: &[T]) -> bool {
        let whole = s.len() / WHOLE * WHOLE;
        let mut near = Self::any_near_in_whole(O::splat(x), &y[..whole], &s[..whole]);
        if whole < s.len() {
            // Padded with pairs that are far from each other.
            let (y, filler) = (padded(&y[whole..], T::one()), T::constant(4.0) * (x + T::one()));
            near |= Self::any_near_in_whole(O::splat(x), &y, &padded(&s[whole..], filler));
        }
        near
    }

    #[inline(always)]
    fn any_near_in_whole<O: Register<T>>(x: O, y: &[T], s: &[T]) -> bool {
        let mut near = false;
        for (s, y) in s.chunks_exact(O::WIDTH).zip(y.chunks_exact(O::WIDTH)) {
            near |= !O::all(Self::distant([x, O::load(y), O::load(s)]));
        }
        near
    }

    /// Whether left row `i` and right row `j`, at squared distance `s`, are near.
    #[inline(always)]
    fn near(&self, i: usize, j: usize, s: T) -> bool {
        !Self::distant([self.left_squares[i], self.right_squares[j], s].map(|x| Lanes::from([x]))).get(0)
    }
}

/// Elements that fill whole registers of any kind.
const WHOLE: usize = 16;

/// The elements after the last whole registers, and `pad` behind them.
#[inline(always)]
fn padded<T: Storage>(end: &[T], pad: T) -> [T; WHOLE] {
    let mut padded = [pad; WHOLE];
    padded[..end.len()].copy_from_slice(end);
    padded
}

/// Multiplies `w` by −2, adds it to `sums`, and returns its total.
fn doubled<T: Storage>(w: &mut [T], sums: &mut [T]) -> T {
    dispatch_wide(
        (w, sums),
        #[inline(always)]
        |(w, sums)| doubled_in::<T::Avx512<Dispatched>, T>(w, sums),
        #[inline(always)]
        |(w, sums)| doubled_in::<T::Avx2<Dispatched>, T>(w, sums),
        #[inline(always)]
        |(w, sums)| doubled_in::<Lanes<LANES, T>, T>(w, sums),
    )
}

#[inline(always)]
fn doubled_in<O: Register<T>, T: Storage>(w: &mut [T], sums: &mut [T]) -> T {
    // One for each register: at most four, of four `f64`.
    let mut totals = [O::zero(); 4];
    let count = WHOLE / O::WIDTH;
    let whole = w.len() / WHOLE * WHOLE;
    let (w, w_end) = w.split_at_mut(whole);
    let (sums, sums_end) = sums.split_at_mut(whole);
    for (w, sums) in w.chunks_exact_mut(WHOLE).zip(sums.chunks_exact_mut(WHOLE)) {
        for r in 0..count {
            let at = r * O::WIDTH..(r + 1) * O::WIDTH;
            let (w, sums) = (&mut w[at.clone()], &mut sums[at]);
            let twice = O::constant(-2.0) * O::load(w);
            totals[r] = totals[r] + twice;
            twice.store(w);
            (O::load(sums) + twice).store(sums);
        }
    }
    let mut total = [T::zero(); WHOLE];
    for r in 0..count {
        totals[r].store(&mut total[r * O::WIDTH..(r + 1) * O::WIDTH]);
    }
    for ((w, sum), total) in w_end.iter_mut().zip(sums_end).zip(&mut total) {
        *w = T::constant(-2.0) * *w;
        *sum = *sum + *w;
        *total = *total + *w;
    }
    let halves = Lanes::<LANES, T>::load(&total[..LANES], 0.0) + Lanes::load(&total[LANES..], 0.0);
    T::nearest(pairwise(halves.widen()))
}

//! Inner products and squared distances of all pairs of rows, and their gradients.

use std::ops::Range;

use smallvec::SmallVec;

use super::Sizes;
use super::tile::{LANES, Tile};
use crate::formula::pair::Pairing;
use crate::kernels::gemm::{Matrix, Panels, serial};
use crate::numbers::lanes::Lanes;
use crate::numbers::line::{line_zip, load, pairwise};
use crate::numbers::simd::{Dispatched, Register, dispatch, dispatch_wide};
use crate::numbers::storage::Storage;
use crate::tensor::view::View;

/// Rows of at most this many elements are subtracted pair by pair: products would save nothing.
const NARROW: usize = 8;

/// Right rows, prepared once for many left rows.
pub(crate) struct Right<'a, T> {
    /// As given.
    rows: &'a [T],
    width: usize,
    kind: Kind<'a, T>,
}

enum Kind<'a, T> {
    /// Inner products.
    Dot(Factors<'a, T>),
    /// Squared distances of rows of at most [`NARROW`] elements.
    Narrow,
    /// Squared distances, from products of centred rows.
    Centred(Factors<'a, T>, Centre<'a, T>),
}

/// Right rows as factors of matrix products.
struct Factors<'a, T> {
    /// Their transpose, for pairings.
    columns: Panels<'a, T>,
    /// Themselves, for gradients of left rows.
    rows: Option<Panels<'a, T>>,
}

impl<'a, T: Storage> Factors<'a, T> {
    /// Copies rows to `columns`, and to `panels` if gradients are wanted.
    fn new(rows: Matrix<'_, T>, columns: &'a mut [T], panels: Option<&'a mut [T]>) -> Self {
        Factors {
            columns: Panels::new(rows.transposed(), columns),
            rows: panels.map(|panels| Panels::new(rows, panels)),
        }
    }
}

/// Calls `work` with right rows prepared for pairings, and for gradients if `gradients`.
pub(crate) fn with_right<T: Storage, R>(
    pairing: Pairing,
    rows: &[T],
    width: usize,
    gradients: bool,
    work: impl FnOnce(&Right<'_, T>) -> R,
) -> R {
    let m = rows.len() / width.max(1);
    if pairing == Pairing::SquaredDistance && width <= NARROW {
        return work(&Right { rows, width, kind: Kind::Narrow });
    }
    let of_columns = Panels::<T>::size(width, m);
    let of_rows = if gradients { Panels::<T>::size(m, width) } else { 0 };
    T::with_scratch(of_columns + of_rows, |scratch| {
        let (columns, panels) = scratch.split_at_mut(of_columns);
        let panels = gradients.then_some(panels);
        match pairing {
            Pairing::Dot => {
                let factors = Factors::new(Matrix::new(rows, m, width), columns, panels);
                work(&Right { rows, width, kind: Kind::Dot(factors) })
            }
            Pairing::SquaredDistance => T::with_scratch((m + 1) * width + m, |scratch| {
                let (mean, scratch) = scratch.split_at_mut(width);
                let (squares, centred) = scratch.split_at_mut(m);
                find_mean(rows, mean);
                centre(rows, mean, centred, squares);
                let factors = Factors::new(Matrix::new(centred, m, width), columns, panels);
                let centre = Centre { mean, rows: centred, squares };
                work(&Right { rows, width, kind: Kind::Centred(factors, centre) })
            }),
        }
    })
}

impl<T: Storage> Right<'_, T> {
    /// The rows `range`, as given.
    fn given(&self, range: &Range<usize>) -> &[T] {
        &self.rows[range.start * self.width..range.end * self.width]
    }

    /// Pairings of some left rows with the right rows `range`: `s[i, j]`. The range starts at a multiple of
    /// 64.
    pub(crate) fn pairings(&self, x: &[T], range: Range<usize>, s: &mut [T]) {
        let (width, m) = (self.width, range.len());
        let n = x.len() / width.max(1);
        match &self.kind {
            Kind::Dot(factors) => factors.columns.columns(range).product(Matrix::new(x, n, width), false, s),
            Kind::Narrow => subtracted(x, self.given(&range), width, s),
            Kind::Centred(factors, right) => right.with(x, &range, |rows| {
                factors.columns.columns(range.clone()).product(rows.left_matrix(), false, s);
                let y = self.given(&range);
                for (i, s) in s.chunks_exact_mut(m).enumerate() {
                    if rows.distances(i, s) {
                        rows.repair(i, s, |j| square(&x[i * width..][..width], &y[j * width..][..width]));
                    }
                }
            }),
        }
    }

    /// Adds the gradients of rows to `dx` and `dy`, from the pairings `s` of left rows with the right rows
    /// `range`, and the gradients `w` of those. `w` is overwritten.
    pub(crate) fn gradient(
        &self,
        x: &[T],
        range: Range<usize>,
        s: &[T],
        w: &mut [T],
        dx: Option<&mut [T]>,
        dy: Option<&mut [T]>,
    ) {
        let (width, m) = (self.width, range.len());
        let n = x.len() / width.max(1);
        let add_to_left = |factors: &Factors<'_, T>, w: Matrix<'_, T>, dx: &mut [T]| {
            factors.rows.as_ref().expect("prepared for gradients").rows(range.clone()).product(w, true, dx);
        };
        match &self.kind {
            Kind::Dot(factors) => {
                let w = Matrix::new(w, n, m);
                if let Some(dx) = dx {
                    add_to_left(factors, w, dx);
                }
                if let Some(dy) = dy {
                    serial(w.transposed(), Matrix::new(x, n, width), true, dy);
                }
            }
            Kind::Narrow => subtracted_gradient((x, self.given(&range)), width, w, dx, dy),
            Kind::Centred(factors, right) => right.with(x, &range, |rows| {
                T::with_scratch(n + m, |sums| {
                    let (left_sums, right_sums) = sums.split_at_mut(n);
                    let (mut dx, mut dy) = (dx, dy);
                    let y = self.given(&range);
                    rows.separate((x, y), s, w, [&mut dx, &mut dy], left_sums, right_sums);
                    let w = Matrix::new(w, n, m);
                    if let Some(dx) = dx {
                        add_to_left(factors, w, dx);
                        subtract(rows.left, left_sums, dx);
                    }
                    if let Some(dy) = dy {
                        serial(w.transposed(), rows.left_matrix(), true, dy);
                        subtract(rows.right, right_sums, dy);
                    }
                });
            }),
        }
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

/// The mean of right rows, right rows minus it, and the squares of those.
struct Centre<'a, T> {
    mean: &'a [T],
    rows: &'a [T],
    squares: &'a [T],
}

/// Left rows and right rows minus the mean of the right ones, and their squares.
///
/// `‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩` turns distances into a matrix product. Where a
/// distance is small compared with the rows, the terms cancel: such pairs are *near*, and their distances and
/// gradients are computed from differences.
struct Centred<'a, T> {
    width: usize,
    left: &'a [T],
    right: &'a [T],
    left_squares: &'a [T],
    right_squares: &'a [T],
}

/// Below NEAR·(‖x‖² + ‖y‖²) a squared distance has cancelled. It is recomputed from the difference
/// of the rows.
const NEAR: f64 = 0.25;

/// Finds the mean of rows.
fn find_mean<T: Storage>(rows: &[T], mean: &mut [T]) {
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
fn centre<T: Storage>(given: &[T], mean: &[T], rows: &mut [T], squares: &mut [T]) {
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
    fn with<R>(&self, x: &[T], range: &Range<usize>, work: impl FnOnce(Centred<'_, T>) -> R) -> R {
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
fn subtract<T: Storage>(rows: &[T], factors: &[T], d: &mut [T]) {
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

impl<T: Storage> Centred<'_, T> {
    fn left_matrix(&self) -> Matrix<'_, T> {
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
    fn distances(&self, i: usize, s: &mut [T]) -> bool {
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
    fn repair(&self, i: usize, s: &mut [T], distance: impl Fn(usize) -> T) {
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
    fn separate(
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
            let (y, far) = (padded(&y[whole..], T::one()), T::constant(4.0) * (x + T::one()));
            near |= Self::any_near_in_whole(O::splat(x), &y, &padded(&s[whole..], far));
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

/// Gradients of squared distances of narrow rows, pair by pair: `2 Σ_j w_ij (x_i − y_j)` for left row i.
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

    /// The left rows `range`.
    pub(crate) fn left(&self, range: Range<usize>) -> &'a [T] {
        &self.x[range.start * self.width..range.end * self.width]
    }
}

//! Inner products and squared distances of all pairs of rows, and their gradients.

use std::ops::Range;

use smallvec::SmallVec;

use super::Sizes;
use super::centred::{Centre, centre, find_mean, subtract};
use super::tile::{LANES, Tile};
use crate::formula::pair::Pairing;
use crate::kernels::gemm::{Matrix, Onto, Panels, serial};
use crate::numbers::lanes::Lanes;
use crate::numbers::line::{line_zip, load, pairwise};
use crate::numbers::simd::dispatch;
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
                    serial(w.transposed(), Matrix::new(x, n, width), Onto::Held, dy);
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
                        serial(w.transposed(), rows.left_matrix(), Onto::Held, dy);
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
                        line_zip(
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
            params: params
                .iter()
                .map(|v| v.constant.unwrap_or_else(|| v.data[b % v.data.len()].to_f64()))
                .collect(),
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

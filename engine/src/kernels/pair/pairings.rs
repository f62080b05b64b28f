//! Inner products and squared distances of all pairs of rows, and their gradients.

use std::ops::Range;

use smallvec::SmallVec;

use super::tile::{LANES, Tile};
use super::{Pairing, Sizes};
use crate::kernels::gemm::{Matrix, serial};
use crate::kernels::line::load;
use crate::operation::View;
use crate::simd::dispatch;
use crate::{Float, Lanes};

/// Pairings of some left rows with some right ones: `s[i, j]`.
pub(crate) fn pairings<T: Float>(pairing: Pairing, x: &[T], y: &[T], width: usize, s: &mut [T]) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    match pairing {
        Pairing::Dot => serial(Matrix::new(x, n, width), Matrix::new(y, m, width).transposed(), false, s),
        Pairing::SquaredDistance => dispatch(
            #[inline(always)]
            || {
                // Eight right rows side by side, coordinate by coordinate.
                T::with_scratch(width * LANES, |panel| {
                    for (block, y) in y.chunks(LANES * width).enumerate() {
                        let count = y.len() / width;
                        for c in 0..width {
                            for l in 0..LANES {
                                panel[c * LANES + l] = y[l.min(count - 1) * width + c];
                            }
                        }
                        for (i, x) in x.chunks_exact(width).enumerate() {
                            let mut sum = Lanes::<LANES, T>::splat(T::zero());
                            for (x, y) in x.iter().zip(panel.chunks_exact(LANES)) {
                                let d = Lanes::splat(*x) - load(y, 0.0);
                                sum = d.mul_add(d, sum);
                            }
                            sum.store(&mut s[i * m + block * LANES..][..count]);
                        }
                    }
                });
            },
        ),
    }
}

/// Gradients of rows from those of their pairings `w`, added to `dx` and `dy`.
pub(crate) fn pairings_gradient<T: Float>(
    pairing: Pairing,
    (x, y): (&[T], &[T]),
    width: usize,
    w: &[T],
    dx: Option<&mut [T]>,
    dy: Option<&mut [T]>,
) {
    let (n, m) = (x.len() / width.max(1), y.len() / width.max(1));
    let weights = Matrix::new(w, n, m);
    match pairing {
        Pairing::Dot => {
            if let Some(dx) = dx {
                serial(weights, Matrix::new(y, m, width), true, dx);
            }
            if let Some(dy) = dy {
                serial(weights.transposed(), Matrix::new(x, n, width), true, dy);
            }
        }
        // From differences: 2 w (x − y).
        Pairing::SquaredDistance => {
            let side = |rows: &[T], others: &[T], weight: &dyn Fn(usize, usize) -> T, out: &mut [T]| {
                for (i, (row, out)) in rows.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
                    for (j, other) in others.chunks_exact(width).enumerate() {
                        let w = weight(i, j) + weight(i, j);
                        for ((out, a), b) in out.iter_mut().zip(row).zip(other) {
                            *out = *out + w * (*a - *b);
                        }
                    }
                }
            };
            if let Some(dx) = dx {
                side(x, y, &|i, j| w[i * m + j], dx);
            }
            if let Some(dy) = dy {
                side(y, x, &|j, i| w[i * m + j], dy);
            }
        }
    }
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

impl<'a, T: Float> Part<'a, T> {
    /// Left rows `rows` (of all the batch's) with the right rows of batch entry `b`.
    pub(crate) fn of(
        inputs: &[View<'a, T>],
        [l, r, _]: [usize; 3],
        s: Sizes,
        b: usize,
        rows: Range<usize>,
    ) -> Self {
        let (left, rest) = inputs[2..].split_at(l);
        let (right, params) = rest.split_at(r);
        Part {
            x: &inputs[0].data[rows.start * s.width..rows.end * s.width],
            y: &inputs[1].data[b * s.m * s.width..(b + 1) * s.m * s.width],
            left: left.iter().map(|v| &v.data[rows.clone()]).collect(),
            right: right.iter().map(|v| &v.data[b * s.m..(b + 1) * s.m]).collect(),
            params: params.iter().map(|v| v.constant.unwrap_or_else(|| v.data[0].to_f64())).collect(),
            width: s.width,
        }
    }

    /// The numbers of some of the left rows and some of the right ones.
    pub(crate) fn tile(&self, left: Range<usize>, right: Range<usize>) -> Tile<'a, T> {
        Tile {
            columns: right.len(),
            matched: false,
            left: self.left.iter().map(|v| &v[left.clone()]).collect(),
            right: self.right.iter().map(|v| &v[right.clone()]).collect(),
            params: self.params.clone(),
        }
    }

    /// Some of the left rows and some of the right ones.
    pub(crate) fn rows(&self, left: Range<usize>, right: Range<usize>) -> (&'a [T], &'a [T]) {
        let width = self.width;
        (&self.x[left.start * width..left.end * width], &self.y[right.start * width..right.end * width])
    }
}

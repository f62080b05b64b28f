//! The `conv` kernel: 2-D convolution, by im2col and a matrix product for each image.

use std::ops::Range;

use crate::kernels::gemm::{Matrix, Onto, gemm, serial};
use crate::numbers::parallel;
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Shape, ShapeError, product};
use crate::tensor::view::{Outcome, View};

/// A window that slides over images: its size, the step between its places, and the zeros around the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) size: [usize; 2],
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

impl Window {
    /// Extents of the result, for an image of the given extents.
    pub(crate) fn places(self, image: [usize; 2]) -> Result<[usize; 2], ShapeError> {
        if self.stride == 0 || self.size.contains(&0) {
            return Err(ShapeError::new(format!("a window {:?} of stride {}", self.size, self.stride)));
        }
        // Saturates: with a padding too large for an extent, the result is too large for a shape.
        let padded = |i: usize| self.padding.saturating_mul(2).saturating_add(image[i]);
        let place =
            |i: usize| padded(i).checked_sub(self.size[i]).map(|n| (n / self.stride).saturating_add(1));
        match (place(0), place(1)) {
            (Some(h), Some(w)) => Ok([h, w]),
            _ => Err(ShapeError::new(format!(
                "a window {:?} does not fit an image {image:?} with padding {}",
                self.size, self.padding
            ))),
        }
    }

    /// Of this many places along an axis, those at which element `k` of the window is in the image.
    fn inside(self, k: usize, extent: usize, places: usize) -> Range<usize> {
        let until = |x: usize| x.saturating_sub(k).div_ceil(self.stride).min(places);
        until(self.padding)..until(self.padding.saturating_add(extent))
    }

    /// The position along an axis that element `k` of the window reads at place `p`, if it is in the image.
    pub(crate) fn reads(self, p: usize, k: usize, extent: usize) -> Option<usize> {
        (p * self.stride + k).checked_sub(self.padding).filter(|&x| x < extent)
    }
}

/// 2-D convolution. Inputs: images `[batch, channels, h, w]` and filters `[filters, channels, h, w]`. The
/// result has shape `[batch, filters, h, w]`, where `h` and `w` are the window's places.
#[derive(Clone, Copy)]
pub(crate) struct Conv2d {
    pub(crate) stride: usize,
    pub(crate) padding: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) batch: usize,
    pub(crate) filters: usize,
    pub(crate) channels: usize,
    pub(crate) image: [usize; 2],
    pub(crate) window: Window,
    pub(crate) places: [usize; 2],
}

impl Sizes {
    pub(crate) fn image_len(&self) -> usize {
        self.channels * self.image[0] * self.image[1]
    }
    /// Elements under the window: rows of the im2col matrix.
    pub(crate) fn patch(&self) -> usize {
        self.channels * self.window.size[0] * self.window.size[1]
    }
    pub(crate) fn places(&self) -> usize {
        self.places[0] * self.places[1]
    }
    /// Estimated time of an image, in nanoseconds.
    fn cost(&self) -> usize {
        (self.patch() * self.places()).saturating_mul(1 + self.filters / 50)
    }

    /// Calls `line` for each element of the window and each line of places.
    #[inline(always)]
    fn for_each_line(&self, mut line: impl FnMut(Line)) {
        let ([h, w], [kh, kw], [ph, pw]) = (self.image, self.window.size, self.places);
        for c in 0..self.channels {
            for (ky, kx) in (0..kh).flat_map(|y| (0..kw).map(move |x| (y, x))) {
                let row = (c * kh + ky) * kw + kx;
                let inside = self.window.inside(kx, w, pw);
                for py in 0..ph {
                    let (inside, first) = match self.window.reads(py, ky, h) {
                        Some(y) if !inside.is_empty() => {
                            let x = inside.start * self.window.stride + kx - self.window.padding;
                            (inside.clone(), (c * h + y) * w + x)
                        }
                        _ => (0..0, 0),
                    };
                    let start = (row * ph + py) * pw;
                    line(Line { columns: start..start + pw, inside, first });
                }
            }
        }
    }

    fn im2col<T: Storage>(&self, image: &[T], columns: &mut [T]) {
        self.for_each_line(|line| {
            let columns = &mut columns[line.columns];
            columns[..line.inside.start].fill(T::zero());
            columns[line.inside.end..].fill(T::zero());
            let read = image[line.first..].iter().step_by(self.window.stride);
            columns[line.inside].iter_mut().zip(read).for_each(|(to, &from)| *to = from);
        });
    }

    /// The transpose of [`im2col`](Self::im2col): adds each element to where it was read.
    fn col2im<T: Storage>(&self, columns: &[T], image: &mut [T]) {
        self.for_each_line(|line| {
            let columns = &columns[line.columns][line.inside];
            let read = image[line.first..].iter_mut().step_by(self.window.stride);
            columns.iter().zip(read).for_each(|(&from, to)| *to = *to + from);
        });
    }
}

/// What one element of the window reads while the window moves along a line.
struct Line {
    /// Where it stands in the im2col matrix.
    columns: Range<usize>,
    /// Those of these places at which the element is in the image.
    inside: Range<usize>,
    /// The position in the image that is read at the first of them.
    first: usize,
}

impl Conv2d {
    pub(crate) fn sizes(self, inputs: &[&Shape]) -> Result<(Sizes, Shape), ShapeError> {
        let (images, filters) = (inputs[0], inputs[1]);
        let error = || {
            ShapeError::new(format!(
                "images [batch, channels, h, w] and filters [filters, channels, h, w] are needed, \
                 not {images}, {filters}"
            ))
        };
        let (&[batch, channels, h, w], &[count, filter_channels, kh, kw]) = (images.axes(), filters.axes())
        else {
            return Err(error());
        };
        if channels != filter_channels {
            return Err(error());
        }
        let window = Window { size: [kh, kw], stride: self.stride, padding: self.padding };
        let places = window.places([h, w])?;
        // A device stores the elements under the window, at all places of all images.
        let under = [batch, channels, kh, kw, places[0], places[1]];
        product(&under).ok_or_else(|| {
            let large = "has more elements than memory can hold";
            ShapeError::new(format!("images {images} and filters {filters}: shape {under:?} {large}"))
        })?;
        let sizes = Sizes { batch, filters: count, channels, image: [h, w], window, places };
        Ok((sizes, Shape::new(&[batch, count, places[0], places[1]])))
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(self.sizes(inputs)?.1)
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (s, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let filters = Matrix::new(inputs[1].data, s.filters, s.patch());
        let size = s.filters * s.places();
        parallel::for_each_part(out, size, 1, s.cost(), |range, out| {
            T::with_scratch(s.patch() * s.places(), |columns| {
                for (b, out) in range.zip(out.chunks_exact_mut(size.max(1))) {
                    s.im2col(&inputs[0].data[b * s.image_len()..][..s.image_len()], columns);
                    serial(filters, Matrix::new(columns, s.patch(), s.places()), Onto::Nothing, out);
                }
            });
        });
    }

    /// With `Y = W C` for the columns C of an image: `dC = Wᵀ G`, summed back where each element was
    /// read, and `dW = Σ G Cᵀ`.
    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let (s, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let (images, filters) = (inputs[0].data, inputs[1].data);
        let gradient = |b: usize| Matrix::new(&g[b * s.filters * s.places()..], s.filters, s.places());
        let (dx, dw) = grads.split_at_mut(1);
        if let Some(dx) = dx[0].as_deref_mut() {
            parallel::for_each_part(dx, s.image_len(), 1, s.cost(), |range, dx| {
                T::with_scratch(s.patch() * s.places(), |columns| {
                    for (b, dx) in range.zip(dx.chunks_exact_mut(s.image_len().max(1))) {
                        let filters = Matrix::new(filters, s.filters, s.patch()).transposed();
                        serial(filters, gradient(b), Onto::Nothing, columns);
                        dx.fill(T::zero());
                        s.col2im(columns, dx);
                    }
                });
            });
        }
        if let Some(dw) = dw[0].as_deref_mut() {
            dw.fill(T::zero());
            T::with_scratch(s.patch() * s.places(), |columns| {
                for b in 0..s.batch {
                    s.im2col(&images[b * s.image_len()..][..s.image_len()], columns);
                    gemm(
                        gradient(b),
                        Matrix::new(columns, s.patch(), s.places()).transposed(),
                        Onto::Held,
                        dw,
                    );
                }
            });
        }
    }
}

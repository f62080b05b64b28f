//! 2-D pooling: the largest or the mean element under a window.

use crate::kernels::conv::Window;
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// What pooling takes of the elements under a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Max,
    Mean,
}

/// Pooling of the last two axes.
#[derive(Clone, Copy)]
pub(crate) struct Pool2d {
    pub(crate) pooling: Pooling,
    pub(crate) window: Window,
}

impl Pool2d {
    /// The extents of an image, and those of its result.
    pub(crate) fn places(self, shape: &Shape) -> Result<([usize; 2], [usize; 2]), ShapeError> {
        let &[.., h, w] = shape.axes() else {
            return Err(ShapeError::new(format!("images […, h, w] are needed, not {shape}")));
        };
        Ok(([h, w], self.window.places([h, w])?))
    }

    /// Positions under the window at each place of an image.
    fn under(
        self,
        [_, w]: [usize; 2],
        places: [usize; 2],
    ) -> impl Iterator<Item = impl Iterator<Item = usize> + Clone> {
        let Window { size: [kh, kw], stride, .. } = self.window;
        (0..places[0] * places[1]).map(move |p| {
            let corner = p / places[1] * stride * w + p % places[1] * stride;
            (0..kh * kw).map(move |k| corner + k / kw * w + k % kw)
        })
    }
}

/// The position of the largest; NaN is larger than all.
fn largest<T: Storage>(x: &[T], under: impl Iterator<Item = usize>) -> usize {
    let larger = |a: usize, b: usize| if x[b] > x[a] || (x[b].is_nan() && !x[a].is_nan()) { b } else { a };
    under.reduce(larger).expect("a window is not empty")
}

impl Pool2d {
    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (_, [h, w]) = self.places(inputs[0])?;
        let rank = inputs[0].rank();
        Ok(inputs[0].with(rank - 2, h).with(rank - 1, w))
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (image, places) = self.places(inputs[0].shape).expect("checked");
        let images = inputs[0].data.chunks_exact((image[0] * image[1]).max(1));
        for (x, y) in images.zip(out.chunks_exact_mut((places[0] * places[1]).max(1))) {
            for (y, under) in y.iter_mut().zip(self.under(image, places)) {
                *y = match self.pooling {
                    Pooling::Max => x[largest(x, under)],
                    Pooling::Mean => {
                        let count = (self.window.size[0] * self.window.size[1]) as f64;
                        T::nearest(under.map(|at| x[at].to_f64()).sum::<f64>() / count)
                    }
                };
            }
        }
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let (image, places) = self.places(inputs[0].shape).expect("checked");
        dx.fill(T::zero());
        let size = (image[0] * image[1]).max(1);
        let images = inputs[0].data.chunks_exact(size).zip(dx.chunks_exact_mut(size));
        for ((x, dx), g) in images.zip(g.chunks_exact((places[0] * places[1]).max(1))) {
            for (g, under) in g.iter().zip(self.under(image, places)) {
                match self.pooling {
                    Pooling::Max => {
                        let at = largest(x, under.clone());
                        if x[at].is_nan() {
                            // With NaN, it is unknown which element is the largest.
                            under.for_each(|position| dx[position] = x[at]);
                        } else {
                            dx[at] = dx[at] + *g;
                        }
                    }
                    Pooling::Mean => {
                        let count = (self.window.size[0] * self.window.size[1]) as f64;
                        under.for_each(|at| dx[at] = dx[at] + T::nearest(g.to_f64() / count));
                    }
                }
            }
        }
    }
}

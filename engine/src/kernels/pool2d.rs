//! 2-D pooling: the largest or the mean element under a window.

use crate::kernels::conv::Window;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::{Operation, Outcome, View};
use crate::tape::var::Var;
use crate::tensor::shape::Shape;

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

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn pool2d(self, pooling: Pooling, size: usize, stride: usize) -> Self {
        let window = Window { size: [size; 2], stride, padding: 0 };
        self.tape().record(Op::Pool2d(Pool2d { pooling, window }), &[self])
    }

    /// The largest element under a square window, over the last two axes: `[…, h, w]`. Of equal
    /// elements, the first gets the gradient.
    ///
    /// # Panics
    /// If the window is larger than the image.
    #[track_caller]
    pub fn max_pool2d(self, size: usize, stride: usize) -> Self {
        self.pool2d(Pooling::Max, size, stride)
    }

    /// The mean under a square window, over the last two axes: `[…, h, w]`.
    ///
    /// # Panics
    /// If the window is larger than the image.
    #[track_caller]
    pub fn mean_pool2d(self, size: usize, stride: usize) -> Self {
        self.pool2d(Pooling::Mean, size, stride)
    }
}

impl Pool2d {
    pub(crate) fn places(self, shape: &Shape) -> Result<([usize; 2], [usize; 2]), String> {
        let &[.., h, w] = shape.axes() else {
            return Err(format!("images […, h, w] are needed, not {shape}"));
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
fn largest<T: Float>(x: &[T], under: impl Iterator<Item = usize>) -> usize {
    let larger = |a: usize, b: usize| if x[b] > x[a] || (x[b].is_nan() && !x[a].is_nan()) { b } else { a };
    under.reduce(larger).expect("a window is not empty")
}

impl<T: Float> Operation<T> for Pool2d {
    fn name(&self) -> &'static str {
        match self.pooling {
            Pooling::Max => "max_pool2d",
            Pooling::Mean => "mean_pool2d",
        }
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        let (_, [h, w]) = self.places(inputs[0])?;
        let axes = inputs[0].axes().len();
        Ok(inputs[0].with(axes - 2, h).with(axes - 1, w))
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
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

    fn backward(&self, inputs: &[View<'_, T>], _: Outcome<'_, T>, g: &[T], grads: &mut [Option<&mut [T]>]) {
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
                            under.for_each(|of_window| dx[of_window] = x[at]);
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

    #[track_caller]
    fn jvp<'t>(&self, _: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        match self.pooling {
            Pooling::Mean => {
                let dx = tangents[0].expect("one input, one tangent");
                dx.pool2d(self.pooling, self.window.size[0], self.window.stride)
            }
            Pooling::Max => panic!("max_pool2d: forward mode is not offered for this operation"),
        }
    }
}

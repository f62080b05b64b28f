//! Pooling of images on the tape.

use crate::kernels::conv::Window;
use crate::kernels::pool2d::{Pool2d, Pooling};
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    #[track_caller]
    fn pool2d(self, pooling: Pooling, size: usize, stride: usize) -> Self {
        let window = Window { size: [size; 2], stride, padding: 0 };
        self.tape().record(Op::Pool2d(Pool2d { pooling, window }), &[self])
    }

    /// The largest element under a square window of side `size` that moves by `stride` over the last two
    /// axes: `[…, h, w]` gives `[…, (h − size) / stride + 1, (w − size) / stride + 1]`. Of equal
    /// elements, the first gets the gradient.
    ///
    /// # Panics
    /// If the window is larger than the image, or `size` or `stride` is 0.
    #[track_caller]
    pub fn max_pool2d(self, size: usize, stride: usize) -> Self {
        self.pool2d(Pooling::Max, size, stride)
    }

    /// The mean under a square window. Shapes and panics are those of [`max_pool2d`](Self::max_pool2d).
    #[track_caller]
    pub fn mean_pool2d(self, size: usize, stride: usize) -> Self {
        self.pool2d(Pooling::Mean, size, stride)
    }
}

impl<T: Float> Operation<T> for Pool2d {
    fn name(&self) -> &'static str {
        match self.pooling {
            Pooling::Max => "max_pool2d",
            Pooling::Mean => "mean_pool2d",
        }
    }

    kernel_passes!(Pool2d);

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

//! Convolution on the tape.

use crate::kernels::conv::Conv2d;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    /// 2-D convolution (strictly, cross-correlation). Images `[batch, channels, height, width]`, padded with
    /// `padding` zeros on every side, and filters `[filters, channels, h, w]` give
    /// `[batch, filters, (height + 2·padding − h) / stride + 1, (width + 2·padding − w) / stride + 1]`.
    /// To add a bias, use the shape `[filters, 1, 1]`.
    ///
    /// # Panics
    /// If the shapes do not fit, the filter is larger than the padded image, or the stride is 0.
    #[track_caller]
    pub fn conv2d(self, filters: impl Into<Self>, stride: usize, padding: usize) -> Self {
        self.tape().record(Op::Conv2d(Conv2d { stride, padding }), &[self, filters.into()])
    }
}

impl<T: Float> Operation<T> for Conv2d {
    fn name(&self) -> &'static str {
        "conv2d"
    }

    kernel_passes!(Conv2d);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let convolved = |x: Var<'t, T>, w| x.conv2d(w, self.stride, self.padding);
        let of_images = tangents[0].map(|dx| convolved(dx, inputs[1]));
        let of_filters = tangents[1].map(|dw| convolved(inputs[0], dw));
        Var::sum_of([of_images, of_filters]).expect("at least one tangent")
    }
}

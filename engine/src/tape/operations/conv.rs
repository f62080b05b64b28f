//! Convolution on the tape.

use crate::kernels::conv::Conv2d;
use crate::tape::arena::Op;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;

impl<T: Float> Var<'_, T> {
    /// 2-D convolution (cross-correlation, as is usual): images `[batch, channels, height, width]` with
    /// zeros around them, and filters `[filters, channels, h, w]`, give `[batch, filters, …]`. A bias is
    /// added as `[filters, 1, 1]`.
    ///
    /// # Panics
    /// If the shapes do not fit, or the filter is larger than the padded image.
    #[track_caller]
    pub fn conv2d(self, filters: impl Into<Self>, stride: usize, padding: usize) -> Self {
        self.tape().record(Op::Conv2d(Conv2d { stride, padding }), &[self, filters.into()])
    }
}

impl<T: Float> Operation<T> for Conv2d {
    fn name(&self) -> &'static str {
        "conv2d"
    }

    of_kernel!(Conv2d);

    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let of = |x: Var<'t, T>, w| x.conv2d(w, self.stride, self.padding);
        let of_images = tangents[0].map(|dx| of(dx, inputs[1]));
        let of_filters = tangents[1].map(|dw| of(inputs[0], dw));
        Var::sum_of([of_images, of_filters]).expect("at least one tangent")
    }
}

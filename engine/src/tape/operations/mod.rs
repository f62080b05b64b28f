//! The operations of the tape: kernels with their reverse passes, and their derivatives along tangents.

/// The shape and the passes of an [`Operation`](crate::Operation), which its kernel has.
macro_rules! kernel_passes {
    ($kernel:ty) => {
        fn shape(
            &self,
            inputs: &[&crate::tensor::shape::Shape],
        ) -> Result<crate::tensor::shape::Shape, crate::tensor::shape::ShapeError> {
            <$kernel>::result_shape(self, inputs)
        }

        fn forward(&self, inputs: &[crate::tensor::view::View<'_, T>], out: &mut [T], kept: &mut [T]) {
            <$kernel>::compute(self, inputs, out, kept);
        }

        fn backward(
            &self,
            inputs: &[crate::tensor::view::View<'_, T>],
            outcome: crate::tensor::view::Outcome<'_, T>,
            g: &[T],
            grads: &mut [Option<&mut [T]>],
        ) {
            <$kernel>::pullback(self, inputs, outcome, g, grads);
        }
    };
}

pub(crate) mod attend;
pub(crate) mod conv;
pub(crate) mod derivative;
pub(crate) mod elementwise;
pub(crate) mod index;
pub(crate) mod layer_norm;
pub(crate) mod map;
pub(crate) mod matmul;
pub(crate) mod pair;
pub(crate) mod pool2d;
pub(crate) mod reduce;
pub(crate) mod row;
pub(crate) mod softmax;
pub(crate) mod sparse;

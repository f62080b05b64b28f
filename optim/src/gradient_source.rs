//! Where the gradients of a step come from.

use cotangent_engine::{Device, Float, GradientView, Gradients, ParamId, Tensor};

/// Source of a step's gradients: those of a backward pass, or [`Accumulated`](crate::Accumulated) ones.
pub trait GradientSource<T: Float> {
    /// The gradient with respect to a parameter; `None` if there is none.
    fn gradient(&self, id: ParamId) -> Option<GradientView<'_, T>>;

    /// The device that holds the gradients. Parameters with gradients on a device are moved there.
    fn device(&self) -> Device {
        Device::cpu()
    }

    /// The gradient with respect to a parameter as a tensor on its device: rows of `width` elements, and
    /// their numbers if they are not all rows.
    fn tensor(&self, id: ParamId, width: usize) -> Option<(Option<&[u32]>, Tensor<T>)> {
        self.gradient(id).map(|view| match view {
            GradientView::Dense(values) => {
                (None, Tensor::new([values.len() / width.max(1), width], values.to_vec()))
            }
            GradientView::Rows { rows, values, width } => {
                (Some(rows), Tensor::new([rows.len(), width], values.to_vec()))
            }
        })
    }
}

impl<T: Float> GradientSource<T> for Gradients<'_, T> {
    fn gradient(&self, id: ParamId) -> Option<GradientView<'_, T>> {
        self.param(id)
    }
    fn device(&self) -> Device {
        Gradients::device(self)
    }
    fn tensor(&self, id: ParamId, width: usize) -> Option<(Option<&[u32]>, Tensor<T>)> {
        Gradients::tensor(self, id, width)
    }
}

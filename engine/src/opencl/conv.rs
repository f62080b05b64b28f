//! The `conv` kernel: convolution as a product of matrices for each image (im2col), and pooling.

use std::sync::Arc;

use super::form::{Forward, OnDevice, Reverse};
use super::gemm::{Matrices, Onto, gemm};
use super::index;
use crate::kernels::conv::{Conv2d, Sizes, Window};
use crate::kernels::pool2d::{Pool2d, Pooling};
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program};
use crate::tensor::device::queue::{Launch, Queue};

fn program<T: Storage>(queue: &Queue) -> Arc<Program> {
    queue.program::<T>(Key::new::<T>("conv", None), || include_str!("conv.cl").to_owned())
}

/// A launch of a kernel over `count` elements, with the extents of image and result, and the window. The
/// kernel's `option` is the number of channels, or for pooling 1 for maxima and 0 for means.
fn launch<'q, T: Storage>(
    queue: &'q Queue,
    name: &'static str,
    [count, option]: [usize; 2],
    [[h, w], [ph, pw]]: [[usize; 2]; 2],
    window: Window,
) -> Launch<'q> {
    let launch = queue.launch(&program::<T>(queue), name).size(count).size(option).sizes([h, w, ph, pw]);
    launch.sizes([window.size[0], window.size[1], window.stride, window.padding])
}

impl Sizes {
    /// The elements under the window at each place of each image: `[batch, patch, places]`.
    fn columns<T: Storage>(&self, queue: &Queue, images: &Memory) -> Arc<Memory> {
        let count = self.batch * self.patch() * self.places();
        let columns = queue.take_for::<T>(&[count]);
        let extents = [self.image, self.places];
        let launch = launch::<T>(queue, "im2col", [count, self.channels], extents, self.window);
        launch.memory(images).memory(&columns).over(count);
        columns
    }
}

impl<T: Storage> OnDevice<T> for Conv2d {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, out, .. } = forward;
        let (s, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let (columns, filters) = (s.columns::<T>(queue, &inputs[0].on(queue)), inputs[1].on(queue));
        let filters = Matrices::new(&filters, s.filters, s.patch()).every(0);
        let columns = Matrices::new(&columns, s.patch(), s.places());
        let sizes = [s.batch, s.filters, s.patch(), s.places()];
        gemm::<T>(queue, sizes, filters, columns, (out, 0, s.filters * s.places()), Onto::Nothing);
    }

    /// As on the host: the gradient of the filters is summed image after image.
    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (inputs, [dx, dw]) = (reverse.inputs, [0, 1].map(|i| &reverse.grads[i]));
        let (s, _) = self.sizes(&[inputs[0].shape, inputs[1].shape]).expect("checked");
        let g = Matrices::new(reverse.g, s.filters, s.places());
        if let Some(dx) = dx {
            let count = s.batch * s.image_len();
            let (filters, columns) =
                (inputs[1].on(queue), queue.take_for::<T>(&[s.batch, s.patch(), s.places()]));
            let filters = Matrices::new(&filters, s.filters, s.patch()).every(0).transposed();
            let (sizes, to) =
                ([s.batch, s.patch(), s.filters, s.places()], (&*columns, 0, s.patch() * s.places()));
            gemm::<T>(queue, sizes, filters, g, to, Onto::Nothing);
            let launch = launch::<T>(queue, "col2im", [count, s.channels], [s.image, s.places], s.window);
            launch.memory(&columns).memory(dx).over(count);
        }
        if let Some(dw) = dw {
            let columns = s.columns::<T>(queue, &inputs[0].on(queue));
            index::fill::<T>(queue, dw, s.filters * s.patch());
            for b in 0..s.batch {
                let g = g.from(b * g.batch);
                let columns = Matrices::new(&columns, s.patch(), s.places());
                let columns = columns.from(b * columns.batch).transposed();
                gemm::<T>(queue, [1, s.filters, s.places(), s.patch()], g, columns, (dw, 0, 0), Onto::Held);
            }
        }
    }
}

impl<T: Storage> OnDevice<T> for Pool2d {
    fn forward(&self, queue: &Queue, forward: &Forward<'_, T>) {
        let &Forward { inputs, shape, out, .. } = forward;
        let extents = self.places(inputs[0].shape).expect("checked");
        let counts = [shape.elements(), usize::from(self.pooling == Pooling::Max)];
        let launch = launch::<T>(queue, "pool", counts, [extents.0, extents.1], self.window);
        launch.memory(&inputs[0].on(queue)).memory(out).over(shape.elements());
    }

    fn backward(&self, queue: &Queue, reverse: &Reverse<'_, T>) {
        let (Some(dx), input) = (&reverse.grads[0], &reverse.inputs[0]) else { return };
        let (extents, count) = (self.places(input.shape).expect("checked"), input.shape.elements());
        let counts = [count, usize::from(self.pooling == Pooling::Max)];
        let launch = launch::<T>(queue, "pool_gradient", counts, [extents.0, extents.1], self.window);
        launch.memory(&input.on(queue)).memory(reverse.g).memory(dx).over(count);
    }
}

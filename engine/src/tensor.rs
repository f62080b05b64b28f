//! Tensors: contiguous, row-major, copied on write.

use std::sync::Arc;

use crate::{Float, Shape};

/// A dense array of `f32` or `f64`, row-major and contiguous. Cloning shares the elements; the first
/// write to a shared tensor copies them.
///
/// ```
/// use cotangent_engine::Tensor;
/// let t = Tensor::new([2, 3], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]); // [2, 3]
/// assert_eq!(t.row(1), [4.0, 5.0, 6.0]);
/// ```
#[derive(Clone, PartialEq)]
pub struct Tensor<T: Float = f32> {
    shape: Shape,
    data: Arc<Vec<T>>,
}

impl<T: Float> Tensor<T> {
    /// A tensor of the given shape over row-major elements.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>, data: Vec<T>) -> Self {
        let shape = shape.into();
        assert_eq!(shape.len(), data.len(), "tensor: shape {shape} needs {} elements", shape.len());
        Tensor { shape, data: Arc::new(data) }
    }

    /// Zeros.
    pub fn zeros(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let data = vec![T::zero(); shape.len()];
        Tensor::new(shape, data)
    }

    /// A tensor of no axes.
    pub fn scalar(value: T) -> Self {
        Tensor::new([], vec![value])
    }

    /// Elements computed from their position.
    pub fn from_fn(shape: impl Into<Shape>, f: impl FnMut(usize) -> T) -> Self {
        let shape = shape.into();
        let data = (0..shape.len()).map(f).collect();
        Tensor::new(shape, data)
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Extent of the last axis.
    pub fn width(&self) -> usize {
        self.shape.width()
    }

    /// All elements, row-major.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// All elements, for writing; copies them first if they are shared.
    pub fn data_mut(&mut self) -> &mut [T] {
        Arc::make_mut(&mut self.data).as_mut_slice()
    }

    pub(crate) fn share(&self) -> Arc<Vec<T>> {
        Arc::clone(&self.data)
    }

    /// Row `i`: `width` elements, all leading axes counted as one.
    #[track_caller]
    pub fn row(&self, i: usize) -> &[T] {
        let width = self.width();
        &self.data[i * width..(i + 1) * width]
    }

    /// Row `i`, for writing.
    #[track_caller]
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        let width = self.width();
        &mut self.data_mut()[i * width..(i + 1) * width]
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.data.chunks_exact(self.width().max(1))
    }

    /// The same elements in another element type, rounded to nearest.
    pub fn cast<U: Float>(&self) -> Tensor<U> {
        Tensor::from_fn(self.shape.clone(), |i| U::nearest(self.data[i].to_f64()))
    }

    /// The same elements in another shape of the same size.
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        assert_eq!(shape.len(), self.len(), "reshape: {} elements of {} as {shape}", self.len(), self.shape);
        Tensor { shape, data: Arc::clone(&self.data) }
    }
}

impl<T: Float> std::fmt::Display for Tensor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const EDGE: usize = 3;
        write!(f, "{} {} [", T::NAME, self.shape)?;
        let n = self.len();
        for i in (0..n).filter(|&i| n <= 2 * EDGE || i < EDGE || i >= n - EDGE) {
            if n > 2 * EDGE && i == n - EDGE {
                write!(f, ", …")?;
            }
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, self.data[i])?;
        }
        write!(f, "]")
    }
}

impl<T: Float> std::fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor {self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_do_not_reach_clones() {
        let mut a = Tensor::new([2], vec![1.0_f32, 2.0]);
        let b = a.clone();
        a.data_mut()[0] = 5.0;
        assert_eq!((a.data(), b.data()), (&[5.0, 2.0][..], &[1.0, 2.0][..]));
    }

    #[test]
    fn display_shows_shape_and_an_excerpt() {
        let t = Tensor::from_fn([3, 4], |i| i as f32);
        assert_eq!(t.to_string(), "f32 [3, 4] [0, 1, 2, …, 9, 10, 11]");
        assert_eq!(Tensor::scalar(2.5_f64).to_string(), "f64 [] [2.5]");
        assert_eq!(Tensor::<f32>::zeros([0, 4]).to_string(), "f32 [0, 4] []");
    }

    #[test]
    #[should_panic(expected = "shape [2, 3] needs 6 elements")]
    fn wrong_length_panics() {
        let _ = Tensor::new([2, 3], vec![0.0_f32; 5]);
    }
}

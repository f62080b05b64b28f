//! What a backward pass returns: gradients with respect to variables and parameters, dense or row-sparse.

use crate::kernels::index::SparseRows;
use crate::tape::float::Float;
use crate::tape::var::Var;
use crate::tape::{ParamId, Tape};
use crate::tensor::Tensor;
use crate::tensor::device::Device;
use crate::tensor::pool::Buffer;
use crate::tensor::shape::Shape;

pub(crate) enum Gradient<T> {
    Dense(Buffer<T>),
    Rows(SparseRows<T>),
}

pub(crate) struct Entry<T> {
    node: u32,
    param: Option<ParamId>,
    len: usize,
    pub(crate) gradient: Gradient<T>,
}

/// The gradients of one backward pass. Dropping them gives their memory back to the tape.
pub struct Gradients<'t, T: Float> {
    tape: &'t Tape<T>,
    entries: Vec<Entry<T>>,
}

/// One gradient, as it was computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GradientView<'a, T> {
    /// One element for each element of the variable, row-major.
    Dense(&'a [T]),
    /// Only some rows of a table were read. Each is listed once; all other rows have gradient zero.
    Rows {
        /// Row numbers, in the order in which the backward pass reached them.
        rows: &'a [u32],
        /// Their gradients, row by row: `width` elements each.
        values: &'a [T],
        /// Elements of a row.
        width: usize,
    },
}

impl<'a, T: Float> GradientView<'a, T> {
    /// The elements, and the numbers of the rows that they are, unless they are all rows.
    pub fn parts(&self) -> (&'a [T], Option<&'a [u32]>) {
        match *self {
            GradientView::Dense(values) => (values, None),
            GradientView::Rows { rows, values, .. } => (values, Some(rows)),
        }
    }

    /// The same rows with other elements.
    pub fn with_values(self, values: &'a [T]) -> Self {
        match self {
            GradientView::Dense(_) => GradientView::Dense(values),
            GradientView::Rows { rows, width, .. } => GradientView::Rows { rows, values, width },
        }
    }

    /// All elements, for a table of `rows × width` elements.
    pub fn to_dense(&self, rows: usize, width: usize) -> Vec<T> {
        match *self {
            GradientView::Dense(values) => values.to_vec(),
            GradientView::Rows { rows: touched, values, width: row_width } => {
                let mut dense = vec![T::zero(); rows * width];
                crate::kernels::index::scatter_add(values, touched, row_width, &mut dense);
                dense
            }
        }
    }
}

impl<'t, T: Float> Gradients<'t, T> {
    /// `entries` is an empty list in memory that the tape reuses.
    pub(crate) fn new(tape: &'t Tape<T>, entries: Vec<Entry<T>>) -> Self {
        Gradients { tape, entries }
    }

    pub(crate) fn insert(&mut self, node: u32, param: Option<ParamId>, len: usize, gradient: Gradient<T>) {
        self.entries.push(Entry { node, param, len, gradient });
    }

    fn view_of(entry: &Entry<T>) -> GradientView<'_, T> {
        match &entry.gradient {
            Gradient::Dense(values) => GradientView::Dense(&values[..entry.len]),
            Gradient::Rows(sparse) => GradientView::Rows {
                rows: &sparse.rows,
                values: &sparse.values[..sparse.rows.len() * sparse.width],
                width: sparse.width,
            },
        }
    }

    /// The gradient with respect to a variable, parameter or point, as a tensor of the same shape. It is
    /// zero where the loss does not depend on it. [`view`](Self::view) gives it as it was computed. Only
    /// inputs of the tape have a gradient here; for a computed variable the result is zero.
    ///
    /// # Panics
    /// If the variable is on another tape than the loss.
    #[track_caller]
    pub fn wrt(&self, leaf: impl Leaf<T>) -> Tensor<T> {
        let shape = leaf.shape();
        let (len, width) = (shape.elements(), shape.width());
        match leaf.gradient(self) {
            Some(view) => Tensor::new(shape, view.to_dense(len / width.max(1), width)),
            None => Tensor::zeros(shape),
        }
    }

    /// The gradient as it was computed, without a copy: row-sparse if rows of a table `[n, d]` were gathered;
    /// `None` if the loss does not depend on the variable, parameter or point.
    ///
    /// # Panics
    /// If the variable is on another tape than the loss.
    #[track_caller]
    pub fn view(&self, leaf: impl Leaf<T>) -> Option<GradientView<'_, T>> {
        leaf.gradient(self)
    }

    /// The device that the gradients are on.
    pub fn device(&self) -> Device {
        self.tape.device()
    }

    /// The gradient with respect to a parameter, as a tensor `[rows, width]` that stays where it is (on a
    /// device, for example). A row-sparse gradient comes with the numbers of its rows, a dense one with
    /// `None`. The result is `None` if the loss does not depend on the parameter.
    pub fn tensor(&self, id: ParamId, width: usize) -> Option<(Option<&[u32]>, Tensor<T>)> {
        let entry = self.entries.iter().find(|e| e.param == Some(id))?;
        let (rows, values, len) = match &entry.gradient {
            Gradient::Dense(values) => (None, values, entry.len),
            Gradient::Rows(sparse) => (Some(&*sparse.rows), &sparse.values, sparse.rows.len() * sparse.width),
        };
        let shape = Shape::from([len / width.max(1), width]);
        Some((rows, Tensor::from_elements(shape, values.first(len))))
    }

    /// The gradient with respect to a parameter; `None` if the loss does not depend on it.
    pub fn param(&self, id: ParamId) -> Option<GradientView<'_, T>> {
        self.entries.iter().find(|e| e.param == Some(id)).map(Self::view_of)
    }
}

/// What [`Gradients`] can be read for: an input variable of a tape, or a parameter or point that has one.
pub trait Leaf<T: Float> {
    /// The shape.
    fn shape(&self) -> Shape;

    /// The gradient; `None` if the loss does not depend on it.
    fn gradient<'a>(&self, gradients: &'a Gradients<'_, T>) -> Option<GradientView<'a, T>>;
}

impl<T: Float> Leaf<T> for Var<'_, T> {
    fn shape(&self) -> Shape {
        Var::shape(*self)
    }

    #[track_caller]
    fn gradient<'a>(&self, gradients: &'a Gradients<'_, T>) -> Option<GradientView<'a, T>> {
        let node = gradients.tape.id("wrt", *self);
        gradients.entries.iter().find(|e| e.node == node).map(Gradients::view_of)
    }
}

impl<T: Float, L: Leaf<T>> Leaf<T> for &L {
    fn shape(&self) -> Shape {
        L::shape(self)
    }

    #[track_caller]
    fn gradient<'a>(&self, gradients: &'a Gradients<'_, T>) -> Option<GradientView<'a, T>> {
        L::gradient(self, gradients)
    }
}

impl<T: Float> Drop for Gradients<'_, T> {
    fn drop(&mut self) {
        self.tape.take_back(std::mem::take(&mut self.entries));
    }
}

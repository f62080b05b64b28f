//! Tensors: contiguous, row-major, copied on write.

pub(crate) mod device;
pub(crate) mod elements;
pub(crate) mod pool;
pub(crate) mod shape;
pub(crate) mod sparsity;
pub(crate) mod view;

use std::fmt;
use std::sync::Arc;

use crate::numbers::storage::Storage;
use crate::tensor::device::Device;
use crate::tensor::elements::Elements;
use crate::tensor::shape::{Shape, product};

/// A dense array of `f32` or `f64`, row-major and contiguous. Cloning shares the elements; the first
/// write to a shared tensor copies them.
///
/// ```
/// use cotangent_engine::Tensor;
/// let t = Tensor::new([2, 3], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]); // [2, 3]
/// assert_eq!(t.row(1), [4.0, 5.0, 6.0]);
/// ```
#[derive(Clone, PartialEq)]
pub struct Tensor<T: Storage = f32> {
    shape: Shape,
    data: Arc<Elements<T>>,
}

impl<T: Storage> Tensor<T> {
    /// A tensor of the given shape over row-major elements.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape.
    #[track_caller]
    pub fn new(shape: impl Into<Shape>, data: Vec<T>) -> Self {
        let shape = shape.into();
        let needed = shape.elements();
        assert_eq!(needed, data.len(), "tensor: shape {shape} needs {needed} elements");
        Tensor { shape, data: Arc::new(Elements::from(data)) }
    }

    /// Zeros.
    ///
    /// # Panics
    /// If the shape has more elements than memory can hold.
    #[track_caller]
    pub fn zeros(shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        let data = Arc::new(Elements::zeroed(shape.elements()));
        Tensor { shape, data }
    }

    /// A tensor without axes, of one element.
    pub fn scalar(value: T) -> Self {
        Tensor::new([], vec![value])
    }

    /// Elements computed from their row-major position.
    ///
    /// # Panics
    /// As [`zeros`](Self::zeros).
    #[track_caller]
    pub fn from_fn(shape: impl Into<Shape>, mut f: impl FnMut(usize) -> T) -> Self {
        let mut tensor = Tensor::zeros(shape);
        tensor.data_mut().iter_mut().enumerate().for_each(|(i, x)| *x = f(i));
        tensor
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
        &mut *Arc::make_mut(&mut self.data)
    }

    pub(crate) fn share(&self) -> Arc<Elements<T>> {
        Arc::clone(&self.data)
    }

    pub(crate) fn from_elements(shape: Shape, elements: Elements<T>) -> Self {
        Tensor { shape, data: Arc::new(elements) }
    }

    /// Writes the columns `columns` of some rows, or of all, where the values are: what is on a device
    /// stays there. If a row is listed more than once, the last values stay.
    ///
    /// ```
    /// use cotangent_engine::Tensor;
    /// let mut t = Tensor::zeros([3, 2]);
    /// t.set_rows(Some(&[2, 0]), 1..2, &Tensor::new([2, 1], vec![5.0_f64, 7.0]));
    /// assert_eq!(t.data(), [0.0, 7.0, 0.0, 0.0, 0.0, 5.0]);
    /// ```
    ///
    /// # Panics
    /// If the number of values is not that of the rows times that of the columns, or a row or a column is
    /// not in the tensor.
    #[track_caller]
    pub fn set_rows(&mut self, rows: Option<&[u32]>, columns: std::ops::Range<usize>, values: &Tensor<T>) {
        let (width, own, all) = (self.width(), columns.len(), self.len() / self.width().max(1));
        let n = rows.map_or(all, <[u32]>::len);
        let inside = rows.is_none_or(|rows| rows.iter().all(|&row| (row as usize) < all));
        assert!(
            product(&[n, own]) == Some(values.len()) && columns.end <= width && inside,
            "set_rows: {n} rows, columns {columns:?} of {}, from {}",
            self.shape,
            values.shape
        );
        #[cfg(feature = "opencl")]
        if let Some((queue, from)) = values.data.here() {
            let table = Arc::make_mut(&mut self.data).write_on(&queue);
            return crate::tensor::device::copies::set_rows::<T>(
                &queue,
                &from,
                rows,
                [n, own, width, columns.start],
                &table,
            );
        }
        let values = values.data.chunks_exact(own.max(1));
        let table = Arc::make_mut(&mut self.data);
        for (i, from) in values.enumerate() {
            let start = rows.map_or(i, |rows| rows[i] as usize) * width + columns.start;
            table[start..start + own].copy_from_slice(from);
        }
    }

    /// The device that holds its elements, whether or not the host holds them too; the processor if no
    /// device does.
    pub fn device(&self) -> Device {
        #[cfg(feature = "opencl")]
        if let Some((queue, _)) = self.data.here() {
            return Device::from_queue(queue);
        }
        Device::cpu()
    }

    /// Row `i`: `width` elements, all leading axes counted as one.
    ///
    /// # Panics
    /// If there is no such row.
    #[track_caller]
    pub fn row(&self, i: usize) -> &[T] {
        let width = self.width();
        &self.data[i * width..(i + 1) * width]
    }

    /// Row `i`, for writing.
    ///
    /// # Panics
    /// If there is no such row.
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
    pub fn cast<U: Storage>(&self) -> Tensor<U> {
        Tensor::from_fn(self.shape.clone(), |i| U::nearest(self.data[i].to_f64()))
    }

    /// The same elements in another shape of the same size.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[track_caller]
    pub fn reshape(&self, shape: impl Into<Shape>) -> Self {
        let shape = shape.into();
        assert_eq!(
            shape.elements(),
            self.len(),
            "reshape: {} elements of {} as {shape}",
            self.len(),
            self.shape
        );
        Tensor { shape, data: Arc::clone(&self.data) }
    }
}

/// Element type, shape and elements. A tensor of at most one axis is on one line. Others are printed as
/// matrices over the last two axes, each under its position on the leading ones. Long axes are cut short,
/// and elements are rounded to six significant digits, or to the decimals that a precision asks for.
///
/// ```
/// use cotangent_engine::Tensor;
/// let t = Tensor::from_fn([2, 12], |i| i as f32 / 8.0);
/// assert_eq!(t.to_string(), "\
/// f32 [2, 12]
/// [  0, 0.125, 0.25, …, 1.125, 1.25, 1.375]
/// [1.5, 1.625, 1.75, …, 2.625, 2.75, 2.875]");
/// assert_eq!(format!("{:.1}", Tensor::new([2], vec![0.25_f64, 3.0])), "f64 [2] [0.2, 3.0]");
/// ```
impl<T: Storage> fmt::Display for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const EDGE: usize = 3;
        const MATRICES_EDGE: usize = 1;
        let decimals = f.precision();
        write!(f, "{} {}", T::NAME, self.shape)?;
        let (leading, rows, columns) = match *self.shape.axes() {
            _ if self.is_empty() => return write!(f, " []"),
            [] => return write!(f, " {}", excerpt(self.data[0], decimals)),
            [columns] => (&[][..], 1, columns),
            [ref leading @ .., rows, columns] => (leading, rows, columns),
        };
        let newline = if self.shape.rank() == 1 { ' ' } else { '\n' };
        for m in shown(leading.iter().product(), MATRICES_EDGE) {
            let Some(m) = m else {
                write!(f, "{newline}…")?;
                continue;
            };
            if !leading.is_empty() {
                write!(f, "{newline}{}", Place(leading, m))?;
            }
            let cell = |i: Option<usize>, j: Option<usize>| match (i, j) {
                (Some(i), Some(j)) => excerpt(self.data[(m * rows + i) * columns + j], decimals),
                _ => "…".to_owned(),
            };
            let table: Vec<Vec<String>> =
                shown(rows, EDGE).map(|i| shown(columns, EDGE).map(|j| cell(i, j)).collect()).collect();
            for row in &table {
                write!(f, "{newline}")?;
                for (k, cell) in row.iter().enumerate() {
                    let width = table.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
                    write!(f, "{}{cell:>width$}", if k == 0 { "[" } else { ", " })?;
                }
                write!(f, "]")?;
            }
        }
        Ok(())
    }
}

/// The first and last `edge` of `n` positions, with `None` for those between; or all positions, if at
/// most one would be left out.
fn shown(n: usize, edge: usize) -> impl Iterator<Item = Option<usize>> {
    let cut = n > 2 * edge + 1;
    let (head, tail) = if cut { (edge, n - edge) } else { (n, n) };
    (0..head).map(Some).chain(cut.then_some(None)).chain((tail..n).map(Some))
}

/// An element as text, short enough for a table.
fn excerpt<T: Storage>(x: T, decimals: Option<usize>) -> String {
    let x = x.to_f64();
    if let Some(decimals) = decimals {
        return format!("{x:.decimals$}");
    }
    let rounded = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == 0.0 || !rounded.is_finite() || (1e-4..1e6).contains(&rounded.abs()) {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

/// The place of matrix `.1` on the leading axes `.0`.
struct Place<'a>(&'a [usize], usize);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stride: usize = self.0.iter().product();
        write!(f, "[")?;
        for n in self.0 {
            stride /= n;
            write!(f, "{}, ", self.1 / stride % n)?;
        }
        write!(f, ":, :]")
    }
}

impl<T: Storage> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor ")?;
        fmt::Display::fmt(self, f)
    }
}

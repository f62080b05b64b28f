//! Row formulas and row functions at three levels: on one row, on the rows of a tensor, on a tape.
//!
//! A geometry is written once, generic over [`Rows`]. It then works on a [`Row`] (in optimisers and for
//! data), on tensors and on tape variables.

use smallvec::SmallVec;

use crate::formula::map::MapFormula;
use crate::formula::row::{RowFormula, check_params};
use crate::kernels::gram::entries;
use crate::kernels::operands::{Operand, Parameter, Results, row_shape};
use crate::numbers::storage::{Floats, FloatsMut};
use crate::tape::float::Float;
use crate::tape::row_function::{self, RowFunction};
use crate::tensor::Tensor;
use crate::tensor::shape::{Broadcast, Shape};

/// Something that row formulas and row functions can be applied to.
pub trait Rows: Clone {
    /// One number per row.
    type Scalar: Clone;

    /// A number that is the same for every row.
    fn constant(&self, value: f64) -> Self::Scalar;

    /// A formula that returns a number per row. `vectors` and `params` are in the formula's order.
    ///
    /// # Panics
    /// If the vectors have different widths, or the rows do not broadcast.
    fn scalar<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        formula: F,
        vectors: [&Self; V],
        params: [&Self::Scalar; P],
    ) -> Self::Scalar
    where
        F: RowFormula<V, B, I, 1>;

    /// A formula that returns a vector per row.
    ///
    /// # Panics
    /// As [`scalar`](Self::scalar).
    fn vector<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        formula: F,
        vectors: [&Self; V],
        params: [&Self::Scalar; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>;

    /// The derivative of a formula that returns a vector, along tangents of its vectors: forward mode,
    /// by dual numbers. The parameters are constants.
    ///
    /// # Panics
    /// As [`scalar`](Self::scalar).
    fn differential<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        formula: F,
        vectors: [&Self; V],
        tangents: [&Self; V],
        constants: [f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>;

    /// An elementwise formula of the rows' numbers, which broadcast.
    ///
    /// # Panics
    /// If the numbers do not broadcast.
    fn map<F: MapFormula<K>, const K: usize>(formula: F, scalars: [&Self::Scalar; K]) -> Self::Scalar;

    /// Elements of each row.
    fn width(&self) -> usize;

    /// The elements `range` of each row.
    ///
    /// # Panics
    /// If the range is not within the width.
    fn columns(&self, range: std::ops::Range<usize>) -> Self;

    /// Rows side by side: the elements of `left`, then those of `right`. The leading axes broadcast.
    ///
    /// # Panics
    /// If the leading axes do not broadcast.
    fn concat(left: &Self, right: &Self) -> Self;

    /// Rows of `width` zeros, as many as these, without a gradient.
    fn zeros(&self, width: usize) -> Self;

    /// A row function of these rows.
    ///
    /// # Panics
    /// If the rows are not of the widths that the function takes, or do not broadcast.
    fn row_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self;

    /// A row function whose result is one element, as a number for each row.
    ///
    /// # Panics
    /// As [`row_function`](Self::row_function), and if the result has another width than 1.
    fn scalar_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self::Scalar;
}

/// A single row, owned; up to 16 elements without a heap allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<T: Float>(SmallVec<[T; 16]>);

impl<T: Float> std::ops::Deref for Row<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Float> std::ops::DerefMut for Row<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Float> From<&[T]> for Row<T> {
    fn from(row: &[T]) -> Self {
        Row(SmallVec::from_slice(row))
    }
}

impl<T: Float, const N: usize> From<[T; N]> for Row<T> {
    fn from(row: [T; N]) -> Self {
        Row(SmallVec::from_slice(&row))
    }
}

impl<T: Float> Rows for Row<T> {
    type Scalar = f64;

    fn constant(&self, value: f64) -> f64 {
        value
    }
    #[inline]
    #[track_caller]
    fn scalar<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&f64; P],
    ) -> f64
    where
        F: RowFormula<V, B, I, 1>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        same_width(F::NAME, &vectors);
        let mut out = [0.0];
        let results = Results::Scalars(FloatsMut::F64(&mut out));
        (entries().one)(F::plan(), &vectors.map(|v| &**v), &params.map(|p| *p), results);
        out[0]
    }
    #[inline]
    #[track_caller]
    fn vector<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        same_width(F::NAME, &vectors);
        let mut out = Row(SmallVec::from_elem(T::zero(), vectors[0].len()));
        (entries().one)(F::plan(), &vectors.map(|v| &**v), &params.map(|p| *p), Results::Rows(&mut out));
        out
    }
    #[track_caller]
    fn differential<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        tangents: [&Self; V],
        constants: [f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        let [vectors, tangents] =
            [vectors, tangents].map(|rows| rows.map(|row| Tensor::new([row.len()], row.to_vec())));
        let (vectors, tangents) = (vectors.each_ref(), tangents.each_ref());
        Row::from(T::row_differential(F::plan(), &vectors, &tangents, &constants).data())
    }
    fn map<F: MapFormula<K>, const K: usize>(_formula: F, scalars: [&f64; K]) -> f64 {
        F::eval(scalars.map(|x| *x))
    }
    fn width(&self) -> usize {
        self.len()
    }
    #[track_caller]
    fn columns(&self, range: std::ops::Range<usize>) -> Self {
        Row::from(&self[range])
    }
    fn concat(left: &Self, right: &Self) -> Self {
        Row(left.iter().chain(right.iter()).copied().collect())
    }
    fn zeros(&self, width: usize) -> Self {
        Row(SmallVec::from_elem(T::zero(), width))
    }
    #[track_caller]
    fn row_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self {
        let mut out = Row(SmallVec::new());
        apply(&function, rows.map(row_operand), false, |_, width| {
            out.0.resize(width, T::zero());
            &mut out.0
        });
        out
    }
    #[track_caller]
    fn scalar_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> f64 {
        let mut out = [0.0];
        apply(&function, rows.map(row_operand), true, |_, _| &mut out);
        out[0]
    }
}

fn row_operand<T: Float>(row: &Row<T>) -> (&[T], Shape) {
    (row, Shape::from([row.len()]))
}

fn tensor_operand<T: Float>(tensor: &Tensor<T>) -> (&[T], Shape) {
    (tensor.data(), tensor.shape().clone())
}

/// A row function over all rows. `place` returns memory for the result, given its leading axes and width.
#[track_caller]
fn apply<'o, F: RowFunction<V>, T: Float, U: Float, const V: usize>(
    function: &F,
    inputs: [(&[T], Shape); V],
    scalar: bool,
    place: impl FnOnce(Shape, usize) -> &'o mut [U],
) {
    let (rows, widths, width) = match row_function::shapes(function, inputs.each_ref().map(|i| &i.1), scalar)
    {
        Ok(shapes) => shapes,
        Err(message) => panic!("{}: {message}", function.name()),
    };
    let operands = row_function::operands(inputs.each_ref().map(|(data, shape)| (*data, shape)), &rows);
    row_function::evaluate(function, &operands, widths, width, place(rows, width));
}

#[track_caller]
fn same_width<T: Float>(name: &str, vectors: &[&Row<T>]) {
    let width = vectors[0].len();
    assert!(
        width > 0 && vectors.iter().all(|v| v.len() == width),
        "{name}: vectors of one width are needed, not {:?}",
        vectors.iter().map(|v| v.len()).collect::<Vec<_>>()
    );
}

impl<T: Float> Rows for Tensor<T> {
    /// `f64` whatever the tensor's type, as row scalars are.
    type Scalar = Tensor<f64>;

    fn constant(&self, value: f64) -> Tensor<f64> {
        Tensor::scalar(value)
    }
    #[track_caller]
    fn scalar<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&Tensor<f64>; P],
    ) -> Tensor<f64>
    where
        F: RowFormula<V, B, I, 1>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        let (rows, width, vectors, params) = operands(F::NAME, &vectors, &params);
        let mut out = Tensor::zeros(rows);
        let results = Results::Scalars(FloatsMut::F64(out.data_mut()));
        (entries().forward)(F::plan(), &vectors, &params, width, results);
        out
    }
    #[track_caller]
    fn vector<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        params: [&Tensor<f64>; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        let (rows, width, vectors, params) = operands(F::NAME, &vectors, &params);
        let mut out = Tensor::zeros(rows.with_width(width));
        (entries().forward)(F::plan(), &vectors, &params, width, Results::Rows(out.data_mut()));
        out
    }
    #[track_caller]
    fn differential<F, const V: usize, const P: usize, const B: usize, const I: usize>(
        _formula: F,
        vectors: [&Self; V],
        tangents: [&Self; V],
        constants: [f64; P],
    ) -> Self
    where
        F: RowFormula<V, B, I, B>,
    {
        const { check_params(&F::INVARIANTS, F::DOMAIN, P) };
        T::row_differential(F::plan(), &vectors, &tangents, &constants)
    }
    #[track_caller]
    fn map<F: MapFormula<K>, const K: usize>(_formula: F, scalars: [&Tensor<f64>; K]) -> Tensor<f64> {
        let shape = common(F::NAME, scalars.map(|x| x.shape().axes()));
        let read =
            scalars.map(|x| Broadcast::new(x.shape().axes(), shape.axes()).expect("a common shape fits all"));
        Tensor::from_fn(shape, |i| F::eval(std::array::from_fn(|k| scalars[k].data()[read[k].at(i)])))
    }
    fn width(&self) -> usize {
        self.shape().width()
    }
    #[track_caller]
    fn columns(&self, range: std::ops::Range<usize>) -> Self {
        let mut data = Vec::with_capacity(self.len() / self.width().max(1) * range.len());
        self.rows().for_each(|row| data.extend_from_slice(&row[range.clone()]));
        Tensor::new(self.shape().rows().with_width(range.len()), data)
    }
    #[track_caller]
    fn concat(left: &Self, right: &Self) -> Self {
        let leading = [left, right].map(|x| x.shape().rows());
        let rows = common("concat", leading.each_ref().map(|shape| shape.axes()));
        let read = |shape: Shape| Broadcast::new(shape.axes(), rows.axes()).expect("a common shape fits all");
        let [l, r] = leading.map(read);
        let width = left.width() + right.width();
        let shape = rows.with_width(width);
        let mut data = Vec::with_capacity(shape.elements());
        for p in 0..rows.elements() {
            data.extend_from_slice(left.row(l.at(p)));
            data.extend_from_slice(right.row(r.at(p)));
        }
        Tensor::new(shape, data)
    }
    fn zeros(&self, width: usize) -> Self {
        Tensor::zeros(self.shape().rows().with_width(width))
    }
    #[track_caller]
    fn row_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Self {
        let mut out = Tensor::zeros([0]);
        apply(&function, rows.map(tensor_operand), false, |rows, width| {
            out = Tensor::zeros(rows.with_width(width));
            out.data_mut()
        });
        out
    }
    #[track_caller]
    fn scalar_function<F: RowFunction<V>, const V: usize>(function: F, rows: [&Self; V]) -> Tensor<f64> {
        let mut out = Tensor::zeros([0]);
        apply(&function, rows.map(tensor_operand), true, |rows, _| {
            out = Tensor::zeros(rows);
            out.data_mut()
        });
        out
    }
}

/// The common shape of operands that are not on a tape.
#[track_caller]
fn common<const K: usize>(name: &str, shapes: [&[usize]; K]) -> Shape {
    Broadcast::common(&shapes).unwrap_or_else(|| panic!("{name}: shapes {shapes:?} do not broadcast"))
}

/// What a formula over tensors reads: the common leading axes, the width, vectors and parameters.
type Operands<'a, T> = (Shape, usize, SmallVec<[Operand<'a, T>; 4]>, SmallVec<[Parameter<'a>; 4]>);

#[track_caller]
fn operands<'a, T: Float>(
    name: &str,
    vectors: &[&'a Tensor<T>],
    params: &[&'a Tensor<f64>],
) -> Operands<'a, T> {
    let shapes: SmallVec<[&Shape; 6]> =
        vectors.iter().map(|v| v.shape()).chain(params.iter().map(|p| p.shape())).collect();
    let rows = match row_shape(&shapes, &|i| i < vectors.len(), false) {
        Ok(rows) => rows,
        Err(message) => panic!("{name}: {message}"),
    };
    let read = |shape: &Shape| Broadcast::new(shape.axes(), rows.axes()).expect("a common shape fits all");
    let vectors = vectors
        .iter()
        .map(|v| Operand { data: v.data(), rows: read(&v.shape().rows()), constant: None })
        .collect();
    let params = params
        .iter()
        .map(|p| Parameter { data: Floats::F64(p.data()), rows: read(p.shape()), constant: None })
        .collect();
    let width = shapes[0].width();
    (rows, width, vectors, params)
}

//! What row formulas read and write: vectors, parameters, results.

use smallvec::SmallVec;

use crate::formula::plan::PARAMS;
use crate::numbers::parallel::split_front;
use crate::numbers::storage::{Floats, FloatsMut, Storage};
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{View, shapes};

/// An operand of a row formula: rows of a vector input (as wide as the results) or of a parameter (width 1).
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: Broadcast,
    /// The value of a parameter that is a constant of full precision.
    pub(crate) constant: Option<f64>,
}

impl<'a, T: Storage> Operand<'a, T> {
    #[inline(always)]
    pub(crate) fn row(&self, p: usize, width: usize) -> &'a [T] {
        let i = self.rows.at(p);
        &self.data[i * width..(i + 1) * width]
    }

    pub(crate) fn param(&self, p: usize) -> f64 {
        self.parameter().at(p)
    }

    pub(crate) fn parameter(&self) -> Parameter<'a> {
        Parameter { data: T::erase(self.data), rows: self.rows, constant: self.constant }
    }
}

/// A parameter of a row formula: its elements may be of another type than the vectors'.
#[derive(Clone, Copy)]
pub(crate) struct Parameter<'a> {
    pub(crate) data: Floats<'a>,
    pub(crate) rows: Broadcast,
    pub(crate) constant: Option<f64>,
}

impl Parameter<'_> {
    /// A parameter that is one number.
    pub(crate) fn constant_number(value: f64) -> Self {
        Parameter { data: Floats::F64(&[]), rows: Broadcast::cycled(1), constant: Some(value) }
    }

    #[inline(always)]
    pub(crate) fn at(&self, p: usize) -> f64 {
        self.constant.unwrap_or_else(|| self.data.get(self.rows.at(p)))
    }
}

/// Where the results of a formula go.
pub(crate) enum Results<'a, T> {
    /// Rows of a vector formula.
    Rows(&'a mut [T]),
    /// Numbers of a scalar formula.
    Scalars(FloatsMut<'a>),
}

impl<'a, T: Storage> Results<'a, T> {
    /// Results of a formula in the type of its vectors.
    pub(crate) fn new(out: &'a mut [T], vector: bool) -> Self {
        if vector { Results::Rows(out) } else { Results::Scalars(T::erase_mut(out)) }
    }

    pub(crate) fn len(&self, width: usize) -> usize {
        match self {
            Results::Rows(out) => out.len() / width,
            Results::Scalars(out) => out.len(),
        }
    }

    /// Takes the results of the first `n` rows off the front.
    pub(crate) fn split_front(&mut self, n: usize, width: usize) -> Self {
        match self {
            Results::Rows(out) => Results::Rows(split_front(out, n * width)),
            Results::Scalars(out) => Results::Scalars(out.split_front(n)),
        }
    }
}

/// What a row formula reads.
pub(crate) struct Operands<'a, T> {
    pub(crate) all: SmallVec<[Operand<'a, T>; 6]>,
    pub(crate) width: usize,
}

/// The common leading axes of a row formula's operands, some of them vectors, the others parameters.
fn row_axes(inputs: &[&Shape], is_vector: &dyn Fn(usize) -> bool) -> Option<Shape> {
    let axes: SmallVec<[&[usize]; 6]> = inputs
        .iter()
        .enumerate()
        .map(|(k, s)| if is_vector(k) { &s.axes()[..s.rank().saturating_sub(1)] } else { s.axes() })
        .collect();
    Broadcast::common(&axes)
}

impl<'a, T: Storage> Operands<'a, T> {
    pub(crate) fn new(views: &[View<'a, T>], is_vector: &dyn Fn(usize) -> bool) -> Self {
        let shapes = shapes(views);
        let checked = "shapes were checked when the node was made";
        let rows = row_axes(&shapes, is_vector).expect(checked);
        let operand = |(k, view): (usize, &View<'a, T>)| {
            let own = if is_vector(k) { view.shape.rows() } else { view.shape.clone() };
            Operand {
                data: view.data,
                rows: Broadcast::new(own.axes(), rows.axes()).expect(checked),
                constant: view.constant,
            }
        };
        Operands { all: views.iter().enumerate().map(operand).collect(), width: views[0].shape.width() }
    }

    /// The vectors, which are the first `vectors` operands, and the parameters after them.
    pub(crate) fn split(&self, vectors: usize) -> (&[Operand<'a, T>], SmallVec<[Parameter<'a>; PARAMS]>) {
        let (vectors, parameters) = self.all.split_at(vectors);
        (vectors, parameters.iter().map(Operand::parameter).collect())
    }

    /// How each operand is read, and the width of its rows; the first `vectors` ones are vectors.
    pub(crate) fn reads(&self, vectors: usize) -> SmallVec<[(Broadcast, usize); 6]> {
        let width = |i| if i < vectors { self.width } else { 1 };
        self.all.iter().enumerate().map(|(i, operand)| (operand.rows, width(i))).collect()
    }
}

/// The shape of a row formula's result: one number for each row, or one vector.
pub(crate) fn row_shape(
    inputs: &[&Shape],
    is_vector: &dyn Fn(usize) -> bool,
    vector_result: bool,
) -> Result<Shape, ShapeError> {
    let shapes = || inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
    let width = inputs[0].width();
    let fits = |(k, s): (usize, &&Shape)| !is_vector(k) || !s.axes().is_empty() && s.width() == width;
    if width == 0 || !inputs.iter().enumerate().all(fits) {
        return Err(ShapeError::new(format!("vectors of one width are needed, not {}", shapes())));
    }
    let rows = row_axes(inputs, is_vector)
        .ok_or_else(|| ShapeError::new(format!("the rows of shapes {} do not broadcast", shapes())))?;
    Ok(if vector_result { rows.with_width(width) } else { rows })
}

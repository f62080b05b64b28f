//! Row functions: operations on rows that no [`RowFormula`](crate::RowFormula) expresses.
//!
//! A row formula sees its rows through their inner products. A function that needs the coordinates
//! themselves, such as a function of a matrix that is stored in a row, is written on slices, with its
//! reverse pass by hand.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernels::operands::Operand;
use crate::kernels::pieces::for_each_piece;
use crate::numbers::lanes::array;
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::storage::Storage;
use crate::tape::float::Float;
use crate::tape::operation::Operation;
use crate::tape::var::Var;
use crate::tensor::shape::{Broadcast, Shape, ShapeError};
use crate::tensor::view::{Outcome, View};

/// A function of `V` rows to a row, computed in `f64` on slices.
///
/// [`Rows::row_function`](crate::Rows::row_function) applies it to single rows, to tensors row by row
/// (in parallel, with broadcasting of leading axes) and to tape variables, where its
/// [`pullback`](Self::pullback) is the reverse pass.
/// [`Rows::scalar_function`](crate::Rows::scalar_function) reads a result of one element as a number.
/// A row function may carry data, such as a matrix size. Forward mode is not offered. On a tape whose
/// values are on a device, the function is computed on the host.
///
/// ```
/// use cotangent_engine::{Float, Row, RowFunction, Rows, ShapeError, Tape, Tensor, Var};
///
/// /// The cross product of vectors in three dimensions.
/// struct Cross;
///
/// fn cross(a: &[f64], b: &[f64], out: &mut [f64]) {
///     for i in 0..3 {
///         let (j, k) = ((i + 1) % 3, (i + 2) % 3);
///         out[i] = a[j] * b[k] - a[k] * b[j];
///     }
/// }
///
/// impl RowFunction<2> for Cross {
///     fn name(&self) -> &'static str {
///         "cross"
///     }
///     fn width(&self, widths: [usize; 2]) -> Result<usize, ShapeError> {
///         if widths == [3, 3] {
///             return Ok(3);
///         }
///         Err(ShapeError::new(format!("3 coordinates each are needed, not {widths:?}")))
///     }
///     fn eval<T: Float>(&self, [a, b]: [&[f64]; 2], out: &mut [f64]) {
///         cross(a, b, out);
///     }
///     fn pullback(&self, [a, b]: [&[f64]; 2], _out: &[f64], g: &[f64], [da, db]: [&mut [f64]; 2]) {
///         cross(b, g, da); // ⟨g, a × b⟩ = ⟨b × g, a⟩ = ⟨g × a, b⟩
///         cross(g, a, db);
///     }
/// }
///
/// let (a, b) = (Row::from([1.0, 0.0, 0.0]), Row::from([0.0, 1.0, 0.0]));
/// assert_eq!(Row::row_function(Cross, [&a, &b])[..], [0.0, 0.0, 1.0]);
///
/// let tape = Tape::<f64>::new();
/// let many = tape.variable(&Tensor::new([2, 3], vec![1.0, 0.0, 0.0, 0.0, 2.0, 0.0]));
/// let one = tape.variable(&Tensor::new([3], b.to_vec()));
/// let product = Var::row_function(Cross, [&many, &one]);
/// assert_eq!(product.to_tensor().data(), [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
/// let gradients = tape.backward(product.sum());
/// assert_eq!(gradients.wrt(one).data(), [-2.0, 1.0, 1.0]);
/// ```
pub trait RowFunction<const V: usize>: Send + Sync + 'static {
    /// The name shown in messages.
    fn name(&self) -> &'static str;

    /// The width of the result, given those of the rows.
    ///
    /// # Errors
    /// What does not fit, in words.
    fn width(&self, widths: [usize; V]) -> Result<usize, ShapeError>;

    /// Writes every element of the result, which comes with unspecified content.
    ///
    /// `T` is the type that rows are stored in and that the result will be rounded to. A function whose
    /// result must satisfy a constraint to within rounding may use `T::EPSILON`.
    fn eval<T: Float>(&self, rows: [&[f64]; V], out: &mut [f64]);

    /// Writes every element of the cotangent of each row, given the result and its cotangent `g`.
    /// `cotangents` comes with unspecified content.
    ///
    /// # Panics
    /// Unless it is written: a function need not have a gradient.
    fn pullback(&self, rows: [&[f64]; V], out: &[f64], g: &[f64], cotangents: [&mut [f64]; V]) {
        let _ = (rows, out, g, cotangents);
        panic!("{}: this row function has no pullback, and a gradient was asked for", self.name())
    }
}

/// The estimated time of a row in nanoseconds, without the time for each of its elements: that of a matrix
/// function of few coordinates.
const COST: usize = 500;

/// Widens a row to `f64`.
#[inline]
fn widen<T: Float>(from: &[T], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f64());
}

/// The front of a buffer cut into rows of the given widths.
fn cut<const V: usize>(mut buffer: &mut [f64], widths: [usize; V]) -> [&mut [f64]; V] {
    widths.map(|width| split_front(&mut buffer, width))
}

/// Evaluates the function at all row positions. `out` has `width` elements for each.
pub(crate) fn evaluate<F: RowFunction<V>, T: Float, U: Float, const V: usize>(
    function: &F,
    operands: &[Operand<'_, T>; V],
    widths: [usize; V],
    width: usize,
    mut out: &mut [U],
) {
    let total = widths.iter().sum::<usize>();
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(out.len() / width, 1, COST + 10 * total)
        .into_iter()
        .map(|range| (range.clone(), split_front(&mut out, range.len() * width)))
        .collect();
    parallel::run(&mut jobs, |(range, out)| {
        f64::with_scratch(total + width, |scratch| {
            let (rows, result) = scratch.split_at_mut(total);
            for (p, out) in range.clone().zip(out.chunks_exact_mut(width)) {
                let mut rows = cut(rows, widths);
                for (i, row) in rows.iter_mut().enumerate() {
                    widen(operands[i].row(p, widths[i]), row);
                }
                function.eval::<T>(rows.map(|row| &*row), result);
                out.iter_mut().zip(&*result).for_each(|(out, &y)| *out = U::nearest(y));
            }
        });
    });
}

/// The common leading axes of a function's operands, the operands' widths, and the result's width.
pub(crate) fn shapes<F: RowFunction<V>, const V: usize>(
    function: &F,
    inputs: [&Shape; V],
    scalar: bool,
) -> Result<(Shape, [usize; V], usize), ShapeError> {
    if inputs.iter().any(|shape| shape.axes().is_empty()) {
        return Err(ShapeError::new("rows are needed, not a number"));
    }
    let widths = inputs.map(Shape::width);
    let width = function.width(widths)?;
    if width == 0 || scalar && width != 1 {
        return Err(ShapeError::new(format!(
            "a result of {width} elements is no {}",
            if scalar { "number" } else { "row" }
        )));
    }
    let leading = inputs.map(|shape| &shape.axes()[..shape.rank() - 1]);
    let rows = Broadcast::common(&leading).ok_or_else(|| {
        let shapes: Vec<String> = inputs.iter().map(|shape| shape.to_string()).collect();
        ShapeError::new(format!("the rows of shapes {} do not broadcast", shapes.join(", ")))
    })?;
    Ok((rows, widths, width))
}

/// How operands are read over the common rows.
pub(crate) fn operands<'a, T: Float, const V: usize>(
    inputs: [(&'a [T], &Shape); V],
    rows: &Shape,
) -> [Operand<'a, T>; V] {
    inputs.map(|(data, shape)| Operand {
        data,
        rows: Broadcast::new(shape.rows().axes(), rows.axes()).expect("a common shape fits all"),
        constant: None,
    })
}

/// A row function as an operation of a tape.
struct RowOperation<F, const V: usize> {
    function: F,
    /// Whether the result is a number for each row.
    scalar: bool,
}

impl<F: RowFunction<V>, const V: usize> RowOperation<F, V> {
    fn read<'a, T: Float>(&self, inputs: &[View<'a, T>]) -> ([Operand<'a, T>; V], [usize; V], usize) {
        let views: [View<'a, T>; V] = std::array::from_fn(|i| inputs[i]);
        let (rows, widths, width) = shapes(&self.function, views.map(|view| view.shape), self.scalar)
            .expect("shapes were checked when the node was made");
        (operands(views.map(|view| (view.data, view.shape)), &rows), widths, width)
    }
}

impl<F: RowFunction<V>, T: Float, const V: usize> Operation<T> for RowOperation<F, V> {
    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (rows, _, width) = shapes(&self.function, array(inputs[0], |i| inputs[i]), self.scalar)?;
        Ok(if self.scalar { rows } else { rows.with_width(width) })
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (operands, widths, width) = self.read(inputs);
        evaluate(&self.function, &operands, widths, width, out);
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let (operands, widths, width) = self.read(inputs);
        let (n, total) = (g.len() / width, widths.iter().sum::<usize>());
        let reads: [(Broadcast, usize); V] =
            array((Broadcast::cycled(1), 0), |i| (operands[i].rows, widths[i]));
        for_each_piece(&reads, n, COST + 10 * total, grads, |piece| {
            f64::with_scratch(2 * (total + width), |scratch| {
                let (rows, scratch) = scratch.split_at_mut(total);
                let (cotangents, scratch) = scratch.split_at_mut(total);
                let (out, upstream) = scratch.split_at_mut(width);
                for p in piece.range.clone() {
                    let mut rows = cut(rows, widths);
                    for (i, row) in rows.iter_mut().enumerate() {
                        widen(operands[i].row(p, widths[i]), row);
                    }
                    widen(&outcome.out[p * width..(p + 1) * width], out);
                    widen(&g[p * width..(p + 1) * width], upstream);
                    let rows = rows.map(|row| &*row);
                    self.function.pullback(rows, out, upstream, cut(cotangents, widths));
                    for (i, cotangent) in cut(cotangents, widths).into_iter().enumerate() {
                        let read = operands[i].rows;
                        piece.places[i].give(read.is_full(n), read.at(p), cotangent);
                    }
                }
            });
        });
    }
}

/// Records a row function on the tape of its first variable.
#[track_caller]
pub(crate) fn record<'t, F: RowFunction<V>, T: Float, const V: usize>(
    function: F,
    inputs: [&Var<'t, T>; V],
    scalar: bool,
) -> Var<'t, T> {
    inputs[0]
        .tape()
        .shared_operation(Arc::new(RowOperation::<F, V> { function, scalar }), &inputs.map(|v| *v))
}

//! Clipping: the norm of all gradients together, and of each parameter's gradient by itself.

use std::ops::Range;

use cotangent_engine::{Float, GradientView, Tensor};
use cotangent_manifolds::{FactorVisitor, Module, Param, Path, Steps, Visitor};

use crate::gradient_source::GradientSource;
use crate::steps::device;

/// Rows of one task.
const ROWS: usize = 256;

/// The norm of the Riemannian gradients of all parameters of a module together:
/// `√Σ ‖egrad_to_rgrad(x, g)‖²_x`. It does not depend on the manifolds' coordinates. Gradients on a
/// device stay there; only this number is read back. The norm is infinite or NaN if it cannot be
/// computed in the element type.
pub fn norm<T: Float, N: Module<T>>(module: &N, gradients: &impl GradientSource<T>) -> f64 {
    norm_with_path(&mut Path::root(), module, gradients).unwrap_or_else(|(_, norm)| norm)
}

/// Same as [`norm`], with a path whose memory is reused.
///
/// # Errors
/// If the norm is not finite: returns the first parameter at which it is not, and the norm.
pub(crate) fn norm_with_path<T: Float, N: Module<T>>(
    path: &mut Path,
    module: &N,
    gradients: &impl GradientSource<T>,
) -> Result<f64, (String, f64)> {
    path.restart();
    if !gradients.device().is_cpu() {
        return device::norm(path, module, gradients);
    }
    struct Squares<'a, G> {
        gradients: &'a G,
        sum: f64,
        /// The first parameter at which the sum is not finite.
        not_finite: Option<String>,
    }
    impl<T: Float, G: GradientSource<T>> Visitor<T> for Squares<'_, G> {
        fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>) {
            if let Some(gradient) = self.gradients.gradient(param.id()) {
                let mut factors = Factors { points: param.value(), gradient, sum: 0.0 };
                param.manifold().factors(0..param.value().width(), &mut factors);
                self.sum += factors.sum;
                if !self.sum.is_finite() && self.not_finite.is_none() {
                    self.not_finite = Some(param.called(path).to_owned());
                }
            }
        }
    }
    let mut squares = Squares { gradients, sum: 0.0, not_finite: None };
    module.visit(path, &mut squares);
    let norm = squares.sum.sqrt();
    squares.not_finite.map_or(Ok(norm), |param| Err((param, norm)))
}

/// Sums the squares of the gradient of one parameter, factor by factor.
struct Factors<'a, T: Float> {
    points: &'a Tensor<T>,
    gradient: GradientView<'a, T>,
    sum: f64,
}

impl<T: Float> FactorVisitor for Factors<'_, T> {
    fn factor<M: Steps>(&mut self, manifold: &M, columns: Range<usize>) {
        let width = self.points.width();
        let (values, rows) = self.gradient.parts();
        let row = |i: usize| rows.map_or(i, |rows| rows[i] as usize);
        let square = |range: Range<usize>| {
            T::with_scratch_tape(|tape| {
                let shape = [range.len(), columns.len()];
                let gather = |from: &dyn Fn(usize) -> usize, data: &[T]| {
                    tape.constant_with(shape, |to| {
                        for (to, i) in to.chunks_exact_mut(columns.len()).zip(range.clone()) {
                            let start = from(i) * width;
                            to.copy_from_slice(&data[start + columns.start..start + columns.end]);
                        }
                    })
                };
                let (x, g) = (gather(&row, self.points.data()), gather(&|i| i, values));
                let gradient = manifold.egrad_to_rgrad(&x, &g);
                // Squared in `f64`, because in `f32` the square of a norm that needs clipping may
                // overflow.
                let norms = manifold.norm(&x, &gradient);
                norms.with_data(|norms| norms.iter().map(|norm| norm.to_f64().powi(2)).sum::<f64>())
            })
        };
        if !values.is_empty() {
            self.sum += sum(0..values.len() / width, &square);
        }
    }
}

/// The sum over ranges of rows, in parallel and in a fixed order.
fn sum(range: Range<usize>, square: &(impl Fn(Range<usize>) -> f64 + Sync)) -> f64 {
    if range.len() <= ROWS {
        return square(range);
    }
    let middle = range.start + range.len() / 2;
    let (left, right) = rayon::join(|| sum(range.start..middle, square), || sum(middle..range.end, square));
    left + right
}

/// Parameters that are matrices, one below the other, each of which is clipped by itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stacked {
    /// How their paths begin.
    pub(crate) prefix: String,
    /// How many matrices each of them is.
    pub(crate) blocks: usize,
}

impl Stacked {
    /// How many matrices a parameter is, by the longest prefix of its path; `None` if it is not stacked.
    pub(crate) fn blocks(stacked: &[Stacked], path: &str) -> Option<usize> {
        let fitting = stacked.iter().filter(|stacked| path.starts_with(&stacked.prefix));
        fitting.max_by_key(|stacked| stacked.prefix.len()).map(|stacked| stacked.blocks)
    }
}

/// The Euclidean norm of a gradient's coordinates.
pub(crate) fn length<T: Float>(values: &[T]) -> f64 {
    values.iter().map(|value| value.to_f64().powi(2)).sum::<f64>().sqrt()
}

/// The factor that clips a gradient of this norm.
///
/// # Errors
/// The norm, if it is not finite.
pub(crate) fn factor(max: f64, norm: f64) -> Result<f64, f64> {
    if norm.is_finite() { Ok((max / norm).min(1.0)) } else { Err(norm) }
}

/// Clips each of `blocks` by itself, in place. `values` has rows of `width` elements: the rows `listed` of a
/// table of `rows`, or all of them.
///
/// # Errors
/// The norm of a block, if it is not finite.
pub(crate) fn clip_blocks<T: Float>(
    values: &mut [T],
    listed: Option<&[u32]>,
    width: usize,
    [rows, blocks]: [usize; 2],
    max: f64,
) -> Result<(), f64> {
    let block = |i: usize| listed.map_or(i, |listed| listed[i] as usize) / (rows / blocks);
    let mut squares = vec![0.0; blocks];
    for (i, row) in values.chunks_exact(width).enumerate() {
        row.iter().for_each(|value| squares[block(i)] += value.to_f64().powi(2));
    }
    let factors: Vec<f64> =
        squares.iter().map(|square: &f64| factor(max, square.sqrt())).collect::<Result<_, _>>()?;
    for (i, row) in values.chunks_exact_mut(width).enumerate() {
        let factor = factors[block(i)];
        if factor < 1.0 {
            row.iter_mut().for_each(|value| *value = T::nearest(factor * value.to_f64()));
        }
    }
    Ok(())
}

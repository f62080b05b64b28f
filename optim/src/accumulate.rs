//! Sums the gradients of several backward passes.

use std::collections::HashMap;

use cotangent_engine::{Float, GradientView, ParamId};
use cotangent_manifolds::Module;

use crate::gradient_source::GradientSource;

/// The sum of the gradients of several backward passes, for a batch that is too large for one pass.
///
/// The sum is kept on the processor. Gradients on a device are read back when they are added, and a step
/// with the sum moves the parameters on the processor. On a device it is best to take a batch in one
/// pass.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Euclidean, Param};
/// use cotangent_optim::{Accumulated, RiemannianSgd};
/// let mut x = Param::new("x", Euclidean, Tensor::new([2, 1], vec![1.0_f64, 2.0]));
/// let mut sum = Accumulated::new();
/// for row in [0, 1, 1] {
///     let tape = Tape::new();
///     let loss = x.on(&tape).gather(&[row]).sum();
///     sum.add(&x, &tape.backward(loss), 0.5);
/// }
/// RiemannianSgd::new(1.0).unwrap().step(&mut x, &sum).unwrap();
/// assert_eq!(x.value().data(), [0.5, 1.0]);
/// sum.clear();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Accumulated<T: Float> {
    sums: HashMap<ParamId, Option<Sum<T>>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Sum<T> {
    Dense(Vec<T>),
    Rows { rows: Vec<u32>, place: HashMap<u32, usize>, values: Vec<T>, width: usize },
}

fn add<T: Float>(to: &mut [T], from: &[T], weight: f64) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::nearest(to.to_f64() + weight * from.to_f64());
    }
}

impl<T: Float> Sum<T> {
    /// Adds a gradient of a table with `len` elements to a sum, which may have none so far.
    pub(crate) fn add_to(sum: &mut Option<Self>, gradient: GradientView<'_, T>, len: usize, weight: f64) {
        let empty = || match gradient {
            GradientView::Dense(_) => Sum::Dense(vec![T::zero(); len]),
            GradientView::Rows { width, .. } => {
                Sum::Rows { rows: Vec::new(), place: HashMap::new(), values: Vec::new(), width }
            }
        };
        sum.get_or_insert_with(empty).add(gradient, len, weight);
    }

    /// The sum of gradients of these rows, of `width` elements each.
    pub(crate) fn from_rows(rows: Vec<u32>, values: Vec<T>, width: usize) -> Self {
        let place = rows.iter().copied().zip(0..).collect();
        Sum::Rows { rows, place, values, width }
    }

    /// The sum as a gradient.
    pub(crate) fn view(&self) -> GradientView<'_, T> {
        match self {
            Sum::Dense(values) => GradientView::Dense(values),
            Sum::Rows { rows, values, width, .. } => GradientView::Rows { rows, values, width: *width },
        }
    }

    /// Adds a gradient of a table with `len` elements.
    fn add(&mut self, gradient: GradientView<'_, T>, len: usize, weight: f64) {
        if let (Sum::Rows { rows, values, width, .. }, GradientView::Dense(_)) = (&*self, gradient) {
            let sparse = GradientView::Rows { rows, values, width: *width };
            *self = Sum::Dense(sparse.to_dense(len / (*width).max(1), *width));
        }
        match (self, gradient) {
            (Sum::Dense(sum), GradientView::Dense(values)) => add(sum, values, weight),
            (Sum::Dense(sum), GradientView::Rows { rows, values, width }) => {
                for (&row, values) in rows.iter().zip(values.chunks_exact(width.max(1))) {
                    add(&mut sum[row as usize * width..][..width], values, weight);
                }
            }
            (Sum::Rows { rows, place, values: sum, .. }, GradientView::Rows { rows: new, values, width }) => {
                for (&row, values) in new.iter().zip(values.chunks_exact(width.max(1))) {
                    let at = *place.entry(row).or_insert_with(|| {
                        rows.push(row);
                        sum.resize(sum.len() + width, T::zero());
                        rows.len() - 1
                    });
                    add(&mut sum[at * width..][..width], values, weight);
                }
            }
            (Sum::Rows { .. }, GradientView::Dense(_)) => unreachable!("made dense above"),
        }
    }
}

impl<T: Float> Accumulated<T> {
    /// An empty sum.
    pub fn new() -> Self {
        Accumulated { sums: HashMap::new() }
    }

    /// Adds `weight` times the gradients with respect to a module's parameters.
    pub fn add<N: Module<T>>(&mut self, module: &N, gradients: &impl GradientSource<T>, weight: f64) {
        module.each(|_, param| {
            let Some(gradient) = gradients.gradient(param.id()) else { return };
            let sum = self.sums.entry(param.id()).or_default();
            Sum::add_to(sum, gradient, param.value().len(), weight);
        });
    }

    /// Sets the sum of a parameter.
    pub(crate) fn put(&mut self, id: ParamId, sum: Sum<T>) {
        self.sums.insert(id, Some(sum));
    }

    /// Forgets all gradients.
    pub fn clear(&mut self) {
        self.sums.clear();
    }
}

impl<T: Float> GradientSource<T> for Accumulated<T> {
    fn gradient(&self, id: ParamId) -> Option<GradientView<'_, T>> {
        self.sums.get(&id)?.as_ref().map(Sum::view)
    }
}

//! Riemannian stochastic gradient descent. Bonnabel 2013; Nickel & Kiela 2017, eq. 5.

use cotangent_engine::{Float, GradientView, Gradients};
use cotangent_manifolds::{Manifold, Param};
use rayon::prelude::*;

use crate::OptimError;

/// `x ← retract(x, −rate · egrad_to_rgrad(x, g))`, row by row.
///
/// A row-sparse gradient moves the rows it names and leaves all others untouched, to the bit.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_manifolds::{Param, ParamOnTape, Point, Stereographic};
/// use cotangent_optim::RiemannianSgd;
///
/// let ball = Stereographic::new(-1.0).unwrap();
/// let mut x = Param::new("x", ball, Tensor::new([1, 2], vec![0.1, 0.2]));
/// let sgd = RiemannianSgd::new(1.0).unwrap();
/// {
///     // One exact step on half the squared distance lands on the target.
///     let tape = Tape::<f64>::new();
///     let target = Point::new(ball, tape.constant(&Tensor::new([1, 2], vec![0.0, -0.7])));
///     let loss = 0.5 * tape.point(&x).dist(&target).square().sum();
///     sgd.step(&mut x, &tape.backward(loss)).unwrap();
/// }
/// assert!((x.value().row(0)[1] + 0.7).abs() < 1e-15);
/// ```
#[derive(Clone, Debug)]
pub struct RiemannianSgd {
    rate: f64,
}

impl RiemannianSgd {
    /// With a learning rate.
    ///
    /// # Errors
    /// If the rate is negative or not finite.
    pub fn new(rate: f64) -> Result<Self, OptimError> {
        let mut sgd = RiemannianSgd { rate: 0.0 };
        sgd.set_rate(rate)?;
        Ok(sgd)
    }

    /// The learning rate.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the learning rate.
    ///
    /// # Errors
    /// If the rate is negative or not finite.
    pub fn set_rate(&mut self, rate: f64) -> Result<(), OptimError> {
        if !(rate >= 0.0 && rate.is_finite()) {
            return Err(OptimError::Rate(rate));
        }
        self.rate = rate;
        Ok(())
    }

    /// Moves a parameter against its gradient. Nothing happens if the loss does not depend on it.
    ///
    /// # Errors
    /// If a moved row would not be finite; the parameter is then unchanged.
    pub fn step<M: Manifold, T: Float>(
        &self,
        param: &mut Param<M, T>,
        gradients: &Gradients<'_, T>,
    ) -> Result<(), OptimError> {
        let Some(gradient) = gradients.param(param.id()) else { return Ok(()) };
        let (manifold, rate, width) = (*param.manifold(), self.rate, param.value().width());
        let (values, rows) = match gradient {
            GradientView::Dense(values) => (values, None),
            GradientView::Rows { rows, values, .. } => (values, Some(rows)),
        };
        let row_of = |i: usize| rows.map_or(i, |rows| rows[i] as usize);
        T::with_scratch(values.len(), |moved| {
            let table = param.value();
            // Chunks small enough to stay in cache from gathering to the moved point.
            let step = |chunk: usize, moved: &mut [T], g: &[T]| {
                T::with_scratch_tape(|tape| {
                    let shape = [g.len() / width, width];
                    let points = tape.constant_with(shape, |points| {
                        for (i, point) in points.chunks_exact_mut(width).enumerate() {
                            point.copy_from_slice(table.row(row_of(chunk * ROWS + i)));
                        }
                    });
                    let g = tape.constant_with(shape, |to| to.copy_from_slice(g));
                    let descended = manifold.descend(&points, &g, &tape.scalar(rate));
                    descended.with_data(|data| moved.copy_from_slice(data));
                });
            };
            if values.len() <= ROWS * width {
                step(0, moved, values);
            } else {
                let chunks = moved.par_chunks_mut(ROWS * width).zip(values.par_chunks(ROWS * width));
                chunks.enumerate().for_each(|(chunk, (moved, g))| step(chunk, moved, g));
            }
            if let Some(bad) = moved.iter().position(|x| !x.is_finite()) {
                let row = row_of(bad / width);
                return Err(OptimError::NotFinite { param: param.name().to_owned(), row });
            }
            let table = param.value_mut().data_mut();
            for (i, point) in moved.chunks_exact(width).enumerate() {
                let start = row_of(i) * width;
                table[start..start + width].copy_from_slice(point);
            }
            Ok(())
        })
    }
}

/// Rows of a task: several microseconds of work.
const ROWS: usize = 256;

#[cfg(test)]
mod tests {
    use cotangent_engine::{Tape, Tensor};
    use cotangent_manifolds::{Euclidean, ParamOnTape};

    use super::*;

    #[test]
    fn euclidean_step_is_plain_sgd() {
        let mut x = Param::new("x", Euclidean, Tensor::new([2, 2], vec![1.0_f32, 2.0, 3.0, 4.0]));
        let tape = Tape::new();
        let v = *tape.point(&x).coordinates();
        let gradients = tape.backward((v * v).sum());
        RiemannianSgd::new(0.25).unwrap().step(&mut x, &gradients).unwrap();
        assert_eq!(x.value().data(), [0.5, 1.0, 1.5, 2.0]);
    }

    #[test]
    fn sparse_step_equals_dense_step_and_sums_duplicates() {
        let start = Tensor::from_fn([500, 3], |i| (i as f64 * 0.37).sin() * 0.4);
        let ball = cotangent_manifolds::Stereographic::new(-1.0).unwrap();
        let rows: Vec<u32> = (0..400).map(|i| (i * i) % 300).collect();
        let mut sparse = Param::new("sparse", ball, start.clone());
        let mut dense = Param::new("dense", ball, start.clone());
        let sgd = RiemannianSgd::new(0.1).unwrap();
        let tape = Tape::new();
        let loss = tape.point(&sparse).coordinates().gather(&rows).square().sum();
        sgd.step(&mut sparse, &tape.backward(loss)).unwrap();
        let tape = Tape::new();
        // Adding 0 x² makes the gradient dense.
        let v = *tape.point(&dense).coordinates();
        let loss = v.gather(&rows).square().sum() + 0.0 * v.square().sum();
        sgd.step(&mut dense, &tape.backward(loss)).unwrap();
        assert_eq!(sparse.value().data(), dense.value().data());
        assert_eq!(sparse.value().row(301), start.row(301));
        assert_ne!(sparse.value().row(1), start.row(1));
    }

    #[test]
    fn bad_gradients_and_rates_are_refused_and_change_nothing() {
        let mut x = Param::new("weights", Euclidean, Tensor::new([2, 1], vec![1.0_f64, 0.0]));
        let before = x.value().clone();
        let tape = Tape::new();
        let gradients = tape.backward(tape.point(&x).coordinates().ln().sum());
        let error = RiemannianSgd::new(0.1).unwrap().step(&mut x, &gradients).unwrap_err();
        assert_eq!(error, OptimError::NotFinite { param: "weights".into(), row: 1 });
        assert_eq!(*x.value(), before);
        for rate in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(RiemannianSgd::new(rate).is_err());
        }
    }
}

//! Averages of a parameter's points during training, along geodesics: exponential
//! (Tarvainen & Valpola 2017) and uniform (Polyak & Juditsky 1992). On manifolds: Tripuraneni,
//! Flammarion, Bach, Jordan 2018.

use std::collections::HashMap;

use cotangent_engine::{Float, ParamId, Rows, Tape, Tensor};
use cotangent_manifolds::steps::Moving;
use cotangent_manifolds::{AnyParam, Module, Param, Path, Steps, Visitor};
use serde::{Deserialize, Serialize};

use crate::error::{OptimError, setting};
use crate::steps::device::all_finite;
use crate::steps::host::for_each;

/// The average of a module's parameters over the course of training.
///
/// ```
/// use cotangent_engine::Tensor;
/// use cotangent_manifolds::{Euclidean, Param};
/// use cotangent_optim::Average;
/// let mut x = Param::new("x", Euclidean, Tensor::new([1, 1], vec![0.0_f64]));
/// let mut mean = Average::uniform();
/// for value in [3.0, 4.0, 8.0] {
///     x.value_mut().row_mut(0)[0] = value;
///     mean.update(&x)?;
/// }
/// mean.swap(&mut x)?; // evaluate with the average …
/// assert_eq!(x.value().data(), [5.0]);
/// mean.swap(&mut x)?; // … and go on training
/// assert_eq!(x.value().data(), [8.0]);
/// # Ok::<(), cotangent_optim::OptimError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Average<T: Float = f32> {
    /// The part of the average that is kept at each update; `None` for the uniform average.
    decay: Option<f64>,
    updates: u64,
    values: HashMap<ParamId, Tensor<T>>,
}

/// The content of an [`Average`], by parameter name, for checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AverageState {
    updates: u64,
    values: Vec<(String, Vec<f64>)>,
}

impl<T: Float> Average<T> {
    /// The exponential average: each update moves it the part `1 − decay` of the way to the parameter. At
    /// first it is moved farther: after k updates the decay of the next one is at most `(1 + k)/(10 + k)`, so
    /// that the parameters before training are soon forgotten. This is TensorFlow's rule.
    ///
    /// # Errors
    /// If the decay is not in `[0, 1)`.
    pub fn exponential(decay: f64) -> Result<Self, OptimError> {
        let decay = Some(setting("decay of an average", decay, 0.0, 1.0)?);
        Ok(Average { decay, ..Self::uniform() })
    }

    /// The uniform average: update k moves it the part `1/k` of the way to the parameter.
    pub fn uniform() -> Self {
        Average { decay: None, updates: 0, values: HashMap::new() }
    }

    /// Adds the current parameters to the average. At the first update they are the average. Averages of
    /// parameters on a device are computed there; per parameter, one number is read back: whether the
    /// average is finite.
    ///
    /// # Errors
    /// If a geodesic to a parameter is not finite, or a parameter has another shape than before.
    pub fn update<N: Module<T>>(&mut self, module: &N) -> Result<(), OptimError> {
        struct Update<'a, T: Float> {
            values: &'a mut HashMap<ParamId, Tensor<T>>,
            part: f64,
            outcome: Result<(), OptimError>,
        }
        impl<T: Float> Visitor<T> for Update<'_, T> {
            fn param<M: Steps>(&mut self, path: &str, param: &Param<M, T>) {
                if self.outcome.is_err() || param.value().is_empty() {
                    return;
                }
                let Some(average) = self.values.get_mut(&param.id()) else {
                    self.values.insert(param.id(), param.value().clone());
                    return;
                };
                self.outcome = same_shape(path, param, average).and_then(|()| {
                    towards(param.manifold(), average, param.value(), self.part)
                        .map_err(|row| OptimError::Average { param: param.called(path).to_owned(), row })
                });
            }
        }
        let part = match self.decay {
            Some(decay) => {
                let updates = self.updates as f64;
                1.0 - decay.min((1.0 + updates) / (10.0 + updates))
            }
            None => 1.0 / (self.updates + 1) as f64,
        };
        let mut update = Update { values: &mut self.values, part, outcome: Ok(()) };
        module.visit(&mut Path::root(), &mut update);
        update.outcome?;
        self.updates += 1;
        Ok(())
    }

    /// Exchanges the parameters and their averages.
    ///
    /// # Errors
    /// If a parameter has another shape than its average.
    pub fn swap<N: Module<T>>(&mut self, module: &mut N) -> Result<(), OptimError> {
        let mut outcome = Ok(());
        module.each_mut(|path, param| {
            let Some(average) = self.values.get_mut(&param.id()) else { return };
            if outcome.is_ok() {
                outcome = same_shape(path, param, average);
            }
            if outcome.is_ok() {
                std::mem::swap(param.value_mut(), average);
            }
        });
        outcome
    }

    /// The averages of a module's parameters.
    pub fn state<N: Module<T>>(&self, module: &N) -> AverageState {
        let mut values = Vec::new();
        module.each(|path, param| {
            if let Some(average) = self.values.get(&param.id()) {
                let average = average.data().iter().map(|x| x.to_f64()).collect();
                values.push((param.called(path).to_owned(), average));
            }
        });
        AverageState { updates: self.updates, values }
    }

    /// Restores the averages that [`state`](Self::state) returned for the same module.
    ///
    /// # Errors
    /// If a parameter has another size than its average.
    pub fn load_state<N: Module<T>>(&mut self, module: &N, state: &AverageState) -> Result<(), OptimError> {
        let by_name: HashMap<&str, &[f64]> =
            state.values.iter().map(|(name, values)| (name.as_str(), values.as_slice())).collect();
        let (mut averages, mut outcome) = (HashMap::new(), Ok(()));
        module.each(|path, param| {
            let Some(values) = by_name.get(param.called(path)) else { return };
            let shape = param.value().shape().clone();
            if values.len() != shape.elements() {
                outcome = Err(OptimError::Shape {
                    param: param.called(path).to_owned(),
                    shape: shape.to_string(),
                    what: "an average",
                    found: format!("{} elements", values.len()),
                });
                return;
            }
            averages.insert(param.id(), Tensor::from_fn(shape, |i| T::nearest(values[i])));
        });
        outcome?;
        (self.values, self.updates) = (averages, state.updates);
        Ok(())
    }
}

fn same_shape<T: Float>(path: &str, param: &dyn AnyParam<T>, average: &Tensor<T>) -> Result<(), OptimError> {
    if average.shape() == param.value().shape() {
        return Ok(());
    }
    let [shape, found] = [param.value(), average].map(|tensor| tensor.shape().to_string());
    let param = param.called(path).to_owned();
    Err(OptimError::Shape { param, shape, what: "an average", found: format!("shape {found}") })
}

/// Moves every row of `from` a part of the way to the same row of `to`. Runs on the device of `to`, if
/// it is on one.
fn towards<M: Steps, T: Float>(
    manifold: &M,
    from: &mut Tensor<T>,
    to: &Tensor<T>,
    part: f64,
) -> Result<(), usize> {
    let width = to.width();
    if !to.device().is_cpu() {
        let tape = Tape::with_device(to.device());
        let [x, y] = [&*from, to].map(|points| tape.constant(points).reshape([to.len() / width, width]));
        let moved = manifold.geodesic(&x, &y, &x.constant(part)).to_tensor();
        if !all_finite(to.device(), [&moved]) {
            let bad = moved.data().iter().position(|x| !x.is_finite());
            return Err(bad.expect("one is not finite") / width);
        }
        *from = moved.reshape(to.shape().clone());
        return Ok(());
    }
    let rows = Moving { points: from.data_mut(), momenta: &mut [], moments: [], gradients: to.data(), width };
    for_each(rows, &|rows: Moving<'_, T, 0>| {
        T::with_scratch_tape(|tape| {
            let shape = [rows.points.len() / width, width];
            let constant = |from: &[T]| tape.constant_with(shape, |to| to.copy_from_slice(from));
            let (x, y) = (constant(rows.points), constant(rows.gradients));
            manifold.geodesic(&x, &y, &x.constant(part)).with_data(|moved| {
                if let Some(bad) = moved.iter().position(|x| !x.is_finite()) {
                    return Err(bad / width);
                }
                rows.points.copy_from_slice(moved);
                Ok(())
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use cotangent_manifolds::PoincareBall;

    use super::*;

    #[test]
    fn averages_stay_on_geodesics_and_travel() {
        let ball = PoincareBall::new(-1.0);
        // Points at equal distances on a geodesic through the origin. The mean of the first 2k + 1 is
        // the middle one.
        let table = |r: f64| Tensor::new([1, 2], vec![0.6 * (r / 2.0).tanh(), 0.8 * (r / 2.0).tanh()]);
        let mut x = Param::new("x", ball, table(0.0));
        let mut mean = Average::uniform();
        let mut exponential = Average::exponential(0.25).unwrap();
        for r in 0..5 {
            *x.value_mut() = table(f64::from(r));
            mean.update(&x).unwrap();
            exponential.update(&x).unwrap();
        }
        // The first update sets it. The next one's decay is 2/11, and from then on 0.25.
        let expected = [2.0 / 11.0, 0.25, 0.25, 0.25].into_iter().zip(1..5);
        let expected =
            expected.fold(0.0, |average, (decay, r)| decay * average + (1.0 - decay) * f64::from(r));
        let mut copy = Average::uniform();
        copy.load_state(&x, &mean.state(&x)).unwrap();
        for (average, distance) in [(&mut mean, 2.0), (&mut exponential, expected), (&mut copy, 2.0)] {
            average.swap(&mut x).unwrap();
            assert!(ball.dist(x.value(), &table(distance)).data()[0] < 1e-14);
            average.swap(&mut x).unwrap();
            assert_eq!(*x.value(), table(4.0));
        }
        *x.value_mut() = Tensor::zeros([2, 2]);
        let message = mean.update(&x).unwrap_err().to_string();
        assert_eq!(message, "parameter \"x\" of shape [2, 2]: an average of shape [1, 2]");
        assert!(copy.load_state(&x, &mean.state(&x)).is_err());
    }
}

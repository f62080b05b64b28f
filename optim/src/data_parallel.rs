//! Processes the parts of a batch in parallel, each on its own tape.

use std::sync::Arc;

use cotangent_engine::{Device, Float, Tape, Var};
use cotangent_manifolds::Module;
use rayon::prelude::*;

use crate::exchange::{Exchange, sum_over_ranks};
use crate::{Accumulated, Algorithm, OptimError, Optimiser};

/// Steps by the gradient of a loss that is a sum over the parts of a batch. Use it when a model's single
/// operations are too small for several threads: the parts then run in parallel.
///
/// The parts' gradients are added in the order of the parts. So the result depends on how the batch is
/// split, but not on the number of threads.
///
/// ```
/// use cotangent_engine::{Device, Tensor};
/// use cotangent_manifolds::{Euclidean, Param};
/// use cotangent_optim::{DataParallel, RiemannianSgd};
/// let mut x = Param::new("x", Euclidean, Tensor::new([3, 1], vec![1.0_f64, 2.0, 3.0]));
/// let mut sgd = RiemannianSgd::new(0.25)?;
/// let mut parallel = DataParallel::new(Device::cpu());
/// let rows: [u32; 4] = [0, 0, 1, 2];
/// let parts: Vec<&[u32]> = rows.chunks(3).collect();
/// let loss = parallel
///     .step(&mut x, &mut sgd, &parts, |x, tape, rows| x.on(tape).gather(rows).square().sum())?;
/// assert_eq!(loss, 1.0 + 1.0 + 4.0 + 9.0);
/// assert_eq!(x.value().data(), [0.0, 1.0, 1.5]);
/// # Ok::<(), cotangent_optim::OptimError>(())
/// ```
pub struct DataParallel<T: Float = f32> {
    device: Device,
    ranks: Option<Arc<dyn Exchange>>,
    parts: Vec<Part<T>>,
    sum: Accumulated<T>,
}

/// The tape of a part, whose memory is reused for the next batch, and the part's results.
struct Part<T: Float> {
    tape: Tape<T>,
    loss: f64,
    gradients: Accumulated<T>,
}

impl<T: Float> DataParallel<T> {
    /// With tapes on this device.
    pub fn new(device: Device) -> Self {
        DataParallel { device, ranks: None, parts: Vec::new(), sum: Accumulated::new() }
    }

    /// As one of several ranks. All ranks have the same model and optimiser and take the same steps. Of the
    /// parts of a step each rank computes a run of neighbours. The result has the bits of one process with
    /// the same parts, where these are two or more.
    pub fn over(self, ranks: Arc<dyn Exchange>) -> Self {
        DataParallel { ranks: Some(ranks), ..self }
    }

    /// Takes a step of an optimiser and returns the loss, the sum over the parts. On a device, pass the
    /// batch as one part, so that the gradients stay on the device.
    ///
    /// # Errors
    /// As [`Optimiser::step`]; if the [ranks](Self::over) cannot exchange their gradients.
    ///
    /// # Panics
    /// If the loss or [`Tape::backward`] panics, or there are no parts.
    pub fn step<A, N, P>(
        &mut self,
        module: &mut N,
        optimiser: &mut Optimiser<A, T>,
        parts: &[P],
        loss: impl for<'t> Fn(&N, &'t Tape<T>, &P) -> Var<'t, T> + Sync,
    ) -> Result<f64, OptimError>
    where
        A: Algorithm,
        N: Module<T> + Sync,
        P: Sync,
    {
        assert!(!parts.is_empty(), "DataParallel: a batch of no parts");
        let parts = match &self.ranks {
            Some(ranks) => {
                let first = |rank: usize| parts.len() * rank / ranks.size();
                &parts[first(ranks.rank())..first(ranks.rank() + 1)]
            }
            None => parts,
        };
        let device = &self.device;
        let fresh =
            || Part { tape: Tape::with_device(device.clone()), loss: 0.0, gradients: Accumulated::new() };
        if self.parts.len() < parts.len() {
            self.parts.resize_with(parts.len(), fresh);
        }
        let own = &mut self.parts[..parts.len()];
        if let (None, [own], [part]) = (&self.ranks, &mut *own, parts) {
            own.tape.reset();
            let loss = loss(module, &own.tape, part);
            let value = loss.item();
            optimiser.step(module, &own.tape.backward(loss))?;
            return Ok(value);
        }
        let shared = &*module;
        own.par_iter_mut().zip(parts).for_each(|(own, part)| {
            own.tape.reset();
            let loss = loss(shared, &own.tape, part);
            own.loss = loss.item();
            own.gradients.clear();
            own.gradients.add(shared, &own.tape.backward(loss), 1.0);
        });
        if let Some(ranks) = &self.ranks {
            let own: Vec<(f64, &Accumulated<T>)> = own.iter().map(|own| (own.loss, &own.gradients)).collect();
            let (loss, sum) = sum_over_ranks(&**ranks, module, &own)?;
            optimiser.step(module, &sum)?;
            return Ok(loss);
        }
        self.sum.clear();
        own.iter().for_each(|own| self.sum.add(shared, &own.gradients, 1.0));
        let loss = own.iter().map(|own| own.loss).sum();
        optimiser.step(module, &self.sum)?;
        Ok(loss)
    }
}

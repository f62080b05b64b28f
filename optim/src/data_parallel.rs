//! Processes the parts of a batch in parallel, each on its own tape.

use std::sync::Arc;

use cotangent_engine::{Device, Float, Tape, Var};
use cotangent_manifolds::Module;
use rayon::prelude::*;

use crate::exchange::{Exchange, ExchangeError, RankSum};
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
    /// Number of parts that every rank computes together: the smallest number of threads of a rank.
    together: Option<usize>,
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
        let (ranks, together) = (None, None);
        DataParallel { device, ranks, together, parts: Vec::new(), sum: Accumulated::new() }
    }

    /// As one of several ranks. All ranks have the same model and optimiser and take the same steps. Of the
    /// parts of a step each rank computes a run of neighbours. While it computes some, it sends the gradients
    /// of those before. The result has the bits of one process with the same parts, where these are two or
    /// more.
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
        let count = parts.len();
        let share = |[rank, size]: [usize; 2]| count * rank / size..count * (rank + 1) / size;
        let parts = match &self.ranks {
            Some(ranks) => &parts[share([ranks.rank(), ranks.size()])],
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
        let compute = |own: &mut [Part<T>], parts: &[P]| {
            own.par_iter_mut().zip(parts).for_each(|(own, part)| {
                own.tape.reset();
                let loss = loss(shared, &own.tape, part);
                own.loss = loss.item();
                own.gradients.clear();
                own.gradients.add(shared, &own.tape.backward(loss), 1.0);
            });
        };
        if let Some(ranks) = &self.ranks {
            let together = match self.together {
                Some(together) => together,
                None => *self.together.insert(fewest_threads(&**ranks)?),
            };
            let largest = (0..ranks.size()).map(|rank| share([rank, ranks.size()]).len()).max();
            let pieces = largest.unwrap_or(0).div_ceil(together);
            let mut sum = RankSum::new(&**ranks, shared);
            send_in_pieces(&mut sum, [pieces, together], own, parts, compute)?;
            let (loss, sum) = sum.finish()?;
            optimiser.step(module, &sum)?;
            return Ok(loss);
        }
        compute(own, parts);
        self.sum.clear();
        own.iter().for_each(|own| self.sum.add(shared, &own.gradients, 1.0));
        let loss = own.iter().map(|own| own.loss).sum();
        optimiser.step(module, &self.sum)?;
        Ok(loss)
    }
}

/// Computes parts piece by piece, and sends each piece while the next one is computed. Some pieces may be
/// empty: every rank sends as many.
fn send_in_pieces<T: Float, P: Sync>(
    sum: &mut RankSum<'_>,
    [pieces, together]: [usize; 2],
    mut own: &mut [Part<T>],
    mut parts: &[P],
    compute: impl Fn(&mut [Part<T>], &[P]),
) -> Result<(), ExchangeError> {
    let mut done: Option<Vec<(f64, &Accumulated<T>)>> = None;
    for _ in 0..pieces {
        let (now, later) = own.split_at_mut(together.min(own.len()));
        let (these, others) = parts.split_at(now.len());
        std::thread::scope(|scope| {
            let sending = done.as_ref().map(|done| scope.spawn(|| sum.send(done)));
            compute(now, these);
            let sent = sending.map(|sending| sending.join());
            sent.map_or(Ok(()), |sent| sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
        (done, own, parts) = (Some(results(now)), later, others);
    }
    sum.send(&done.unwrap_or_default())
}

/// The losses and gradients of parts.
fn results<T: Float>(parts: &[Part<T>]) -> Vec<(f64, &Accumulated<T>)> {
    parts.iter().map(|part| (part.loss, &part.gradients)).collect()
}

/// The smallest number of threads of a rank.
fn fewest_threads(ranks: &dyn Exchange) -> Result<usize, ExchangeError> {
    let all = ranks.all_gather(&rayon::current_num_threads().to_le_bytes())?;
    let threads = all.iter().filter_map(|bytes| Some(usize::from_le_bytes(bytes[..].try_into().ok()?)));
    Ok(threads.min().unwrap_or(1).max(1))
}

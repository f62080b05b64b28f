//! What a model says of batches, without gradients: evaluation in parallel.

use std::sync::Mutex;

use cotangent_engine::{Device, Float, Tape};
use rayon::prelude::*;

/// What `evaluate` returns for each batch, in their order. The batches are computed in parallel, each on a
/// tape that is empty. There are as many tapes as batches at the same time: the memory of a new tape costs
/// more than many a batch.
///
/// ```
/// use cotangent_engine::{Device, Tape, Tensor};
/// use cotangent_optim::train::each_batch;
/// let batches = [vec![1.0, 2.0], vec![5.0]];
/// let sums = each_batch(&batches, &Device::cpu(), |tape: &mut Tape<f64>, batch| {
///     tape.constant(&Tensor::new([batch.len()], batch.clone())).sum().item()
/// });
/// assert_eq!(sums, [3.0, 5.0]);
/// ```
pub fn each_batch<T: Float, B: Sync, R: Send>(
    batches: &[B],
    device: &Device,
    evaluate: impl Fn(&mut Tape<T>, &B) -> R + Sync,
) -> Vec<R> {
    let idle = Mutex::new(Vec::new());
    let taken = || idle.lock().expect("no batch panics while it holds the lock").pop();
    let on_tape = |batch: &B| {
        let mut tape = taken().unwrap_or_else(|| Tape::with_device(device.clone()));
        tape.reset();
        let result = evaluate(&mut tape, batch);
        idle.lock().expect("no batch panics while it holds the lock").push(tape);
        result
    };
    batches.par_iter().map(on_tape).collect()
}

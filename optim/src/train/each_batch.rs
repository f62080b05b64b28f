//! What a model says of batches, without gradients: evaluation in parallel.

use std::sync::{Mutex, PoisonError};

use cotangent_engine::{Float, Tape};
use rayon::prelude::*;

/// What `evaluate` returns for each batch, in their order. The batches are computed in parallel, each on an
/// empty tape, on the device of `tape`. One of the tapes is `tape` itself, which keeps its memory for the
/// next call: to clear that of a new tape can take longer than a batch.
///
/// ```
/// use cotangent_engine::{Tape, Tensor};
/// use cotangent_optim::train::each_batch;
/// let (mut tape, batches) = (Tape::<f64>::new(), [vec![1.0, 2.0], vec![5.0]]);
/// let sums = each_batch(&mut tape, &batches, |tape, batch| {
///     tape.constant(&Tensor::new([batch.len()], batch.clone())).sum().item()
/// });
/// assert_eq!(sums, [3.0, 5.0]);
/// ```
pub fn each_batch<T: Float, B: Sync, R: Send>(
    tape: &mut Tape<T>,
    batches: &[B],
    evaluate: impl Fn(&mut Tape<T>, &B) -> R + Sync,
) -> Vec<R> {
    let device = tape.device();
    let new = || Tape::with_device(device.clone());
    let idle = Mutex::new(vec![std::mem::replace(tape, new())]);
    let waiting = || idle.lock().unwrap_or_else(PoisonError::into_inner);
    let on_tape = |batch: &B| {
        let taken = waiting().pop();
        let mut tape = taken.unwrap_or_else(new);
        tape.reset();
        let result = evaluate(&mut tape, batch);
        waiting().push(tape);
        result
    };
    let results = batches.par_iter().map(on_tape).collect();
    if let Some(used) = waiting().pop() {
        *tape = used;
    }
    results
}

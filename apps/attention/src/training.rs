//! What the trainings of `transformer`, `lm`, `vit` and `dit` have in common.

use cotangent::optim::train::each_batch;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;

/// Adam as transformers use it (Vaswani et al. 2017, section 5.3), with decoupled weight decay and a largest
/// norm of the gradient.
///
/// # Errors
/// If a number is out of its range.
pub fn adam(lr: f64, decay: f64, clip: f64) -> Result<RiemannianAdam<f32>> {
    Ok(RiemannianAdam::new(lr)?.betas(0.9, 0.98)?.decay(decay)?.clip(clip)?)
}

/// The parts of a batch of `lm`, `vit` and `dit`: at most four, so that two to four threads have work.
pub const PARTS: [usize; 2] = [4, 1];

/// The learning rate rises for some steps, then it falls to 0 along half a cosine, at the last of all steps.
pub fn falling(warm_up: u64, steps: u64) -> Schedule {
    Schedule::Constant.warm_up(warm_up).cosine(steps.saturating_sub(warm_up), 0.0)
}

/// Prints the learned factors of the scores, if there are any.
pub fn report_sharpness(factors: &[f64]) {
    if !factors.is_empty() {
        let factors: Vec<String> = factors.iter().map(|factor| format!("{factor:.3}")).collect();
        say!("learned factors of the scores: {}", factors.join(", "));
    }
}

/// The mean loss per token of batches. `loss` returns the mean loss of a batch and its number of tokens.
pub fn mean_loss<B: Sync>(
    tape: &mut Tape<f32>,
    batches: &[B],
    loss: impl Fn(&Tape<f32>, &B) -> (f64, usize) + Sync,
) -> f64 {
    mean_of(&each_batch(tape, batches, |tape, batch| loss(tape, batch)))
}

/// The mean of numbers, each of so many items.
pub fn mean_of(numbers: &[(f64, usize)]) -> f64 {
    let items: usize = numbers.iter().map(|(_, items)| items).sum();
    numbers.iter().map(|(number, items)| number * *items as f64).sum::<f64>() / items as f64
}

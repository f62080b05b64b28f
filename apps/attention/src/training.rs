//! What the trainings of `transformer`, `lm`, `vit` and `dit` have in common.

use cotangent::optim::train::Progress;
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::progress::Figure;
use rayon::prelude::*;

/// Adam as transformers use it (Vaswani et al. 2017, section 5.3), with decoupled weight decay and a largest
/// norm of the gradient.
///
/// # Errors
/// If a number is out of its range.
pub(crate) fn adam(lr: f64, decay: f64, clip: f64) -> Result<RiemannianAdam<f32>> {
    Ok(RiemannianAdam::new(lr)?.betas(0.9, 0.98)?.decay(decay)?.clip(clip)?)
}

/// What `evaluate` returns for each batch. They are computed in parallel.
pub(crate) fn each_batch<B: Sync, R: Send>(
    batches: &[B],
    device: &Device,
    evaluate: impl Fn(&Tape<f32>, &B) -> R + Sync,
) -> Vec<R> {
    let new_tape = || Tape::with_device(device.clone());
    let evaluate = |tape: &mut Tape<f32>, batch: &B| {
        tape.reset();
        evaluate(tape, batch)
    };
    batches.par_iter().map_init(new_tape, evaluate).collect()
}

/// The mean loss per token of batches. `loss` returns the mean loss of a batch and its number of tokens.
pub(crate) fn mean_loss<B: Sync>(
    batches: &[B],
    device: &Device,
    loss: impl Fn(&Tape<f32>, &B) -> (f64, usize) + Sync,
) -> f64 {
    let losses = each_batch(batches, device, loss);
    let tokens: usize = losses.iter().map(|(_, tokens)| tokens).sum();
    losses.iter().map(|(loss, tokens)| loss * *tokens as f64).sum::<f64>() / tokens as f64
}

/// The figures that are shown with the progress. An item of the training counts as this many tokens.
pub(crate) fn figures(now: &Progress<'_>, tokens: usize) -> Vec<Figure> {
    let [batch, batches] = now.batch.map(|count| count as f64);
    let mut figures = vec![Figure::new("batch", batch, 0), Figure::new("batches", batches, 0)];
    if let Some(epoch) = now.history.epochs.last() {
        figures.push(Figure::new("loss", epoch.loss, 3));
        figures.push(Figure::new("validation_loss", epoch.validation, 3));
    }
    figures.push(Figure::new("tokens_per_second", now.rate * tokens as f64, 0));
    figures
}

//! Losses: cross-entropy, binary cross-entropy, mean squared error. All are means.

use crate::tape::float::Float;
use crate::tape::var::Var;
use crate::tensor::Tensor;
use crate::tensor::shape::row_numbers;

/// A label that takes no part in [`cross_entropy`].
pub const IGNORE: u32 = u32::MAX;

/// Cross-entropy of rows of logits `[…, classes]` with one label for each: the mean over the rows of
/// `−ln softmax(logits)[label]`. Rows labelled [`IGNORE`] take no part; if all are, the loss is 0.
///
/// With `smoothing` ε the target is 1 − ε at the label plus ε/classes everywhere (Szegedy et al. 2016,
/// section 7).
///
/// ```
/// use cotangent_engine::{Tape, Tensor, loss};
/// let tape = Tape::<f64>::new();
/// let logits = tape.variable(&Tensor::zeros([2, 4]));
/// assert!((loss::cross_entropy(logits, &[0, 3], 0.0).item() - 4_f64.ln()).abs() < 1e-15);
/// ```
///
/// # Panics
/// If there are not as many labels as rows, a label is not below the number of classes, or `smoothing`
/// is not in [0, 1].
#[track_caller]
pub fn cross_entropy<'t, T: Float>(logits: Var<'t, T>, labels: &[u32], smoothing: f64) -> Var<'t, T> {
    let shape = logits.shape();
    let (rows, classes) = (shape.rows().elements(), shape.width());
    assert!((0.0..=1.0).contains(&smoothing), "cross_entropy: a smoothing of {smoothing}");
    assert_eq!(labels.len(), rows, "cross_entropy: {} labels for logits of shape {shape}", labels.len());
    let wrong = labels.iter().position(|&label| label != IGNORE && label as usize >= classes);
    if let Some(row) = wrong {
        panic!("cross_entropy: label {} of row {row}, of {classes} classes", labels[row])
    }
    let logits = logits.reshape([rows, classes]);
    let counted = labels.iter().filter(|&&label| label != IGNORE).count();
    let (log_softmax, log_likelihoods) = if counted == rows {
        let log_softmax = logits.log_softmax(-1);
        (log_softmax, log_softmax.take_along(labels))
    } else {
        let kept: Vec<u32> = row_numbers(rows).filter(|&row| labels[row as usize] != IGNORE).collect();
        let targets: Vec<u32> = kept.iter().map(|&row| labels[row as usize]).collect();
        let log_softmax = logits.gather(&kept).log_softmax(-1);
        (log_softmax, log_softmax.take_along(&targets))
    };
    // Sums, because the mean of no rows would be NaN.
    let counted = counted.max(1) as f64;
    let loss = log_likelihoods.sum() * (-1.0 / counted);
    if smoothing == 0.0 {
        return loss;
    }
    loss * (1.0 - smoothing) - log_softmax.sum() * (smoothing / (counted * classes as f64))
}

/// Binary cross-entropy of logits with targets in [0, 1], of one shape: the mean of `softplus(x) − t x`,
/// which is `−t ln σ(x) − (1 − t) ln(1 − σ(x))` without overflow.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn binary_cross_entropy<'t, T: Float>(logits: Var<'t, T>, targets: &Tensor<T>) -> Var<'t, T> {
    logits.binary_cross_entropy(logits.tape().constant(targets)).mean()
}

/// Mean squared error: the mean of `(x − y)²` over all elements.
///
/// # Panics
/// If the shapes do not broadcast.
#[track_caller]
pub fn mean_squared_error<'t, T: Float>(x: Var<'t, T>, y: Var<'t, T>) -> Var<'t, T> {
    (x - y).square().mean()
}

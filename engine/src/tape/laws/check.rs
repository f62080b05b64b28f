//! Gradient check: the reverse pass against finite differences.

use crate::tape::Tape;
use crate::tape::var::Var;
use crate::tensor::Tensor;

/// The worst disagreement that [`gradients`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disagreement {
    /// The input, and the element of the input.
    pub at: (usize, usize),
    /// The derivative by the reverse pass.
    pub reverse: f64,
    /// The derivative by finite differences.
    pub finite: f64,
    /// `|reverse − finite| / scale`. The scale is the largest derivative with respect to the input, or a
    /// thousandth of the loss if that is larger: finite differences of smaller derivatives are mostly
    /// rounding.
    pub relative: f64,
}

/// Compares the gradient of `loss` (a function of some tensors to a number) with central differences,
/// extrapolated once (Richardson, error O(h⁴)), and returns the worst disagreement.
///
/// ```
/// use cotangent_engine::{Tensor, check};
/// let x = Tensor::new([2, 2], vec![0.1, -0.4, 0.3, 0.2]);
/// let worst = check::gradients(&[x], |v| (v[0].tanh() * v[0]).sum());
/// assert!(worst.relative < 1e-9);
/// ```
pub fn gradients(
    inputs: &[Tensor<f64>],
    loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>,
) -> Disagreement {
    let tape = Tape::new();
    let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
    let gradients = tape.backward(loss(&variables));
    let value = |inputs: &[Tensor<f64>]| {
        let tape = Tape::new();
        let variables: Vec<_> = inputs.iter().map(|x| tape.constant(x)).collect();
        loss(&variables).item()
    };
    let size = value(inputs).abs();
    let mut worst = Disagreement { at: (0, 0), reverse: 0.0, finite: 0.0, relative: 0.0 };
    for (i, input) in inputs.iter().enumerate() {
        let rows = input.len() / input.width().max(1);
        let reverse = match gradients.view(variables[i]) {
            Some(gradient) => gradient.to_dense(rows, input.width()),
            None => vec![0.0; input.len()],
        };
        let finite: Vec<f64> = (0..input.len())
            .map(|j| {
                let mut moved = inputs.to_vec();
                let x = input.data()[j];
                let mut loss_at = |x| {
                    moved[i].data_mut()[j] = x;
                    value(&moved)
                };
                let mut central = |h: f64| (loss_at(x + h) - loss_at(x - h)) / (2.0 * h);
                let h = 1e-3 * x.abs().max(0.3);
                (4.0 * central(h / 2.0) - central(h)) / 3.0
            })
            .collect();
        let scale = finite.iter().fold(1e-3 * size + 1e-12, |m: f64, x| m.max(x.abs()));
        for (j, (&reverse, &finite)) in reverse.iter().zip(&finite).enumerate() {
            let relative = (reverse - finite).abs() / scale;
            // A NaN is the worst disagreement of all.
            if !(relative <= worst.relative) {
                worst = Disagreement { at: (i, j), reverse, finite, relative };
            }
        }
    }
    worst
}

/// Compares the derivative of `loss` along some directions by forward mode ([`Tape::jvp`]) and by the
/// reverse pass. Returns the difference, relative to the sum of the absolute values of the terms
/// `gradient · direction`.
pub fn forward_mode(
    inputs: &[Tensor<f64>],
    directions: &[Tensor<f64>],
    loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>,
) -> f64 {
    let tape = Tape::new();
    let variables: Vec<_> = inputs.iter().map(|x| tape.variable(x)).collect();
    let tangents: Vec<_> = variables.iter().zip(directions).map(|(x, d)| (*x, tape.constant(d))).collect();
    let value = loss(&variables);
    let forward = tape.jvp(value, &tangents).item();
    let gradients = tape.backward(value);
    let (mut reverse, mut scale) = (0.0, 1e-12);
    for ((x, d), input) in variables.iter().zip(directions).zip(inputs) {
        let Some(gradient) = gradients.view(*x) else { continue };
        let dense = gradient.to_dense(input.len() / input.width().max(1), input.width());
        for (g, d) in dense.iter().zip(d.data()) {
            reverse += g * d;
            scale += (g * d).abs();
        }
    }
    (forward - reverse).abs() / scale
}

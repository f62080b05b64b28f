//! Helpers for the tests of operations: inputs, values, and derivatives against finite differences.

use std::sync::Arc;

use cotangent::engine::{Sparsity, check};
use cotangent::prelude::*;

pub(crate) type Loss = for<'t> fn(&[Var<'t, f64>]) -> Var<'t, f64>;

/// Elements of a sparse 4 × 5 matrix, unordered. One row and one column are empty, and one place occurs
/// twice.
pub(crate) const PLACES: [(u32, u32); 8] = [(3, 0), (0, 4), (0, 1), (2, 1), (3, 4), (0, 1), (3, 3), (2, 0)];

pub(crate) fn sparsity(rows: usize, columns: usize, pairs: &[(u32, u32)]) -> Arc<Sparsity> {
    crate::limit::limit_time_on_device();
    Arc::new(Sparsity::new(rows, columns, pairs))
}

pub(crate) fn tensor(shape: &[usize], seed: u64) -> Tensor<f64> {
    use rand::RngExt;
    crate::limit::limit_time_on_device();
    let mut rng = rng::stream(seed, 98, shape.len() as u64);
    Tensor::from_fn(shape, |_| rng.random_range(-1.0..1.0))
}

/// A number that depends on every element in a different way.
pub(crate) fn weigh(v: Var<'_, f64>) -> Var<'_, f64> {
    let weights = Tensor::from_fn(v.shape(), |i| 0.4 + (i as f64 * 1.7).sin());
    10.0 + (v * v.tape().constant(&weights)).sum()
}

/// Compares the reverse pass with finite differences, forward mode with the reverse pass, and second
/// derivatives with finite differences of first ones.
#[track_caller]
pub(crate) fn assert_derivatives(
    inputs: &[Tensor<f64>],
    loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>,
) {
    assert_gradients(inputs, &loss);
    let directions: Vec<Tensor<f64>> = inputs.iter().map(|t| tensor(t.shape().axes(), 77)).collect();
    let worst = check::forward_mode(inputs, &directions, &loss);
    assert!(worst < 1e-10, "forward mode differs by {worst:e}");
    let worst = check::gradients(inputs, |v| {
        let tape = v[0].tape();
        let tangents: Vec<_> = v.iter().zip(&directions).map(|(x, d)| (*x, tape.constant(d))).collect();
        10.0 + tape.jvp(loss(v), &tangents)
    });
    assert!(worst.relative < 1e-6, "second derivatives: {worst:?}");
}

#[track_caller]
pub(crate) fn assert_gradients(
    inputs: &[Tensor<f64>],
    loss: impl for<'t> Fn(&[Var<'t, f64>]) -> Var<'t, f64>,
) {
    let worst = check::gradients(inputs, loss);
    assert!(worst.relative < 2e-8, "{worst:?}");
}

pub(crate) fn value<const N: usize>(
    inputs: [&Tensor<f64>; N],
    f: impl for<'t> FnOnce([Var<'t, f64>; N]) -> Var<'t, f64>,
) -> Tensor<f64> {
    let tape = Tape::new();
    f(inputs.map(|t| tape.constant(t))).to_tensor()
}

#[track_caller]
pub(crate) fn assert_close(got: &Tensor<f64>, want: &Tensor<f64>, tolerance: f64) {
    assert_eq!(got.shape(), want.shape());
    for (i, (g, w)) in got.data().iter().zip(want.data()).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "element {i}: {g}, not {w}");
    }
}

/// `op(a) op(b)` of single matrices, in plain loops.
pub(crate) fn product(a: &Tensor<f64>, b: &Tensor<f64>, ta: bool, tb: bool) -> Tensor<f64> {
    let at = |t: &Tensor<f64>, i: usize, j: usize, transposed: bool| {
        if transposed { t.row(j)[i] } else { t.row(i)[j] }
    };
    let m = a.shape()[usize::from(ta)];
    let k = a.shape()[usize::from(!ta)];
    let n = b.shape()[usize::from(!tb)];
    Tensor::from_fn([m, n], |p| (0..k).map(|q| at(a, p / n, q, ta) * at(b, q, p % n, tb)).sum())
}

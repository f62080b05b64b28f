//! Newton's method, by second derivatives: `cargo run --release --example 05_second_derivatives`
//!
//! Forward mode and Hessian-vector products: the Hessian is never formed.

use cotangent::prelude::*;

/// Rosenbrock's valley, (1 − x)² + 100 (y − x²)².
fn valley<'t>(v: Var<'t, f64>) -> Var<'t, f64> {
    let (x, y) = (v.slice(0, 0..1), v.slice(0, 1..2));
    ((1.0 - x).square() + 100.0 * (y - x.square()).square()).sum()
}

/// Gradient, and the Hessian times a direction.
fn derivatives(at: &Tensor<f64>, direction: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let tape = Tape::new();
    let v = tape.variable(at);
    let gradient = tape.backward(valley(v)).wrt(v).data().to_vec();
    let tape = Tape::new();
    let v = tape.variable(at);
    let direction = tape.constant(&Tensor::new([2], direction.to_vec()));
    let slope = tape.jvp(valley(v), &[(v, direction)]); // ⟨∇f, d⟩, itself on the tape
    (gradient, tape.backward(slope).wrt(v).data().to_vec())
}

fn main() {
    let mut at = Tensor::new([2], vec![-1.2, 1.0]);
    for step in 0..8 {
        // Two products give the two columns of the Hessian; larger problems would use conjugate gradients.
        let (g, a) = derivatives(&at, &[1.0, 0.0]);
        let (_, b) = derivatives(&at, &[0.0, 1.0]);
        let det = a[0] * b[1] - b[0] * a[1];
        let x = at.data_mut();
        x[0] -= (b[1] * g[0] - b[0] * g[1]) / det;
        x[1] -= (a[0] * g[1] - a[1] * g[0]) / det;
        println!("step {step}: at ({:.12}, {:.12})", x[0], x[1]);
    }
    assert!(at.data().iter().all(|x| (x - 1.0).abs() < 1e-12));
}

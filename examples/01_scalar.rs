//! A derivative by the tape: `cargo run --release --example 01_scalar`
//!
//! The tape records what is computed, and goes back over it.

use cotangent::prelude::*;

fn main() {
    let tape = Tape::<f64>::new();
    let x = tape.variable(&Tensor::scalar(0.5));
    let y = x * x.tanh() + 1.0; // operators and functions, as on paper
    let gradients = tape.backward(y);
    let slope = gradients.wrt(x).data()[0];
    println!("y = {}, dy/dx = {slope}", y.item());

    let (t, expected) = (0.5_f64.tanh(), 0.5_f64.tanh() + 0.5 * (1.0 - 0.5_f64.tanh().powi(2)));
    assert!((y.item() - (0.5 * t + 1.0)).abs() < 1e-15 && (slope - expected).abs() < 1e-15);
}

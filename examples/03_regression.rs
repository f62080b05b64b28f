//! Linear regression, with a training loop: `cargo run --release --example 03_regression`
//!
//! Parameters, an optimiser, a loop that reuses its tape.

use cotangent::prelude::*;
use rand::RngExt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = rng::stream(1, "data", 0);
    let truth = [2.0, -1.0, 0.5];
    let x = Tensor::from_fn([200, 3], |_| rng.random_range(-1.0..1.0)); // [200, 3]
    let y = Tensor::from_fn([200, 1], |i| {
        let dot: f64 = x.row(i).iter().zip(truth).map(|(x, w)| x * w).sum();
        dot + 3.0 + rng.random_range(-0.01..0.01)
    });

    let mut weights = Param::new("weights", Euclidean, Tensor::zeros([3, 1]));
    let mut bias = Param::new("bias", Euclidean, Tensor::zeros([1, 1]));
    let mut sgd = RiemannianSgd::new(0.3)?; // on a Euclidean parameter: plain SGD
    let mut tape = Tape::new();
    for epoch in 0..200 {
        tape.reset(); // forgets the graph, keeps its memory
        let (w, b) = (weights.on(&tape), bias.on(&tape));
        let predicted = tape.constant(&x).matmul(w) + b; // [200, 1]
        let loss = (predicted - tape.constant(&y)).square().mean();
        if epoch % 50 == 0 {
            println!("epoch {epoch:3}: loss {:.6}", loss.item());
        }
        let gradients = tape.backward(loss);
        sgd.step(&mut weights, &gradients)?;
        sgd.step(&mut bias, &gradients)?;
    }
    println!("weights {}, bias {}", weights.value(), bias.value());
    assert!(weights.value().data().iter().zip(truth).all(|(got, want)| (got - want).abs() < 0.01));
    Ok(())
}

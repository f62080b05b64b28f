//! A small convolutional classifier of 8 × 8 pictures of shapes, with dropout and label smoothing.
//!
//! `cargo run --release --example 08_classifier`, or on a device
//! `cargo run --release --features opencl --example 08_classifier -- opencl`

use cotangent::engine::loss;
use cotangent::prelude::*;
use rand::RngExt;

const SHAPES: [&str; 4] = ["horizontal bar", "vertical bar", "cross", "box"];
const BATCH: usize = 32;

/// A picture of a shape at some place, with noise: 64 pixels.
fn picture(shape: usize, rng: &mut rng::Rng) -> Vec<f32> {
    let (x, y) = (rng.random_range(2..6), rng.random_range(2..6));
    let inside = |i: usize, j: usize| match shape {
        0 => i == y && j.abs_diff(x) <= 2,
        1 => j == x && i.abs_diff(y) <= 2,
        2 => (i == y && j.abs_diff(x) <= 2) || (j == x && i.abs_diff(y) <= 2),
        _ => i.abs_diff(y).max(j.abs_diff(x)) == 2,
    };
    (0..64).map(|p| f32::from(inside(p / 8, p % 8)) + rng.random_range(-0.4..0.4)).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = rng::stream(8, 0, 0);
    let mut tensor = |name: &str, shape: &[usize], range: f32| {
        Param::new(name, Euclidean, Tensor::from_fn(shape, |_| rng.random_range(-range..=range)))
    };
    let mut params = [
        tensor("filters", &[8, 1, 3, 3], 0.4),
        tensor("filter bias", &[8, 1, 1], 0.0),
        tensor("hidden", &[8 * 4 * 4, 32], 0.15),
        tensor("hidden bias", &[32], 0.0),
        tensor("out", &[32, 4], 0.3),
    ];
    let mut sgd = RiemannianSgd::new(0.1)?;
    let mut data = rng::stream(8, 1, 0);
    let device = std::env::args().nth(1).map_or(Ok(Device::cpu()), |name| name.parse())?;
    let mut tape = Tape::with_device(device);
    for step in 0..600 {
        let labels: Vec<u32> = (0..BATCH).map(|_| data.random_range(0..4)).collect();
        let pixels = labels.iter().flat_map(|&l| picture(l as usize, &mut data)).collect();
        let pictures = Tensor::new([BATCH, 1, 8, 8], pixels);
        tape.reset();
        tape.training(rng::stream(8, 2, step));
        let logits = classify(&tape, &params, &pictures);
        let loss = loss::cross_entropy(logits, &labels, 0.05);
        if step % 100 == 0 {
            println!("step {step:3}: loss {:.3}", loss.item());
        }
        let gradients = tape.backward(loss);
        for param in &mut params {
            sgd.step(param, &gradients)?;
        }
    }
    let labels: Vec<u32> = (0..400).map(|i| i % 4).collect();
    let pixels = labels.iter().flat_map(|&l| picture(l as usize, &mut data)).collect();
    tape.reset();
    let logits = classify(&tape, &params, &Tensor::new([400, 1, 8, 8], pixels));
    let (_, best) = logits.top_k(1);
    let mut right = [0; 4];
    best.iter().zip(&labels).filter(|(a, b)| a == b).for_each(|(a, _)| right[*a as usize] += 1);
    for (name, right) in SHAPES.iter().zip(right) {
        println!("{name:15} {right} of 100 right");
    }
    assert!(right.iter().sum::<u32>() > 380);
    Ok(())
}

/// Logits `[batch, 4]`; with dropout while training.
fn classify<'t>(
    tape: &'t Tape<f32>,
    params: &[Param<Euclidean, f32>; 5],
    pictures: &Tensor<f32>,
) -> Var<'t, f32> {
    let [filters, filter_bias, hidden, hidden_bias, out] = params.each_ref().map(|param| param.on(tape));
    let batch = pictures.shape()[0];
    let maps = (tape.constant(pictures).conv2d(filters, 1, 1) + filter_bias).relu().max_pool2d(2, 2); // [batch, 8, 4, 4]
    let h = (maps.reshape([batch, 128]).matmul(hidden) + hidden_bias).relu();
    h.dropout(0.2).matmul(out)
}

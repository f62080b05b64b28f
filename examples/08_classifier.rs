//! A classifier of small pictures: `cargo run --release --example 08_classifier`
//!
//! Convolutions of 8 × 8 pictures of shapes, with dropout and label smoothing. On a device:
//! `cargo run --release --features opencl --example 08_classifier -- opencl`

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

#[derive(Module)]
struct Classifier {
    convolution: Conv2d,
    hidden: Linear<Euclidean>,
    #[module(skip)]
    dropout: Dropout,
    out: Linear<Euclidean>,
}

impl Classifier {
    fn new(rng: &mut rng::Rng) -> Self {
        Classifier {
            convolution: Conv2d { padding: 1, ..Conv2d::new(1, 8, 3, rng) },
            hidden: Linear::new(Euclidean, 8 * 4 * 4, 32, rng),
            dropout: Dropout { rate: 0.2 },
            out: Linear::new(Euclidean, 32, 4, rng),
        }
    }

    /// Logits `[batch, 4]` of pictures `[batch, 1, 8, 8]`; with dropout while training.
    fn forward<'t>(&self, tape: &'t Tape<f32>, pictures: &Tensor<f32>) -> Var<'t, f32> {
        let maps = self.convolution.forward(tape.constant(pictures)).relu();
        let maps = maps.max_pool2d(2, 2); // [batch, 8, 4, 4]
        let h = self.hidden.forward(maps.reshape([pictures.shape()[0], 8 * 4 * 4])).relu();
        *self.out.forward(self.dropout.forward(h))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut model = Classifier::new(&mut rng::stream(8, "initial", 0));
    let mut sgd = RiemannianSgd::new(0.1)?;
    let mut data = rng::stream(8, "data", 0);
    let device = std::env::args().nth(1).map_or(Ok(Device::cpu()), |name| name.parse())?;
    let mut tape = Tape::with_device(device);
    for step in 0..600 {
        let labels: Vec<u32> = (0..BATCH).map(|_| data.random_range(0..4)).collect();
        let pixels = labels.iter().flat_map(|&l| picture(l as usize, &mut data)).collect();
        let pictures = Tensor::new([BATCH, 1, 8, 8], pixels);
        tape.reset();
        tape.training(rng::stream(8, "dropout", step));
        let logits = model.forward(&tape, &pictures);
        let loss = loss::cross_entropy(logits, &labels, 0.05);
        if step % 100 == 0 {
            println!("step {step:3}: loss {:.3}", loss.item());
        }
        sgd.step(&mut model, &tape.backward(loss))?;
    }
    let labels: Vec<u32> = (0..400).map(|i| i % 4).collect();
    let pixels = labels.iter().flat_map(|&l| picture(l as usize, &mut data)).collect();
    tape.reset();
    let logits = model.forward(&tape, &Tensor::new([400, 1, 8, 8], pixels));
    let (_, best) = logits.top_k(1);
    let mut right = [0; 4];
    best.iter().zip(&labels).filter(|(a, b)| a == b).for_each(|(a, _)| right[*a as usize] += 1);
    for (name, right) in SHAPES.iter().zip(right) {
        println!("{name:15} {right} of 100 right");
    }
    assert!(right.iter().sum::<u32>() > 380);
    Ok(())
}

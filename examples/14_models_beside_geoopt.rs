//! Models beside geoopt's: `cargo run --release --example 14_models_beside_geoopt`
//!
//! Five models, each beside its twin in PyTorch with geoopt: `examples/models`. From the same start both
//! have the same loss and the same first gradient. Those of the twins are in `reference.json`, which
//! `reference.py` wrote. The command also counts the lines and characters of both.

// The models are public, as those of a library would be.
#![allow(unreachable_pub)]

use cotangent::manifolds::{Path, Visitor};
use cotangent::prelude::*;
use serde_json::Value;

#[path = "models/distance_attention.rs"]
mod distance_attention;
#[path = "models/frechet_mean.rs"]
mod frechet_mean;
#[path = "models/hyperbolic_gru.rs"]
mod hyperbolic_gru;
#[path = "models/hyperbolic_mlr.rs"]
mod hyperbolic_mlr;
#[path = "models/poincare_embedding.rs"]
mod poincare_embedding;

/// The values of inputs: `scale sin(1.7 i + k)`.
fn wave(shape: &[usize], k: f64, scale: f64) -> Tensor<f64> {
    Tensor::from_fn(shape, |i| scale * (1.7 * i as f64 + k).sin())
}

/// All gradients, one after the other.
struct Gradient<'a, 't>(&'a Gradients<'t, f64>, Vec<f64>);

impl Visitor<f64> for Gradient<'_, '_> {
    fn param<M: Steps>(&mut self, _: &str, param: &Param<M, f64>) {
        if self.0.view(param).is_some() {
            self.1.extend(self.0.wrt(param).data());
        }
    }
}

/// Compares a model with its twin: loss and first gradient.
fn compare<N: Module<f64>>(
    name: &str,
    mut model: N,
    loss: impl for<'t> Fn(&N, &'t Tape<f64>) -> Var<'t, f64>,
) {
    let reference: Value = serde_json::from_str(include_str!("models/reference.json")).expect("JSON");
    let numbers = |what: &str| -> Vec<f64> {
        let list = reference[name][what].as_array().expect("a list");
        list.iter().map(|x| x.as_f64().expect("a number")).collect()
    };
    // All parameters, one after the other, except γ and c of attention, which are not trained.
    let mut start = numbers("start").into_iter();
    model.each_mut(|path, param| {
        if !path.starts_with("attention.attention") {
            param.value_mut().data_mut().iter_mut().for_each(|x| *x = start.next().expect("a start"));
        }
    });
    let tape = Tape::new();
    let loss = loss(&model, &tape);
    let gradients = tape.backward(loss);
    let mut ours = Gradient(&gradients, Vec::new());
    model.visit(&mut Path::root(), &mut ours);
    let (ours, theirs) = (ours.1, numbers("gradient"));
    assert_eq!(ours.len(), theirs.len(), "{name}");
    let largest = theirs.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let difference = ours.iter().zip(&theirs).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max);
    let loss_difference = (loss.item() / reference[name]["loss"].as_f64().expect("a number") - 1.0).abs();
    println!("{name:20} loss {loss_difference:.1e}, gradient {difference:.1e} from the twin's, relatively");
    assert!(loss_difference < 1e-6 && difference < 1e-6, "{name}");
}

/// Lines that are more than closing brackets, and characters that are not spaces, both without comments.
fn count(source: &str, comment: &str) -> [usize; 2] {
    let (mut code, mut in_text) = (Vec::new(), false); // a text is between """ and """
    for line in source.lines() {
        let quotes = line.matches("\"\"\"").count();
        if !in_text && quotes == 0 {
            code.push(line.split(comment).next().unwrap_or(""));
        }
        in_text ^= quotes == 1;
    }
    let lines = code.iter().filter(|line| line.contains(|c: char| !" )]};,".contains(c))).count();
    [lines, code.iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).count()]
}

fn main() {
    let (ball, mut rng) = (PoincareBall::new(-1.0), rng::stream(14, "initial", 0));
    let words = Embedding::uniform("words", ball, 10, 3, 0.1, &mut rng);
    compare("poincare_embedding", words, |words, tape| {
        poincare_embedding::loss(words, tape, [&[0, 4, 7], &[1, 2, 3, 5, 6, 9, 8, 0, 2]])
    });
    compare("hyperbolic_mlr", LogisticRegression::new(ball, 5, 3, &mut rng), |classes, tape| {
        hyperbolic_mlr::loss(classes, tape.constant(&wave(&[6, 5], 3.0, 0.3)), &[0, 1, 2, 2, 1, 0])
    });
    let (gru, classes) = (Gru::new(ball, 3, 4, &mut rng), LogisticRegression::new(ball, 4, 2, &mut rng));
    compare("hyperbolic_gru", hyperbolic_gru::Classifier { gru, classes }, |model, tape| {
        model.loss(Point::new(ball, tape.constant(&wave(&[5, 2, 3], 9.0, 0.3))), &[0, 1])
    });
    compare("distance_attention", distance_attention::block(4, 2, 6, &mut rng), |block, tape| {
        let y = block.forward(tape.constant(&wave(&[2, 5, 4], 9.0, 1.0)), Mask::None);
        (y * tape.constant(&wave(&[2, 5, 4], 8.0, 1.0))).sum()
    });
    let mean = Param::new("mean", Euclidean, Tensor::zeros([1, 3]));
    compare("frechet_mean", frechet_mean::Mean { curvature: Curvature::new(-0.7), mean }, |model, tape| {
        model.loss(tape.constant(&wave(&[6, 3], 31.0, 1.0)))
    });

    println!("lines, and characters that are not spaces: here, and with PyTorch and geoopt");
    macro_rules! sizes {
        ($($name:literal),*) => { $(
            let here = count(include_str!(concat!("models/", $name, ".rs")), "//");
            let twin = count(include_str!(concat!("models/", $name, ".py")), "#");
            println!("{:20} {:3} {:5}   {:3} {:5}", $name, here[0], here[1], twin[0], twin[1]);
            assert!(here[0] < twin[0] && here[1] < twin[1], "{}", $name);
        )* };
    }
    sizes!("poincare_embedding", "hyperbolic_mlr", "hyperbolic_gru", "distance_attention", "frechet_mean");
}

//! A hyperbolic GRU classifier: `cargo run --release --example 12_hyperbolic_gru`
//!
//! It learns to remember how sequences of different lengths began.

use cotangent::prelude::*;
use rand::RngExt;

#[derive(Module)]
struct Model {
    words: Embedding<PoincareBall>,
    gru: Gru<PoincareBall>,
    classes: LogisticRegression<PoincareBall>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ball, mut rng) = (PoincareBall::new(-1.0), rng::stream(12, "initial", 0));
    let mut model = Model {
        words: Embedding::uniform("words", ball, 5, 4, 0.5, &mut rng), // five words in four dimensions
        gru: Gru::new(ball, 4, 8, &mut rng),
        classes: LogisticRegression::new(ball, 8, 5, &mut rng),
    };
    let mut data = rng::stream(12, "data", 0);
    let mut adam = RiemannianAdam::new(0.02)?; // points by their geometry, weights as ever
    for step in 0..=100 {
        let words: Vec<u32> = (0..6 * 32).map(|_| data.random_range(0..5)).collect(); // 32 sequences: [6, 32]
        let lengths: Vec<usize> = (0..32).map(|_| data.random_range(1..=6)).collect();
        let tape = Tape::new();
        let sequences = Sequence::new(model.words.forward(&tape, &words).arrange([6, 32]));
        let states = model.gru.forward(sequences.with_lengths(&lengths));
        let logits = model.classes.forward(states.last()); // [32, 5]
        let labels = &words[..32]; // each sequence's first word
        let right = logits.top_k(1).1.iter().zip(labels).filter(|(best, label)| best == label).count();
        adam.step(&mut model, &tape.backward(loss::cross_entropy(logits, labels, 0.0)))?;
        assert!(step < 100 || right > 25, "{right} of 32 right after {step} steps");
    }
    Ok(())
}

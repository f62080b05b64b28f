//! A hyperbolic GRU classifier: it learns to remember how sequences of different lengths began.
//!
//! `cargo run --release --example 12_hyperbolic_gru`

use cotangent::engine::loss;
use cotangent::prelude::*;
use rand::RngExt;

const LEN: usize = 6;
const BATCH: usize = 32;
const WORDS: u32 = 5;

struct Model {
    words: Embedding<PoincareBall>,
    gru: Gru<PoincareBall>,
    classes: LogisticRegression<PoincareBall>,
}
module!(impl[] Module<f32> for Model { words, gru, classes });

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ball, mut rng) = (PoincareBall::ball(-1.0)?, rng::stream(12, 0, 0));
    let mut model = Model {
        words: Embedding::uniform("words", ball, WORDS as usize, 4, 0.5, &mut rng),
        gru: Gru::new(ball, 4, 8, &mut rng),
        classes: LogisticRegression::new(ball, 8, WORDS as usize, &mut rng),
    };
    let mut adam = RiemannianAdam::new(0.02)?; // points by their geometry, weights as ever
    let (mut tape, mut right) = (Tape::new(), 0);
    for step in 0..=100 {
        let words: Vec<u32> = (0..LEN * BATCH).map(|_| rng.random_range(0..WORDS)).collect(); // [LEN, BATCH]
        let lengths: Vec<usize> = (0..BATCH).map(|_| rng.random_range(1..=LEN)).collect();
        let labels = &words[..BATCH]; // each sequence's first word
        tape.reset();
        let points = model.words.forward(&tape, &words).reshape([LEN, BATCH, 4]);
        let states = model.gru.forward(points, Some(&lengths)); // after each word, [BATCH, 8]
        let logits = model.classes.forward(states[states.len() - 1]); // [BATCH, WORDS]
        let loss = loss::cross_entropy(logits, labels, 0.0);
        right = logits.top_k(1).1.iter().zip(labels).filter(|(best, label)| best == label).count();
        if step % 20 == 0 {
            println!("step {step:3}: loss {:.3}, {right} of {BATCH} right", loss.item());
        }
        let gradients = tape.backward(loss);
        adam.step(&mut model, &gradients)?;
    }
    assert!(right > BATCH * 8 / 10);
    Ok(())
}

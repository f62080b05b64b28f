//! Attention that recalls values by keys: `cargo run --release --example 07_attention`
//!
//! A query finds, among a sequence of keys, the one it should copy the value of.

use cotangent::prelude::*;
use rand::RngExt;

const VOCABULARY: usize = 10;
const LENGTH: usize = 8;
const WIDTH: usize = 16;

#[derive(Module)]
struct Recall {
    keys: Embedding<Euclidean>,
    values: Embedding<Euclidean>,
    queries: Embedding<Euclidean>,
    attention: Attention,
    out: Linear<Euclidean>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = rng::stream(3, "initial", 0);
    let [keys, values, queries] = ["keys", "values", "queries"]
        .map(|name| Embedding::uniform(name, Euclidean, VOCABULARY, WIDTH, 0.3, &mut rng));
    let attention = Attention::new(&score::Dot, WIDTH);
    let mut model =
        Recall { keys, values, queries, attention, out: Linear::new(Euclidean, WIDTH, VOCABULARY, &mut rng) };
    let mut adam = RiemannianAdam::new(0.01)?;
    let mut data = rng::stream(3, "data", 0);
    let mut tape = Tape::new();
    let mut accuracy = 0.0;
    for step in 0..1500 {
        // Pairs (key, value) in a row; asked for one of the keys, the answer is its value.
        let (mut keys, mut values, mut asked, mut answers) = (vec![], vec![], vec![], vec![]);
        for _ in 0..64 {
            let mut order: Vec<u32> = (0..VOCABULARY as u32).collect();
            for i in 0..LENGTH {
                let j = data.random_range(i..VOCABULARY);
                order.swap(i, j);
            }
            let drawn: Vec<u32> = (0..LENGTH).map(|_| data.random_range(0..VOCABULARY as u32)).collect();
            let at = data.random_range(0..LENGTH);
            asked.push(order[at]);
            answers.push(drawn[at]);
            keys.extend_from_slice(&order[..LENGTH]);
            values.extend_from_slice(&drawn);
        }
        tape.reset();
        let keys = model.keys.forward(&tape, &keys).arrange([64, LENGTH]);
        let values = model.values.forward(&tape, &values).arrange([64, LENGTH]);
        let query = model.queries.forward(&tape, &asked).arrange([64, 1]);
        let attended = model.attention.forward(query, keys, values, Mask::None).reshape([64, WIDTH]);
        let logits = *model.out.forward(attended); // [64, VOCABULARY]
        let loss = loss::cross_entropy(logits, &answers, 0.0);
        let (_, best) = logits.top_k(1);
        let right = best.iter().zip(&answers).filter(|(a, b)| a == b).count() as f64 / 64.0;
        accuracy = 0.95 * accuracy + 0.05 * right;
        if step % 250 == 0 {
            println!("step {step:4}: loss {:.3}, {:.0} % right", loss.item(), 100.0 * right);
        }
        adam.step(&mut model, &tape.backward(loss))?;
    }
    println!("{:.1} % right", 100.0 * accuracy);
    assert!(accuracy > 0.95);
    Ok(())
}

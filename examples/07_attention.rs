//! Attention: a query finds, among a sequence of keys, the one it should copy the value of.
//!
//! `cargo run --release --example 07_attention`

use cotangent::engine::loss;
use cotangent::prelude::*;
use rand::RngExt;

const VOCABULARY: usize = 10;
const LENGTH: usize = 8;
const WIDTH: usize = 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = rng::stream(3, 0, 0);
    let mut matrix = |name: &str, shape: [usize; 2]| {
        Param::new(name, Euclidean, Tensor::from_fn(shape, |_| rng.random_range(-0.3..0.3_f32)))
    };
    let mut params = [
        matrix("keys", [VOCABULARY, WIDTH]),
        matrix("values", [VOCABULARY, WIDTH]),
        matrix("queries", [VOCABULARY, WIDTH]),
        matrix("out", [WIDTH, VOCABULARY]),
    ];
    let mut sgd = RiemannianSgd::new(0.5)?;
    let mut data = rng::stream(3, 1, 0);
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
        let [key, value, query, out] = [0, 1, 2, 3].map(|i| *params[i].on(&tape));
        let keys = key.gather(&keys).reshape([64, LENGTH, WIDTH]);
        let values = value.gather(&values).reshape([64, LENGTH, WIDTH]);
        let query = query.gather(&asked).reshape([64, 1, WIDTH]);
        let attended = query.attend(keys, values, 1.0, false).reshape([64, WIDTH]);
        let logits = attended.matmul(out); // [64, VOCABULARY]
        let loss = loss::cross_entropy(logits, &answers, 0.0);
        let (_, best) = logits.top_k(1);
        let right = best.iter().zip(&answers).filter(|(a, b)| a == b).count() as f64 / 64.0;
        accuracy = 0.95 * accuracy + 0.05 * right;
        if step % 250 == 0 {
            println!("step {step:4}: loss {:.3}, {:.0} % right", loss.item(), 100.0 * right);
        }
        let gradients = tape.backward(loss);
        for param in &mut params {
            sgd.step(param, &gradients)?;
        }
    }
    println!("{:.1} % right", 100.0 * accuracy);
    assert!(accuracy > 0.95);
    Ok(())
}

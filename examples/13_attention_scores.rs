//! Recall with every score of attention: `cargo run --release --example 13_attention_scores`
//!
//! Eight pairs of a key and a value are shown: which value belongs to the key that is asked for?

use cotangent::prelude::*;
use rand::RngExt;
use rand::seq::SliceRandom;

const KEYS: usize = 8;
const BATCH: usize = 32;
const DIM: usize = 4;

#[derive(Module)]
struct Model {
    keys: Embedding<Euclidean>,
    queries: Embedding<Euclidean>,
    attention: Attention,
}

/// The mean squared error after training, where to guess the mean has 1.
fn recall(score: &dyn Score<f32>) -> Result<f64, Box<dyn std::error::Error>> {
    let mut rng = rng::stream(13, "initial", 0);
    let table = |name: &str, rng: &mut _| Embedding::uniform(name, Euclidean, KEYS, DIM, 0.5, rng);
    let mut model = Model {
        keys: table("keys", &mut rng),
        queries: table("queries", &mut rng),
        attention: Attention { trainable: true, ..Attention::new(score, DIM) },
    };
    let mut data = rng::stream(13, "data", 0);
    let (mut adam, mut tape, mut error) = (RiemannianAdam::new(0.05)?, Tape::new(), 0.0);
    for _ in 0..400 {
        let mut order: Vec<u32> = (0..BATCH * KEYS).map(|i| (i % KEYS) as u32).collect();
        order.chunks_mut(KEYS).for_each(|keys| keys.shuffle(&mut data));
        let values = Tensor::from_fn([BATCH, KEYS, 1], |_| if data.random() { 1.0 } else { -1.0 });
        let asked: Vec<usize> = (0..BATCH).map(|_| data.random_range(0..KEYS)).collect(); // by their place
        let keys: Vec<u32> = asked.iter().enumerate().map(|(b, &i)| order[b * KEYS + i]).collect();
        let right = Tensor::from_fn([BATCH, 1, 1], |b| values.data()[b * KEYS + asked[b]]);

        tape.reset();
        let k = model.keys.forward(&tape, &order).coordinates().reshape([BATCH, KEYS, DIM]);
        let q = model.queries.forward(&tape, &keys).coordinates().reshape([BATCH, 1, DIM]);
        let recalled = model.attention.forward(q, k, tape.constant(&values), Mask::None); // [BATCH, 1, 1]
        let loss = (recalled - tape.constant(&right)).square().mean();
        error = loss.item();
        adam.step(&mut model, &tape.backward(loss))?;
    }
    Ok(error)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for score in score::all() {
        let error = recall(&*score)?;
        println!("{:20} mean squared error {error:.4}", score.name());
        // The additive score ranks the keys in the same order for every query, so it cannot recall.
        // Brody et al. 2022 call such attention static.
        assert!((error < 0.1) == (score.name() != "additive"), "{}: {error}", score.name());
    }
    Ok(())
}

//! Cones in a given transformer: `cargo run --release --example 16_cone_attention`
//!
//! A small transformer with attention by dot product, as one writes it, and the same with penumbral cones
//! (Tseng et al. 2023): the lines that end with `// cones`, a `match` and an argument. It learns to close
//! brackets of three kinds, which are nested as deep as they come.

use cotangent::layers::score::PenumbralCone; // cones
use cotangent::prelude::*;
use rand::RngExt;

const KINDS: u32 = 3;
const LENGTH: usize = 12;
const BATCH: usize = 32;
const WIDTH: usize = 32;

#[derive(Module)]
struct Block {
    project: [Linear<Euclidean>; 3],
    cones: Option<Attention>, // cones
    norms: [LayerNorm; 2],
    feed_forward: FeedForward<Euclidean>,
}

impl Block {
    fn new(cones: bool, rng: &mut rng::Rng) -> Self {
        let score = PenumbralCone { light: 1.0 }; // cones
        let attention = Attention { trainable: true, ..Attention::new(&score, WIDTH) }; // cones
        let layers = FeedForward::new(Euclidean, &[WIDTH, 2 * WIDTH, WIDTH], Activation::RELU, rng);
        Block {
            project: [0, 1, 2].map(|_| Linear::new(Euclidean, WIDTH, WIDTH, rng)),
            cones: cones.then_some(attention), // cones
            norms: [0, 1].map(|_| LayerNorm::new(WIDTH)),
            feed_forward: FeedForward { output: Activation::IDENTITY, ..layers },
        }
    }

    /// `[batch, n, width]`.
    fn forward<'t>(&self, x: Var<'t, f32>) -> Var<'t, f32> {
        let [q, k, v] = [0, 1, 2].map(|i| *self.project[i].forward(self.norms[0].forward(x)));
        let attended = match &self.cones {
            Some(cones) => cones.forward(q, k, v, Mask::Causal), // cones
            None => dot_product(q, k, v),
        };
        let x = x + attended;
        x + *self.feed_forward.forward(self.norms[1].forward(x))
    }
}

/// Causal attention by dot product.
fn dot_product<'t>(q: Var<'t, f32>, k: Var<'t, f32>, v: Var<'t, f32>) -> Var<'t, f32> {
    let scores = q.matmul_nt(k) * (WIDTH as f64).powf(-0.5);
    let later = q.tape().causal_mask(LENGTH, LENGTH);
    scores.masked_fill(later, f64::NEG_INFINITY).softmax(-1).matmul(v)
}

#[derive(Module)]
struct Transformer {
    words: Embedding<Euclidean>,
    positions: Embedding<Euclidean>,
    blocks: [Block; 2],
    out: Linear<Euclidean>,
}

impl Transformer {
    fn new(cones: bool) -> Self {
        let mut rng = rng::stream(16, "initial", 0);
        let table = |name, n, rng: &mut _| Embedding::uniform(name, Euclidean, n, WIDTH, 1.0, rng);
        Transformer {
            words: table("words", 2 * KINDS as usize, &mut rng),
            positions: table("positions", LENGTH, &mut rng),
            blocks: [0, 1].map(|_| Block::new(cones, &mut rng)),
            out: Linear::new(Euclidean, WIDTH, KINDS as usize, &mut rng),
        }
    }

    /// Logits of the kind of bracket to close after each token.
    fn forward<'t>(&self, tape: &'t Tape<f32>, tokens: &[u32]) -> Var<'t, f32> {
        let places: Vec<u32> = (0..tokens.len()).map(|i| (i % LENGTH) as u32).collect();
        let rows = *self.words.forward(tape, tokens).coordinates();
        let x = rows + *self.positions.forward(tape, &places).coordinates();
        let x = x.reshape([tokens.len() / LENGTH, LENGTH, WIDTH]);
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        *self.out.forward(x.reshape([tokens.len(), WIDTH]))
    }
}

/// Brackets, nested at random: kind k opens with k and closes with KINDS + k. Returns for each token the kind
/// that is open after it, or `IGNORE`.
fn brackets(rng: &mut rng::Rng) -> (Vec<u32>, Vec<u32>) {
    let (mut tokens, mut open) = (Vec::new(), Vec::new());
    for _ in 0..BATCH {
        let mut stack: Vec<u32> = Vec::new();
        for _ in 0..LENGTH {
            match stack.last() {
                Some(&kind) if rng.random::<f64>() < 0.45 => {
                    stack.pop();
                    tokens.push(KINDS + kind);
                }
                _ => {
                    stack.push(rng.random_range(0..KINDS));
                    tokens.push(stack[stack.len() - 1]);
                }
            }
            open.push(stack.last().copied().unwrap_or(cotangent::engine::loss::IGNORE));
        }
    }
    (tokens, open)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, cones) in [("dot product", false), ("penumbral cones", true)] {
        let mut model = Transformer::new(cones);
        let (mut adam, mut data) = (RiemannianAdam::new(0.005)?, rng::stream(16, "data", 0));
        let (mut tape, mut accuracy) = (Tape::new(), 0.0);
        for _ in 0..200 {
            let (tokens, open) = brackets(&mut data);
            tape.reset();
            let logits = model.forward(&tape, &tokens);
            let (_, guesses) = logits.top_k(1);
            let asked = || open.iter().zip(&guesses).filter(|(kind, _)| **kind < KINDS);
            let right = asked().filter(|(kind, guess)| kind == guess).count() as f64 / asked().count() as f64;
            accuracy = 0.95 * accuracy + 0.05 * right;
            let loss = loss::cross_entropy(logits, &open, 0.0);
            adam.step(&mut model, &tape.backward(loss))?;
        }
        println!("{name:16} {:.1} % of the brackets are closed right", 100.0 * accuracy);
        assert!(accuracy > 0.9, "{name}: {accuracy}");
    }
    Ok(())
}

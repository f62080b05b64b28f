//! A training step of a GRU beside its peers: one JSON line for each measurement, with the names of the peers' script.
//!
//! `cargo bench --bench gru -- [--threads 1] [--only hyp/64/512]` prints the median time of a step: two sentences of
//! length 20 over 100 words, a GRU each, `M₁ ⊗ h₁ ⊕ M₂ ⊗ h₂ ⊕ b`, logistic regression of two classes, cross-entropy,
//! forward, backward and Riemannian Adam.

use std::time::Instant;

use cotangent::engine::loss;
use cotangent::prelude::*;
use rand::RngExt;

const WORDS: u32 = 100;
const LEN: usize = 20;

struct Model<M: Manifold, T: Float> {
    words: Embedding<M, T>,
    encoders: [Gru<M, T>; 2],
    join: Concat<M, T>,
    classes: LogisticRegression<M, T>,
}
module!(impl[M: Manifold, T: Float] Module<T> for Model<M, T> { words, encoders, join, classes });

struct Bench {
    threads: usize,
    only: Option<String>,
}

impl Bench {
    fn run<M, T: Float>(&self, kind: &str, manifold: M, dim: usize, batch: usize)
    where
        M: Manifold + for<'t> GyrovectorSpace<'t, T, Learned = M>,
    {
        let name = format!("{kind}/{dim}/{batch}/{}", T::NAME);
        if self.only.as_deref().is_some_and(|only| !name.starts_with(only)) {
            return;
        }
        let mut rng = rng::stream(1, 0, 0);
        let mut model = Model::<M, T> {
            words: Embedding::uniform("words", manifold, WORDS as usize, dim, 1e-2, &mut rng),
            encoders: [0, 1]
                .map(|_| Gru { activation: Activation::IDENTITY, ..Gru::new(manifold, dim, dim, &mut rng) }),
            join: Concat::new(manifold, &[dim, dim], 0, dim, &mut rng),
            classes: LogisticRegression::new(manifold, dim, 2, &mut rng),
        };
        let sentences =
            [0, 1].map(|_| (0..LEN * batch).map(|_| rng.random_range(0..WORDS)).collect::<Vec<u32>>());
        let labels: Vec<u32> = (0..batch).map(|_| rng.random_range(0..2)).collect();
        let mut adam = RiemannianAdam::new(1e-3).expect("a rate");
        let mut tape = Tape::new();
        let mut step = |forward_only: bool| {
            let start = Instant::now();
            tape.reset();
            let states = [0, 1].map(|i| {
                let words = model.words.forward(&tape, &sentences[i]).reshape([LEN, batch, dim]);
                model.encoders[i].forward(words, None)[LEN - 1]
            });
            let logits = model.classes.forward(model.join.forward(&states, None));
            let loss = loss::cross_entropy(logits, &labels, 0.0);
            assert!(loss.item().is_finite());
            if !forward_only {
                let gradients = tape.backward(loss);
                adam.step(&mut model, &gradients).expect("finite");
            }
            start.elapsed().as_secs_f64() * 1e3
        };
        let mut median = |forward_only: bool| {
            (0..4).for_each(|_| _ = step(forward_only));
            let (start, mut times) = (Instant::now(), Vec::new());
            while times.len() < 7 || start.elapsed().as_secs_f64() < 2.0 {
                times.push(step(forward_only));
            }
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        let (step_ms, fwd_ms) = (median(false), median(true));
        println!(
            "{{\"model\": \"{kind}\", \"embed\": {dim}, \"hidden\": {dim}, \"batch\": {batch}, \"dtype\": \"{}\", \"threads\": {}, \"step_ms\": {step_ms:.3}, \"fwd_ms\": {fwd_ms:.3}}}",
            if T::NAME == "f32" { "float32" } else { "float64" },
            self.threads,
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|a| a == name)?;
        arguments.get(at + 1).cloned()
    };
    // Under `cargo test` the benchmarks are compiled and not run.
    if !arguments.iter().any(|a| a == "--bench") {
        return;
    }
    let threads = value("--threads").map_or(1, |n| n.parse().expect("a number of threads"));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let bench = Bench { threads, only: value("--only") };
    pool.install(|| {
        let ball = PoincareBall::ball(-1.0).expect("negative");
        for (dim, batch) in [(5, 64), (5, 512), (64, 64), (64, 512)] {
            bench.run::<_, f32>("hyp", ball, dim, batch);
            bench.run::<_, f32>("euc", Euclidean, dim, batch);
        }
    });
}

//! A training step of a GRU, for comparison with its peers. Prints one JSON line per measurement, with
//! the names of the peers' script.
//!
//! `cargo bench --bench gru -- [--threads 1] [--only hyp/64/512]`
//! prints the median time of a step. A step has two sentences of length 20 over 100 words, a GRU for
//! each, `M₁ ⊗ h₁ ⊕ M₂ ⊗ h₂ ⊕ b`, logistic regression with two classes, cross-entropy,
//! forward, backward and Riemannian Adam.

mod common;

use std::ops::Range;
use std::time::Instant;

use common::Options;
use cotangent::prelude::*;
use rand::RngExt;

const WORDS: u32 = 100;
const LEN: usize = 20;

#[derive(Module)]
struct Model<M: Steps, T: Float> {
    words: Embedding<M, T>,
    encoders: [Gru<M, T>; 2],
    join: Concat<M, T>,
    classes: LogisticRegression<M, T>,
}

impl<M, T> Model<M, T>
where
    M: Steps + for<'t> GyrovectorSpace<'t, T, Learned = M>,
    T: Float,
{
    /// The mean loss of some pairs of sentences, `[LEN, batch]` each.
    fn loss<'t>(
        &self,
        tape: &'t Tape<T>,
        sentences: &[Vec<u32>; 2],
        labels: &[u32],
        part: Range<usize>,
    ) -> Var<'t, T> {
        let batch = labels.len();
        let states = [0, 1].map(|i| {
            let words: Vec<u32> =
                sentences[i].chunks(batch).flat_map(|words| words[part.clone()].iter().copied()).collect();
            let words = self.words.forward(tape, &words).arrange([LEN, part.len()]);
            self.encoders[i].forward(words).last()
        });
        let logits = self.classes.forward(self.join.forward(&states, None));
        loss::cross_entropy(logits, &labels[part], 0.0)
    }
}

struct Bench {
    threads: usize,
    only: Option<String>,
}

impl Bench {
    fn run<M, T: Float>(&self, kind: &str, manifold: M, dim: usize, batch: usize)
    where
        M: Steps + for<'t> GyrovectorSpace<'t, T, Learned = M>,
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
        // The parts of a batch run in parallel, one per thread.
        let parts: Vec<Range<usize>> =
            (0..batch).step_by(batch / self.threads).map(|b| b..b + batch / self.threads).collect();
        let mut parallel = DataParallel::new(Device::cpu());
        let mut step = || {
            let start = Instant::now();
            let loss = parallel.step(&mut model, &mut adam, &parts, |model, tape, part| {
                model.loss(tape, &sentences, &labels, part.clone()) * (part.len() as f64 / batch as f64)
            });
            assert!(loss.expect("finite").is_finite());
            start.elapsed().as_secs_f64() * 1e3
        };
        (0..4).for_each(|_| _ = step());
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.len() < 7 || start.elapsed().as_secs_f64() < 2.0 {
            times.push(step());
        }
        times.sort_by(f64::total_cmp);
        let step_ms = times[times.len() / 2];
        println!(
            "{{\"model\": \"{kind}\", \"embed\": {dim}, \"hidden\": {dim}, \
             \"batch\": {batch}, \"dtype\": \"{}\", \"threads\": {}, \"step_ms\": {step_ms:.3}}}",
            if T::NAME == "f32" { "float32" } else { "float64" },
            self.threads,
        );
    }
}

fn main() {
    common::run(|Options { threads, only }| {
        let bench = Bench { threads, only };
        let ball = PoincareBall::new(-1.0);
        for (dim, batch) in [(5, 64), (5, 512), (64, 64), (64, 512)] {
            bench.run::<_, f32>("hyp", ball, dim, batch);
            bench.run::<_, f32>("euc", Euclidean, dim, batch);
        }
    });
}

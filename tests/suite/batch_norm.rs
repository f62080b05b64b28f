//! Batch normalisation inside the training loop.

use cotangent::engine::loss::cross_entropy;
use cotangent::prelude::*;

/// The number of pictures.
const ITEMS: usize = 96;

/// Classifies pictures `[n, 1, 6, 6]` by their brighter half.
#[derive(Module)]
struct Classifier {
    stack: ConvStack<f64>,
    out: Linear<Euclidean, f64>,
}

impl Classifier {
    fn new() -> Self {
        let rng = &mut rng::stream(3, "initial", 0);
        let mut stack = ConvStack::new(&[1, 4, 4], 3, 2, rng);
        stack.norms.iter_mut().for_each(|norm| norm.momentum = 1.0);
        Classifier { stack, out: Linear::new(Euclidean, 16, 2, rng) }
    }

    /// Logits `[n, 2]` of maps `[n, 4, 2, 2]`.
    fn classify<'t>(&self, maps: Var<'t, f64>) -> Var<'t, f64> {
        *self.out.forward(maps.reshape([maps.shape()[0], 16]))
    }
}

/// A picture whose upper half is the brighter one where its number is even.
fn pictures<'t>(tape: &'t Tape<f64>, items: &[u32]) -> Var<'t, f64> {
    let pixels = Tensor::from_fn([ITEMS, 1, 6, 6], |i| {
        let (item, row) = (i / 36, i / 6 % 6);
        5.0 + f64::from((row < 3) == (item % 2 == 0)) + 1.5 * (i as f64 * 12.9898).sin()
    });
    tape.constant(&pixels.reshape([ITEMS, 36])).gather(items).reshape([items.len(), 1, 6, 6])
}

/// The accuracy on all pictures by the running statistics.
fn accuracy(model: &Classifier) -> f64 {
    let (tape, items) = (Tape::new(), (0..ITEMS as u32).collect::<Vec<_>>());
    let (_, best) = model.classify(model.stack.forward(pictures(&tape, &items))).top_k(1);
    let right = best.iter().zip(&items).filter(|(class, item)| **class == **item % 2).count();
    right as f64 / ITEMS as f64
}

fn train() -> Classifier {
    let (mut model, mut adam) = (Classifier::new(), RiemannianAdam::new(0.02).unwrap());
    let sample: Vec<u32> = (0..40).collect();
    Trainer::new(20)
        .run(
            &mut model,
            &mut adam,
            &Shuffled { items: ITEMS, batch: 48, seed: 1 },
            |model, tape, items| {
                let labels: Vec<u32> = items.iter().map(|item| item % 2).collect();
                let (maps, _) = model.stack.forward_batch(pictures(tape, items));
                cross_entropy(model.classify(maps), &labels, 0.0)
            },
            |model, _| {
                let (_, batch) = model.stack.forward_batch(pictures(&Tape::new(), &sample));
                model.stack.observe(&batch);
                Ok(accuracy(model))
            },
        )
        .unwrap();
    model
}

/// A model whose running statistics are set in the evaluation learns, and has the same bits for any number of
/// threads.
#[test]
fn a_normalised_model_trains() {
    let model = train();
    assert!(accuracy(&model) > 0.95, "{}", accuracy(&model));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(train).state(), model.state());
}

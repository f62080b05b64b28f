//! A model of the library's own layers and its training, with no formula of its own. The test
//! `nothing_of_the_library_is_compiled_again` reads what this crate is compiled to.

use cotangent::prelude::*;

/// A recurrent network over words, and attention over its states, in the Poincaré ball.
#[derive(Clone, Module)]
pub struct Model {
    words: Embedding<PoincareBall>,
    gru: Gru<PoincareBall>,
    attention: Attention<f32>,
    classes: LogisticRegression<PoincareBall>,
}

impl Model {
    pub fn new(words: usize, classes: usize, rng: &mut rng::Rng) -> Self {
        let ball = PoincareBall::new(-1.0);
        Model {
            words: Embedding::uniform("words", ball, words, 8, 0.5, rng),
            gru: Gru::new(ball, 8, 16, rng),
            attention: Attention::new(&score::Distance, 16),
            classes: LogisticRegression::new(ball, 16, classes, rng),
        }
    }

    /// Logits `[sequences, classes]` of words `[length, sequences]`.
    pub fn forward<'t>(&self, tape: &'t Tape<f32>, words: &[u32], sequences: usize) -> Var<'t, f32> {
        let points = self.words.forward(tape, words).arrange([words.len() / sequences, sequences]);
        let last = self.gru.forward(Sequence::new(points)).last();
        let seen =
            self.attention.forward(*last.coordinates(), *last.coordinates(), *last.coordinates(), Mask::None);
        self.classes.forward(exp0(*last.manifold(), seen))
    }

    /// One step of training; returns the loss.
    ///
    /// # Errors
    /// If a parameter would not be finite.
    pub fn step(
        &mut self,
        adam: &mut RiemannianAdam<f32>,
        words: &[u32],
        labels: &[u32],
    ) -> Result<f64, Box<dyn std::error::Error>> {
        let tape = Tape::new();
        let loss = loss::cross_entropy(self.forward(&tape, words, labels.len()), labels, 0.0);
        adam.step(self, &tape.backward(loss))?;
        Ok(loss.item())
    }
}

//! The model: López & Strube 2020, section 4, with each of its four parts in either geometry.
//!
//! | part | equations | file |
//! |---|---|---|
//! | encoder | 5, 6, 15, and 7 for the states of both directions | `encoder.rs` |
//! | attention | 8 (or 17), 9 | `attention.rs` |
//! | concatenation | 7 | `regression.rs` |
//! | logistic regression | 10, 18 to 21 | `regression.rs` |
//!
//! Between two parts of different geometries points go by exp₀ or log₀. The paper does not
//! say to which part the concatenation of the GRU's states and the midpoint of the characters belong: here
//! they belong to the encoder and to the attention.

mod attention;
mod encoder;
mod regression;
pub(crate) mod space;

use cotangent::prelude::*;

use attention::Summaries;
use encoder::Encoder;
use regression::{Classifier, Joining};
use space::Located;

use crate::batches::Batch;
use crate::config::TypingConfig;

/// The model. Its words are frozen: they are no parameters.
#[derive(Clone, Debug, Module)]
pub(crate) struct TypingModel<T: Float> {
    encoder: Encoder<T>,
    attention: Summaries<T>,
    concatenation: Joining<T>,
    mlr: Classifier<T>,
    #[module(skip)]
    words: Tensor<T>,
}

/// How many of each a model has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Points of characters.
    pub(crate) characters: usize,
    /// Types.
    pub(crate) types: usize,
}

/// What the model makes of a batch.
pub(crate) struct Output<'t, T: Float> {
    /// The input of the logistic regression: `[batch, m]`.
    pub(crate) text: Located<'t, T>,
    /// The logits: `[batch, types]`.
    pub(crate) logits: Var<'t, T>,
    /// Queries and keys of the attention over contexts: `[batch, len, 2 d_S]`.
    pub(crate) queries_and_keys: [Located<'t, T>; 2],
}

impl<T: Float> TypingModel<T> {
    /// A model with initial parameters. `words` has the point of each word in the encoder's space.
    pub(crate) fn new(words: Tensor<T>, counts: Counts, config: &TypingConfig) -> Self {
        let rng = &mut rng::stream(config.seed, "initial", 0);
        let width = words.width();
        TypingModel {
            encoder: Encoder::new(width, counts.characters, config, rng),
            attention: Summaries::new(config, rng),
            concatenation: Joining::new(config, rng),
            mlr: Classifier::new(counts.types, config, rng),
            words,
        }
    }

    /// From a batch to logits.
    pub(crate) fn forward<'t>(&self, tape: &'t Tape<T>, batch: &Batch) -> Output<'t, T> {
        let encoded = self.encoder.forward(tape, batch, &self.words);
        let summarised = self.attention.forward(&encoded, batch);
        let text = self.concatenation.forward(summarised.points);
        let logits = self.mlr.forward(text);
        Output { text, logits, queries_and_keys: summarised.queries_and_keys }
    }

    /// The hyperplane of each type: a point, `[types, m]`, and a normal at the origin, `[types, m]`.
    pub(crate) fn hyperplanes(&self) -> [Tensor<f64>; 2] {
        self.mlr.hyperplanes()
    }

    /// Number of parameters of encoder, attention, concatenation and logistic regression.
    pub(crate) fn parts(&self) -> [usize; 4] {
        [
            Module::<T>::count(&self.encoder),
            Module::<T>::count(&self.attention),
            Module::<T>::count(&self.concatenation),
            Module::<T>::count(&self.mlr),
        ]
    }
}

#[cfg(test)]
mod tests;

//! The model: López & Strube 2020, section 4, with each of its four parts in either geometry.
//!
//! | part | equations | file |
//! |---|---|---|
//! | encoder | 5, 6, 15, and 7 for the states of both directions | `encoder.rs` |
//! | attention | 8 (or 17), 9 | `attention.rs` |
//! | concatenation | 7 | `regression.rs` |
//! | logistic regression | 10, 18 to 21 | `regression.rs` |
//!
//! Between two parts of different geometries points go by exp₀ or log₀: `space.rs`. The paper does not
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
pub(crate) use space::Located;
use space::{Part, ball, on_part};

use crate::batches::Batch;
use crate::config::{Space, TypingConfig};

/// The model. Its words are frozen: they are no parameters.
#[derive(Clone, Debug, Module)]
pub(crate) struct TypingModel<T: Float> {
    encoder: Part<Encoder<Euclidean, T>, Encoder<PoincareBall, T>>,
    attention: Part<Summaries<Euclidean, T>, Summaries<PoincareBall, T>>,
    concatenation: Part<Joining<Euclidean, T>, Joining<PoincareBall, T>>,
    mlr: Part<Classifier<Euclidean, T>, Classifier<PoincareBall, T>>,
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
        let spaces = &config.spaces;
        macro_rules! part {
            ($space:expr, $manifold:ident => $new:expr) => {
                match $space {
                    Space::Euclidean => {
                        let $manifold = Euclidean;
                        Part::Euclidean($new)
                    }
                    Space::Hyperbolic => {
                        let $manifold = ball();
                        Part::Hyperbolic($new)
                    }
                }
            };
        }
        TypingModel {
            encoder: part!(spaces.encoder, manifold => {
                Encoder::new(manifold, width, counts.characters, config, rng)
            }),
            attention: part!(spaces.attention, manifold => Summaries::new(manifold, config, rng)),
            concatenation: part!(spaces.concatenation, manifold => Joining::new(manifold, config, rng)),
            mlr: part!(spaces.mlr, manifold => Classifier::new(manifold, counts.types, config, rng)),
            words,
        }
    }

    /// From a batch to logits.
    pub(crate) fn forward<'t>(&self, tape: &'t Tape<T>, batch: &Batch) -> Output<'t, T> {
        let encoded = on_part!(&self.encoder, part => part.forward(tape, batch, &self.words));
        let summarised = on_part!(&self.attention, part => part.forward(&encoded, batch));
        let text = on_part!(&self.concatenation, part => part.forward(summarised.points));
        let logits = on_part!(&self.mlr, part => part.forward(text));
        Output { text, logits, queries_and_keys: summarised.queries_and_keys }
    }

    /// The hyperplane of each type: a point, `[types, m]`, and a normal at the origin, `[types, m]`.
    pub(crate) fn hyperplanes(&self) -> [Tensor<f64>; 2] {
        match &self.mlr {
            Part::Euclidean(part) => part.hyperplanes(Space::Euclidean),
            Part::Hyperbolic(part) => part.hyperplanes(Space::Hyperbolic),
        }
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

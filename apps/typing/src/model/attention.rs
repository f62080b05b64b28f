//! Distance-based attention: López & Strube 2020, section 4.4 and appendix D.

use cotangent::prelude::*;

use super::encoder::{Encoded, RANGE};
use super::space::{Located, PartSpace};
use crate::batches::{Batch, Padded};
use crate::config::{AttentionWeights, Config};
use crate::examples::context_positions;

/// Attention over a sequence of points. It gives one point.
#[derive(Clone, Debug, Module)]
pub(crate) struct Pooling<S, T: Float> {
    #[module(skip)]
    space: S,
    /// p: a point for each position.
    positions: Embedding<S, T>,
    /// W^Q and b^Q.
    query: Linear<S, T>,
    /// W^K and b^K.
    key: Linear<S, T>,
    /// β: `[1]`. It starts at 1, a choice of this project.
    sharpness: Param<Euclidean, T>,
    /// c of eq. 17: `[1]`. It starts at 0.
    offset: Option<Param<Euclidean, T>>,
    #[module(skip)]
    weights: AttentionWeights,
}

/// What a [`Pooling`] makes of a batch of sequences.
pub(crate) struct Pooled<'t, T: Float> {
    /// The midpoints: `[batch, n]`.
    pub(crate) points: Located<'t, T>,
    /// q of eq. 8: `[batch, len, n]`.
    pub(crate) queries: Located<'t, T>,
    /// k of eq. 8: `[batch, len, n]`.
    pub(crate) keys: Located<'t, T>,
}

impl<S: PartSpace<T>, T: Float> Pooling<S, T> {
    /// For points of n dimensions at so many positions.
    fn new(space: S, n: usize, positions: usize, config: &Config, rng: &mut rng::Rng) -> Self {
        let number = |name, value| Param::new(name, Euclidean, Tensor::new([1], vec![value]));
        Pooling {
            space,
            positions: Embedding::uniform("positions", space, positions, n, RANGE, rng),
            query: Linear::new(space, n, n, rng),
            key: Linear::new(space, n, n, rng),
            sharpness: number("sharpness", T::one()),
            offset: config.attention_offset.then(|| number("offset", T::zero())),
            weights: config.attention_weights,
        }
    }

    /// Pools points x, `[batch, len, n]`. `positions` has their positions, and the lengths of the sequences.
    fn forward<'t>(&self, x: Located<'t, T>, positions: &Padded) -> Pooled<'t, T> {
        let (space, x) = (&self.space, self.space.take(x));
        let (tape, shape) = (x.coordinates().tape(), x.coordinates().shape());
        let p = self.positions.forward(tape, &positions.by_sequence());
        // r_i = x_i ⊕ p_i
        let r = space.add(*x.coordinates(), p.coordinates().reshape(shape));
        let [q, k] = [&self.query, &self.key].map(|linear| linear.forward(Point::new(*space, r)));
        // Eq. 8; eq. 17 with c. In a softmax c cancels and has no gradient, so it stays at 0, as the authors
        // saw.
        let mut scores = space.distance(*q.coordinates(), *k.coordinates()) * self.sharpness.on(tape) * -1.0;
        if let Some(offset) = &self.offset {
            scores = scores - offset.on(tape);
        }
        let weights = match self.weights {
            AttentionWeights::Softmax => {
                scores.masked_fill(positions.ended(tape), f64::NEG_INFINITY).softmax(-1)
            }
            AttentionWeights::Sigmoid => scores.sigmoid() * positions.inside(tape),
        };
        let midpoints = space.gyromidpoint(*x.coordinates(), weights);
        Pooled {
            points: space.give(Point::new(*space, midpoints)),
            queries: space.give(q),
            keys: space.give(k),
        }
    }
}

/// Mentions, characters and contexts, each summarised by one point.
#[derive(Clone, Debug, Module)]
pub(crate) struct Summaries<S, T: Float> {
    #[module(skip)]
    space: S,
    mention: Pooling<S, T>,
    context: Pooling<S, T>,
}

/// What [`Summaries`] make of a batch.
pub(crate) struct Summarised<'t, T: Float> {
    /// **m** of section 4.1, `[batch, d_M]`; **c** of section 4.1, `[batch, d_C]`; **s** of section 4.2,
    /// `[batch, 2 d_S]`.
    pub(crate) points: [Located<'t, T>; 3],
    /// Queries and keys of the attention over contexts: `[batch, len, 2 d_S]`.
    pub(crate) queries_and_keys: [Located<'t, T>; 2],
}

impl<S: PartSpace<T>, T: Float> Summaries<S, T> {
    pub(crate) fn new(space: S, config: &Config, rng: &mut rng::Rng) -> Self {
        let contexts = context_positions(config.context_words);
        Summaries {
            space,
            mention: Pooling::new(space, config.mention_dim, config.mention_words, config, rng),
            context: Pooling::new(space, 2 * config.context_dim, contexts, config, rng),
        }
    }

    /// Summarises a batch.
    pub(crate) fn forward<'t>(&self, encoded: &Encoded<'t, T>, batch: &Batch) -> Summarised<'t, T> {
        // Positions of words in the mention are absolute, those of the context relative to the mention.
        let mention = self.mention.forward(encoded.mention, &batch.mention.places());
        let context = self.context.forward(encoded.context, &batch.positions);
        let characters = self.midpoints(encoded.characters, &batch.characters);
        Summarised {
            points: [mention.points, characters, context.points],
            queries_and_keys: [context.queries, context.keys],
        }
    }

    /// The midpoint of all points of each sequence, with equal weights: eq. 9.
    fn midpoints<'t>(&self, x: Located<'t, T>, padded: &Padded) -> Located<'t, T> {
        let x = self.space.take(x);
        let weights = padded.inside(x.coordinates().tape());
        self.space.give(Point::new(self.space, self.space.gyromidpoint(*x.coordinates(), weights)))
    }
}

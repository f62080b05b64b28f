//! Distance-based attention: López & Strube 2020, section 4.4 and appendix D.

use cotangent::engine::Weights;
use cotangent::prelude::*;

use super::encoder::{Encoded, RANGE};
use super::space::{Located, geometry};
use crate::batches::{Batch, Padded};
use crate::config::{AttentionWeights, TypingConfig};
use crate::examples::context_positions;

/// Attention over a sequence of points. It gives one point.
#[derive(Clone, Debug, Module)]
pub(crate) struct Pooling<T: Float> {
    geometry: AnyGeometry<T>,
    /// p, W^Q, b^Q, W^K, b^K and β.
    layer: AttentionPooling<SpaceForm, T>,
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

impl<T: Float> Pooling<T> {
    /// For points of n dimensions at so many positions.
    fn new(
        geometry: AnyGeometry<T>,
        n: usize,
        positions: usize,
        config: &TypingConfig,
        rng: &mut rng::Rng,
    ) -> Self {
        let manifold = geometry.manifold();
        let points = Embedding::uniform("positions", manifold, positions, n, RANGE, rng).points;
        let mut layer =
            AttentionPooling { positions: points, ..AttentionPooling::new(manifold, n, positions, rng) };
        layer.sharpness.value_mut().data_mut()[0] = T::nearest(config.sharpness);
        let offset = || Param::new("offset", Euclidean, Tensor::zeros([1]));
        let offset = config.attention_offset.then(offset);
        Pooling { geometry, layer, offset, weights: config.attention_weights }
    }

    /// Pools points x, `[batch, len, n]`. `positions` has their positions, and the lengths of the sequences.
    fn forward<'t>(&self, x: Located<'t, T>, positions: &Padded) -> Pooled<'t, T> {
        let (tape, shape) = (x.coordinates().tape(), x.coordinates().shape());
        let space = self.geometry.on(tape);
        let x = into_space(space, x);
        let p = self.layer.positions.on(tape).rows(&positions.by_sequence());
        // r_i = x_i ⊕ p_i
        let r = space.add(*x.coordinates(), p.coordinates().reshape(shape));
        // Eq. 8; eq. 17 with c. In a softmax c cancels and has no gradient, so it stays at 0, as the authors
        // saw.
        let ([q, k], mut scores) = self.layer.scores(Point::new(space, r));
        if let Some(offset) = &self.offset {
            scores = scores - offset.on(tape);
        }
        // The midpoint depends on the shares of the weights alone. Computed as shares they do not underflow.
        let weights = match self.weights {
            AttentionWeights::Softmax => Weights::Softmax,
            AttentionWeights::Sigmoid => Weights::NormalisedSigmoid,
        };
        let weights = weights.normalise(scores, Some(positions.ended(tape)));
        let midpoints = space.gyromidpoint(*x.coordinates(), weights);
        Pooled { points: Point::new(space, midpoints), queries: q, keys: k }
    }
}

/// Mentions, characters and contexts, each summarised by one point.
#[derive(Clone, Debug, Module)]
pub(crate) struct Summaries<T: Float> {
    geometry: AnyGeometry<T>,
    mention: Pooling<T>,
    context: Pooling<T>,
}

/// What [`Summaries`] make of a batch.
pub(crate) struct Summarised<'t, T: Float> {
    /// **m** of section 4.1, `[batch, d_M]`; **c** of section 4.1, `[batch, d_C]`; **s** of section 4.2,
    /// `[batch, 2 d_S]`.
    pub(crate) points: [Located<'t, T>; 3],
    /// Queries and keys of the attention over contexts: `[batch, len, 2 d_S]`.
    pub(crate) queries_and_keys: [Located<'t, T>; 2],
}

impl<T: Float> Summaries<T> {
    pub(crate) fn new(config: &TypingConfig, rng: &mut rng::Rng) -> Self {
        let geometry = geometry(config.spaces.attention);
        let mut pooling = |n, positions| Pooling::new(geometry.clone(), n, positions, config, rng);
        let mention = pooling(config.mention_dim, config.mention_words);
        let context = pooling(2 * config.context_dim, context_positions(config.context_words));
        Summaries { geometry, mention, context }
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
        let tape = x.coordinates().tape();
        let space = self.geometry.on(tape);
        let x = into_space(space, x);
        Point::new(space, space.gyromidpoint(*x.coordinates(), padded.inside(tape)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Size, Space};
    use crate::examples::Example;

    /// With absolute positions and without c it is the layer of the library, which has tests of its own.
    #[test]
    fn pooling_of_places_is_the_layers_attention_pooling() {
        let config = TypingConfig::for_crowd(Size::Base, Space::Hyperbolic);
        let ball = PoincareBall::new(-1.0);
        let rng = &mut rng::stream(3, "test", 0);
        let mut pooling = Pooling::<f64>::new(ball.into(), 3, 4, &config, rng);
        for (i, x) in pooling.layer.positions.value_mut().data_mut().iter_mut().enumerate() {
            *x = 0.2 * (i as f64).cos();
        }
        *pooling.layer.sharpness.value_mut() = Tensor::new([1], vec![2.5]);
        let layer = pooling.layer.clone();
        let example = |len: usize| Example { mention: vec![0; len], ..Example::default() };
        let examples = [example(4), example(2)];
        let places = Batch::new(&examples.iter().collect::<Vec<_>>()).mention.places();
        let tape = Tape::new();
        let x = tape.constant(&Tensor::from_fn([4, 2, 3], |i| 0.3 * (i as f64).sin()));
        let space = AnySpace::from(ball);
        let want = layer.forward(Sequence::new(Point::new(space, x)).with_lengths(&[4, 2]));
        let pooled = pooling.forward(Point::new(space, x.permute(&[1, 0, 2])), &places);
        let (found, want) = (pooled.points.coordinates().to_tensor(), want.coordinates().to_tensor());
        let error = found.data().iter().zip(want.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-15, "{error}");
    }

    /// β starts at 1, or where the option says: in the authors' program within ±0.01.
    #[test]
    fn sharpness_starts_where_the_option_says() {
        let base = TypingConfig::for_crowd(Size::Base, Space::Hyperbolic);
        for (config, start) in [(base.clone(), 1.0), (TypingConfig { sharpness: -0.01, ..base }, -0.01)] {
            let rng = &mut rng::stream(3, "test", 0);
            let summaries = Summaries::<f64>::new(&config, rng);
            for pooling in [summaries.mention, summaries.context] {
                assert_eq!(pooling.layer.sharpness.value().data(), [start]);
            }
        }
    }

    /// With a sigmoid the midpoint divides by the sum of the weights: equal points give that point, however
    /// small the weights are.
    #[test]
    fn weights_by_sigmoid_need_no_sum_of_one() {
        for c in [0.0, 2000.0] {
            for space in [Space::Euclidean, Space::Hyperbolic] {
                let attention_weights = AttentionWeights::Sigmoid;
                let config = TypingConfig::for_crowd(Size::Base, space);
                let config = TypingConfig { attention_weights, attention_offset: true, ..config };
                let tape = Tape::<f64>::new();
                let x = tape.constant(&Tensor::from_fn([1, 3, 2], |i| [0.3, -0.4][i % 2]));
                let geometry = geometry(space);
                let x = Point::new(geometry.on(&tape), x);
                let mut pooling = Pooling::new(geometry, 2, 3, &config, &mut rng::stream(3, "test", 0));
                pooling.offset.as_mut().expect("a model with c").value_mut().data_mut()[0] = c;
                let example = Example { mention: vec![0; 3], ..Example::default() };
                let places = Batch::new(&[&example]).mention.places();
                let found = pooling.forward(x, &places).points.coordinates().to_tensor();
                let found = found.data();
                assert!((found[0] - 0.3).abs() < 1e-14 && (found[1] + 0.4).abs() < 1e-14, "{c}: {found:?}");
            }
        }
    }
}

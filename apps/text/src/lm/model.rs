//! The transformer of a language model: layers with causal attention, between word vectors and a softmax over
//! words.

use std::ops::Range;

use cotangent::engine::rng::Rng;
use cotangent::layers::{AdaptiveEmbedding, AdaptiveSoftmax, EncoderLayer, KeyValueCache, PositionEmbedding};
use cotangent::prelude::*;
use cotangent_apps_attention::body::{placed, position_tables};

use super::LmConfig;
use super::blocks::Batch;

/// A decoder-only transformer. A plain softmax is an adaptive one of a single band.
#[derive(Clone, Debug, Module)]
pub(super) struct LmModel {
    /// The vectors of words, as input and, unless there are others, as output (Press & Wolf 2017).
    words: AdaptiveEmbedding,
    /// The vectors of words as output, if they have their own.
    output: Option<AdaptiveEmbedding>,
    softmax: AdaptiveSoftmax,
    /// `[block, width]`: the vectors of positions, if they are learned.
    positions: Option<Param<Euclidean, f32>>,
    /// As many points, if positions are hyperbolic.
    hyperbolic_positions: Option<PositionEmbedding<PoincareBall>>,
    layers: Vec<EncoderLayer>,
    /// The normalisation after the last layer, if the layers normalise before their sublayers.
    norm: Option<LayerNorm>,
    #[module(skip)]
    dropout: Dropout,
    /// Number of tokens in a block, the largest number of positions.
    pub(super) block: usize,
}

impl LmModel {
    pub(super) fn new(config: &LmConfig, score: &dyn Score<f32>, vocabulary: usize, rng: &mut Rng) -> Self {
        let (body, bands) = (config.body(), config.bands(vocabulary));
        let mut embedding = || AdaptiveEmbedding::new(bands.clone(), config.width, config.factor, rng);
        let (words, output) = (embedding(), config.untied.then(&mut embedding));
        let softmax = AdaptiveSoftmax::new(&words, rng);
        let places = [config.block, config.width];
        let (positions, hyperbolic_positions) = position_tables(config.positions, places, rng);
        LmModel {
            words,
            output,
            softmax,
            positions,
            hyperbolic_positions,
            layers: body.encoder(config.layers, score, rng),
            norm: body.last_norm(),
            dropout: Dropout { rate: config.dropout },
            block: config.block,
        }
    }

    /// Number of parameters of the layers: all but those of words, bands and positions.
    pub(super) fn layer_parameters(&self) -> usize {
        self.layers.count() + self.norm.count()
    }

    /// The states `[n, positions, width]` after tokens `[n, positions]` of n sequences, from which the next
    /// token follows. `before` has each layer's keys and values of the earlier positions, and is empty if
    /// there are none. Also returns those of all positions so far.
    pub(super) fn states<'t>(
        &self,
        tape: &'t Tape<f32>,
        before: &[KeyValueCache<'t, f32>],
        tokens: &[u32],
        positions: Range<usize>,
    ) -> (Var<'t, f32>, Vec<KeyValueCache<'t, f32>>) {
        let rows = self.words.forward(tape, tokens);
        let x = rows.reshape([tokens.len() / positions.len(), positions.len(), rows.shape().width()]);
        let x = placed(x, positions, self.positions.as_ref(), self.hyperbolic_positions.as_ref());
        let mut x: Var<'t, f32> = *self.dropout.forward(x);
        let mut so_far = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            let (y, kept) = layer.forward_cached(before.get(i).copied(), x);
            x = y;
            so_far.push(kept);
        }
        (self.norm.as_ref().map_or(x, |norm| norm.forward(x)), so_far)
    }

    /// The mean loss of the tokens of a batch that count.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<f32>, batch: &Batch) -> Var<'t, f32> {
        let (states, _) = self.states(tape, &[], &batch.given, 0..batch.len);
        let counted = states.slice(1, batch.len - batch.counted..batch.len);
        let rows = counted.reshape([batch.next.len(), states.shape().width()]);
        self.softmax.loss(self.output(), rows, &batch.next)
    }

    /// The logarithms of the probabilities of the next token, `[n, vocabulary]`, for states `[n, width]`.
    pub(super) fn log_probabilities<'t>(&self, states: Var<'t, f32>) -> Var<'t, f32> {
        self.softmax.log_probabilities(self.output(), states)
    }

    /// The vectors of words as output.
    fn output(&self) -> &AdaptiveEmbedding {
        self.output.as_ref().unwrap_or(&self.words)
    }
}

//! The transformer of a translation model: Vaswani et al. 2017, with any attention score.

use std::ops::Range;

use cotangent::engine::rng::Rng;
use cotangent::layers::{DecoderLayer, EncoderLayer, KeyValueCache, PositionEmbedding};
use cotangent::prelude::*;
use cotangent_apps_attention::body::{placed, position_tables, table};

use super::bpe;
use super::{PositionsOption, TransformerConfig};

/// Encoder and decoder. One table embeds the tokens of both languages and also computes the logits (Press &
/// Wolf 2017).
#[derive(Clone, Debug, Module)]
pub(super) struct TransformerModel {
    /// `[vocabulary, width]`.
    embedding: Param<Euclidean, f32>,
    /// `[longest, width]`: the vectors of positions, if they are learned.
    positions: Option<Param<Euclidean, f32>>,
    /// `longest` points, if positions are hyperbolic.
    hyperbolic_positions: Option<PositionEmbedding<PoincareBall>>,
    encoder: Vec<EncoderLayer>,
    decoder: Vec<DecoderLayer>,
    /// Number of layers that are applied. If there are fewer layers, they are applied repeatedly.
    depth: usize,
    /// Normalisations of the encoder's and the decoder's output, if the layers normalise before their
    /// sublayers.
    norms: Option<[LayerNorm; 2]>,
    #[module(skip)]
    dropout: Dropout,
    /// Length of the longest sequences that have positions, the start or end token included.
    pub(super) longest: usize,
}

impl TransformerModel {
    pub(super) fn new(
        config: &TransformerConfig,
        score: &dyn Score<f32>,
        vocabulary: usize,
        rng: &mut Rng,
    ) -> Self {
        let (body, width) = (config.body(), config.width);
        let embedding = table("embedding", vocabulary, width, rng);
        let places = [config.longest + 1, width];
        let (positions, hyperbolic_positions) = position_tables(config.positions, places, rng);
        let layers = if config.recursive { 1 } else { config.layers };
        let encoder = body.encoder(layers, score, rng);
        let decoder = (0..layers).map(|_| {
            let mut layer = DecoderLayer::new(score, body.sizes(), rng);
            body.apply(&mut layer.attention);
            body.apply(&mut layer.across);
            layer
        });
        let sinusoidal = config.positions == PositionsOption::Sinusoidal;
        TransformerModel {
            embedding,
            positions,
            hyperbolic_positions,
            encoder,
            decoder: decoder.collect(),
            depth: config.layers,
            norms: body.last_norm().zip(body.last_norm()).map(Into::into),
            dropout: Dropout { rate: config.dropout },
            longest: if sinusoidal { usize::MAX } else { config.longest + 1 },
        }
    }

    /// Embeds tokens `[n, positions]` at the same positions of n sentences: `[n, positions, width]`.
    fn embed<'t>(&self, tape: &'t Tape<f32>, tokens: &[u32], positions: Range<usize>) -> Var<'t, f32> {
        let len = positions.len();
        let rows = self.embedding.on(tape).gather(tokens);
        let x = rows.reshape([tokens.len() / len, len, rows.shape().width()]);
        let x = placed(x, positions, self.positions.as_ref(), self.hyperbolic_positions.as_ref());
        *self.dropout.forward(x)
    }

    /// Normalises the output of the encoder (0) or the decoder (1), if it is to be normalised.
    fn normalise<'t>(&self, which: usize, x: Var<'t, f32>) -> Var<'t, f32> {
        self.norms.as_ref().map_or(x, |norms| norms[which].forward(x))
    }

    /// Encodes source sentences of equal length, `[n, len]`, to `[n, len, width]`.
    pub(super) fn encode<'t>(&self, tape: &'t Tape<f32>, tokens: &[u32], len: usize) -> Var<'t, f32> {
        let mut x = self.embed(tape, tokens, 0..len);
        for layer in self.encoder.iter().cycle().take(self.depth) {
            x = layer.forward(x, Mask::None);
        }
        self.normalise(0, x)
    }

    /// The keys and values of encoded sentences, for each layer that the decoder applies.
    pub(super) fn cache<'t>(&self, encoded: Var<'t, f32>) -> Vec<KeyValueCache<'t, f32>> {
        self.decoder.iter().cycle().take(self.depth).map(|layer| layer.across.cache(encoded)).collect()
    }

    /// Decodes the first `len` tokens of target sentences, `[n, len]`, for encoded sources, to
    /// `[n, len, width]`.
    pub(super) fn decode<'t>(&self, encoded: Var<'t, f32>, tokens: &[u32], len: usize) -> Var<'t, f32> {
        self.decode_cached(&[], tokens, 0..len, &self.cache(encoded)).0
    }

    /// Decodes tokens `[n, positions]` of target sentences to `[n, positions, width]`. `before` has each
    /// layer's keys and values of the earlier positions, and is empty if there are none; `encoded` has those
    /// of the encoded sources. Also returns the keys and values of all positions so far.
    pub(super) fn decode_cached<'t>(
        &self,
        before: &[KeyValueCache<'t, f32>],
        tokens: &[u32],
        positions: Range<usize>,
        encoded: &[KeyValueCache<'t, f32>],
    ) -> (Var<'t, f32>, Vec<KeyValueCache<'t, f32>>) {
        assert!(encoded.len() == self.depth && (before.is_empty() || before.len() == self.depth));
        let tape = encoded[0].keys.tape();
        let mut x = self.embed(tape, tokens, positions);
        let mut so_far = Vec::with_capacity(self.depth);
        for (i, (layer, encoded)) in self.decoder.iter().cycle().zip(encoded).enumerate() {
            let (y, kept) = layer.forward_cached(before.get(i).copied(), x, *encoded, Mask::None);
            x = y;
            so_far.push(kept);
        }
        (self.normalise(1, x), so_far)
    }

    /// The logits of the next token, `[rows, vocabulary]`, for decoded rows `[rows, width]`.
    pub(super) fn logits<'t>(&self, x: Var<'t, f32>) -> Var<'t, f32> {
        x.matmul_nt(self.embedding.on(x.tape()))
    }

    /// The weights with which the decoder's last layer attends to the source sentence: for each head
    /// `[translation + 1, source]`, where row i is the position that predicts token i of the translation, and
    /// the last row predicts the end token.
    pub(super) fn weights(&self, source: &[u32], translation: &[u32], device: &Device) -> Vec<Tensor<f32>> {
        let tape = Tape::with_device(device.clone());
        let encoded = self.encode(&tape, source, source.len());
        let given = [&[bpe::BEGIN], translation].concat();
        let mut x = self.embed(&tape, &given, 0..given.len());
        let last = self.decoder.last().expect("at least one layer");
        for layer in self.decoder.iter().cycle().take(self.depth - 1) {
            x = layer.forward(x, encoded, Mask::None);
        }
        heads(last.weigh_across(x, encoded, Mask::None))
    }

    /// The weights with which the encoder's last layer attends to the source sentence: `[source, source]` for
    /// each head.
    pub(super) fn weights_within(&self, source: &[u32], device: &Device) -> Vec<Tensor<f32>> {
        let tape = Tape::with_device(device.clone());
        let mut x = self.embed(&tape, source, 0..source.len());
        let last = self.encoder.last().expect("at least one layer");
        for layer in self.encoder.iter().cycle().take(self.depth - 1) {
            x = layer.forward(x, Mask::None);
        }
        heads(last.weigh(x, Mask::None))
    }
}

/// Splits weights `[1, heads, n, m]` into a matrix `[n, m]` for each head.
fn heads(weights: Var<'_, f32>) -> Vec<Tensor<f32>> {
    let weights = weights.to_tensor();
    let [1, _, n, m] = *weights.shape().axes() else { unreachable!("weights of one sentence") };
    weights.data().chunks_exact(n * m).map(|head| Tensor::new([n, m], head.to_vec())).collect()
}

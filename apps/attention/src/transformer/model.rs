//! The transformer of a translation model: Vaswani et al. 2017, with attention of any score.

use std::ops::Range;

use cotangent::engine::rng::Rng;
use cotangent::layers::{
    DecoderLayer, EncoderLayer, KeyValueCache, NormOrder, PositionEmbedding, TransformerSizes, position,
};
use cotangent::prelude::*;
use rand::RngExt;
use rand_distr::StandardNormal;

use super::bpe;
use super::{Config, NormOption, PositionsOption};

/// Encoder and decoder. The same table holds both languages' parts of words and the weights of the
/// logits (Press & Wolf 2017).
#[derive(Clone, Debug, Module)]
pub(super) struct Model {
    /// `[vocabulary, width]`.
    embedding: Param<Euclidean, f32>,
    /// `[longest, width]`, if positions are learned.
    positions: Option<Param<Euclidean, f32>>,
    /// The same number of points, if positions are hyperbolic.
    hyperbolic_positions: Option<PositionEmbedding<PoincareBall>>,
    encoder: Vec<EncoderLayer>,
    decoder: Vec<DecoderLayer>,
    /// Number of layers that rows go through. If there are fewer layers, they are used again.
    depth: usize,
    /// Normalisations of the encoder's and the decoder's result, if layers normalise before their
    /// sublayers.
    norms: Option<[LayerNorm; 2]>,
    #[module(skip)]
    dropout: Dropout,
    /// Length of the longest sentences that have positions, including marks.
    pub(super) longest: usize,
}

fn ball() -> PoincareBall {
    PoincareBall::new(-1.0)
}

impl Model {
    pub(super) fn new(config: &Config, score: &dyn Score<f32>, vocabulary: usize, rng: &mut Rng) -> Self {
        let width = config.width;
        let order = match config.norm {
            NormOption::Pre => NormOrder::Pre,
            NormOption::Post => NormOrder::Post,
        };
        let sizes = TransformerSizes {
            width,
            heads: config.heads,
            head: [config.head_dim; 2],
            hidden: config.hidden,
            dropout: config.dropout,
            order,
        };
        let deviation = (width as f64).powf(-0.5);
        let mut table = |name: &str, rows: usize| {
            let value =
                Tensor::from_fn([rows, width], |_| (deviation * rng.sample::<f64, _>(StandardNormal)) as f32);
            Param::new(name, Euclidean, value)
        };
        let embedding = table("embedding", vocabulary);
        let is = |positions| config.positions == positions;
        let positions = is(PositionsOption::Learned).then(|| table("positions", config.longest + 1));
        let hyperbolic_positions = is(PositionsOption::Hyperbolic).then(|| {
            // The range is López & Strube's, appendix F.
            PositionEmbedding::new(ball(), config.longest + 1, width, 1e-4, rng)
        });
        let apply = |attention: &mut Attention| config.options.apply(attention);
        let layers = if config.recursive { 1 } else { config.layers };
        let encoder = (0..layers).map(|_| {
            let mut layer = EncoderLayer::new(score, sizes, rng);
            apply(&mut layer.attention.attention);
            layer
        });
        let encoder = encoder.collect();
        let decoder = (0..layers).map(|_| {
            let mut layer = DecoderLayer::new(score, sizes, rng);
            apply(&mut layer.attention.attention);
            apply(&mut layer.across.attention);
            layer
        });
        Model {
            embedding,
            positions,
            hyperbolic_positions,
            encoder,
            decoder: decoder.collect(),
            depth: config.layers,
            norms: (order == NormOrder::Pre).then(|| [0, 1].map(|_| LayerNorm::new(width))),
            dropout: Dropout { rate: config.dropout },
            longest: if is(PositionsOption::Sinusoidal) { usize::MAX } else { config.longest + 1 },
        }
    }

    /// Embeds the same places of sentences, `[n, places]`, as rows: `[n, places, width]`.
    fn embed<'t>(&self, tape: &'t Tape<f32>, sentences: &[u32], places: Range<usize>) -> Var<'t, f32> {
        let len = places.len();
        let table = *self.embedding.on(tape);
        let width = table.shape().width();
        let x = table.gather(sentences).reshape([sentences.len() / len, len, width]);
        let scale = (width as f64).sqrt();
        let x = if let Some(table) = &self.positions {
            x * scale + table.on(tape).slice(0, places)
        } else if let Some(positions) = &self.hyperbolic_positions {
            log0(positions.forward(exp0(ball(), x), places.start)) * scale
        } else {
            x * scale + tape.constant(&position::sinusoidal(places.end, width)).slice(0, places)
        };
        *self.dropout.forward(x)
    }

    fn normalise<'t>(&self, which: usize, x: Var<'t, f32>) -> Var<'t, f32> {
        self.norms.as_ref().map_or(x, |norms| norms[which].forward(x))
    }

    /// Encodes source sentences of one length, `[n, len]`: `[n, len, width]`.
    pub(super) fn encode<'t>(&self, tape: &'t Tape<f32>, sentences: &[u32], len: usize) -> Var<'t, f32> {
        let mut x = self.embed(tape, sentences, 0..len);
        for layer in self.encoder.iter().cycle().take(self.depth) {
            x = layer.forward(x, Mask::None);
        }
        self.normalise(0, x)
    }

    /// The keys and values of encoded sentences, for each layer of the decoder.
    pub(super) fn cache<'t>(&self, encoded: Var<'t, f32>) -> Vec<KeyValueCache<'t, f32>> {
        self.decoder.iter().cycle().take(self.depth).map(|layer| layer.across.cache(encoded)).collect()
    }

    /// Decodes beginnings of target sentences, `[n, len]`, for encoded sentences: `[n, len, width]`.
    pub(super) fn decode<'t>(&self, encoded: Var<'t, f32>, sentences: &[u32], len: usize) -> Var<'t, f32> {
        self.decode_cached(&[], sentences, 0..len, &self.cache(encoded)).0
    }

    /// Decodes places of target sentences, `[n, places]`, to `[n, places, width]`. Takes, for each
    /// layer, the keys and values of the places before them, if there are any, and of the encoded
    /// sentences. Also returns the keys and values of all places so far.
    pub(super) fn decode_cached<'t>(
        &self,
        before: &[KeyValueCache<'t, f32>],
        sentences: &[u32],
        places: Range<usize>,
        encoded: &[KeyValueCache<'t, f32>],
    ) -> (Var<'t, f32>, Vec<KeyValueCache<'t, f32>>) {
        assert!(encoded.len() == self.depth && (before.is_empty() || before.len() == self.depth));
        let tape = encoded[0].keys.tape();
        let mut x = self.embed(tape, sentences, places);
        let mut so_far = Vec::with_capacity(self.depth);
        for (i, (layer, encoded)) in self.decoder.iter().cycle().zip(encoded).enumerate() {
            let (y, kept) = layer.forward_cached(before.get(i).copied(), x, *encoded, Mask::None);
            x = y;
            so_far.push(kept);
        }
        (self.normalise(1, x), so_far)
    }

    /// Logits of the next part for rows `[rows, width]`: `[rows, vocabulary]`.
    pub(super) fn logits<'t>(&self, x: Var<'t, f32>) -> Var<'t, f32> {
        x.matmul_nt(self.embedding.on(x.tape()))
    }

    /// The weights with which the decoder's last layer attends to a source sentence at each place of its
    /// translation: `[translation, source]` for each head.
    pub(super) fn weights(&self, source: &[u32], translation: &[u32], device: &Device) -> Vec<Tensor<f32>> {
        let tape = Tape::with_device(device.clone());
        let encoded = self.encode(&tape, source, source.len());
        let begun = [&[bpe::BEGIN], translation].concat();
        let mut x = self.embed(&tape, &begun, 0..begun.len());
        let last = self.decoder.last().expect("at least one layer");
        for layer in self.decoder.iter().cycle().take(self.depth - 1) {
            x = layer.forward(x, encoded, Mask::None);
        }
        heads(last.weigh_across(x, encoded, Mask::None))
    }

    /// The weights with which the encoder's last layer attends to a source sentence at each of its
    /// places: `[source, source]` for each head.
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

/// The matrices `[n, m]` of weights `[1, heads, n, m]`.
fn heads(weights: Var<'_, f32>) -> Vec<Tensor<f32>> {
    let weights = weights.to_tensor();
    let [1, _, n, m] = *weights.shape().axes() else { unreachable!("of one sentence") };
    weights.data().chunks_exact(n * m).map(|head| Tensor::new([n, m], head.to_vec())).collect()
}

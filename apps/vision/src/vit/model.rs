//! The vision transformer: Dosovitskiy et al. 2021, with any attention score.

use cotangent::engine::rng::Rng;
use cotangent::layers::{EncoderLayer, StochasticDepth, init};
use cotangent::prelude::*;

use super::VitConfig;
use super::batch::Batch;
use crate::pictured::Ends;

/// Standard deviation of the initial class token and positions, as in DeiT.
const DEVIATION: f64 = 0.02;

/// A transformer over the patches of a picture and a token of its own, whose last state gives the class.
#[derive(Clone, Debug, Module)]
pub(super) struct VitModel {
    /// A patch as a vector.
    patches: Linear<Euclidean>,
    /// `[1, width]`.
    class_token: Param<Euclidean, f32>,
    /// `[1 + patches, width]`: of the class token, then of the patches, row by row.
    positions: Param<Euclidean, f32>,
    layers: Vec<EncoderLayer>,
    /// The normalisation after the last layer, if the layers normalise before their sublayers.
    norm: Option<LayerNorm>,
    /// Logits of the classes.
    head: Linear<Euclidean>,
    #[module(skip)]
    dropout: Dropout,
    /// Side of a patch.
    patch: usize,
}

impl VitModel {
    pub(super) fn new(config: &VitConfig, score: &dyn Score<f32>, ends: Ends, rng: &mut Rng) -> Self {
        let (body, width) = (config.body(), config.width);
        let table = |name: &str, rows: usize, rng: &mut Rng| {
            Param::new(name, Euclidean, init::normal(rows, width, DEVIATION, rng))
        };
        let numbers = config.patch * config.patch * ends.channels;
        let patches = Linear::new(Euclidean, numbers, width, rng);
        let class_token = table("class_token", 1, rng);
        let positions = table("positions", 1 + config.grid() * config.grid(), rng);
        let mut layers = body.encoder(config.layers, score, rng);
        for (number, layer) in layers.iter_mut().enumerate() {
            layer.depth = StochasticDepth::rising(config.stochastic_depth, number, config.layers);
            layer.feed_forward.activation = Activation::new(|v| v.gelu());
        }
        VitModel {
            patches,
            class_token,
            positions,
            layers,
            norm: body.last_norm(),
            head: Linear::new(Euclidean, width, ends.classes, rng),
            dropout: Dropout { rate: config.dropout },
            patch: config.patch,
        }
    }

    /// Number of layers.
    pub(super) fn depth(&self) -> usize {
        self.layers.len()
    }

    /// The input of a layer, counted from 0: `[n, 1 + patches, width]`. The class token comes first.
    fn states<'t>(&self, tape: &'t Tape<f32>, batch: &Batch, layer: usize) -> Var<'t, f32> {
        let patches = *self.patches.forward(batch.patches(tape, self.patch));
        let (n, width) = (patches.shape()[0], patches.shape().width());
        let token = self.class_token.on(tape).broadcast_to([n, 1, width]);
        let x = Var::concat(&[token, patches], 1) + *self.positions.on(tape);
        let x: Var<'t, f32> = *self.dropout.forward(x);
        self.layers[..layer].iter().fold(x, |x, layer| layer.forward(x, Mask::None))
    }

    /// What the head takes, `[n, width]`: the features of pictures.
    pub(super) fn features<'t>(&self, tape: &'t Tape<f32>, batch: &Batch) -> Var<'t, f32> {
        let x = self.states(tape, batch, self.depth());
        let (n, width) = (x.shape()[0], x.shape().width());
        let token = x.slice(1, 0..1).reshape([n, width]);
        self.norm.as_ref().map_or(token, |norm| norm.forward(token))
    }

    /// The logits of the classes, `[n, classes]`.
    pub(super) fn logits<'t>(&self, tape: &'t Tape<f32>, batch: &Batch) -> Var<'t, f32> {
        *self.head.forward(self.features(tape, batch))
    }

    /// The mean loss of pictures, which may be mixtures of two classes each.
    pub(super) fn loss<'t>(&self, tape: &'t Tape<f32>, batch: &Batch, smoothing: f64) -> Var<'t, f32> {
        let logits = self.logits(tape, batch);
        let loss = |labels: &[u32]| loss::cross_entropy(logits, labels, smoothing);
        let [own, others] = &batch.labels;
        match batch.share {
            1.0 => loss(own),
            share => loss(own) * share + loss(others) * (1.0 - share),
        }
    }

    /// The weights of a layer, counted from 0, for each head: `[heads, 1 + patches, 1 + patches]`. The batch
    /// is a single picture.
    pub(super) fn weights(&self, tape: &Tape<f32>, batch: &Batch, layer: usize) -> Tensor<f32> {
        let weights = self.layers[layer].weigh(self.states(tape, batch, layer), Mask::None);
        let shape = weights.shape();
        weights.reshape([shape[1], shape[2], shape[3]]).to_tensor()
    }
}

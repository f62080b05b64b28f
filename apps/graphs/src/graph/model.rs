//! The model: layers of graph attention.

use std::sync::Arc;

use cotangent::layers::Score;
use cotangent::prelude::*;

use super::GraphConfig;

/// A graph attention network: the heads of all layers but the last stand side by side, and an ELU follows;
/// the result of the last is the mean of its heads.
#[derive(Clone, Module)]
pub(super) struct GraphModel {
    pub(super) hidden: GraphAttention,
    /// The layers between the first and the last.
    pub(super) middle: Vec<GraphAttention>,
    pub(super) output: GraphAttention,
    #[module(skip)]
    pub(super) dropout: Dropout,
}

impl GraphModel {
    /// For nodes with `features` features, and results of `results` numbers.
    pub(super) fn new(
        [features, results]: [usize; 2],
        config: &GraphConfig,
        score: &dyn Score<f32>,
        seed: u64,
    ) -> Self {
        let mut rng = rng::stream(seed, "initial", 0);
        let decided = config.decided();
        let dropout = Dropout { rate: decided.dropout };
        let mut layer = |width, heads, d, join| {
            let mut layer = GraphAttention::new(score, width, heads, d, join, &mut rng);
            if decided.skip {
                layer = layer.with_skip(&mut rng);
            }
            if !decided.bias {
                layer = layer.without_bias();
            }
            if config.matrices {
                layer = layer.with_matrices(&mut rng);
            }
            config.options.apply(&mut layer.attention);
            layer.attention.dropout = dropout;
            layer.keep_values = config.keep_values;
            layer
        };
        let (heads, d) = (decided.heads, decided.head_dim);
        let hidden = layer(features, heads, d, Heads::Concat);
        let middle = (2..decided.layers).map(|_| layer(heads * d, heads, d, Heads::Concat)).collect();
        let mut output = layer(heads * d, decided.output_heads, results, Heads::Mean);
        output.attention.values = config.output_values().into();
        GraphModel { hidden, middle, output, dropout }
    }

    /// The layers, from the first to the last.
    pub(super) fn layers(&self) -> impl Iterator<Item = &GraphAttention> {
        std::iter::once(&self.hidden).chain(&self.middle).chain(std::iter::once(&self.output))
    }

    /// The logits of all nodes, `[nodes, results]`.
    pub(super) fn forward<'t>(&self, features: Features<'t, f32>, edges: &Arc<Sparsity>) -> Var<'t, f32> {
        let mut x = features.dropout(self.dropout);
        for layer in std::iter::once(&self.hidden).chain(&self.middle) {
            x = Features::Dense(layer.forward(&x, edges).elu()).dropout(self.dropout);
        }
        self.output.forward(&x, edges)
    }

    /// The sum of the squares of all weights, and of the biases if they are decayed.
    pub(super) fn squares<'t>(&self, tape: &'t Tape<f32>, decay_biases: bool) -> Var<'t, f32> {
        let weights = self.layers().flat_map(|layer| {
            let matrices = layer.query_weight.iter().chain(&layer.key_weight).chain(&layer.skip);
            [&layer.weight, &layer.query, &layer.key].into_iter().chain(matrices)
        });
        let biases = self.layers().flat_map(|layer| &layer.bias).filter(|_| decay_biases);
        let squares = weights.chain(biases).map(|w| w.on(tape).square().sum());
        squares.reduce(|a, b| a + b).expect("there are layers")
    }
}

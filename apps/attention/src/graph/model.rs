//! The model: two layers of graph attention.

use cotangent::layers::Score;
use cotangent::prelude::*;

use super::GraphConfig;
use super::labelled_graph::LabelledGraph;

/// A graph attention network of two layers.
#[derive(Clone, Module)]
pub(super) struct GraphModel {
    pub(super) hidden: GraphAttention,
    pub(super) output: GraphAttention,
    #[module(skip)]
    pub(super) dropout: Dropout,
}

impl GraphModel {
    pub(super) fn new(
        graph: &LabelledGraph,
        config: &GraphConfig,
        score: &dyn Score<f32>,
        seed: u64,
    ) -> Self {
        let mut rng = rng::stream(seed, "initial", 0);
        let dropout = Dropout { rate: config.dropout };
        let mut layer = |width, heads, d, join| {
            let mut layer = GraphAttention::new(score, width, heads, d, join, &mut rng);
            config.options.apply(&mut layer.attention);
            layer.attention.dropout = dropout;
            layer
        };
        let (heads, d) = (config.heads, config.head_dim);
        let hidden = layer(graph.features.columns(), heads, d, Heads::Concat);
        let mut output = layer(heads * d, config.output_heads, graph.class_count, Heads::Mean);
        output.attention.values = config.output_values().into();
        GraphModel { hidden, output, dropout }
    }

    /// The logits of all nodes, `[nodes, classes]`. `amounts` are the graph's, as [`amounts`] returns them.
    pub(super) fn forward<'t>(
        &self,
        tape: &'t Tape<f32>,
        graph: &LabelledGraph,
        amounts: &Tensor<f32>,
    ) -> Var<'t, f32> {
        let x = features(tape, graph, amounts).dropout(self.dropout);
        let hidden = Features::Dense(self.hidden.forward(&x, &graph.edges).elu());
        self.output.forward(&hidden.dropout(self.dropout), &graph.edges)
    }

    /// The sum of the squares of all weights, and of the biases if they are decayed.
    pub(super) fn squares<'t>(&self, tape: &'t Tape<f32>, decay_biases: bool) -> Var<'t, f32> {
        let layers = [&self.hidden, &self.output];
        let weights = layers.iter().flat_map(|layer| [&layer.weight, &layer.query, &layer.key]);
        let biases = layers.iter().flat_map(|layer| &layer.bias).filter(|_| decay_biases);
        let squares = weights.chain(biases).map(|w| w.on(tape).square().sum());
        squares.reduce(|a, b| a + b).expect("two layers")
    }
}

/// The values of the nonzero features, as a tensor: it is created once per training, because a tensor stays
/// on the device where it is used.
pub(super) fn amounts(graph: &LabelledGraph) -> Tensor<f32> {
    Tensor::from_fn([graph.amounts.len()], |i| graph.amounts[i] as f32)
}

pub(super) fn features<'t>(
    tape: &'t Tape<f32>,
    graph: &LabelledGraph,
    amounts: &Tensor<f32>,
) -> Features<'t, f32> {
    Features::Sparse(graph.features.clone(), tape.constant(amounts))
}

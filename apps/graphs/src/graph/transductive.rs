//! Training on one graph, some of whose nodes have a known class: Veličković et al. 2018, section 3.3,
//! transductive learning.

use std::sync::Arc;

use cotangent::optim::train::Batches;
use cotangent::prelude::*;

use super::labelled_graph::LabelledGraph;
use super::model::GraphModel;
use super::training::{GraphTask, Validation, WholeGraph};

/// The classes of the nodes of one graph.
pub(super) struct NodeTask<'a> {
    graph: &'a LabelledGraph,
    /// The values of the nonzero features. They are made once a training, because a tensor stays on the
    /// device where it is used.
    amounts: Tensor<f32>,
    /// The classes of the nodes for training, validation and testing.
    classes: [Vec<u32>; 3],
    /// The seed of dropout.
    seed: u64,
}

impl<'a> NodeTask<'a> {
    pub(super) fn new(graph: &'a LabelledGraph, seed: u64) -> Self {
        let amounts = Tensor::from_fn([graph.amounts.len()], |i| graph.amounts[i] as f32);
        let classes = [&graph.train, &graph.validation, &graph.test].map(|nodes| graph.classes_of(nodes));
        NodeTask { graph, amounts, classes, seed }
    }

    fn logits<'t>(&self, model: &GraphModel, tape: &'t Tape<f32>) -> Var<'t, f32> {
        let (features, edges) = self.drawn(tape);
        model.forward(features, edges)
    }
}

impl Batches for NodeTask<'_> {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        WholeGraph.epoch(epoch)
    }
}

impl GraphTask for NodeTask<'_> {
    fn loss<'t>(&self, model: &GraphModel, tape: &'t Tape<f32>, epoch: &[u32]) -> Var<'t, f32> {
        tape.training(rng::stream(self.seed, "dropout", epoch[0].into()));
        let logits = self.logits(model, tape).gather(&self.graph.train);
        loss::cross_entropy(logits, &self.classes[0], 0.0)
    }

    fn evaluate(
        &self,
        model: &GraphModel,
        tape: &mut Tape<f32>,
        is_tested: impl FnOnce(Validation) -> bool,
    ) -> (Validation, Option<f64>) {
        tape.reset();
        let logits = self.logits(model, tape);
        let validation = logits.gather(&self.graph.validation);
        let [_, classes, test_classes] = &self.classes;
        let loss = loss::cross_entropy(validation, classes, 0.0).item();
        let found = Validation { loss, measure: accuracy(validation, classes) };
        let test = is_tested(found).then(|| accuracy(logits.gather(&self.graph.test), test_classes));
        (found, test)
    }

    fn drawn<'t>(&self, tape: &'t Tape<f32>) -> (Features<'t, f32>, &Arc<Sparsity>) {
        let features = Features::Sparse(self.graph.features.clone(), tape.constant(&self.amounts));
        (features, &self.graph.edges)
    }
}

/// The share of the nodes whose largest logit is that of their class.
fn accuracy(logits: Var<'_, f32>, classes: &[u32]) -> f64 {
    let (_, largest) = logits.top_k(1);
    largest.iter().zip(classes).filter(|(a, b)| a == b).count() as f64 / classes.len() as f64
}

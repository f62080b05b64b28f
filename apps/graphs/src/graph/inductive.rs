//! Training on several graphs, and testing on others, whose nodes have any number of labels: Veličković et
//! al. 2018, section 3.3, inductive learning.

use std::sync::Arc;

use cotangent::optim::train::Batches;
use cotangent::optim::train::each_batch;
use cotangent::prelude::*;
use cotangent_apps_common::confusion::Confusion;

use super::graph_collection::{GraphCollection, MultiLabelGraph};
use super::model::GraphModel;
use super::training::{GraphTask, Validation};

#[cfg(test)]
mod tests;

/// The labels of the nodes of several graphs.
pub(super) struct LabelTask<'a> {
    graphs: &'a GraphCollection,
    /// The order of the graphs for training, and how many are in a batch.
    order: Shuffled,
}

impl<'a> LabelTask<'a> {
    pub(super) fn new(graphs: &'a GraphCollection, batch: usize, seed: u64) -> Self {
        let order = Shuffled { items: graphs.parts[0].len(), batch, seed };
        LabelTask { graphs, order }
    }
}

/// An item is a graph. It counts with its nodes, so the loss of an epoch is the mean over these.
impl Batches for LabelTask<'_> {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        self.order.epoch(epoch)
    }

    fn weight(&self, item: u32) -> f64 {
        self.graphs.parts[0][item as usize].nodes() as f64
    }
}

impl GraphTask for LabelTask<'_> {
    fn loss<'t>(&self, model: &GraphModel, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32> {
        let graphs: Vec<&MultiLabelGraph> =
            items.iter().map(|&item| &self.graphs.parts[0][item as usize]).collect();
        let batch = MultiLabelGraph::union(&graphs);
        loss::binary_cross_entropy(logits(model, tape, &batch), &batch.labels)
    }

    fn evaluate(
        &self,
        model: &GraphModel,
        tape: &mut Tape<f32>,
        is_tested: impl FnOnce(Validation) -> bool,
    ) -> (Validation, Option<f64>) {
        let [_, validation, test] = &self.graphs.parts;
        let found = evaluate(model, validation, tape);
        (found, is_tested(found).then(|| evaluate(model, test, tape).measure))
    }

    fn drawn<'t>(&self, tape: &'t Tape<f32>) -> (Features<'t, f32>, &Arc<Sparsity>) {
        let graph = &self.graphs.parts[1][0];
        (Features::Dense(tape.constant(&graph.features)), &graph.edges)
    }
}

/// A logit for each node and label, `[nodes, labels]`.
pub(super) fn logits<'t>(model: &GraphModel, tape: &'t Tape<f32>, graph: &MultiLabelGraph) -> Var<'t, f32> {
    model.forward(Features::Dense(tape.constant(&graph.features)), &graph.edges)
}

/// The mean binary cross entropy over the nodes and labels of all graphs, and the F1 of all of these together
/// (micro-averaged).
fn evaluate(model: &GraphModel, graphs: &[MultiLabelGraph], tape: &mut Tape<f32>) -> Validation {
    let parts = each_batch(tape, graphs, |tape, graph| {
        let logits = logits(model, tape, graph);
        let loss = loss::binary_cross_entropy(logits, &graph.labels).item();
        (loss * graph.labels.len() as f64, decisions(logits.to_tensor().data(), graph.labels.data()))
    });
    let (mut loss, mut all) = (0.0, Confusion::new(2));
    for (sum, found) in &parts {
        loss += sum;
        all.merge(found);
    }
    Validation { loss: loss / all.total() as f64, measure: all.f1(1) }
}

/// How often a label that a node has (class 1) or lacks (class 0) is found. It is found if its logit is
/// positive.
pub(super) fn decisions(logits: &[f32], labels: &[f32]) -> Confusion {
    let mut decisions = Confusion::new(2);
    for (logit, label) in logits.iter().zip(labels) {
        decisions.add(u32::from(*label == 1.0), u32::from(*logit > 0.0));
    }
    decisions
}

//! Training and testing a model.

use cotangent::optim::train::{Goal, History};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::metrics::Training;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::output;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::task::{self, Recipe, Task};

use super::link_graph::LinkGraph;
use super::model::{Input, LinkModel};
use super::roc_auc::roc_auc;
use super::split::{HeldOut, Split};
use super::{LinkConfig, LinkMetrics};
use crate::graph::WholeGraph;

/// Trains a model until its validation has not been better for [`LinkConfig::patience`] epochs, and tests the
/// best one. Writes `metrics.json`, `model.safetensors`, `curves.svg` and the checkpoint. It uses the current
/// thread pool; the result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, too few pairs of nodes are no edges, the output cannot be written, the
/// checkpoint belongs to another run, or training diverges.
pub fn train(graph: &LinkGraph, config: &LinkConfig, options: &RunOptions) -> Result<LinkMetrics> {
    config.check()?;
    let split = Split::draw(graph, config.seed)?;
    match config.precision {
        Precision::F32 => in_precision::<f32>(graph, config, options, &split),
        Precision::F64 => in_precision::<f64>(graph, config, options, &split),
    }
}

/// Trains the model in the precision `T`, tests the best one and writes all results.
fn in_precision<T: Float>(
    graph: &LinkGraph,
    config: &LinkConfig,
    options: &RunOptions,
    split: &Split,
) -> Result<LinkMetrics> {
    let input = Input::<T>::new(graph, split, config)?;
    config.check_memory(graph.nodes(), input.width())?;
    let _held = output::hold(&options.out)?;
    let model = LinkModel::new(input.width(), config);
    task::fit(&LinkTask { graph, config, options, split, input }, model, options)
}

/// The training of a model.
struct LinkTask<'a, T: Float> {
    graph: &'a LinkGraph,
    config: &'a LinkConfig,
    options: &'a RunOptions,
    split: &'a Split,
    input: Input<T>,
}

impl<T: Float> Task for LinkTask<'_, T> {
    type Config = LinkConfig;
    type Number = T;
    type Model = LinkModel<T>;
    type Batches = WholeGraph;
    type Metrics = LinkMetrics;

    const GOAL: Goal = Goal::Greatest;
    const VALIDATION: &'static str = "validation ROC AUC";
    const SHOWN: [&'static str; 2] = ["validation_roc_auc", "epochs_per_second"];

    fn config(&self) -> &LinkConfig {
        self.config
    }

    fn data(&self) -> u32 {
        self.graph.fingerprint()
    }

    fn batches(&self) -> WholeGraph {
        WholeGraph
    }

    fn recipe(&self, _: u64) -> Result<Recipe<T>> {
        Ok(Recipe { parts: [1, 1], unit: "epoch", ..Recipe::new(RiemannianAdam::new(self.config.lr)?) })
    }

    fn loss<'t>(&self, model: &LinkModel<T>, tape: &'t Tape<T>, epoch: &[u32]) -> Result<Var<'t, T>> {
        let loss = model.loss(tape, &self.input, &self.split.epoch(epoch[0].into()));
        let decay = self.config.decay;
        Ok(if decay == 0.0 { loss } else { loss + model.squares(tape) * (decay / 2.0) })
    }

    fn validate(&self, model: &mut LinkModel<T>, _: &History, tape: &mut Tape<T>) -> Result<f64> {
        Ok(evaluate(model, &self.input, &self.split.validation, tape))
    }

    /// It ends once the validation has not been better for [`LinkConfig::patience`] epochs.
    fn before_epoch(&self, history: &History) -> bool {
        let waited = |(best, _)| history.epochs.len() as u64 - best;
        history.best(Self::GOAL).is_some_and(|best| waited(best) >= self.config.patience)
    }

    fn test(&self, model: &mut LinkModel<T>, history: &History, tape: &mut Tape<T>) -> Result<LinkMetrics> {
        let LinkTask { graph, config, options, split, ref input, .. } = *self;
        let (best_epoch, validation) = task::best::<Self>(history);
        Ok(LinkMetrics {
            config: config.clone(),
            training: Training::new(model, history, &options.device),
            graph: graph.name.clone(),
            read_as: graph.read_as.clone(),
            sizes: [graph.nodes(), graph.edges.len(), input.width()],
            split: [split.train.len(), split.validation.edges.len(), split.test.edges.len()],
            best_epoch: best_epoch as usize,
            validation,
            test: evaluate(model, input, &split.test, tape),
            learned_kappa: model.learned_kappa(),
        })
    }

    fn title(&self, metrics: &LinkMetrics) -> String {
        format!("{}: test ROC AUC {:.2} %", self.graph.name, 100.0 * metrics.test)
    }
}

/// ROC AUC of held-out edges against other pairs, by their distances. NaN, which ends the training, if a
/// distance is no number.
fn evaluate<T: Float>(model: &LinkModel<T>, input: &Input<T>, held_out: &HeldOut, tape: &mut Tape<T>) -> f64 {
    tape.reset();
    let pairs = [&held_out.edges[..], &held_out.others].concat();
    let distances = model.squared_distances(tape, input, &pairs).to_tensor();
    let scores: Vec<f64> = distances.data().iter().map(|d| -d.to_f64()).collect();
    let (edges, others) = scores.split_at(held_out.edges.len());
    roc_auc(edges, others).unwrap_or(f64::NAN)
}

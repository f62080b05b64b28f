//! Training with one seed.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cotangent::layers::Score;
use cotangent::optim::train::{Batches, History, Trainer, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::Result;

use super::labelled_graph::LabelledGraph;
use super::model::{GraphModel, amounts, features};
use super::pictures::embeddings;
use super::{GraphConfig, MODEL, Outcome};

/// An epoch is one batch of one item, the whole graph. The item has the number of the epoch.
pub(crate) struct WholeGraph;

impl Batches for WholeGraph {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        vec![vec![u32::try_from(epoch).unwrap_or(u32::MAX)]]
    }
}

/// The validation loss and accuracy of an epoch.
#[derive(Clone, Copy)]
struct Validation {
    loss: f64,
    accuracy: f64,
}

/// The best validation so far, the model that is to be tested, and when training ends.
struct Selection {
    /// Whether the last model is tested, and not the best one: [`GraphConfig::last`].
    last: bool,
    best: Validation,
    /// Epochs in a row in which both were worse than their best, or with `last` no better.
    waited: u64,
    /// The epoch whose model is tested, and its accuracies on the validation and the test nodes.
    tested: (u64, [f64; 2]),
    /// The tested model, if it is drawn.
    kept: Option<GraphModel>,
}

impl Selection {
    fn new(last: bool) -> Self {
        let best = Validation { loss: f64::INFINITY, accuracy: 0.0 };
        Selection { last, best, waited: 0, tested: (0, [0.0; 2]), kept: None }
    }

    /// Adds an epoch. Returns whether its model is the one to test.
    fn add(&mut self, found: Validation) -> bool {
        let best = self.best;
        let (loss_is_best, accuracy_is_best) = (found.loss <= best.loss, found.accuracy >= best.accuracy);
        let improved = match self.last {
            true => found.loss < best.loss || found.accuracy > best.accuracy,
            false => loss_is_best || accuracy_is_best,
        };
        self.waited = if improved { 0 } else { self.waited + 1 };
        self.best.loss = best.loss.min(found.loss);
        self.best.accuracy = best.accuracy.max(found.accuracy);
        self.last || loss_is_best && accuracy_is_best
    }
}

/// Trains with one seed, until for `patience` epochs in a row both validation loss and accuracy were worse
/// than their best, or with [`GraphConfig::last`] no better. The tested model is that of the last epoch in
/// which both were at least as good as before, as in the program of Veličković et al., or with
/// [`GraphConfig::last`] that of the last epoch. `pictures` are a directory for the model and pictures, and
/// the name of the run.
pub(super) fn train(
    graph: &LabelledGraph,
    config: &GraphConfig,
    score: &dyn Score<f32>,
    seed: u64,
    pictures: Option<(&Path, &str)>,
    device: &Device,
) -> Result<Outcome> {
    let start = Instant::now();
    let (mut model, amounts) = (GraphModel::new(graph, config, score, seed), amounts(graph));
    let mut adam = RiemannianAdam::new(config.lr)?;
    let mut tape = Tape::with_device(device.clone());
    let [train_classes, validation_classes, test_classes] =
        [&graph.train, &graph.validation, &graph.test].map(|nodes| graph.classes_of(nodes));
    let (selection, losses) = (RefCell::new(Selection::new(config.last)), Mutex::new(Vec::new()));
    let mut trainer = Trainer::new(config.epochs)
        .parts(1, 1)
        .device(device.clone())
        .stop(|_| selection.borrow().waited >= config.patience);
    let history = trainer.run(
        &mut model,
        &mut adam,
        &WholeGraph,
        |model, tape, epoch| {
            tape.training(rng::stream(seed, "dropout", epoch[0].into()));
            let logits = model.forward(tape, graph, &amounts).gather(&graph.train);
            let loss = loss::cross_entropy(logits, &train_classes, 0.0);
            // The curve has the loss without the penalty.
            losses.lock().unwrap_or_else(PoisonError::into_inner).push(loss.item());
            loss + model.squares(tape, config.decay_biases) * (config.decay / 2.0)
        },
        |model, before| {
            tape.reset();
            let logits = model.forward(&tape, graph, &amounts);
            let of_validation = logits.gather(&graph.validation);
            let loss = loss::cross_entropy(of_validation, &validation_classes, 0.0).item();
            let found = Validation { loss, accuracy: accuracy(of_validation, &validation_classes) };
            let mut selection = selection.borrow_mut();
            if selection.add(found) {
                let test = accuracy(logits.gather(&graph.test), &test_classes);
                selection.tested = (before.epochs.len() as u64 + 1, [found.accuracy, test]);
                selection.kept = pictures.map(|_| model.clone());
            }
            // A loss that is no number ends the training.
            Ok(if loss.is_finite() { found.accuracy } else { loss })
        },
    )?;
    drop(trainer);
    let Selection { tested: (best_epoch, [validation, test]), kept, .. } = selection.into_inner();
    let (epochs, seconds) = (history.epochs.len() as u64, start.elapsed().as_secs_f64());
    if let Some(((out, name), model)) = pictures.zip(kept) {
        let losses = losses.into_inner().unwrap_or_else(PoisonError::into_inner);
        draw_curves(&out.join("curves.svg"), graph, config, losses, &history, test)?;
        tape.reset();
        embeddings(out, &model, graph, features(&tape, graph, &amounts))?;
        // Last: where it is, the pictures are too.
        save_model(&model, &out.join(MODEL), Some(name))?;
    }
    Ok(Outcome { seed, epochs, best_epoch, validation, test, seconds })
}

/// Draws training losses and validation accuracies.
fn draw_curves(
    path: &Path,
    graph: &LabelledGraph,
    config: &GraphConfig,
    losses: Vec<f64>,
    history: &History,
    test: f64,
) -> Result<()> {
    let (name, attention, percent) = (&graph.name, &config.attention, 100.0 * test);
    let accuracies = history.epochs.iter().map(|epoch| epoch.validation).collect();
    let series = [
        Series { name: "training loss", values: losses, better: f64::min },
        Series { name: "validation accuracy", values: accuracies, better: f64::max },
    ];
    curves::plot(path, &format!("{name}, {attention} attention: test accuracy {percent:.1} %"), &series)
}

/// The share of the nodes whose largest logit is that of their class.
fn accuracy(logits: Var<'_, f32>, classes: &[u32]) -> f64 {
    let (_, largest) = logits.top_k(1);
    largest.iter().zip(classes).filter(|(a, b)| a == b).count() as f64 / classes.len() as f64
}

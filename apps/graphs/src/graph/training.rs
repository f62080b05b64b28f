//! Training with one seed.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cotangent::layers::Score;
use cotangent::optim::train::{Batches, History, MODEL, Trainer, save_model};
use cotangent::prelude::*;
use cotangent_apps_common::curves::{self, Series};
use cotangent_apps_common::error::Result;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::figures;

use super::data::{GraphData, Split};
use super::model::GraphModel;
use super::pictures::embeddings;
use super::{Decided, GraphConfig, Outcome};

/// An epoch is one batch of one item, the whole graph. The item has the number of the epoch.
pub(crate) struct WholeGraph;

impl Batches for WholeGraph {
    fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        vec![vec![u32::try_from(epoch).unwrap_or(u32::MAX)]]
    }
}

/// What a model learns from some data.
pub(super) trait GraphTask: Batches + Sync {
    /// The mean loss of some items.
    fn loss<'t>(&self, model: &GraphModel, tape: &'t Tape<f32>, items: &[u32]) -> Var<'t, f32>;

    /// The loss and the measure on the part for validation, and the measure on that for testing if
    /// `is_tested` says so of the former.
    fn evaluate(
        &self,
        model: &GraphModel,
        tape: &mut Tape<f32>,
        is_tested: impl FnOnce(Validation) -> bool,
    ) -> (Validation, Option<f64>);

    /// The features and edges of the graph whose queries and keys are drawn.
    fn drawn<'t>(&self, tape: &'t Tape<f32>) -> (Features<'t, f32>, &Arc<Sparsity>);
}

/// The loss and the measure of an epoch's validation. The measure is the accuracy or the micro-averaged F1.
#[derive(Clone, Copy)]
pub(super) struct Validation {
    pub(super) loss: f64,
    pub(super) measure: f64,
}

/// The best validation so far, the model that is to be tested, and when training ends.
struct Selection {
    /// Whether the last model is tested, and not the best one: [`GraphConfig::last`].
    last: bool,
    best: Validation,
    /// Epochs in a row in which both were worse than their best, or with `last` no better.
    waited: u64,
    /// The epoch whose model is tested, and its measures on the parts for validation and testing.
    tested: (u64, [f64; 2]),
    /// The tested model, if it is drawn.
    kept: Option<GraphModel>,
}

impl Selection {
    fn new(last: bool) -> Self {
        let best = Validation { loss: f64::INFINITY, measure: 0.0 };
        Selection { last, best, waited: 0, tested: (0, [0.0; 2]), kept: None }
    }

    /// Adds an epoch. Returns whether its model is the one to test.
    fn add(&mut self, found: Validation) -> bool {
        let best = self.best;
        let (loss_is_best, measure_is_best) = (found.loss <= best.loss, found.measure >= best.measure);
        let improved = match self.last {
            true => found.loss < best.loss || found.measure > best.measure,
            false => loss_is_best || measure_is_best,
        };
        self.waited = if improved { 0 } else { self.waited + 1 };
        self.best.loss = best.loss.min(found.loss);
        self.best.measure = best.measure.max(found.measure);
        self.last || loss_is_best && measure_is_best
    }
}

/// Where the model of a seed and its pictures are written, and the name of the run.
pub(super) type Pictured<'a> = (&'a Path, &'a str);

/// Trains with one seed, until for `patience` epochs in a row both validation loss and measure were worse
/// than their best, or with [`GraphConfig::last`] no better. The tested model is that of the last epoch in
/// which both were at least as good as before, as in the program of Veličković et al., or with
/// [`GraphConfig::last`] that of the last epoch. If `pictured` is given, it is written and drawn.
pub(super) fn train(
    data: &GraphData,
    task: &impl GraphTask,
    config: &GraphConfig,
    score: &dyn Score<f32>,
    seed: u64,
    pictured: Option<Pictured<'_>>,
    device: &Device,
) -> Result<Outcome> {
    let start = Instant::now();
    let mut model = GraphModel::new(data.widths(), config, score, seed);
    let mut adam = RiemannianAdam::new(config.lr)?;
    let mut tape = Tape::with_device(device.clone());
    let Decided { decay, epochs, .. } = config.decided();
    let (selection, losses) = (RefCell::new(Selection::new(config.last)), Mutex::new(Vec::new()));
    // Several seeds are trained side by side.
    let steps = epochs.saturating_mul(task.epoch(0).len() as u64);
    let is_shown = data.split() == Split::Graphs && config.seeds == 1;
    let mut progress = is_shown.then(|| Progress::new("step", 0, steps));
    let mut trainer = Trainer::new(epochs)
        .parts(1, 1)
        .seed(seed)
        .device(device.clone())
        .stop(|_| selection.borrow().waited >= config.patience)
        .display(|now| {
            if let Some(progress) = &mut progress {
                let shown = || figures(&now, "validation_micro_f1", "nodes_per_second");
                progress.update(now.history.steps, shown);
            }
        });
    let history = trainer.run(
        &mut model,
        &mut adam,
        task,
        |model, tape, items| {
            let loss = task.loss(model, tape, items);
            // The curve has the loss without the penalty.
            losses.lock().unwrap_or_else(PoisonError::into_inner).push((weight(task, items), loss.item()));
            match decay == 0.0 {
                true => loss,
                false => loss + model.squares(tape, config.decay_biases) * (decay / 2.0),
            }
        },
        |model, before| {
            let mut selection = selection.borrow_mut();
            let (found, test) = task.evaluate(model, &mut tape, |found| selection.add(found));
            if let Some(test) = test {
                selection.tested = (before.epochs.len() as u64 + 1, [found.measure, test]);
                selection.kept = pictured.map(|_| model.clone());
            }
            // A loss that is no number ends the training.
            Ok(if found.loss.is_finite() { found.measure } else { found.loss })
        },
    )?;
    drop(trainer);
    if let Some(progress) = progress {
        progress.finish();
    }
    let Selection { tested: (best_epoch, [validation, test]), kept, .. } = selection.into_inner();
    let (epochs, seconds) = (history.epochs.len() as u64, start.elapsed().as_secs_f64());
    if let Some(((out, name), model)) = pictured.zip(kept) {
        let losses = losses.into_inner().unwrap_or_else(PoisonError::into_inner);
        let losses = losses.chunks(task.epoch(0).len()).map(mean).collect();
        draw_curves(&out.join(curves::FILE), data, config, losses, &history, test)?;
        tape.reset();
        let (features, edges) = task.drawn(&tape);
        embeddings(out, data.name(), &model, features, edges)?;
        // Last: where it is, the pictures are too.
        save_model(&model, &out.join(MODEL), Some(name))?;
    }
    Ok(Outcome { seed, epochs, best_epoch, validation, test, seconds })
}

/// The weight of a batch.
fn weight(batches: &impl Batches, items: &[u32]) -> f64 {
    items.iter().map(|&item| batches.weight(item)).sum()
}

/// The mean of values, each with its weight.
fn mean(weighted: &[(f64, f64)]) -> f64 {
    let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    weighted.iter().map(|(weight, value)| weight * value).sum::<f64>() / total
}

/// Draws training losses, and accuracies or F1 on the part for validation.
fn draw_curves(
    path: &Path,
    data: &GraphData,
    config: &GraphConfig,
    losses: Vec<f64>,
    history: &History,
    test: f64,
) -> Result<()> {
    let (name, attention, percent) = (data.name(), &config.attention, 100.0 * test);
    let measure = data.split().measure();
    let validation = format!("validation {measure}");
    let measures = history.epochs.iter().map(|epoch| epoch.validation).collect();
    let series = [
        Series { name: "training loss", values: losses, better: f64::min },
        Series { name: &validation, values: measures, better: f64::max },
    ];
    curves::plot(path, &format!("{name}, {attention} attention: test {measure} {percent:.1} %"), &series)
}

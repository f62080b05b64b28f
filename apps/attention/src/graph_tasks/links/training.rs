//! Training and testing a model.

use cotangent::optim::train::{Goal, History};
use cotangent::prelude::*;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::Progress;
use cotangent_apps_common::training::{figures, trainer};
use cotangent_apps_common::{curves, metrics, output};

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
    let run = Run { graph, config, options, split };
    match config.precision {
        Precision::F32 => run.in_precision::<f32>(),
        Precision::F64 => run.in_precision::<f64>(),
    }
}

struct Run<'a> {
    graph: &'a LinkGraph,
    config: &'a LinkConfig,
    options: &'a RunOptions,
    split: Split,
}

impl Run<'_> {
    /// Trains in the precision `T`: chooses the geometry.
    fn in_precision<T: Float>(&self) -> Result<LinkMetrics> {
        match self.config.kappa {
            None => self.fit::<T, _>(|| Euclidean),
            Some(kappa) if kappa.learned => self.fit::<T, _>(|| Curvature::new(kappa.kappa)),
            Some(kappa) => self.fit::<T, _>(|| PoincareBall::new(kappa.kappa)),
        }
    }

    /// Trains the model, tests the best one and writes all results.
    fn fit<T: Float, G: Geometry<T>>(&self, geometry: impl Fn() -> G) -> Result<LinkMetrics> {
        let Run { graph, config, options, .. } = *self;
        let input = Input::<T>::new(graph, &self.split, config)?;
        config.check_memory(graph.nodes(), input.width())?;
        let _held = output::hold(&options.out)?;
        let mut model = LinkModel::new(geometry, input.width(), config);
        let mut tape = Tape::with_device(options.device.clone());
        let history = self.epochs(&mut model, &input, &mut tape)?;
        let metrics = self.metrics(&model, &input, &history, &mut tape);
        metrics::write(&options.out, &metrics)?;
        let title = format!("{}: test ROC AUC {:.2} %", graph.name, 100.0 * metrics.test);
        let path = options.out.join("curves.svg");
        curves::training(&path, &title, &history.epochs, "validation ROC AUC", f64::max)?;
        Ok(metrics)
    }

    /// Trains the model. Afterwards it is the one with the best validation.
    fn epochs<T: Float, G: Geometry<T>>(
        &self,
        model: &mut LinkModel<T, G>,
        input: &Input<T>,
        tape: &mut Tape<T>,
    ) -> Result<History> {
        let Run { graph, config, options, ref split } = *self;
        let fingerprint = graph.fingerprint();
        let mut adam = RiemannianAdam::new(config.lr)?;
        let mut progress = Progress::new("epoch", 0, config.epochs);
        let waited = |history: &History| {
            history.best(Goal::Greatest).map_or(0, |(best, _)| history.epochs.len() as u64 - best)
        };
        let mut trainer = trainer(config, fingerprint, options)
            .parts(1, 1)
            .unit("epoch")
            .best(Goal::Greatest)
            .named(output::fingerprint(config, fingerprint))
            .stop(|history| waited(history) >= config.patience)
            .display(|now| {
                progress
                    .update(now.history.steps, || figures(&now, "validation_roc_auc", "epochs_per_second"));
            });
        if !options.resume {
            output::set_aside(&options.out, |_| false)?;
        }
        let history = trainer.run(
            model,
            &mut adam,
            &WholeGraph,
            |model, tape, epoch| {
                let loss = model.loss(tape, input, &split.epoch(epoch[0].into()));
                if config.decay == 0.0 { loss } else { loss + model.squares(tape) * (config.decay / 2.0) }
            },
            // Without one the training ends: a distance is no number.
            |model, _| Ok(validate(model, input, &split.validation, tape).unwrap_or(f64::NAN)),
        )?;
        drop(trainer);
        progress.finish();
        Ok(history)
    }

    /// Tests the model.
    fn metrics<T: Float, G: Geometry<T>>(
        &self,
        model: &LinkModel<T, G>,
        input: &Input<T>,
        history: &History,
        tape: &mut Tape<T>,
    ) -> LinkMetrics {
        let Run { graph, config, options, ref split } = *self;
        let (best_epoch, validation) = history.best(Goal::Greatest).expect("at least one epoch");
        LinkMetrics {
            config: config.clone(),
            graph: graph.name.clone(),
            read_as: graph.read_as.clone(),
            sizes: [graph.nodes(), graph.edges.len(), input.width()],
            split: [split.train.len(), split.validation.edges.len(), split.test.edges.len()],
            parameters: model.count(),
            threads: rayon::current_num_threads(),
            device: options.device.to_string(),
            epochs: history.epochs.clone(),
            best_epoch: best_epoch as usize,
            validation,
            test: validate(model, input, &split.test, tape).unwrap_or(f64::NAN),
            seconds: history.seconds,
            learned_kappa: model.learned_kappa(),
        }
    }
}

/// ROC AUC of held-out edges against other pairs, by their distances. `None` if a distance is no number.
fn validate<T: Float, G: Geometry<T>>(
    model: &LinkModel<T, G>,
    input: &Input<T>,
    held_out: &HeldOut,
    tape: &mut Tape<T>,
) -> Option<f64> {
    tape.reset();
    let pairs = [&held_out.edges[..], &held_out.others].concat();
    let distances = model.squared_distances(tape, input, &pairs).to_tensor();
    let scores: Vec<f64> = distances.data().iter().map(|d| -d.to_f64()).collect();
    let (edges, others) = scores.split_at(held_out.edges.len());
    roc_auc(edges, others)
}

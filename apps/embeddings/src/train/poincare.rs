//! Training of Poincaré embeddings: Nickel & Kiela 2017 (the ball), 2018 (the hyperboloid).

use std::path::Path;
use std::time::{Duration, Instant};

use cotangent::optim::checkpoint;
use cotangent::optim::train::{CHECKPOINT, Checkpoints};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{metrics, output};
use serde::{Deserialize, Serialize};

use crate::evaluate::evaluation::{self, Evaluation, Evaluator};
use crate::evaluate::link_prediction::Split;
use crate::evaluate::reconstruction::{self, Sample, Score};
use crate::files::embeddings::Embeddings;
use crate::files::picture;
use crate::files::view;
use crate::files::{safetensors, tsv};
use crate::graph::{Graph, Neighbours};
use crate::train::config::Config;
use crate::train::parameters::Parameters;
use crate::train::points::Shared;
use crate::train::trainer::Trainer;

/// How a run behaves. None of this changes the embedding, except the device: another one may round
/// differently, and change the last digits of the result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Output, checkpoints and device. Checkpoints are written between epochs, every 0 seconds after each.
    pub run: options::RunOptions,
    /// The source of the edges, for the record.
    pub source: String,
    /// How their file was read, for the record; `None` if there is none.
    pub read_as: Option<String>,
    /// Number of nodes that the evaluation takes: see [`Sample`].
    pub evaluate_nodes: Option<usize>,
    /// Epochs between evaluations; `None` evaluates at the end only.
    pub evaluate_every: Option<u64>,
}

/// `metrics.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seed.
    pub config: Config,
    /// Space and curvature of the points; the curvature may be learned.
    pub geometry: Geometry,
    /// The source of the edges.
    pub edges: String,
    /// How their file was read; `None` for the edges that are built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_as: Option<String>,
    /// Number of nodes of the graph.
    pub nodes: usize,
    /// Number of pairs of the graph, without those held out.
    pub pairs: usize,
    /// Number of self-loops that were left out.
    pub self_loops: usize,
    /// Number of repeated pairs that were left out.
    pub duplicates: usize,
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the embedding was trained on.
    #[serde(default)]
    pub device: String,
    /// Mean loss per pair in each epoch.
    pub loss: Vec<f64>,
    /// Seconds of training, summed over all resumed parts, without the evaluation.
    pub train_seconds: f64,
    /// Pairs trained per second, without their negative samples.
    pub pairs_per_second: f64,
    /// The reconstruction in the course of the training, its end included, if that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub course: Vec<Evaluation>,
    /// Mean rank of the reconstruction.
    pub mean_rank: f64,
    /// Mean average precision (MAP) of the reconstruction.
    pub map: f64,
    /// Number of nodes with neighbours that were evaluated.
    #[serde(default)]
    pub evaluated_nodes: usize,
    /// Number of all nodes with neighbours.
    #[serde(default)]
    pub nodes_with_neighbours: usize,
    /// How well the pairs held out for validation are predicted; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Score>,
    /// The same, for the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Score>,
    /// Seconds of the evaluation.
    pub evaluation_seconds: f64,
}

impl Metrics {
    /// A text about the sample of nodes, if not all were evaluated.
    pub fn sampled(&self) -> Option<String> {
        reconstruction::sampled(self.evaluated_nodes, self.nodes_with_neighbours)
    }
}

/// The content of a checkpoint besides the points. Random streams follow from the seed and the epoch.
#[derive(Serialize, Deserialize)]
struct State {
    config: Config,
    graph: u32,
    epochs_done: u64,
    loss: Vec<f64>,
    seconds: f64,
    course: Vec<Evaluation>,
}

impl State {
    /// Adds the scores after the epochs that are done.
    fn record(&mut self, score: &Score, validation: Option<Score>) {
        self.course.push(Evaluation::new(self.epochs_done, self.seconds, score, validation));
    }
}

/// Trains an embedding of a graph and writes `embedding.tsv`, `embedding.safetensors`, `metrics.json`,
/// `disk.svg`, `view.html`, the checkpoint, `course.svg` if the quality is evaluated in between, and the
/// pairs that are held out: see [`Split::write`]. It uses the current thread pool; the result does not depend
/// on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(graph: &Graph, config: &Config, options: &RunOptions) -> Result<Metrics> {
    config.check()?;
    if config.sample_by_weight && graph.weights.is_empty() {
        return Err(AppError::usage("--sample-by-weight: the edges have no weights"));
    }
    let split = Split::new(graph, config.validation, config.test, config.seed)?;
    match config.precision {
        Precision::F32 => run::<f32>(&split, config, options),
        Precision::F64 => run::<f64>(&split, config, options),
    }
}

/// What a training writes beside what every training does.
const WRITTEN: [&str; 7] = [
    "embedding.tsv",
    "embedding.safetensors",
    "validation.tsv",
    "test.tsv",
    "course.svg",
    "disk.svg",
    "view.html",
];

fn run<T: Shared>(split: &Split<'_>, config: &Config, options: &RunOptions) -> Result<Metrics> {
    let graph = &*split.training;
    config.check_memory::<T>(graph.names.len(), graph.pairs.len())?;
    options.run.device.computes::<T>()?;
    let _held = output::hold(&options.run.out)?;
    let path = options.run.out.join(CHECKPOINT);
    let points = config.start.points(graph, config.geometry, config.dim, config.seed);
    let mut parameters: Parameters<T> = Parameters::new(points, config);
    let mut state = State {
        config: config.clone(),
        graph: graph.fingerprint(),
        epochs_done: 0,
        loss: Vec::new(),
        seconds: 0.0,
        course: Vec::new(),
    };
    let mut sgd = RiemannianSgd::new(config.lr)?;
    if options.run.resume {
        state = load(&path, &state, &mut parameters, &mut sgd)?;
    }

    let schedule = config.schedule();
    let sample = Sample { nodes: options.evaluate_nodes, seed: config.seed };
    let evaluator = Evaluator::new(split, sample);
    let mut trainer = Trainer::new(graph, config, parameters, sgd, &options.run.device)?;
    if !options.run.resume {
        output::set_aside(&options.run.out, |name| WRITTEN.contains(&name))?;
    }
    let mut checkpoints = Checkpoints::new(&options.run.out, "epoch", state.epochs_done, |path| {
        checkpoint::save(path, trainer.parameters(), trainer.sgd(), &state)
    })?;
    let mut progress = Progress::new("epoch", state.epochs_done, config.epochs);
    let (mut trained, mut since_start) = (0_usize, 0.0);
    while state.epochs_done < config.epochs {
        // Here and not after the epoch: so a run that is resumed with more epochs evaluates what was its end.
        let evaluated = state.course.last().is_some_and(|last| last.epoch == state.epochs_done);
        let due = options.evaluate_every.is_some_and(|every| state.epochs_done.is_multiple_of(every));
        if due && !evaluated && state.epochs_done > 0 {
            evaluate(&evaluator, config, &trainer, &mut state);
        }
        let start = Instant::now();
        let epoch = state.epochs_done;
        trainer.set_rate(config.lr * schedule.factor(epoch))?;
        let loss = trainer.epoch(epoch, &mut checkpoints)?;
        let seconds = start.elapsed().as_secs_f64();
        state.epochs_done += 1;
        state.loss.push(loss);
        state.seconds += seconds;
        trained += graph.pairs.len();
        since_start += seconds;
        let due = checkpoints.due(Duration::from_secs(options.run.checkpoint_every));
        let last = state.epochs_done == config.epochs;
        if due || last {
            checkpoints.write(state.epochs_done, |path| {
                checkpoint::save(path, trainer.parameters(), trainer.sgd(), &state)
            })?;
        }
        progress.update(state.epochs_done, || {
            let rate = trained as f64 / since_start;
            let left = (config.epochs - state.epochs_done) as f64 * since_start * graph.pairs.len() as f64
                / trained as f64;
            vec![
                Figure::new("loss", loss, 4),
                Figure::new("pairs_per_second", rate, 0),
                Figure::new("seconds_left", left, 0),
            ]
        });
    }
    progress.finish();
    checkpoints.keep()?;
    let (points, geometry) = trainer.parameters().learned_points(config);
    finish(&evaluator, config, options, state, &points, geometry, trainer.neighbours())
}

/// Evaluates the points in the course of the training.
fn evaluate<T: Shared>(
    evaluator: &Evaluator<'_>,
    config: &Config,
    trainer: &Trainer<'_, T>,
    state: &mut State,
) {
    let (points, geometry) = trainer.parameters().learned_points(config);
    let (score, [validation, _]) = evaluator.scores(&points.cast(), geometry, trainer.neighbours());
    state.record(&score, validation);
}

/// Evaluates the points and writes all results.
fn finish<T: Float>(
    evaluator: &Evaluator<'_>,
    config: &Config,
    options: &RunOptions,
    mut state: State,
    points: &Tensor<T>,
    geometry: Geometry,
    neighbours: &Neighbours,
) -> Result<Metrics> {
    let (out, graph) = (&options.run.out, &*evaluator.split.training);
    evaluator.split.write(out)?;
    tsv::write(&out.join("embedding.tsv"), &graph.names, points)?;
    safetensors::write(&out.join("embedding.safetensors"), &graph.names, points, geometry)?;
    let start = Instant::now();
    let points = points.cast::<f64>();
    let (score, [validation, test]) = evaluator.scores(&points, geometry, neighbours);
    if options.evaluate_every.is_some() || !state.course.is_empty() {
        state.record(&score, validation);
        evaluation::plot(&out.join("course.svg"), &state.course)?;
    }
    let metrics = Metrics {
        config: config.clone(),
        geometry,
        edges: options.source.clone(),
        read_as: options.read_as.clone(),
        nodes: graph.names.len(),
        pairs: graph.pairs.len(),
        self_loops: graph.self_loops,
        duplicates: graph.duplicates,
        threads: rayon::current_num_threads(),
        device: options.run.device.to_string(),
        loss: state.loss,
        course: state.course,
        train_seconds: state.seconds,
        pairs_per_second: (graph.pairs.len() as u64 * state.epochs_done) as f64 / state.seconds,
        mean_rank: score.mean_rank,
        map: score.map,
        evaluated_nodes: score.nodes,
        nodes_with_neighbours: score.all_nodes,
        validation,
        test,
        evaluation_seconds: start.elapsed().as_secs_f64(),
    };
    metrics::write(out, &metrics)?;
    let known = evaluator.known(neighbours);
    let sampled = metrics.sampled().map_or(String::new(), |sampled| format!(" {sampled}"));
    let title = format!("mean rank {:.2}, MAP {:.3}{sampled}", score.mean_rank, score.map);
    picture::plot(&out.join("disk.svg"), &graph.names, &points, geometry, known, None, &title)?;
    // The page of a larger graph would be slow; `poincare view` writes it if it is asked for.
    if graph.names.len() <= picture::NODES {
        let embeddings = Embeddings { names: graph.names.clone(), points, geometry };
        view::write(&out.join("view.html"), &embeddings, &known.reduction(), &title)?;
    }
    Ok(metrics)
}

/// Reads a checkpoint of the run `fresh`, which may have more epochs now.
fn load<T: Float>(
    path: &Path,
    fresh: &State,
    parameters: &mut Parameters<T>,
    sgd: &mut RiemannianSgd<T>,
) -> Result<State> {
    let state: State = checkpoint::progress(path)?;
    options::same_run(state.config.difference(&fresh.config).as_deref(), [state.graph, fresh.graph], "edges")
        .map_err(|found| AppError::content(path, format!("checkpoint of {found}")))?;
    if state.epochs_done > fresh.config.epochs {
        let message =
            format!("checkpoint after epoch {}, beyond --epochs {}", state.epochs_done, fresh.config.epochs);
        return Err(AppError::content(path, message));
    }
    Ok(State { config: fresh.config.clone(), ..checkpoint::load(path, parameters, sgd)? })
}

/// A published result, to be shown beside a run's own.
pub struct Published {
    /// Source and settings.
    pub what: &'static str,
    /// Mean rank.
    pub mean_rank: f64,
    /// MAP.
    pub map: f64,
}

/// Published results for the mammals closure in `dim` dimensions of hyperbolic space, if there are any.
pub fn published_mammals(dim: usize) -> &'static [Published] {
    match dim {
        5 => &[
            Published { what: "poincare-embeddings README, d = 5, 300 epochs", mean_rank: 1.26, map: 0.927 },
            Published {
                what: "the same program as measured, see results/embeddings.md",
                mean_rank: 1.2266,
                map: 0.9409,
            },
        ],
        10 => &[Published {
            what: "poincare-embeddings, d = 10, as measured, see results/embeddings.md",
            mean_rank: 1.1761,
            map: 0.9463,
        }],
        _ => &[],
    }
}

//! Training of Poincaré embeddings: Nickel & Kiela 2017 (the ball), 2018 (the hyperboloid).

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;
use cotangent::optim::train::{self, History, Taken, TrainError};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::training;
use cotangent_apps_common::{metrics, output};
use serde::{Deserialize, Serialize};

use crate::evaluate::evaluation::{self, Evaluation, Evaluator};
use crate::evaluate::link_prediction::Split;
use crate::evaluate::reconstruction::{self, Candidates, Sample, Score};
use crate::files::embeddings::Embeddings;
use crate::files::picture;
use crate::files::view;
use crate::files::{safetensors, tsv};
use crate::graph::names::Names;
use crate::graph::{Graph, Neighbours};
use crate::train::config::EmbeddingConfig;
use crate::train::epochs::{self, Epochs, Pass};
use crate::train::parameters::Parameters;
use crate::train::points::Shared;

/// How a run behaves. None of this changes the embedding, except the device: another one may round
/// differently, and change the last digits of the result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Output, checkpoints and device. Checkpoints are written between epochs; with 0 seconds between them,
    /// after each.
    pub run: options::RunOptions,
    /// The source of the edges, for the record.
    pub source: String,
    /// How their file was read, for the record; `None` if there is none.
    pub read_as: Option<String>,
    /// Number of nodes that the evaluation takes: see [`Sample`].
    pub evaluate_nodes: Option<usize>,
    /// Epochs between evaluations; `None` evaluates at the end only.
    pub evaluate_every: Option<u64>,
    /// What is written of the embedding.
    pub write: Written,
}

/// What is written of an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Written {
    /// The coordinates: embedding.safetensors, or the parts of a training with --partitions.
    Coordinates,
    /// These and embedding.tsv, disk.svg and view.html.
    All,
}

/// `metrics.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EmbeddingMetrics {
    /// Hyperparameters and seed.
    pub config: EmbeddingConfig,
    /// Space and curvature of the points; the curvature may be learned.
    pub geometry: Geometry,
    /// The translation, if one was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<Vec<f64>>,
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
    /// Number of parts, of a training in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<usize>,
    /// Number of ranks that trained them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// Bytes of points that the ranks sent each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
    /// Number of threads of this run.
    pub threads: usize,
    /// The device that the embedding was trained on.
    #[serde(default)]
    pub device: String,
    /// Mean loss per pair in each epoch.
    pub loss: Vec<f64>,
    /// Seconds of training and its checkpoints, summed over all resumed parts, without evaluations.
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

impl EmbeddingMetrics {
    /// A text about the sample of nodes, if not all were evaluated.
    pub fn sampled(&self) -> Option<String> {
        reconstruction::sampled(self.evaluated_nodes, self.nodes_with_neighbours)
    }
}

/// Trains an embedding of a graph and writes `embedding.tsv`, `embedding.safetensors`, `metrics.json`,
/// `disk.svg`, `view.html`, the checkpoint, `course.svg` and `course.json` if the quality is evaluated in
/// between, and the pairs that are held out: see [`Split::write`]. It uses the current thread pool; the
/// result does not depend on the pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(graph: &Graph, config: &EmbeddingConfig, options: &RunOptions) -> Result<EmbeddingMetrics> {
    config.check()?;
    let by_weight =
        [("sample-by-weight", config.sample_by_weight), ("rank-by-weight", config.rank_by_weight)];
    if let Some(option) = options::first_true(&by_weight).filter(|_| graph.weights.is_empty()) {
        return Err(AppError::usage(format!("--{option}: the edges have no weights")));
    }
    let split = Split::new(graph, config.validation, config.test, config.seed)?;
    match config.precision {
        Precision::F32 => run::<f32>(&split, config, options),
        Precision::F64 => run::<f64>(&split, config, options),
    }
}

/// The evaluations in the course of the training, for a run that resumes.
const COURSE: &str = "course.json";

/// What a training writes beside what every training does.
pub(crate) const WRITTEN: [&str; 8] = [
    COURSE,
    "embedding.tsv",
    "embedding.safetensors",
    "validation.tsv",
    "test.tsv",
    "course.svg",
    "disk.svg",
    "view.html",
];

fn run<T: Shared>(
    split: &Split<'_>,
    config: &EmbeddingConfig,
    options: &RunOptions,
) -> Result<EmbeddingMetrics> {
    let graph = &*split.training;
    config.check_memory::<T>(graph.names.len(), graph.pairs.len())?;
    options.run.device.computes::<T>()?;
    let _held = output::hold(&options.run.out)?;
    let points = config.start.points(graph, config.geometry, config.dim, config.seed);
    let mut parameters: Parameters<T> = Parameters::new(points, config, graph.pairs.len());
    let mut sgd = RiemannianSgd::new(config.lr)?;
    let sampler = epochs::sampler(graph, config)?;
    let mut passes = Epochs::new(config, &sampler, &options.run.device)?;
    let evaluator = Evaluator::new(split, Sample { nodes: options.evaluate_nodes, seed: config.seed });
    let course = RefCell::new(Course::new(&options.run)?);
    let progress: RefCell<Option<Progress>> = RefCell::new(None);
    let mut trainer = training::trainer(config, graph.fingerprint(), &options.run)
        .unit("epoch")
        .schedule(config.schedule())
        .display(|now| {
            if let Some(progress) = &mut *progress.borrow_mut() {
                progress.update(now.history.steps, || figures(&now, graph.pairs.len()));
            }
        });
    trainer.check()?;
    options.run.set_aside(&|name| WRITTEN.contains(&name))?;
    let last_pass = Cell::new(0.0);
    let step = |parameters: &mut Parameters<T>, sgd: &mut RiemannianSgd<T>, epoch: &mut Taken<'_>| {
        course.borrow_mut().forget_after(epoch.number);
        progress.borrow_mut().get_or_insert_with(|| Progress::new("epoch", epoch.number, config.epochs));
        let start = Instant::now();
        let (pairs, number) = (epoch.items, epoch.number);
        let goes_well = &mut || epoch.goes_well();
        let loss = passes.pass(parameters, sgd, Pass { pairs, epoch: number, goes_well });
        last_pass.set(start.elapsed().as_secs_f64());
        loss
    };
    let history = trainer.run_by(&mut parameters, &mut sgd, &sampler, step, |parameters, history| {
        let done = history.epochs.len() as u64 + 1;
        // The last epoch is evaluated at the end.
        let due = options.evaluate_every.is_some_and(|every| done.is_multiple_of(every));
        if due && done < config.epochs {
            let (points, geometry) = parameters.learned_points(config);
            let translation = parameters.learned_translation();
            let scores = || {
                let (points, translation) = (&points.cast(), translation.as_deref());
                evaluator.scores(Candidates { points, geometry, translation }, &sampler.neighbours)
            };
            let seconds = history.seconds + last_pass.get();
            let evaluated = course.borrow_mut().evaluate(done, seconds, scores);
            evaluated.map_err(|error| TrainError::Other(Box::new(error)))?;
        }
        Ok(0.0)
    })?;
    drop(trainer);
    if let Some(progress) = progress.into_inner() {
        progress.finish();
    }
    let course = course.into_inner();
    let (points, geometry) = parameters.learned_points(config);
    let translation = parameters.learned_translation();
    let learned = (&points, geometry, translation);
    finish(&evaluator, config, options, &history, course, learned, &sampler.neighbours)
}

/// What is shown of a training on so many pairs.
fn figures(now: &train::Progress<'_>, pairs: usize) -> Vec<Figure> {
    let left = (now.epochs - now.history.steps) as f64 * pairs as f64 / now.rate;
    vec![
        Figure::new("loss", now.history.epochs.last().map_or(f64::NAN, |epoch| epoch.loss), 4),
        Figure::new("pairs_per_second", now.rate, 0),
        Figure::new("seconds_left", left, 0),
    ]
}

/// The evaluations in the course of a training. They stand in a file of their own, [`COURSE`], from which a
/// run that resumes goes on.
struct Course {
    file: PathBuf,
    /// Each with the seconds that it took, of those of the training's history.
    evaluations: Vec<(Evaluation, f64)>,
}

impl Course {
    /// # Errors
    /// If the file of a run that resumes cannot be read.
    fn new(run: &options::RunOptions) -> Result<Self> {
        let file = run.out.join(COURSE);
        let evaluations = if run.resume && file.exists() { metrics::read_json(&file)? } else { Vec::new() };
        Ok(Course { file, evaluations })
    }

    /// Forgets the evaluations of a run that was killed after its last checkpoint.
    fn forget_after(&mut self, epochs: u64) {
        self.evaluations.retain(|(evaluation, _)| evaluation.epoch <= epochs);
    }

    /// Seconds of training, of those of training and evaluations.
    fn training(&self, seconds: f64) -> f64 {
        seconds - self.evaluations.iter().map(|(_, seconds)| seconds).sum::<f64>()
    }

    /// Adds the scores after `done` epochs. `seconds` are those of training and evaluations up to now.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn evaluate(
        &mut self,
        done: u64,
        seconds: f64,
        scores: impl FnOnce() -> (Score, [Option<Score>; 2]),
    ) -> Result<()> {
        let start = Instant::now();
        let (score, [validation, _]) = scores();
        let evaluation = Evaluation::new(done, self.training(seconds), &score, validation);
        self.add(evaluation, start.elapsed().as_secs_f64())
    }

    /// Adds an evaluation that took so many seconds of the training's history.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn add(&mut self, evaluation: Evaluation, seconds: f64) -> Result<()> {
        self.evaluations.push((evaluation, seconds));
        metrics::write_json(&self.file, &self.evaluations)
    }
}

/// Evaluates the points and writes all results.
fn finish<T: Float>(
    evaluator: &Evaluator<'_>,
    config: &EmbeddingConfig,
    options: &RunOptions,
    history: &History,
    mut course: Course,
    (points, geometry, translation): (&Tensor<T>, Geometry, Option<Vec<f64>>),
    neighbours: &Neighbours,
) -> Result<EmbeddingMetrics> {
    let (out, graph) = (&options.run.out, &*evaluator.split.training);
    evaluator.split.write(out)?;
    write_points(out, &graph.names, (points, geometry, translation.as_deref()), options.write)?;
    let start = Instant::now();
    let points = points.cast::<f64>();
    let candidates = Candidates { points: &points, geometry, translation: translation.as_deref() };
    let (score, [validation, test]) = evaluator.scores(candidates, neighbours);
    let evaluation_seconds = start.elapsed().as_secs_f64();
    let train_seconds = course.training(history.seconds);
    course.forget_after(config.epochs - 1);
    let last = Evaluation::new(config.epochs, train_seconds, &score, validation);
    match options.evaluate_every {
        // A run that is resumed with more epochs has it in its course.
        Some(every) if config.epochs.is_multiple_of(every) => course.add(last, 0.0)?,
        None if course.evaluations.is_empty() => {}
        _ => course.evaluations.push((last, 0.0)),
    }
    let course: Vec<Evaluation> = course.evaluations.into_iter().map(|(evaluation, _)| evaluation).collect();
    if !course.is_empty() {
        evaluation::plot(&out.join("course.svg"), &course)?;
    }
    let metrics = EmbeddingMetrics {
        config: config.clone(),
        geometry,
        translation,
        edges: options.source.clone(),
        read_as: options.read_as.clone(),
        nodes: graph.names.len(),
        pairs: graph.pairs.len(),
        self_loops: graph.self_loops,
        duplicates: graph.duplicates,
        parts: None,
        ranks: None,
        sent_bytes: None,
        threads: rayon::current_num_threads(),
        device: options.run.device.to_string(),
        loss: history.epochs.iter().map(|epoch| epoch.loss).collect(),
        course,
        train_seconds,
        pairs_per_second: (graph.pairs.len() as u64 * config.epochs) as f64 / train_seconds,
        mean_rank: score.mean_rank,
        map: score.map,
        evaluated_nodes: score.nodes,
        nodes_with_neighbours: score.all_nodes,
        validation,
        test,
        evaluation_seconds,
    };
    metrics::write(out, &metrics)?;
    if options.write == Written::All {
        let (names, translation) = (graph.names.clone(), metrics.translation.clone());
        let embeddings = Embeddings { names, points, geometry, translation };
        write_pictures(out, &embeddings, evaluator.known(neighbours), &metrics)?;
    }
    Ok(metrics)
}

/// Writes the files of points: `embedding.safetensors`, and `embedding.tsv` if it is asked for.
///
/// # Errors
/// If one cannot be written.
pub(crate) fn write_points<T: Float>(
    out: &Path,
    names: &Names,
    (points, geometry, translation): (&Tensor<T>, Geometry, Option<&[f64]>),
    write: Written,
) -> Result<()> {
    if write == Written::All {
        tsv::write(&out.join("embedding.tsv"), names, points)?;
    }
    safetensors::write_translated(&out.join("embedding.safetensors"), names, points, geometry, translation)
}

/// Writes `disk.svg` and `view.html`.
///
/// # Errors
/// If one cannot be written.
pub(crate) fn write_pictures(
    out: &Path,
    embeddings: &Embeddings,
    known: &Neighbours,
    metrics: &EmbeddingMetrics,
) -> Result<()> {
    let Embeddings { names, points, geometry, .. } = embeddings;
    let sampled = metrics.sampled().map_or(String::new(), |sampled| format!(" {sampled}"));
    let title = format!("mean rank {:.2}, MAP {:.3}{sampled}", metrics.mean_rank, metrics.map);
    picture::plot(&out.join("disk.svg"), names, points, *geometry, known, None, &title)?;
    // The page of a larger graph would be slow; `poincare view` writes it if it is asked for.
    if names.len() <= picture::NODES {
        view::write(&out.join("view.html"), embeddings, &known.reduction(), &title)?;
    }
    Ok(())
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

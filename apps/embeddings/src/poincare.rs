//! Training of Poincaré embeddings: Nickel & Kiela 2017 (the ball), 2018 (the hyperboloid).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent::optim::checkpoint;
use cotangent::optim::train::{CHECKPOINT, Checkpoints};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Model};
use cotangent_apps_common::memory;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::{metrics, output};
use serde::{Deserialize, Serialize};

use crate::embeddings::{self, Embeddings};
use crate::evaluation::{self, Evaluation, Evaluator};
use crate::graph::{Graph, Neighbours};
use crate::initial_points::{Start, initial_points};
use crate::link_prediction::Split;
use crate::lock_free::Shared;
use crate::objective::{Loss, Objective};
use crate::parameters::Parameters;
use crate::picture;
use crate::reconstruction::{self, Sample, Score};
use crate::trainer::{self, Trainer};
use crate::view;

/// Everything that determines the result of a run, except the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Space and curvature.
    pub geometry: Geometry,
    /// Dimension of the embedding.
    pub dim: usize,
    /// Floating-point type of the coordinates.
    pub precision: Precision,
    /// Passes over the pairs, burn-in included.
    pub epochs: u64,
    /// What is minimised.
    #[serde(default)]
    pub objective: Objective,
    /// Whether the curvature of each factor is learned.
    #[serde(default)]
    pub learn_kappa: bool,
    /// Number of negative samples for each pair. Not used if there are `shared_negatives`.
    pub negatives: usize,
    /// Number of negative samples that all pairs of a batch share; 0 if each pair has its own.
    #[serde(default)]
    pub shared_negatives: usize,
    /// Whether the weight of a pair is how often it is drawn, in place of a factor of its loss.
    #[serde(default)]
    pub sample_by_weight: bool,
    /// A node is drawn as a negative sample with a probability proportional to its degree to this power; 0
    /// draws all nodes alike.
    #[serde(default)]
    pub negative_power: f64,
    /// Number of pairs in a batch. Not used if `lock_free`: then every pair is a step.
    pub batch: usize,
    /// Whether threads step the points without waiting for each other. The result then differs from run to
    /// run.
    #[serde(default)]
    pub lock_free: bool,
    /// Where the points start.
    #[serde(default)]
    pub start: Start,
    /// Learning rate of Riemannian SGD, per pair: the loss is summed over the batch.
    pub lr: f64,
    /// Number of first epochs, which have a lower learning rate.
    pub burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    pub burn_in_factor: f64,
    /// Factor of the learning rate at the end: it falls to this along half a cosine.
    #[serde(default = "constant")]
    pub lr_floor: f64,
    /// Number of epochs at the end in which the rate falls; `None` for all after the burn-in.
    #[serde(default)]
    pub cool_down: Option<u64>,
    /// Share of the pairs between inner nodes that is held out for validation: see [`Split::new`].
    #[serde(default)]
    pub validation: f64,
    /// The same, for the test.
    #[serde(default)]
    pub test: f64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Config {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[
            ("dim", self.dim as u64),
            ("epochs", self.epochs),
            ("negatives", self.negatives as u64),
            ("batch", self.batch as u64),
        ])?;
        options::positive(&[("lr", self.lr), ("burn-in-factor", self.burn_in_factor)])?;
        options::not_negative(&[("negative-power", self.negative_power), ("lr-floor", self.lr_floor)])?;
        options::below_one(&[("validation", self.validation), ("test", self.test)])?;
        self.objective.check(self.geometry)?;
        let (ranking, shared) = (self.objective.loss == Loss::Ranking, self.shared_negatives > 0);
        let has_pairs = self.geometry.single().is_some_and(|space| space.model != Model::Sphere);
        let wrong = [
            (self.negative_power > 10.0, "negative-power: at most 10 is possible"),
            (self.cool_down.is_some() && self.lr_floor == 1.0, "cool-down: only with --lr-floor"),
            (self.learn_kappa && !ranking, "learn-kappa: only for --loss ranking"),
            (shared && !ranking, "shared-negatives: only for --loss ranking"),
            (shared && self.learn_kappa, "shared-negatives: not with --learn-kappa"),
            (shared && !has_pairs, "shared-negatives: only for hyperbolic and euclidean space"),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, message)) => Err(AppError::usage(format!("--{message}"))),
            None => Ok(()),
        }
    }

    /// Checks that the arrays whose sizes options say fit in memory.
    ///
    /// # Errors
    /// If one does not; the error names the options.
    fn check_memory<T>(&self, nodes: usize, pairs: usize) -> Result<()> {
        let &Config { dim, negatives, shared_negatives: shared, .. } = self;
        // Without locks each pair is a step of its own.
        let batch = if self.lock_free && shared == 0 { 1 } else { trainer::batch(self, pairs) };
        // The points, those that the training has learned, and these in `f64` for the evaluation.
        let points = 2.0 * memory::bytes::<T>(&[nodes, dim]) + memory::bytes::<f64>(&[nodes, dim]);
        memory::check(&[("dim", dim)], &format!("the points of {nodes} nodes"), points)?;
        if shared > 0 {
            let distances = memory::bytes::<T>(&[batch, shared]) + memory::bytes::<T>(&[shared, dim]);
            let options = [("shared-negatives", shared), ("batch", batch)];
            return memory::check(&options, "the distances of a batch", distances);
        }
        let options = [("negatives", negatives), ("batch", batch), ("dim", dim)];
        // The candidates of a pair and their gradients are in `f64`.
        let pair = 2.0 * memory::bytes::<f64>(&[negatives, dim]);
        let drawn = memory::bytes::<u32>(&[trainer::drawn_together(batch).min(pairs), negatives]);
        let gradients = pair + memory::bytes::<T>(&[batch, negatives, dim]);
        memory::check(&options, "samples and gradients", drawn + gradients)?;
        // The gradients of a batch are numbered, those of both ends of a pair among them.
        if batch as f64 * (negatives as f64 + 2.0) >= f64::from(u32::MAX) {
            let message =
                format!("--negatives {negatives}, --batch {batch}: more than 2^32 gradients in a step");
            return Err(AppError::usage(message));
        }
        Ok(())
    }

    /// The factor of the learning rate in each epoch. The last one has the final factor.
    fn schedule(&self) -> Schedule {
        let after = self.epochs.saturating_sub(self.burn_in.saturating_add(1));
        let falling = self.cool_down.unwrap_or(after).min(after);
        let schedule = Schedule::Cosine { steps: falling, floor: self.lr_floor };
        schedule.burn_in(after - falling, 1.0).burn_in(self.burn_in, self.burn_in_factor)
    }

    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does; the number of epochs may differ if the rate does not depend on it.
    fn difference(&self, other: &Config) -> Option<&'static str> {
        let same = Config { epochs: other.epochs, ..self.clone() };
        let differs = [
            ("model, --kappa", same.geometry != other.geometry),
            ("dim", same.dim != other.dim),
            ("precision", same.precision != other.precision),
            ("loss, --cone-size or --margin", same.objective != other.objective),
            ("learn-kappa", same.learn_kappa != other.learn_kappa),
            ("negatives", same.negatives != other.negatives),
            ("shared-negatives", same.shared_negatives != other.shared_negatives),
            ("sample-by-weight", same.sample_by_weight != other.sample_by_weight),
            ("negative-power", same.negative_power != other.negative_power),
            ("batch", same.batch != other.batch),
            ("lock-free", same.lock_free != other.lock_free),
            ("start", same.start != other.start),
            ("lr", same.lr != other.lr),
            ("burn-in", same.burn_in != other.burn_in),
            ("burn-in-factor", same.burn_in_factor != other.burn_in_factor),
            ("lr-floor", same.lr_floor != other.lr_floor),
            ("cool-down", same.cool_down != other.cool_down),
            ("epochs", self.lr_floor != 1.0 && self.epochs != other.epochs),
            ("validation", same.validation != other.validation),
            ("test", same.test != other.test),
            ("seed", same.seed != other.seed),
        ];
        options::first_true(&differs)
    }
}

/// How a run behaves. None of this changes the embedding, except the device.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The directory for all output.
    pub out: PathBuf,
    /// Whether to continue from the checkpoint in `out`.
    pub resume: bool,
    /// Seconds between checkpoints, which are written between epochs. 0 writes one after every epoch.
    pub checkpoint_every: u64,
    /// The source of the edges, for the record.
    pub source: String,
    /// How their file was read, for the record; `None` if there is none.
    pub read_as: Option<String>,
    /// Number of nodes that the evaluation takes: see [`Sample`].
    pub evaluate_nodes: Option<usize>,
    /// Epochs between evaluations; `None` evaluates at the end only.
    pub evaluate_every: Option<u64>,
    /// The device to train on. Another device may round differently, and change the last digits of the
    /// result.
    pub device: Device,
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
    options.device.computes::<T>()?;
    let _held = output::hold(&options.out)?;
    let path = options.out.join(CHECKPOINT);
    let mut parameters: Parameters<T> = Parameters::new(initial_points(graph, config), config);
    let mut state = State {
        config: config.clone(),
        graph: graph.fingerprint(),
        epochs_done: 0,
        loss: Vec::new(),
        seconds: 0.0,
        course: Vec::new(),
    };
    let mut sgd = RiemannianSgd::new(config.lr)?;
    if options.resume {
        state = load(&path, &state, &mut parameters, &mut sgd)?;
    }

    let schedule = config.schedule();
    let sample = Sample { nodes: options.evaluate_nodes, seed: config.seed };
    let evaluator = Evaluator::new(split, sample);
    let mut trainer = Trainer::new(graph, config, parameters, sgd, &options.device)?;
    if !options.resume {
        output::set_aside(&options.out, |name| WRITTEN.contains(&name))?;
    }
    let mut checkpoints = Checkpoints::new(&options.out, "epoch", state.epochs_done, |path| {
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
        let due = checkpoints.due(Duration::from_secs(options.checkpoint_every));
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
    let (out, graph) = (&options.out, &*evaluator.split.training);
    evaluator.split.write(out)?;
    embeddings::write_tsv(&out.join("embedding.tsv"), &graph.names, points)?;
    embeddings::write_safetensors(&out.join("embedding.safetensors"), &graph.names, points, geometry)?;
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
        device: options.device.to_string(),
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
    options::same_run(state.config.difference(&fresh.config), [state.graph, fresh.graph], "edges")
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

/// The factor of a rate that does not fall.
fn constant() -> f64 {
    1.0
}

/// The configuration of `poincare` without options.
pub fn default_config() -> Config {
    Config {
        geometry: Geometry::new(Model::Poincare, None).expect("it is a geometry"),
        dim: 5,
        precision: Precision::F64,
        epochs: 300,
        objective: Objective::default(),
        learn_kappa: false,
        negatives: 50,
        shared_negatives: 0,
        sample_by_weight: false,
        negative_power: 0.0,
        batch: 10,
        lock_free: false,
        start: Start::Parents,
        lr: 0.05,
        burn_in: 20,
        burn_in_factor: 0.01,
        lr_floor: 1.0,
        cool_down: None,
        validation: 0.0,
        test: 0.0,
        seed: 42,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_after_the_burn_in() {
        let config = Config { epochs: 24, burn_in: 3, lr_floor: 0.1, ..default_config() };
        let factors = [2, 3, 13, 23].map(|epoch| config.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([0.01, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        // At its full height up to the last ten epochs.
        let late = Config { cool_down: Some(10), ..config.clone() };
        let factors = [3, 13, 18, 23].map(|epoch| late.schedule().factor(epoch));
        for (factor, expected) in factors.iter().zip([1.0, 1.0, 0.55, 0.1]) {
            assert!((factor - expected).abs() < 1e-12, "{factors:?}");
        }
        let default = default_config().schedule();
        assert_eq!([0, 19, 20, 299].map(|epoch| default.factor(epoch)), [0.01, 0.01, 1.0, 1.0]);
        // All epochs are a burn-in.
        let burning = Config { burn_in: u64::MAX, ..default_config() };
        assert_eq!([0, 299].map(|epoch| burning.schedule().factor(epoch)), [0.01, 0.01]);
        let longer = Config { epochs: 30, ..config.clone() };
        assert_eq!(longer.difference(&config), Some("epochs"));
        assert_eq!(Config { epochs: 30, ..default_config() }.difference(&default_config()), None);
    }
}

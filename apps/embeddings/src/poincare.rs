//! Training of Poincaré embeddings: Nickel & Kiela 2017 (the ball), 2018 (the hyperboloid).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent::optim::checkpoint;
use cotangent::optim::train::{CHECKPOINT, Checkpoints};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{ForManifold, Geometry, Model};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::{disk, metrics, output};
use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::embeddings;
use crate::graph::{Graph, Neighbours};
use crate::reconstruction::{self, Score};

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
    /// Number of negative samples for each pair.
    pub negatives: usize,
    /// Number of pairs in a batch.
    pub batch: usize,
    /// Learning rate of Riemannian SGD, per pair: the loss is summed over the batch.
    pub lr: f64,
    /// Number of first epochs, which have a lower learning rate.
    pub burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    pub burn_in_factor: f64,
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
        options::positive(&[("lr", self.lr), ("burn-in-factor", self.burn_in_factor)])
    }

    /// The name of the first option whose value differs from `other`'s, if any. A run can be resumed only if
    /// none does; the number of epochs may differ.
    fn difference(&self, other: &Config) -> Option<&'static str> {
        let same = Config { epochs: other.epochs, ..self.clone() };
        let differs = [
            ("model, --kappa", same.geometry != other.geometry),
            ("dim", same.dim != other.dim),
            ("precision", same.precision != other.precision),
            ("negatives", same.negatives != other.negatives),
            ("batch", same.batch != other.batch),
            ("lr", same.lr != other.lr),
            ("burn-in", same.burn_in != other.burn_in),
            ("burn-in-factor", same.burn_in_factor != other.burn_in_factor),
            ("seed", same.seed != other.seed),
        ];
        options::first_true(&differs)
    }
}

/// How a run behaves. None of this changes the result, except the device.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The directory for all output.
    pub out: PathBuf,
    /// Whether to continue from the checkpoint in `out`.
    pub resume: bool,
    /// Epochs between checkpoints; `None` writes one whenever ten seconds have passed.
    pub checkpoint_every: Option<u64>,
    /// The source of the edges, for the record.
    pub source: String,
    /// The device to train on. Another device may round differently, and change the last digits of the
    /// result.
    pub device: Device,
}

/// `metrics.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Metrics {
    /// Hyperparameters and seed.
    pub config: Config,
    /// The source of the edges.
    pub edges: String,
    /// Number of nodes of the graph.
    pub nodes: usize,
    /// Number of pairs of the graph.
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
    /// Mean rank of the reconstruction.
    pub mean_rank: f64,
    /// Mean average precision (MAP) of the reconstruction.
    pub map: f64,
    /// Seconds of the evaluation.
    pub evaluation_seconds: f64,
}

/// The content of a checkpoint besides the points. Random streams follow from the seed and the epoch.
#[derive(Serialize, Deserialize)]
struct State {
    config: Config,
    graph: u32,
    epochs_done: u64,
    loss: Vec<f64>,
    seconds: f64,
}

/// Purposes of random streams.
mod purpose {
    pub(super) const INITIAL: u64 = 1;
    pub(super) const ORDER: u64 = 2;
    pub(super) const NEGATIVES: u64 = 3;
}

/// Largest absolute value of an initial coordinate: Nickel & Kiela 2017.
const INITIAL_RANGE: f64 = 1e-3;

/// Trains an embedding of a graph and writes `embedding.tsv`, `embedding.safetensors`, `metrics.json`,
/// `disk.svg` and the checkpoint. It uses the current thread pool; the result does not depend on the
/// pool's size.
///
/// # Errors
/// If the configuration is wrong, the output cannot be written, the checkpoint belongs to another run, or
/// training diverges.
pub fn train(graph: &Graph, config: &Config, options: &RunOptions) -> Result<Metrics> {
    struct Train<'a>(&'a Graph, &'a Config, &'a RunOptions);
    impl ForManifold for Train<'_> {
        type Output = Result<Metrics>;
        fn run<M: Manifold>(self, manifold: M) -> Result<Metrics> {
            let Train(graph, config, options) = self;
            match config.precision {
                Precision::F32 => run::<M, f32>(manifold, graph, config, options),
                Precision::F64 => run::<M, f64>(manifold, graph, config, options),
            }
        }
    }
    config.check()?;
    config.geometry.with(Train(graph, config, options))
}

fn run<M: Manifold, T: Float>(m: M, graph: &Graph, config: &Config, options: &RunOptions) -> Result<Metrics> {
    options.device.computes::<T>()?;
    let _held = output::hold(&options.out)?;
    let path = options.out.join(CHECKPOINT);
    let n = graph.names.len();
    let mut rng = rng::stream(config.seed, purpose::INITIAL, 0);
    let mut embedding: Embedding<M, T> =
        Embedding::uniform("embedding", m, n, config.dim, INITIAL_RANGE, &mut rng);
    let mut state = State {
        config: config.clone(),
        graph: graph.fingerprint(),
        epochs_done: 0,
        loss: Vec::new(),
        seconds: 0.0,
    };
    let mut sgd = RiemannianSgd::new(config.lr)?;
    if options.resume {
        state = load(&path, &state, &mut embedding.points, &mut sgd)?;
    }
    let mut checkpoints = Checkpoints::new(&options.out, "epoch", state.epochs_done, |path| {
        checkpoint::save(path, &embedding.points, &sgd, &state)
    })?;

    let sampler = Sampler { graph, neighbours: graph.neighbours(), config };
    let mut tape = Tape::with_device(options.device.clone());
    let mut progress = Progress::new("epoch", state.epochs_done, config.epochs);
    let (mut trained, mut since_start) = (0_usize, 0.0);
    while state.epochs_done < config.epochs {
        let start = Instant::now();
        let epoch = state.epochs_done;
        let burning_in = epoch < config.burn_in;
        sgd.set_rate(if burning_in { config.lr * config.burn_in_factor } else { config.lr })?;
        let loss = run_epoch(epoch, &sampler, &mut embedding, &mut sgd, &mut tape, &mut checkpoints)?;
        let seconds = start.elapsed().as_secs_f64();
        state.epochs_done += 1;
        state.loss.push(loss);
        state.seconds += seconds;
        trained += graph.pairs.len();
        since_start += seconds;
        let due = match options.checkpoint_every {
            Some(every) => state.epochs_done.is_multiple_of(every.max(1)),
            None => checkpoints.due(Duration::from_secs(10)),
        };
        if due || state.epochs_done == config.epochs {
            checkpoints
                .write(state.epochs_done, |path| checkpoint::save(path, &embedding.points, &sgd, &state))?;
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
    finish(graph, config, options, &state, embedding.points.value(), &sampler.neighbours)
}

/// Evaluates the points and writes all results.
fn finish<T: Float>(
    graph: &Graph,
    config: &Config,
    options: &RunOptions,
    state: &State,
    points: &Tensor<T>,
    neighbours: &Neighbours,
) -> Result<Metrics> {
    let out = &options.out;
    embeddings::write_tsv(&out.join("embedding.tsv"), &graph.names, points)?;
    embeddings::write_safetensors(&out.join("embedding.safetensors"), &graph.names, points, config.geometry)?;
    let start = Instant::now();
    let points = points.cast::<f64>();
    let identity: Vec<u32> = (0..graph.names.len() as u32).collect();
    let Score { mean_rank, map, .. } =
        reconstruction::evaluate(&points, config.geometry, &identity, neighbours);
    let metrics = Metrics {
        config: config.clone(),
        edges: options.source.clone(),
        nodes: graph.names.len(),
        pairs: graph.pairs.len(),
        self_loops: graph.self_loops,
        duplicates: graph.duplicates,
        threads: rayon::current_num_threads(),
        device: options.device.to_string(),
        loss: state.loss.clone(),
        train_seconds: state.seconds,
        pairs_per_second: (graph.pairs.len() as u64 * state.epochs_done) as f64 / state.seconds,
        mean_rank,
        map,
        evaluation_seconds: start.elapsed().as_secs_f64(),
    };
    metrics::write(out, &metrics)?;
    let title = format!("mean rank {mean_rank:.2}, MAP {map:.3}");
    disk::plot(
        &out.join("disk.svg"),
        &graph.names,
        &points,
        config.geometry,
        &neighbours.reduction(),
        &title,
    )?;
    Ok(metrics)
}

/// Reads a checkpoint of the run `fresh`, which may have more epochs now.
fn load<M: Manifold, T: Float>(
    path: &Path,
    fresh: &State,
    points: &mut Param<M, T>,
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
    Ok(State { config: fresh.config.clone(), ..checkpoint::load(path, points, sgd)? })
}

/// The batches of an epoch.
struct Sampler<'a> {
    graph: &'a Graph,
    neighbours: Neighbours,
    config: &'a Config,
}

impl Sampler<'_> {
    /// The pairs of an epoch in random order.
    fn order(&self, epoch: u64) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.graph.pairs.len() as u32).collect();
        order.shuffle(&mut rng::stream(self.config.seed, purpose::ORDER, epoch));
        order
    }

    /// Fills `candidates` for the pairs of several batches of an epoch: for each pair (u, v) it has v, then
    /// the negative samples of u. Each batch has its own random stream.
    fn candidates(&self, epoch: u64, first_batch: usize, pairs: &[u32], candidates: &mut Vec<u32>) {
        let Config { batch, negatives, seed, .. } = *self.config;
        let width = 1 + negatives;
        candidates.resize(pairs.len() * width, 0);
        let batches = self.graph.pairs.len().div_ceil(batch) as u64;
        let jobs = candidates.par_chunks_mut(batch * width).zip(pairs.par_chunks(batch));
        jobs.enumerate().for_each(|(b, (candidates, pairs))| {
            let index = epoch * batches + (first_batch + b) as u64;
            let mut rng = rng::stream(seed, purpose::NEGATIVES, index);
            for (candidates, &pair) in candidates.chunks_exact_mut(width).zip(pairs) {
                let (u, v) = self.graph.pairs[pair as usize];
                candidates[0] = v;
                self.negatives(u, v, &mut rng, &mut candidates[1..]);
            }
        });
    }

    /// Draws nodes uniformly from all except u and its neighbours. If there are none, all are v; its
    /// gradients then cancel.
    fn negatives(&self, u: u32, v: u32, rng: &mut rng::Rng, negatives: &mut [u32]) {
        let n = self.graph.names.len() as u32;
        let near = self.neighbours.of(u);
        let free = n as usize - 1 - near.len();
        for negative in negatives {
            *negative = if free == 0 {
                v
            } else if 2 * free >= n as usize {
                loop {
                    let w = rng.random_range(0..n);
                    if w != u && near.binary_search(&w).is_err() {
                        break w;
                    }
                }
            } else {
                // Few nodes are allowed. Draw a number k, then find the k-th allowed node by skipping the
                // excluded ones.
                let mut w = rng.random_range(0..free as u32);
                let at = near.partition_point(|&x| x < u);
                let excluded = near[..at].iter().chain([&u]).chain(&near[at..]);
                for &x in excluded {
                    if x <= w {
                        w += 1;
                    }
                }
                w
            };
        }
    }
}

/// Number of pairs whose negatives are drawn together: enough to be worth several threads.
const DRAWN_TOGETHER: usize = 4096;

/// Makes one pass over the pairs. Returns the mean loss per pair.
fn run_epoch<M: Manifold, T: Float>(
    epoch: u64,
    sampler: &Sampler<'_>,
    embedding: &mut Embedding<M, T>,
    sgd: &mut RiemannianSgd<T>,
    tape: &mut Tape<T>,
    checkpoints: &mut Checkpoints,
) -> Result<f64> {
    let Sampler { graph, config, .. } = sampler;
    let order = sampler.order(epoch);
    let candidates_width = 1 + config.negatives;
    let (mut candidates, mut heads, mut total) = (Vec::new(), Vec::new(), 0.0);
    let mut step = epoch * order.len().div_ceil(config.batch) as u64;
    let batches = (DRAWN_TOGETHER / config.batch).max(1);
    for (block, pairs) in order.chunks(batches * config.batch).enumerate() {
        sampler.candidates(epoch, block * batches, pairs, &mut candidates);
        let candidates = candidates.chunks(config.batch * candidates_width);
        for (pairs, candidates) in pairs.chunks(config.batch).zip(candidates) {
            heads.clear();
            heads.extend(pairs.iter().map(|&p| graph.pairs[p as usize].0));
            tape.reset();
            let u = embedding.forward(tape, &heads).arrange([pairs.len(), 1]);
            let v = embedding.forward(tape, candidates).arrange([pairs.len(), candidates_width]);
            let mut losses = loss::ranking(u.dist(&v));
            if !graph.weights.is_empty() {
                let weights = pairs.iter().map(|&p| T::nearest(graph.weights[p as usize])).collect();
                losses = losses * tape.constant(&Tensor::new([pairs.len()], weights));
            }
            let batch_loss = losses.sum();
            step += 1;
            let loss = batch_loss.item();
            let stepped = sgd.step(&mut embedding.points, &tape.backward(batch_loss));
            // If the loss is not finite, that is why the step was refused, so the loss is reported.
            let loss = if loss.is_finite() { stepped.map(|_| loss) } else { Ok(loss) };
            total += checkpoints.checked(step, "loss", loss)?;
        }
    }
    Ok(total / order.len() as f64)
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

/// The configuration of `poincare` without options.
pub fn default_config() -> Config {
    Config {
        geometry: Geometry { model: Model::Poincare, kappa: -1.0 },
        dim: 5,
        precision: Precision::F64,
        epochs: 300,
        negatives: 50,
        batch: 10,
        lr: 0.05,
        burn_in: 20,
        burn_in_factor: 0.01,
        seed: 42,
    }
}

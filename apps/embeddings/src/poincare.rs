//! Training of Poincaré embeddings: Nickel & Kiela 2017 (the ball), 2018 (the hyperboloid).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent::optim::train::{CHECKPOINT, Checkpoints};
use cotangent::optim::{OptimError, checkpoint};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{ForManifold, Geometry, Model};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::progress::{Figure, Progress};
use cotangent_apps_common::{disk, metrics, output};
use serde::{Deserialize, Serialize};

use crate::embeddings::{self, Embeddings};
use crate::fused::{Batches, Formulas};
use crate::graph::{Graph, Neighbours};
use crate::lock_free::{self, Shared};
use crate::negatives::Sampler;
use crate::reconstruction::{self, Score};
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
    /// Number of negative samples for each pair.
    pub negatives: usize,
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
        options::positive(&[("lr", self.lr), ("burn-in-factor", self.burn_in_factor)])?;
        options::not_negative(&[("negative-power", self.negative_power)])
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
            ("negative-power", same.negative_power != other.negative_power),
            ("batch", same.batch != other.batch),
            ("lock-free", same.lock_free != other.lock_free),
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

/// The random stream of the initial points; the others are in [`negatives`](crate::negatives).
const INITIAL: u64 = 1;

/// Largest absolute value of an initial coordinate: Nickel & Kiela 2017.
const INITIAL_RANGE: f64 = 1e-3;

/// Trains an embedding of a graph and writes `embedding.tsv`, `embedding.safetensors`, `metrics.json`,
/// `disk.svg`, `view.html` and the checkpoint. It uses the current thread pool; the result does not depend
/// on the pool's size.
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

fn run<M: Manifold, T: Shared>(
    m: M,
    graph: &Graph,
    config: &Config,
    options: &RunOptions,
) -> Result<Metrics> {
    options.device.computes::<T>()?;
    let _held = output::hold(&options.out)?;
    let path = options.out.join(CHECKPOINT);
    let n = graph.names.len();
    let mut rng = rng::stream(config.seed, INITIAL, 0);
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

    let mut trainer = Trainer {
        form: Form::new(&m, config, &options.device)?,
        sampler: Sampler::new(graph, config.seed, config.negatives, config.negative_power),
        batch: config.batch,
        embedding,
        sgd,
        tape: Tape::with_device(options.device.clone()),
    };
    let mut progress = Progress::new("epoch", state.epochs_done, config.epochs);
    let (mut trained, mut since_start) = (0_usize, 0.0);
    while state.epochs_done < config.epochs {
        let start = Instant::now();
        let epoch = state.epochs_done;
        let burning_in = epoch < config.burn_in;
        let rate = if burning_in { config.lr * config.burn_in_factor } else { config.lr };
        trainer.sgd.set_rate(rate)?;
        let loss = trainer.epoch(epoch, &mut checkpoints)?;
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
            checkpoints.write(state.epochs_done, |path| {
                checkpoint::save(path, &trainer.embedding.points, &trainer.sgd, &state)
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
    let Trainer { embedding, sampler, .. } = trainer;
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
    let edges = neighbours.reduction();
    disk::plot(&out.join("disk.svg"), &graph.names, &points, config.geometry, &edges, &title)?;
    let embeddings = Embeddings { names: graph.names.clone(), points, geometry: config.geometry };
    view::write(&out.join("view.html"), &embeddings, &edges, &title)?;
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

/// Number of pairs whose negatives are drawn together: enough to be worth several threads.
const DRAWN_TOGETHER: usize = 4096;

/// How the steps of an epoch are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// On a tape, batch by batch: on a device, and on manifolds whose distance is not one row formula.
    Tape,
    /// Without a tape, batch by batch.
    Fused,
    /// Without a tape, pair by pair, without waiting for other threads.
    LockFree,
}

impl Form {
    fn new<M: Manifold>(manifold: &M, config: &Config, device: &Device) -> Result<Self> {
        let width = manifold.ambient(config.dim);
        let fused = device.is_cpu() && Formulas::new(manifold, width, config.lr).is_some();
        match (fused, config.lock_free) {
            (true, false) => Ok(Form::Fused),
            (true, true) => Ok(Form::LockFree),
            (false, false) => Ok(Form::Tape),
            (false, true) => Err(AppError::usage("--lock-free: only on the processor (--device cpu)")),
        }
    }
}

/// Trains an embedding, epoch by epoch.
struct Trainer<'a, M: Manifold, T: Float> {
    form: Form,
    sampler: Sampler<'a>,
    batch: usize,
    embedding: Embedding<M, T>,
    sgd: RiemannianSgd<T>,
    tape: Tape<T>,
}

impl<M: Manifold, T: Shared> Trainer<'_, M, T> {
    /// Makes one pass over the pairs. Returns the mean loss per pair.
    fn epoch(&mut self, epoch: u64, checkpoints: &mut Checkpoints) -> Result<f64> {
        let order = self.sampler.order(epoch);
        let manifold = *self.embedding.points.manifold();
        let shape = self.embedding.points.value().shape();
        let (nodes, width) = (shape.rows().len(), shape.width());
        let formulas = Formulas::new(&manifold, width, self.sgd.rate()).filter(|_| self.form != Form::Tape);
        let total = match formulas {
            Some(formulas) if self.form == Form::LockFree => {
                let table = self.embedding.points.points_mut().data_mut();
                let loss = lock_free::epoch(&manifold, &formulas, &self.sampler, epoch, &order, table, width);
                let loss = loss.map_err(|node| self.diverged(node));
                checkpoints.checked(epoch + 1, "loss", loss)?
            }
            formulas => {
                let mut fused = formulas.map(|formulas| Batches::new(formulas, nodes, width));
                self.batches(epoch, &order, checkpoints, |trainer, pairs, candidates| match &mut fused {
                    Some(fused) => {
                        let points = trainer.embedding.points.points_mut().data_mut();
                        let loss = fused.step(&trainer.sampler, pairs, candidates, points);
                        loss.map_err(|node| trainer.diverged(node))
                    }
                    None => trainer.step_on_tape(pairs, candidates),
                })?
            }
        };
        Ok(total / order.len() as f64)
    }

    /// Takes a `step` for each batch of pairs with their candidates. Returns the loss, summed over the pairs.
    fn batches(
        &mut self,
        epoch: u64,
        order: &[u32],
        checkpoints: &mut Checkpoints,
        mut step: impl FnMut(&mut Self, &[u32], &[u32]) -> std::result::Result<f64, OptimError>,
    ) -> Result<f64> {
        let batch = self.batch;
        let (mut candidates, mut total) = (Vec::new(), 0.0);
        let mut steps = epoch * order.len().div_ceil(batch) as u64;
        let batches = (DRAWN_TOGETHER / batch).max(1);
        for (block, pairs) in order.chunks(batches * batch).enumerate() {
            self.sampler.candidates(epoch, batch, block * batches, pairs, &mut candidates);
            let candidates = candidates.chunks(batch * self.sampler.width());
            for (pairs, candidates) in pairs.chunks(batch).zip(candidates) {
                steps += 1;
                total += checkpoints.checked(steps, "loss", step(self, pairs, candidates))?;
            }
        }
        Ok(total)
    }

    /// A step on the tape. Returns the loss, summed over the pairs.
    fn step_on_tape(&mut self, pairs: &[u32], candidates: &[u32]) -> std::result::Result<f64, OptimError> {
        let Trainer { sampler, embedding, sgd, tape, .. } = self;
        let graph = sampler.graph;
        let heads: Vec<u32> = pairs.iter().map(|&p| graph.pairs[p as usize].0).collect();
        tape.reset();
        let u = embedding.forward(tape, &heads).arrange([pairs.len(), 1]);
        let v = embedding.forward(tape, candidates).arrange([pairs.len(), sampler.width()]);
        let mut losses = loss::ranking(u.dist(&v));
        if !graph.weights.is_empty() {
            let weights = pairs.iter().map(|&p| T::nearest(graph.weights[p as usize])).collect();
            losses = losses * tape.constant(&Tensor::new([pairs.len()], weights));
        }
        let batch_loss = losses.sum();
        let loss = batch_loss.item();
        let stepped = sgd.step(&mut embedding.points, &tape.backward(batch_loss));
        // If the loss is not finite, that is why the step was refused, so the loss is reported.
        if loss.is_finite() { stepped.map(|_| loss) } else { Ok(loss) }
    }

    /// The step of this node was not finite.
    fn diverged(&self, node: u32) -> OptimError {
        OptimError::NotFinite { param: self.embedding.points.name().to_owned(), row: node as usize }
    }
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
        negative_power: 0.0,
        batch: 10,
        lock_free: false,
        lr: 0.05,
        burn_in: 20,
        burn_in_factor: 0.01,
        seed: 42,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;

    /// A tree of 40 nodes with all ancestors, with weights.
    fn tree() -> Graph {
        let mut builder = Builder::default();
        for i in 2..41_u32 {
            let ancestors = std::iter::successors(Some(i / 2), |a| Some(a / 2)).take_while(|&a| a > 0);
            ancestors.for_each(|a| builder.add(&i.to_string(), &a.to_string(), Some(f64::from(1 + i % 3))));
        }
        builder.finish()
    }

    /// Points and losses after three epochs.
    fn trained<M: Manifold>(m: M, graph: &Graph, form: Form) -> (Tensor<f64>, Vec<f64>) {
        let directory = tempfile::tempdir().unwrap();
        let mut rng = rng::stream(3, INITIAL, 0);
        let mut trainer = Trainer {
            form,
            sampler: Sampler::new(graph, 3, 6, 0.75),
            batch: 7,
            embedding: Embedding::uniform("embedding", m, graph.names.len(), 3, 0.3, &mut rng),
            sgd: RiemannianSgd::new(0.2).unwrap(),
            tape: Tape::new(),
        };
        let mut checkpoints = Checkpoints::new(directory.path(), "epoch", 0, |_| Ok(())).unwrap();
        let losses = (0..3).map(|epoch| trainer.epoch(epoch, &mut checkpoints).unwrap()).collect();
        (trainer.embedding.points.value().clone(), losses)
    }

    /// The largest difference of coordinates.
    fn difference(x: &Tensor<f64>, y: &Tensor<f64>) -> f64 {
        x.data().iter().zip(y.data()).fold(0.0, |most, (x, y)| most.max((x - y).abs()))
    }

    #[test]
    fn the_fused_trainer_takes_the_steps_of_the_tape() {
        fn compare<M: Manifold>(m: M) {
            let graph = tree();
            let (points, losses) = trained(m, &graph, Form::Tape);
            let (fused, fused_losses) = trained(m, &graph, Form::Fused);
            assert!(difference(&points, &fused) < 1e-10, "{}", difference(&points, &fused));
            for (loss, fused) in losses.iter().zip(&fused_losses) {
                assert!((loss - fused).abs() < 1e-12 * loss, "{loss} {fused}");
            }
            assert!(losses[2] < losses[0]);
        }
        compare(PoincareBall::new(-1.0));
        compare(Lorentz::new(-1.0));
        compare(Euclidean);
    }

    /// On two threads, with other negatives than in batches.
    #[test]
    fn lock_free_steps_lower_the_loss_as_much() {
        let (graph, ball) = (tree(), PoincareBall::new(-1.0));
        let (_, batches) = trained(ball, &graph, Form::Fused);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for _ in 0..5 {
            let (points, losses) = pool.install(|| trained(ball, &graph, Form::LockFree));
            points.rows().for_each(|row| ball.contains(row).unwrap());
            assert!((losses[2] / batches[2] - 1.0).abs() < 0.1, "{losses:?} {batches:?}");
        }
    }
}

//! The training of parts: bucket by bucket, two parts in memory, the next ones read meanwhile.
//!
//! A step is a pass over the pairs of one bucket, with the formulas and steps of the training in memory. What
//! it draws depends on seed, epoch and bucket.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent::engine::files::checkpoint;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::progress::{Figure, Progress};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::graph::Pairs;
use crate::partition::parts::{DiskParts, PartStore};
use crate::partition::schedule::{self, Bucket};
use crate::partition::store::{BucketPairs, StoredGraph};
use crate::train::config::EmbeddingConfig;
use crate::train::epochs::{self, Epochs, Pass};
use crate::train::parameters::Parameters;
use crate::train::points::Shared;

/// The file name of the checkpoint. It is written last, when all parts that it names are there.
pub(crate) const CHECKPOINT: &str = "checkpoint.bin";

/// Version of [`State`].
const VERSION: u32 = 1;

/// How far a training has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    /// What the points are trained with.
    pub(crate) config: EmbeddingConfig,
    /// The fingerprint of the graph.
    pub(crate) graph: u32,
    /// The fingerprint of the parts' files.
    pub(crate) run: u32,
    /// The instruction set: results have the same bits on the same one only.
    pub(crate) instruction_set: String,
    /// Number of buckets that are trained, over all epochs.
    pub(crate) steps: u64,
    /// The mean loss of each finished epoch.
    pub(crate) losses: Vec<f64>,
    /// The sum of the losses of the epoch that is not finished.
    pub(crate) loss: f64,
    /// Seconds of training.
    pub(crate) seconds: f64,
    /// What is learned of the curvatures: see [`Parameters::scales`].
    pub(crate) scales: Vec<f64>,
    /// The steps after which the parts were stored.
    pub(crate) parts: Vec<u64>,
}

impl State {
    /// The state before a training.
    pub(crate) fn new(config: &EmbeddingConfig, graph: u32) -> Self {
        let settings = serde_json::to_vec(&EmbeddingConfig { epochs: 0, ..config.clone() });
        let mut hasher = crc32fast::Hasher::new_with_initial(graph);
        hasher.update(&settings.expect("a configuration is JSON"));
        State {
            config: config.clone(),
            graph,
            run: hasher.finalize(),
            instruction_set: cotangent::engine::instruction_set(),
            steps: 0,
            losses: Vec::new(),
            loss: 0.0,
            seconds: 0.0,
            scales: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The state of a checkpoint.
    ///
    /// # Errors
    /// If there is none in the directory, or it is damaged.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        Ok(checkpoint::load(&directory.join(CHECKPOINT), VERSION)?)
    }

    fn write(&self, directory: &Path) -> Result<()> {
        Ok(checkpoint::save(&directory.join(CHECKPOINT), VERSION, self)?)
    }
}

/// Number of workers whose schedule is followed.
const WORKERS: usize = 1;

/// What a step needs that was read meanwhile.
struct Next<T> {
    /// Parts that are not held.
    parts: Vec<(usize, Vec<T>)>,
    pairs: BucketPairs,
    /// Other pairs of the bucket's nodes: those within each of two parts.
    known: Vec<(u32, u32)>,
}

/// A training under way.
pub(crate) struct Course<'a, T: Shared> {
    graph: &'a StoredGraph,
    device: &'a Device,
    directory: PathBuf,
    store: &'a DiskParts,
    parameters: Parameters<T>,
    sgd: RiemannianSgd<T>,
    /// The parts whose points the parameters are, in ascending order.
    held: Vec<usize>,
    pub(crate) state: State,
    /// Number of epochs done at the last checkpoint.
    kept_epochs: u64,
    saved: Instant,
    started: Instant,
    seconds_before: f64,
}

impl<'a, T: Shared> Course<'a, T> {
    /// A training that goes on from a state, whose parts are in the store. Writes the first checkpoint.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(
        graph: &'a StoredGraph,
        device: &'a Device,
        directory: &Path,
        store: &'a DiskParts,
        state: State,
    ) -> Result<Self> {
        let manifold = state.config.geometry.manifold();
        let nothing = Tensor::zeros([0, manifold.ambient(state.config.dim)]);
        let mut parameters = Parameters::new(Param::new("embedding", manifold, nothing), &state.config);
        if !state.scales.is_empty() {
            parameters.set_scales(&state.scales);
        }
        let mut course = Course {
            graph,
            device,
            directory: directory.to_path_buf(),
            store,
            parameters,
            sgd: RiemannianSgd::new(state.config.lr)?,
            held: Vec::new(),
            kept_epochs: state.losses.len() as u64,
            saved: Instant::now(),
            started: Instant::now(),
            seconds_before: state.seconds,
            state,
        };
        // That of a run that resumes is there.
        if course.state.parts.is_empty() {
            course.save()?;
        }
        Ok(course)
    }

    /// Number of steps of an epoch.
    fn per_epoch(&self) -> u64 {
        schedule::count(self.graph.parts()) as u64
    }

    /// The buckets of an epoch in their order.
    fn epoch(&self, epoch: u64) -> Vec<Bucket> {
        schedule::rounds(self.state.config.seed, epoch, self.graph.parts(), WORKERS).concat()
    }

    /// Trains all epochs that are left, with a checkpoint in these intervals and at the end.
    ///
    /// # Errors
    /// If a file cannot be read or written, or the training diverges. The last checkpoint stays.
    pub(crate) fn run(&mut self, checkpoint_every: Duration) -> Result<()> {
        let (per_epoch, epochs) = (self.per_epoch(), self.state.config.epochs);
        let total = per_epoch * epochs;
        let mut progress = Progress::new("bucket", self.state.steps, total);
        let first = self.state.steps / per_epoch;
        let mut order = if first < epochs { self.epoch(first) } else { Vec::new() };
        let mut next: Option<Next<T>> = None;
        let (before, mut trained) = (Instant::now(), 0.0);
        while self.state.steps < total {
            let (epoch, place) = (self.state.steps / per_epoch, (self.state.steps % per_epoch) as usize);
            let bucket = order[place];
            let Next { parts, pairs, known } = match next.take() {
                Some(next) => next,
                None => read(self.graph, self.store, &self.held, bucket)?,
            };
            let evicted = self.arrange(bucket, parts);
            if place + 1 == per_epoch as usize {
                order = if epoch + 1 < epochs { self.epoch(epoch + 1) } else { Vec::new() };
            }
            let following = order.get((place + 1) % per_epoch as usize).copied();
            trained += pairs.pairs.len() as f64;
            next = self.step((epoch, bucket), (&pairs, &known), evicted, following)?;
            self.end_step(per_epoch);
            if self.saved.elapsed() >= checkpoint_every && self.state.steps < total {
                self.save()?;
            }
            let rate = trained / before.elapsed().as_secs_f64();
            let loss = self.state.losses.last().copied().unwrap_or(f64::NAN);
            progress.update(self.state.steps, || {
                vec![Figure::new("loss", loss, 4), Figure::new("pairs_per_second", rate, 0)]
            });
        }
        progress.finish();
        self.save()
    }

    /// Makes the points of a bucket's parts the parameters; all but those that are held are given. Returns
    /// the parts that are no longer held, with the points that they came to.
    fn arrange(&mut self, bucket: Bucket, given: Vec<(usize, Vec<T>)>) -> Vec<(usize, Vec<T>)> {
        let wanted = distinct(bucket);
        if self.held == wanted {
            return Vec::new();
        }
        let width = self.parameters.points.value().width();
        let mut parts = given;
        let mut evicted = Vec::new();
        for (part, rows) in self.held_rows() {
            let list = if wanted.contains(&part) { &mut parts } else { &mut evicted };
            list.push((part, rows.to_vec()));
        }
        // The points of the last bucket give their memory back first.
        *self.parameters.points.value_mut() = Tensor::zeros([0, width]);
        parts.sort_by_key(|(part, _)| *part);
        let mut rows = Vec::with_capacity(self.graph.nodes_of(bucket) * width);
        for (_, part) in parts {
            rows.extend_from_slice(&part);
        }
        *self.parameters.points.value_mut() = Tensor::new([rows.len() / width, width], rows);
        self.held = wanted;
        evicted
    }

    /// The rows of the parts that are held.
    fn held_rows(&self) -> impl Iterator<Item = (usize, &[T])> {
        let points = self.parameters.points.value();
        let (width, mut first) = (points.width(), 0);
        self.held.iter().map(move |&part| {
            let rows = &points.data()[first..][..self.graph.part(part).len() * width];
            first += rows.len();
            (part, rows)
        })
    }

    /// Trains a bucket. Meanwhile parts that are no longer held are stored, and what the following bucket
    /// needs is read.
    fn step(
        &mut self,
        now: (u64, Bucket),
        pairs: (&BucketPairs, &[(u32, u32)]),
        evicted: Vec<(usize, Vec<T>)>,
        following: Option<Bucket>,
    ) -> Result<Option<Next<T>>> {
        let (graph, store, held, steps) = (self.graph, self.store, self.held.clone(), self.state.steps);
        std::thread::scope(|scope| {
            let meanwhile = scope.spawn(move || {
                for (part, rows) in evicted {
                    store.store(part, steps, &rows)?;
                }
                following.map(|bucket| read(graph, store, &held, bucket)).transpose()
            });
            let loss = self.train(now, pairs);
            let next = meanwhile.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.state.loss += loss?;
            next
        })
    }

    /// Trains the pairs of a bucket. Negative samples are drawn from both parts, all nodes alike, but for
    /// neighbours. Returns the loss, summed.
    fn train(
        &mut self,
        (epoch, bucket): (u64, Bucket),
        (pairs, known): (&BucketPairs, &[(u32, u32)]),
    ) -> Result<f64> {
        if pairs.pairs.is_empty() {
            return Ok(0.0);
        }
        let config = &self.state.config;
        let number = schedule::number(bucket, self.graph.parts()) as u64;
        let seed = rng::stream(config.seed, "bucket", number).random();
        let config = EmbeddingConfig { seed, ..config.clone() };
        let degrees = self.degrees(bucket)?;
        let nodes = self.parameters.points.value().rows().len();
        let pairs = Pairs { nodes, pairs: &pairs.pairs, weights: &pairs.weights };
        let sampler = epochs::sampler(pairs, &config)?.within_larger(known, &degrees, config.negative_power);
        let mut passes = Epochs::new(&config, &sampler, self.device)?;
        self.sgd.set_rate(config.lr * config.schedule().factor(epoch))?;
        let order = sampler.order(epoch);
        let pass = Pass { pairs: &order, epoch, goes_well: &mut || {} };
        let diverged = |cause: String| {
            let kept = self.directory.join(CHECKPOINT);
            let kept = format!("; {} is the checkpoint after epoch {}", kept.display(), self.kept_epochs);
            AppError::Diverged { unit: "epoch", step: epoch + 1, cause, kept }
        };
        match passes.pass(&mut self.parameters, &mut self.sgd, pass) {
            Ok(loss) if loss.is_finite() => Ok(loss * order.len() as f64),
            Ok(loss) => Err(diverged(format!("the loss is {loss}"))),
            Err(error) => Err(diverged(error.to_string())),
        }
    }

    /// The degrees of a bucket's nodes, if negative samples are drawn by them.
    fn degrees(&self, bucket: Bucket) -> Result<Vec<u32>> {
        if self.state.config.negative_power == 0.0 {
            return Ok(Vec::new());
        }
        let mut degrees = Vec::new();
        for part in distinct(bucket) {
            degrees.extend(self.graph.degrees(part)?);
        }
        Ok(degrees)
    }

    /// Counts a step, and the epoch if it has ended.
    fn end_step(&mut self, per_epoch: u64) {
        self.state.steps += 1;
        if self.state.steps.is_multiple_of(per_epoch) {
            let loss = std::mem::take(&mut self.state.loss);
            self.state.losses.push(loss / self.graph.pairs() as f64);
        }
    }

    /// Writes a checkpoint: the parts that are held, then the state that names all of them.
    fn save(&mut self) -> Result<()> {
        for (part, rows) in self.held_rows() {
            self.store.store(part, self.state.steps, rows)?;
        }
        self.state.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        self.store.sync()?;
        self.state.scales = self.parameters.scales();
        self.state.parts = self.store.stored();
        self.state.write(&self.directory)?;
        self.store.keep()?;
        (self.kept_epochs, self.saved) = (self.state.losses.len() as u64, Instant::now());
        Ok(())
    }
}

/// The parts of a bucket.
fn distinct([i, j]: Bucket) -> Vec<usize> {
    if i == j { vec![i] } else { vec![i, j] }
}

/// Reads the pairs of a bucket, and its parts that are not held.
fn read<T: Float>(
    graph: &StoredGraph,
    store: &dyn PartStore<T>,
    held: &[usize],
    bucket: Bucket,
) -> Result<Next<T>> {
    let missing = distinct(bucket).into_iter().filter(|part| !held.contains(part));
    let parts = missing.map(|part| Ok((part, store.load(part)?))).collect::<Result<_>>()?;
    let (mut known, [i, j]) = (Vec::new(), bucket);
    if i != j {
        let first = graph.part(i).len() as u32;
        known = graph.bucket([i, i])?.pairs;
        known.extend(graph.bucket([j, j])?.pairs.into_iter().map(|(u, v)| (u + first, v + first)));
    }
    Ok(Next { parts, pairs: graph.bucket(bucket)?, known })
}

//! The training of parts: bucket by bucket, two parts in memory, the next ones read meanwhile. Several ranks
//! train disjoint buckets at the same time, and pass parts on to each other.
//!
//! A step is a pass over the pairs of one bucket, with the formulas and steps of the training in memory. What
//! it draws depends on seed, epoch and bucket. The points of disjoint buckets do not meet. Curvatures are of
//! all points: the buckets of a round start from the same, and their changes are added.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cotangent::engine::files::checkpoint;
use cotangent::optim::train::CHECKPOINT;
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::progress::{Figure, Progress};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::graph::Pairs;
use crate::partition::schedule::{self, Bucket, Order, Schedule, Transfer, Turn, Turns, distinct};
use crate::partition::store::BucketPairs;
use crate::partition::supply::{Arrived, Supply};
use crate::train::config::EmbeddingConfig;
use crate::train::epochs::{self, Epochs, Pass};
use crate::train::parameters::Parameters;
use crate::train::points::Shared;

/// Version of [`State`].
const VERSION: u32 = 3;

/// How far a training has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    /// What the points are trained with.
    #[serde(with = "as_json")]
    pub(crate) config: EmbeddingConfig,
    /// The fingerprint of the graph.
    pub(crate) graph: u32,
    /// The fingerprint of the parts' files.
    pub(crate) run: u32,
    /// The instruction set: results have the same bits on the same one only.
    pub(crate) instruction_set: String,
    /// The order of the buckets.
    pub(crate) order: Order,
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

/// A configuration as JSON: a checkpoint can be read after the program has got more options, if they have a
/// default there (`#[serde(default)]`).
mod as_json {
    use serde::de::Error as _;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::EmbeddingConfig;

    pub(super) fn serialize<S: Serializer>(config: &EmbeddingConfig, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&serde_json::to_string(config).map_err(S::Error::custom)?)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<EmbeddingConfig, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl State {
    /// The state before a training.
    pub(crate) fn new(config: &EmbeddingConfig, graph: u32, order: Order) -> Self {
        let settings = serde_json::to_vec(&(EmbeddingConfig { epochs: 0, ..config.clone() }, order));
        let mut hasher = crc32fast::Hasher::new_with_initial(graph);
        hasher.update(&settings.expect("a configuration is JSON"));
        State {
            config: config.clone(),
            graph,
            run: hasher.finalize(),
            instruction_set: cotangent::engine::instruction_set(),
            order,
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

    /// Last, when all parts that it names are there.
    fn write(&self, directory: &Path) -> Result<()> {
        Ok(checkpoint::save(&directory.join(CHECKPOINT), VERSION, self)?)
    }
}

/// What one bucket has brought.
struct Trained {
    bucket: Bucket,
    /// The loss, summed.
    loss: f64,
    /// What the curvatures came to: see [`Parameters::scales`].
    scales: Vec<f64>,
}

/// A training under way, as one rank sees it.
pub(crate) struct Course<'a, T: Shared> {
    supply: &'a Supply<'a>,
    device: &'a Device,
    directory: PathBuf,
    parameters: Parameters<T>,
    sgd: RiemannianSgd<T>,
    /// The parts whose points the parameters are, in ascending order.
    held: Vec<usize>,
    /// The rank that has each part.
    location: Vec<usize>,
    /// The steps after which each part was trained last, wherever it is.
    trained: Vec<u64>,
    /// What the buckets of the round have brought so far that this rank trains.
    round: Vec<Trained>,
    pub(crate) state: State,
    /// Number of epochs done at the last checkpoint.
    kept_epochs: u64,
    saved: Instant,
    started: Instant,
    seconds_before: f64,
}

impl<'a, T: Shared> Course<'a, T> {
    /// A training that goes on from a state, whose parts are in the store of rank 0. Writes the first
    /// checkpoint.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn new(
        supply: &'a Supply<'a>,
        device: &'a Device,
        directory: &Path,
        state: State,
    ) -> Result<Self> {
        let manifold = state.config.geometry.manifold();
        let nothing = Tensor::zeros([0, manifold.ambient(state.config.dim)]);
        let mut parameters =
            Parameters::new(Param::new("embedding", manifold, nothing), &state.config, usize::MAX);
        if !state.scales.is_empty() {
            parameters.set_scales(&state.scales);
        }
        let parts = supply.graph.parts();
        let is_new = state.parts.is_empty();
        let mut course = Course {
            supply,
            device,
            directory: directory.to_path_buf(),
            parameters,
            sgd: RiemannianSgd::new(state.config.lr)?,
            held: Vec::new(),
            location: vec![0; parts],
            trained: if is_new { vec![0; parts] } else { state.parts.clone() },
            round: Vec::new(),
            kept_epochs: state.losses.len() as u64,
            saved: Instant::now(),
            started: Instant::now(),
            seconds_before: state.seconds,
            state,
        };
        course.state.scales = course.parameters.scales();
        // That of a run that resumes is there.
        if is_new {
            course.save(&[])?;
        }
        Ok(course)
    }

    /// Trains all epochs that are left, with a checkpoint in these intervals and at the end.
    ///
    /// # Errors
    /// If a file cannot be read or written, the training diverges, or another rank has ended. The last
    /// checkpoint stays.
    pub(crate) fn run(&mut self, checkpoint_every: Duration) -> Result<()> {
        let (graph, ranks) = (self.supply.graph, self.supply.ranks);
        let State { config, order, steps, .. } = &self.state;
        let schedule = Schedule { seed: config.seed, epochs: config.epochs, order: *order };
        let mut turns = Turns::new(schedule, graph.parts(), ranks.size(), *steps);
        let total = schedule::count(graph.parts()) as u64 * config.epochs;
        let mut progress = Progress::new("bucket", *steps, total);
        let (before, mut pairs_trained) = (Instant::now(), 0.0);
        let mut next = turns.next();
        let mut arrived = match &next {
            Some(turn) => self.fetch_first(turn)?,
            None => None,
        };
        while let (Some(turn), Some(Arrived { parts, pairs, known })) = (next, arrived) {
            let evicted = self.arrange(&turn, parts);
            pairs_trained +=
                turn.buckets.iter().flatten().map(|&bucket| graph.pairs_of(bucket) as f64).sum::<f64>();
            next = turns.next();
            arrived = self.step(&turn, (&pairs, &known), evicted, next.as_ref())?;
            drop((pairs, known));
            for part in turn.buckets.iter().flatten().flat_map(|&bucket| distinct(bucket)) {
                self.trained[part] = turn.steps;
            }
            let is_due = self.saved.elapsed() >= checkpoint_every;
            if turn.ends_round && self.end_round(turn.steps, is_due)? && turn.steps < total {
                self.save(arrived.as_ref().map_or(&[], |arrived| &arrived.parts))?;
            }
            if let (Some(next), Some(arrived)) = (&next, &mut arrived) {
                arrived.parts.extend(self.pass_on(&next.trained)?);
            }
            let rate = pairs_trained / before.elapsed().as_secs_f64();
            progress.update(turn.steps, || {
                // There is no loss before the first epoch has ended.
                let loss = self.state.losses.last().map(|&loss| Figure::new("loss", loss, 4));
                loss.into_iter().chain([Figure::new("pairs_per_second", rate, 0)]).collect()
            });
        }
        progress.finish();
        self.save(&[])
    }

    /// What the first turn needs.
    fn fetch_first(&mut self, turn: &Turn) -> Result<Option<Arrived<T>>> {
        let arrived = self.supply.fetch(turn, &[])?;
        self.moved(&turn.resting);
        Ok(Some(arrived))
    }

    fn moved(&mut self, transfers: &[Transfer]) {
        transfers.iter().for_each(|go| self.location[go.part] = go.to);
    }

    /// Sends parts that are held to other ranks, and returns those that come.
    fn pass_on(&mut self, transfers: &[Transfer]) -> Result<Vec<(usize, Vec<T>)>> {
        let held: Vec<(usize, &[T])> = self.held_rows().collect();
        let rows = |part| {
            let (_, rows) = held.iter().find(|(number, _)| *number == part).expect("it is trained here");
            Ok(Cow::Borrowed(*rows))
        };
        let come = self.supply.pass_on(transfers, rows)?;
        self.moved(transfers);
        Ok(come)
    }

    /// Makes the points of a turn's bucket the parameters; all but those that are held are given. Returns the
    /// parts that this rank has and no longer holds, with the points that they came to.
    fn arrange(&mut self, turn: &Turn, given: Vec<(usize, Vec<T>)>) -> Vec<(usize, Vec<T>)> {
        let me = self.supply.ranks.rank();
        let wanted = turn.buckets[me].map_or(Vec::new(), distinct);
        if self.held == wanted {
            return Vec::new();
        }
        let width = self.parameters.points.value().width();
        let mut parts = given;
        let mut evicted = Vec::new();
        for (part, rows) in self.held_rows() {
            if wanted.contains(&part) {
                parts.push((part, rows.to_vec()));
            } else if self.location[part] == me {
                evicted.push((part, rows.to_vec()));
            }
        }
        // The points of the last bucket give their memory back first.
        *self.parameters.points.value_mut() = Tensor::zeros([0, width]);
        parts.sort_by_key(|(part, _)| *part);
        let mut rows = Vec::with_capacity(parts.iter().map(|(_, rows)| rows.len()).sum());
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
            let rows = &points.data()[first..][..self.supply.graph.part(part).len() * width];
            first += rows.len();
            (part, rows)
        })
    }

    /// Trains the bucket of this rank. Meanwhile parts that are no longer held are stored, and what the
    /// following turn needs is got.
    fn step(
        &mut self,
        turn: &Turn,
        pairs: (&BucketPairs, &[(u32, u32)]),
        evicted: Vec<(usize, Vec<T>)>,
        following: Option<&Turn>,
    ) -> Result<Option<Arrived<T>>> {
        let (supply, held, trained) = (self.supply, self.held.clone(), self.trained.clone());
        let next = std::thread::scope(|scope| {
            let meanwhile = scope.spawn(move || {
                for (part, rows) in evicted {
                    supply.store.store(part, trained[part], &rows)?;
                }
                following.map(|turn| supply.fetch(turn, &held)).transpose()
            });
            let brought = match turn.buckets[supply.ranks.rank()] {
                Some(bucket) => self.train((turn.epoch, bucket), pairs).map(Some),
                None => Ok(None),
            };
            let next = meanwhile.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.round.extend(brought?);
            next
        })?;
        if let Some(following) = following {
            self.moved(&following.resting);
        }
        Ok(next)
    }

    /// Trains the pairs of a bucket. Negative samples are drawn from both parts, all nodes alike, but for
    /// neighbours.
    fn train(
        &mut self,
        (epoch, bucket): (u64, Bucket),
        (pairs, known): (&BucketPairs, &[(u32, u32)]),
    ) -> Result<Trained> {
        let scales = self.state.scales.clone();
        if pairs.pairs.is_empty() {
            return Ok(Trained { bucket, loss: 0.0, scales });
        }
        self.parameters.set_scales(&scales);
        let config = &self.state.config;
        let number = schedule::number(bucket, self.supply.graph.parts()) as u64;
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
            Ok(loss) if loss.is_finite() => {
                let loss = loss * order.len() as f64;
                Ok(Trained { bucket, loss, scales: self.parameters.scales() })
            }
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
            degrees.extend(self.supply.graph.degrees(part)?);
        }
        Ok(degrees)
    }

    /// Ends a round after so many steps: adds up what its buckets have brought on all ranks, in their order.
    /// Returns whether rank 0 wants a checkpoint.
    fn end_round(&mut self, steps: u64, checkpoint: bool) -> Result<bool> {
        let graph = self.supply.graph;
        let mut message = vec![f64::from(u8::from(checkpoint))];
        for Trained { bucket, loss, scales } in self.round.drain(..) {
            message.extend([schedule::number(bucket, graph.parts()) as f64, loss]);
            message.extend(scales);
        }
        let all = self.supply.ranks.all_gather(bytemuck::cast_slice(&message))?;
        let all: Vec<Vec<f64>> = all
            .iter()
            .map(|bytes| bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect())
            .collect();
        let mut brought: Vec<&[f64]> =
            all.iter().flat_map(|message| message[1..].chunks_exact(2 + self.state.scales.len())).collect();
        brought.sort_by(|a, b| a[0].total_cmp(&b[0]));
        self.state.loss += brought.iter().map(|bucket| bucket[1]).sum::<f64>();
        for (i, scale) in self.state.scales.iter_mut().enumerate() {
            let start = *scale;
            *scale = match &brought[..] {
                [bucket] => bucket[2 + i],
                all => start + all.iter().map(|bucket| bucket[2 + i] - start).sum::<f64>(),
            };
        }
        // The sum has more digits than a number of `T`.
        self.parameters.set_scales(&self.state.scales);
        self.state.scales = self.parameters.scales();
        self.state.steps = steps;
        if steps.is_multiple_of(schedule::count(graph.parts()) as u64) {
            let loss = std::mem::take(&mut self.state.loss);
            self.state.losses.push(loss / graph.pairs() as f64);
        }
        Ok(all[0][0] == 1.0)
    }

    /// Writes a checkpoint at rank 0: all parts, wherever they are, then the state that names them. `arrived`
    /// are parts that have come for the next turn.
    fn save(&mut self, arrived: &[(usize, Vec<T>)]) -> Result<()> {
        let (store, me) = (self.supply.store, self.supply.ranks.rank());
        let arrived = arrived.iter().map(|(part, rows)| (*part, rows.as_slice()));
        let in_memory: Vec<(usize, &[T])> = self.held_rows().chain(arrived).collect();
        for (part, (&from, &steps)) in self.location.iter().zip(&self.trained).enumerate() {
            let rows = in_memory.iter().find(|(number, _)| *number == part).map(|(_, rows)| *rows);
            if from == 0 {
                // What rank 0 has and is not in its memory is stored.
                if let Some(rows) = rows.filter(|_| me == 0) {
                    store.store(part, steps, rows)?;
                }
            } else if self.state.parts.get(part) == Some(&steps) || from != me && me != 0 {
                // The last checkpoint has it, or it goes from another rank to rank 0.
            } else if me == 0 {
                store.store(part, steps, &self.supply.receive::<T>(part, from)?)?;
            } else {
                self.supply
                    .send(&rows.map_or_else(|| store.load(part).map(Cow::Owned), |rows| Ok(rows.into()))?)?;
            }
        }
        self.state.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        self.state.parts.clone_from(&self.trained);
        if me == 0 {
            store.sync()?;
            self.state.write(&self.directory)?;
            store.keep()?;
        }
        (self.kept_epochs, self.saved) = (self.state.losses.len() as u64, Instant::now());
        Ok(())
    }
}

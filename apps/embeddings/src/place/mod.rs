//! Points for new nodes of an embedding, by the loss of training: Nickel & Kiela 2017, eq. 6. Only the new
//! points move.
//!
//! A new node starts from the point of a sibling or a neighbour, then takes steps of Riemannian gradient
//! descent. Each is by one of its pairs with fresh negative samples, which are known nodes, and by some known
//! pairs of which the new node is a negative sample. The rate falls linearly to 0. New nodes are placed side
//! by side, in rounds if some have no known neighbour. Those with edges to each other are placed once more,
//! with all of their edges, when all have points.

mod as_negative;
pub mod new_nodes;

use std::path::PathBuf;
use std::time::Instant;

use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Geometry;
use cotangent_apps_common::memory;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::{metrics, output};
use rand::seq::{IteratorRandom, SliceRandom};
use rayon::prelude::*;
use serde::Serialize;

use self::as_negative::{AsNegative, KnownPairs};
use self::new_nodes::NewNodes;
use crate::evaluate::reconstruction::{self, Candidates, Sample, Score};
use crate::files::embeddings::Embeddings;
use crate::files::{safetensors, tsv};
use crate::graph::Neighbours;
use crate::train::batch::Batch;
use crate::train::negatives::{Negatives, Sampler};
use crate::train::objective::DistanceLoss;
use crate::train::own_negatives::OwnNegatives;
use crate::train::points::{Points, touch};
use crate::train::step::{BatchLoss, Formulas, Move, Step, Threads};

/// How new nodes are placed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceConfig {
    /// Number of negative samples for each step.
    pub negatives: usize,
    /// Number of steps of each new node.
    pub steps: usize,
    /// Learning rate of the first step; it falls linearly to 0.
    pub lr: f64,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for PlaceConfig {
    fn default() -> Self {
        PlaceConfig { negatives: 50, steps: 60, lr: 3.0, seed: 42 }
    }
}

impl PlaceConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// If a setting is wrong; the error names the option.
    pub fn check(&self) -> Result<()> {
        options::at_least_one(&[("negatives", self.negatives as u64), ("steps", self.steps as u64)])?;
        options::positive(&[("lr", self.lr)])
    }
}

/// Where a run reads and writes.
#[derive(Clone, Debug)]
pub struct Files {
    /// The directory for all output.
    pub out: PathBuf,
    /// The source of the embedding, for the record.
    pub embedding: String,
    /// The source of the new edges, for the record.
    pub edges: String,
    /// How they were read, for the record.
    pub read_as: String,
    /// The source of the known edges, for the record.
    pub known: Option<String>,
}

/// `metrics.json`.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceMetrics {
    /// Settings and seed.
    pub config: PlaceConfig,
    /// The source of the embedding.
    pub embedding: String,
    /// The source of the new edges.
    pub edges: String,
    /// How they were read.
    pub read_as: String,
    /// The source of the known edges, if they were given.
    pub known_edges: Option<String>,
    /// Number of nodes that the embedding has.
    pub known: usize,
    /// Number of nodes that were placed.
    pub placed: usize,
    /// Number of edges that they were placed by.
    pub pairs: usize,
    /// Number of new edges that were not used because they join known nodes.
    pub ignored: usize,
    /// Number of rounds: see [`NewNodes::rounds`].
    pub rounds: usize,
    /// Number of threads.
    pub threads: usize,
    /// Seconds of placing, without files and evaluation.
    pub seconds: f64,
    /// Milliseconds for each new node.
    pub milliseconds_per_node: f64,
    /// How well the edges from new nodes are reconstructed, ranked among all nodes; none if there are none.
    pub from_new: Option<Score>,
    /// The same of known nodes with an edge to a new one, over all of their edges; none if the known edges
    /// were not given.
    pub to_new: Option<Score>,
}

/// Places the new nodes and writes `embedding.tsv`, `embedding.safetensors` (known points unchanged, then
/// the new ones) and `metrics.json`. It uses the current thread pool; the result does not depend on the
/// pool's size.
///
/// # Errors
/// If a setting is wrong, the embedding is in a product of spaces, a point would not be finite, or the output
/// cannot be written.
pub fn place(
    embeddings: &Embeddings,
    new: &NewNodes,
    config: &PlaceConfig,
    files: &Files,
) -> Result<PlaceMetrics> {
    config.check()?;
    // The samples and their gradients are in `f64`.
    let (negatives, width) = (config.negatives, embeddings.points.width());
    let samples = memory::bytes::<u32>(&[negatives]) + 2.0 * memory::bytes::<f64>(&[negatives, width]);
    memory::check(&[("negatives", negatives)], "the negative samples of a step", samples)?;
    let _held = output::hold_without_model(&files.out)?;
    match embeddings.precision() {
        Precision::F32 => run::<f32>(embeddings, new, config, files),
        Precision::F64 => run::<f64>(embeddings, new, config, files),
    }
}

fn run<T: Float>(
    embeddings: &Embeddings,
    new: &NewNodes,
    config: &PlaceConfig,
    files: &Files,
) -> Result<PlaceMetrics> {
    let sampler = Sampler::new(&new.graph, config.seed, Negatives::Own(config.negatives), 0.0)
        .among_first(new.known as u32);
    let start = Instant::now();
    let points = points::<T>(embeddings, new, config, &sampler)?;
    let seconds = start.elapsed().as_secs_f64();
    let (out, names, geometry) = (&files.out, &new.graph.names, embeddings.geometry);
    tsv::write(&out.join("embedding.tsv"), names, &points)?;
    safetensors::write(&out.join("embedding.safetensors"), names, &points, geometry)?;
    let points = points.cast::<f64>();
    let identity: Vec<u32> = (0..names.len() as u32).collect();
    let score = |nodes: &[u32]| score_of(&points, geometry, &identity, &sampler.neighbours, nodes);
    let (known, placed) = identity.split_at(new.known);
    let has_new =
        |&&node: &&u32| sampler.neighbours.of(node).last().is_some_and(|&v| v as usize >= new.known);
    let above: Vec<u32> = known.iter().filter(has_new).copied().collect();
    let metrics = PlaceMetrics {
        config: config.clone(),
        embedding: files.embedding.clone(),
        edges: files.edges.clone(),
        read_as: files.read_as.clone(),
        known_edges: files.known.clone(),
        known: new.known,
        placed: new.count(),
        pairs: new.pairs,
        ignored: new.ignored,
        rounds: new.rounds.len(),
        threads: rayon::current_num_threads(),
        seconds,
        milliseconds_per_node: 1e3 * seconds / new.count() as f64,
        from_new: score(placed),
        to_new: if files.known.is_some() { score(&above) } else { None },
    };
    metrics::write(out, &metrics)?;
    Ok(metrics)
}

/// How well the pairs (u, v) of some nodes u are reconstructed; `None` if there are no pairs.
fn score_of(
    points: &Tensor<f64>,
    geometry: Geometry,
    points_of: &[u32],
    known: &Neighbours,
    nodes: &[u32],
) -> Option<Score> {
    let pairs = || nodes.iter().flat_map(|&u| known.of(u).iter().map(move |&v| (u, v)));
    let ranked = Neighbours::new(points_of.len(), pairs);
    let candidates = Candidates { points, geometry, translation: None };
    let score = reconstruction::rank(candidates, points_of, [&ranked, known], Sample::ALL);
    (score.pairs > 0).then_some(score)
}

/// The points of all nodes: `[nodes, coordinates]`.
fn points<T: Float>(
    embeddings: &Embeddings,
    new: &NewNodes,
    config: &PlaceConfig,
    sampler: &Sampler<'_>,
) -> Result<Tensor<T>> {
    let known = embeddings.points.cast::<T>();
    let (width, nodes) = (known.width(), new.graph.names.len());
    let geometry = embeddings.geometry;
    let message = || AppError::usage(format!("place: the embedding is in a product, {geometry}"));
    let formulas = Formulas::new(&geometry.manifold(), width, config.lr, Move::Exp).ok_or_else(message)?;
    let mut table = known.data().to_vec();
    table.resize(nodes * width, T::zero());
    let mut has_point: Vec<bool> = (0..nodes).map(|node| node < new.known).collect();
    let joined = new.joined();
    let mut rng = rng::stream(config.seed, "known nodes", 0);
    let drawn = KnownPairs::new(&formulas, sampler, &table, [new.pairs, new.known], width, &mut rng);
    let (known, below) = (drawn.as_ref(), &new.graph.inverse_neighbours());
    for (number, round) in new.rounds.iter().chain([&joined]).enumerate() {
        let job = Job { formulas: &formulas, sampler, known, below, config, new, number, width };
        let placed = job.place(round, &table, &has_point)?;
        for (&node, point) in round.iter().zip(placed.chunks_exact(width)) {
            table[node as usize * width..][..width].copy_from_slice(point);
            has_point[node as usize] = true;
        }
    }
    Ok(Tensor::new([nodes, width], table))
}

/// A round.
#[derive(Clone, Copy)]
struct Job<'a> {
    formulas: &'a Formulas,
    sampler: &'a Sampler<'a>,
    /// Known pairs that new nodes are negative samples of, if the known edges were given.
    known: Option<&'a KnownPairs>,
    /// For each node v the nodes u of the pairs (u, v).
    below: &'a Neighbours,
    config: &'a PlaceConfig,
    new: &'a NewNodes,
    /// The number of the round.
    number: usize,
    width: usize,
}

/// Number of nodes whose points are tried as a start.
const STARTS: usize = 16;

/// Number of siblings among them.
const SIBLINGS: usize = 8;

/// Number of pairs by whose loss they are compared.
const COMPARED: usize = 8;

impl Job<'_> {
    /// The new points of the nodes of a round, one after the other. Only pairs with nodes that have points
    /// count.
    fn place<T: Float>(&self, round: &[u32], table: &[T], has_point: &[bool]) -> Result<Vec<T>> {
        let worker = || Worker::<T>::new(*self, table);
        let placed: Vec<Result<Vec<T>>> = round
            .par_iter()
            .map_init(worker, |worker, &node| {
                let pairs = self.new.pairs_of(node).iter().copied();
                worker.pairs.clear();
                worker.pairs.extend(pairs.filter(|&pair| has_point[self.new.other(node, pair) as usize]));
                worker.place(node, has_point)
            })
            .collect();
        placed.into_iter().try_fold(Vec::new(), |mut all, point| {
            all.extend(point?);
            Ok(all)
        })
    }
}

/// What one thread needs to place nodes.
struct Worker<'a, T: Float> {
    job: Job<'a>,
    step: Step<T, Placing<'a, T>>,
    /// The node's pairs.
    pairs: Vec<u32>,
    candidates: Vec<u32>,
    points: OnePoint<'a, T>,
}

/// The loss of a node that is placed: that of one of its pairs, and as a negative sample of known pairs.
struct Placing<'a, T> {
    own: OwnNegatives<T>,
    /// If the known edges were given.
    as_negative: Option<AsNegative<'a, T>>,
    node: u32,
    /// Number of the node's pairs.
    pairs: usize,
    /// A factor of the gradients.
    decay: f64,
    /// Those of the node are the only ones that are written.
    gradients: Vec<f64>,
}

impl<T: Float> BatchLoss<T> for Placing<'_, T> {
    type Gradient = f64;

    /// The nodes of the pair, and once more the new one.
    fn nodes(&self, sampler: &Sampler<'_>, pairs: &[u32], drawn: &[u32], nodes: &mut Vec<u32>) {
        self.own.nodes(sampler, pairs, drawn, nodes);
        nodes.push(self.node);
    }

    fn loss(&mut self, sampler: &Sampler<'_>, pairs: &[u32], batch: &Batch<T>) -> f64 {
        let Placing { own, as_negative, decay, gradients, .. } = self;
        let (width, last) = (batch.width(), batch.len() - 1);
        let loss = own.loss(sampler, pairs, batch);
        gradients.resize(batch.len() * width, 0.0);
        let number = batch.number(self.node).expect("it is one of the nodes");
        for occurrence in batch.occurrences(number).filter(|&occurrence| occurrence < last) {
            let row = occurrence * width..(occurrence + 1) * width;
            let given = &own.gradients()[row.clone()];
            gradients[row].iter_mut().zip(given).for_each(|(to, x)| *to = *decay * x.to_f64());
        }
        let row = &mut gradients[last * width..];
        match as_negative {
            None => row.fill(0.0),
            Some(as_negative) => {
                let given = as_negative.gradient(self.pairs, batch.point(number));
                row.iter_mut().zip(given).for_each(|(to, x)| *to = *decay * x);
            }
        }
        loss
    }

    fn gradients(&self) -> &[f64] {
        &self.gradients
    }
}

/// The points of all nodes, of which one moves.
struct OnePoint<'a, T> {
    table: &'a [T],
    node: u32,
    point: Vec<T>,
}

impl<T: Float> Points<T> for OnePoint<'_, T> {
    fn touch(&self, nodes: &[u32]) {
        touch(self.table, nodes, self.point.len(), |x| x.to_f64().to_bits());
    }

    fn read(&self, node: u32, row: &mut [T]) {
        let width = self.point.len();
        let table = || &self.table[node as usize * width..][..width];
        row.copy_from_slice(if node == self.node { &self.point } else { table() });
    }

    fn write(&mut self, node: u32, row: &[T]) {
        assert_eq!(node, self.node, "no other point moves");
        self.point.copy_from_slice(row);
    }

    fn moves(&self, node: u32) -> bool {
        node == self.node
    }
}

impl<'a, T: Float> Worker<'a, T> {
    fn new(job: Job<'a>, table: &'a [T]) -> Self {
        let as_negative = |known| AsNegative::new(known, job.formulas, job.sampler, table, job.width);
        let placing = Placing {
            own: OwnNegatives::new(job.formulas, Threads::One, DistanceLoss::Ranking),
            as_negative: job.known.map(as_negative),
            node: 0,
            pairs: 0,
            decay: 1.0,
            gradients: Vec::new(),
        };
        Worker {
            job,
            step: Step::new(job.formulas, Threads::One, placing),
            pairs: Vec::new(),
            candidates: vec![0; job.sampler.candidates()],
            points: OnePoint { table, node: 0, point: vec![T::zero(); job.width] },
        }
    }

    /// Places a node by its pairs, from its point if it has one.
    fn place(&mut self, node: u32, has_point: &[bool]) -> Result<Vec<T>> {
        let Job { sampler, config, new, number, .. } = self.job;
        let stream = number as u64 * new.graph.names.len() as u64 + u64::from(node);
        let mut rng = rng::stream(config.seed, "placing", stream);
        self.pairs.shuffle(&mut rng);
        self.points.node = node;
        (self.step.loss.node, self.step.loss.pairs) = (node, self.pairs.len());
        let start = if has_point[node as usize] { node } else { self.start(node, has_point, &mut rng) };
        let row = self.row(start);
        self.points.point.copy_from_slice(row);
        for step in 0..config.steps {
            let turn = step % self.pairs.len();
            if turn == 0 && step > 0 {
                self.pairs.shuffle(&mut rng);
            }
            let pair = self.pairs[turn];
            sampler.draw(pair, &mut rng, &mut self.candidates);
            self.step.loss.decay = (config.steps - step) as f64 / config.steps as f64;
            if let Some(as_negative) = &mut self.step.loss.as_negative {
                as_negative.draw(node, &mut rng);
            }
            let loss = self.step.step(sampler, &[pair], &self.candidates, &mut self.points);
            if !loss.is_ok_and(f64::is_finite) {
                let message = format!("the point of {:?} is not finite", &new.graph.names[node as usize]);
                return Err(AppError::diverged(step as u64 + 1, message));
            }
        }
        Ok(self.points.point.clone())
    }

    /// The sibling or neighbour on whose point the node has the least loss. Expects the pairs in a random
    /// order.
    fn start(&mut self, node: u32, has_point: &[bool], rng: &mut rng::Rng) -> u32 {
        let first = |count: usize| self.pairs[..count.min(self.pairs.len())].to_vec();
        let compared = first(COMPARED);
        let mut starts = self.siblings(node, has_point, rng);
        let neighbours = first(STARTS - starts.len());
        starts.extend(neighbours.into_iter().map(|pair| self.job.new.other(node, pair)));
        let mut starts: Vec<(f64, u32)> = starts.into_iter().map(|start| (0.0, start)).collect();
        for pair in compared {
            let sampler = self.job.sampler;
            sampler.draw(pair, rng, &mut self.candidates);
            self.step.read(sampler, &[pair], &self.candidates, &self.points);
            for (loss, start) in &mut starts {
                let row = self.row(*start);
                let Step { loss: Placing { own, .. }, batch, .. } = &mut self.step;
                let number = batch.number(node).expect("it is one of the nodes");
                batch.set_point(number, row);
                *loss += own.loss(sampler, &[pair], batch);
            }
        }
        starts.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).expect("a node has a pair").1
    }

    /// Some nodes with points that are below the same node: that of all nodes above with the fewest below it.
    fn siblings(&self, node: u32, has_point: &[bool], rng: &mut rng::Rng) -> Vec<u32> {
        let Job { sampler, below, .. } = self.job;
        let placed = |&u: &u32| u != node && has_point[u as usize];
        let above = self.pairs.iter().map(|&pair| sampler.graph.pairs[pair as usize]);
        let families = above.filter(|&(u, _)| u == node).map(|(_, v)| below.of(v));
        let family = families.filter(|family| family.iter().any(placed)).min_by_key(|f| f.len());
        family.into_iter().flatten().copied().filter(placed).sample(rng, SIBLINGS)
    }

    /// A node's point.
    fn row(&self, node: u32) -> &'a [T] {
        &self.points.table[node as usize * self.job.width..][..self.job.width]
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cotangent_apps_common::geometry::SpaceModel;

    use super::*;
    use crate::graph::Builder;

    /// 60 random points of a space.
    fn random(model: SpaceModel) -> Embeddings {
        let geometry = Geometry::new(model, None).unwrap();
        let (m, mut rng) = (geometry.manifold(), rng::stream(5, 9, 0));
        let rows: Vec<f64> = (0..60).flat_map(|_| m.random_point::<f64>(3, 4.0, &mut rng).to_vec()).collect();
        let names = (0..60).map(|node| format!("k{node}")).collect();
        Embeddings { names, points: Tensor::new([60, m.ambient(3)], rows), geometry, translation: None }
    }

    fn new(embeddings: &Embeddings, pairs: &[(String, String)]) -> NewNodes {
        let mut builder = Builder::default();
        pairs.iter().for_each(|(u, v)| builder.add(u, v, None));
        NewNodes::new(embeddings, &builder.finish(), Path::new("new.tsv")).unwrap()
    }

    fn placed(embeddings: &Embeddings, new: &NewNodes, config: &PlaceConfig) -> Tensor<f64> {
        let sampler = Sampler::new(&new.graph, config.seed, Negatives::Own(config.negatives), 0.0);
        points(embeddings, new, config, &sampler.among_first(new.known as u32)).unwrap()
    }

    const MODELS: [SpaceModel; 3] = [SpaceModel::Poincare, SpaceModel::Lorentz, SpaceModel::Euclidean];

    /// The score of some nodes.
    fn score(embeddings: &Embeddings, new: &NewNodes, points: &Tensor<f64>, nodes: &[u32]) -> Score {
        let identity: Vec<u32> = (0..new.graph.names.len() as u32).collect();
        score_of(points, embeddings.geometry, &identity, &new.graph.neighbours(), nodes).unwrap()
    }

    /// New nodes with one neighbour each, which is nearest then: of an edge from them and of one to them.
    #[test]
    fn a_new_node_is_near_its_neighbour_and_known_points_stay() {
        for model in MODELS {
            let embeddings = random(model);
            let from: Vec<_> = (0..20).map(|i| (format!("from{i}"), format!("k{i}"))).collect();
            let to: Vec<_> = (20..40).map(|i| (format!("k{i}"), format!("to{i}"))).collect();
            let new = new(&embeddings, &[from, to].concat());
            let points = placed(&embeddings, &new, &PlaceConfig::default());
            assert_eq!(&points.data()[..embeddings.points.data().len()], embeddings.points.data());
            points.rows().for_each(|row| embeddings.geometry.check(row).unwrap());
            let from = score(&embeddings, &new, &points, &(60..80).collect::<Vec<u32>>());
            let to = score(&embeddings, &new, &points, &(20..40).collect::<Vec<u32>>());
            assert_eq!((from.pairs, to.pairs), (20, 20));
            assert!(from.mean_rank < 1.5 && to.mean_rank < 1.5, "{model}: {from:?} {to:?}");
        }
    }

    /// A node between three others that are far apart is placed better by steps than by its start, the point
    /// of one of them.
    #[test]
    fn steps_improve_on_the_start() {
        for model in [SpaceModel::Poincare, SpaceModel::Lorentz] {
            let embeddings = random(model);
            let known = |i: usize| [i, i + 7, i + 13].map(|k| format!("k{}", k % 60));
            let pairs: Vec<_> = (0..60).flat_map(|i| known(i).map(|name| (format!("n{i}"), name))).collect();
            let new = new(&embeddings, &pairs);
            let nodes: Vec<u32> = (60..120).collect();
            let rank = |lr: f64| {
                let points = placed(&embeddings, &new, &PlaceConfig { lr, ..PlaceConfig::default() });
                score(&embeddings, &new, &points, &nodes).mean_rank
            };
            let (start, end) = (rank(1e-9), rank(PlaceConfig::default().lr));
            assert!(end < 0.85 * start, "{model}: {start} {end}");
        }
    }

    /// y is known by x alone: it is placed after x, near x. Then x is placed once more, by all its edges.
    #[test]
    fn a_node_without_known_neighbour_follows_its_neighbour() {
        for model in MODELS {
            let embeddings = random(model);
            let pairs: Vec<_> = (0..20)
                .flat_map(|i| [(format!("x{i}"), format!("k{i}")), (format!("y{i}"), format!("x{i}"))])
                .collect();
            let new = new(&embeddings, &pairs);
            assert_eq!(new.rounds.len(), 2);
            let points = placed(&embeddings, &new, &PlaceConfig::default());
            let score = score(&embeddings, &new, &points, &(60..100).collect::<Vec<u32>>());
            assert!(score.mean_rank < 2.5, "{model}: {score:?}");
        }
    }

    #[test]
    fn a_point_that_is_not_finite_is_an_error() {
        let embeddings = random(SpaceModel::Euclidean);
        let new = new(&embeddings, &[("x".to_owned(), "k0".to_owned()), ("x".to_owned(), "k1".to_owned())]);
        let config = PlaceConfig { lr: f64::MAX, ..PlaceConfig::default() };
        let sampler = Sampler::new(&new.graph, 1, Negatives::Own(config.negatives), 0.0).among_first(60);
        // Beyond the range of `f32`.
        let error = points::<f32>(&embeddings, &new, &config, &sampler).unwrap_err().to_string();
        assert!(error.starts_with("training stopped at step "), "{error}");
        assert!(error.contains("the point of \"x\" is not finite; a lower --lr may help"), "{error}");
    }
}

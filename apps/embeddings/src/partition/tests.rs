//! Trainings by several ranks, which are threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotangent::optim::exchange::{Alone, Exchange, ExchangeError, Threads};
use cotangent::prelude::Device;
use cotangent_apps_common::error::AppError;
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;

use crate::graph::edges::{self, EdgeOptions};
use crate::partition::embedding::PartEmbedding;
use crate::partition::plan::{Demand, Speed};
use crate::partition::run::{self, Edges, PartitionOptions};
use crate::partition::schedule::{Order, Schedule};
use crate::partition::survey::{EdgeSource, Identity};
use crate::train::config::{EmbeddingConfig, default_config};
use crate::train::poincare::{EmbeddingMetrics, RunOptions, Written};

/// How a test trains.
struct Job<'a> {
    directory: &'a Path,
    name: &'a str,
    config: EmbeddingConfig,
    parts: usize,
    resume: bool,
    checkpoint_every: u64,
    /// Whether each rank is on a machine of its own, with its own disk.
    has_own_disk: bool,
}

/// A rank that does not see the disk of rank 0.
#[derive(Debug)]
struct OwnDisk(Arc<dyn Exchange>);

impl Exchange for OwnDisk {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn all_to_all(&self, blocks: &[&[u8]]) -> Result<Vec<Vec<u8>>, ExchangeError> {
        self.0.all_to_all(blocks)
    }

    fn send(&self, to: usize, block: &[u8]) -> Result<(), ExchangeError> {
        self.0.send(to, block)
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, ExchangeError> {
        self.0.receive(from)
    }

    fn abort(&self, code: i32) -> ! {
        self.0.abort(code)
    }

    /// A path of rank 0 leads nowhere here.
    fn broadcast(&self, root: usize, block: &[u8]) -> Result<Vec<u8>, ExchangeError> {
        let mut block = self.0.broadcast(root, block)?;
        if self.rank() > 0 && block.starts_with(b"/") {
            block.extend(b"-elsewhere");
        }
        Ok(block)
    }
}

impl Job<'_> {
    fn own(&self, rank: usize) -> PathBuf {
        self.directory.join(format!("{}-{rank}", self.name))
    }

    /// Trains the mammals' first edges as one of the ranks.
    fn train(&self, ranks: Arc<dyn Exchange>) -> Result<EmbeddingMetrics, AppError> {
        let mut graph = edges::mammals();
        graph.pairs.truncate(400);
        let own = self.own(ranks.rank());
        std::fs::create_dir_all(&own).unwrap();
        let ranks = if self.has_own_disk { Arc::new(OwnDisk(ranks)) } else { ranks };
        let partition = PartitionOptions {
            partitions: Some(self.parts),
            tournament: true,
            ..PartitionOptions::default()
        };
        let run = RunOptions {
            run: options::RunOptions {
                out: own,
                all_seeds: None,
                resume: self.resume,
                checkpoint_every: self.checkpoint_every,
                device: Device::default(),
                ranks: Some(ranks),
            },
            source: "mammals".to_owned(),
            read_as: None,
            evaluate_nodes: None,
            evaluate_every: None,
            write: Written::Coordinates,
        };
        let identity = Identity::new("mammals".to_owned(), None, &EdgeOptions::default())?;
        let path = Path::new("built in");
        let edges = Edges { source: EdgeSource::Graph(&graph, None), path, identity };
        run::train(&edges, &self.config, &partition, &run)
    }

    /// The points that so many ranks have trained, part by part, and their metrics.
    fn points(&self, ranks: usize) -> (Vec<Vec<f64>>, EmbeddingMetrics) {
        let metrics = match ranks {
            1 => self.train(Arc::new(Alone)).unwrap(),
            _ => {
                let all = Threads::run(ranks, |ranks| self.train(ranks).map_err(|error| error.to_string()));
                let all: Vec<EmbeddingMetrics> = all.into_iter().map(|metrics| metrics.unwrap()).collect();
                assert!(all.iter().all(|metrics| (metrics.map - all[0].map).abs() < 1e-12));
                all[0].clone()
            }
        };
        let embedding = PartEmbedding::open(&self.own(0)).unwrap();
        let points = (0..self.parts).map(|part| embedding.points(part).unwrap().data().to_vec());
        (points.collect(), metrics)
    }
}

fn config() -> EmbeddingConfig {
    EmbeddingConfig { epochs: 2, dim: 2, lr: 0.1, burn_in: 1, learn_kappa: true, ..default_config() }
}

/// Ranks train the bits of one process, with a disk in common or none, and go on with another number of
/// ranks.
#[test]
fn any_number_of_ranks_trains_the_same_bits() {
    let directory = tempfile::tempdir().unwrap();
    for (parts, precision) in [(4, Precision::F64), (7, Precision::F32)] {
        let job = |name, epochs, resume| Job {
            directory: directory.path(),
            name,
            config: EmbeddingConfig { epochs, precision, ..config() },
            parts,
            resume,
            checkpoint_every: if name == "alone" { u64::MAX } else { 0 },
            has_own_disk: name == "resumed",
        };
        let (points, metrics) = job("alone", 3, false).points(1);
        assert!(metrics.loss[2] < metrics.loss[0] && metrics.geometry != metrics.config.geometry);
        for ranks in 2..=parts / 2 {
            let (same, by_ranks) = job("ranks", 3, false).points(ranks);
            assert!(points == same, "{parts} parts, {ranks} ranks");
            assert_eq!((&by_ranks.loss, by_ranks.map), (&metrics.loss, metrics.map));
            assert_eq!(by_ranks.ranks, Some(ranks));
        }
        job("resumed", 1, false).points(2);
        job("resumed", 2, true).points(parts / 2);
        let (same, resumed) = job("resumed", 3, true).points(1);
        assert!(points == same && resumed.loss == metrics.loss, "{parts} parts, resumed");
    }
}

/// The bytes that are sent are those that are predicted, if all parts were of one size.
#[test]
fn what_is_sent_was_predicted() {
    let directory = tempfile::tempdir().unwrap();
    let parts = 8;
    let job = Job {
        directory: directory.path(),
        name: "sent",
        config: config(),
        parts,
        resume: false,
        checkpoint_every: u64::MAX,
        has_own_disk: false,
    };
    let (_, metrics) = job.points(3);
    let demand = Demand {
        order: Order::Tournament,
        ranks: 3,
        ..Demand::new(metrics.nodes as f64, metrics.pairs as f64, 10.0, false, &job.config)
    };
    let schedule = Schedule { seed: job.config.seed, epochs: 2, order: Order::Tournament };
    let speed = Speed { pairs: 1e5, disk: 1e9, link: 1e9, latency: 1e-3 };
    let sent = demand.forecast(parts, schedule, speed).sent;
    let measured = metrics.sent_bytes.unwrap() as f64;
    assert!((measured / sent - 1.0).abs() < 0.05, "{measured}, predicted {sent}");
}

/// Ranks with other settings end before they train, and the error says who differs.
#[test]
fn ranks_that_differ_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let errors = Threads::run(2, |ranks| {
        let lr = [0.1, 0.2][ranks.rank()];
        let job = Job {
            directory: directory.path(),
            name: "differ",
            config: EmbeddingConfig { lr, ..config() },
            parts: 4,
            resume: false,
            checkpoint_every: 0,
            has_own_disk: false,
        };
        job.train(ranks).map(drop).unwrap_err().to_string()
    });
    for (rank, error) in errors.iter().enumerate() {
        let expected = "rank 1 has another version, other settings, data or weights than rank 0";
        assert_eq!(*error, format!("rank {rank} of 2: {expected}"));
    }
}

//! `poincare plan`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use cotangent::engine::files::atomic;
use cotangent::prelude::Device;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use serde::Serialize;

use crate::graph::edges::EdgeOptions;
use crate::partition::job;
use crate::partition::plan::{Bytes, Demand, Speed};
use crate::partition::run::{self, Edges, PartitionOptions};
use crate::partition::schedule::{Order, Schedule};
use crate::partition::survey::{EdgeSource, Identity};
use crate::train::config::EmbeddingConfig;
use crate::train::poincare::{RunOptions, Written};

#[derive(Args)]
pub(crate) struct Plan {
    /// Number of nodes: 1e9.
    #[arg(long, help_heading = "Data")]
    nodes: f64,
    /// Number of edges.
    #[arg(long, help_heading = "Data")]
    edges: f64,
    /// Bytes of a name, on average.
    #[arg(long, default_value_t = 10.0, help_heading = "Data")]
    name_bytes: f64,
    /// The edges have weights.
    #[arg(long, help_heading = "Data")]
    weighted: bool,
    /// Dimension of the embedding.
    #[arg(long, default_value_t = 5, help_heading = "Model")]
    dim: usize,
    #[command(flatten)]
    config: EmbeddingConfig,
    /// The memory of a training: 64GB.
    #[arg(long, value_name = "SIZE", conflicts_with = "partitions", help_heading = RUN)]
    memory: Option<Bytes>,
    /// The number of parts.
    #[arg(long, help_heading = RUN)]
    partitions: Option<usize>,
    /// Pairs trained per second, as a training or --measure prints them.
    #[arg(long, default_value_t = 400_000.0, help_heading = RUN)]
    pairs_per_second: f64,
    /// Bytes that the disk writes per second.
    #[arg(long, value_name = "SIZE", default_value = "500MB", help_heading = RUN)]
    disk_speed: Bytes,
    /// Number of ranks that train together.
    #[arg(long, default_value_t = 1, help_heading = RUN)]
    ranks: usize,
    /// Bytes per second that a rank sends, with --ranks: 125MB for a link of 1 Gbit/s.
    #[arg(long, value_name = "SIZE", default_value = "1.25GB", help_heading = RUN)]
    bandwidth: Bytes,
    /// Seconds that a message takes besides, with --ranks.
    #[arg(long, default_value_t = 1e-4, help_heading = RUN)]
    latency: f64,
    /// Measure --pairs-per-second and --disk-speed on this machine: trains a tree of a million nodes in a new
    /// subdirectory of this directory, which needs 300 MB there and is removed.
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    measure: Option<PathBuf>,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// What is predicted, as it is printed with `--json`.
#[derive(Serialize)]
struct Prediction {
    parts: usize,
    memory_bytes: f64,
    disk_bytes: f64,
    bytes_per_epoch: f64,
    seconds_per_epoch: f64,
    /// Bytes that ranks send each other in the whole training.
    sent_bytes: f64,
}

/// Predicts what a training in parts takes.
pub(crate) fn plan(args: &Plan) -> Result<()> {
    let config = EmbeddingConfig { dim: args.dim, ..args.config.clone() };
    config.check()?;
    options::positive(&[("nodes", args.nodes), ("edges", args.edges), ("name-bytes", args.name_bytes)])?;
    options::positive(&[("pairs-per-second", args.pairs_per_second)])?;
    options::not_negative(&[("latency", args.latency)])?;
    options::at_least_one(&[("ranks", args.ranks as u64)])?;
    if args.nodes < 2.0 {
        return Err(AppError::usage(format!("--nodes {}: at least 2 are needed", args.nodes)));
    }
    let ranks = args.ranks;
    let order = if ranks > 1 { Order::Tournament } else { Order::Sweep };
    let demand = Demand {
        order,
        ranks,
        ..Demand::new(args.nodes, args.edges, args.name_bytes, args.weighted, &config)
    };
    let parts = match (args.partitions, args.memory) {
        (Some(parts), _) => PartitionOptions::checked(parts)?,
        (None, Some(memory)) => demand.parts(memory)?,
        (None, None) => return Err(AppError::usage("--memory or --partitions is needed")),
    };
    let (pairs, disk) = match &args.measure {
        Some(directory) => measure(directory, &config, &args.threads)?,
        None => (args.pairs_per_second, args.disk_speed),
    };
    job::check(ranks, parts)?;
    let speed = Speed { pairs, disk: disk.0, link: args.bandwidth.0, latency: args.latency };
    let schedule = Schedule { seed: config.seed, epochs: config.epochs, order };
    let forecast = if ranks > 1 { Some(demand.forecast(parts, schedule, speed)) } else { None };
    // Parts come and go while pairs are trained.
    let traffic = demand.traffic(parts);
    let seconds = match forecast {
        None => (args.edges / pairs).max(traffic / disk.0),
        Some(forecast) => forecast.seconds / config.epochs.max(1) as f64,
    };
    let prediction = Prediction {
        parts,
        memory_bytes: demand.memory(parts),
        disk_bytes: demand.disk(),
        bytes_per_epoch: traffic,
        seconds_per_epoch: seconds,
        sent_bytes: forecast.map_or(0.0, |forecast| forecast.sent),
    };
    print::event("result", &prediction);
    say!(
        "{parts} parts: {} of memory, {} of disk",
        Bytes(prediction.memory_bytes),
        Bytes(prediction.disk_bytes)
    );
    say!("an epoch: {} read and written, {seconds:.0} s", Bytes(traffic));
    if let Some(forecast) = forecast {
        say!("{} epochs on {ranks} ranks: {} of points sent", config.epochs, Bytes(forecast.sent));
    }
    Ok(())
}

/// Nodes of the tree that is trained to measure.
const NODES: u64 = 1_000_000;

/// Bytes that are written to measure.
const WRITTEN: usize = 256 << 20;

/// Measures the pairs trained per second, in four parts, and the bytes written per second.
fn measure(directory: &Path, config: &EmbeddingConfig, threads: &ThreadsOption) -> Result<(f64, Bytes)> {
    let work = new_directory(directory)?;
    let measured = measure_in(&work, config, threads);
    let removed = std::fs::remove_dir_all(&work).map_err(AppError::io(&work));
    let (pairs, speed) = measured?;
    removed?;
    say!("measured: {pairs:.0} pairs per second, {speed} written per second");
    Ok((pairs, speed))
}

/// Makes a subdirectory, which has none of the user's files: `measured-1` or the next number that is free.
fn new_directory(directory: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(directory).map_err(AppError::io(directory))?;
    let mut number = 1_u64;
    loop {
        let work = directory.join(format!("measured-{number}"));
        match std::fs::create_dir(&work) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => {
                made.map_err(AppError::io(&work))?;
                return Ok(work);
            }
        }
    }
}

/// Same as [`measure`], with files in a directory that is empty.
fn measure_in(work: &Path, config: &EmbeddingConfig, threads: &ThreadsOption) -> Result<(f64, Bytes)> {
    let path = work.join("tree.tsv");
    super::tree::write_edges(&path, NODES, 10, false)?;
    let layout = EdgeOptions::default();
    let identity = Identity::new("tree".to_owned(), Some(&path), &layout)?;
    let edges = Edges { source: EdgeSource::Table(&path, &layout), path: &path, identity };
    let run = options::RunOptions {
        out: work.to_owned(),
        all_seeds: None,
        resume: false,
        checkpoint_every: u64::MAX,
        device: Device::default(),
        ranks: None,
    };
    let options = RunOptions {
        run,
        source: "a tree".to_owned(),
        read_as: None,
        evaluate_nodes: Some(1),
        evaluate_every: None,
        write: Written::Coordinates,
    };
    let config = EmbeddingConfig { epochs: 1, burn_in: 0, lr_floor: 1.0, cool_down: None, ..config.clone() };
    let parts = PartitionOptions { partitions: Some(4), ..PartitionOptions::default() };
    let metrics = threads.start()?.run(|| run::train(&edges, &config, &parts, &options))?;
    let (file, bytes) = (work.join("bytes"), vec![1; 1 << 20]);
    let start = Instant::now();
    atomic::write(&file, |w| (0..WRITTEN / bytes.len()).try_for_each(|_| w.write_all(&bytes)))
        .map_err(AppError::io(&file))?;
    let speed = Bytes(WRITTEN as f64 / start.elapsed().as_secs_f64());
    Ok((metrics.pairs_per_second, speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of the user is not taken, and so not removed.
    #[test]
    fn what_is_measured_has_a_directory_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let parent = dir.path().join("parent");
        let first = new_directory(&parent).unwrap();
        std::fs::write(first.join("file"), "").unwrap();
        let second = new_directory(&parent).unwrap();
        assert!(first != second && std::fs::read_dir(second).unwrap().next().is_none());
        assert!(first.join("file").exists());
    }
}

//! A training in parts, from its options to its results.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use cotangent::optim::exchange::{Alone, Exchange};
use cotangent::optim::train::CHECKPOINT;
use cotangent::prelude::Manifold;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::training::{self, TrainingConfig};
use cotangent_apps_common::{metrics, note, options, output, ranks, say};

use crate::evaluate::reconstruction::Sample;
use crate::partition::course::{Course, State};
use crate::partition::embedding::{PartEmbedding, disk_parts};
use crate::partition::job;
use crate::partition::parts;
use crate::partition::plan::{self, Bytes, Demand, PARTS};
use crate::partition::prepare::prepare;
use crate::partition::schedule::{self, Order};
use crate::partition::start::Points;
use crate::partition::store::{self, StoredGraph};
use crate::partition::supply::Supply;
use crate::partition::survey::{EdgeSource, Identity, Survey};
use crate::train::config::EmbeddingConfig;
use crate::train::objective::Loss;
use crate::train::poincare::{self, EmbeddingMetrics, RunOptions, WRITTEN, Written};
use crate::train::points::Shared;

/// The options of a training in parts.
#[derive(Args, Clone, Debug, Default)]
pub struct PartitionOptions {
    /// Train in so many parts, of which two are in memory and all others on the disk: for graphs that are
    /// larger than memory. With 1 all points are in memory, and names and edges on the disk.
    #[arg(long, help_heading = RUN)]
    pub partitions: Option<usize>,
    /// Train in as many parts as fit in this much memory: 4GB, 500MB.
    #[arg(long, value_name = "SIZE", conflicts_with = "partitions", help_heading = RUN)]
    pub(crate) memory: Option<Bytes>,
    /// Directory of the parts, with --partitions or --memory [default: the output directory].
    ///
    /// The embedding stays there: --embedding DIR reads it. A later run on the same edges in the same parts
    /// need not prepare them.
    #[arg(long, value_name = "DIR", value_parser = ranks::subdirectory, help_heading = RUN)]
    pub work: Option<PathBuf>,
    /// Train the buckets in rounds of disjoint ones, as several ranks do, which then can go on with the
    /// training. It reads and writes about twice as much.
    #[arg(long, help_heading = RUN)]
    pub tournament: bool,
}

impl PartitionOptions {
    /// Whether a training is one in parts.
    pub fn are_given(&self) -> bool {
        self.partitions.is_some() || self.memory.is_some()
    }

    /// Checks the options, and that the training can be one in parts.
    ///
    /// # Errors
    /// If it cannot; the error names the option.
    pub fn check(&self, config: &EmbeddingConfig, seeds: bool, evaluate_every: bool) -> Result<()> {
        if !self.are_given() {
            let given = [("work", self.work.is_some()), ("tournament", self.tournament)];
            return match options::first_true(&given) {
                Some(option) => {
                    Err(AppError::usage(format!("--{option}: only with --partitions or --memory")))
                }
                None => Ok(()),
            };
        }
        self.partitions.map(Self::checked).transpose()?;
        let wrong = [
            (config.validation > 0.0, "validation"),
            (config.test > 0.0, "test"),
            (config.sample_by_weight, "sample-by-weight"),
            (config.rank_by_weight, "rank-by-weight"),
            (config.objective.loss == Loss::Translation, "loss translation"),
            (evaluate_every, "evaluate-every"),
            (seeds, "seeds"),
        ];
        match wrong.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => {
                Err(AppError::usage(format!("--{option}: not with --partitions or --memory")))
            }
            None => Ok(()),
        }
    }

    /// A number of parts, checked.
    pub(crate) fn checked(parts: usize) -> Result<usize> {
        options::at_least_one(&[("partitions", parts as u64)])?;
        if parts > PARTS {
            return Err(AppError::usage(format!("--partitions {parts}: at most {PARTS} are possible")));
        }
        Ok(parts)
    }

    /// The directory of the parts.
    pub fn directory<'a>(&'a self, out: &'a Path) -> &'a Path {
        self.work.as_deref().unwrap_or(out)
    }
}

/// The edges of a training in parts.
pub(crate) struct Edges<'a> {
    /// The edges.
    pub(crate) source: EdgeSource<'a>,
    /// The file, or what names the edges, for errors.
    pub(crate) path: &'a Path,
    /// What identifies them.
    pub(crate) identity: Identity,
}

/// Trains an embedding in parts and writes `metrics.json`, and with [`Written::All`] what a training in
/// memory writes. The result does not depend on the number of threads of the current pool, nor on the number
/// of ranks. Rank 0 has the results; all ranks return the metrics.
///
/// # Errors
/// If the configuration is wrong, memory or disk are too small, files cannot be written, the checkpoint
/// belongs to another run, training diverges, or another rank has ended.
pub(crate) fn train(
    edges: &Edges<'_>,
    config: &EmbeddingConfig,
    partition: &PartitionOptions,
    run: &RunOptions,
) -> Result<EmbeddingMetrics> {
    let ranks = run.run.ranks.clone().unwrap_or_else(|| Arc::new(Alone));
    let directory = partition.directory(&run.run.out).to_path_buf();
    if let Some(parts) = partition.partitions {
        job::check(ranks.size(), parts)?;
    }
    let resumed = if run.run.resume {
        job::copy_checkpoint(&*ranks, &directory)?;
        Some(checkpoint(&directory, config)?)
    } else {
        None
    };
    let order = order(&*ranks, partition, resumed.as_ref(), &directory)?;
    let graph = agreed_graph(&directory, edges, (config, partition), (resumed.as_ref(), order, &*ranks))?;
    say!("{} nodes, {} pairs ({}) in {} parts", graph.nodes(), graph.pairs(), run.source, graph.parts());
    let state = match resumed {
        Some(state) => State { config: config.clone(), ..state },
        None => State::new(config, graph.index.fingerprint, order),
    };
    match config.precision {
        Precision::F32 => train_in::<f32>(&graph, &directory, run, (state, &*ranks)),
        Precision::F64 => train_in::<f64>(&graph, &directory, run, (state, &*ranks)),
    }
}

/// The graph in parts, the same on all ranks. It is prepared if an earlier run has not left it.
fn agreed_graph(
    directory: &Path,
    edges: &Edges<'_>,
    (config, partition): (&EmbeddingConfig, &PartitionOptions),
    (resumed, order, ranks): (Option<&State>, Order, &dyn Exchange),
) -> Result<StoredGraph> {
    let unfit = |message: &str| {
        let message = format!("the checkpoint does not fit: a run on other edges{message}");
        Err(AppError::content(&directory.join(CHECKPOINT), message))
    };
    let graph_directory = job::graph_directory(ranks, directory)?;
    if graph_directory == directory && stored(directory, edges, partition)?.is_none() {
        if resumed.is_some() && ranks.rank() == 0 {
            return unfit(" or in other parts");
        }
        prepare_graph(directory, edges, config, (partition, order, ranks))?;
    }
    // Rank 0 may have prepared that of others.
    ranks.barrier()?;
    let graph = StoredGraph::open(&graph_directory)?;
    job::check(ranks.size(), graph.parts())?;
    let mut hasher = DefaultHasher::new();
    let settings = serde_json::to_vec(&(env!("CARGO_PKG_VERSION"), config, &graph.index.starts));
    (settings.expect("settings are JSON"), graph.index.fingerprint).hash(&mut hasher);
    ranks.agree(hasher.finish())?;
    if resumed.is_some_and(|state| state.graph != graph.index.fingerprint) {
        return unfit("");
    }
    Ok(graph)
}

/// The order of the buckets. Several ranks need rounds of disjoint ones.
fn order(
    ranks: &dyn Exchange,
    partition: &PartitionOptions,
    resumed: Option<&State>,
    directory: &Path,
) -> Result<Order> {
    let rounds = partition.tournament || ranks.size() > 1;
    match resumed.map(|state| state.order) {
        Some(Order::Sweep) if rounds => {
            let message = "the checkpoint does not fit: a run of one rank without --tournament";
            Err(AppError::content(&directory.join(CHECKPOINT), message))
        }
        Some(order) => Ok(order),
        None => Ok(if rounds { Order::Tournament } else { Order::Sweep }),
    }
}

/// The state to resume from.
fn checkpoint(directory: &Path, config: &EmbeddingConfig) -> Result<State> {
    let path = directory.join(CHECKPOINT);
    std::fs::metadata(&path).map_err(AppError::io(&path))?;
    let state = State::read(directory)?;
    let same = options::same_run(
        training::difference(&state.config, config).as_deref(),
        [0, 0],
        EmbeddingConfig::DATA,
    );
    same.map_err(|message| AppError::content(&path, format!("the checkpoint does not fit: {message}")))?;
    let ours = cotangent::engine::instruction_set();
    if state.instruction_set != ours {
        let theirs = &state.instruction_set;
        note!(
            "{}: written on the instruction set {theirs:?}; on {ours:?} last bits may differ",
            path.display()
        );
    }
    Ok(state)
}

/// The graph of these edges, if an earlier run has left it in the directory.
fn stored(directory: &Path, edges: &Edges<'_>, partition: &PartitionOptions) -> Result<Option<StoredGraph>> {
    if !StoredGraph::is_in(directory) {
        return Ok(None);
    }
    let graph = StoredGraph::open(directory)?;
    let parts = partition.partitions.unwrap_or(graph.parts());
    Ok((graph.index.identity == edges.identity && graph.parts() == parts).then_some(graph))
}

/// Says what a training will take, checks the disk, and writes the graph in parts.
fn prepare_graph(
    directory: &Path,
    edges: &Edges<'_>,
    config: &EmbeddingConfig,
    (partition, order, ranks): (&PartitionOptions, Order, &dyn Exchange),
) -> Result<()> {
    let start = Instant::now();
    let survey = Survey::new(&edges.source, edges.path)?;
    if let (EdgeSource::Table(..), Some(read_as)) = (&edges.source, &survey.read_as) {
        say!("{}: {read_as}", edges.path.display());
    }
    let edges_found = survey.edges as f64;
    // The estimate of the number of nodes may be too low.
    let nodes = (1.02 * survey.nodes as f64).min(2.0 * edges_found);
    let name = survey.name_bytes as f64 / (2.0 * edges_found);
    let demand = Demand {
        order,
        ranks: ranks.size(),
        ..Demand::new(nodes, edges_found, name, survey.weighted, config)
    };
    let parts = match (partition.partitions, partition.memory) {
        (Some(parts), _) => parts,
        (None, Some(memory)) => demand.parts(memory)?,
        (None, None) => 1,
    };
    say!(
        "about {} nodes and {} edges in {parts} parts: {} of memory, {} of disk, {} moved an epoch",
        survey.nodes,
        survey.edges,
        Bytes(demand.memory(parts)),
        Bytes(demand.disk()),
        Bytes(demand.traffic(parts))
    );
    plan::check_disk(directory, demand.disk())?;
    set_aside(directory, true)?;
    remove_graph(directory)?;
    let graph = prepare(&edges.source, &survey, edges.identity.clone(), parts, directory)?;
    let index = &graph.index;
    if index.self_loops + index.duplicates > 0 {
        say!("left out: {} self-loops, {} duplicate edges", index.self_loops, index.duplicates);
    }
    say!("prepared in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Moves what an earlier training has left into a directory of its own; also its graph, if another comes.
/// Without a checkpoint nothing is moved: parts may be large, and are of no use alone.
fn set_aside(directory: &Path, graph: bool) -> Result<()> {
    if !directory.join(CHECKPOINT).exists() {
        return Ok(());
    }
    output::set_aside(directory, &|name| {
        WRITTEN.contains(&name) || parts::is_part(name) || graph && store::is_of_graph(name)
    })
}

/// Removes a graph in parts, its index first.
fn remove_graph(directory: &Path) -> Result<()> {
    let remove = |path: &Path| std::fs::remove_file(path).map_err(AppError::io(path));
    if StoredGraph::is_in(directory) {
        remove(&directory.join(store::INDEX))?;
    }
    for entry in std::fs::read_dir(directory).map_err(AppError::io(directory))? {
        let entry = entry.map_err(AppError::io(directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if store::is_of_graph(&name) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn train_in<T: Shared>(
    graph: &StoredGraph,
    directory: &Path,
    run: &RunOptions,
    (state, ranks): (State, &dyn Exchange),
) -> Result<EmbeddingMetrics> {
    run.run.device.computes::<T>()?;
    let (config, is_first) = (state.config.clone(), ranks.rank() == 0);
    let buckets = || schedule::all(graph.parts());
    let nodes = buckets().map(|bucket| graph.nodes_of(bucket)).max().unwrap_or(0);
    config.check_memory::<T>(nodes, buckets().map(|bucket| graph.pairs_of(bucket)).max().unwrap_or(0))?;
    let mut store = disk_parts(directory, graph, &state);
    if run.run.resume && is_first {
        store = store.resumed(&state.parts);
    } else if is_first {
        set_aside(directory, false)?;
    }
    store.remove_others()?;
    if is_first && !run.run.resume {
        let start = Points::new(graph, &config)?;
        (0..graph.parts()).try_for_each(|part| store.store(part, 0, &start.part::<T>(part)))?;
    }
    let before = store.traffic();
    let width = config.geometry.manifold().ambient(config.dim);
    let supply = Supply::new(graph, &store, ranks, width);
    let mut course = Course::<T>::new(&supply, &run.run.device, directory, state)?;
    let steps = course.state.steps;
    course.run(Duration::from_secs(run.run.checkpoint_every))?;
    let Course { state, .. } = course;
    let epochs = (state.steps - steps) as f64 / schedule::count(graph.parts()) as f64;
    if epochs > 0.0 {
        let moved = (store.traffic() - before) as f64 / epochs;
        say!("{} of points read and written an epoch, checkpoints included", Bytes(moved));
    }
    let sent = ranks.all_gather(&supply.sent().to_le_bytes())?;
    let sent: u64 = sent.iter().map(|bytes| bytemuck::pod_read_unaligned::<u64>(bytes)).sum();
    if ranks.size() > 1 {
        say!("{} of points sent between {} ranks", Bytes(sent as f64), ranks.size());
    }
    if is_first {
        let metrics = finish(&PartEmbedding::open(directory)?, run, &state, (ranks.size(), sent))?;
        ranks.broadcast(0, &serde_json::to_vec(&metrics).expect("metrics are JSON"))?;
        return Ok(metrics);
    }
    let metrics = ranks.broadcast(0, &[])?;
    std::fs::remove_dir_all(directory).map_err(AppError::io(directory))?;
    Ok(serde_json::from_slice(&metrics).expect("rank 0 sent them"))
}

/// Evaluates the points and writes the results.
fn finish(
    embedding: &PartEmbedding,
    run: &RunOptions,
    state: &State,
    (ranks, sent): (usize, u64),
) -> Result<EmbeddingMetrics> {
    let (out, graph, config) = (&run.run.out, &embedding.graph, &state.config);
    let start = Instant::now();
    let score = embedding.score(Sample { nodes: run.evaluate_nodes, seed: config.seed })?;
    let metrics = EmbeddingMetrics {
        translation: None,
        config: config.clone(),
        geometry: embedding.geometry(),
        edges: run.source.clone(),
        read_as: graph.index.read_as.clone(),
        nodes: graph.nodes(),
        pairs: graph.pairs() as usize,
        self_loops: graph.index.self_loops as usize,
        duplicates: graph.index.duplicates as usize,
        parts: Some(graph.parts()),
        ranks: (ranks > 1).then_some(ranks),
        sent_bytes: (ranks > 1).then_some(sent),
        threads: rayon::current_num_threads(),
        device: run.run.device.to_string(),
        loss: state.losses.clone(),
        course: Vec::new(),
        train_seconds: state.seconds,
        pairs_per_second: (graph.pairs() * config.epochs) as f64 / state.seconds,
        mean_rank: score.mean_rank,
        map: score.map,
        evaluated_nodes: score.nodes,
        nodes_with_neighbours: score.all_nodes,
        validation: None,
        test: None,
        evaluation_seconds: start.elapsed().as_secs_f64(),
    };
    metrics::write(out, &metrics)?;
    if run.write == Written::All {
        let all = embedding.all()?;
        let (names, points, geometry) = (&all.names, &all.points, all.geometry);
        match config.precision {
            Precision::F32 => {
                poincare::write_points(out, names, (&points.cast::<f32>(), geometry, None), run.write)?
            }
            Precision::F64 => poincare::write_points(out, names, (points, geometry, None), run.write)?,
        }
        poincare::write_pictures(out, &all, &graph.neighbours()?, &metrics)?;
    }
    if let Some(resident) = plan::resident() {
        say!("{} of memory were resident at most", Bytes(resident));
    }
    Ok(metrics)
}

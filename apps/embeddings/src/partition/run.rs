//! A training in parts, from its options to its results.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::training::TrainingConfig;
use cotangent_apps_common::{metrics, note, options, output, say};

use crate::evaluate::reconstruction::Sample;
use crate::partition::course::{CHECKPOINT, Course, State};
use crate::partition::embedding::{PartEmbedding, disk_parts};
use crate::partition::parts::{self, PartStore};
use crate::partition::plan::{self, Bytes, Demand, PARTS};
use crate::partition::prepare::prepare;
use crate::partition::schedule;
use crate::partition::start::Points;
use crate::partition::store::{self, StoredGraph};
use crate::partition::survey::{EdgeSource, Identity, Survey};
use crate::train::config::EmbeddingConfig;
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
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub work: Option<PathBuf>,
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
            return match self.work {
                Some(_) => Err(AppError::usage("--work: only with --partitions or --memory")),
                None => Ok(()),
            };
        }
        self.partitions.map(Self::checked).transpose()?;
        let wrong = [
            (config.validation > 0.0, "validation"),
            (config.test > 0.0, "test"),
            (config.sample_by_weight, "sample-by-weight"),
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
/// memory writes. The result does not depend on the number of threads of the current pool.
///
/// # Errors
/// If the configuration is wrong, memory or disk are too small, files cannot be written, the checkpoint
/// belongs to another run, or training diverges.
pub(crate) fn train(
    edges: &Edges<'_>,
    config: &EmbeddingConfig,
    partition: &PartitionOptions,
    run: &RunOptions,
) -> Result<EmbeddingMetrics> {
    let directory = partition.directory(&run.run.out).to_path_buf();
    let resumed = if run.run.resume { Some(checkpoint(&directory, config)?) } else { None };
    let graph = match stored(&directory, edges, partition)? {
        Some(graph) => graph,
        None if resumed.is_some() => {
            let message = "the checkpoint does not fit: a run on other edges or in other parts";
            return Err(AppError::content(&directory.join(CHECKPOINT), message));
        }
        None => prepared(&directory, edges, config, partition)?,
    };
    if let Some(state) = &resumed
        && state.graph != graph.index.fingerprint
    {
        let message = "the checkpoint does not fit: a run on other edges";
        return Err(AppError::content(&directory.join(CHECKPOINT), message));
    }
    say!("{} nodes, {} pairs ({}) in {} parts", graph.nodes(), graph.pairs(), run.source, graph.parts());
    match config.precision {
        Precision::F32 => train_in::<f32>(&graph, config, &directory, run, resumed),
        Precision::F64 => train_in::<f64>(&graph, config, &directory, run, resumed),
    }
}

/// The state to resume from.
fn checkpoint(directory: &Path, config: &EmbeddingConfig) -> Result<State> {
    let path = directory.join(CHECKPOINT);
    std::fs::metadata(&path).map_err(AppError::io(&path))?;
    let state = State::read(directory)?;
    let same = options::same_run(state.config.difference(config).as_deref(), [0, 0], EmbeddingConfig::DATA);
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
fn prepared(
    directory: &Path,
    edges: &Edges<'_>,
    config: &EmbeddingConfig,
    partition: &PartitionOptions,
) -> Result<StoredGraph> {
    let start = Instant::now();
    let survey = Survey::new(&edges.source, edges.path)?;
    if let (EdgeSource::Table(..), Some(read_as)) = (&edges.source, &survey.read_as) {
        say!("{}: {read_as}", edges.path.display());
    }
    let edges_found = survey.edges as f64;
    // The estimate of the number of nodes may be too low.
    let nodes = (1.02 * survey.nodes as f64).min(2.0 * edges_found);
    let name = survey.name_bytes as f64 / (2.0 * edges_found);
    let demand = Demand::new(nodes, edges_found, name, survey.weighted, config);
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
    Ok(graph)
}

/// Moves what an earlier training has left into a directory of its own; also its graph, if another comes.
fn set_aside(directory: &Path, graph: bool) -> Result<()> {
    output::set_aside(directory, |name| {
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
    config: &EmbeddingConfig,
    directory: &Path,
    run: &RunOptions,
    resumed: Option<State>,
) -> Result<EmbeddingMetrics> {
    run.run.device.computes::<T>()?;
    let buckets = || schedule::all(graph.parts());
    let nodes = buckets().map(|bucket| graph.nodes_of(bucket)).max().unwrap_or(0);
    config.check_memory::<T>(nodes, buckets().map(|bucket| graph.pairs_of(bucket)).max().unwrap_or(0))?;
    let state = match resumed {
        Some(state) => State { config: config.clone(), ..state },
        None => State::new(config, graph.index.fingerprint),
    };
    let mut store = disk_parts(directory, graph, &state);
    if run.run.resume {
        store = store.resumed(&state.parts);
        store.remove_others()?;
    } else {
        set_aside(directory, false)?;
        store.remove_others()?;
        let start = Points::new(graph, config)?;
        (0..graph.parts()).try_for_each(|part| store.store(part, 0, &start.part::<T>(part)))?;
    }
    let before = store.traffic();
    let mut course = Course::<T>::new(graph, &run.run.device, directory, &store, state)?;
    let steps = course.state.steps;
    course.run(Duration::from_secs(run.run.checkpoint_every))?;
    let Course { state, .. } = course;
    let epochs = (state.steps - steps) as f64 / schedule::count(graph.parts()) as f64;
    if epochs > 0.0 {
        let moved = (store.traffic() - before) as f64 / epochs;
        say!("{} of points read and written an epoch, checkpoints included", Bytes(moved));
    }
    finish(&PartEmbedding::open(directory)?, config, run, &state)
}

/// Evaluates the points and writes the results.
fn finish(
    embedding: &PartEmbedding,
    config: &EmbeddingConfig,
    run: &RunOptions,
    state: &State,
) -> Result<EmbeddingMetrics> {
    let (out, graph) = (&run.run.out, &embedding.graph);
    let start = Instant::now();
    let score = embedding.score(Sample { nodes: run.evaluate_nodes, seed: config.seed })?;
    let metrics = EmbeddingMetrics {
        config: config.clone(),
        geometry: embedding.geometry(),
        edges: run.source.clone(),
        read_as: graph.index.read_as.clone(),
        nodes: graph.nodes(),
        pairs: graph.pairs() as usize,
        self_loops: graph.index.self_loops as usize,
        duplicates: graph.index.duplicates as usize,
        parts: Some(graph.parts()),
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
                poincare::write_points(out, names, (&points.cast::<f32>(), geometry), run.write)?
            }
            Precision::F64 => poincare::write_points(out, names, (points, geometry), run.write)?,
        }
        poincare::write_pictures(out, &all, &graph.neighbours()?, &metrics)?;
    }
    if let Some(resident) = plan::resident() {
        say!("{} of memory were resident at most", Bytes(resident));
    }
    Ok(metrics)
}

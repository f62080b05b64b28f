//! `poincare train`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::{Geometry, Models, SpaceModel};
use cotangent_apps_common::options;
use cotangent_apps_common::output;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::{self, Summary};
use cotangent_apps_common::training::TrainingOptions;

use crate::command::inputs::{SampleOption, read_edges};
use crate::evaluate::reconstruction::Score;
use crate::graph::Graph;
use crate::graph::edges::{self, EdgeOptions, NodeNames, ReadGraph};
use crate::partition::run::{self, Edges, PartitionOptions};
use crate::partition::store::StoredGraph;
use crate::partition::survey::{EdgeSource, Identity};
use crate::train::config::EmbeddingConfig;
use crate::train::poincare::{self, EmbeddingMetrics, RunOptions, Written};

#[derive(Args)]
pub(crate) struct Train {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    space: SpaceOptions,
    #[command(flatten)]
    config: EmbeddingConfig,
    #[command(flatten)]
    sample: SampleOption,
    /// Evaluate after every so many epochs too: for the curves course.svg and the list in metrics.json.
    #[arg(long, help_heading = RUN)]
    evaluate_every: Option<u64>,
    /// What is written of the embedding [default: all; with --partitions or --memory the coordinates].
    #[arg(long, value_enum, help_heading = RUN)]
    write: Option<Written>,
    #[command(flatten)]
    partition: PartitionOptions,
    #[command(flatten)]
    training: TrainingOptions,
}

#[derive(Args)]
struct Data {
    /// Edge list, plain or gzip: two columns of names, an optional weight, an optional header; columns are
    /// separated by tabs, commas, semicolons or spaces [default: the mammals of WordNet, which are built in].
    ///
    /// How the list is read is found out by all of its lines and printed first; --separator, --header,
    /// --columns and --weight say it. With a header (source, target, weight) columns have any order, and
    /// those that it does not name are left out. Lines at the beginning with "#" or "%" and a space are
    /// comments. A file .graphml is read as GraphML. An undirected edge counts as two, one for each
    /// direction.
    ///
    /// In a hierarchy the first name is the child. Subtrees are kept together best if the list has every
    /// ancestor of a node, not only its parent: see --closure.
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Use the transitive closure of the edges: with u -> v and v -> w also u -> w.
    #[arg(long, help_heading = "Data")]
    closure: bool,
}

#[derive(Args)]
struct SpaceOptions {
    /// Dimension of the embedding [default: 5, or what --model says].
    #[arg(long, help_heading = "Model")]
    dim: Option<usize>,
    /// Space of the embedding: poincare, lorentz (the hyperboloid), half-space, sphere, euclidean
    /// [default: poincare]. Or a product of these, each with its dimension: poincare:5,sphere:3.
    #[arg(long, help_heading = "Model")]
    model: Option<Models>,
    /// Sectional curvature, of a product one for each factor [default: -1 for hyperbolic space, 1 for the
    /// sphere, 0 for euclidean].
    #[arg(long, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Model")]
    kappa: Option<Vec<f64>>,
}

impl Data {
    /// Checks that no option says how a file is read if there is none.
    fn check(&self) -> Result<()> {
        let EdgeOptions { table, weight, node_names } = &self.layout;
        let given = [
            ("separator", table.separator.is_some()),
            ("header", table.header.is_some()),
            ("columns", !table.columns.is_empty()),
            ("weight", weight.is_some()),
            ("node-names", *node_names != NodeNames::default()),
            ("closure", self.closure),
        ];
        match options::first_true(&given) {
            Some(option) if self.edges.is_none() => {
                let message = format!("--{option}: only with --edges; the mammals are built in");
                Err(AppError::usage(message))
            }
            _ => Ok(()),
        }
    }

    /// The source, for the record.
    fn source(&self) -> String {
        match &self.edges {
            None => "built in: WordNet 3.0 mammals closure".to_owned(),
            Some(path) if self.closure => format!("closure of {}", path.display()),
            Some(path) => path.display().to_string(),
        }
    }

    /// The graph, its source, and how its file was read.
    fn read(&self) -> Result<(Graph, String, Option<String>)> {
        let Some(path) = &self.edges else {
            return Ok((edges::mammals(), self.source(), None));
        };
        let ReadGraph { graph, read_as } = read_edges(path, self.closure, &self.layout)?;
        Ok((graph, self.source(), Some(read_as)))
    }
}

impl Train {
    /// The configuration of a run, without its seed.
    fn config(&self) -> Result<EmbeddingConfig> {
        let SpaceOptions { dim, model, kappa } = &self.space;
        let models = model.clone().unwrap_or_else(|| SpaceModel::Poincare.into());
        let dim = models.dimension(*dim)?;
        let config =
            EmbeddingConfig { dim, geometry: Geometry::new(models, kappa.clone())?, ..self.config.clone() };
        config.check()?;
        Ok(config)
    }
}

/// Trains, with one seed or several.
pub(crate) fn train(args: &Train) -> Result<()> {
    let Train { data, sample, evaluate_every, training, partition, write, .. } = args;
    let (device, config) = (training.device.choose()?, args.config()?);
    data.check()?;
    let (evaluate_nodes, evaluate_every) = (sample.checked()?, *evaluate_every);
    options::at_least_one(&[("evaluate-every", evaluate_every.unwrap_or(1))])?;
    // Before the data are read: whether there is something to resume.
    let state = partition.directory(&training.out);
    let resumes = training.resume && !partition.are_given();
    let runs = training.seeds.runs(config.seed, state, resumes, false)?.len();
    partition.check(&config, runs > 1, evaluate_every.is_some())?;
    let run = training.run(device.clone());
    if !partition.are_given() && run.ranks.as_ref().is_some_and(|ranks| ranks.size() > 1) {
        let message = "several ranks train an embedding in parts: --partitions or --memory is needed";
        return Err(AppError::usage(message));
    }
    let write = write.unwrap_or(if partition.are_given() { Written::Coordinates } else { Written::All });
    let threads = training.threads.start()?;
    let published = data.edges.is_none() && config.validation + config.test == 0.0;
    if partition.are_given() {
        let source = data.source();
        let options = RunOptions { run, source, read_as: None, evaluate_nodes, evaluate_every, write };
        let metrics = threads.run(|| train_in_parts(data, &config, partition, &options))?;
        report(&metrics, published);
        say!("written to {}", state.display());
        return Ok(());
    }
    let _held = training.seeds.hold(&training.out, false)?;
    let (graph, source, read_as) = data.read()?;
    say!("{} nodes, {} pairs ({source})", graph.names.len(), graph.pairs.len());
    let results = training.each_seed(config.seed, &training.out, false, &device, |seed, run| {
        let (run, source, read_as) = (run.clone(), source.clone(), read_as.clone());
        let options = RunOptions { run, source, read_as, evaluate_nodes, evaluate_every, write };
        let config = EmbeddingConfig { seed, ..config.clone() };
        let metrics = threads.run(|| poincare::train(&graph, &config, &options))?;
        report(&metrics, published);
        Ok(metrics)
    })?;
    seeds::report(&summaries(&results), &training.out, 4)?;
    say!("written to {}", training.out.display());
    Ok(())
}

/// Trains in parts: a table is read piece by piece, any other graph is in memory.
fn train_in_parts(
    data: &Data,
    config: &EmbeddingConfig,
    partition: &PartitionOptions,
    options: &RunOptions,
) -> Result<EmbeddingMetrics> {
    let (out, work) = (&options.run.out, partition.directory(&options.run.out));
    let _held = output::hold(out)?;
    let _work = if work == out { None } else { Some(output::hold_for(work, "--work")?) };
    let identity = Identity::new(options.source.clone(), data.edges.as_ref(), &data.layout)?;
    let built_in = Path::new("the edges that are built in");
    let path = data.edges.as_deref().unwrap_or(built_in);
    let streams = data.edges.is_some() && !data.closure && !edges::is_graphml(path);
    // A graph that is prepared already is not read.
    let read = if streams || StoredGraph::is_prepared(work, &identity) { None } else { Some(data.read()?) };
    let source = match &read {
        Some((graph, _, read_as)) => EdgeSource::Graph(graph, read_as.clone()),
        None => EdgeSource::Table(path, &data.layout),
    };
    run::train(&Edges { source, path, identity }, config, partition, options)
}

/// The summaries of several runs: (seed, metrics) each. The best is chosen by the MAP of validation. If no
/// edges are held out for it, that of reconstruction is used.
fn summaries(runs: &[(u64, EmbeddingMetrics)]) -> Vec<Summary> {
    let validated = runs.iter().all(|(_, metrics)| metrics.validation.is_some());
    let best_by = if validated { "validation MAP" } else { "MAP" };
    let chosen = |metrics: &EmbeddingMetrics| metrics.validation.map_or(metrics.map, |score| score.map);
    let summary = |name, figure: &dyn Fn(&EmbeddingMetrics) -> f64| {
        let runs: Vec<(u64, f64, f64)> =
            runs.iter().map(|(seed, metrics)| (*seed, figure(metrics), chosen(metrics))).collect();
        Summary::new(name, best_by, &runs)
    };
    let mut summaries = vec![summary("mean rank", &|m| m.mean_rank), summary("MAP", &|m| m.map)];
    if runs.iter().all(|(_, metrics)| metrics.test.is_some()) {
        summaries.push(summary("test mean rank", &|m| m.test.map_or(f64::NAN, |score| score.mean_rank)));
        summaries.push(summary("test MAP", &|m| m.test.map_or(f64::NAN, |score| score.map)));
    }
    summaries
}

fn report(metrics: &EmbeddingMetrics, mammals: bool) {
    let EmbeddingMetrics { config, train_seconds, pairs_per_second, evaluation_seconds, .. } = metrics;
    say!(
        "trained {} epochs in {train_seconds:.1} s ({pairs_per_second:.0} pairs/s, {} threads), \
         evaluated in {evaluation_seconds:.1} s",
        config.epochs,
        metrics.threads
    );
    if let Some(sampled) = metrics.sampled() {
        say!("mean rank and MAP {sampled}");
    }
    say!("{:>10} {:>8}", "mean rank", "MAP");
    let kappas =
        if config.learn_kappa { format!(", kappa {}", metrics.geometry.kappas()) } else { String::new() };
    let this = format!("this run: {}{kappas}, d = {}, {} epochs", config.geometry, config.dim, config.epochs);
    say!("{:>10.4} {:>8.4}  {this}", metrics.mean_rank, metrics.map);
    for (name, score) in [("validation", metrics.validation), ("test", metrics.test)] {
        if let Some(Score { mean_rank, map, pairs, .. }) = score {
            say!("{mean_rank:>10.4} {map:>8.4}  {name}: {pairs} held-out pairs");
        }
    }
    if mammals {
        for published in poincare::published_mammals(config.dim) {
            say!("{:>10.4} {:>8.4}  {}", published.mean_rank, published.map, published.what);
        }
    }
}

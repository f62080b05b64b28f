//! Poincaré embeddings from the command line: train, evaluate, neighbours and distances, plot, and the
//! WordNet closure.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_common::command_line::{RUN, parse};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::disk;
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::geometry::{Geometry, Model};
use cotangent_apps_common::options;
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::seeds::{self, SeedsOption, Summary};
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::Graph;
use cotangent_apps_embeddings::hyperbolicity::{self, Hyperbolicity};
use cotangent_apps_embeddings::neighbours::Neighbour;
use cotangent_apps_embeddings::poincare::{self, Config, Metrics, RunOptions};
use cotangent_apps_embeddings::{edges, reconstruction, wordnet};

const EXAMPLES: &str = "\
Examples:
  poincare train --edges edges.tsv --dim 10 --out runs/mine
  poincare neighbours dog.n.01 --embedding runs/mine
  poincare plot --embedding runs/mine --edges edges.tsv --out disk.svg";

/// Poincaré embeddings of hierarchies (Nickel & Kiela 2017, 2018).
///
/// Without a command: same as `poincare train`, which embeds the mammals of WordNet in 5 dimensions and
/// prints mean rank and MAP (mean average precision) beside the published figures.
#[derive(Parser)]
#[command(name = "poincare", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Trains an embedding of a graph, given as an edge list.
    #[command(after_help = EXAMPLES)]
    Train(Train),
    /// Computes mean rank and MAP of an embedding.
    Evaluate(Evaluate),
    /// Lists the points that are nearest to one.
    Neighbours(Neighbours),
    /// Prints the distance between two points.
    Distance(Distance),
    /// Measures how close a graph is to a tree (Gromov's delta), and suggests curvature and dimension.
    Hyperbolicity(HyperbolicityArgs),
    /// Draws an embedding in the Poincaré disk; a hierarchy of more dimensions by distances and subtrees.
    Plot(Plot),
    /// Writes the transitive closure of WordNet's nouns, from WordNet's own files.
    Wordnet(Wordnet),
}

#[derive(Args)]
struct Train {
    /// Edge list, TSV or CSV, plain or gzip: two columns of names, an optional weight, an optional header
    /// [default: the mammals of WordNet, which are built in].
    ///
    /// In a hierarchy the first name is the child. Subtrees are kept together best if the list has every
    /// ancestor of a node, not only its parent: see --closure.
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// Use the transitive closure of the edges: with u -> v and v -> w also u -> w.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    /// Dimension of the embedding.
    #[arg(long, default_value_t = 5, help_heading = "Model")]
    dim: usize,
    /// Space of the embedding.
    #[arg(long, value_enum, default_value_t = Model::Poincare, help_heading = "Model")]
    model: Model,
    /// Sectional curvature: negative for poincare and lorentz, 0 for euclidean [default: -1 or 0].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    kappa: Option<f64>,
    /// Floating-point type of the coordinates.
    #[arg(long, value_enum, default_value_t = Precision::F64, help_heading = "Model")]
    precision: Precision,
    /// Passes over the edges, burn-in included. A graph of some hundred edges needs more, or a larger --lr.
    #[arg(long, default_value_t = poincare::default_config().epochs, help_heading = "Training")]
    epochs: u64,
    /// Number of negative samples for each edge.
    #[arg(long, default_value_t = poincare::default_config().negatives, help_heading = "Training")]
    negatives: usize,
    /// A node is a negative sample with a probability proportional to its degree to this power.
    #[arg(long, default_value_t = poincare::default_config().negative_power, help_heading = "Training")]
    negative_power: f64,
    /// Number of edges in a batch.
    #[arg(long, default_value_t = poincare::default_config().batch, help_heading = "Training")]
    batch: usize,
    /// Let threads step the points without waiting for each other, edge by edge: faster, but the result
    /// differs from run to run. --batch is not used.
    #[arg(long, help_heading = "Training")]
    lock_free: bool,
    /// Learning rate of Riemannian SGD, per edge: the loss is summed over the batch.
    #[arg(long, default_value_t = poincare::default_config().lr)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Length of the burn-in in epochs: the first epochs, which have a lower learning rate.
    #[arg(long, default_value_t = poincare::default_config().burn_in, help_heading = "Training")]
    burn_in: u64,
    /// Factor of the learning rate during the burn-in.
    #[arg(long, default_value_t = poincare::default_config().burn_in_factor)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    burn_in_factor: f64,
    /// Seed of all random draws. Same seed, same result, for any number of threads, but for --lock-free.
    #[arg(long, default_value_t = poincare::default_config().seed, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    seeds: SeedsOption,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory. The results of an earlier run there are replaced.
    #[arg(long, default_value = "runs/poincare", help_heading = RUN)]
    out: PathBuf,
    /// Continue from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Epochs between checkpoints [default: one whenever ten seconds have passed].
    #[arg(long, help_heading = RUN)]
    checkpoint_every: Option<u64>,
}

/// Which embedding a command is about.
#[derive(Args)]
struct EmbeddingOptions {
    /// Embedding: a directory that `poincare train` wrote, or a .safetensors or TSV file from there.
    #[arg(
        long = "embedding",
        value_name = "EMBEDDING",
        default_value = "runs/poincare",
        help_heading = "Data"
    )]
    path: PathBuf,
    /// Space of a TSV embedding [default: poincare]; a .safetensors file states its own.
    #[arg(long, value_enum, help_heading = "Model")]
    model: Option<Model>,
    /// Sectional curvature [default: -1, or 0 for euclidean; of a .safetensors file, its own].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    kappa: Option<f64>,
}

#[derive(Args)]
struct Evaluate {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list that the embedding is compared with, in the format of `train --edges`.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Compare with the transitive closure of the edges.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    #[command(flatten)]
    threads: ThreadsOption,
}

#[derive(Args)]
struct Neighbours {
    /// The name of a point, for example dog.n.01.
    name: String,
    /// How many points are listed, the nearest first.
    #[arg(long, default_value_t = 10, help_heading = RUN)]
    count: usize,
    #[command(flatten)]
    embedding: EmbeddingOptions,
}

#[derive(Args)]
struct Distance {
    /// The name of one point.
    from: String,
    /// The name of the other.
    to: String,
    #[command(flatten)]
    embedding: EmbeddingOptions,
}

#[derive(Args)]
struct HyperbolicityArgs {
    /// Edge list, in the format of `train --edges`. Directions and weights are not used.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Use the direct edges of a closure: leave out u -> v if there are edges u -> w and w -> v.
    #[arg(long, help_heading = "Data")]
    reduction: bool,
    /// Number of quadruples of nodes that are drawn. A graph of at most 340 nodes is measured exactly.
    #[arg(long, default_value_t = 1_000_000, help_heading = RUN)]
    samples: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 42, help_heading = RUN)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
}

#[derive(Args)]
struct Plot {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list to draw; an edge u -> v is left out if there is a path u -> w -> v [default: draw no edges].
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// The picture to write, as SVG.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

#[derive(Args)]
struct Wordnet {
    /// Directory of data.noun and index.noun (/usr/share/wordnet of the Debian package wordnet-base).
    #[arg(long, help_heading = "Data")]
    dict: PathBuf,
    /// Write only the subtree of this noun, for example mammal.n.01 [default: all nouns].
    #[arg(long, help_heading = "Data")]
    root: Option<String>,
    /// The edge list to write, as TSV: noun, tab, ancestor.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

fn main() -> std::process::ExitCode {
    let command = parse::<Cli>().command.unwrap_or_else(|| {
        // The same defaults as `train`.
        Cli::parse_from(["poincare", "train"]).command.expect("a command is given")
    });
    exit_code(match command {
        Command::Train(args) => train(args),
        Command::Evaluate(args) => evaluate(&args),
        Command::Neighbours(args) => neighbours(&args),
        Command::Distance(args) => distance(&args),
        Command::Hyperbolicity(args) => measure_hyperbolicity(&args),
        Command::Plot(args) => plot(&args),
        Command::Wordnet(args) => build_wordnet(&args),
    })
}

/// Reads edges, or their transitive closure.
fn read_edges(path: &std::path::Path, closure: bool) -> Result<Graph> {
    let graph = edges::read(path)?;
    if closure && !graph.weights.is_empty() {
        return Err(AppError::usage("--closure: edges with weights have no closure"));
    }
    let graph = if closure { graph.closure() } else { graph };
    if graph.self_loops + graph.duplicates > 0 {
        say!("left out: {} self-loops, {} duplicate edges", graph.self_loops, graph.duplicates);
    }
    Ok(graph)
}

impl EmbeddingOptions {
    fn read(&self) -> Result<Embeddings> {
        Embeddings::read(&self.path, self.model, self.kappa)
    }
}

fn train(args: Train) -> Result<()> {
    let device = args.device.choose()?;
    let config = Config {
        geometry: Geometry::new(args.model, args.kappa)?,
        dim: args.dim,
        precision: args.precision,
        epochs: args.epochs,
        negatives: args.negatives,
        negative_power: args.negative_power,
        batch: args.batch,
        lock_free: args.lock_free,
        lr: args.lr,
        burn_in: args.burn_in,
        burn_in_factor: args.burn_in_factor,
        seed: args.seed,
    };
    config.check()?;
    let threads = args.threads.start()?;
    let (graph, source) = match &args.edges {
        Some(path) => {
            let name = path.display();
            let source = if args.closure { format!("closure of {name}") } else { name.to_string() };
            (read_edges(path, args.closure)?, source)
        }
        None => (edges::mammals(), "built in: WordNet 3.0 mammals closure".to_owned()),
    };
    say!("{} nodes, {} pairs ({source})", graph.names.len(), graph.pairs.len());
    let mut results = Vec::new();
    for run in args.seeds.runs(args.seed, &args.out, args.resume, false)? {
        let (checkpoint_every, source, device) = (args.checkpoint_every, source.clone(), device.clone());
        let options = RunOptions { out: run.out, resume: run.resume, checkpoint_every, source, device };
        let config = Config { seed: run.seed, ..config.clone() };
        let metrics = threads.run(|| poincare::train(&graph, &config, &options))?;
        report(&metrics, args.edges.is_none());
        results.push((run.seed, metrics.mean_rank, metrics.map));
    }
    // No edges are held out, so the best run is the one with the best reconstruction, by MAP.
    let by_map = |figure: fn(&(u64, f64, f64)) -> f64| -> Vec<(u64, f64, f64)> {
        results.iter().map(|run| (run.0, figure(run), run.2)).collect()
    };
    let figures = [
        Summary::new("mean rank", "MAP", &by_map(|run| run.1)),
        Summary::new("MAP", "MAP", &by_map(|run| run.2)),
    ];
    seeds::report(&figures, &args.out, 4)?;
    say!("written to {}", args.out.display());
    Ok(())
}

fn report(metrics: &Metrics, mammals: bool) {
    let Metrics { config, train_seconds, pairs_per_second, evaluation_seconds, .. } = metrics;
    say!(
        "trained {} epochs in {train_seconds:.1} s ({pairs_per_second:.0} pairs/s, {} threads), \
         evaluated in {evaluation_seconds:.1} s",
        config.epochs,
        metrics.threads
    );
    say!("{:>10} {:>8}", "mean rank", "MAP");
    let this = format!("this run: {}, d = {}, {} epochs", config.geometry.model, config.dim, config.epochs);
    say!("{:>10.4} {:>8.4}  {this}", metrics.mean_rank, metrics.map);
    if mammals {
        for published in poincare::published_mammals(config.dim) {
            say!("{:>10.4} {:>8.4}  {}", published.mean_rank, published.map, published.what);
        }
    }
}

fn evaluate(args: &Evaluate) -> Result<()> {
    let threads = args.threads.start()?;
    let embeddings = args.embedding.read()?;
    let graph = read_edges(&args.edges, args.closure)?;
    let at = embeddings.index(&args.embedding.path, &graph.names)?;
    let start = std::time::Instant::now();
    let score = threads
        .run(|| reconstruction::evaluate(&embeddings.points, embeddings.geometry, &at, &graph.neighbours()));
    let Geometry { model, kappa } = embeddings.geometry;
    say!(
        "{} points in {model} (kappa {kappa}), {} nodes with neighbours, {} pairs, {:.1} s",
        embeddings.names.len(),
        score.nodes,
        score.pairs,
        start.elapsed().as_secs_f64()
    );
    print::event("result", &score);
    say!("mean rank {:.4}", score.mean_rank);
    say!("MAP {:.5}", score.map);
    Ok(())
}

fn neighbours(args: &Neighbours) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let at = embeddings.find(&args.embedding.path, &args.name)?;
    for neighbour in embeddings.neighbours(at, args.count) {
        print::event("result", &neighbour);
        say!("{:>10.4}  {}", neighbour.distance, neighbour.name);
    }
    Ok(())
}

fn distance(args: &Distance) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let from = embeddings.find(&args.embedding.path, &args.from)?;
    let to = embeddings.find(&args.embedding.path, &args.to)?;
    let to = Neighbour { name: args.to.clone(), distance: embeddings.distance(from, to) };
    print::event("result", &to);
    say!("{}", to.distance);
    Ok(())
}

fn measure_hyperbolicity(args: &HyperbolicityArgs) -> Result<()> {
    options::at_least_one(&[("samples", args.samples)])?;
    let threads = args.threads.start()?;
    let graph = read_edges(&args.edges, false)?;
    let edges = if args.reduction { graph.neighbours().reduction() } else { graph.pairs };
    let nodes = graph.names.len();
    let found = threads.run(|| hyperbolicity::hyperbolicity(nodes, &edges, args.samples, args.seed));
    print::event("result", &found);
    let Hyperbolicity { nodes, components, quadruples, delta, mean_delta, diameter, .. } = found;
    let (how, at_least) = if found.exact { ("all", "") } else { ("drawn", "at least ") };
    say!("{nodes} nodes in the largest of {components} components, {quadruples} quadruples ({how})");
    say!("delta {at_least}{delta}, mean {mean_delta:.4}, diameter {at_least}{diameter}");
    say!("2 delta/diameter {:.4}: 0 for a tree, 1 for a cycle", found.relative_delta);
    match found.kappa {
        Some(kappa) => say!("curvature with this delta, if an edge has length 1: {kappa:.4}"),
        None => say!("no quadruple differs from a tree's: any negative curvature fits"),
    }
    let [single, double] = found.dimension;
    say!("a tree of this degree and diameter needs about {single} dimensions in f32, {double} in f64");
    Ok(())
}

fn plot(args: &Plot) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let edges = match &args.edges {
        None => Vec::new(),
        Some(path) => {
            let graph = read_edges(path, false)?;
            let at = embeddings.index(&args.embedding.path, &graph.names)?;
            let reduced = graph.neighbours().reduction();
            reduced.into_iter().map(|(u, v)| (at[u as usize], at[v as usize])).collect()
        }
    };
    let Embeddings { names, points, geometry } = &embeddings;
    disk::plot(&args.out, names, points, *geometry, &edges, "")?;
    say!("written to {}", args.out.display());
    Ok(())
}

fn build_wordnet(args: &Wordnet) -> Result<()> {
    let nouns = wordnet::read(&args.dict)?;
    let pairs = nouns.closure(args.root.as_deref())?;
    cotangent::engine::files::atomic::write(&args.out, |w| {
        pairs.iter().try_for_each(|(child, ancestor)| writeln!(w, "{child}\t{ancestor}"))
    })
    .map_err(AppError::io(&args.out))?;
    let nodes: std::collections::HashSet<&str> = pairs.iter().flat_map(|(u, v)| [*u, *v]).collect();
    say!(
        "{} nouns, {} direct edges; wrote {} nodes, {} pairs to {}",
        nouns.names.len(),
        nouns.edges(),
        nodes.len(),
        pairs.len(),
        args.out.display()
    );
    Ok(())
}

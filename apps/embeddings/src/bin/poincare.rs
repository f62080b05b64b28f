//! Poincaré embeddings from the command line: train, evaluate, plot, and the WordNet closure.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_common::command_line::{RUN, parse};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::disk;
use cotangent_apps_common::error::{AppError, Result, exit_code};
use cotangent_apps_common::geometry::{Geometry, Model};
use cotangent_apps_common::precision::Precision;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::Graph;
use cotangent_apps_embeddings::poincare::{self, Config, Metrics, RunOptions};
use cotangent_apps_embeddings::{edges, reconstruction, wordnet};

const EXAMPLES: &str = "\
Examples:
  poincare train --edges edges.tsv --dim 10 --out runs/mine
  poincare evaluate --embedding runs/mine/embedding.safetensors --edges edges.tsv
  poincare plot --embedding runs/mine/embedding.safetensors --edges edges.tsv --out disk.svg";

/// Poincaré embeddings of hierarchies (Nickel & Kiela 2017, 2018).
///
/// Without a command: trains on the mammals of WordNet, in 5 dimensions, and prints mean rank and MAP
/// beside the published figures.
#[derive(Parser)]
#[command(name = "poincare", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Trains an embedding of an edge list.
    #[command(after_help = EXAMPLES)]
    Train(Train),
    /// Mean rank and MAP of an embedding.
    Evaluate(Evaluate),
    /// Draws an embedding in the Poincaré disk.
    Plot(Plot),
    /// Writes the noun closure of WordNet from its own files.
    Wordnet(Wordnet),
}

#[derive(Args)]
struct Train {
    /// Edge list, TSV or CSV, plain or gzip: two columns of names, optional weight, optional header.
    /// Without it, the embedded mammals closure of WordNet.
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// Dimension of the manifold.
    #[arg(long, default_value_t = 5, help_heading = "Model")]
    dim: usize,
    /// Model of space.
    #[arg(long, value_enum, default_value_t = Model::Poincare, help_heading = "Model")]
    model: Model,
    /// Sectional curvature [default: -1; 0 for euclidean].
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    kappa: Option<f64>,
    /// Type that coordinates are stored in.
    #[arg(long, value_enum, default_value_t = Precision::F64, help_heading = "Model")]
    precision: Precision,
    /// Passes over the pairs, burn-in included.
    #[arg(long, default_value_t = poincare::default_config().epochs, help_heading = "Training")]
    epochs: u64,
    /// Negatives for each pair.
    #[arg(long, default_value_t = poincare::default_config().negatives, help_heading = "Training")]
    negatives: usize,
    /// Pairs for each step.
    #[arg(long, default_value_t = poincare::default_config().batch, help_heading = "Training")]
    batch: usize,
    /// Learning rate of a pair (the loss is summed over the batch).
    #[arg(long, default_value_t = poincare::default_config().lr, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// First epochs, with a lower rate.
    #[arg(long, default_value_t = poincare::default_config().burn_in, help_heading = "Training")]
    burn_in: u64,
    /// Factor of the rate in the burn-in.
    #[arg(long, default_value_t = poincare::default_config().burn_in_factor, allow_negative_numbers = true, help_heading = "Training")]
    burn_in_factor: f64,
    /// Seed: same seed, same result, for any number of threads.
    #[arg(long, default_value_t = poincare::default_config().seed, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/poincare", help_heading = RUN)]
    out: PathBuf,
    /// Go on from the checkpoint in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
    /// Epochs between checkpoints [default: one whenever ten seconds have passed].
    #[arg(long, help_heading = RUN)]
    checkpoint_every: Option<u64>,
}

#[derive(Args)]
struct Evaluate {
    /// Embedding: .safetensors, or TSV of names and coordinates.
    #[arg(long, help_heading = "Data")]
    embedding: PathBuf,
    /// Edge list.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Model of a TSV embedding [default: poincare]; a .safetensors file knows its own.
    #[arg(long, value_enum, help_heading = "Model")]
    model: Option<Model>,
    /// Sectional curvature.
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    kappa: Option<f64>,
    #[command(flatten)]
    threads: ThreadsOption,
}

#[derive(Args)]
struct Plot {
    /// Embedding: .safetensors, or TSV of names and coordinates.
    #[arg(long, help_heading = "Data")]
    embedding: PathBuf,
    /// Edge list; edges that a path explains are not drawn.
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// SVG to write.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
    /// Model of a TSV embedding [default: poincare]; a .safetensors file knows its own.
    #[arg(long, value_enum, help_heading = "Model")]
    model: Option<Model>,
    /// Sectional curvature.
    #[arg(long, allow_negative_numbers = true, help_heading = "Model")]
    kappa: Option<f64>,
}

#[derive(Args)]
struct Wordnet {
    /// Directory of data.noun and index.noun (Debian: wordnet-base, /usr/share/wordnet).
    #[arg(long, help_heading = "Data")]
    dict: PathBuf,
    /// Only the subtree of this noun, as mammal.n.01.
    #[arg(long, help_heading = "Data")]
    root: Option<String>,
    /// TSV to write.
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
        Command::Plot(args) => plot(&args),
        Command::Wordnet(args) => build_wordnet(&args),
    })
}

fn read_edges(path: &std::path::Path) -> Result<Graph> {
    let graph = edges::read(path)?;
    if graph.self_loops + graph.duplicates > 0 {
        say!("left out: {} self loops, {} duplicate edges", graph.self_loops, graph.duplicates);
    }
    Ok(graph)
}

fn train(args: Train) -> Result<()> {
    let device = args.device.choose()?;
    let config = Config {
        geometry: Geometry::new(args.model, args.kappa)?,
        dim: args.dim,
        precision: args.precision,
        epochs: args.epochs,
        negatives: args.negatives,
        batch: args.batch,
        lr: args.lr,
        burn_in: args.burn_in,
        burn_in_factor: args.burn_in_factor,
        seed: args.seed,
    };
    config.check()?;
    let threads = args.threads.start()?;
    let (graph, source) = match &args.edges {
        Some(path) => (read_edges(path)?, path.display().to_string()),
        None => (edges::mammals(), "embedded: WordNet 3.0 mammals closure".to_owned()),
    };
    say!("{} nodes, {} pairs ({source})", graph.names.len(), graph.pairs.len());
    let (out, resume, checkpoint_every) = (args.out, args.resume, args.checkpoint_every);
    let options = RunOptions { out, resume, checkpoint_every, source, device };
    let metrics = threads.run(|| poincare::train(&graph, &config, &options))?;
    report(&metrics, args.edges.is_none());
    say!("written to {}", options.out.display());
    Ok(())
}

fn report(metrics: &Metrics, mammals: bool) {
    let Metrics { config, train_seconds, pairs_per_second, evaluation_seconds, .. } = metrics;
    say!(
        "trained {} epochs in {train_seconds:.1} s ({pairs_per_second:.0} pairs/s, {} threads), evaluated in {evaluation_seconds:.1} s",
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
    let embeddings = Embeddings::read(&args.embedding, args.model, args.kappa)?;
    let graph = read_edges(&args.edges)?;
    let at = embeddings.index(&args.embedding, &graph.names)?;
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

fn plot(args: &Plot) -> Result<()> {
    let embeddings = Embeddings::read(&args.embedding, args.model, args.kappa)?;
    let edges = match &args.edges {
        None => Vec::new(),
        Some(path) => {
            let graph = read_edges(path)?;
            let at = embeddings.index(&args.embedding, &graph.names)?;
            let reduced = graph.neighbours().reduction();
            reduced.into_iter().map(|(u, v)| (at[u as usize], at[v as usize])).collect()
        }
    };
    let Embeddings { names, points, geometry } = &embeddings;
    disk::plot(&args.out, names, points, *geometry, &edges, "")?;
    say!("wrote {}", args.out.display());
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

//! The command `subtree`: finds the nodes of a subtree from an embedding, by logistic regression.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;

use clap::Parser;
use cotangent_apps_common::command_line::{RUN, parse};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::files::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::edges::{self, EdgeOptions, ReadGraph};
use cotangent_apps_embeddings::subtree::{self, Config, Metrics, Solver, TABLE_2};

const EXAMPLES: &str = "\
Examples:
  subtree --embedding runs/nouns/embedding.safetensors --edges nouns.tsv --seeds 3
  subtree --embedding embedding.tsv --edges edges.tsv --root mammal.n.01 --root worker.n.01
  subtree --embedding embedding.tsv --edges edges.tsv --solver lbfgs --epochs 500 --balanced";

/// Separates the nodes below a root from all others by their Poincaré embedding. Compares three logistic
/// regressions: hyperbolic in the ball, Euclidean on the ball's coordinates, and Euclidean on the logarithms
/// at the origin (Ganea, Bécigneul, Hofmann 2018, Table 2).
#[derive(Parser)]
#[command(name = "subtree", version, after_help = EXAMPLES)]
struct Cli {
    /// Embedding in the Poincaré ball: .safetensors or .tsv, as `poincare train` writes them.
    #[arg(long, help_heading = "Data")]
    embedding: PathBuf,
    /// The hierarchy as an edge list, each node with its parents or with all its ancestors, in the format
    /// of `poincare train --edges`.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Of points with the same name keep the first, and leave out the others [default: they are an error].
    #[arg(long, help_heading = "Data")]
    keep_first: bool,
    /// Root of a subtree. May be given several times [default: the four roots of Table 2].
    #[arg(long, help_heading = "Data")]
    root: Vec<String>,
    /// Sectional curvature of the embedding [default: -1; of a .safetensors file, its own].
    #[arg(long, allow_negative_numbers = true, help_heading = "Data")]
    kappa: Option<f64>,
    /// How the classifiers are trained.
    #[arg(long, value_enum, default_value_t = Solver::Adam, help_heading = "Training")]
    solver: Solver,
    /// Passes over the training nodes; with --solver lbfgs, the largest number of iterations.
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    epochs: u64,
    /// Number of nodes in a batch of Adam.
    #[arg(long, default_value_t = 64, help_heading = "Training")]
    batch: usize,
    /// Initial learning rate of Adam; it falls to 0 along half a cosine.
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Give the subtree and the other nodes the same total weight in the loss [default: each node has the
    /// same weight].
    #[arg(long, help_heading = "Training")]
    balanced: bool,
    /// First seed; a seed determines the split into training and test nodes, the initial weights and the
    /// order. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    seed: u64,
    /// Number of runs, with consecutive seeds, in parallel; two or more give a 95 % confidence interval.
    #[arg(long, default_value_t = 3, help_heading = "Training")]
    seeds: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/subtree", help_heading = RUN)]
    out: PathBuf,
}

fn main() -> std::process::ExitCode {
    exit_code(run(parse()))
}

fn run(cli: Cli) -> Result<()> {
    let device = cli.device.choose()?;
    let roots = if cli.root.is_empty() {
        TABLE_2.iter().map(|subtree| subtree.root.to_owned()).collect()
    } else {
        cli.root
    };
    let config = Config {
        roots,
        solver: cli.solver,
        epochs: cli.epochs,
        batch: cli.batch,
        lr: cli.lr,
        balanced: cli.balanced,
        seed: cli.seed,
        seeds: cli.seeds,
    };
    let threads = cli.threads.start()?;
    let kappa = cli.kappa.map(|kappa| vec![kappa]);
    let embeddings = match cli.keep_first {
        true => Embeddings::read_first(&cli.embedding, None, kappa)?.0,
        false => Embeddings::read(&cli.embedding, None, kappa)?,
    };
    let read = edges::read(&cli.edges, &cli.layout)?;
    let ReadGraph { graph, read_as } = &read;
    say!("{}: {read_as}", cli.edges.display());
    say!("{} nodes, {} points, d = {}", graph.names.len(), embeddings.names.len(), embeddings.points.width());
    let metrics = threads
        .run(|| subtree::run(&cli.embedding, &embeddings, &cli.edges, &read, &config, &cli.out, &device))?;
    report(&metrics);
    say!("written to {}", cli.out.display());
    Ok(())
}

fn report(metrics: &Metrics) {
    say!(
        "test F1 in %, mean and 95 % interval of {} seeds, {:.1} s; beside it Ganea et al. 2018, Table 2",
        metrics.config.seeds,
        metrics.seconds
    );
    let width = metrics.rows.iter().map(|row| row.root.chars().count()).max().unwrap_or(0);
    for row in &metrics.rows {
        let published = subtree::published(&row.root, row.classifier, metrics.dim);
        let published = published.map_or(String::new(), |(f1, half)| format!("{f1:.2} ± {half:.2}"));
        let [train, test] = row.positives;
        say!(
            "{:<width$} {train:>5}/{test:<5} {:<10} {:>15}  {published:>14}",
            row.root,
            row.classifier.name(),
            row.interval.percent(),
        );
    }
}

//! The command line of `subtree`.

use std::path::PathBuf;

use clap::{Args, Parser};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::{OUT, RUN, parse_app};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;

use super::{SubtreeConfig, SubtreeMetrics, TABLE_2, published};
use crate::files::embeddings::Embeddings;
use crate::graph::edges::{self, EdgeOptions, ReadGraph};

/// The application `subtree`.
pub const APP: Application = Application {
    name: "subtree",
    about: "Separates the nodes below a root from all others by their Poincaré embedding. Compares three \
        logistic regressions: hyperbolic in the ball, Euclidean on the ball's coordinates, and Euclidean on \
        the logarithms at the origin (Ganea, Bécigneul, Hofmann 2018, Table 2).",
    examples: [
        "subtree --embedding runs/nouns/embedding.safetensors --edges nouns.tsv --seeds 3",
        "subtree --embedding embedding.tsv --edges edges.tsv --root mammal.n.01 --root worker.n.01",
        "subtree --embedding embedding.tsv --edges edges.tsv --solver lbfgs --epochs 500 --balanced",
    ],
    needs: &["--embedding", "none", "--edges", "none"],
    commands: &[(
        "`subtree --embedding FILE --edges FILE [--root NAME …]`",
        "tells the nodes below a root from all others by their embedding, hyperbolic against Euclidean: \
         Ganea et al. 2018, Table 2",
    )],
    writes: "in two dimensions `ROOT-CLASSIFIER.svg`; no checkpoint",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    config: SubtreeConfig,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory. It must not be that of a training.
    #[arg(long, default_value = OUT, help_heading = RUN)]
    out: PathBuf,
}

#[derive(Args)]
struct Data {
    /// Embedding in the Poincaré ball: .safetensors or .tsv, as `poincare train` writes them.
    #[arg(long, help_heading = "Data")]
    embedding: PathBuf,
    /// The hierarchy as an edge list, each node with its parents or with all its ancestors, in the format
    /// of `poincare train --edges`.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Keep the first of points with the same name, and leave out the others [default: they are an error].
    #[arg(long, help_heading = "Data")]
    keep_first: bool,
    /// Sectional curvature of the embedding [default: -1; of a .safetensors file, its own].
    #[arg(long, allow_negative_numbers = true, help_heading = "Data")]
    kappa: Option<f64>,
}

impl Data {
    fn embeddings(&self) -> Result<Embeddings> {
        let kappa = self.kappa.map(|kappa| vec![kappa]);
        match self.keep_first {
            true => Ok(Embeddings::read_first(&self.embedding, None, kappa)?.0),
            false => Embeddings::read(&self.embedding, None, kappa),
        }
    }
}

/// Runs the command `subtree` with the process's arguments. Returns the exit code of the process: 0, or 2
/// after an error.
pub fn run() -> std::process::ExitCode {
    exit_code(run_with(parse_app(&APP)))
}

fn run_with(Cli { data, mut config, threads, device, out }: Cli) -> Result<()> {
    let device = device.choose()?;
    if config.roots.is_empty() {
        config.roots = TABLE_2.iter().map(|subtree| subtree.root.to_owned()).collect();
    }
    let threads = threads.start()?;
    let embeddings = data.embeddings()?;
    let read = edges::read(&data.edges, &data.layout)?;
    let ReadGraph { graph, read_as } = &read;
    say!("{}: {read_as}", data.edges.display());
    say!("{} nodes, {} points, d = {}", graph.names.len(), embeddings.names.len(), embeddings.points.width());
    let metrics = threads
        .run(|| super::separate(&data.embedding, &embeddings, &data.edges, &read, &config, &out, &device))?;
    report(&metrics);
    say!("written to {}", out.display());
    Ok(())
}

fn report(metrics: &SubtreeMetrics) {
    say!(
        "test F1 in %, mean and 95 % interval of {} seeds, {:.1} s; beside it Ganea et al. 2018, Table 2",
        metrics.config.seeds,
        metrics.seconds
    );
    let width = metrics.rows.iter().map(|row| row.root.chars().count()).max().unwrap_or(0);
    for row in &metrics.rows {
        let published = published(&row.root, row.classifier, metrics.dim);
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

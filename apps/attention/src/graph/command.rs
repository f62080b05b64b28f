//! The command line of `graph`.

use std::path::PathBuf;

use clap::Parser;
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::{RUN, parse_app_with};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{output, say};

use super::labelled_graph::LabelledGraph;
use super::{GraphConfig, GraphMetrics, classify, published};
use crate::attention::Scores;

/// The application `graph`.
pub const APP: Application = Application {
    name: "graph",
    about: "Classifies the nodes of a graph by graph attention, trained on a few nodes of known class. The \
        attention score can be chosen (Veličković et al. 2018; Gulcehre et al. 2019; Tseng et al. 2023).",
    examples: [
        "graph --path data/cora --table --seeds 20",
        "graph --path data/cora --attention polar-distance --learn-sharpness --aggregate barycentre",
        "graph --path data/citeseer --attention penumbral --light 2 --dropout 0.5",
    ],
    needs: &["--path", "none"],
    commands: &[(
        "`graph --path DIR --attention NAME …`",
        "classifies the nodes of a graph, trained on a few labelled ones, by graph attention with any score; \
         `--seeds N` for an interval",
    )],
    writes: "`seed-N.json` in place of a checkpoint; of the first seed `model.safetensors`, `curves.svg`, \
        queries and keys in `embeddings-LAYER.svg`",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    /// Directory of the graph: labels.txt, edges.tsv, split.tsv, and features.txt or features.tsv; each
    /// plain or .gz. Without features, each node is its own feature.
    #[arg(long, help_heading = "Data")]
    path: PathBuf,
    #[command(flatten)]
    config: GraphConfig,
    /// Train with every attention score in turn. The results of each go to the subdirectory of --out with
    /// its name.
    #[arg(long, conflicts_with = "attention", help_heading = "Training")]
    table: bool,
    /// Then also train the first seed without dropout, into the subdirectory without-dropout of --out: its
    /// pictures beside those of the run itself are Figures 9 and 8 of Gulcehre et al. 2019.
    #[arg(long, conflicts_with = "table", help_heading = "Training")]
    without_dropout: bool,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/graph", help_heading = RUN)]
    out: PathBuf,
    /// Reuse the results of seeds that are already in the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
}

/// Runs the command `graph` with the process's arguments. `--attention` offers these scores, so a program
/// can add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an
/// error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli = parse_app_with(&APP, |command| scores.offer(command));
    exit_code(run_with(&cli, scores))
}

fn run_with(cli: &Cli, scores: &Scores) -> Result<()> {
    let device = cli.device.choose()?;
    let configs: Vec<GraphConfig> = match cli.table {
        true => scores.iter().map(|score| cli.config.with_score(score.name())).collect(),
        false => vec![cli.config.clone()],
    };
    configs.iter().try_for_each(|config| config.check(scores).map(drop))?;
    let threads = cli.threads.start()?;
    let graph = LabelledGraph::read(&cli.path)?;
    graph.read_as.iter().for_each(|sentence| say!("{sentence}"));
    say!(
        "{}: {} nodes, {} edges (in both directions, with self-loops), {} features, {} classes; \
         {} nodes for training, {} for validation, {} for testing",
        graph.name,
        graph.nodes(),
        graph.edges.pairs().len(),
        graph.features.columns(),
        graph.class_count,
        graph.train.len(),
        graph.validation.len(),
        graph.test.len()
    );
    let run = |config: &GraphConfig, out: PathBuf| -> Result<()> {
        let (resume, device) = (cli.resume, device.clone());
        let options = RunOptions { out, resume, checkpoint_every: 0, device, ranks: None };
        report(&threads.run(|| classify(&graph, config, scores, &options))?);
        Ok(())
    };
    let _held = cli.table.then(|| output::hold(&cli.out)).transpose()?;
    for config in &configs {
        run(config, if cli.table { cli.out.join(&config.attention) } else { cli.out.clone() })?;
        if cli.without_dropout {
            let undropped = GraphConfig { dropout: 0.0, seeds: 1, ..config.clone() };
            run(&undropped, cli.out.join("without-dropout"))?;
        }
    }
    say!("written to {}", cli.out.display());
    Ok(())
}

fn report(metrics: &GraphMetrics) {
    say!("test accuracy in %, mean and 95 % interval of {} seeds", metrics.outcomes.len());
    let GraphMetrics { config, parameters, .. } = metrics;
    say!("{:>15}  this run, {} attention, {parameters} parameters", metrics.test.percent(), config.attention);
    for (accuracy, source) in published(&metrics.graph, &metrics.config) {
        say!("{accuracy:>15.1}  {source}");
    }
}

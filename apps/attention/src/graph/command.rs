//! The command `graph`.

use std::path::PathBuf;

use clap::Parser;
use cotangent_apps_common::command_line::{RUN, parse_with};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;

use super::labelled_graph::LabelledGraph;
use super::{Config, Metrics, classify, published};
use crate::attention::{AttentionOptions, Scores};

const EXAMPLES: &str = "\
Examples:
  graph --path data/cora --attention additive --seeds 20
  graph --path data/cora --attention polar-distance --learn-sharpness --aggregate barycentre
  graph --path data/citeseer --attention penumbral --light 2 --dropout 0.5";

/// Learns the classes of a graph's nodes from those of a few, by graph attention with any score
/// (Veličković et al. 2018; Gulcehre et al. 2019; Tseng et al. 2023).
#[derive(Parser)]
#[command(name = "graph", version, after_help = EXAMPLES)]
struct Cli {
    /// Directory of the graph: labels.txt, edges.tsv, split.tsv, features.txt or features.tsv, each
    /// plain or .gz.
    #[arg(long, help_heading = "Data")]
    path: PathBuf,
    /// What weights are made of.
    #[arg(long, default_value = "additive", help_heading = "Model")]
    attention: String,
    #[command(flatten)]
    options: AttentionOptions,
    /// Heads of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    heads: usize,
    /// Dimensions of each of them.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    head_dim: usize,
    /// Heads of the last layer, whose mean is the result.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    output_heads: usize,
    /// Rate of dropout of features, weights and values.
    #[arg(long, default_value_t = 0.6, allow_negative_numbers = true, help_heading = "Model")]
    dropout: f64,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// The loss has half this times the square of each weight.
    #[arg(long, default_value_t = 0.0005, allow_negative_numbers = true, help_heading = "Training")]
    decay: f64,
    /// Epochs with a worse validation loss and accuracy than the best after which training ends.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    patience: u64,
    /// Most epochs.
    #[arg(long, default_value_t = 100_000, help_heading = "Training")]
    epochs: u64,
    /// First seed, of weights and dropout.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    seed: u64,
    /// Seeds, for the 95 % interval; they are trained side by side.
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    seeds: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    #[command(flatten)]
    device: DeviceOption,
    /// Output directory.
    #[arg(long, default_value = "runs/graph", help_heading = RUN)]
    out: PathBuf,
    /// Take seeds that are done already from the output directory.
    #[arg(long, help_heading = RUN)]
    resume: bool,
}

/// Runs the command `graph` with the process's arguments, and with these scores to choose from. A program
/// that calls it with [`Scores::with`] has a score of its own under its own name.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let choices = scores.choices();
    let cli = parse_with(|command| command.mut_arg("attention", |score| score.value_parser(choices)));
    exit_code(run_with(cli, scores))
}

fn run_with(cli: Cli, scores: &Scores) -> Result<()> {
    let device = cli.device.choose()?;
    let config = Config {
        attention: cli.attention,
        options: cli.options,
        heads: cli.heads,
        head_dim: cli.head_dim,
        output_heads: cli.output_heads,
        dropout: cli.dropout,
        lr: cli.lr,
        decay: cli.decay,
        patience: cli.patience,
        epochs: cli.epochs,
        seed: cli.seed,
        seeds: cli.seeds,
    };
    config.check(scores)?;
    let threads = cli.threads.start()?;
    let graph = LabelledGraph::read(&cli.path)?;
    say!(
        "{}: {} nodes, {} edges with both directions and loops, {} features, {} classes; \
         {} to train on, {} to select by, {} to test on",
        graph.name,
        graph.nodes(),
        graph.edges.pairs().len(),
        graph.features.columns(),
        graph.class_count,
        graph.train.len(),
        graph.validation.len(),
        graph.test.len()
    );
    let options = RunOptions { out: cli.out, resume: cli.resume, checkpoint_every: 0, device };
    let metrics = threads.run(|| classify(&graph, &config, scores, &options))?;
    report(&metrics);
    say!("written to {}", options.out.display());
    Ok(())
}

fn report(metrics: &Metrics) {
    say!("test accuracy in %, mean and 95 % interval of {} seeds", metrics.outcomes.len());
    say!("{:>15}  this run, {} parameters", metrics.test.percent(), metrics.parameters);
    for (accuracy, source) in published(&metrics.graph, &metrics.config) {
        say!("{accuracy:>15.1}  {source}");
    }
}

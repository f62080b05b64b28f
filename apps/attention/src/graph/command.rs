//! The command line of `graph`.

use std::path::PathBuf;

use clap::Parser;
use cotangent_apps_common::command_line::{RUN, parse_with};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{output, say};

use super::labelled_graph::LabelledGraph;
use super::{Config, Metrics, classify, published};
use crate::attention::{AttentionOptions, Scores};

const EXAMPLES: &str = "\
Examples:
  graph --path data/cora --table --seeds 20
  graph --path data/cora --attention polar-distance --learn-sharpness --aggregate barycentre
  graph --path data/citeseer --attention penumbral --light 2 --dropout 0.5";

/// Classifies the nodes of a graph by graph attention, trained on a few nodes of known class. The
/// attention score can be chosen (Veličković et al. 2018; Gulcehre et al. 2019; Tseng et al. 2023).
#[derive(Parser)]
#[command(name = "graph", version, after_help = EXAMPLES)]
struct Cli {
    /// Directory of the graph: labels.txt, edges.tsv, split.tsv, and features.txt or features.tsv; each
    /// plain or .gz. Without features, each node is its own feature.
    #[arg(long, help_heading = "Data")]
    path: PathBuf,
    /// Attention score: how well a query and a key fit.
    #[arg(long, default_value = "additive", help_heading = "Model")]
    attention: String,
    #[command(flatten)]
    options: AttentionOptions,
    /// Number of attention heads of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    heads: usize,
    /// Dimensions of each head of the first layer.
    #[arg(long, default_value_t = 8, help_heading = "Model")]
    head_dim: usize,
    /// Number of attention heads of the last layer; the output is their mean.
    #[arg(long, default_value_t = 1, help_heading = "Model")]
    output_heads: usize,
    /// Dropout rate of features, attention weights and values, from 0 to below 1.
    #[arg(long, default_value_t = 0.6, allow_negative_numbers = true, help_heading = "Model")]
    dropout: f64,
    /// Learning rate of Adam.
    #[arg(long, default_value_t = 0.005, allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Weight decay: the loss includes half this number times the sum of all squared weights. Biases
    /// are left out.
    #[arg(long, default_value_t = 0.0005, allow_negative_numbers = true, help_heading = "Training")]
    decay: f64,
    /// Decay biases too. With --patience 1000 --last this is the protocol of Tseng et al. 2023; the default
    /// is that of Veličković et al. 2018.
    #[arg(long, help_heading = "Training")]
    decay_biases: bool,
    /// Stop after this many epochs in a row in which both validation loss and validation accuracy are
    /// worse than their best so far; with --last, in which neither is better.
    #[arg(long, default_value_t = 100, help_heading = "Training")]
    patience: u64,
    /// Test the model of the last epoch [default: that of the last epoch in which both were at least as good
    /// as before].
    #[arg(long, help_heading = "Training")]
    last: bool,
    /// Largest number of epochs.
    #[arg(long, default_value_t = 100_000, help_heading = "Training")]
    epochs: u64,
    /// First seed; a seed determines initial weights and dropout. Same seed, same result, for any number
    /// of threads.
    #[arg(long, default_value_t = 42, help_heading = "Training")]
    seed: u64,
    /// Number of runs, with consecutive seeds, trained in parallel; two or more give a 95 % confidence
    /// interval.
    #[arg(long, default_value_t = 1, help_heading = "Training")]
    seeds: u64,
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
    let choices = scores.choices();
    let cli: Cli = parse_with(|command| command.mut_arg("attention", |score| score.value_parser(choices)));
    exit_code(run_with(&cli, scores))
}

impl Cli {
    /// The configuration of a run.
    fn config(&self, scores: &Scores, attention: &str) -> Result<Config> {
        let config = Config {
            attention: attention.to_owned(),
            options: self.options,
            heads: self.heads,
            head_dim: self.head_dim,
            output_heads: self.output_heads,
            dropout: self.dropout,
            lr: self.lr,
            decay: self.decay,
            decay_biases: self.decay_biases,
            last: self.last,
            patience: self.patience,
            epochs: self.epochs,
            seed: self.seed,
            seeds: self.seeds,
        };
        config.check(scores)?;
        Ok(config)
    }
}

fn run_with(cli: &Cli, scores: &Scores) -> Result<()> {
    let device = cli.device.choose()?;
    let names: Vec<&str> = match cli.table {
        true => scores.iter().map(|score| score.name()).collect(),
        false => vec![&cli.attention],
    };
    let configs: Vec<Config> = names.iter().map(|name| cli.config(scores, name)).collect::<Result<_>>()?;
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
    let run = |config: &Config, out: PathBuf| -> Result<()> {
        let options = RunOptions { out, resume: cli.resume, checkpoint_every: 0, device: device.clone() };
        report(&threads.run(|| classify(&graph, config, scores, &options))?);
        Ok(())
    };
    let _held = cli.table.then(|| output::hold(&cli.out)).transpose()?;
    for config in &configs {
        run(config, if cli.table { cli.out.join(&config.attention) } else { cli.out.clone() })?;
        if cli.without_dropout {
            let undropped = Config { dropout: 0.0, seeds: 1, ..config.clone() };
            run(&undropped, cli.out.join("without-dropout"))?;
        }
    }
    say!("written to {}", cli.out.display());
    Ok(())
}

fn report(metrics: &Metrics) {
    say!("test accuracy in %, mean and 95 % interval of {} seeds", metrics.outcomes.len());
    let Metrics { config, parameters, .. } = metrics;
    say!("{:>15}  this run, {} attention, {parameters} parameters", metrics.test.percent(), config.attention);
    for (accuracy, source) in published(&metrics.graph, &metrics.config) {
        say!("{accuracy:>15.1}  {source}");
    }
}

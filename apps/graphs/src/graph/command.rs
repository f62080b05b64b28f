//! The command line of `graph`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::{RUN, parse_app_with};
use cotangent_apps_common::device::DeviceOption;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::options::RunOptions;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_common::{output, say};

use super::{
    GeneratedGraphs, GraphConfig, GraphData, GraphMetrics, Split, WITHOUT_DROPOUT, classify, published,
};

/// The application `graph`.
pub const APP: Application = Application {
    name: "graph",
    about: "Classifies the nodes of a graph by graph attention, trained on a few nodes of known class, or \
        finds the labels of the nodes of unseen graphs. The attention score can be chosen (Veličković et \
        al. 2018; Gulcehre et al. 2019; Tseng et al. 2023).",
    examples: [
        "graph --path data/cora --table --seeds 20",
        "graph --path data/cora --attention polar-distance --learn-sharpness --aggregate barycentre",
        "graph --path data/ppi --attention penumbral --last",
    ],
    needs: &["--path", "none"],
    commands: &[
        (
            "`graph --path DIR --attention NAME …`",
            "classifies the nodes of a graph, trained on a few labelled ones, by graph attention with \
             any score; or finds the labels of nodes of unseen graphs (PPI's format); `--seeds N` for an \
             interval",
        ),
        (
            "`graph generate --graphs N --out DIR`",
            "writes random graphs in PPI's format, whose labels one neighbour of a node decides",
        ),
    ],
    writes: "`seed-N.json` in place of a checkpoint; of the first seed `model.safetensors`, `curves.svg`, \
        queries and keys in `embeddings-LAYER.svg`; of `generate` graphs alone",
};

#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    train: Train,
}

#[derive(Subcommand)]
enum Command {
    /// Write random graphs, whose nodes have labels that one of their neighbours decides.
    Generate(Generate),
}

#[derive(Args)]
struct Generate {
    #[command(flatten)]
    graphs: GeneratedGraphs,
    /// Output directory: for each of train, valid and test a graph.json, feats.npy, labels.npy and
    /// graph_id.npy.
    #[arg(long, default_value = "runs/graphs", help_heading = RUN)]
    out: PathBuf,
}

#[derive(Args)]
struct Train {
    /// Directory of one graph: labels.txt, edges.tsv, split.tsv, and features.txt or features.tsv; without
    /// features, each node is its own feature. Or of several graphs as DGL distributes PPI: for each of
    /// train, valid and test a graph.json, feats.npy, labels.npy and graph_id.npy. Each plain or .gz.
    #[arg(long, required = true, help_heading = "Data")]
    path: Option<PathBuf>,
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
    /// Output directory. The files of an earlier run there go to its subdirectory "previous-1", or the next
    /// number that is free.
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
    exit_code(match &cli.command {
        Some(Command::Generate(options)) => generate(options),
        None => train(&cli.train, scores),
    })
}

fn generate(options: &Generate) -> Result<()> {
    options.graphs.check()?;
    let _held = output::hold(&options.out)?;
    let graphs = options.graphs.generate();
    graphs.write(&options.out)?;
    describe(&GraphData::Graphs(graphs));
    say!("written to {}", options.out.display());
    Ok(())
}

/// Says what the data are.
fn describe(data: &GraphData) {
    data.read_as().iter().for_each(|sentence| say!("{sentence}"));
    let (name, [nodes, edges, features], [_, classes]) = (data.name(), data.sizes(), data.widths());
    let edges = format!("{edges} edges (in both directions, with self-loops), {features} features");
    match data.split_graphs() {
        None => {
            let [train, validation, test] = data.split_nodes();
            say!(
                "{name}: {nodes} nodes, {edges}, {classes} classes; {train} nodes for training, {validation} \
                 for validation, {test} for testing"
            );
        }
        Some([train, validation, test]) => say!(
            "{name}: {} graphs, {nodes} nodes, {edges}, {classes} labels; {train} graphs for training, \
             {validation} for validation, {test} for testing",
            train + validation + test
        ),
    }
}

fn train(cli: &Train, scores: &Scores) -> Result<()> {
    let device = cli.device.choose()?;
    let configs: Vec<GraphConfig> = match cli.table {
        true => scores.iter().map(|score| cli.config.with_score(score.name())).collect(),
        false => vec![cli.config.clone()],
    };
    configs.iter().try_for_each(|config| config.check(scores).map(drop))?;
    let threads = cli.threads.start()?;
    let path = cli.path.as_ref().expect("clap requires it");
    let data = GraphData::read(path)?;
    describe(&data);
    let run = |config: &GraphConfig, out: PathBuf| -> Result<()> {
        let (resume, device) = (cli.resume, device.clone());
        let options = RunOptions { out, all_seeds: None, resume, checkpoint_every: 0, device, ranks: None };
        report(&threads.run(|| classify(&data, config, scores, &options))?);
        Ok(())
    };
    let _held = cli.table.then(|| output::hold(&cli.out)).transpose()?;
    for config in &configs {
        run(config, if cli.table { cli.out.join(&config.attention) } else { cli.out.clone() })?;
        if cli.without_dropout {
            let undropped = GraphConfig { dropout: Some(0.0), seeds: 1, ..config.clone() };
            run(&undropped, cli.out.join(WITHOUT_DROPOUT))?;
        }
    }
    say!("written to {}", cli.out.display());
    Ok(())
}

fn report(metrics: &GraphMetrics) {
    let split = if metrics.graphs.is_some() { Split::Graphs } else { Split::Nodes };
    let (measure, seeds) = (split.measure(), metrics.outcomes.len());
    say!("test {measure} in %, mean and 95 % interval of {seeds} seeds");
    let GraphMetrics { config, parameters, .. } = metrics;
    say!("{:>15}  this run, {} attention, {parameters} parameters", metrics.test.percent(), config.attention);
    for (accuracy, source) in published(&metrics.graph, &metrics.config) {
        say!("{accuracy:>15.1}  {source}");
    }
}

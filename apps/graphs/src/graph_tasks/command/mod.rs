//! The command line of `graph-tasks`.

mod generate;
mod train;

use clap::{Parser, Subcommand};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::parse_app_with;
use cotangent_apps_common::error::exit_code;

pub use generate::GraphSummary;

use super::links::{self, Links};
use cotangent_apps_common::attention::Scores;

/// The application `graph-tasks`.
pub const APP: Application = Application {
    name: "graph-tasks",
    about: "Answers questions about two nodes of a random hyperbolic graph by a recursive transformer with \
        hyperbolic or Euclidean attention: whether there is an edge, how long the shortest path is (Gulcehre \
        et al. 2019). Predicts links of real graphs by graph convolution (Chami et al. 2019).",
    examples: [
        "graph-tasks generate --nodes 1000",
        "graph-tasks train --task path --nodes 100 --table --seeds 3",
        "graph-tasks links --data-dir data --data disease --seeds 10",
    ],
    needs: &["train", "--task", "path", "--nodes", "100"],
    commands: &[
        (
            "`graph-tasks generate --nodes N --out DIR`",
            "writes a random hyperbolic graph, and draws it and the lessons of a curriculum in the disc",
        ),
        (
            "`graph-tasks train --task link\\|link-removed\\|path --nodes N --geometry NAME …`",
            "trains a model to answer a question about two nodes: is there an edge, or how long is the path? \
             Random hyperbolic graphs are made while it trains, from small slices of the disc at first",
        ),
        (
            "`graph-tasks links --data-dir DIR --data NAME …`",
            "predicts held-out edges of a graph by hyperbolic or Euclidean graph convolution: the protocol \
             of Chami et al. 2019 (HGCN); `--seeds N` for an interval",
        ),
    ],
    writes: "of `generate` `edges.tsv`, `coordinates.tsv`, `disc.svg`, `curriculum.svg` and no checkpoint; \
        of the others `model.safetensors` (the last one; of `links` the best by validation), `curves.svg`; \
        of `train` `accuracy.svg` (by path length), `radii.svg` (of queries and keys)",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Writes a random hyperbolic graph, and draws it and the lessons of a curriculum.
    Generate(generate::Generate),
    /// Trains a model on random graphs, made during training, and tests it.
    Train(Box<train::Train>),
    /// Predicts held-out edges of a graph by graph convolution, hyperbolic or Euclidean.
    Links(Box<Links>),
}

/// Runs the command `graph-tasks` with the process's arguments. `--attention` offers these scores, so a
/// program can add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2
/// after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli =
        parse_app_with(&APP, |command| command.mut_subcommand("train", |train| scores.offer(train)));
    exit_code(match cli.command {
        Command::Generate(generate) => generate::generate(&generate),
        Command::Train(train) => train.run(scores),
        Command::Links(links) => links::command(&links),
    })
}

//! The command line of `tours`.

mod plot;
mod solve;
mod train;

use std::path::Path;

use clap::{Parser, Subcommand};
use cotangent::optim::train::{MODEL, load_model};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::attention::Scores;
use cotangent_apps_common::command_line::parse_app_with;
use cotangent_apps_common::error::{Result, exit_code};
use cotangent_apps_common::{metrics, output};

pub use solve::SolveMetrics;

use super::TourMetrics;
use super::model::ValueNetwork;

/// The application `tours`.
pub const APP: Application = Application {
    name: "tours",
    about: "Learns tours of the travelling salesman by Q-learning, whose value network is a recursive \
        transformer with hyperbolic or Euclidean attention (Gulcehre et al. 2019, appendix A.5), and \
        compares them with the shortest ones.",
    examples: [
        "tours train --cities 10 --table --seeds 3",
        "tours solve cities.tsp --model runs/tours",
        "tours plot --model runs/tours --out runs/pictures",
    ],
    needs: &["train"],
    commands: &[
        (
            "`tours train --cities N --geometry polar\\|weierstrass\\|euclidean …`",
            "learns tours of the travelling salesman through N random cities by Q-learning with a \
             recursive transformer; `--table` compares the geometries, `--seeds N` for an interval",
        ),
        (
            "`tours solve FILE [--model DIR]`; `tours plot --model DIR`",
            "a tour of the cities in a file (TSPLIB's or a table): by a model, and the shortest by Held-Karp \
             or 2-opt; a model's tours drawn beside the shortest",
        ),
    ],
    writes: "of `train` `model.safetensors` (the last one), `curves.svg`, `tours.svg`; of `solve` \
        `tour.tsv`, `tour.svg` and no checkpoint; of `plot` `tours.svg` alone",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Trains an agent on random cities, and tests it.
    Train(Box<train::Train>),
    /// Finds a tour of the cities in a file.
    Solve(solve::Solve),
    /// Draws tours of a trained agent.
    Plot(plot::Plot),
}

/// Runs the command `tours` with the process's arguments. `--attention` offers these scores, so a program can
/// add a score of its own by [`Scores::with`]. Returns the exit code of the process: 0, or 2 after an error.
pub fn run(scores: &Scores) -> std::process::ExitCode {
    let cli: Cli = parse_app_with(&APP, |command| {
        command.mut_subcommand("train", |train| scores.offer(train)).mut_subcommand("solve", |solve| {
            ["samples", "temperature"]
                .into_iter()
                .fold(solve, |solve, name| solve.mut_arg(name, |option| option.requires("model")))
        })
    });
    exit_code(match cli.command {
        Command::Train(train) => train.run(scores),
        Command::Solve(solve) => solve.run(scores),
        Command::Plot(plot) => plot.run(scores),
    })
}

/// The results of a training and its value network, from its output directory.
fn load(directory: &Path, scores: &Scores) -> Result<(TourMetrics, ValueNetwork)> {
    let found: TourMetrics = metrics::read_json(&directory.join("metrics.json"))?;
    let score = found.config.check(scores)?;
    let mut network = ValueNetwork::new(&found.config, &*score);
    let run = output::fingerprint(&found.config, 0);
    load_model(&mut network, &directory.join(MODEL), Some(&run))?;
    Ok((found, network))
}

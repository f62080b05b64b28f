//! Fine-grained types of entities from the command line: train, predict, evaluate, nearest types, pictures.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod evaluate;
mod inputs;
mod nearest;
mod pictures;
mod predict;
mod table;
mod train;

use clap::{Parser, Subcommand};
use cotangent_apps_common::command_line::parse;
use cotangent_apps_common::error::{AppError, exit_code};

const EXAMPLES: &str = "\
Examples:
  typing train --train train.tsv --dev dev.tsv --test test.tsv --words glove.txt --types types.txt
  typing predict sentences.tsv --model runs/typing
  typing nearest artist --model runs/typing --count 5";

/// Finds the types of entities in their sentences, in hyperbolic or Euclidean space (López & Strube 2020).
///
/// `typing train` learns them from typed mentions, `typing predict` finds those of other mentions.
#[derive(Parser)]
#[command(name = "typing", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a model on typed mentions.
    #[command(after_help = EXAMPLES)]
    Train(Box<train::Train>),
    /// Predicts the types of mentions in plain text.
    Predict(predict::Predict),
    /// Computes precision, recall and F1 of a model on typed mentions.
    Evaluate(evaluate::Evaluate),
    /// Lists the types whose hyperplanes are nearest to that of a type.
    Nearest(nearest::NearestTypes),
    /// Draws the hyperplanes of some types, of a model trained with --dim 2.
    Hyperplanes(pictures::Hyperplanes),
    /// Draws queries and keys of the attention over contexts, projected to two dimensions.
    Attention(pictures::Attention),
    /// Draws the mean norm of text vectors by epoch, of one run or several.
    Norms(pictures::Norms),
}

fn main() -> std::process::ExitCode {
    exit_code(match parse::<Cli>().command {
        Some(Command::Train(args)) => train::train(&args),
        Some(Command::Predict(args)) => predict::predict(&args),
        Some(Command::Evaluate(args)) => evaluate::evaluate(&args),
        Some(Command::Nearest(args)) => nearest::nearest_types(&args),
        Some(Command::Hyperplanes(args)) => pictures::hyperplanes(&args),
        Some(Command::Attention(args)) => pictures::attention(&args),
        Some(Command::Norms(args)) => pictures::norms(&args),
        None => Err(AppError::usage("a command is needed: train, predict, evaluate, …; see --help")),
    })
}

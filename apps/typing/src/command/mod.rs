//! The command line of `typing`: train, predict, evaluate, nearest types, pictures.

mod evaluate;
mod inputs;
mod nearest;
mod pictures;
mod predict;
mod table;
mod train;

use clap::{Parser, Subcommand};
use cotangent_apps_common::application::Application;
use cotangent_apps_common::command_line::parse_app;
use cotangent_apps_common::error::{AppError, exit_code};

/// The application `typing`.
pub const APP: Application = Application {
    name: "typing",
    about: "Finds the types of entities in their sentences, in hyperbolic or Euclidean space (López & \
        Strube 2020).\n\n`typing train` learns them from typed mentions, `typing predict` finds those of \
        other mentions.",
    examples: [
        "typing train --train train.tsv --dev dev.tsv --test test.tsv --words glove.txt --types types.txt",
        "typing predict sentences.tsv --model runs/typing",
        "typing nearest artist --model runs/typing --count 5",
    ],
    needs: &["train", "--train", "none", "--dev", "none", "--words", "none"],
    commands: &[(
        "`typing train --train FILE --dev FILE --words VECTORS …`; `predict FILE`; `evaluate FILE`; \
         `nearest TYPE`; `hyperplanes`, `attention`, `norms`",
        "the types of entities in their sentences (López & Strube 2020): each part of the model, from \
         characters to logits, is hyperbolic or Euclidean; pictures of it",
    )],
    writes: "`model.safetensors` (the best on dev), `curves.svg`, files of the model",
};

#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Trains a model on typed mentions.
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

/// Runs the command `typing` with the process's arguments. Returns the exit code of the process: 0, or 2
/// after an error.
pub fn run() -> std::process::ExitCode {
    exit_code(match parse_app::<Cli>(&APP).command {
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

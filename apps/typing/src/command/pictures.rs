//! `typing hyperplanes`, `typing attention` and `typing norms`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{metrics, say};

use super::inputs::{ModelOptions, in_precision};
use crate::pictures;
use crate::train::TypingMetrics;

#[derive(Args)]
pub(crate) struct Hyperplanes {
    /// The types whose hyperplanes are drawn, with commas between them.
    #[arg(long, default_value = "person,artist,musician", value_delimiter = ',', help_heading = "Data")]
    types: Vec<String>,
    /// Typed mentions whose text vectors are drawn too, in the colours of these types.
    #[arg(long, help_heading = "Data")]
    data: Option<PathBuf>,
    /// The picture, SVG.
    #[arg(long, default_value = "hyperplanes.svg", help_heading = "Run")]
    out: PathBuf,
    #[command(flatten)]
    model: ModelOptions,
}

#[derive(Args)]
pub(crate) struct Attention {
    /// Mentions, in a format of `typing train`. The first thousand words of their contexts are drawn.
    data: PathBuf,
    /// The picture, SVG.
    #[arg(long, default_value = "attention.svg", help_heading = "Run")]
    out: PathBuf,
    #[command(flatten)]
    model: ModelOptions,
}

#[derive(Args)]
pub(crate) struct Norms {
    /// Directories of trained models: each gets a panel.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The picture, SVG.
    #[arg(long, default_value = "norms.svg", help_heading = "Run")]
    out: PathBuf,
}

/// Draws hyperplanes.
pub(crate) fn hyperplanes(args: &Hyperplanes) -> Result<()> {
    if args.data.is_none() && args.model.words.is_some() {
        return Err(AppError::usage("--words: they are those of the mentions of --data"));
    }
    let precision = args.model.precision()?;
    args.model.threads()?.run(|| {
        in_precision!(precision, T => {
            let (typer, examples) = match &args.data {
                Some(path) => args.model.read_with_examples::<T>(path)?,
                None => (args.model.model.read_without_words()?, Vec::new()),
            };
            let number = |name: &String| typer.description.types.number(name).map_err(AppError::usage);
            let shown: Vec<u32> = args.types.iter().map(number).collect::<Result<_>>()?;
            pictures::hyperplanes(&args.out, &typer, &examples, &shown)
        })
    })?;
    say!("written to {}", args.out.display());
    Ok(())
}

/// Draws queries and keys.
pub(crate) fn attention(args: &Attention) -> Result<()> {
    let precision = args.model.precision()?;
    args.model.threads()?.run(|| {
        in_precision!(precision, T => {
            let (typer, examples) = args.model.read_with_examples::<T>(&args.data)?;
            pictures::queries_and_keys(&args.out, &typer, &examples)
        })
    })?;
    say!("written to {}", args.out.display());
    Ok(())
}

/// Draws norms by epoch.
pub(crate) fn norms(args: &Norms) -> Result<()> {
    let runs = args.runs.iter().map(|run| metrics::read_json(&run.join("metrics.json")));
    let runs: Vec<TypingMetrics> = runs.collect::<Result<_>>()?;
    pictures::norms(&args.out, &runs)?;
    say!("written to {}", args.out.display());
    Ok(())
}

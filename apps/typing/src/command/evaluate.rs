//! `typing evaluate`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_common::{print, say};

use super::inputs::{ModelOptions, in_precision};
use crate::metrics::Figures;

#[derive(Args)]
pub(crate) struct Evaluate {
    /// Typed mentions, in a format of `typing train`. Those without types are left out.
    data: PathBuf,
    /// A type is predicted if its probability is above this [default: that of the training].
    #[arg(long, allow_negative_numbers = true, help_heading = "Data")]
    threshold: Option<f64>,
    #[command(flatten)]
    model: ModelOptions,
}

/// Prints the figures of a model.
pub(crate) fn evaluate(args: &Evaluate) -> Result<()> {
    options::below_one(&[("threshold", args.threshold.unwrap_or(0.0))])?;
    let precision = args.model.precision()?;
    let figures: Figures = args.model.threads()?.run(|| {
        in_precision!(precision, T => {
            let (typer, mut examples) = args.model.read_with_examples::<T>(&args.data)?;
            let all = examples.len();
            examples.retain(|example| !example.types.is_empty());
            if examples.is_empty() {
                return Err(AppError::content(&args.data, format!("all {all} mentions are without types")));
            }
            if examples.len() < all {
                say!("left out: {} mentions without types", all - examples.len());
            }
            typer.evaluate(&examples, args.threshold)
        })
    })?;
    print::event("result", &figures);
    say!("{} mentions, exact: {:.2} %; in %:", figures.mentions, 100.0 * figures.accuracy);
    figures.table().iter().for_each(|line| say!("{line}"));
    Ok(())
}

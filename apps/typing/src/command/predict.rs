//! `typing predict`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::{options, print, say};
use serde::Serialize;

use super::inputs::{ModelOptions, in_precision};
use crate::readers::plain;
use crate::typer::Predicted;

#[derive(Args)]
pub(crate) struct Predict {
    /// A file of plain text, with three columns split by tabs: the text before a mention, the mention, the
    /// text after it. JSON lines in a format of `typing train` are read too. "-" reads standard input.
    data: PathBuf,
    /// A type is predicted if its probability is above this [default: that of the training]. If none is, the
    /// most probable one is predicted.
    #[arg(long, allow_negative_numbers = true, help_heading = "Data")]
    threshold: Option<f64>,
    #[command(flatten)]
    model: ModelOptions,
}

/// A mention and its types, as a JSON object.
#[derive(Serialize)]
struct Typed<'a> {
    mention: String,
    types: &'a [Predicted],
}

/// Prints the types of each mention, a line for each.
pub(crate) fn predict(args: &Predict) -> Result<()> {
    options::below_one(&[("threshold", args.threshold.unwrap_or(0.0))])?;
    let path = if args.data.as_os_str() == "-" { "/dev/stdin".as_ref() } else { args.data.as_path() };
    let precision = args.model.precision()?;
    let mut mentions = plain::read(path)?;
    // Types that the file may have are not asked for.
    mentions.list.iter_mut().for_each(|mention| mention.types.clear());
    args.model.threads()?.run(|| {
        in_precision!(precision, T => {
            let typer = args.model.read::<T>(&mentions)?;
            let predicted = typer.predict(&mentions.list, args.threshold)?;
            for (mention, types) in mentions.list.iter().zip(&predicted) {
                print::event("result", &Typed { mention: mention.text(), types });
                if !print::style().json {
                    let list = types.iter().map(|found| format!("{} {:.3}", found.name, found.probability));
                    say!("{}\t{}", mention.text(), list.collect::<Vec<_>>().join(", "));
                }
            }
            Ok(())
        })
    })
}

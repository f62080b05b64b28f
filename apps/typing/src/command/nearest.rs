//! `typing nearest`.

use clap::Args;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{options, print, say};

use super::inputs::{ModelOption, in_precision};
use crate::nearest::nearest;

#[derive(Args)]
pub(crate) struct NearestTypes {
    /// The name of a type.
    name: String,
    /// How many types are listed, the nearest first.
    #[arg(long, default_value_t = 5, help_heading = "Data")]
    count: usize,
    #[command(flatten)]
    model: ModelOption,
}

/// Lists the nearest types.
pub(crate) fn nearest_types(args: &NearestTypes) -> Result<()> {
    options::at_least_one(&[("count", args.count as u64)])?;
    in_precision!(args.model.precision()?, T => {
        let typer = args.model.read_without_words::<T>()?;
        let types = &typer.description.types;
        let number = types.number(&args.name).map_err(AppError::usage)?;
        let [points, _] = typer.hyperplanes();
        for near in nearest(types, &points, typer.space(), number, args.count) {
            print::event("result", &near);
            say!("{:>10.4}  {:<11} {}", near.distance, near.granularity.name(), near.name);
        }
        Ok(())
    })
}

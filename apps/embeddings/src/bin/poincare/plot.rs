//! `poincare plot`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;
use cotangent_apps_embeddings::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::Neighbours;
use cotangent_apps_embeddings::picture;

use crate::inputs::DrawingOptions;

#[derive(Args)]
pub(crate) struct Plot {
    #[command(flatten)]
    drawing: DrawingOptions,
    /// The picture to write, as SVG.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Draws an embedding.
pub(crate) fn plot(args: &Plot) -> Result<()> {
    let (Embeddings { names, points, geometry }, edges) = args.drawing.read()?;
    let neighbours = Neighbours::new(names.len(), || edges.iter().copied());
    picture::plot(&args.out, &names, &points, geometry, &neighbours, "")?;
    say!("written to {}", args.out.display());
    Ok(())
}

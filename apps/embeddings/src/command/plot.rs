//! `poincare plot`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::disk::Projection;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::{print, say};

use crate::command::inputs::DrawingOptions;
use crate::files::embeddings::Embeddings;
use crate::files::picture;
use crate::graph::Neighbours;

#[derive(Args)]
pub(crate) struct Plot {
    #[command(flatten)]
    drawing: DrawingOptions,
    /// How more than two dimensions become two [default: sectors for a hierarchy, else tangent].
    ///
    /// For tangent and horopca, the average distortion of distances is printed: the mean of |d'/d - 1| over
    /// pairs of points, d before and d' after the projection.
    #[arg(long, value_enum, help_heading = RUN)]
    projection: Option<Projection>,
    /// The picture to write, as SVG.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Draws an embedding.
pub(crate) fn plot(args: &Plot) -> Result<()> {
    let (Embeddings { names, points, geometry, .. }, edges) = args.drawing.read()?;
    let neighbours = Neighbours::new(names.len(), || edges.iter().copied());
    let distortion = picture::plot(&args.out, &names, &points, geometry, &neighbours, args.projection, "")?;
    if let Some(distortion) = distortion {
        print::event("result", &distortion);
        say!("average distortion {:.4} of {} distances", distortion.average_distortion, distortion.pairs);
    }
    say!("written to {}", args.out.display());
    Ok(())
}

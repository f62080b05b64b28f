//! `poincare plot`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;
use cotangent_apps_embeddings::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::Neighbours;
use cotangent_apps_embeddings::picture;

use crate::inputs::EmbeddingOptions;

#[derive(Args)]
pub(crate) struct Plot {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list to draw; an edge u -> v is left out if there is a path u -> w -> v [default: draw no edges].
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// The picture to write, as SVG.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Draws an embedding.
pub(crate) fn plot(args: &Plot) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let edges = args.embedding.direct_edges(&embeddings, args.edges.as_deref())?;
    let Embeddings { names, points, geometry } = &embeddings;
    picture::plot(
        &args.out,
        names,
        points,
        *geometry,
        &Neighbours::new(names.len(), || edges.iter().copied()),
        "",
    )?;
    say!("written to {}", args.out.display());
    Ok(())
}

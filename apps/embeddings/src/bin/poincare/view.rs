//! `poincare view`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;
use cotangent_apps_embeddings::view;

use crate::inputs::EmbeddingOptions;

#[derive(Args)]
pub(crate) struct View {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list to draw; an edge u -> v is left out if there is a path u -> w -> v [default: draw no edges].
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    /// The page to write, as HTML. It is one file and needs no network.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes a page to explore an embedding.
pub(crate) fn view(args: &View) -> Result<()> {
    let embeddings = args.embedding.read()?;
    let edges = args.embedding.direct_edges(&embeddings, args.edges.as_deref())?;
    view::write(&args.out, &embeddings, &edges, "")?;
    say!("written to {}", args.out.display());
    Ok(())
}

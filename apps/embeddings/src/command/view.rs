//! `poincare view`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::say;

use crate::command::inputs::DrawingOptions;
use crate::files::view;

#[derive(Args)]
pub(crate) struct View {
    #[command(flatten)]
    drawing: DrawingOptions,
    /// The page to write, as HTML. It is one file and needs no network.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes a page to explore an embedding.
pub(crate) fn view(args: &View) -> Result<()> {
    let (embeddings, edges) = args.drawing.read()?;
    view::write(&args.out, &embeddings, &edges, "")?;
    say!("written to {}", args.out.display());
    Ok(())
}

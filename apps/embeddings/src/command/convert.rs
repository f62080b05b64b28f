//! `poincare convert`.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::say;

use crate::command::inputs::EmbeddingOptions;
use crate::files;
use crate::files::embeddings::Blocks;
use crate::files::format::Format;

#[derive(Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// The file to write. White space in names becomes "_" in the formats of word2vec, which have none.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
    /// Format of the file [default: the one that its extension names].
    #[arg(long, value_enum, help_heading = RUN)]
    format: Option<Format>,
}

/// Writes an embedding in another format.
pub(crate) fn convert(args: &Convert) -> Result<()> {
    let named = || {
        let message = "its extension names no format; --format is needed";
        Format::named_by(&args.out).ok_or_else(|| AppError::content(&args.out, message))
    };
    let format = args.format.map_or_else(named, Ok)?;
    match args.embedding.parts()? {
        Some(parts) => write(&parts, &args.out, format),
        None => {
            let embeddings = args.embedding.read()?;
            write(&embeddings, &args.out, format)?;
            if embeddings.translation.is_some() && format != Format::Safetensors {
                say!("the translation is left out: only safetensors has a place for it");
            }
            Ok(())
        }
    }
}

fn write(points: &impl Blocks, out: &Path, format: Format) -> Result<()> {
    let outside = files::write(points, out, format)?;
    if outside > 0 {
        say!("{outside} points, rounded to f32, are none of {} any more", points.geometry());
    }
    let [count, width] = points.shape();
    say!("{count} points of {width} coordinates; written to {}", out.display());
    Ok(())
}

//! `poincare wordnet`.

use std::path::PathBuf;

use crate::graph::wordnet;
use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::say;

#[derive(Args)]
pub(crate) struct Wordnet {
    /// Directory of data.noun and index.noun (/usr/share/wordnet of the Debian package wordnet-base).
    #[arg(long, help_heading = "Data")]
    dict: PathBuf,
    /// Write only the subtree of this noun, for example mammal.n.01 [default: all nouns].
    #[arg(long, help_heading = "Data")]
    root: Option<String>,
    /// The edge list to write, as TSV: noun, tab, ancestor.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes a closure of nouns.
pub(crate) fn build_wordnet(args: &Wordnet) -> Result<()> {
    let nouns = wordnet::read(&args.dict)?;
    let pairs = nouns.closure(args.root.as_deref())?;
    cotangent::engine::files::atomic::write(&args.out, |w| {
        pairs.iter().try_for_each(|(child, ancestor)| writeln!(w, "{child}\t{ancestor}"))
    })
    .map_err(AppError::io(&args.out))?;
    let nodes: std::collections::HashSet<&str> = pairs.iter().flat_map(|(u, v)| [*u, *v]).collect();
    say!(
        "{} nouns, {} direct edges; wrote {} nodes, {} pairs to {}",
        nouns.names.len(),
        nouns.edges(),
        nodes.len(),
        pairs.len(),
        args.out.display()
    );
    Ok(())
}

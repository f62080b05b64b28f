//! `poincare wordnet`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::say;

use crate::graph::wordnet::{self, PartOfSpeech};

#[derive(Args)]
pub(crate) struct Wordnet {
    /// Directory of data.noun and index.noun, or those of verbs (/usr/share/wordnet of the Debian package
    /// wordnet-base).
    #[arg(long, help_heading = "Data")]
    dict: PathBuf,
    /// What the hierarchy is of.
    #[arg(long, value_enum, default_value_t, help_heading = "Data")]
    part_of_speech: PartOfSpeech,
    /// Write only the subtree of this synset, for example mammal.n.01 [default: all].
    #[arg(long, help_heading = "Data")]
    root: Option<String>,
    /// The edge list to write, as TSV: synset, tab, ancestor.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes a closure.
pub(crate) fn build_wordnet(args: &Wordnet) -> Result<()> {
    let synsets = wordnet::read(&args.dict, args.part_of_speech)?;
    let pairs = synsets.closure(args.root.as_deref())?;
    cotangent::engine::files::atomic::write(&args.out, |w| {
        pairs.iter().try_for_each(|(child, ancestor)| writeln!(w, "{child}\t{ancestor}"))
    })
    .map_err(AppError::io(&args.out))?;
    let nodes: std::collections::HashSet<&str> = pairs.iter().flat_map(|(u, v)| [*u, *v]).collect();
    say!(
        "{} synsets, {} direct edges; wrote {} nodes, {} pairs to {}",
        synsets.names.len(),
        synsets.edges(),
        nodes.len(),
        pairs.len(),
        args.out.display()
    );
    Ok(())
}

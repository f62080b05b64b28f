//! `poincare tree`.

use std::path::PathBuf;

use clap::Args;
use cotangent::engine::files::atomic;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::options;
use cotangent_apps_common::say;

#[derive(Args)]
pub(crate) struct Tree {
    /// Number of nodes. They are called 0, 1, 2 and so on, level by level from the root.
    #[arg(long, help_heading = "Data")]
    nodes: u64,
    /// Number of children of each node that is no leaf.
    #[arg(long, default_value_t = 2, help_heading = "Data")]
    branching: u64,
    /// The edge list to write, as TSV: child, tab, parent.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes the edges of a tree.
pub(crate) fn write_tree(args: &Tree) -> Result<()> {
    options::at_least_one(&[("branching", args.branching)])?;
    if args.nodes < 2 {
        return Err(AppError::usage(format!("--nodes {}: at least 2 are needed", args.nodes)));
    }
    if args.nodes > u64::from(u32::MAX) {
        let message = format!("--nodes {}: at most {} are possible, as in a training", args.nodes, u32::MAX);
        return Err(AppError::usage(message));
    }
    atomic::write(&args.out, |w| {
        (1..args.nodes).try_for_each(|node| writeln!(w, "{node}\t{}", (node - 1) / args.branching))
    })
    .map_err(AppError::io(&args.out))?;
    say!("{} nodes, {} edges; written to {}", args.nodes, args.nodes - 1, args.out.display());
    Ok(())
}

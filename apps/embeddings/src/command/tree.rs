//! `poincare tree`.

use std::path::{Path, PathBuf};

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
    /// Write the transitive closure: each node with all of its ancestors.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    /// The edge list to write, as TSV: child, tab, parent.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Writes the edge list of a tree.
pub(crate) fn write_tree(args: &Tree) -> Result<()> {
    options::at_least_one(&[("branching", args.branching)])?;
    if args.nodes < 2 {
        return Err(AppError::usage(format!("--nodes {}: at least 2 are needed", args.nodes)));
    }
    if args.nodes > u64::from(u32::MAX) {
        let message = format!("--nodes {}: at most {} are possible, as in a training", args.nodes, u32::MAX);
        return Err(AppError::usage(message));
    }
    let edges = write_edges(&args.out, args.nodes, args.branching, args.closure)?;
    say!("{} nodes, {edges} edges; written to {}", args.nodes, args.out.display());
    Ok(())
}

/// Writes each node of a tree with its parent, or with all of its ancestors. Returns the number of edges.
pub(crate) fn write_edges(path: &Path, nodes: u64, branching: u64, closure: bool) -> Result<u64> {
    let parent = |&node: &u64| node.checked_sub(1).map(|before| before / branching);
    let mut edges = 0;
    atomic::write(path, |w| {
        (1..nodes).try_for_each(|node| {
            let ancestors = std::iter::successors(parent(&node), parent);
            for ancestor in ancestors.take(if closure { usize::MAX } else { 1 }) {
                writeln!(w, "{node}\t{ancestor}")?;
                edges += 1;
            }
            Ok(())
        })
    })
    .map_err(AppError::io(path))?;
    Ok(edges)
}

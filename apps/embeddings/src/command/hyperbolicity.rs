//! `poincare hyperbolicity`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::options;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;

use crate::command::inputs::{Printed, read_edges};
use crate::graph::edges::{EdgeOptions, ReadGraph};
use crate::graph::hyperbolicity::{self, Hyperbolicity};

#[derive(Args)]
pub(crate) struct HyperbolicityArgs {
    /// Edge list, in the format of `train --edges`. Directions and weights are not used.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Use the direct edges of a closure: leave out u -> v if there are edges u -> w and w -> v.
    #[arg(long, help_heading = "Data")]
    reduction: bool,
    /// Number of quadruples of nodes that are drawn. A graph of at most 340 nodes is measured exactly.
    #[arg(long, default_value_t = 1_000_000, help_heading = "Data")]
    samples: u64,
    /// Seed of the draws.
    #[arg(long, default_value_t = 42, help_heading = "Data")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// Measures a graph.
pub(crate) fn measure_hyperbolicity(args: &HyperbolicityArgs) -> Result<()> {
    options::at_least_one(&[("samples", args.samples)])?;
    let threads = args.threads.start()?;
    let ReadGraph { graph, read_as } = read_edges(&args.edges, false, &args.layout)?;
    let edges = if args.reduction { graph.neighbours().reduction() } else { graph.pairs };
    let nodes = graph.names.len();
    let found = threads.run(|| hyperbolicity::hyperbolicity(nodes, &edges, args.samples, args.seed));
    print::event("result", &Printed { result: &found, read_as: &read_as });
    let Hyperbolicity { nodes, components, quadruples, delta, mean_delta, diameter, .. } = found;
    let (how, at_least) = if found.exact { ("all", "") } else { ("drawn", "at least ") };
    say!("{nodes} nodes in the largest of {components} components, {quadruples} quadruples ({how})");
    say!("delta {at_least}{delta}, mean {mean_delta:.4}, diameter {at_least}{diameter}");
    say!(
        "relative delta (2 delta / diameter): {:.4}; 0 for a tree, up to 1 for a cycle",
        found.relative_delta
    );
    match found.kappa {
        Some(kappa) => say!("curvature with this delta, if an edge has length 1: {kappa:.4}"),
        None => say!("no quadruple differs from a tree's: any negative curvature fits"),
    }
    let [single, double] = found.dimension;
    say!("a tree of this degree and diameter needs about {single} dimensions in f32, {double} in f64");
    Ok(())
}

//! `poincare evaluate`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::reconstruction;

use crate::inputs::{EmbeddingOptions, read_edges};

#[derive(Args)]
pub(crate) struct Evaluate {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list that the embedding is compared with, in the format of `train --edges`.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Compare with the transitive closure of the edges.
    #[arg(long, help_heading = "Data")]
    closure: bool,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// Compares an embedding with a graph.
pub(crate) fn evaluate(args: &Evaluate) -> Result<()> {
    let threads = args.threads.start()?;
    let embeddings = args.embedding.read()?;
    let graph = read_edges(&args.edges, args.closure)?;
    let at = embeddings.index(&args.embedding.path, &graph.names)?;
    let start = std::time::Instant::now();
    let score = threads
        .run(|| reconstruction::evaluate(&embeddings.points, embeddings.geometry, &at, &graph.neighbours()));
    say!(
        "{} points in {} (kappa {}), {} nodes with neighbours, {} pairs, {:.1} s",
        embeddings.names.len(),
        embeddings.geometry,
        embeddings.geometry.kappas(),
        score.nodes,
        score.pairs,
        start.elapsed().as_secs_f64()
    );
    print::event("result", &score);
    say!("mean rank {:.4}", score.mean_rank);
    say!("MAP {:.5}", score.map);
    Ok(())
}

//! `poincare evaluate`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::Result;
use cotangent_apps_common::print;
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;
use cotangent_apps_embeddings::reconstruction::{self, Sample};

use crate::inputs::{EmbeddingOptions, SampleOption, read_edges};

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
    sample: SampleOption,
    /// Seed of the sample, if not all nodes are evaluated. `train` takes its own --seed.
    #[arg(long, default_value_t = 42, help_heading = RUN)]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// Compares an embedding with a graph.
pub(crate) fn evaluate(args: &Evaluate) -> Result<()> {
    let sample = Sample { nodes: args.sample.checked()?, seed: args.seed };
    let threads = args.threads.start()?;
    let embeddings = args.embedding.read()?;
    let graph = read_edges(&args.edges, args.closure)?;
    let at = embeddings.index(&args.embedding.path, &graph.names)?;
    let start = std::time::Instant::now();
    let (points, geometry) = (&embeddings.points, embeddings.geometry);
    let score =
        threads.run(|| reconstruction::evaluate_sample(points, geometry, &at, &graph.neighbours(), sample));
    say!(
        "{} points in {} (kappa {}), {} nodes with neighbours, {} pairs, {:.1} s",
        embeddings.names.len(),
        geometry,
        geometry.kappas(),
        score.nodes,
        score.pairs,
        start.elapsed().as_secs_f64()
    );
    print::event("result", &score);
    if let Some(sampled) = reconstruction::sampled(score.nodes, score.all_nodes) {
        say!("{sampled}:");
    }
    say!("mean rank {:.4}", score.mean_rank);
    say!("MAP {:.5}", score.map);
    Ok(())
}

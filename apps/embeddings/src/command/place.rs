//! `poincare place`.

use std::path::PathBuf;

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::say;
use cotangent_apps_common::threads::ThreadsOption;

use crate::command::inputs::{EmbeddingOptions, read_edges};
use crate::evaluate::reconstruction::Score;
use crate::graph::edges::{EdgeOptions, ReadGraph};
use crate::place::new_nodes::NewNodes;
use crate::place::{self, Files, PlaceConfig, PlaceMetrics};

#[derive(Args)]
pub(crate) struct Place {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list of the new nodes, in the format of `train --edges`. Each of them needs a path to a node of
    /// the embedding. Edges between nodes of the embedding are not used.
    #[arg(long, help_heading = "Data")]
    edges: PathBuf,
    /// Edge list that the embedding was trained on. Give it where you can: without it, new nodes may come
    /// between known nodes and their neighbours, and the quality of the whole embedding suffers.
    #[arg(long, help_heading = "Data")]
    known: Option<PathBuf>,
    #[command(flatten)]
    layout: EdgeOptions,
    /// Number of negative samples for each step.
    #[arg(long, default_value_t = PlaceConfig::default().negatives, help_heading = "Training")]
    negatives: usize,
    /// Number of steps of each new node.
    #[arg(long, default_value_t = PlaceConfig::default().steps, help_heading = "Training")]
    steps: usize,
    /// Learning rate of the first step; it falls linearly to 0.
    #[arg(long, default_value_t = PlaceConfig::default().lr)]
    #[arg(allow_negative_numbers = true, help_heading = "Training")]
    lr: f64,
    /// Seed of all random draws. Same seed, same result, for any number of threads.
    #[arg(long, default_value_t = PlaceConfig::default().seed, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    threads: ThreadsOption,
    /// Output directory: the embedding with known and new points. Earlier results there are replaced, but the
    /// directory of a training is refused.
    #[arg(long, help_heading = RUN)]
    out: PathBuf,
}

/// Places new nodes.
pub(crate) fn place(args: &Place) -> Result<()> {
    let config = PlaceConfig { negatives: args.negatives, steps: args.steps, lr: args.lr, seed: args.seed };
    config.check()?;
    let threads = args.threads.start()?;
    let path = args.embedding.path();
    let embeddings = args.embedding.read()?;
    if embeddings.translation.is_some() {
        let message = format!("{} has a translation, which place does not know", path.display());
        return Err(AppError::usage(message));
    }
    let ReadGraph { graph, read_as } = read_edges(&args.edges, false, &args.layout)?;
    let mut new = NewNodes::new(&embeddings, &graph, &args.edges)?;
    drop(graph);
    if let Some(known) = &args.known {
        new.add_known(&embeddings, path, &read_edges(known, false, &args.layout)?.graph)?;
    } else {
        say!("without --known, new nodes may come between known nodes and their neighbours");
    }
    say!("{} known nodes, {} new nodes, {} edges", new.known, new.count(), new.pairs);
    if new.ignored > 0 {
        say!("not used: {} edges between known nodes", new.ignored);
    }
    let files = Files {
        out: args.out.clone(),
        embedding: path.display().to_string(),
        edges: args.edges.display().to_string(),
        read_as,
        known: args.known.as_ref().map(|known| known.display().to_string()),
    };
    let metrics = threads.run(|| place::place(&embeddings, &new, &config, &files))?;
    report(&metrics);
    say!("written to {}", args.out.display());
    Ok(())
}

fn report(metrics: &PlaceMetrics) {
    let PlaceMetrics { rounds, seconds, milliseconds_per_node, threads, .. } = metrics;
    say!(
        "placed in {seconds:.2} s: {milliseconds_per_node:.3} ms a node ({threads} threads), {rounds} rounds"
    );
    let say_score = |what: &str, score: &Option<Score>| {
        if let Some(Score { mean_rank, map, nodes, pairs, .. }) = score {
            say!("mean rank {mean_rank:.4}, MAP {map:.5}: {what}, {nodes} nodes with {pairs} edges");
        }
    };
    say_score("new nodes", &metrics.from_new);
    say_score("known nodes with an edge to a new one", &metrics.to_new);
}

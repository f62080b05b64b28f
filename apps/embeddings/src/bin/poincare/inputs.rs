//! What several commands read: an edge list, an embedding.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Models;
use cotangent_apps_common::say;
use cotangent_apps_embeddings::edges;
use cotangent_apps_embeddings::embeddings::Embeddings;
use cotangent_apps_embeddings::graph::Graph;

/// Which embedding a command is about.
#[derive(Args)]
pub(crate) struct EmbeddingOptions {
    /// Embedding: a directory that `poincare train` wrote, or a .safetensors or TSV file from there.
    #[arg(
        long = "embedding",
        value_name = "EMBEDDING",
        default_value = "runs/poincare",
        help_heading = "Data"
    )]
    pub(crate) path: PathBuf,
    /// Space of a TSV embedding, as for `train` [default: poincare]; a .safetensors file states its own.
    #[arg(long, help_heading = "Model")]
    pub(crate) model: Option<Models>,
    /// Sectional curvature, of a product one for each factor [default: as for `train`; of a .safetensors
    /// file, its own].
    #[arg(long, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Model")]
    pub(crate) kappa: Option<Vec<f64>>,
}

/// Reads edges, or their transitive closure.
pub(crate) fn read_edges(path: &Path, closure: bool) -> Result<Graph> {
    let graph = edges::read(path)?;
    if closure && !graph.weights.is_empty() {
        return Err(AppError::usage("--closure: edges with weights have no closure"));
    }
    let graph = if closure { graph.closure() } else { graph };
    if graph.self_loops + graph.duplicates > 0 {
        say!("left out: {} self-loops, {} duplicate edges", graph.self_loops, graph.duplicates);
    }
    Ok(graph)
}

impl EmbeddingOptions {
    /// Reads the embedding.
    pub(crate) fn read(&self) -> Result<Embeddings> {
        Embeddings::read(&self.path, self.model.clone(), self.kappa.clone())
    }
}

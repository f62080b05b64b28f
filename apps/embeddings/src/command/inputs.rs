//! What several commands read: an edge list, an embedding.

use std::path::{Path, PathBuf};

use clap::Args;
use cotangent_apps_common::command_line::RUN;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::geometry::Models;
use cotangent_apps_common::options;
use cotangent_apps_common::say;
use serde::Serialize;

use crate::files::embeddings::Embeddings;
use crate::files::safetensors;
use crate::graph::edges::{self, EdgeOptions, ReadGraph};
use crate::partition::embedding::PartEmbedding;

/// The name of the embedding that is built in.
const NOUNS: &str = "nouns";

/// Which embedding a command is about.
#[derive(Args)]
pub(crate) struct EmbeddingOptions {
    /// Embedding: a directory that `poincare train` wrote, or a file: .safetensors or .tsv from there, .txt
    /// or .bin of word2vec, or .npy with the names in NAME.names.txt beside NAME.npy. Or `nouns`: those of
    /// WordNet, which are built in [default: runs/poincare, or nouns if there is no such directory].
    #[arg(long = "embedding", value_name = "EMBEDDING", help_heading = "Data")]
    path: Option<PathBuf>,
    /// Space of the embedding, as for `train` [default: poincare]; a .safetensors file states its own.
    #[arg(long, help_heading = "Model")]
    pub(crate) model: Option<Models>,
    /// Sectional curvature, of a product one for each factor [default: as for `train`; of a .safetensors
    /// file, its own].
    #[arg(long, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Model")]
    pub(crate) kappa: Option<Vec<f64>>,
    /// Keep the first of points with the same name, and leave out the others [default: they are an error].
    #[arg(long, help_heading = "Data")]
    keep_first: bool,
}

/// An embedding to be drawn, with its edges.
#[derive(Args)]
pub(crate) struct DrawingOptions {
    #[command(flatten)]
    embedding: EmbeddingOptions,
    /// Edge list to draw; an edge u -> v is left out if there is a path u -> w -> v [default: draw no edges].
    #[arg(long, help_heading = "Data")]
    edges: Option<PathBuf>,
    #[command(flatten)]
    layout: EdgeOptions,
}

impl DrawingOptions {
    /// Reads the embedding, and the edges between its points that are drawn.
    pub(crate) fn read(&self) -> Result<(Embeddings, Vec<(u32, u32)>)> {
        let embeddings = self.embedding.read()?;
        let Some(path) = &self.edges else { return Ok((embeddings, Vec::new())) };
        let graph = read_edges(path, false, &self.layout)?.graph;
        let points_of = embeddings.index(self.embedding.path(), &graph.names)?;
        let reduced = graph.neighbours().reduction().into_iter();
        let edges = reduced.map(|(u, v)| (points_of[u as usize], points_of[v as usize])).collect();
        Ok((embeddings, edges))
    }
}

/// What is printed with `--json`: a result, and how the edge list was read.
#[derive(Serialize)]
pub(crate) struct Printed<'a, R> {
    #[serde(flatten)]
    pub(crate) result: &'a R,
    pub(crate) read_as: &'a str,
}

/// How many nodes are evaluated.
#[derive(Args)]
pub(crate) struct SampleOption {
    /// Number of nodes whose neighbours are ranked, among all nodes: a sample, if the graph has more
    /// [default: all up to 100,000 nodes; beyond, so many that 10^10 distances are computed].
    #[arg(long, help_heading = RUN)]
    evaluate_nodes: Option<usize>,
}

impl SampleOption {
    /// The number, checked.
    pub(crate) fn checked(&self) -> Result<Option<usize>> {
        options::at_least_one(&[("evaluate-nodes", self.evaluate_nodes.map_or(1, |n| n as u64))])?;
        Ok(self.evaluate_nodes)
    }
}

/// Reads edges, or their transitive closure, and prints how.
pub(crate) fn read_edges(path: &Path, closure: bool, options: &EdgeOptions) -> Result<ReadGraph> {
    let ReadGraph { graph, read_as } = edges::read(path, options)?;
    say!("{}: {read_as}", path.display());
    if closure && !graph.weights.is_empty() {
        return Err(AppError::usage("--closure: edges with weights have no closure"));
    }
    let graph = if closure { graph.closure() } else { graph };
    if graph.self_loops + graph.duplicates > 0 {
        say!("left out: {} self-loops, {} duplicate edges", graph.self_loops, graph.duplicates);
    }
    Ok(ReadGraph { graph, read_as })
}

impl EmbeddingOptions {
    /// Where the embedding is.
    pub(crate) fn path(&self) -> &Path {
        let trained = Path::new("runs/poincare");
        let default = if trained.exists() { trained } else { Path::new(NOUNS) };
        self.path.as_deref().unwrap_or(default)
    }

    /// The embedding as parts, if it is in parts only and its own geometry counts.
    pub(crate) fn parts(&self) -> Result<Option<PartEmbedding>> {
        let path = self.path();
        let whole = path.join("embedding.safetensors").exists();
        let own = self.model.is_none() && self.kappa.is_none();
        let parts = path.is_dir() && !whole && own && PartEmbedding::is_in(path);
        parts.then(|| PartEmbedding::open(path)).transpose()
    }

    /// Reads the embedding.
    pub(crate) fn read(&self) -> Result<Embeddings> {
        let path = self.path();
        if path == Path::new(NOUNS) && !path.exists() {
            return safetensors::nouns(self.model.clone(), self.kappa.clone());
        }
        if !self.keep_first {
            return Embeddings::read(path, self.model.clone(), self.kappa.clone());
        }
        let (embeddings, left_out) = Embeddings::read_first(path, self.model.clone(), self.kappa.clone())?;
        if left_out > 0 {
            say!("left out: {left_out} points whose name occurs before");
        }
        Ok(embeddings)
    }
}

//! Graphs whose nodes have features, for link prediction.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{name_of, plain_or_packed, read_lines};

use super::FeaturesOption;
use crate::graph::labelled_graph::{
    EDGES, FeatureRow, own_features, parse_node, read_feature_rows, read_table, scale_rows,
};

/// The fewest edges: of fewer no twentieth is an edge.
const LEAST_EDGES: usize = 20;

/// An undirected graph whose nodes have features.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkGraph {
    /// The name of the graph's directory.
    pub name: String,
    /// How its table of edges was read.
    pub read_as: Vec<String>,
    /// The edges (u, v) with u < v, in ascending order, each once.
    pub edges: Vec<(u32, u32)>,
    /// The features of each node, with their values.
    pub features: Vec<FeatureRow>,
}

impl LinkGraph {
    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.features.len()
    }

    /// Reads a graph from a directory. Its files may be plain or gzip (`.gz`). Nodes and features are
    /// numbered from 0.
    ///
    /// - `edges.tsv`: two nodes per line; direction, repetitions and self-loops do not matter;
    /// - `features.txt`: one line for each node, with the numbers of the features it has, separated by
    ///   spaces; or `features.tsv`: one line for each node, with the values of all features, separated by
    ///   tabs. With neither file, each line of `labels.txt` is a node, and each node is its own feature.
    ///
    /// # Errors
    /// If a file is missing, a line is wrong, or there are fewer than 20 edges; the error names the file and
    /// the line.
    pub fn read(directory: &Path, scale: FeaturesOption) -> Result<Self> {
        let (mut features, file) = match read_feature_rows(directory)? {
            Some(found) => found,
            None => {
                let labels = plain_or_packed(directory, "labels.txt");
                (own_features(count_lines(&labels)?), labels)
            }
        };
        if scale == FeaturesOption::Scaled {
            scale_rows(&mut features, &file)?;
        }
        let path = plain_or_packed(directory, "edges.tsv");
        let (mut edges, mut read_as, nodes) = (Vec::new(), Vec::new(), features.len());
        read_table(&path, &EDGES, &mut read_as, |row, [u, v]| {
            let (u, v) = (parse_node(row.field(u), nodes)?, parse_node(row.field(v), nodes)?);
            edges.extend((u != v).then(|| (u.min(v), u.max(v))));
            Ok(())
        })?;
        edges.sort_unstable();
        edges.dedup();
        if edges.len() < LEAST_EDGES {
            let found = edges.len();
            let message = format!(
                "{found} edges between different nodes: {LEAST_EDGES} are needed, to hold out one in 20"
            );
            return Err(AppError::content(&path, message));
        }
        Ok(LinkGraph { name: name_of(directory), read_as, edges, features })
    }

    /// A checksum of the whole graph except its name.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for (u, v) in &self.edges {
            hasher.update(&u.to_le_bytes());
            hasher.update(&v.to_le_bytes());
        }
        for row in &self.features {
            hasher.update(&(row.len() as u64).to_le_bytes());
            for (feature, amount) in row {
                hasher.update(&feature.to_le_bytes());
                hasher.update(&amount.to_le_bytes());
            }
        }
        hasher.finalize()
    }
}

/// The number of lines of a file.
fn count_lines(path: &Path) -> Result<usize> {
    let mut count = 0;
    read_lines(path, |_, _| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

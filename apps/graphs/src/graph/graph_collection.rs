//! Several graphs whose nodes have features and any number of labels, split into graphs for training,
//! validation and testing: the protein-protein interactions of Hamilton et al. 2017 (PPI), and others in the
//! same files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotangent::engine::files::{atomic, npy};
use cotangent::prelude::*;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::table::{content, name_of, plain_or_packed};

use super::node_link::NodeLink;

#[cfg(test)]
mod tests;

/// How the names of the files of each part begin: for training, validation and testing.
const PARTS: [&str; 3] = ["train", "valid", "test"];

/// A graph whose nodes have features and any number of labels.
#[derive(Clone, Debug)]
pub struct MultiLabelGraph {
    /// The edges, `[nodes, nodes]`: each in both directions, and one from each node to itself.
    pub edges: Arc<Sparsity>,
    /// The features, `[nodes, features]`.
    pub features: Tensor<f32>,
    /// 1 for each label that a node has, otherwise 0: `[nodes, labels]`.
    pub labels: Tensor<f32>,
}

impl MultiLabelGraph {
    /// A graph with these edges, in any direction and number; an edge of each node to itself is added.
    ///
    /// # Panics
    /// If there are not as many features as labels, or an edge ends at no node.
    pub fn new(features: Tensor<f32>, labels: Tensor<f32>, mut edges: Vec<(u32, u32)>) -> Self {
        let nodes = features.shape()[0];
        assert_eq!(nodes, labels.shape()[0], "MultiLabelGraph: rows of features and of labels");
        for i in 0..edges.len() {
            let (u, v) = edges[i];
            edges.push((v, u));
        }
        edges.extend((0..nodes as u32).map(|node| (node, node)));
        edges.sort_unstable();
        edges.dedup();
        MultiLabelGraph { edges: Arc::new(Sparsity::new(nodes, nodes, &edges)), features, labels }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.edges.rows()
    }

    /// Number of features, and of labels.
    pub fn widths(&self) -> [usize; 2] {
        [self.features.width(), self.labels.width()]
    }

    /// The disjoint union: the nodes of all graphs, one graph after the other.
    ///
    /// # Panics
    /// If there is no graph, or the graphs differ in their numbers of features or labels.
    pub fn union(graphs: &[&Self]) -> Self {
        let mut edges = Vec::with_capacity(graphs.iter().map(|graph| graph.edges.pairs().len()).sum());
        let mut nodes = 0;
        for graph in graphs {
            let first = nodes as u32;
            edges.extend(graph.edges.pairs().iter().map(|&(u, v)| (first + u, first + v)));
            nodes += graph.nodes();
        }
        let stacked = |rows: fn(&Self) -> &Tensor<f32>| {
            let parts: Vec<&[f32]> = graphs.iter().map(|graph| rows(graph).data()).collect();
            Tensor::new([nodes, rows(graphs[0]).width()], parts.concat())
        };
        MultiLabelGraph {
            edges: Arc::new(Sparsity::new(nodes, nodes, &edges)),
            features: stacked(|graph| &graph.features),
            labels: stacked(|graph| &graph.labels),
        }
    }
}

/// Graphs for training, validation and testing.
#[derive(Clone, Debug)]
pub struct GraphCollection {
    /// The name of the directory.
    pub name: String,
    /// What was left out when it was read: a sentence for each file that it concerns.
    pub read_as: Vec<String>,
    /// The graphs for training, for validation and for testing: at least one each.
    pub parts: [Vec<MultiLabelGraph>; 3],
}

impl GraphCollection {
    /// Whether a directory has the files that [`read`](Self::read) reads.
    pub fn is_in(directory: &Path) -> bool {
        plain_or_packed(directory, &format!("{}_graph.json", PARTS[0])).exists()
    }

    /// Reads the graphs in a directory. For each part, which is `train`, `valid` or `test`, it has four
    /// files, plain or gzip (`.gz`), as DGL distributes PPI:
    ///
    /// - `train_graph.json`: the nodes of all graphs, numbered from 0, and the links between them, in the
    ///   node-link form of NetworkX; direction, repetitions and self-loops do not matter;
    /// - `train_feats.npy`: `[nodes, features]`, taken as they are;
    /// - `train_labels.npy`: `[nodes, labels]`, 0 or 1;
    /// - `train_graph_id.npy`: `[nodes]`, the number of the graph that each node is in; they are consecutive.
    ///
    /// Links between different graphs are left out, and counted in [`read_as`](Self::read_as).
    ///
    /// # Errors
    /// If a file is missing or not in its format. If there are not as many rows as nodes, a feature is not
    /// finite, a label is neither 0 nor 1, a graph has no label, a link ends at no node, a number among those
    /// of the graphs has no nodes, or parts differ in their features or labels. The error names the file, and
    /// the line or the row.
    pub fn read(directory: &Path) -> Result<Self> {
        let name = name_of(directory);
        let (mut read_as, mut parts, mut widths) = (Vec::new(), [const { Vec::new() }; 3], None);
        for (part, graphs) in PARTS.into_iter().zip(&mut parts) {
            let files = Files::new(part, |file| plain_or_packed(directory, file));
            *graphs = files.read(widths, &mut read_as)?;
            widths = Some(graphs[0].widths());
        }
        Ok(GraphCollection { name, read_as, parts })
    }

    /// Writes the files that [`read`](Self::read) reads into a directory. The graphs are numbered from 1 on,
    /// through all parts.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let mut number = 1;
        for (part, graphs) in PARTS.into_iter().zip(&self.parts) {
            let files = Files::new(part, |file| directory.join(file));
            let numbers: Vec<f64> = graphs
                .iter()
                .zip(number..)
                .flat_map(|(graph, id)| vec![f64::from(id); graph.nodes()])
                .collect();
            number += graphs.len() as i32;
            let union = MultiLabelGraph::union(&graphs.iter().collect::<Vec<_>>());
            let network = NodeLink::new(union.nodes(), union.edges.pairs().iter().copied());
            atomic::write(&files.graph, |w| Ok(serde_json::to_writer(w, &network)?))
                .map_err(AppError::io(&files.graph))?;
            npy::write(&files.features, &union.features)?;
            npy::write(&files.labels, &union.labels)?;
            npy::write(&files.numbers, &Tensor::new([numbers.len()], numbers))?;
        }
        Ok(())
    }

    /// A checksum of all graphs except their name.
    pub fn fingerprint(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for part in &self.parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            for MultiLabelGraph { edges, features, labels } in part {
                for axes in [features.shape(), labels.shape()] {
                    axes.axes().iter().for_each(|&axis| hasher.update(&(axis as u64).to_le_bytes()));
                }
                for (u, v) in edges.pairs() {
                    hasher.update(&u.to_le_bytes());
                    hasher.update(&v.to_le_bytes());
                }
                for numbers in [features, labels] {
                    numbers.data().iter().for_each(|number| hasher.update(&number.to_le_bytes()));
                }
            }
        }
        hasher.finalize()
    }

    /// Number of features, and of labels.
    pub fn widths(&self) -> [usize; 2] {
        self.parts[0][0].widths()
    }
}

/// The files of a part.
struct Files {
    graph: PathBuf,
    features: PathBuf,
    labels: PathBuf,
    /// The number of each node's graph.
    numbers: PathBuf,
}

impl Files {
    /// The files of a part of this name. `path` is the path of a file.
    fn new(part: &str, path: impl Fn(&str) -> PathBuf) -> Self {
        let file = |what: &str| path(&format!("{part}_{what}"));
        let [features, labels, numbers] = ["feats.npy", "labels.npy", "graph_id.npy"].map(file);
        Files { graph: file("graph.json"), features, labels, numbers }
    }

    /// The graphs of the part, which has as many features and labels as those for training, if these have
    /// been read.
    fn read(&self, train: Option<[usize; 2]>, read_as: &mut Vec<String>) -> Result<Vec<MultiLabelGraph>> {
        let (nodes, links) = NodeLink::read(&self.graph)?;
        let [width, label_count] = train.map_or([None; 2], |widths| widths.map(Some));
        let features = self.rows(&self.features, (nodes, width), "features")?;
        let labels = self.rows(&self.labels, (nodes, label_count), "labels")?;
        check(&self.features, &features, f32::is_finite, "not finite")?;
        check(&self.labels, &labels, |label| label == 0.0 || label == 1.0, "neither 0 nor 1")?;
        let (first, numbers) = self.graph_numbers(nodes)?;
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut places = Vec::with_capacity(nodes);
        for (node, &number) in (0..).zip(&numbers) {
            if members.len() <= number {
                members.resize(number + 1, Vec::new());
            }
            places.push(members[number].len() as u32);
            members[number].push(node);
        }
        let mut edges: Vec<Vec<(u32, u32)>> = vec![Vec::new(); members.len()];
        let mut between = 0_usize;
        for (u, v) in links.into_iter().map(|(u, v)| (u as usize, v as usize)) {
            match numbers[u] == numbers[v] {
                true => edges[numbers[u]].push((places[u], places[v])),
                false => between += 1,
            }
        }
        if between > 0 {
            let file = self.graph.file_name().unwrap_or_default().to_string_lossy();
            read_as.push(format!("{file}: {between} links between different graphs are left out"));
        }
        let mut graphs = Vec::with_capacity(members.len());
        for ((number, members), edges) in (first..).zip(members).zip(edges) {
            let labels = select(&labels, &members);
            if !labels.data().contains(&1.0) {
                return Err(AppError::content(&self.labels, format!("graph {number} has no labels")));
            }
            graphs.push(MultiLabelGraph::new(select(&features, &members), labels, edges));
        }
        Ok(graphs)
    }

    /// The rows of a file, one for each node, of this width if it is known.
    fn rows(&self, path: &Path, (nodes, known): (usize, Option<usize>), what: &str) -> Result<Tensor<f32>> {
        let rows: Tensor<f32> = npy::numbers(path, &content(path)?)?;
        let wrong = |message: String| Err(AppError::content(path, message));
        let (&[count, width], false) = (rows.shape().axes(), rows.is_empty()) else {
            return wrong(format!("an array of shape {}; [nodes, {what}] is needed", rows.shape()));
        };
        self.as_many(path, count, nodes)?;
        match known.filter(|&known| known != width) {
            Some(known) => wrong(format!("{width} {what}; nodes for training have {known}")),
            None => Ok(rows),
        }
    }

    /// Checks that an array has a row for each node.
    fn as_many(&self, path: &Path, rows: usize, nodes: usize) -> Result<()> {
        if rows == nodes {
            return Ok(());
        }
        let graph = self.graph.file_name().unwrap_or_default().to_string_lossy();
        Err(AppError::content(path, format!("{rows} rows; {graph} has {nodes} nodes")))
    }

    /// The number of the first graph, and how much that of each node is above it.
    fn graph_numbers(&self, nodes: usize) -> Result<(i64, Vec<usize>)> {
        /// Larger numbers are not exact in every array.
        const LARGEST: f64 = 1e15;
        let path = &self.numbers;
        let numbers: Tensor<f64> = npy::numbers(path, &content(path)?)?;
        let &[rows] = numbers.shape().axes() else {
            let message = format!("an array of shape {}; [nodes] is needed", numbers.shape());
            return Err(AppError::content(path, message));
        };
        self.as_many(path, rows, nodes)?;
        let whole = |number: f64| number.fract() == 0.0 && number.abs() <= LARGEST;
        if let Some(row) = numbers.data().iter().position(|&number| !whole(number)) {
            let message = format!("row {row}, counted from 0: {} is no graph's number", numbers.data()[row]);
            return Err(AppError::content(path, message));
        }
        let numbers: Vec<i64> = numbers.data().iter().map(|&number| number as i64).collect();
        let mut all = numbers.clone();
        all.sort_unstable();
        all.dedup();
        if let Some(pair) = all.windows(2).find(|pair| pair[1] != pair[0] + 1) {
            let message = format!(
                "graph {} has no nodes; graphs are {} to {}",
                pair[0] + 1,
                all[0],
                all[all.len() - 1]
            );
            return Err(AppError::content(path, message));
        }
        let first = all[0];
        Ok((first, numbers.into_iter().map(|number| (number - first) as usize).collect()))
    }
}

/// Some rows.
fn select(rows: &Tensor<f32>, members: &[u32]) -> Tensor<f32> {
    let data: Vec<&[f32]> = members.iter().map(|&node| rows.row(node as usize)).collect();
    Tensor::new([members.len(), rows.width()], data.concat())
}

/// Checks every number of an array; the error names the first that is wrong, and its place.
fn check(path: &Path, rows: &Tensor<f32>, is_right: impl Fn(f32) -> bool, needed: &str) -> Result<()> {
    match rows.data().iter().position(|&number| !is_right(number)) {
        None => Ok(()),
        Some(at) => {
            let (row, column, number) = (at / rows.width(), at % rows.width(), rows.data()[at]);
            let message = format!("row {row}, column {column}, counted from 0: {number} is {needed}");
            Err(AppError::content(path, message))
        }
    }
}

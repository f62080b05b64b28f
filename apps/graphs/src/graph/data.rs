//! What a model is trained on: one graph with some nodes of known class, or several graphs whose nodes have
//! labels.

use std::path::Path;

use cotangent_apps_common::error::Result;

use super::graph_collection::{GraphCollection, MultiLabelGraph};
use super::labelled_graph::LabelledGraph;

/// What a model is trained on.
#[derive(Clone, Debug)]
pub enum GraphData {
    /// One graph. Its nodes are split: nodes for testing are there while training, without their class.
    Nodes(LabelledGraph),
    /// Several graphs, which are split: those for testing are unseen.
    Graphs(GraphCollection),
}

/// What is split into parts for training, validation and testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// The nodes of one graph.
    Nodes,
    /// Whole graphs.
    Graphs,
}

impl GraphData {
    /// Reads the data in a directory, whose form is known by its files.
    ///
    /// # Errors
    /// As [`GraphCollection::read`] if there is a file `train_graph.json`, else as [`LabelledGraph::read`].
    pub fn read(directory: &Path) -> Result<Self> {
        match GraphCollection::is_in(directory) {
            true => GraphCollection::read(directory).map(GraphData::Graphs),
            false => LabelledGraph::read(directory).map(GraphData::Nodes),
        }
    }

    /// What is split.
    pub fn split(&self) -> Split {
        match self {
            GraphData::Nodes(_) => Split::Nodes,
            GraphData::Graphs(_) => Split::Graphs,
        }
    }

    /// The name of the directory.
    pub fn name(&self) -> &str {
        match self {
            GraphData::Nodes(graph) => &graph.name,
            GraphData::Graphs(graphs) => &graphs.name,
        }
    }

    /// How the files were read: a sentence for each of which there is something to say.
    pub fn read_as(&self) -> &[String] {
        match self {
            GraphData::Nodes(graph) => &graph.read_as,
            GraphData::Graphs(graphs) => &graphs.read_as,
        }
    }

    /// A checksum of everything except the name.
    pub fn fingerprint(&self) -> u32 {
        match self {
            GraphData::Nodes(graph) => graph.fingerprint(),
            GraphData::Graphs(graphs) => graphs.fingerprint(),
        }
    }

    /// Number of features, and of classes or labels.
    pub fn widths(&self) -> [usize; 2] {
        match self {
            GraphData::Nodes(graph) => [graph.features.columns(), graph.class_count],
            GraphData::Graphs(graphs) => graphs.widths(),
        }
    }

    /// Number of nodes, edges (in both directions, with self-loops) and features.
    pub fn sizes(&self) -> [usize; 3] {
        let [features, _] = self.widths();
        match self {
            GraphData::Nodes(graph) => [graph.nodes(), graph.edges.pairs().len(), features],
            GraphData::Graphs(graphs) => {
                let total =
                    |size: fn(&MultiLabelGraph) -> usize| graphs.parts.iter().flatten().map(size).sum();
                [total(MultiLabelGraph::nodes), total(|graph| graph.edges.pairs().len()), features]
            }
        }
    }

    /// Number of nodes for training, validation and testing.
    pub fn split_nodes(&self) -> [usize; 3] {
        match self {
            GraphData::Nodes(graph) => [&graph.train, &graph.validation, &graph.test].map(Vec::len),
            GraphData::Graphs(graphs) => {
                graphs.parts.each_ref().map(|part| part.iter().map(MultiLabelGraph::nodes).sum())
            }
        }
    }

    /// Number of graphs for training, validation and testing, if graphs are split.
    pub fn split_graphs(&self) -> Option<[usize; 3]> {
        match self {
            GraphData::Nodes(_) => None,
            GraphData::Graphs(graphs) => Some(graphs.parts.each_ref().map(Vec::len)),
        }
    }

    /// The largest number of nodes that a model reads together, in batches of so many graphs.
    pub(super) fn largest_batch(&self, batch: usize) -> usize {
        match self {
            GraphData::Nodes(graph) => graph.nodes(),
            GraphData::Graphs(graphs) => {
                let nodes = |part: &Vec<MultiLabelGraph>| -> Vec<usize> {
                    part.iter().map(MultiLabelGraph::nodes).collect()
                };
                let [mut train, validation, test] = graphs.parts.each_ref().map(nodes);
                train.sort_unstable();
                let together = train.iter().rev().take(batch).sum();
                validation.into_iter().chain(test).fold(together, usize::max)
            }
        }
    }
}

impl Split {
    /// What says how good a model is.
    pub(super) fn measure(self) -> &'static str {
        match self {
            Split::Nodes => "accuracy",
            Split::Graphs => "micro-F1",
        }
    }
}

//! How edge lists are read, and what is read of them.

use clap::{Args, ValueEnum};
use cotangent_apps_common::table::TableOptions;

use crate::graph::Graph;

/// The option that leaves weights out.
pub(crate) const NONE: &str = "none";

/// What the nodes of a GraphML file are named by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NodeNames {
    /// Their labels, which must differ; a node without one has its identifier.
    #[default]
    Label,
    /// Their identifiers.
    Id,
}

/// How edge lists are read. What is not said here is read off the lists, and printed.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeOptions {
    /// The layout of tables.
    #[command(flatten)]
    pub table: TableOptions,
    /// The column of weights: a name of the header, or a number from 1; or `none` for no weights [default:
    /// with a header, a column named weight, value, count or the like; without one, a third column].
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub weight: Option<String>,
    /// What the nodes of a GraphML file are named by.
    #[arg(long, value_enum, default_value_t = NodeNames::Label, help_heading = "Data")]
    pub node_names: NodeNames,
}

impl EdgeOptions {
    /// Whether weights are left out.
    pub(crate) fn no_weights(&self) -> bool {
        self.weight.as_deref() == Some(NONE)
    }
}

/// A graph, and a sentence that says how its file was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadGraph {
    /// The graph.
    pub graph: Graph,
    /// "read as tab-separated, header source/target, weights from 'value'; ignored: year".
    pub read_as: String,
}

/// A weight from its text.
pub(crate) fn parse_weight(text: &str) -> std::result::Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(w) if w > 0.0 && w.is_finite() => Ok(w),
        _ => Err(format!("weight {text:?} is not a positive number")),
    }
}

//! Graphs in the node-link form of NetworkX: JSON with lists of nodes and of links.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{json, table};
use serde::{Deserialize, Serialize};

/// A graph in node-link form.
#[derive(Serialize, Deserialize)]
pub(super) struct NodeLink {
    #[serde(default)]
    directed: bool,
    #[serde(default)]
    multigraph: bool,
    nodes: Vec<Node>,
    /// Newer versions of NetworkX call them edges.
    #[serde(alias = "edges")]
    links: Vec<Link>,
}

#[derive(Serialize, Deserialize)]
struct Node {
    id: i64,
}

#[derive(Serialize, Deserialize)]
struct Link {
    source: i64,
    target: i64,
}

impl NodeLink {
    /// A graph of so many nodes, with these links.
    pub(super) fn new(nodes: usize, links: impl Iterator<Item = (u32, u32)>) -> Self {
        NodeLink {
            directed: true,
            multigraph: false,
            nodes: (0..nodes as i64).map(|id| Node { id }).collect(),
            links: links.map(|(u, v)| Link { source: u.into(), target: v.into() }).collect(),
        }
    }

    /// Reads the number of nodes, and the links.
    ///
    /// # Errors
    /// If the file cannot be read, is not JSON in this form, or has no nodes. If the nodes are not numbered
    /// from 0, each once, or a link ends at none of them. The error names the line, or the node or link,
    /// counted from 0.
    pub(super) fn read(path: &Path) -> Result<(usize, Vec<(u32, u32)>)> {
        let NodeLink { nodes, links, .. } = json::parse(path, &table::content(path)?)?;
        let wrong = |message: String| AppError::content(path, message);
        let count = nodes.len();
        if count == 0 || u32::try_from(count).is_err() {
            return Err(wrong(format!("{count} nodes")));
        }
        let mut seen = vec![false; count];
        for (place, Node { id }) in nodes.into_iter().enumerate() {
            let number = usize::try_from(id).ok().filter(|&id| id < count);
            let number = number.ok_or_else(|| {
                wrong(format!("nodes[{place}]: id {id}; ids of {count} nodes are 0 to {}", count - 1))
            })?;
            if std::mem::replace(&mut seen[number], true) {
                return Err(wrong(format!("nodes[{place}]: id {id} occurs twice")));
            }
        }
        let node = |place: usize, id: i64| match usize::try_from(id) {
            Ok(number) if number < count => Ok(number as u32),
            _ => Err(wrong(format!("links[{place}]: node {id} is not there: there are {count} nodes"))),
        };
        let link = |(place, link): (usize, Link)| Ok((node(place, link.source)?, node(place, link.target)?));
        Ok((count, links.into_iter().enumerate().map(link).collect::<Result<_>>()?))
    }
}

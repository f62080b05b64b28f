//! Nodes that an embedding does not know, and the order in which they can be placed.

use std::path::Path;

use cotangent_apps_common::error::{AppError, Result};

use crate::files::embeddings::Embeddings;
use crate::graph::Graph;
use crate::graph::names::Index;

/// New nodes beside the known ones of an embedding.
#[derive(Clone, Debug)]
pub struct NewNodes {
    /// The nodes are those of the embedding, in its order, then the new ones. The pairs are those with a new
    /// node, then the known ones.
    pub graph: Graph,
    /// Number of known nodes.
    pub known: usize,
    /// Number of pairs with a new node.
    pub pairs: usize,
    /// Number of edges between known nodes that the new edges had. They are not used.
    pub ignored: usize,
    /// The new nodes, in rounds: each has a pair with a known node or one of an earlier round.
    pub rounds: Vec<Vec<u32>>,
    /// For each new node the numbers of its pairs.
    pairs_of: Vec<Vec<u32>>,
}

impl NewNodes {
    /// The nodes of the `new` edges that have no point in the embedding. `edges` is the file, for the error.
    ///
    /// # Errors
    /// If there are none, or one has no path to a known node.
    pub fn new(embeddings: &Embeddings, new: &Graph, edges: &Path) -> Result<Self> {
        let known = embeddings.names.len();
        let mut names = embeddings.names.clone();
        let mut index = Index::new(&names).expect("points have different names");
        let nodes: Vec<u32> = new.names.iter().map(|name| index.find_or_add(&mut names, name)).collect();
        let mut graph = Graph { names, ..Graph::default() };
        let mut pairs_of = vec![Vec::new(); graph.names.len() - known];
        for (number, &(u, v)) in new.pairs.iter().enumerate() {
            let pair = (nodes[u as usize], nodes[v as usize]);
            let is_new = |node: &u32| *node as usize >= known;
            if [pair.0, pair.1].iter().any(is_new) {
                for node in [pair.0, pair.1].into_iter().filter(is_new) {
                    pairs_of[node as usize - known].push(graph.pairs.len() as u32);
                }
                graph.pairs.push(pair);
                graph.weights.extend(new.weights.get(number));
            }
        }
        if pairs_of.is_empty() {
            return Err(AppError::content(edges, "no new node: the embedding has a point for each"));
        }
        let pairs = graph.pairs.len();
        let ignored = new.pairs.len() - pairs;
        let mut nodes = NewNodes { graph, known, pairs, ignored, rounds: Vec::new(), pairs_of };
        nodes.find_rounds(edges)?;
        Ok(nodes)
    }

    /// Adds edges between known nodes, such as those that the embedding was trained on. `path` is the
    /// embedding's file, for the error.
    ///
    /// # Errors
    /// If a node has no point in the embedding.
    pub fn add_known(&mut self, embeddings: &Embeddings, path: &Path, known: &Graph) -> Result<()> {
        let nodes = embeddings.index(path, &known.names)?;
        self.graph.pairs.extend(known.pairs.iter().map(|&(u, v)| (nodes[u as usize], nodes[v as usize])));
        if !self.graph.weights.is_empty() {
            self.graph.weights.resize(self.graph.pairs.len(), 1.0);
        }
        Ok(())
    }

    /// Number of new nodes.
    pub fn count(&self) -> usize {
        self.pairs_of.len()
    }

    /// The numbers of a new node's pairs.
    pub fn pairs_of(&self, node: u32) -> &[u32] {
        &self.pairs_of[node as usize - self.known]
    }

    /// The other node of a pair.
    pub fn other(&self, node: u32, pair: u32) -> u32 {
        let (u, v) = self.graph.pairs[pair as usize];
        if u == node { v } else { u }
    }

    /// The other nodes of a new node's pairs.
    fn others(&self, node: u32) -> impl Iterator<Item = u32> {
        self.pairs_of(node).iter().map(move |&pair| self.other(node, pair))
    }

    /// The new nodes that have a pair with one of the same round or a later one.
    pub fn joined(&self) -> Vec<u32> {
        let mut round_of = vec![0; self.graph.names.len()];
        for (number, round) in self.rounds.iter().enumerate() {
            round.iter().for_each(|&node| round_of[node as usize] = number + 1);
        }
        let round = |node: u32| round_of[node as usize];
        let joined = |&node: &u32| self.others(node).any(|other| round(other) >= round(node));
        (self.known as u32..self.graph.names.len() as u32).filter(joined).collect()
    }

    /// Breadth first from the known nodes.
    fn find_rounds(&mut self, edges: &Path) -> Result<()> {
        let mut reached: Vec<bool> = (0..self.graph.names.len()).map(|node| node < self.known).collect();
        let new = self.known as u32..self.graph.names.len() as u32;
        let mut rounds = Vec::new();
        let mut round: Vec<u32> =
            new.clone().filter(|&node| self.others(node).any(|other| reached[other as usize])).collect();
        while !round.is_empty() {
            round.iter().for_each(|&node| reached[node as usize] = true);
            let others = round.iter().flat_map(|&node| self.others(node));
            let mut next: Vec<u32> = others.filter(|&node| !reached[node as usize]).collect();
            next.sort_unstable();
            next.dedup();
            rounds.push(std::mem::replace(&mut round, next));
        }
        if let Some(node) = new.into_iter().find(|&node| !reached[node as usize]) {
            let name = &self.graph.names[node as usize];
            return Err(AppError::content(edges, format!("new node {name:?} has no path to a known node")));
        }
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use cotangent::prelude::*;
    use cotangent_apps_common::geometry::{Geometry, SpaceModel};

    use super::*;
    use crate::graph::Builder;

    /// Two known nodes, "a" and "b".
    fn known() -> Embeddings {
        Embeddings {
            names: ["a", "b"].into_iter().collect(),
            points: Tensor::new([2, 1], vec![0.0, 0.5]),
            geometry: Geometry::new(SpaceModel::Poincare, None).unwrap(),
            translation: None,
        }
    }

    fn graph(pairs: &[(&str, &str)]) -> Graph {
        let mut builder = Builder::default();
        pairs.iter().enumerate().for_each(|(i, (u, v))| builder.add(u, v, Some(i as f64 + 1.0)));
        builder.finish()
    }

    fn new(pairs: &[(&str, &str)]) -> Result<NewNodes> {
        NewNodes::new(&known(), &graph(pairs), Path::new("new.tsv"))
    }

    #[test]
    fn new_nodes_come_in_rounds() {
        // x below b and above a, y above x, z below y; w below b and y. Edge a–b is known.
        let pairs = [("x", "b"), ("b", "a"), ("a", "x"), ("x", "y"), ("z", "y"), ("w", "b"), ("w", "y")];
        let mut new = new(&pairs).unwrap();
        assert_eq!(new.graph.names, ["a", "b", "x", "y", "z", "w"]);
        assert_eq!(new.graph.pairs, [(2, 1), (0, 2), (2, 3), (4, 3), (5, 1), (5, 3)]);
        assert_eq!(new.graph.weights, [1.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!((new.known, new.count(), new.pairs, new.ignored), (2, 4, 6, 1));
        assert_eq!(new.rounds, [vec![2, 5], vec![3], vec![4]]);
        assert_eq!((new.pairs_of(3), new.other(3, 2), new.other(2, 2)), (&[2, 3, 5][..], 2, 3));
        // When z was placed, all of its neighbours had points.
        assert_eq!(new.joined(), [2, 3, 5]);

        new.add_known(&known(), Path::new("old.tsv"), &graph(&[("b", "a")])).unwrap();
        assert_eq!((new.graph.pairs[6], new.graph.weights[6], new.pairs), ((1, 0), 1.0, 6));
    }

    #[test]
    fn nodes_of_one_round_are_joined_by_their_edge() {
        assert_eq!(new(&[("x", "a"), ("y", "a"), ("y", "x"), ("z", "b")]).unwrap().joined(), [2, 3]);
        assert!(new(&[("x", "a"), ("y", "a")]).unwrap().joined().is_empty());
    }

    #[test]
    fn what_cannot_be_placed_is_named() {
        let error = |pairs: &[(&str, &str)]| new(pairs).unwrap_err().to_string();
        assert_eq!(
            error(&[("x", "a"), ("y", "z"), ("z", "v")]),
            "new.tsv: new node \"y\" has no path to a known node"
        );
        assert_eq!(error(&[("a", "b")]), "new.tsv: no new node: the embedding has a point for each");
        let mut new = new(&[("x", "a")]).unwrap();
        let error = new.add_known(&known(), Path::new("old.tsv"), &graph(&[("x", "a")])).unwrap_err();
        assert_eq!(error.to_string(), "old.tsv: no point for node \"x\" of the edge list");
    }
}

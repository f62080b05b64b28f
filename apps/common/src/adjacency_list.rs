//! The neighbours of every node of a graph, shortest paths between nodes, and connected components. Every
//! edge has length 1.

use std::collections::VecDeque;

use rayon::prelude::*;

/// No path leads to the node.
pub const UNREACHED: u32 = u32::MAX;

/// The neighbours of each node, as compressed rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdjacencyList {
    /// Row u is `targets[starts[u]..starts[u + 1]]`.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl AdjacencyList {
    /// Row u has v for each edge (u, v), in the order of the edges.
    ///
    /// # Panics
    /// If an edge has a node that is not below `nodes`.
    pub fn directed(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; nodes + 1];
        edges.clone().for_each(|(u, _)| starts[u as usize + 1] += 1);
        for u in 0..nodes {
            starts[u + 1] += starts[u];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes]];
        for (u, v) in edges {
            targets[next[u as usize]] = v;
            next[u as usize] += 1;
        }
        AdjacencyList { starts, targets }
    }

    /// For each edge (u, v), row u has v and row v has u, in the order of the edges.
    ///
    /// # Panics
    /// If an edge has a node that is not below `nodes`.
    pub fn undirected(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        AdjacencyList::directed(nodes, edges.flat_map(|(u, v)| [(u, v), (v, u)]))
    }

    /// The same with every row in ascending order.
    pub fn sorted(mut self) -> Self {
        let mut left = self.targets.as_mut_slice();
        let mut rows = Vec::with_capacity(self.starts.len() - 1);
        for ends in self.starts.windows(2) {
            let (row, others) = left.split_at_mut(ends[1] - ends[0]);
            rows.push(row);
            left = others;
        }
        rows.into_par_iter().with_min_len(1024).for_each(<[u32]>::sort_unstable);
        self
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of neighbours of all nodes together. An edge without a direction counts twice.
    pub fn entries(&self) -> usize {
        self.targets.len()
    }

    /// The neighbours of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn neighbours(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.starts[node]..self.starts[node + 1]]
    }

    /// Number of edges of a shortest path to every node, from the nearest of the sources; [`UNREACHED`] if
    /// there is none.
    pub fn distances(&self, sources: &[u32]) -> Vec<u32> {
        let mut distances = vec![UNREACHED; self.nodes()];
        sources.iter().for_each(|&source| distances[source as usize] = 0);
        let mut open: VecDeque<u32> = sources.iter().copied().collect();
        while let Some(node) = open.pop_front() {
            let next = distances[node as usize] + 1;
            for &neighbour in self.neighbours(node) {
                if distances[neighbour as usize] == UNREACHED {
                    distances[neighbour as usize] = next;
                    open.push_back(neighbour);
                }
            }
        }
        distances
    }

    /// The nodes of the largest connected component, and the number of components. Of components of one size
    /// it is the one with the lowest node. Every edge must be in both rows.
    pub fn largest_component(&self) -> (Vec<u32>, usize) {
        let mut seen = vec![false; self.nodes()];
        let (mut largest, mut components) = (Vec::new(), 0);
        for start in 0..self.nodes() as u32 {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut component = vec![start];
            let mut read = 0;
            while read < component.len() {
                for &neighbour in self.neighbours(component[read]) {
                    if !std::mem::replace(&mut seen[neighbour as usize], true) {
                        component.push(neighbour);
                    }
                }
                read += 1;
            }
            components += 1;
            if component.len() > largest.len() {
                largest = component;
            }
        }
        (largest, components)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cycle of five nodes, with a chord, and a path of three.
    const EDGES: [(u32, u32); 8] = [(4, 0), (1, 0), (2, 1), (3, 2), (3, 4), (4, 1), (6, 7), (5, 6)];

    #[test]
    fn rows_have_the_order_of_the_edges_until_they_are_sorted() {
        let graph = AdjacencyList::undirected(9, EDGES.into_iter());
        assert_eq!((graph.nodes(), graph.entries()), (9, 16));
        assert_eq!(graph.neighbours(4), [0, 3, 1]);
        assert!(graph.neighbours(8).is_empty());
        let sorted = graph.sorted();
        assert_eq!(sorted.neighbours(4), [0, 1, 3]);
        assert_eq!(sorted.neighbours(6), [5, 7]);
        let directed = AdjacencyList::directed(9, EDGES.into_iter());
        assert_eq!((directed.neighbours(4), directed.neighbours(0)), (&[0, 1][..], &[][..]));
    }

    #[test]
    fn distances_are_from_the_nearest_source() {
        let graph = AdjacencyList::undirected(9, EDGES.into_iter());
        let none = UNREACHED;
        assert_eq!(graph.distances(&[0]), [0, 1, 2, 2, 1, none, none, none, none]);
        assert_eq!(graph.distances(&[0, 7]), [0, 1, 2, 2, 1, 2, 1, 0, none]);
    }

    #[test]
    fn the_largest_component_is_found_whole() {
        let (mut component, components) = AdjacencyList::undirected(9, EDGES.into_iter()).largest_component();
        component.sort_unstable();
        assert_eq!((component, components), (vec![0, 1, 2, 3, 4], 3));
        assert_eq!(AdjacencyList::undirected(3, std::iter::empty()).largest_component(), (vec![0], 3));
    }
}

//! Shortest paths in graphs whose edges have length 1.

use std::collections::VecDeque;

/// No path leads there.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// The nodes next to each node, whatever the direction of an edge.
pub(crate) fn adjacent(nodes: usize, edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut adjacent = vec![Vec::new(); nodes];
    for &(u, v) in edges {
        adjacent[u as usize].push(v);
        adjacent[v as usize].push(u);
    }
    adjacent
}

/// Number of edges of a shortest path to every node, from the nearest of the sources.
pub(crate) fn distances(adjacent: &[Vec<u32>], sources: &[u32]) -> Vec<u32> {
    let mut distances = vec![UNREACHED; adjacent.len()];
    sources.iter().for_each(|&source| distances[source as usize] = 0);
    let mut open: VecDeque<u32> = sources.iter().copied().collect();
    while let Some(node) = open.pop_front() {
        let next = distances[node as usize] + 1;
        for &neighbour in &adjacent[node as usize] {
            if distances[neighbour as usize] == UNREACHED {
                distances[neighbour as usize] = next;
                open.push_back(neighbour);
            }
        }
    }
    distances
}

//! How well the distances from the origin follow a hierarchy: Spearman's rank correlation. Source: Nickel &
//! Kiela 2018.

use cotangent_apps_common::adjacency_list::AdjacencyList;
use serde::Serialize;

/// Spearman's rank correlation of the distance from the origin with a node's place in a hierarchy. 1 if one
/// grows with the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankCorrelation {
    /// With the depth: the number of edges of a shortest path to a root.
    pub depth: f64,
    /// With the normalised rank: the depth over the sum of depth and height. The height is the number of
    /// edges of a longest path down to a leaf. So a root has 0, and a leaf 1, whatever its depth.
    pub normalised_rank: f64,
}

/// The correlations for points at these distances from the origin. An edge (u, v) says that v is a parent of
/// u; none of them is the shortcut of a path, and there is no cycle. Nodes without edges are left out.
pub fn rank_correlation(radii: &[f64], edges: &[(u32, u32)]) -> RankCorrelation {
    let [children, parents] = children_and_parents(radii.len(), edges);
    let nodes: Vec<usize> = (0..radii.len())
        .filter(|&u| [&children, &parents].iter().any(|graph| !graph.neighbours(u as u32).is_empty()))
        .collect();
    let roots: Vec<u32> =
        nodes.iter().map(|&u| u as u32).filter(|&u| parents.neighbours(u).is_empty()).collect();
    let depths = children.distances(&roots);
    let heights = heights(&children, &parents);
    let of_nodes = |figure: &dyn Fn(usize) -> f64| -> Vec<f64> { nodes.iter().map(|&u| figure(u)).collect() };
    let radii = of_nodes(&|u| radii[u]);
    let depth = |u: usize| f64::from(depths[u]);
    RankCorrelation {
        depth: spearman(&radii, &of_nodes(&depth)),
        normalised_rank: spearman(&radii, &of_nodes(&|u| depth(u) / (depth(u) + f64::from(heights[u])))),
    }
}

/// The children and the parents of each node.
fn children_and_parents(nodes: usize, edges: &[(u32, u32)]) -> [AdjacencyList; 2] {
    let up = edges.iter().copied();
    [AdjacencyList::directed(nodes, up.clone().map(|(u, v)| (v, u))), AdjacencyList::directed(nodes, up)]
}

/// Number of edges of a longest path from each node down to a leaf.
fn heights(children: &AdjacencyList, parents: &AdjacencyList) -> Vec<u32> {
    let mut heights = vec![0; children.nodes()];
    let mut open_children: Vec<usize> =
        (0..children.nodes() as u32).map(|u| children.neighbours(u).len()).collect();
    let mut done: Vec<u32> =
        (0..children.nodes() as u32).filter(|&u| children.neighbours(u).is_empty()).collect();
    while let Some(u) = done.pop() {
        for &v in parents.neighbours(u) {
            let v = v as usize;
            heights[v] = heights[v].max(heights[u as usize] + 1);
            open_children[v] -= 1;
            if open_children[v] == 0 {
                done.push(v as u32);
            }
        }
    }
    heights
}

/// Spearman's rank correlation of two series: Pearson's correlation of their ranks. Equal numbers share the
/// mean of their ranks. NaN if all numbers of a series are equal.
pub(crate) fn spearman(x: &[f64], y: &[f64]) -> f64 {
    let (x, y) = (ranks(x), ranks(y));
    // The mean of the ranks, whatever the ties.
    let mean = (x.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    product(&x, &y) / (product(&x, &x) * product(&y, &y)).sqrt()
}

/// The rank of each number, from 0.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&i, &j| numbers[i].total_cmp(&numbers[j]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut first = 0;
    for equal in order.chunk_by(|&i, &j| numbers[i] == numbers[j]) {
        let rank = first as f64 + (equal.len() as f64 - 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = rank);
        first += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spearman_by_hand() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
        assert_eq!(spearman(&[1.0, 2.0, 5.0], &[0.1, 10.0, 11.0]), 1.0);
        assert_eq!(spearman(&[1.0, 2.0, 5.0], &[3.0, 2.0, 1.0]), -1.0);
        // 1 − 6 Σ d²/(n(n² − 1)) with d = (0, 1, −1, 0).
        assert!((spearman(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-15);
        assert!(spearman(&[1.0, 1.0], &[1.0, 2.0]).is_nan());
    }

    /// 0 is the root of 1 and 2; 1 has the children 3 and 4, and 3 the child 5, which is below 2 too.
    const EDGES: [(u32, u32); 6] = [(1, 0), (2, 0), (3, 1), (4, 1), (5, 3), (5, 2)];

    #[test]
    fn depths_are_shortest_paths_and_heights_longest_ones() {
        let [children, parents] = children_and_parents(6, &EDGES);
        assert_eq!(children.distances(&[0]), [0, 1, 1, 2, 2, 2]);
        assert_eq!(heights(&children, &parents), [3, 2, 1, 1, 0, 0]);
    }

    /// The radii are the depths, or the normalised ranks. Node 6 has no edge.
    #[test]
    fn radii_like_depths_or_ranks_correlate_fully() {
        let found = rank_correlation(&[0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 0.5], &EDGES);
        assert!((found.depth - 1.0).abs() < 1e-15 && found.normalised_rank < 0.99, "{found:?}");
        let ranks = [0.0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 1.0, 1.0, -7.0];
        let found = rank_correlation(&ranks, &EDGES);
        assert!((found.normalised_rank - 1.0).abs() < 1e-15 && found.depth < 0.99, "{found:?}");
        assert!((rank_correlation(&ranks.map(|r| -r), &EDGES).normalised_rank + 1.0).abs() < 1e-15);
    }
}

//! The layout of a hierarchy in a disk: each subtree has a sector of its own.
//!
//! A projection of many dimensions to two draws subtrees on top of one another. So the embedding only gives
//! the distance of each node from the origin, and the order of sibling subtrees. The width of a sector grows
//! with the number of leaves in the subtree.

use std::f64::consts::PI;

/// A forest. Each node has at most one parent: the nearest of its parents in a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Hierarchy {
    /// The parent of each node; `None` for a root.
    parent: Vec<Option<u32>>,
    /// Number of leaves below each node; 1 for a leaf.
    pub leaves: Vec<u32>,
    /// All nodes, parents before children.
    order: Vec<u32>,
    children: Vec<Vec<u32>>,
}

impl Hierarchy {
    /// The hierarchy of a graph with this number of nodes, in which an edge (u, v) says that v is a parent of
    /// u. A node with several parents keeps the one with the shortest edge; `lengths` has the length of each
    /// edge. `None` if the graph is no hierarchy: it has a cycle or no nodes, it has more than 1.5 edges per
    /// node, or more than a tenth of its nodes (rounded up) have no parent.
    pub fn find(nodes: usize, edges: &[(u32, u32)], lengths: &[f64]) -> Option<Self> {
        let mut parent: Vec<Option<(u32, f64)>> = vec![None; nodes];
        for (&(u, v), &length) in edges.iter().zip(lengths) {
            if parent[u as usize].is_none_or(|(_, shortest)| length < shortest) {
                parent[u as usize] = Some((v, length));
            }
        }
        let parent: Vec<Option<u32>> = parent.into_iter().map(|parent| parent.map(|(v, _)| v)).collect();
        let roots = parent.iter().filter(|parent| parent.is_none()).count();
        if nodes == 0 || 2 * edges.len() > 3 * nodes || roots > nodes.div_ceil(10) {
            return None;
        }
        let mut children = vec![Vec::new(); nodes];
        for (u, parent) in (0..).zip(&parent) {
            if let Some(v) = parent {
                children[*v as usize].push(u);
            }
        }
        let mut order: Vec<u32> = (0..).zip(&parent).filter(|(_, p)| p.is_none()).map(|(u, _)| u).collect();
        let mut next = 0;
        while next < order.len() {
            order.extend(&children[order[next] as usize]);
            next += 1;
        }
        // Nodes of a cycle, and nodes below it, are not below any root.
        if order.len() < nodes {
            return None;
        }
        let mut leaves = vec![0; nodes];
        for &u in order.iter().rev() {
            leaves[u as usize] = leaves[u as usize].max(1);
            if let Some(v) = parent[u as usize] {
                leaves[v as usize] += leaves[u as usize];
            }
        }
        Some(Hierarchy { parent, leaves, order, children })
    }

    /// The nodes without a parent.
    fn roots(&self) -> Vec<u32> {
        self.order.iter().copied().filter(|&u| self.parent[u as usize].is_none()).collect()
    }

    /// The angle of each node, in radians from −π to π: the middle of its sector. Sectors of siblings are
    /// sorted by `key`, which has a number for each node.
    pub fn angles(&self, key: &[f64]) -> Vec<f64> {
        let by_key = |a: &u32, b: &u32| key[*a as usize].total_cmp(&key[*b as usize]).then(a.cmp(b));
        let mut sectors = vec![[0.0, 0.0]; self.parent.len()];
        let share = |[start, end]: [f64; 2], nodes: &[u32], sectors: &mut Vec<[f64; 2]>| {
            let mut nodes = nodes.to_vec();
            nodes.sort_by(by_key);
            // Less than proportional, so that a single leaf beside a large subtree remains visible.
            let width = |u: u32| f64::from(self.leaves[u as usize]).powf(0.9);
            let total: f64 = nodes.iter().map(|&u| width(u)).sum();
            let mut left = start;
            for u in nodes {
                let right = left + (end - start) * width(u) / total;
                sectors[u as usize] = [left, right];
                left = right;
            }
        };
        share([-PI, PI], &self.roots(), &mut sectors);
        for &u in &self.order {
            let sector = sectors[u as usize];
            share(sector, &self.children[u as usize], &mut sectors);
        }
        sectors.into_iter().map(|[start, end]| 0.5 * (start + end)).collect()
    }

    /// The roots of the `count` largest disjoint subtrees, largest first, and for each node the index of its
    /// subtree among them, if any. The subtrees are those of the forest's roots; but while one of them has
    /// more than four fifths of all leaves, the subtrees of its children take the place of all of them.
    pub fn subtrees(&self, count: usize) -> (Vec<u32>, Vec<Option<usize>>) {
        let leaves = |u: &u32| self.leaves[*u as usize];
        let mut tops = self.roots();
        loop {
            let total: u32 = tops.iter().map(leaves).sum();
            match tops.iter().copied().find(|u| 5 * leaves(u) > 4 * total) {
                Some(u) if !self.children[u as usize].is_empty() => {
                    tops.clone_from(&self.children[u as usize]);
                }
                _ => break,
            }
        }
        tops.sort_by_key(|u| (std::cmp::Reverse(leaves(u)), *u));
        tops.truncate(count);
        let mut subtree = vec![None; self.parent.len()];
        tops.iter().enumerate().for_each(|(i, &u)| subtree[u as usize] = Some(i));
        for &u in &self.order {
            if let (None, Some(v)) = (subtree[u as usize], self.parent[u as usize]) {
                subtree[u as usize] = subtree[v as usize];
            }
        }
        (tops, subtree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 has children 1 and 2; 1 has children 3, 4 and 5; 2 is also a parent of 4, but farther away.
    const EDGES: [(u32, u32); 6] = [(1, 0), (2, 0), (3, 1), (4, 2), (4, 1), (5, 1)];

    /// The hierarchy of six nodes in which the length of an edge (u, v) is v.
    fn find(edges: &[(u32, u32)]) -> Option<Hierarchy> {
        let lengths: Vec<f64> = edges.iter().map(|edge| f64::from(edge.1)).collect();
        Hierarchy::find(6, edges, &lengths)
    }

    #[test]
    fn nodes_are_below_their_nearest_parent() {
        let tree = find(&EDGES).unwrap();
        assert_eq!(tree.parent, [None, Some(0), Some(0), Some(1), Some(1), Some(1)]);
        assert_eq!(tree.leaves, [4, 3, 1, 1, 1, 1]);
    }

    #[test]
    fn a_subtree_has_a_sector_to_itself() {
        let tree = find(&EDGES).unwrap();
        let angles = tree.angles(&[0.0, 2.0, 1.0, 5.0, 4.0, 3.0]);
        // 2 comes before 1; below 1 the order is 5, 4, 3.
        let order = [2, 5, 4, 3].map(|u| angles[u]);
        assert!(order.is_sorted() && angles[2] < angles[1], "{angles:?}");
        assert!((angles[1] - angles[4]).abs() < 1e-12, "a parent is in the middle");
        assert!(angles.iter().all(|angle| (-PI..PI).contains(angle)));
        assert_eq!(tree.subtrees(8), (vec![1, 2], vec![None, Some(0), Some(1), Some(0), Some(0), Some(0)]));
        assert_eq!(tree.subtrees(1).0, [1]);
    }

    /// If the tree begins with a chain, the subtrees are those at its end.
    #[test]
    fn the_top_of_a_chain_is_no_subtree() {
        let tree = Hierarchy::find(5, &[(1, 0), (2, 1), (3, 2), (4, 2)], &[0.0; 4]).unwrap();
        assert_eq!(tree.subtrees(8).0, [3, 4]);
        let deep: Vec<(u32, u32)> = (1..50_000).map(|u| (u, u - 1)).collect();
        let chain = Hierarchy::find(50_000, &deep, &vec![0.0; deep.len()]).unwrap();
        assert!(chain.angles(&vec![0.0; 50_000]).iter().all(|angle| *angle == 0.0));
    }

    #[test]
    fn other_graphs_are_no_hierarchies() {
        assert!(find(&[(1, 0), (2, 0), (3, 4), (4, 5), (5, 3)]).is_none(), "a cycle");
        assert!(find(&[(1, 0), (2, 3)]).is_none(), "four of six nodes have no parent");
        let many: Vec<(u32, u32)> = (0..6).flat_map(|u| (0..u).map(move |v| (u, v))).collect();
        assert!(find(&many).is_none(), "15 edges for six nodes");
        assert!(Hierarchy::find(0, &[], &[]).is_none());
    }
}

//! The nodes of a batch of pairs.

use crate::train::points::Points;
use crate::train::positions::Positions;

/// The nodes of a batch. A node can occur several times; its point is read once.
pub(crate) struct Batch<T> {
    width: usize,
    positions: Positions,
    /// The nodes without repetition, and their points.
    nodes: Vec<Node>,
    points: Vec<T>,
    /// For each occurrence the number of its node among these.
    numbers: Vec<u32>,
    /// For each occurrence the next one of the same node.
    next: Vec<u32>,
}

/// A node, and its first and last occurrence.
struct Node {
    node: u32,
    first: u32,
    last: u32,
}

/// No further occurrence.
const END: u32 = u32::MAX;

impl<T: Copy> Batch<T> {
    /// For points of `width` coordinates.
    pub(crate) fn new(width: usize) -> Self {
        Batch {
            width,
            positions: Positions::new(),
            nodes: Vec::new(),
            points: Vec::new(),
            numbers: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Number of coordinates of a point.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Number of occurrences.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node of this number.
    pub(crate) fn node(&self, number: usize) -> u32 {
        self.nodes[number].node
    }

    /// The point of the node of this number.
    pub(crate) fn point(&self, number: usize) -> &[T] {
        &self.points[number * self.width..][..self.width]
    }

    /// Replaces the point of the node of this number.
    pub(crate) fn set_point(&mut self, number: usize, point: &[T]) {
        self.points[number * self.width..][..self.width].copy_from_slice(point);
    }

    /// The point of an occurrence.
    pub(crate) fn row(&self, occurrence: usize) -> &[T] {
        self.point(self.numbers[occurrence] as usize)
    }

    /// The number of a node, if it occurs.
    pub(crate) fn number(&self, node: u32) -> Option<usize> {
        self.positions.find(node).map(|number| number as usize)
    }

    /// The occurrences of the node of this number, in ascending order.
    pub(crate) fn occurrences(&self, number: usize) -> impl Iterator<Item = usize> {
        let next = |&occurrence: &u32| Some(self.next[occurrence as usize]).filter(|&next| next != END);
        std::iter::successors(Some(self.nodes[number].first), next).map(|occurrence| occurrence as usize)
    }

    /// Takes these occurrences in place of those before, and reads their points.
    pub(crate) fn read(&mut self, occurrences: &[u32], points: &impl Points<T>)
    where
        T: Default,
    {
        points.touch(occurrences);
        self.positions.clear(occurrences.len());
        self.nodes.clear();
        self.numbers.clear();
        self.next.clear();
        self.next.resize(occurrences.len(), END);
        for (occurrence, &node) in (0..).zip(occurrences) {
            let number = self.positions.first(node, self.nodes.len() as u32);
            self.numbers.push(number);
            if number as usize == self.nodes.len() {
                self.nodes.push(Node { node, first: occurrence, last: occurrence });
            } else {
                let node = &mut self.nodes[number as usize];
                self.next[node.last as usize] = occurrence;
                node.last = occurrence;
            }
        }
        self.points.resize(self.nodes.len() * self.width, T::default());
        for (node, row) in self.nodes.iter().zip(self.points.chunks_exact_mut(self.width)) {
            points.read(node.node, row);
        }
    }

    /// Replaces the points by points near them, if rows that were read may be no points.
    pub(crate) fn project(&mut self, points: &impl Points<T>) {
        self.points.chunks_exact_mut(self.width).for_each(|row| points.project(row));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::points::Table;

    #[test]
    fn a_node_has_one_point_and_all_of_its_occurrences() {
        let mut rows: Vec<f64> = (0..8).map(f64::from).collect();
        let table = Table { rows: &mut rows, width: 2 };
        let mut batch = Batch::new(2);
        // The second batch has forgotten the first.
        for occurrences in [[0, 1, 0, 2, 1], [3, 1, 3, 3, 0]] {
            batch.read(&occurrences, &table);
            let nodes: Vec<u32> = (0..batch.nodes()).map(|number| batch.node(number)).collect();
            assert_eq!(nodes, if occurrences[0] == 0 { vec![0, 1, 2] } else { vec![3, 1, 0] });
            for (number, &node) in nodes.iter().enumerate() {
                let found: Vec<usize> = batch.occurrences(number).collect();
                let expected: Vec<usize> = (0..5).filter(|&i| occurrences[i] == node).collect();
                assert_eq!((found, batch.number(node)), (expected, Some(number)));
                assert_eq!(batch.point(number), [2.0 * f64::from(node), 2.0 * f64::from(node) + 1.0]);
            }
            assert_eq!(batch.row(2), batch.row(0));
        }
        assert_eq!((batch.len(), batch.number(2)), (5, None));
    }
}

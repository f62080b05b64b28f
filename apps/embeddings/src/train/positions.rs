//! Positions of nodes in a list.

/// The positions of a few nodes: a hash table with linear probing.
pub(crate) struct Positions {
    /// A node, its position, and the round in which it was noted.
    slots: Vec<(u32, u32, u64)>,
    round: u64,
}

impl Positions {
    /// For at most `count` nodes in a round.
    pub(crate) fn new(count: usize) -> Self {
        // Nothing was noted in the first round, which is 1.
        Positions { slots: vec![(0, 0, 0); (4 * count).next_power_of_two()], round: 1 }
    }

    /// Makes room for this many nodes. Forgets all if there was less.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.slots.len() < 2 * count {
            *self = Positions::new(count);
        }
    }

    /// Forgets all nodes.
    pub(crate) fn clear(&mut self) {
        self.round += 1;
    }

    /// The position that was noted for a node; notes this one if there is none.
    pub(crate) fn first(&mut self, node: u32, position: usize) -> usize {
        let at = self.slot(node);
        let slot = &mut self.slots[at];
        if slot.2 != self.round {
            *slot = (node, position as u32, self.round);
        }
        slot.1 as usize
    }

    /// The position that was noted for a node.
    pub(crate) fn find(&self, node: u32) -> Option<usize> {
        let slot = self.slots[self.slot(node)];
        (slot.2 == self.round).then_some(slot.1 as usize)
    }

    /// The slot of a node: the one that it has, or a free one.
    fn slot(&self, node: u32) -> usize {
        // The high bits of the product depend on all bits of the node.
        let mask = self.slots.len() - 1;
        let product = u64::from(node).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (product >> (64 - self.slots.len().ilog2())) as usize & mask;
        while self.slots[at].2 == self.round && self.slots[at].0 != node {
            at = (at + 1) & mask;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_position_that_was_noted_first() {
        let mut positions = Positions::new(4);
        // Twice the same nodes: the first round must be forgotten. 16 slots: some nodes share one.
        for _ in 0..2 {
            positions.clear();
            let nodes = [3, 19, 3, 35, 19, 1000, 35];
            let found: Vec<usize> =
                nodes.iter().enumerate().map(|(at, &node)| positions.first(node, at)).collect();
            assert_eq!(found, [0, 1, 0, 3, 1, 5, 3]);
            assert_eq!([1000, 35, 4].map(|node| positions.find(node)), [Some(5), Some(3), None]);
        }
    }
}

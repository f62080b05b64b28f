//! Positions of nodes in a list.

/// The positions of a few nodes: a hash table with linear probing.
pub(crate) struct Positions {
    /// A node and its position.
    slots: Vec<(u32, u32)>,
}

/// The position in a slot without a node.
const FREE: u32 = u32::MAX;

impl Positions {
    /// For no nodes yet.
    pub(crate) fn new() -> Self {
        Positions { slots: Vec::new() }
    }

    /// Forgets all nodes, and makes room for this many.
    pub(crate) fn clear(&mut self, count: usize) {
        let slots = self.slots.len().max((2 * count).next_power_of_two());
        self.slots.clear();
        self.slots.resize(slots, (0, FREE));
    }

    /// The position that was noted for a node; notes this one if there is none.
    #[inline]
    pub(crate) fn first(&mut self, node: u32, position: u32) -> u32 {
        let at = self.slot(node);
        let slot = &mut self.slots[at];
        if slot.1 == FREE {
            *slot = (node, position);
        }
        slot.1
    }

    /// The position that was noted for a node.
    pub(crate) fn find(&self, node: u32) -> Option<u32> {
        Some(self.slots[self.slot(node)].1).filter(|&position| position != FREE)
    }

    /// The slot of a node: the one that it has, or a free one.
    #[inline]
    fn slot(&self, node: u32) -> usize {
        // The high bits of the product depend on all bits of the node.
        let mask = self.slots.len() - 1;
        let product = u64::from(node).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut at = (product >> 32) as usize & mask;
        while self.slots[at].1 != FREE && self.slots[at].0 != node {
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
        let mut positions = Positions::new();
        // Twice the same nodes: the first round must be forgotten. 16 slots: some nodes share one.
        for _ in 0..2 {
            positions.clear(7);
            let nodes = [3, 19, 3, 35, 19, 1000, 35];
            let found: Vec<u32> = (0..).zip(nodes).map(|(at, node)| positions.first(node, at)).collect();
            assert_eq!(found, [0, 1, 0, 3, 1, 5, 3]);
            assert_eq!([1000, 35, 4].map(|node| positions.find(node)), [Some(5), Some(3), None]);
        }
    }
}

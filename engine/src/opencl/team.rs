//! Work-items that compute rows together: `team.cl`.

use crate::numbers::line::{BLOCK, SETS};
use crate::numbers::simd::LANES;
use crate::tensor::device::queue::{Launch, Queue};

/// `items` work-items for each of `rows` rows.
#[derive(Clone, Copy)]
pub(super) struct Team {
    items: usize,
    rows: usize,
}

/// Rows of a team. A team has as many members as a work-group of any GPU may have, if there is local
/// memory for them.
const ROWS: usize = 32;

/// Bytes of local memory that a team may take: half of what every device has, so that two work side by side.
const LOCAL: usize = 16 << 10;

impl Queue {
    /// The team for rows that share `numbers` numbers each, besides their lanes. On a processor, one
    /// work-item computes a whole row: there, neighbours are computed one after another, and a barrier
    /// is the end of a loop over them.
    pub(super) fn team(&self, numbers: usize) -> Team {
        let items = self.0.items;
        let fit = LOCAL / ((LANES + numbers) * size_of::<f64>());
        Team { items, rows: if items == 1 { 1 } else { 1 << fit.clamp(1, ROWS).ilog2() } }
    }
}

impl Team {
    /// What a program of such rows begins with.
    pub(super) fn source(self) -> String {
        let Team { items, rows } = self;
        format!(
            "#define ITEMS {items}\n#define ROWS {rows}\n#define SETS {SETS}\n#define BLOCK {BLOCK}\n{}",
            include_str!("team.cl")
        )
    }
}

impl Launch<'_> {
    /// Runs over `n` rows.
    pub(super) fn over_rows(self, team: Team, n: usize) {
        let Team { items, rows } = team;
        if items == 1 { self.over(n) } else { self.in_groups([n.div_ceil(rows), 1, 1], [items * rows, 1, 1]) }
    }
}

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

/// The rows of a team, if there is local memory for so many. With eight work-items a row, the team then has
/// as many members as a work-group may have on any GPU.
const ROWS: usize = 32;

/// Bytes of local memory that a team may take: half of what every device has, so that two teams fit.
const LOCAL: usize = 16 << 10;

impl Queue {
    /// The team for rows whose work-items share `numbers` numbers for each row, besides the lanes of its
    /// sums. On a processor, one work-item computes a whole row: work-items of a group run one after another
    /// there, and every barrier ends a loop over them.
    pub(super) fn team(&self, numbers: usize) -> Team {
        let items = self.0.items;
        let fit = LOCAL / ((LANES + numbers) * size_of::<f64>());
        Team { items, rows: if items == 1 { 1 } else { 1 << fit.clamp(1, ROWS).ilog2() } }
    }
}

impl Team {
    /// The definitions of `team.cl` for this team.
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

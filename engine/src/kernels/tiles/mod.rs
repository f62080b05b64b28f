//! Row formulas on rows that lie side by side.
//!
//! The kernel [`gram`](crate::kernels::gram) sums along the coordinates of a row. Here eight rows share the
//! lanes of a block, and the sum runs from block to block: nothing is summed over lanes, and narrow rows do
//! not leave lanes empty. Everything is in `f64`. The values are those of `gram` up to the rounding of sums.

mod invariants;
mod one_to_many;
mod row_numbers;
mod row_program;
mod survey;
mod terms;

use std::ops::Range;

pub use self::one_to_many::OneToMany;
pub use self::row_numbers::RowNumbers;
pub use self::row_program::RowProgram;
use crate::numbers::simd::{Aligned, LANES};
use crate::numbers::storage::Storage;

/// Rows side by side: eight to a tile, one in each lane. Coordinates are `f64`.
///
/// ```
/// use cotangent_engine::Tiles;
/// let mut tiles = Tiles::new(2);
/// tiles.push(&[1.0_f32, 2.0]);
/// tiles.push(&[3.0_f32, 4.0]);
/// let mut row = [0.0_f32; 2];
/// tiles.read(1, &mut row);
/// assert_eq!((tiles.len(), row), (2, [3.0, 4.0]));
/// ```
#[derive(Clone, Debug)]
pub struct Tiles {
    width: usize,
    rows: usize,
    /// The order is: tile, coordinate, row. Lanes beyond the last row hold copies of the first row of their
    /// tile, or what a formula made of those.
    blocks: Vec<Aligned>,
}

impl Tiles {
    /// No rows yet, of `width` coordinates.
    ///
    /// # Panics
    /// If the width is 0.
    pub fn new(width: usize) -> Self {
        assert!(width > 0, "rows of at least one coordinate are needed");
        Tiles { width, rows: 0, blocks: Vec::new() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Removes all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.blocks.clear();
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If the row has another width.
    #[inline]
    pub fn push<T: Storage>(&mut self, row: &[T]) {
        assert_eq!(row.len(), self.width, "tiles: the width of a row");
        let l = self.rows % LANES;
        if l == 0 {
            self.blocks.extend(row.iter().map(|x| Aligned([x.to_f64(); LANES])));
        } else {
            let first = self.blocks.len() - self.width;
            for (block, x) in self.blocks[first..].iter_mut().zip(row) {
                block.0[l] = x.to_f64();
            }
        }
        self.rows += 1;
    }

    /// Replaces row `j`.
    ///
    /// # Panics
    /// If there is no such row, or the new one has another width.
    #[inline]
    pub fn write<T: Storage>(&mut self, j: usize, row: &[T]) {
        assert_eq!(row.len(), self.width, "tiles: the width of a row");
        let (blocks, l) = self.lane(j);
        for (block, x) in self.blocks[blocks].iter_mut().zip(row) {
            block.0[l] = x.to_f64();
        }
    }

    /// Copies row `j` to `out`, rounded to its type.
    ///
    /// # Panics
    /// If there is no such row, or `out` has another width.
    #[inline]
    pub fn read<T: Storage>(&self, j: usize, out: &mut [T]) {
        assert_eq!(out.len(), self.width, "tiles: the width of a row");
        let (blocks, l) = self.lane(j);
        for (x, block) in out.iter_mut().zip(&self.blocks[blocks]) {
            *x = T::nearest(block.0[l]);
        }
    }

    /// The blocks of a row, and its lane.
    #[inline(always)]
    fn lane(&self, j: usize) -> (Range<usize>, usize) {
        assert!(j < self.rows, "row {j} of {}", self.rows);
        let first = j / LANES * self.width;
        (first..first + self.width, j % LANES)
    }

    fn tiles(&self) -> usize {
        self.rows.div_ceil(LANES)
    }

    /// Makes it as large as `other`; the content is unspecified.
    fn resize_as(&mut self, other: &Tiles) {
        self.rows = other.rows;
        self.blocks.resize(other.blocks.len(), Aligned::default());
    }
}

//! Tables of points that steps read and write.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cotangent::prelude::*;

/// The points of all nodes.
pub(crate) trait Points<T>: Sync {
    /// Brings the points of some nodes into the cache: reads the first and the last coordinate of each.
    /// Nothing waits for these reads, so that many of them are under way at once.
    fn touch(&self, nodes: &[u32]);

    /// Reads a node's point.
    fn read(&self, node: u32, row: &mut [T]);

    /// Writes a node's point.
    fn write(&mut self, node: u32, row: &[T]);

    /// Whether a node's point may change.
    fn moves(&self, _node: u32) -> bool {
        true
    }

    /// Replaces a row by a point near it, if rows that were read may be no points.
    fn project(&self, _row: &mut [T]) {}
}

/// The points in rows, `[nodes, width]`, for one step at a time.
pub(crate) struct Table<'a, T> {
    pub(crate) rows: &'a mut [T],
    pub(crate) width: usize,
}

impl<T: Float> Points<T> for Table<'_, T> {
    fn touch(&self, nodes: &[u32]) {
        touch(self.rows, nodes, self.width, |x| x.to_f64().to_bits());
    }

    fn read(&self, node: u32, row: &mut [T]) {
        row.copy_from_slice(&self.rows[node as usize * self.width..][..self.width]);
    }

    fn write(&mut self, node: u32, row: &[T]) {
        self.rows[node as usize * self.width..][..self.width].copy_from_slice(row);
    }
}

/// Reads the first and the last element of some rows.
pub(crate) fn touch<X>(table: &[X], rows: &[u32], width: usize, bits: impl Fn(&X) -> u64) {
    let touched = rows.iter().fold(0, |touched, &row| {
        let first = row as usize * width;
        touched ^ bits(&table[first]) ^ bits(&table[first + width - 1])
    });
    std::hint::black_box(touched);
}

/// An element type with an atomic form.
pub(crate) trait Shared: Float {
    /// The atomic form.
    type Cell: Send + Sync;
    /// A number to be shared.
    fn share(self) -> Self::Cell;
    /// Reads it.
    fn load(cell: &Self::Cell) -> Self;
    /// Writes it.
    fn store(self, cell: &Self::Cell);
}

macro_rules! shared {
    ($element:ty, $cell:ty) => {
        impl Shared for $element {
            type Cell = $cell;
            fn share(self) -> $cell {
                <$cell>::new(self.to_bits())
            }
            fn load(cell: &$cell) -> Self {
                Self::from_bits(cell.load(Ordering::Relaxed))
            }
            fn store(self, cell: &$cell) {
                cell.store(self.to_bits(), Ordering::Relaxed);
            }
        }
    };
}
shared!(f32, AtomicU32);
shared!(f64, AtomicU64);

/// Points that threads read and write without waiting for each other. Every coordinate is an atomic number
/// that is read and written in relaxed order, so a row can be read while another thread writes it, half old
/// and half new, and of two steps of one point at the same time one can be lost.
pub(crate) struct Atomics<'a, M, T: Shared> {
    pub(crate) manifold: &'a M,
    pub(crate) cells: &'a [T::Cell],
    pub(crate) width: usize,
}

impl<M: Manifold, T: Shared> Points<T> for Atomics<'_, M, T> {
    fn touch(&self, nodes: &[u32]) {
        touch(self.cells, nodes, self.width, |cell| T::load(cell).to_f64().to_bits());
    }

    fn read(&self, node: u32, row: &mut [T]) {
        let cells = &self.cells[node as usize * self.width..][..self.width];
        row.iter_mut().zip(cells).for_each(|(x, cell)| *x = T::load(cell));
    }

    fn write(&mut self, node: u32, row: &[T]) {
        let cells = &self.cells[node as usize * self.width..][..self.width];
        cells.iter().zip(row).for_each(|(cell, x)| x.store(cell));
    }

    fn project(&self, row: &mut [T]) {
        let point = self.manifold.project(&Row::from(&*row));
        row.copy_from_slice(&point);
    }
}

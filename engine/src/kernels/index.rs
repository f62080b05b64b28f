//! The `index` kernel: rows taken from a table by number, and gradients summed back into it.

use crate::Float;
use crate::kernels::reduce::Axis;
use crate::parallel;

/// `out[i] = table[rows[i]]`, rows of `width` elements.
pub(crate) fn gather<T: Float>(table: &[T], rows: &[u32], width: usize, out: &mut [T]) {
    let mut rest = out;
    let mut jobs: smallvec::SmallVec<[_; parallel::PIECES]> = parallel::pieces(rows.len(), 1, 4 + width / 4)
        .into_iter()
        .map(|range| (&rows[range.clone()], parallel::split_front(&mut rest, range.len() * width)))
        .collect();
    parallel::run(&mut jobs, |(rows, out)| {
        for (&row, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
            let start = row as usize * width;
            out.copy_from_slice(&table[start..start + width]);
        }
    });
}

/// `table[rows[i]] += g[i]`, in the order of `i`.
pub(crate) fn scatter_add<T: Float>(g: &[T], rows: &[u32], width: usize, table: &mut [T]) {
    for (&row, g) in rows.iter().zip(g.chunks_exact(width)) {
        let start = row as usize * width;
        add(&mut table[start..start + width], g);
    }
}

/// Copies the part `start..start + take` of the axis `[outer, n, inner]`.
pub(crate) fn slice<T: Float>(axis: Axis, start: usize, x: &[T], part: &mut [T]) {
    let (whole, take) = lines(axis, part.len());
    for (x, part) in x.chunks_exact(whole).zip(part.chunks_exact_mut(take)) {
        part.copy_from_slice(&x[start * axis.inner..][..take]);
    }
}

/// The reverse of [`slice`]: zeros around the part.
pub(crate) fn unslice<T: Float>(axis: Axis, start: usize, part: &[T], x: &mut [T]) {
    let (whole, take) = lines(axis, part.len());
    x.fill(T::zero());
    for (x, part) in x.chunks_exact_mut(whole).zip(part.chunks_exact(take)) {
        x[start * axis.inner..][..take].copy_from_slice(part);
    }
}

/// Elements of a line of the whole and of a part of `len` elements; at least 1, for chunking.
fn lines(axis: Axis, len: usize) -> (usize, usize) {
    ((axis.n * axis.inner).max(1), (len / axis.outer.max(1)).max(1))
}

#[inline(always)]
pub(crate) fn add<T: Float>(sum: &mut [T], g: &[T]) {
    for (sum, g) in sum.iter_mut().zip(g) {
        *sum = *sum + *g;
    }
}

/// The gradient of a table of which only some rows were read: each touched row once, in the order of
/// first touch, with the contributions of all its readings summed.
#[derive(Debug)]
pub(crate) struct SparseRows<T> {
    /// Touched row numbers.
    pub(crate) rows: Vec<u32>,
    /// Their gradients; only the first `rows.len() · width` elements count.
    pub(crate) values: Vec<T>,
    pub(crate) width: usize,
    /// For each row of the table, its position in `rows`, or `UNTOUCHED`.
    pub(crate) slots: Vec<u32>,
}

pub(crate) const UNTOUCHED: u32 = u32::MAX;

impl<T: Float> SparseRows<T> {
    /// Adds `g[i]` to row `rows[i]`. `grow(values, len)` makes room for `len` elements.
    pub(crate) fn add(&mut self, g: &[T], rows: &[u32], mut grow: impl FnMut(&mut Vec<T>, usize)) {
        let width = self.width;
        for (&row, g) in rows.iter().zip(g.chunks_exact(width)) {
            let slot = &mut self.slots[row as usize];
            if *slot == UNTOUCHED {
                *slot = self.rows.len() as u32;
                let start = self.rows.len() * width;
                self.rows.push(row);
                if self.values.len() < start + width {
                    grow(&mut self.values, start + width);
                }
                self.values[start..start + width].copy_from_slice(g);
            } else {
                let start = *slot as usize * width;
                add(&mut self.values[start..start + width], g);
            }
        }
    }

    /// Marks all rows untouched again: time in proportion to the touched ones.
    pub(crate) fn clear(&mut self) {
        for &row in &self.rows {
            self.slots[row as usize] = UNTOUCHED;
        }
        self.rows.clear();
    }
}

//! Copies from place to place on a device.

use std::sync::Arc;

use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::{Key, Program};
use crate::tensor::device::queue::Queue;
use crate::tensor::shape::row_numbers;

fn program<T: Storage>(queue: &Queue) -> Arc<Program> {
    queue.program::<T>(Key::new::<T>("copies", None), || include_str!("copies.cl").to_owned())
}

/// Copies the first `len` elements.
pub(crate) fn copy<T: Storage>(queue: &Queue, x: &Memory, out: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "copy").size(len).memory(x).memory(out).over(len);
}

/// The entries of a list of rows, sorted by row; those of one row stay in order. The host sorts, as it has
/// the numbers.
pub(crate) fn by_row(rows: &[u32]) -> Vec<u32> {
    let mut entries: Vec<u32> = row_numbers(rows.len()).collect();
    entries.sort_by_key(|&i| rows[i as usize]);
    entries
}

/// Writes some columns of some rows of a table, or of all rows. A row that is listed more than once gets
/// its last entry. Work-items have no order, so the other entries are left out beforehand.
pub(crate) fn set_rows<T: Storage>(
    queue: &Queue,
    values: &Memory,
    rows: Option<&[u32]>,
    [n, own, width, start]: [usize; 4],
    table: &Memory,
) {
    let lists = rows.map(|rows| {
        let mut entries = by_row(rows);
        entries.reverse();
        entries.dedup_by_key(|i| rows[*i as usize]);
        let targets: Vec<u32> = entries.iter().map(|&i| rows[i as usize]).collect();
        [targets, entries]
    });
    let n = own * lists.as_ref().map_or(n, |[targets, _]| targets.len());
    let [targets, entries] = match lists {
        Some(lists) => lists.map(|numbers| Some(queue.upload(bytemuck::cast_slice(&numbers)))),
        None => [None, None],
    };
    let launch = queue.launch(&program::<T>(queue), "set_rows").size(n).size(own).size(width).size(start);
    launch.keep_optional(targets).keep_optional(entries).memory(values).memory(table).over(n);
}

//! The `index` kernel.

use std::sync::Arc;

use super::program::{Key, Program};
use super::{Memory, Queue};
use crate::Float;

fn program<T: Float>(queue: &Queue) -> Arc<Program> {
    queue.program::<T>(Key::new::<T>("index", None), || include_str!("index.cl").to_owned())
}

/// Zeros.
pub(super) fn fill<T: Float>(queue: &Queue, x: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "fill").size(len).memory(x).over(len);
}

/// The first `len` elements.
pub(super) fn copy<T: Float>(queue: &Queue, x: &Memory, out: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "copy").size(len).memory(x).memory(out).over(len);
}

/// `sum += g`.
pub(super) fn add<T: Float>(queue: &Queue, sum: &Memory, g: &Memory, len: usize) {
    queue.launch(&program::<T>(queue), "add").size(len).memory(sum).memory(g).over(len);
}

/// `table[rows[i]] += g[i]`, in the order of `i` for each row.
pub(super) fn scatter_add<T: Float>(queue: &Queue, g: &Memory, rows: &[u32], width: usize, table: &Memory) {
    segments::<T>(queue, g, rows, width, usize::MAX, table);
}

/// As [`scatter_add`]; what rows from `fresh` on hold does not count. Entries are sorted by row on the host, where their
/// numbers are, so that a row is one work-item's for each of its elements.
pub(super) fn segments<T: Float>(
    queue: &Queue,
    g: &Memory,
    rows: &[u32],
    width: usize,
    fresh: usize,
    table: &Memory,
) {
    let mut entries: Vec<u32> = (0..rows.len() as u32).collect();
    entries.sort_by_key(|&i| rows[i as usize]);
    let (mut targets, mut offsets): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for (k, &i) in entries.iter().enumerate() {
        if targets.last() != Some(&rows[i as usize]) {
            targets.push(rows[i as usize]);
            offsets.push(k as u32);
        }
    }
    offsets.push(rows.len() as u32);
    let n = targets.len() * width;
    let [targets, offsets, entries] =
        [targets, offsets, entries].map(|numbers| queue.upload(bytemuck::cast_slice(&numbers)));
    let launch = queue.launch(&program::<T>(queue), "segments").size(n).size(width).size(fresh);
    launch.memory(&targets).memory(&offsets).memory(&entries).memory(g).memory(table).over(n);
}

//! Random draws on a device, from the same stream as on the host.

use crate::kernels::attend::Dropped;
use crate::kernels::dropout::Dropout;
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::Key;
use crate::tensor::device::queue::{Launch, Queue};

/// 32-bit words in a block of the stream's cipher.
const BLOCK: usize = 16;

/// A launch of a kernel with the arguments that say where the draws of some numbers start, and which of them
/// are 0. Also returns the word of its block at which they start.
fn launch<'a, T: Storage>(queue: &'a Queue, kernel: &'static str, dropout: &Dropout) -> (Launch<'a>, usize) {
    let seed = dropout.rng.get_seed();
    let key = |k: usize| u64::from_le_bytes(seed.as_chunks::<8>().0[k]) as usize;
    // A draw is an integer of 53 bits. It is less than the rate if it is below this.
    let below = (dropout.rate * 2f64.powi(53)).ceil() as usize;
    let position = dropout.rng.get_word_pos();
    let (number, first) = ((position / BLOCK as u128) as usize, (position % BLOCK as u128) as usize);
    let source = || include_str!("random.cl").to_owned();
    let program = queue.program::<T>(Key::new::<T>("random", None), source);
    let launch = queue.launch(&program, kernel).size(number).size(first);
    let launch = launch.size(dropout.rng.get_stream() as usize).sizes([0, 1, 2, 3].map(key));
    (launch.size(below).number(dropout.kept()), first)
}

/// Writes the next `n` numbers of dropout: those of the host.
pub(crate) fn dropout<T: Storage>(queue: &Queue, dropout: &Dropout, n: usize, mask: &Memory) {
    let (launch, first) = launch::<T>(queue, "dropout", dropout);
    launch.size(n).memory(mask).over((first + 2 * n).div_ceil(BLOCK));
}

/// Multiplies a tile by the numbers of dropout at its positions: columns from `start` on, in rows of `m`. If
/// keys are dropped, lowers scores to −∞ instead.
pub(crate) fn drop_tile<T: Storage>(
    queue: &Queue,
    dropout: &Dropout,
    dropped: Dropped,
    [rows, columns, m, start]: [usize; 4],
    tile: &Memory,
) {
    let (launch, _) = launch::<T>(queue, "drop_tile", dropout);
    let launch = launch
        .size(usize::from(dropped == Dropped::Keys))
        .size(rows)
        .size(columns)
        .size(m)
        .size(start)
        .memory(tile);
    launch.over(rows * columns.div_ceil(BLOCK / 2));
}

//! Random draws on a device, from the same stream as on the host.

use crate::numbers::rng::Rng;
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::Key;
use crate::tensor::device::queue::Queue;

/// 32-bit words in a block of the stream's cipher.
const BLOCK: usize = 16;

/// Writes `n` elements that are 0 with probability `rate`, else `kept`. The draws are those of `n` calls of
/// `random::<f64>` on the host, and the stream moves past them.
pub(crate) fn dropout<T: Storage>(
    queue: &Queue,
    rng: &mut Rng,
    [rate, kept]: [f64; 2],
    n: usize,
    mask: &Memory,
) {
    let seed = rng.get_seed();
    let key = |k: usize| u64::from_le_bytes(seed.as_chunks::<8>().0[k]) as usize;
    // A draw is an integer of 53 bits. It is less than the rate if it is below this.
    let below = (rate * 2f64.powi(53)).ceil() as usize;
    let position = rng.get_word_pos();
    let (number, first) = ((position / BLOCK as u128) as usize, (position % BLOCK as u128) as usize);
    let source = || include_str!("random.cl").to_owned();
    let program = queue.program::<T>(Key::new::<T>("random", None), source);
    let launch = queue.launch(&program, "dropout").size(n).size(number).size(first);
    let launch = launch.size(rng.get_stream() as usize).sizes([0, 1, 2, 3].map(key));
    launch.size(below).number(kept).memory(mask).over((first + 2 * n).div_ceil(BLOCK));
    rng.set_word_pos(position + 2 * n as u128);
}

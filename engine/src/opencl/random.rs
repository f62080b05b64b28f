//! Draws of a random stream.

use crate::numbers::rng::Rng;
use crate::numbers::storage::Storage;
use crate::tensor::device::memory::Memory;
use crate::tensor::device::program::Key;
use crate::tensor::device::queue::Queue;

/// Words of a block of the stream's cipher.
const BLOCK: usize = 16;

/// `n` elements that are 0 with probability `rate`, else `kept`. They take `n` draws of an `f64`; the
/// stream moves past these.
pub(crate) fn dropout<T: Storage>(
    queue: &Queue,
    rng: &mut Rng,
    [rate, kept]: [f64; 2],
    n: usize,
    mask: &Memory,
) {
    let seed = rng.get_seed();
    let key = |k: usize| u64::from_le_bytes(seed.as_chunks::<8>().0[k]) as usize;
    // A draw has 53 bits: draws below this are less than the rate.
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

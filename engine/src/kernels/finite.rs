//! Whether elements are finite.

use crate::numbers::lanes::Lanes;
use crate::numbers::line::{BLOCK, load};
use crate::numbers::simd::{LANES, dispatch};
use crate::numbers::storage::Storage;

/// Elements that one thread checks.
const PART: usize = 1 << 16;

/// The first element that is NaN or infinite, found in one pass at the speed of memory.
#[inline(never)]
pub fn first_not_finite<T: Storage>(values: &[T]) -> Option<usize> {
    if values.len() > PART {
        let half = values.len() / 2;
        let (left, right) = values.split_at(half);
        let (left, right) = rayon::join(|| first_not_finite(left), || first_not_finite(right));
        return left.or(right.map(|at| half + at));
    }
    dispatch(
        #[inline(always)]
        || {
            // A loop of its own: a closure given to `position` is not compiled for the instruction set.
            for (block, part) in values.chunks(BLOCK).enumerate() {
                if !all_finite(part) {
                    return part.iter().position(|x| !x.is_finite()).map(|at| block * BLOCK + at);
                }
            }
            None
        },
    )
}

/// Without a branch for each element: 0 · x is NaN where x is not finite.
#[inline(always)]
fn all_finite<T: Storage>(block: &[T]) -> bool {
    let zero = Lanes::<LANES, T>::splat(T::zero());
    let mut sums = [zero; 4];
    let mut lines = block.chunks_exact(4 * LANES);
    for line in &mut lines {
        for i in 0..4 {
            sums[i] = sums[i] + load(&line[i * LANES..(i + 1) * LANES], 0.0) * zero;
        }
    }
    for end in lines.remainder().chunks(LANES) {
        sums[0] = sums[0] + load(end, 0.0) * zero;
    }
    let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    sum.to_array().iter().all(|x| x.is_finite())
}

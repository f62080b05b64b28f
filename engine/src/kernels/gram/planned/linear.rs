//! Linear combinations of vectors in a buffer.

use crate::numbers::simd::Block;

/// Calls `each` with the number of each block and the sum of the vectors that begin at `starts`, each times its weight.
#[inline(always)]
pub(super) fn linear<S: Block>(
    vectors: &[S],
    starts: &[usize],
    weights: &[S],
    blocks: usize,
    each: impl FnMut(usize, S),
) {
    match starts.len() {
        1 => of::<S, 1>(vectors, starts, weights, blocks, each),
        2 => of::<S, 2>(vectors, starts, weights, blocks, each),
        3 => of::<S, 3>(vectors, starts, weights, blocks, each),
        4 => of::<S, 4>(vectors, starts, weights, blocks, each),
        _ => of_any(vectors, starts, weights, blocks, each),
    }
}

/// Of a number of vectors that is known when compiled: their weights stay in registers.
#[inline(always)]
fn of<S: Block, const N: usize>(
    vectors: &[S],
    starts: &[usize],
    weights: &[S],
    blocks: usize,
    mut each: impl FnMut(usize, S),
) {
    let mut rows = [[].as_slice(); N];
    for n in 0..N {
        rows[n] = &vectors[starts[n]..][..blocks];
    }
    for block in 0..blocks {
        let mut sum = S::splat(0.0);
        for n in 0..N {
            sum = sum + weights[n] * rows[n][block];
        }
        each(block, sum);
    }
}

#[inline(always)]
fn of_any<S: Block>(
    vectors: &[S],
    starts: &[usize],
    weights: &[S],
    blocks: usize,
    mut each: impl FnMut(usize, S),
) {
    for block in 0..blocks {
        let mut sum = S::splat(0.0);
        for (&start, &weight) in starts.iter().zip(weights) {
            sum = sum + weight * vectors[start + block];
        }
        each(block, sum);
    }
}

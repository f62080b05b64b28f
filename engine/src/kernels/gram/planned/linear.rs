//! Linear combinations of vectors in a buffer.

use smallvec::SmallVec;

use crate::formula::plan::{BASIS, Number, ROWS};
use crate::kernels::gram::Together;
use crate::numbers::simd::Block;

/// Where a vector of a group begins in the buffer, and its weights, one for each row.
pub(super) type Term = (usize, Number);

/// The terms of a linear combination of basis vectors and an upstream cotangent.
pub(super) type Terms = SmallVec<[Term; BASIS + 1]>;

/// The linear combination of vectors for row `l` of a group: calls `each` with the number of each block and
/// the block.
#[inline(always)]
pub(super) fn linear<S: Block>(
    vectors: &[Together],
    terms: &[Term],
    blocks: usize,
    l: usize,
    each: impl FnMut(usize, S),
) {
    let l = l % ROWS;
    match terms.len() {
        1 => combined::<S, 1>(vectors, terms, blocks, l, each),
        2 => combined::<S, 2>(vectors, terms, blocks, l, each),
        3 => combined::<S, 3>(vectors, terms, blocks, l, each),
        4 => combined::<S, 4>(vectors, terms, blocks, l, each),
        5 => combined::<S, 5>(vectors, terms, blocks, l, each),
        _ => combined_by_loop(vectors, terms, blocks, l, each),
    }
}

/// The combination of `N` vectors, a number that is known when compiled: their weights stay in registers.
#[inline(always)]
fn combined<S: Block, const N: usize>(
    vectors: &[Together],
    terms: &[Term],
    blocks: usize,
    l: usize,
    mut each: impl FnMut(usize, S),
) {
    let (mut rows, mut weights) = ([[].as_slice(); N], [S::splat(0.0); N]);
    for n in 0..N {
        let (start, weight) = terms[n];
        (rows[n], weights[n]) = (&vectors[start..][..blocks], S::splat(weight.get(l)));
    }
    for block in 0..blocks {
        let mut sum = S::splat(0.0);
        for n in 0..N {
            sum = sum + weights[n] * rows[n][block][l].read();
        }
        each(block, sum);
    }
}

/// The combination of any number of vectors.
#[inline(always)]
fn combined_by_loop<S: Block>(
    vectors: &[Together],
    terms: &[Term],
    blocks: usize,
    l: usize,
    mut each: impl FnMut(usize, S),
) {
    for block in 0..blocks {
        let mut sum = S::splat(0.0);
        for &(start, weight) in terms {
            sum = sum + S::splat(weight.get(l)) * vectors[start + block][l].read();
        }
        each(block, sum);
    }
}

//! A tile of a matrix product in registers.

use super::Register;
use crate::lanes::array;

/// The left rows of a tile: element `p` of row `r` is `data[r · row + p · column]`.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Strided<'a, T> {
    pub data: &'a [T],
    pub row: usize,
    pub column: usize,
}

/// Some columns of a row-major matrix: element `j` of row `p` is `data[p · row + j]`.
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Columns<'a, T> {
    pub data: &'a [T],
    pub row: usize,
}

/// The products of `R` rows of `k` elements with `C` registers of columns: a sum for each row and register.
/// Each sum is taken in order and rounded once per term.
///
/// Call it in what [`dispatch_wide`](super::dispatch_wide) runs for the register.
///
/// # Panics
/// If the rows or the columns are not within their data.
#[inline(always)]
pub fn tile<T: Copy, O: Register<T>, const R: usize, const C: usize>(
    a: Strided<'_, T>,
    b: Columns<'_, T>,
    k: usize,
) -> [[O; C]; R] {
    let mut sums = [[O::zero(); C]; R];
    if k == 0 {
        return sums;
    }
    assert!((R - 1) * a.row + (k - 1) * a.column < a.data.len(), "rows within their data");
    assert!((k - 1) * b.row + C * O::WIDTH <= b.data.len(), "columns within their data");
    for p in 0..k {
        let y: [O; C] = array(
            O::zero(),
            #[inline(always)]
            |c| {
                let start = p * b.row + c * O::WIDTH;
                // SAFETY: p < k and c < C, so this is within the second assertion.
                O::load(unsafe { b.data.get_unchecked(start..start + O::WIDTH) })
            },
        );
        for r in 0..R {
            // SAFETY: r < R and p < k, so this is within the first assertion.
            let x = O::splat(unsafe { *a.data.get_unchecked(r * a.row + p * a.column) });
            for c in 0..C {
                sums[r][c] = x.mul_add(y[c], sums[r][c]);
            }
        }
    }
    sums
}

//! The reverse pass over all pairs, tile by tile.

use super::Sizes;
use super::jobs::{Gradients, entries, steps};
use super::pairings::{Part, tile_rows, with_right};
use super::tile::{PairKernel, gradient};
use crate::numbers::storage::Storage;
use crate::tensor::view::View;

/// The reverse pass of a pair formula.
pub(super) fn gradients<T: Storage>(
    kernel: &dyn PairKernel<T>,
    inputs: &[View<'_, T>],
    s: Sizes,
    g: &[T],
    grads: &mut [Option<&mut [T]>],
) {
    let counts = kernel.counts();
    let cost = 1 + s.m * (s.width / 8 + 4);
    Gradients::new(grads, counts, s.width).in_jobs(s, cost, |job| {
        let step = tile_rows(s.m);
        T::with_scratch(2 * step * s.m, |scratch| {
            let (pairs, weights) = scratch.split_at_mut(step * s.m);
            for (b, rows) in entries(s, job.rows.clone()) {
                let part = Part::new(inputs, counts, s, b, b * s.n..(b + 1) * s.n);
                with_right(kernel.pairing(), part.y, s.width, true, |right| {
                    for rows in steps(rows, step) {
                        let x = part.left(rows.clone());
                        let [pairs, weights] =
                            [&mut *pairs, &mut *weights].map(|pairs| &mut pairs[..rows.len() * s.m]);
                        right.pairings(x, 0..s.m, pairs);
                        weights.copy_from_slice(&g[(b * s.n + rows.start) * s.m..][..rows.len() * s.m]);
                        let tile = part.tile(rows.clone(), 0..s.m);
                        job.on_tile(b, rows, 0..s.m, |row_grads, number_grads| {
                            gradient(kernel, &tile, pairs, weights, number_grads, |_, _, _, _| ());
                            right.gradient(x, 0..s.m, pairs, weights, row_grads.x, row_grads.y);
                        });
                    }
                });
            }
        });
    });
}

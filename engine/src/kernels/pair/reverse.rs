//! The reverse pass over all pairs, tile by tile.

use super::Sizes;
use super::jobs::{Gradients, tiles};
use super::pairings::{Part, pairings, pairings_gradient, tile_rows};
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
            for (b, rows) in tiles(s, job.rows.clone(), step) {
                let all = b * s.n + rows.start..b * s.n + rows.end;
                let part = Part::new(inputs, counts, s, b, all.clone());
                let [pairs, weights] = [&mut *pairs, &mut *weights].map(|x| &mut x[..rows.len() * s.m]);
                pairings(kernel.pairing(), part.x, part.y, s.width, pairs);
                weights.copy_from_slice(&g[all.start * s.m..all.end * s.m]);
                let tile = part.tile(0..rows.len(), 0..s.m);
                job.on_tile(b, rows, 0..s.m, |row_grads, number_grads| {
                    gradient(kernel, &tile, pairs, weights, number_grads, |_, _, _, _| ());
                    let rows = (part.x, part.y);
                    pairings_gradient(
                        kernel.pairing(),
                        rows,
                        s.width,
                        pairs,
                        weights,
                        row_grads.x,
                        row_grads.y,
                    );
                });
            }
        });
    });
}

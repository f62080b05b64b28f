//! The reverse pass over all pairs, tile by tile.

use super::Sizes;
use super::jobs::{Gradients, Job, entries, steps};
use super::pairings::{Part, Right, tile_rows, with_right};
use super::tile::{PairKernel, gradient};
use crate::numbers::storage::Storage;
use crate::tensor::view::View;

/// The right rows of a tile: so few that they and their gradients stay in the second cache. A multiple of 64,
/// as [`Right::pairings`] needs.
const COLUMNS: usize = 1024;

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
    let part = |b: usize| Part::new(inputs, counts, s, b, b * s.n..(b + 1) * s.n);
    let tiles = |job: &mut Job<'_, T>, part: &Part<'_, T>, right: &Right<'_, T>, b: usize, rows| {
        let columns = s.m.min(COLUMNS);
        let step = tile_rows(columns);
        T::with_scratch(2 * step * columns, |scratch| {
            let (pairs, weights) = scratch.split_at_mut(step * columns);
            for rows in steps(rows, step) {
                let x = part.left(rows.clone());
                for columns in steps(0..s.m, columns) {
                    let count = rows.len() * columns.len();
                    let (pairs, weights) = (&mut pairs[..count], &mut weights[..count]);
                    right.pairings(x, columns.clone(), pairs);
                    let given = g[(b * s.n + rows.start) * s.m..].chunks(s.m);
                    for (weights, given) in weights.chunks_exact_mut(columns.len()).zip(given) {
                        weights.copy_from_slice(&given[columns.clone()]);
                    }
                    let tile = part.tile(rows.clone(), columns.clone());
                    job.on_tile(b, rows.clone(), columns.clone(), |row_grads, number_grads| {
                        gradient(kernel, &tile, pairs, weights, number_grads, |_, _, _, _| ());
                        right.gradient(x, columns, pairs, weights, row_grads.x, row_grads.y);
                    });
                }
            }
        });
    };
    let gradients = Gradients::new(grads, counts, s.width);
    if s.batch == 1 {
        // The right rows are prepared once, and not for every job.
        let part = part(0);
        return with_right(kernel.pairing(), part.y, s.width, true, |right| {
            gradients.in_jobs(s, cost, |job| tiles(job, &part, right, 0, job.rows.clone()));
        });
    }
    gradients.in_jobs(s, cost, |job| {
        for (b, rows) in entries(s, job.rows.clone()) {
            let part = part(b);
            with_right(kernel.pairing(), part.y, s.width, true, |right| tiles(job, &part, right, b, rows));
        }
    });
}

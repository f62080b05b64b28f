//! The reverse pass over all pairs, tile by tile.

use super::Sizes;
use super::jobs::{Gradients, tiles};
use super::pairings::{Part, pairings, pairings_gradient, tile_rows};
use super::tile::{PairKernel, TileGradients, gradient};
use crate::Float;
use crate::operation::View;

/// The reverse pass of a pair formula.
pub(super) fn gradients<T: Float>(
    kernel: &dyn PairKernel<T>,
    inputs: &[View<'_, T>],
    s: Sizes,
    g: &[T],
    grads: &mut [Option<&mut [T]>],
) {
    let counts = kernel.counts();
    let cost = 1 + s.m * (s.width / 8 + 4);
    Gradients::of(grads, counts, s.width).in_jobs(s, cost, |job| {
        let step = tile_rows(s.m);
        T::with_scratch(2 * step * s.m, |scratch| {
            let (pairs, weights) = scratch.split_at_mut(step * s.m);
            for (b, rows) in tiles(s, job.rows.clone(), step) {
                let all = b * s.n + rows.start..b * s.n + rows.end;
                let part = Part::of(inputs, counts, s, b, all.clone());
                let [pairs, weights] = [&mut *pairs, &mut *weights].map(|x| &mut x[..rows.len() * s.m]);
                pairings(kernel.pairing(), part.x, part.y, s.width, pairs);
                weights.copy_from_slice(&g[all.start * s.m..all.end * s.m]);
                let tile = part.tile(0..rows.len(), 0..s.m);
                let params = std::mem::take(&mut job.params);
                let (left, right) = job.gradients(b, rows, 0..s.m);
                let (mut left, mut right) = (left.into_iter(), right.into_iter());
                let (dx, dy) = (left.next().expect("of x"), right.next().expect("of y"));
                let mut of_numbers = TileGradients { left: left.collect(), right: right.collect(), params };
                gradient(kernel, &tile, pairs, weights, &mut of_numbers, |_, _, _, _| ());
                let params = std::mem::take(&mut of_numbers.params);
                drop(of_numbers);
                pairings_gradient(kernel.pairing(), (part.x, part.y), s.width, pairs, weights, dx, dy);
                job.params = params;
            }
        });
    });
}

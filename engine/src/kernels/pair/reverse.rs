//! The reverse pass over all pairs, job by job.

use std::ops::Range;

use smallvec::SmallVec;

use super::Sizes;
use super::pairings::{Part, pairings, pairings_gradient, tile_rows};
use super::tile::{PairKernel, TileGradients, gradient};
use crate::Float;
use crate::operation::View;
use crate::parallel::{self, PIECES, split_front};

/// Left rows are split into at most this many chunks if there is one batch entry: each has its own sum for the
/// right rows.
const CHUNKS: usize = 4;

/// What one job of the reverse pass works on: some left rows of one batch entry, or some batch entries.
struct Job<'a, T> {
    rows: Range<usize>,
    g: &'a [T],
    dx: Option<&'a mut [T]>,
    dleft: SmallVec<[Option<&'a mut [T]>; 4]>,
    dy: Option<Side<'a, T>>,
    dright: SmallVec<[Option<Side<'a, T>>; 4]>,
    dparams: SmallVec<[Option<f64>; 4]>,
}

/// The gradient of right rows: in place, or this job's share of a sum.
enum Side<'a, T> {
    Own(&'a mut [T]),
    Share(Vec<T>),
}

impl<'a, T: Float> Side<'a, T> {
    /// A share of `len` elements, or the next `len` elements of a gradient.
    fn of(rest: &mut &'a mut [T], share: bool, len: usize) -> Self {
        if share { Side::Share(vec![T::zero(); len]) } else { Side::Own(split_front(rest, len)) }
    }

    fn slice(&mut self) -> &mut [T] {
        match self {
            Side::Own(slice) => slice,
            Side::Share(sum) => sum,
        }
    }
}

/// The reverse pass of a pair formula.
pub(super) fn gradients<T: Float>(
    kernel: &dyn PairKernel<T>,
    inputs: &[View<'_, T>],
    s: Sizes,
    g: &[T],
    grads: &mut [Option<&mut [T]>],
) {
    let counts = kernel.counts();
    let [l, r, p] = counts;
    let shared = s.batch == 1;
    let cost = 1 + s.m * (s.width / 8 + 4);
    let mut ranges = parallel::pieces(s.batch * s.n, if shared { 16 } else { s.n.max(1) }, cost);
    if shared && ranges.len() > CHUNKS {
        let step = s.n.div_ceil(CHUNKS).next_multiple_of(16);
        ranges = (0..s.n).step_by(step).map(|i| i..s.n.min(i + step)).collect();
    }
    let share = shared && ranges.len() > 1;
    grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
    let (dx, rest) = grads.split_at_mut(1);
    let (dy, rest) = rest.split_at_mut(1);
    let (dleft, rest) = rest.split_at_mut(l);
    let (dright, dparams) = rest.split_at_mut(r);
    {
        let mut dx = dx[0].as_deref_mut();
        let mut dy_rest = dy[0].as_deref_mut();
        let mut dleft_rest: SmallVec<[Option<&mut [T]>; 4]> =
            dleft.iter_mut().map(|d| d.as_deref_mut()).collect();
        let mut dright_rest: SmallVec<[Option<&mut [T]>; 4]> =
            dright.iter_mut().map(|d| d.as_deref_mut()).collect();
        let mut jobs: SmallVec<[Job<'_, T>; PIECES]> = SmallVec::new();
        for rows in ranges {
            let entries = if shared { 1 } else { rows.len() / s.n.max(1) };
            jobs.push(Job {
                g: &g[rows.start * s.m..rows.end * s.m],
                dx: dx.as_mut().map(|dx| split_front(dx, rows.len() * s.width)),
                dleft: dleft_rest
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| split_front(d, rows.len())))
                    .collect(),
                dy: dy_rest.as_mut().map(|d| Side::of(d, share, entries * s.m * s.width)),
                dright: dright_rest
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| Side::of(d, share, entries * s.m)))
                    .collect(),
                dparams: dparams.iter().map(|d| d.as_ref().map(|_| 0.0)).collect(),
                rows,
            });
        }
        drop((dleft_rest, dright_rest));
        parallel::run(&mut jobs, |job| run_job(kernel, inputs, s, job));
        let mut sums: SmallVec<[f64; 4]> = SmallVec::from_elem(0.0, p);
        let mut shares: SmallVec<[(usize, Vec<T>); 16]> = SmallVec::new();
        for job in jobs {
            for (sum, share) in sums.iter_mut().zip(&job.dparams) {
                *sum += share.unwrap_or(0.0);
            }
            for (k, side) in std::iter::once(job.dy).chain(job.dright).enumerate() {
                if let Some(Side::Share(share)) = side {
                    shares.push((k, share));
                }
            }
        }
        for (grad, sum) in dparams.iter_mut().zip(sums) {
            if let Some(grad) = grad {
                grad[0] = T::nearest(sum);
            }
        }
        for (k, share) in shares {
            let grad = if k == 0 { &mut dy[0] } else { &mut dright[k - 1] };
            if let Some(grad) = grad.as_deref_mut() {
                crate::kernels::index::add(grad, &share);
            }
        }
    }
}

fn run_job<T: Float>(kernel: &dyn PairKernel<T>, inputs: &[View<'_, T>], s: Sizes, job: &mut Job<'_, T>) {
    let step = tile_rows(s.m);
    T::with_scratch(2 * step * s.m, |scratch| {
        let (pairs, weights) = scratch.split_at_mut(step * s.m);
        let mut start = job.rows.start;
        while start < job.rows.end {
            let b = start / s.n;
            let end = job.rows.end.min(start + step).min((b + 1) * s.n);
            let part = Part::of(inputs, kernel.counts(), s, b, start..end);
            let (pairs, weights) = (&mut pairs[..(end - start) * s.m], &mut weights[..(end - start) * s.m]);
            let first = start - job.rows.start;
            let here = first..first + (end - start);
            // The batch entry's place among this job's.
            let entry = if s.batch == 1 { 0 } else { b - job.rows.start / s.n };
            pairings(kernel.pairing(), part.x, part.y, s.width, pairs);
            weights.copy_from_slice(&job.g[here.start * s.m..here.end * s.m]);
            let mut grads = TileGradients {
                left: job.dleft.iter_mut().map(|d| d.as_deref_mut().map(|d| &mut d[here.clone()])).collect(),
                right: job
                    .dright
                    .iter_mut()
                    .map(|d| d.as_mut().map(|d| &mut d.slice()[entry * s.m..(entry + 1) * s.m]))
                    .collect(),
                params: job.dparams.clone(),
            };
            gradient(kernel, &part.tile(0..end - start, 0..s.m), pairs, weights, &mut grads, |_, _, _, _| ());
            job.dparams = grads.params;
            let dx = job.dx.as_deref_mut().map(|dx| &mut dx[here.start * s.width..here.end * s.width]);
            let size = s.m * s.width;
            let dy = job.dy.as_mut().map(|dy| &mut dy.slice()[entry * size..(entry + 1) * size]);
            pairings_gradient(kernel.pairing(), (part.x, part.y), s.width, pairs, weights, dx, dy);
            start = end;
        }
    });
}

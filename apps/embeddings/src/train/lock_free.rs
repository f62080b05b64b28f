//! Lock-free training: threads take pairs on their own and write to one table of points without waiting for
//! each other. Niu, Recht, Ré & Wright 2011 (Hogwild!).
//!
//! A row that is half old and half new need not be a point; it is projected when it is read. The result
//! differs from run to run.

use cotangent::prelude::*;
use rayon::prelude::*;

use crate::train::negatives::Sampler;
use crate::train::points::{Atomics, Shared};
use crate::train::step::{BatchLoss, Step};

/// How an epoch is divided.
#[derive(Clone, Copy)]
pub(crate) struct Division {
    /// Pairs that a thread takes together: they have one random stream.
    pub(crate) together: usize,
    /// Pairs of a step.
    pub(crate) batch: usize,
}

/// One pass over the pairs in this order. Each thread has a step of its own. Returns the loss, summed over
/// the pairs.
///
/// # Errors
/// A node whose point would not be finite.
pub(crate) fn epoch<M: Manifold, T: Shared, L: BatchLoss<T>>(
    manifold: &M,
    step: impl Fn() -> Step<T, L> + Sync,
    sampler: &Sampler<'_>,
    epoch: u64,
    order: &[u32],
    division: Division,
    table: &mut [T],
) -> Result<f64, u32> {
    let Division { together, batch } = division;
    let cells: Vec<T::Cell> = table.iter().map(|&x| x.share()).collect();
    let width = table.len() / sampler.graph.nodes;
    let losses: Result<Vec<f64>, u32> = order
        .par_chunks(together)
        .enumerate()
        .map_init(
            || (step(), Vec::new()),
            |(step, drawn), (number, pairs)| {
                drawn.resize(sampler.drawn(pairs.len()), 0);
                sampler.draw_batch(epoch, together, number, pairs, drawn);
                let mut points = Atomics { manifold, cells: &cells, width };
                let mut batches = pairs.chunks(batch).zip(drawn.chunks(sampler.drawn(batch)));
                batches.try_fold(0.0, |loss, (pairs, drawn)| {
                    Ok(loss + step.step(sampler, pairs, drawn, &mut points)?)
                })
            },
        )
        .collect();
    table.iter_mut().zip(&cells).for_each(|(x, cell)| *x = T::load(cell));
    Ok(losses?.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Builder, Graph};
    use crate::train::negatives::Negatives;
    use crate::train::objective::DistanceLoss;
    use crate::train::own_negatives::OwnNegatives;
    use crate::train::points::Table;
    use crate::train::step::{Formulas, Move, Threads};

    fn star(nodes: u32) -> Graph {
        let mut builder = Builder::default();
        (1..nodes).for_each(|node| builder.add(&node.to_string(), "0", None));
        builder.finish()
    }

    fn own<T: Shared>(rate: f64) -> Step<T, OwnNegatives<T>> {
        let formulas = Formulas::new(&PoincareBall::new(-1.0), 2, rate, Move::Exp).unwrap();
        let loss = OwnNegatives::new(&formulas, Threads::One, DistanceLoss::Ranking);
        Step::new(&formulas, Threads::One, loss)
    }

    /// On one thread, pair by pair.
    #[test]
    fn one_thread_takes_the_steps_of_a_table() {
        let graph = star(8);
        let sampler = Sampler::new(&graph, 1, Negatives::Own(5), 0.0);
        let mut table: Vec<f64> = (0..16).map(|i| f64::from(i) / 30.0).collect();
        let (mut shared, order) = (table.clone(), sampler.order(0));
        let division = Division { together: 3, batch: 1 };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let ball = PoincareBall::new(-1.0);
        let loss =
            pool.install(|| epoch(&ball, || own(0.4), &sampler, 0, &order, division, &mut shared).unwrap());
        let (mut step, mut drawn, mut losses) = (own(0.4), Vec::new(), Vec::new());
        sampler.draw_batches(0, 3, 0, &order, &mut drawn);
        for (&pair, drawn) in order.iter().zip(drawn.chunks(sampler.candidates())) {
            let mut points = Table { rows: &mut table, width: 2 };
            losses.push(step.step(&sampler, &[pair], drawn, &mut points).unwrap());
        }
        assert_eq!(shared, table);
        assert!((loss - losses.iter().sum::<f64>()).abs() < 1e-12);
    }

    /// As if it had been read while another thread wrote it.
    #[test]
    fn a_row_that_is_no_point_is_projected() {
        let graph = star(6);
        let ball = PoincareBall::new(-1.0);
        let sampler = Sampler::new(&graph, 1, Negatives::Own(3), 0.0);
        for torn in [[1.5, 0.0], [0.8, 0.7], [1.0, 0.0]] {
            let mut table: Vec<f64> = (0..12).map(|i| f64::from(i) / 40.0).collect();
            table[..2].copy_from_slice(&torn);
            let (order, division) = (sampler.order(0), Division { together: 2, batch: 1 });
            let loss = epoch(&ball, || own(0.1), &sampler, 0, &order, division, &mut table).unwrap();
            assert!(loss.is_finite());
            table.chunks_exact(2).for_each(|row| ball.contains(row).unwrap());
        }
    }
}

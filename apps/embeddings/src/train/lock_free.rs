//! Lock-free training: threads take pairs on their own and write to one table of points without waiting for
//! each other. Niu, Recht, Ré & Wright 2011 (Hogwild!).
//!
//! Every coordinate is an atomic number that is read and written in relaxed order. So a row can be read while
//! another thread writes it, half old and half new. A row that is not a point then is projected when it is
//! read, and of two steps of one point at the same time one can be lost. The result differs from run to run.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cotangent::engine::RowProgram;
use cotangent::prelude::*;
use rayon::prelude::*;

use crate::train::fused::{Formulas, Pass, touch};
use crate::train::negatives::Sampler;
use crate::train::positions::Positions;
use crate::train::shared_step::{SharedFormulas, SharedStep};

/// An element type with an atomic form.
pub(crate) trait Shared: Float {
    /// The atomic form.
    type Cell: Send + Sync;
    /// A number to be shared.
    fn share(self) -> Self::Cell;
    /// Reads it.
    fn load(cell: &Self::Cell) -> Self;
    /// Writes it.
    fn store(self, cell: &Self::Cell);
}

macro_rules! shared {
    ($element:ty, $cell:ty) => {
        impl Shared for $element {
            type Cell = $cell;
            fn share(self) -> $cell {
                <$cell>::new(self.to_bits())
            }
            fn load(cell: &$cell) -> Self {
                Self::from_bits(cell.load(Ordering::Relaxed))
            }
            fn store(self, cell: &$cell) {
                cell.store(self.to_bits(), Ordering::Relaxed);
            }
        }
    };
}
shared!(f32, AtomicU32);
shared!(f64, AtomicU64);

/// Pairs that a thread takes together: those of one random stream.
const TOGETHER: usize = 256;

/// What a thread needs.
struct Worker<T> {
    pass: Pass<T>,
    program: RowProgram<T>,
    row: Vec<T>,
    head: Vec<T>,
    candidates: Vec<u32>,
    /// For each candidate, the first one of the same node.
    first: Vec<usize>,
    positions: Positions,
}

/// One pass over the pairs in this order. Returns the loss, summed over the pairs.
///
/// # Errors
/// A node whose point would not be finite.
pub(crate) fn epoch<M: Manifold, T: Shared>(
    manifold: &M,
    formulas: &Formulas,
    sampler: &Sampler<'_>,
    epoch: u64,
    order: &[u32],
    table: &mut [T],
    width: usize,
) -> Result<f64, u32> {
    let cells: Vec<T::Cell> = table.iter().map(|&x| x.share()).collect();
    let worker = || Worker::<T>::new(formulas, sampler, width);
    let losses: Result<Vec<f64>, u32> = order
        .par_chunks(TOGETHER)
        .enumerate()
        .map_init(worker, |worker, (number, pairs)| {
            let mut rng = sampler.stream(epoch, TOGETHER, number);
            pairs.iter().try_fold(0.0, |loss, &pair| {
                sampler.draw(pair, &mut rng, &mut worker.candidates);
                Ok(loss + worker.step(manifold, sampler, pair, &cells)?)
            })
        })
        .collect();
    table.iter_mut().zip(&cells).for_each(|(x, cell)| *x = T::load(cell));
    Ok(losses?.iter().sum())
}

/// One pass over the pairs in this order, with `negatives` that all pairs of a batch share. The threads take
/// whole batches. Returns the loss, summed over the pairs.
///
/// # Errors
/// A node whose point would not be finite.
pub(crate) fn shared_epoch<M: Manifold, T: Shared>(
    manifold: &M,
    formulas: &SharedFormulas,
    sampler: &Sampler<'_>,
    epoch: u64,
    batches: Batching<'_>,
    table: &mut [T],
    width: usize,
) -> Result<f64, u32> {
    let Batching { order, batch, negatives } = batches;
    let cells: Vec<T::Cell> = table.iter().map(|&x| x.share()).collect();
    let first = epoch * order.len().div_ceil(batch) as u64 + 1;
    let losses: Result<Vec<f64>, u32> = order
        .par_chunks(batch)
        .enumerate()
        .map_init(
            || SharedStep::<T>::new(formulas, width),
            |step, (number, pairs)| {
                let negatives = sampler.shared(first + number as u64, negatives);
                let read = |node: u32, row: &mut [T]| load(&cells, node, row);
                let write = |node: u32, row: &[T]| store(&cells, node, row);
                step.step(sampler, pairs, &negatives, read, |row| project(manifold, row), write)
            },
        )
        .collect();
    table.iter_mut().zip(&cells).for_each(|(x, cell)| *x = T::load(cell));
    Ok(losses?.iter().sum())
}

/// The pairs of an epoch in batches.
#[derive(Clone, Copy)]
pub(crate) struct Batching<'a> {
    /// The pairs in their order.
    pub(crate) order: &'a [u32],
    /// Number of pairs in a batch.
    pub(crate) batch: usize,
    /// Number of negative samples that a batch shares.
    pub(crate) negatives: usize,
}

impl<T: Shared> Worker<T> {
    fn new(formulas: &Formulas, sampler: &Sampler<'_>, width: usize) -> Self {
        Worker {
            pass: Pass::new(formulas, width),
            program: formulas.program(),
            row: vec![T::zero(); width],
            head: vec![T::zero(); width],
            candidates: vec![0; sampler.width()],
            first: Vec::new(),
            positions: Positions::new(sampler.width() + 1),
        }
    }

    /// A step of a pair's nodes. Returns its loss.
    fn step<M: Manifold>(
        &mut self,
        manifold: &M,
        sampler: &Sampler<'_>,
        pair: u32,
        cells: &[T::Cell],
    ) -> Result<f64, u32> {
        let Worker { pass, program, row, head, candidates, first, positions } = self;
        let width = row.len();
        let (u, factor) = (sampler.graph.pairs[pair as usize].0, sampler.factor::<T>(pair));
        touch(cells, candidates, width, |cell| T::load(cell).to_f64().to_bits());
        load(cells, u, head);
        pass.rows.clear();
        for &node in &*candidates {
            load(cells, node, row);
            pass.rows.push(row);
        }
        let mut loss = pass.loss(head, factor);
        if !loss.is_finite() {
            // Some row was read while it was written.
            project(manifold, head);
            for j in 0..candidates.len() {
                pass.rows.read(j, row);
                project(manifold, row);
                pass.rows.write(j, row);
            }
            loss = pass.loss(head, factor);
            if !loss.is_finite() {
                return Ok(loss);
            }
        }
        pass.rows.push(head);
        pass.gradients.push(&pass.of_head);
        candidates.push(u);
        positions.clear();
        first.clear();
        first.extend(candidates.iter().enumerate().map(|(j, &node)| positions.first(node, j)));
        // A node that was drawn twice takes one step, by the sum of its gradients.
        for (j, &first) in first.iter().enumerate().filter(|(j, first)| j != *first) {
            pass.gradients.add(first, j);
        }
        let new = program.run(&[&pass.rows, &pass.gradients]).map_err(|j| candidates[j])?;
        for (j, &node) in candidates.iter().enumerate().filter(|(j, _)| first[*j] == *j) {
            new.read(j, row);
            store(cells, node, row);
        }
        candidates.pop();
        Ok(loss)
    }
}

/// Reads a node's point.
fn load<T: Shared>(cells: &[T::Cell], node: u32, row: &mut [T]) {
    let cells = &cells[node as usize * row.len()..][..row.len()];
    row.iter_mut().zip(cells).for_each(|(x, cell)| *x = T::load(cell));
}

/// Writes a node's point.
fn store<T: Shared>(cells: &[T::Cell], node: u32, row: &[T]) {
    let cells = &cells[node as usize * row.len()..][..row.len()];
    cells.iter().zip(row).for_each(|(cell, x)| x.store(cell));
}

/// Replaces a row by a point near it.
fn project<M: Manifold, T: Float>(manifold: &M, row: &mut [T]) {
    let point = manifold.project(&Row::from(&*row));
    row.copy_from_slice(&point);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Builder;
    use crate::train::fused::Batches;

    /// A node that is drawn twice takes one step, by the sum of its gradients, as in a batch.
    #[test]
    fn a_step_is_that_of_a_batch_of_one_pair() {
        let mut builder = Builder::default();
        (1..8).for_each(|node| builder.add(&node.to_string(), "0", Some(2.0)));
        let graph = builder.finish();
        let ball = PoincareBall::new(-1.0);
        let sampler = Sampler::new(&graph, 1, 5, 0.0);
        let mut table: Vec<f64> = (0..16).map(|i| f64::from(i) / 30.0).collect();
        let cells: Vec<AtomicU64> = table.iter().map(|&x| x.share()).collect();
        let candidates = [1, 5, 3, 5, 5, 4];

        let formulas = || Formulas::new(&ball, 2, 0.4).unwrap();
        let mut worker = Worker::<f64>::new(&formulas(), &sampler, 2);
        worker.candidates = candidates.to_vec();
        let loss = worker.step(&ball, &sampler, 0, &cells).unwrap();
        let mut batches = Batches::<f64>::new(formulas(), 8, 2);
        let of_batch = batches.step(&sampler, &[0], &candidates, &mut table).unwrap();
        assert_eq!(loss, of_batch);
        for (cell, x) in cells.iter().map(<f64 as Shared>::load).zip(&table) {
            assert!((cell - x).abs() < 1e-15, "{cell} {x}");
        }
    }

    /// As if it had been read while another thread wrote it.
    #[test]
    fn a_row_that_is_no_point_is_projected() {
        let mut builder = Builder::default();
        (1..6).for_each(|node| builder.add(&node.to_string(), "0", None));
        let graph = builder.finish();
        let ball = PoincareBall::new(-1.0);
        let formulas = Formulas::new(&ball, 2, 0.1).unwrap();
        let sampler = Sampler::new(&graph, 1, 3, 0.0);
        for torn in [[1.5, 0.0], [0.8, 0.7], [1.0, 0.0]] {
            let mut table: Vec<f64> = (0..12).map(|i| f64::from(i) / 40.0).collect();
            table[..2].copy_from_slice(&torn);
            let order = sampler.order(0);
            let loss = epoch(&ball, &formulas, &sampler, 0, &order, &mut table, 2).unwrap();
            assert!(loss.is_finite());
            table.chunks_exact(2).for_each(|row| ball.contains(row).unwrap());
        }
    }
}

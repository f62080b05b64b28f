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

use crate::fused::{Formulas, Pass, factor, touch};
use crate::negatives::Sampler;

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

/// The positions of a few nodes: a hash table with linear probing.
struct Positions {
    /// A node, its position, and the round in which it was noted.
    slots: Vec<(u32, u32, u64)>,
    round: u64,
}

impl Positions {
    /// For at most `count` nodes in a round.
    fn new(count: usize) -> Self {
        Positions { slots: vec![(0, 0, 0); (4 * count).next_power_of_two()], round: 0 }
    }

    /// Forgets all nodes.
    fn clear(&mut self) {
        self.round += 1;
    }

    /// The position that was noted for a node; notes this one if there is none.
    fn first(&mut self, node: u32, position: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = node.wrapping_mul(0x9E37_79B1) as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.2 != self.round {
                *slot = (node, position as u32, self.round);
                return position;
            }
            if slot.0 == node {
                return slot.1 as usize;
            }
            at = (at + 1) & mask;
        }
    }
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
        let (u, factor) = (sampler.graph.pairs[pair as usize].0, factor::<T>(sampler, pair));
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
            let cells = &cells[node as usize * width..][..width];
            cells.iter().zip(&*row).for_each(|(cell, x)| x.store(cell));
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

/// Replaces a row by a point near it.
fn project<M: Manifold, T: Float>(manifold: &M, row: &mut [T]) {
    let point = manifold.project(&Row::from(&*row));
    row.copy_from_slice(&point);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::Batches;
    use crate::graph::Builder;

    #[test]
    fn a_node_has_the_position_that_was_noted_first() {
        let mut positions = Positions::new(4);
        // Twice the same nodes: the first round must be forgotten. 16 slots: some nodes share one.
        for _ in 0..2 {
            positions.clear();
            let nodes = [3, 19, 3, 35, 19, 1000, 35];
            let found: Vec<usize> =
                nodes.iter().enumerate().map(|(at, &node)| positions.first(node, at)).collect();
            assert_eq!(found, [0, 1, 0, 3, 1, 5, 3]);
        }
    }

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

//! Steps with shared negatives without a tape. The formulas are those of the tape.

use std::cell::Cell;

use cotangent::engine::{ManyToMany, PairSide, RowNumbers, RowProgram, Tiles};
use cotangent::layers::loss;
use cotangent::prelude::*;
use cotangent_apps_common::geometry::Factor;

use crate::train::fused::Formulas;
use crate::train::negatives::Sampler;
use crate::train::operands::Operands;
use crate::train::positions::Positions;
use crate::train::shared_negatives::AllPairs;

/// The formulas of a space: those of a pair's distance and of a step, and that of all distances between heads
/// and negatives.
pub(crate) struct SharedFormulas {
    space: Factor,
    formulas: Formulas,
    all_pairs: AllPairs,
}

impl SharedFormulas {
    /// `None` where there is no formula of all pairs.
    pub(crate) fn new(space: Factor, formulas: Formulas) -> Option<Self> {
        Some(SharedFormulas { space, formulas, all_pairs: AllPairs::new(space)? })
    }
}

/// What one thread needs for a batch.
pub(crate) struct SharedStep<T: Float> {
    width: usize,
    sign: f64,
    distance: RowNumbers<T>,
    operands: Operands<T>,
    all_pairs: ManyToMany<T>,
    program: RowProgram<T>,
    positions: Positions,
    /// The batch's nodes: the negatives, the first nodes of the pairs (the heads), the second ones.
    nodes: Vec<u32>,
    /// Their points.
    points: Vec<T>,
    /// For each negative the next one of the same node.
    next: Vec<usize>,
    /// The heads' and the second nodes' points, and the gradients of their distances.
    ends: [Tiles; 2],
    of_ends: [Tiles; 2],
    /// The heads and the negatives as the formula of all pairs takes them, and their gradients.
    sides: [PairSide<T>; 2],
    of_sides: [PairSide<T>; 2],
    /// The gradients for the points of the negatives and the heads.
    of_points: Vec<f64>,
    weights: Vec<f64>,
    /// The distances of a pair's candidates, and the derivatives of its loss by these.
    distances: Vec<T>,
    slopes: Vec<T>,
    /// The nodes without repetition: their points, and the sums of their gradients.
    moved: Tiles,
    gradients: Tiles,
    sums: Vec<f64>,
    row: Vec<f64>,
    /// For each of the batch's nodes, its number among those without repetition.
    places: Vec<usize>,
}

/// No further negative of the same node.
const END: usize = usize::MAX;

impl<T: Float> SharedStep<T> {
    pub(crate) fn new(formulas: &SharedFormulas, width: usize) -> Self {
        let tiles = || Tiles::new(width);
        SharedStep {
            width,
            sign: formulas.all_pairs.sign,
            distance: RowNumbers::new(formulas.formulas.distance()),
            operands: Operands::new(formulas.space, &formulas.all_pairs, width),
            all_pairs: ManyToMany::new(formulas.all_pairs.formula, &formulas.all_pairs.params),
            program: formulas.formulas.program(),
            positions: Positions::new(1),
            nodes: Vec::new(),
            points: Vec::new(),
            next: Vec::new(),
            ends: [tiles(), tiles()],
            of_ends: [tiles(), tiles()],
            sides: [PairSide::default(), PairSide::default()],
            of_sides: [PairSide::default(), PairSide::default()],
            of_points: Vec::new(),
            weights: Vec::new(),
            distances: Vec::new(),
            slopes: Vec::new(),
            moved: tiles(),
            gradients: tiles(),
            sums: Vec::new(),
            row: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Takes a step for the pairs of a batch with the negatives that they share: every node moves by the sum
    /// of its gradients. Returns the loss, summed over the pairs. `read` and `write` access the points. If
    /// the loss is not finite, all points go through `project` and the loss is computed again.
    ///
    /// # Errors
    /// A node whose point would not be finite. No point has changed.
    pub(crate) fn step(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        negatives: &[u32],
        read: impl Fn(u32, &mut [T]),
        project: impl Fn(&mut [T]),
        mut write: impl FnMut(u32, &[T]),
    ) -> Result<f64, u32> {
        let width = self.width;
        let ends =
            |end: fn(&(u32, u32)) -> u32| pairs.iter().map(move |&p| end(&sampler.graph.pairs[p as usize]));
        self.nodes.clear();
        self.nodes.extend(negatives);
        self.nodes.extend(ends(|pair| pair.0));
        self.nodes.extend(ends(|pair| pair.1));
        self.points.resize(self.nodes.len() * width, T::zero());
        for (&node, row) in self.nodes.iter().zip(self.points.chunks_exact_mut(width)) {
            read(node, row);
        }
        self.note_negatives(negatives);
        let mut loss = self.loss(sampler, pairs, negatives.len());
        if !loss.is_finite() {
            self.points.chunks_exact_mut(width).for_each(project);
            loss = self.loss(sampler, pairs, negatives.len());
            if !loss.is_finite() {
                return Ok(loss);
            }
        }
        self.add_up(pairs.len(), negatives.len());
        let new = self.program.run(&[&self.moved, &self.gradients]).map_err(|j| self.nodes[j])?;
        let row = &mut self.points[..width];
        for (j, &node) in self.nodes.iter().enumerate() {
            new.read(j, row);
            write(node, row);
        }
        Ok(loss)
    }

    /// Same as [`step`](Self::step), for points in a table: row i is that of node i.
    ///
    /// # Errors
    /// A node whose point would not be finite. No point has changed.
    pub(crate) fn step_in(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        negatives: &[u32],
        table: &mut [T],
    ) -> Result<f64, u32> {
        let width = self.width;
        let place = |node: u32| node as usize * width..(node as usize + 1) * width;
        let table = Cell::from_mut(table).as_slice_of_cells();
        let read = |node: u32, row: &mut [T]| {
            row.iter_mut().zip(&table[place(node)]).for_each(|(x, cell)| *x = cell.get());
        };
        let write = |node: u32, row: &[T]| {
            row.iter().zip(&table[place(node)]).for_each(|(x, cell)| cell.set(*x));
        };
        self.step(sampler, pairs, negatives, read, |_| (), write)
    }

    /// Notes the position of each negative's node, and chains the negatives of the same node.
    fn note_negatives(&mut self, negatives: &[u32]) {
        self.positions.reserve(self.nodes.len());
        self.positions.clear();
        self.next.clear();
        for (j, &node) in negatives.iter().enumerate() {
            let first = self.positions.first(node, j);
            self.next.push(END);
            if first != j {
                self.next[j] = self.next[first];
                self.next[first] = j;
            }
        }
    }

    /// The loss of a batch from its nodes and their points. Leaves the gradients behind.
    fn loss(&mut self, sampler: &Sampler<'_>, pairs: &[u32], negatives: usize) -> f64 {
        let (width, heads) = (self.width, negatives..negatives + pairs.len());
        let of_ends = self.points[negatives * width..].chunks_exact(pairs.len() * width);
        for (end, points) in self.ends.iter_mut().zip(of_ends) {
            end.clear();
            points.chunks_exact(width).for_each(|row| end.push(row));
        }
        let [left, right] = &mut self.sides;
        let made = self.operands.make(&self.points[..heads.end * width], width, negatives, [right, left]);
        let [u, v] = &self.ends;
        let positives = self.distance.numbers(&[u, v]);
        self.weights.resize(pairs.len(), 0.0);
        self.distances.resize(1 + negatives, T::zero());
        self.slopes.resize(1 + negatives, T::zero());
        let (weights, positions, next) = (&mut self.weights, &self.positions, &self.next);
        let (distances, of_distances) = (&mut self.distances, &mut self.slopes);
        let (nodes, sign, mut total) = (&self.nodes, T::nearest(self.sign), 0.0);
        let [left, right] = &self.sides;
        let formula_width = left.rows.len() / pairs.len();
        self.all_pairs.gradients(
            [left, right],
            formula_width,
            &mut self.of_sides,
            &mut |i, scores, slopes| {
                distances[0] = T::nearest(positives[i]);
                distances[1..].iter_mut().zip(scores).for_each(|(distance, score)| *distance = *score * sign);
                // Neighbours of the head, and the head itself, do not count.
                let head = nodes[heads.start + i];
                for &node in sampler.neighbours.of(head).iter().chain([&head]) {
                    let mut column = positions.find(node).unwrap_or(END);
                    while column != END {
                        distances[1 + column] = T::nearest(f64::INFINITY);
                        column = next[column];
                    }
                }
                let factor = sampler.factor::<T>(pairs[i]);
                total += factor * loss::ranking_with_gradient(distances, of_distances);
                weights[i] = factor * of_distances[0].to_f64();
                let factor = T::nearest(factor) * sign;
                slopes.iter_mut().zip(&of_distances[1..]).for_each(|(slope, x)| *slope = *x * factor);
            },
        );
        let [of_heads, of_seconds] = &mut self.of_ends;
        self.distance.gradients(&[u, v], weights, &mut [of_heads, of_seconds]);
        let [left, right] = &self.of_sides;
        made.gradients([right, left], &mut self.of_points);
        total
    }

    /// Adds up the gradients of each node. The nodes are then without repetition.
    fn add_up(&mut self, pairs: usize, negatives: usize) {
        let SharedStep { width, nodes, sums, row, places, positions, .. } = self;
        let width = *width;
        places.clear();
        self.moved.clear();
        for j in 0..nodes.len() {
            let node = nodes[j];
            let first = positions.first(node, j);
            if first == j {
                places.push(self.moved.len());
                nodes[self.moved.len()] = node;
                self.moved.push(&self.points[j * width..][..width]);
            } else {
                places.push(places[first]);
            }
        }
        nodes.truncate(self.moved.len());
        sums.clear();
        sums.resize(nodes.len() * width, 0.0);
        row.clear();
        row.resize(width, 0.0);
        let mut add = |place: usize, row: &[f64]| {
            sums[place * width..][..width].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        };
        for (&place, of_point) in places.iter().zip(self.of_points.chunks_exact(width)) {
            add(place, of_point);
        }
        for (end, of_end) in self.of_ends.iter().enumerate() {
            for i in 0..pairs {
                of_end.read(i, row);
                add(places[negatives + end * pairs + i], row);
            }
        }
        self.gradients.clear();
        self.sums.chunks_exact(width).for_each(|sum| self.gradients.push(sum));
    }
}

//! A step of training without a tape: the loss of a batch of pairs finds gradients, and every node moves by
//! the sum of its own.

use cotangent::engine::{RowProgram, Rows, StraightLine, Tiles, row_formula};
use cotangent::prelude::*;
use rayon::prelude::*;

use crate::train::batch::Batch;
use crate::train::negatives::Sampler;
use crate::train::points::Points;

/// The loss of a batch of pairs.
pub(crate) trait BatchLoss<T: Float> {
    /// The element type of gradients.
    type Gradient: Float;

    /// Lists the nodes whose points the loss takes; a node can occur several times. `drawn` are the negative
    /// samples of the batch: see [`Sampler::draw_batch`].
    fn nodes(&self, sampler: &Sampler<'_>, pairs: &[u32], drawn: &[u32], nodes: &mut Vec<u32>);

    /// The loss, summed over the pairs.
    fn loss(&mut self, sampler: &Sampler<'_>, pairs: &[u32], batch: &Batch<T>) -> f64;

    /// The gradients of the last loss: a row for each of the [`nodes`](Self::nodes).
    fn gradients(&self) -> &[Self::Gradient];
}

/// How a point moves by a tangent vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Move {
    /// By the exponential map.
    Exp,
    /// By the retraction of Nickel & Kiela 2017, eq. 5, in the ball of this curvature: to x + v, [`Inside`].
    /// The ball's own [`retract`](Manifold::retract) is the exponential map.
    Retraction(f64),
}

row_formula! {
    /// x, if its norm is at most 1 − 1e-5 of the ball's radius; else the point there in its direction.
    /// Farther out steps would be so short that the point could not come back.
    Inside = "inside": vector [Input(0)];
    xx = Dot(0, 0), kappa = Param(0) => {
        let (share, limit) = ((-kappa * xx).sqrt(), S::constant(1.0 - 1e-5));
        [S::select(share.lt(limit), S::one(), limit / share)]
    }
}

/// The formulas of a step on a manifold.
#[derive(Clone)]
pub(crate) struct Formulas {
    /// The distance of two points.
    pub(crate) distance: StraightLine,
    /// A step of gradient descent.
    descent: StraightLine,
    /// Number of coordinates of a point.
    pub(crate) width: usize,
}

impl Formulas {
    /// The distance and a step of gradient descent, if both are row formulas.
    pub(crate) fn new<M: Steps>(manifold: &M, width: usize, rate: f64, by: Move) -> Option<Self> {
        let descent = StraightLine::vector(width, |[x, g]| {
            let rate = x.constant(rate);
            match by {
                Move::Exp => manifold.descend(x, g, &rate),
                Move::Retraction(kappa) => {
                    let moved = Euclidean.descend(x, &manifold.egrad_to_rgrad(x, g), &rate);
                    Rows::vector(Inside, [&moved], [&x.constant(kappa)])
                }
            }
        })?;
        let distance = StraightLine::number(width, |[x, y]| manifold.dist(x, y))?;
        Some(Formulas { distance, descent, width })
    }
}

/// How many threads a step takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Threads {
    /// One.
    One,
    /// Those of the current pool.
    Pool,
}

/// Nodes that one thread moves together.
const TOGETHER: usize = 128;

/// What a step needs. The result does not depend on the number of threads.
pub(crate) struct Step<T: Float, L> {
    pub(crate) loss: L,
    pub(crate) batch: Batch<T>,
    nodes: Vec<u32>,
    moves: Moves<T>,
}

impl<T: Float, L: BatchLoss<T>> Step<T, L> {
    pub(crate) fn new(formulas: &Formulas, threads: Threads, loss: L) -> Self {
        let moves = Moves { descent: formulas.descent.clone(), threads, groups: Vec::new() };
        Step { loss, batch: Batch::new(formulas.width), nodes: Vec::new(), moves }
    }

    /// Takes a step for the pairs of a batch. Returns the loss, summed over the pairs. If it is not finite,
    /// the points are [projected](Points::project) and it is computed again; if it still is not, no point
    /// changes.
    ///
    /// # Errors
    /// The first node whose point would not be finite. No point has changed.
    pub(crate) fn step(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        drawn: &[u32],
        points: &mut impl Points<T>,
    ) -> Result<f64, u32> {
        self.read(sampler, pairs, drawn, points);
        let mut loss = self.loss.loss(sampler, pairs, &self.batch);
        if !loss.is_finite() {
            self.batch.project(points);
            loss = self.loss.loss(sampler, pairs, &self.batch);
            if !loss.is_finite() {
                return Ok(loss);
            }
        }
        self.moves.step(&self.batch, self.loss.gradients(), points)?;
        Ok(loss)
    }

    /// Reads the points of a batch.
    pub(crate) fn read(
        &mut self,
        sampler: &Sampler<'_>,
        pairs: &[u32],
        drawn: &[u32],
        points: &impl Points<T>,
    ) {
        self.nodes.clear();
        self.loss.nodes(sampler, pairs, drawn, &mut self.nodes);
        self.batch.read(&self.nodes, points);
    }
}

/// Moves the nodes of a batch.
struct Moves<T> {
    descent: StraightLine,
    threads: Threads,
    groups: Vec<Group<T>>,
}

/// Nodes that are moved together.
struct Group<T> {
    descent: RowProgram<T>,
    points: Tiles,
    gradients: Tiles,
    sum: Vec<f64>,
    /// The numbers of the nodes, and their new points.
    numbers: Vec<u32>,
    rows: Vec<T>,
    outcome: Result<(), usize>,
}

impl<T: Float> Moves<T> {
    /// Moves every node of the batch by the sum of its gradients, which are added up in their order.
    ///
    /// # Errors
    /// The first node whose point would not be finite. No point has changed.
    fn step<G: Float>(
        &mut self,
        batch: &Batch<T>,
        gradients: &[G],
        points: &mut impl Points<T>,
    ) -> Result<(), u32> {
        let width = batch.width();
        let count = batch.nodes().div_ceil(TOGETHER);
        while self.groups.len() < count {
            self.groups.push(Group {
                descent: RowProgram::new(self.descent.clone()),
                points: Tiles::new(width),
                gradients: Tiles::new(width),
                sum: vec![0.0; width],
                numbers: Vec::new(),
                rows: Vec::new(),
                outcome: Ok(()),
            });
        }
        let groups = &mut self.groups[..count];
        let given = &*points;
        let find = |(g, group): (usize, &mut Group<T>)| {
            let numbers = g * TOGETHER..batch.nodes().min((g + 1) * TOGETHER);
            group.numbers.clear();
            let numbers = numbers.filter(|&number| given.moves(batch.node(number)));
            group.numbers.extend(numbers.map(|number| number as u32));
            group.find(batch, gradients);
        };
        if count > 1 && self.threads == Threads::Pool {
            groups.par_iter_mut().enumerate().for_each(find);
        } else {
            groups.iter_mut().enumerate().for_each(find);
        }
        for group in &*groups {
            group.outcome.map_err(|row| batch.node(group.numbers[row] as usize))?;
        }
        for group in &*groups {
            for (&number, row) in group.numbers.iter().zip(group.rows.chunks_exact(width)) {
                points.write(batch.node(number as usize), row);
            }
        }
        Ok(())
    }
}

impl<T: Float> Group<T> {
    /// Finds the new points of the group's nodes.
    fn find<G: Float>(&mut self, batch: &Batch<T>, gradients: &[G]) {
        let Group { descent, points, gradients: sums, sum, numbers, rows, outcome } = self;
        let width = batch.width();
        points.clear();
        sums.clear();
        for &number in &*numbers {
            points.push(batch.point(number as usize));
            let mut rows = batch.occurrences(number as usize).map(|i| &gradients[i * width..][..width]);
            let first = rows.next().expect("a node occurs");
            let Some(second) = rows.next() else {
                sums.push(first);
                continue;
            };
            sum.iter_mut().zip(first).zip(second).for_each(|((sum, x), y)| *sum = x.to_f64() + y.to_f64());
            for row in rows {
                sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
            }
            sums.push(sum);
        }
        *outcome = descent.run(&[&*points, &*sums]).map(|new| {
            rows.resize(numbers.len() * width, T::zero());
            for (j, row) in rows.chunks_exact_mut(width).enumerate() {
                new.read(j, row);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of 0.1 from x along g, in the ball.
    fn step(x: [f64; 2], g: [f64; 2], by: Move) -> [f64; 2] {
        let formulas = Formulas::new(&PoincareBall::new(-1.0), 2, 0.1, by).unwrap();
        let mut program = RowProgram::<f64>::new(formulas.descent);
        let [points, gradients] = [x, g].map(|row| {
            let mut tiles = Tiles::new(2);
            tiles.push(&row);
            tiles
        });
        let mut moved = [0.0; 2];
        program.run(&[&points, &gradients]).unwrap().read(0, &mut moved);
        moved
    }

    #[test]
    fn a_retraction_adds_the_step_and_stays_inside() {
        let (x, g) = ([0.5, -0.1], [1.0, 2.0]);
        let factor = ((1.0_f64 - 0.26) / 2.0).powi(2) * 0.1;
        let moved = step(x, g, Move::Retraction(-1.0));
        for i in 0..2 {
            assert!((moved[i] - (x[i] - factor * g[i])).abs() < 1e-15, "{moved:?}");
        }
        let by_exp = step(x, g, Move::Exp);
        assert!((by_exp[1] - moved[1]).abs() > 1e-4, "{by_exp:?} {moved:?}");
        let [x, y] = step([0.5, 0.0], [-300.0, -400.0], Move::Retraction(-1.0));
        // x + v is (4.71875, 5.625).
        assert!((y / x - 5.625 / 4.71875).abs() < 1e-12 && (x.hypot(y) - (1.0 - 1e-5)).abs() < 1e-14);
    }
}

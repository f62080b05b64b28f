//! What a formula reads of rows, and the linear combinations that it makes of them.

use std::marker::PhantomData;

use crate::formula::plan::{BASIS, INVARIANTS, Number, ROWS, VECTORS};
use crate::formula::straight_line::Step;
use crate::formula::sums::{BODY, END, leaves, region_of};
use crate::kernels::gram::shares::{Shares, Surveyed};
use crate::kernels::tiles::Tiles;
use crate::kernels::tiles::invariants::{Multiplied, Tile, fill, input};
use crate::kernels::tiles::terms::Terms;
use crate::numbers::lanes::Lanes;
use crate::numbers::simd::{Aligned, Block, LANES, dispatch_blocks};
use crate::numbers::storage::Storage;

/// A vector of a formula: one for all rows, or one for each.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a> {
    /// Each coordinate in all lanes.
    One(&'a [Aligned]),
    Each(&'a Tiles),
}

impl<'a> Operand<'a> {
    #[inline(always)]
    fn tile(self, tile: usize) -> &'a [Aligned] {
        match self {
            Operand::One(blocks) => blocks,
            Operand::Each(tiles) => &tiles.blocks[tile * tiles.width..][..tiles.width],
        }
    }
}

/// A formula and the rows that it is applied to.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) step: &'a Step,
    pub(super) vectors: &'a [Operand<'a>],
    pub(super) width: usize,
    pub(super) tiles: usize,
    /// Whether there will be gradients: keeps what the derivatives of the invariants are made of.
    pub(super) reverse: bool,
}

/// Where the gradient of a vector goes.
pub(super) enum Target<'a> {
    /// One row: the sum over all tiles, in lanes, is added.
    One(&'a mut [Aligned]),
    /// A row of its own for each.
    Each(&'a mut Tiles),
}

/// Groups of a tile.
const HALVES: usize = LANES / ROWS;

/// Writes a block as the numbers of two groups.
#[inline(always)]
fn split<S: Block>(block: S, numbers: &mut [Number], [first, second]: [usize; HALVES]) {
    let (mut low, mut high) = ([0.0; ROWS], [0.0; ROWS]);
    block.split(&mut low, &mut high);
    (numbers[first], numbers[second]) = (Number::from(low), Number::from(high));
}

/// A block from the numbers of two groups.
#[inline(always)]
fn joined<S: Block>(numbers: &[Number], [first, second]: [usize; HALVES]) -> S {
    S::join(&numbers[first].to_array(), &numbers[second].to_array())
}

/// What a formula reads of the rows, for all tiles. A tile has two groups of [`ROWS`] rows.
#[derive(Default)]
pub(super) struct Survey {
    /// The basis vectors that are no inputs. The order is: tile, basis vector, coordinate.
    basis: Vec<Aligned>,
    /// The order is: group, invariant.
    pub(super) values: Vec<Number>,
    /// What the derivatives of the invariants are made of. The order is: tile, invariant.
    products: Vec<[Aligned; 4]>,
    /// The inner products of one tile.
    dots: Vec<Aligned>,
    /// The order is: group, output.
    pub(super) outputs: Vec<Number>,
    /// The cotangents of the invariants.
    pub(super) cotangents: Vec<Number>,
    /// The cotangents of the outputs: ones.
    pub(super) ones: Vec<Number>,
}

impl Survey {
    /// Reads the rows and finds the invariants.
    pub(super) fn read<T: Storage>(&mut self, job: Job<'_>) {
        let Job { step, width, tiles, reverse, .. } = job;
        let (plan, zero) = (step.plan, Number::splat(0.0));
        let groups = tiles * HALVES;
        self.basis.resize(tiles * plan.basis.len() * width, Aligned::default());
        self.values.resize(groups * plan.invariants.len(), zero);
        let kept = if reverse { tiles * plan.invariants.len() } else { 0 };
        self.products.resize(kept, [Aligned::default(); 4]);
        self.outputs.resize(groups * plan.outputs, zero);
        self.dots.resize(plan.layout.pairs().len(), Aligned::default());
        dispatch_blocks!(S, self, |survey| survey.read_tiles::<T, S>(job));
    }

    #[inline(always)]
    fn read_tiles<T: Storage, S: Block>(&mut self, job: Job<'_>) {
        let Job { step, vectors, width, tiles, reverse } = job;
        let (plan, count) = (step.plan, step.plan.invariants.len());
        let mut rows = [[].as_slice(); VECTORS];
        for tile in 0..tiles {
            for (row, vector) in rows.iter_mut().zip(vectors) {
                *row = vector.tile(tile);
            }
            let rows = &rows[..vectors.len()];
            let basis = &mut self.basis[tile * plan.basis.len() * width..][..plan.basis.len() * width];
            for (&vector, blocks) in plan.basis.iter().zip(basis.chunks_exact_mut(width)) {
                if input(plan.metric, vector).is_none() {
                    fill::<S>(plan.metric, vector, rows, blocks);
                }
            }
            let read = Tile::<T, S> { step, width, rows, basis, numbers: PhantomData };
            for (dot, &(a, b)) in self.dots.iter_mut().zip(plan.layout.pairs()) {
                dot.write(read.dot(a, b));
            }
            for (k, invariant) in plan.invariants.iter().enumerate() {
                let (value, products) = invariant.find(plan.metric, &Multiplied(&read, &self.dots));
                let at = [tile * HALVES * count + k, (tile * HALVES + 1) * count + k];
                split(value, &mut self.values, at);
                if reverse {
                    for (i, product) in products.into_iter().take(invariant.kept()).enumerate() {
                        self.products[tile * count + k][i].write(product);
                    }
                }
            }
        }
    }

    /// Reads the rows and finds the numbers of a number formula, and their derivatives by the invariants.
    pub(super) fn numbers<T: Storage>(&mut self, job: Job<'_>, numbers: &mut Vec<f64>, rows: usize) {
        self.read::<T>(Job { reverse: true, ..job });
        let Survey { values, outputs, cotangents, ones, .. } = self;
        cotangents.resize(values.len(), Number::splat(0.0));
        ones.resize(outputs.len(), Number::splat(1.0));
        job.step.plan.slopes(values, ones, outputs, cotangents);
        numbers.clear();
        numbers.extend(outputs.iter().flat_map(|number| number.to_array()).take(rows));
    }

    /// A basis vector of a tile.
    #[inline(always)]
    fn vector<'a>(&'a self, job: Job<'a>, tile: usize, b: usize) -> &'a [Aligned] {
        let Job { step: Step { plan, .. }, vectors, width, .. } = job;
        match input(plan.metric, plan.basis[b]) {
            Some(i) => vectors[i].tile(tile),
            None => &self.basis[(tile * plan.basis.len() + b) * width..][..width],
        }
    }

    /// The linear combinations of a vector formula, after its scalar function.
    pub(super) fn combine(&self, job: Job<'_>, out: &mut Tiles) {
        dispatch_blocks!(S, out, |out| self.combine_tiles::<S>(job, out));
    }

    #[inline(always)]
    fn combine_tiles<S: Block>(&self, job: Job<'_>, out: &mut Tiles) {
        let plan = job.step.plan;
        for (tile, out) in out.blocks.chunks_exact_mut(job.width).enumerate() {
            let mut terms = Terms::<S>::new();
            for b in 0..plan.basis.len() {
                let at = tile * HALVES * plan.outputs + b;
                let coefficient = joined(&self.outputs, [at, at + plan.outputs]);
                terms.push(coefficient, self.vector(job, tile, b));
            }
            terms.write(false, out);
        }
    }

    /// The gradients of a number formula, after [`numbers`](Self::numbers): `weights` times the derivatives,
    /// to a target for each vector.
    pub(super) fn gradients(&self, job: Job<'_>, weights: &[f64], targets: &mut [Target<'_>]) {
        dispatch_blocks!(S, targets, |targets| self.gradients_of_tiles::<S>(job, weights, targets));
    }

    #[inline(always)]
    fn gradients_of_tiles<S: Block>(&self, job: Job<'_>, weights: &[f64], targets: &mut [Target<'_>]) {
        let Job { step, width, .. } = job;
        let (plan, count) = (step.plan, step.plan.invariants.len());
        let zero = Lanes::splat(0.0);
        let kappa = Lanes::splat(step.params.first().copied().unwrap_or(0.0));
        let mut shares = Shares::<Lanes<LANES>, VECTORS, BASIS>::new();
        let (mut values, mut cotangents) = ([zero; INVARIANTS], [zero; INVARIANTS]);
        let mut products = [[zero; 4]; INVARIANTS];
        let end = if region_of(plan.metric, 0, width) == END { 0 } else { width - 1 };
        for (tile, weights) in weights.chunks(LANES).enumerate() {
            for (k, invariant) in plan.invariants.iter().enumerate() {
                let at = [tile * HALVES * count + k, (tile * HALVES + 1) * count + k];
                values[k] = joined::<S>(&self.values, at).lanes();
                cotangents[k] = joined::<S>(&self.cotangents, at).lanes();
                for i in 0..invariant.kept() {
                    products[k][i] = Lanes::from(self.products[tile * count + k][i].0);
                }
            }
            // The formula returns a number: no output is a coefficient.
            let rows = Surveyed {
                values: &values[..count],
                products: &products[..count],
                kappa,
                outputs: &[],
                cotangents: &cotangents[..count],
            };
            shares.compute(plan, rows);
            let weights: S = match weights.first_chunk() {
                Some(weights) => S::load(weights),
                None => S::load_part(weights),
            };
            for (i, target) in targets.iter_mut().enumerate() {
                let (add, target) = match target {
                    Target::One(sums) => (true, &mut **sums),
                    Target::Each(tiles) => (false, &mut tiles.blocks[tile * width..][..width]),
                };
                let (mut terms, mut of_end) = (Terms::<S>::new(), S::splat(0.0));
                for b in (0..plan.basis.len()).filter(|&b| plan.layout.receives[i][b]) {
                    let vector = self.vector(job, tile, b);
                    terms.push(weights * S::load(&shares.of_basis[BODY][i][b].to_array()), vector);
                    if plan.layout.has_end && leaves(plan.metric, END) {
                        let factor = weights * S::load(&shares.of_basis[END][i][b].to_array());
                        of_end = factor.mul_add(vector[end].read(), of_end);
                    }
                }
                let before = target[end].read::<S>();
                terms.write(add, target);
                if plan.layout.has_end {
                    target[end].write(if add { before + of_end } else { of_end });
                }
                if plan.layout.reads_ends {
                    for (of_ends, at) in [(0, 0), (1, width - 1)] {
                        let cotangent = S::load(&shares.received.ends[of_ends][i].to_array());
                        target[at].write(weights.mul_add(cotangent, target[at].read()));
                    }
                }
            }
        }
    }
}

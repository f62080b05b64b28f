//! A chunk of rows: their basis vectors, block by block, and their invariants.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::formula::plan::{BASIS, INVARIANTS, Number, PAIRS, PARAMS, ROWS, RowPlan, VECTORS};
use crate::formula::row::Metric;
use crate::formula::sums::{End, RowSums, Terms, component};
use crate::kernels::gram::{GROUPS, Together, basis, rows_of_chunk, with_together};
use crate::kernels::operands::{Operand, Parameter};
use crate::kernels::wedge;
use crate::numbers::compensated::Compensated;
use crate::numbers::simd::{Block, LANES, ask_ahead, asks_ahead, dispatch_blocks, read};
use crate::numbers::storage::Storage;

/// How chunks of rows are laid out in memory.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Rows of a chunk.
    pub(super) rows: usize,
    /// Blocks of a vector.
    pub(super) blocks: usize,
    /// Vectors of a row.
    slots: usize,
}

impl Sizes {
    /// The sizes for at most `count` rows of `width` elements of type `T`.
    pub(super) fn new<T>(plan: &RowPlan, width: usize, count: usize, reverse: bool) -> Self {
        Sizes {
            rows: rows_of_chunk::<T>(width).min(count.max(1)),
            blocks: width.div_ceil(LANES),
            slots: plan.basis.len() + usize::from(reverse && plan.vector),
        }
    }

    fn groups(&self) -> usize {
        self.rows.div_ceil(ROWS)
    }

    /// Calls `work` with memory of this thread for the vectors of a chunk, of unspecified content.
    pub(super) fn with_memory<R>(&self, work: impl FnOnce(&mut [Together]) -> R) -> R {
        let len = self.slots * self.groups() * self.blocks;
        with_together(len, work)
    }
}

/// Basis vectors and numbers of a chunk of rows, up to [`GROUPS`] groups of [`ROWS`]. One `Chunk` serves all
/// chunks of a call: values from an earlier chunk are overwritten or not read.
pub(super) struct Chunk<'a, 'b, T> {
    plan: &'a RowPlan,
    pub(super) width: usize,
    /// Blocks of a vector.
    pub(super) blocks: usize,
    /// Rows that there is room for.
    pub(super) rows: usize,
    inputs: SmallVec<[&'a [T]; GROUPS * ROWS * VECTORS]>,
    /// The basis vectors, then the upstream cotangent. The order is: vector, group, block, row.
    pub(super) vectors: &'b mut [Together],
    /// Blocks of a vector, of all groups together.
    pub(super) stride: usize,
    /// The inner products of a group that invariants are made of.
    dots: SmallVec<[Number; PAIRS]>,
    /// Invariants of each group.
    pub(super) values: PerInvariant<Number>,
    /// What their derivatives are made of.
    pub(super) products: PerInvariant<[Number; 4]>,
    /// Inner products of the basis vectors with the upstream cotangent, of each group.
    pub(super) upstream: PerOutput,
    /// The outputs of the scalar function, of each group.
    pub(super) outputs: PerOutput,
    /// The parameters, of each group.
    pub(super) params: SmallVec<[[Number; PARAMS]; GROUPS]>,
}

/// A value for each invariant of each group.
pub(super) type PerInvariant<X> = SmallVec<[X; GROUPS * INVARIANTS]>;

/// A number for each output of each group.
type PerOutput = SmallVec<[Number; GROUPS * BASIS]>;

/// For each vector, whether every row position before `end` reads the row of the same number.
pub(super) fn in_step<T>(vectors: &[Operand<'_, T>], end: usize) -> [bool; VECTORS] {
    let mut in_step = [false; VECTORS];
    for (in_step, vector) in in_step.iter_mut().zip(vectors) {
        *in_step = vector.rows.in_step(end);
    }
    in_step
}

impl<'a, 'b, T: Storage> Chunk<'a, 'b, T> {
    /// For rows of `width` elements, in memory of these sizes.
    pub(super) fn new(plan: &'a RowPlan, width: usize, sizes: Sizes, vectors: &'b mut [Together]) -> Self {
        let (groups, zero) = (sizes.groups(), Number::splat(0.0));
        Chunk {
            plan,
            width,
            blocks: sizes.blocks,
            rows: sizes.rows,
            inputs: SmallVec::new(),
            vectors,
            stride: groups * sizes.blocks,
            dots: smallvec![zero; plan.layout.pairs().len()],
            values: smallvec![zero; groups * plan.invariants.len()],
            products: smallvec![[zero; 4]; groups * plan.invariants.len()],
            upstream: smallvec![zero; groups * plan.outputs],
            outputs: smallvec![zero; groups * plan.outputs],
            params: smallvec![[zero; PARAMS]; groups],
        }
    }

    /// Reads the row positions `at`; `upstream` has their cotangents one after another.
    ///
    /// Both passes call it, so it is compiled once for them.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        vectors: &[Operand<'a, T>],
        in_step: &[bool; VECTORS],
        parameters: &[Parameter<'_>],
        at: Range<usize>,
        upstream: Option<&[T]>,
    ) {
        dispatch_blocks!(S, self, |chunk| {
            chunk.read_rows::<S>(vectors, in_step, parameters, at.clone(), upstream)
        });
    }

    #[inline(always)]
    fn read_rows<S: Block>(
        &mut self,
        vectors: &[Operand<'a, T>],
        in_step: &[bool; VECTORS],
        parameters: &[Parameter<'_>],
        at: Range<usize>,
        upstream: Option<&[T]>,
    ) {
        let (plan, width, count) = (self.plan, self.width, at.len());
        self.inputs.clear();
        for p in at.clone() {
            for (vector, &in_step) in vectors.iter().zip(in_step) {
                let first = if in_step { p } else { vector.rows.at(p) };
                self.inputs.push(&vector.data[first * width..][..width]);
            }
        }
        for b in 0..plan.basis.len() {
            self.fill::<S>(b, count);
        }
        for (g, params) in self.params[..count.div_ceil(ROWS)].iter_mut().enumerate() {
            let start = at.start + g * ROWS;
            let end = at.end.min(start + ROWS);
            for (param, parameter) in params.iter_mut().zip(parameters) {
                match parameter.constant {
                    Some(constant) => *param = Number::splat(constant),
                    None => {
                        for l in 0..ROWS {
                            param.set(l, parameter.at((start + l).min(end - 1)));
                        }
                    }
                }
            }
        }
        if let Some(upstream) = upstream.filter(|_| plan.vector) {
            let slot = &mut self.vectors[plan.basis.len() * self.stride..];
            let groups = slot.chunks_exact_mut(self.blocks);
            for (rows, slot) in upstream.chunks(ROWS * width).zip(groups) {
                for (l, row) in rows.chunks_exact(width).enumerate() {
                    fill::<T, S>(row, slot, l, false);
                }
            }
        }
        for g in 0..count.div_ceil(ROWS) {
            let first = g * ROWS;
            let rows = ROWS.min(count - first);
            self.group::<S>(g, rows);
            let Some(upstream) = upstream else { continue };
            for o in 0..plan.outputs {
                self.upstream[g * plan.outputs + o] = if plan.vector {
                    S::sums(&self.dot::<S>(o, plan.basis.len(), g, Metric::Euclidean))
                } else {
                    let mut cotangents = Number::splat(0.0);
                    for l in 0..rows {
                        cotangents.set(l, upstream[first + l].to_f64());
                    }
                    cotangents
                };
            }
        }
    }

    /// Writes the coordinates of a basis vector.
    #[inline(always)]
    fn fill<S: Block>(&mut self, b: usize, count: usize) {
        let (plan, blocks, width, v) = (self.plan, self.blocks, self.width, self.plan.vectors);
        let slot = &mut self.vectors[b * self.stride..][..self.stride];
        let horizontal = plan.metric == Metric::Horizontal;
        // A loop: calls in the closure of a `for_each` would not be compiled for the instruction set.
        for (slot, inputs) in slot.chunks_exact_mut(blocks).zip(self.inputs[..count * v].chunks(ROWS * v)) {
            for (l, x) in inputs.chunks_exact(v).enumerate() {
                match plan.basis[b].terms() {
                    Terms::One(i, flips) => {
                        fill::<T, S>(x[i], slot, l, horizontal);
                        if flips {
                            slot[0][l].write(basis::flip(slot[0][l].read::<S>(), 0));
                        }
                    }
                    Terms::Sum(i, j) => fill_from_two(
                        [x[i], x[j]],
                        slot,
                        l,
                        horizontal,
                        #[inline(always)]
                        |x: S, y| x + y,
                    ),
                    Terms::Difference(i, j) => fill_from_two(
                        [x[i], x[j]],
                        slot,
                        l,
                        horizontal,
                        #[inline(always)]
                        |x: S, y| x - y,
                    ),
                    Terms::Unit(end) => fill_unit::<S>(end.coordinate(width), slot, l),
                }
            }
        }
    }

    /// The blocks of a vector of a group.
    #[inline(always)]
    fn group_blocks(&self, slot: usize, g: usize) -> &[Together] {
        &self.vectors[slot * self.stride + g * self.blocks..][..self.blocks]
    }

    /// Inner products of two vectors, of each row, before they are summed over the lanes of a block.
    #[inline(always)]
    fn dot<S: Block>(&self, a: usize, b: usize, g: usize, metric: Metric) -> [S; ROWS] {
        let mut pairs = self.group_blocks(a, g).iter().zip(self.group_blocks(b, g));
        let mut sums = [S::splat(0.0); ROWS];
        if let Some((x, y)) = pairs.next() {
            for l in 0..ROWS {
                sums[l] = sums[l] + x[l].read::<S>() * basis::lower(metric, y[l].read(), 0);
            }
        }
        for (x, y) in pairs {
            for l in 0..ROWS {
                sums[l] = sums[l] + x[l].read::<S>() * y[l].read();
            }
        }
        sums
    }

    /// The inner products of two vectors, of each row, with twice the digits.
    #[inline(always)]
    fn accurate<S: Block>(&self, a: usize, b: usize, g: usize, metric: Metric) -> Compensated<Number> {
        if !T::COMPENSATED {
            let error = Number::splat(0.0);
            return Compensated { sum: S::sums(&self.dot::<S>(a, b, g, metric)), error };
        }
        let mut pairs = self.group_blocks(a, g).iter().zip(self.group_blocks(b, g));
        let mut sums = [Compensated::<S>::default(); ROWS];
        if let Some((x, y)) = pairs.next() {
            for l in 0..ROWS {
                sums[l].add_product::<T>(x[l].read(), basis::lower(metric, y[l].read(), 0));
            }
        }
        for (x, y) in pairs {
            for l in 0..ROWS {
                sums[l].add_product::<T>(x[l].read(), y[l].read());
            }
        }
        Compensated::totals::<T, ROWS>(&sums)
    }

    /// The invariants of a group, of which there are `rows` rows.
    #[inline(always)]
    fn group<S: Block>(&mut self, g: usize, rows: usize) {
        let (plan, metric) = (self.plan, self.plan.metric);
        for (position, &(a, b)) in plan.layout.pairs().iter().enumerate() {
            self.dots[position] = S::sums(&self.dot::<S>(a, b, g, metric));
        }
        for (k, invariant) in plan.invariants.iter().enumerate() {
            let at = g * plan.invariants.len() + k;
            let (mut value, parts) =
                invariant.find(metric, &Group::<T, S> { chunk: self, g, rows, block: PhantomData });
            // Lanes without a row of their own repeat the first row.
            for l in rows..ROWS {
                value.set(l, value.get(0));
            }
            self.values[at] = value;
            self.products[at] = parts;
        }
    }

    /// The products of the [residuals](wedge::Residuals) of one row. `vectors`: the positions of a, b and c
    /// in the basis.
    #[inline(always)]
    fn residuals<S: Block>(&self, vectors: [usize; 3], slopes: [f64; 2], row: usize) -> [S; 3] {
        let inputs = &self.inputs[row * self.plan.vectors..][..self.plan.vectors];
        let all = self.plan.basis;
        let basis = [all[vectors[0]], all[vectors[1]], all[vectors[2]]];
        let slopes = [S::splat(slopes[0]), S::splat(slopes[1])];
        let mut residuals = wedge::Residuals::new(self.plan.metric, vectors[1] == vectors[2], slopes);
        let mut blocks = [S::splat(0.0); VECTORS];
        for at in (0..self.width).step_by(LANES) {
            for (block, row) in blocks.iter_mut().zip(inputs) {
                *block = read(row, at, self.width - at);
            }
            residuals.add(basis, &blocks, at);
        }
        residuals.sums()
    }
}

/// A group of a chunk, of which there are `rows` rows.
struct Group<'c, 'a, 'b, T, S> {
    chunk: &'c Chunk<'a, 'b, T>,
    g: usize,
    rows: usize,
    block: PhantomData<S>,
}

impl<'a, T: Storage, S: Block> Group<'_, 'a, '_, T, S> {
    /// The inputs of the rows, one row after another.
    #[inline(always)]
    fn inputs(&self) -> &[&'a [T]] {
        &self.chunk.inputs[self.g * ROWS * self.chunk.plan.vectors..]
    }
}

impl<T: Storage, S: Block> RowSums for Group<'_, '_, '_, T, S> {
    type Number = Number;

    #[inline(always)]
    fn plain(&self, a: usize, b: usize) -> Number {
        self.chunk.dots[self.chunk.plan.layout.position(a, b)]
    }

    #[inline(always)]
    fn exact(&self, a: usize, b: usize, metric: Metric) -> Compensated<Number> {
        self.chunk.accurate::<S>(a, b, self.g, metric)
    }

    #[inline(always)]
    fn scaled(&self, a: usize, b: usize) -> [Number; 2] {
        let (metric, blocks) = (self.chunk.plan.metric, self.chunk.blocks);
        let (x, y) = (self.chunk.group_blocks(a, self.g), self.chunk.group_blocks(b, self.g));
        let (mut units_a, mut units_b) = (Number::splat(0.0), Number::splat(0.0));
        let (mut dots, mut squares) = ([S::splat(0.0); ROWS], [S::splat(0.0); ROWS]);
        for l in 0..ROWS {
            let (unit_x, unit_y) = (largest::<S>(metric, x, l), largest::<S>(metric, y, l));
            for k in 0..blocks {
                let along = basis::lower(metric, y[k][l].read::<S>(), k * LANES) / S::splat(unit_y);
                dots[l] = dots[l] + x[k][l].read::<S>() / S::splat(unit_x) * along;
                squares[l] = squares[l] + along * along;
            }
            units_a.set(l, unit_x);
            units_b.set(l, unit_y);
        }
        component(S::sums(&dots), S::sums(&squares), [units_a, units_b])
    }

    #[inline(always)]
    fn norm(&self, a: usize) -> [Number; 2] {
        let (plan, inputs) = (self.chunk.plan, self.inputs());
        basis::extreme(
            (plan.metric, plan.basis[a], self.chunk.width),
            self.plain(a, a),
            self.rows,
            #[inline(always)]
            |l, i, c| inputs[l * plan.vectors + i][c].to_f64(),
        )
    }

    #[inline(always)]
    fn entry(&self, input: usize, end: End) -> Number {
        let (v, c) = (self.chunk.plan.vectors, end.coordinate(self.chunk.width));
        let mut coordinates = Number::splat(0.0);
        for l in 0..self.rows {
            coordinates.set(l, self.inputs()[l * v + input][c].to_f64());
        }
        coordinates
    }

    #[inline(always)]
    fn wedge(&self, vectors: [usize; 3], products: &[Number; 4]) -> Number {
        wedge::group::<S>(
            (self.chunk.plan.metric, vectors),
            products,
            self.rows,
            #[inline(always)]
            |l, slopes| self.chunk.residuals::<S>(vectors, slopes, self.g * ROWS + l),
        )
    }

    #[inline(always)]
    fn param(&self, p: usize) -> Number {
        self.chunk.params[self.g][p]
    }

    #[inline(always)]
    fn epsilon(&self) -> Number {
        Number::splat(T::EPSILON)
    }
}

/// The largest coordinate of a basis vector, in lane `l` of a group.
#[inline(always)]
fn largest<S: Block>(metric: Metric, vector: &[Together], l: usize) -> f64 {
    let mut largest = S::splat(0.0);
    for (k, blocks) in vector.iter().enumerate() {
        largest = largest.max_magnitude(basis::lower(metric, blocks[l].read(), k * LANES));
    }
    largest.lanes().to_array().iter().fold(f64::MIN_POSITIVE, |unit, &x| unit.max(x.abs()))
}

/// Writes row `l` of a group, for a vector that is made of one input. `horizontal` leaves out the last
/// coordinate.
#[inline(always)]
fn fill<T: Storage, S: Block>(row: &[T], blocks: &mut [Together], l: usize, horizontal: bool) {
    let (l, (whole, end)) = (l % ROWS, row.as_chunks::<LANES>());
    let ask = asks_ahead::<T>(row.len());
    for (block, x) in blocks.iter_mut().zip(whole) {
        if ask {
            ask_ahead(x);
        }
        block[l].write(S::load(x));
    }
    let (last, at) = (blocks.len() - 1, (blocks.len() - 1) * LANES);
    if !end.is_empty() {
        blocks[last][l].write(S::load_part(end));
    }
    if horizontal {
        blocks[last][l].write(basis::without(blocks[last][l].read::<S>(), row.len() - 1, at));
    }
}

/// Writes row `l` of a group, for the unit vector of a coordinate.
#[inline(always)]
fn fill_unit<S: Block>(coordinate: usize, blocks: &mut [Together], l: usize) {
    for (k, block) in blocks.iter_mut().enumerate() {
        block[l % ROWS].write(basis::unit::<S>(coordinate, k * LANES));
    }
}

/// Writes row `l` of a group, for a vector that is made of two inputs.
#[inline(always)]
fn fill_from_two<T: Storage, S: Block>(
    [x, y]: [&[T]; 2],
    blocks: &mut [Together],
    l: usize,
    horizontal: bool,
    f: impl Fn(S, S) -> S,
) {
    let ((whole, end), (whole_y, end_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let l = l % ROWS;
    for (block, (x, y)) in blocks.iter_mut().zip(whole.iter().zip(whole_y)) {
        block[l].write(f(S::load(x), S::load(y)));
    }
    let (last, at) = (blocks.len() - 1, (blocks.len() - 1) * LANES);
    if !end.is_empty() {
        blocks[last][l].write(f(S::load_part(end), S::load_part(end_y)));
    }
    if horizontal {
        let x = basis::without(read::<T, S>(x, at, x.len() - at), x.len() - 1, at);
        let y = basis::without(read::<T, S>(y, at, y.len() - at), y.len() - 1, at);
        blocks[last][l].write(f(x, y));
    }
}

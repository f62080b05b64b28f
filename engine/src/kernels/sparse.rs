//! The `sparse` kernel: products with sparse matrices, scores at the places of their elements, and
//! softmax of their rows. Attention over the edges of a graph consists of these three. Memory is linear
//! in the number of elements.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::formula::pair::Pairing;
use crate::kernels::pair::{PairKernel, Tile, TileGradients, gradient};
use crate::numbers::line::{line_dot, line_exp, line_sum, load};
use crate::numbers::parallel::{self, PIECES, split_front};
use crate::numbers::simd::{Block, dispatch, dispatch_blocks};
use crate::numbers::storage::Storage;
use crate::tensor::shape::{Shape, ShapeError};
use crate::tensor::sparsity::{Lists, Sparsity};
use crate::tensor::view::{Outcome, View, shapes};

/// What [`products`] sums, weighted by the elements. In the list of row `i`, `j` is an element's column; in
/// that of a column, its row.
pub(crate) enum Terms<'a, T> {
    /// Rows `x[j]`.
    Rows(&'a [T]),
    /// Twice the differences `x[i] − y[j]`.
    Differences(&'a [T], &'a [T]),
    /// Ones: the weights alone are summed.
    Ones,
}

/// `out[i] = Σ w[e] x[j]` over the elements of list `i`, or as the [`Terms`] say. Each `i` and `j` stands
/// for `heads` rows of `width` elements.
fn products<T: Storage>(
    lists: &Lists,
    [heads, width]: [usize; 2],
    w: &[T],
    terms: &Terms<'_, T>,
    out: &mut [T],
) {
    let mean = lists.elements.len() / lists.len().max(1) + 1;
    parallel::for_each_part(out, heads * width, 1, 1 + mean * heads * (2 + width / 4), |range, out| {
        dispatch(
            #[inline(always)]
            || {
                for (i, out) in range.clone().zip(out.chunks_exact_mut((heads * width).max(1))) {
                    out.fill(T::zero());
                    for (e, j) in lists.list(i) {
                        for (h, out) in out.chunks_exact_mut(width.max(1)).enumerate() {
                            let w = w[e * heads + h];
                            let start_of = |rows: &'_ [T], i: usize| -> usize {
                                debug_assert_eq!(rows.len() % width, 0);
                                (i * heads + h) * width
                            };
                            match terms {
                                Terms::Rows(x) => {
                                    let at = start_of(x, j);
                                    for (out, x) in out.iter_mut().zip(&x[at..at + width]) {
                                        *out = *out + w * *x;
                                    }
                                }
                                Terms::Differences(own, others) => {
                                    let (at, from) = (start_of(own, i), start_of(others, j));
                                    let rows = own[at..at + width].iter().zip(&others[from..from + width]);
                                    for (out, (x, y)) in out.iter_mut().zip(rows) {
                                        *out = *out + (w + w) * (*x - *y);
                                    }
                                }
                                Terms::Ones => out[0] = out[0] + w,
                            }
                        }
                    }
                }
            },
        );
    });
}

/// For each element and each head, the pairing of the element's rows.
fn sampled<T: Storage>(
    sparsity: &Sparsity,
    pairing: Pairing,
    [heads, width]: [usize; 2],
    [x, y]: [&[T]; 2],
    out: &mut [T],
) {
    parallel::for_each_part(out, heads, 1, heads * (4 + width / 2), |range, out| {
        let pairs = &sparsity.pairs()[range];
        dispatch_blocks!(S, out, |out| sample::<T, S>(pairs, pairing, [heads, width], [x, y], out));
    });
}

#[inline(always)]
fn sample<T: Storage, S: Block>(
    pairs: &[(u32, u32)],
    pairing: Pairing,
    [heads, width]: [usize; 2],
    [x, y]: [&[T]; 2],
    out: &mut [T],
) {
    for (&(i, j), out) in pairs.iter().zip(out.chunks_exact_mut(heads.max(1))) {
        for (h, out) in out.iter_mut().enumerate() {
            let (i, j) = (i as usize * heads + h, j as usize * heads + h);
            let (x, y) = (&x[i * width..(i + 1) * width], &y[j * width..(j + 1) * width]);
            *out = T::nearest(match pairing {
                Pairing::Dot => line_dot::<T, S>(x, y),
                Pairing::SquaredDistance => line_sum(
                    [x, y],
                    #[inline(always)]
                    |[x, y]| {
                        let difference = load(x, 0.0) - load(y, 0.0);
                        S::load(&(difference * difference).to_array())
                    },
                ),
            });
        }
    }
}

/// Heads and width of the rows `[n, d]` or `[n, heads, d]` that belong to elements `[elements]` or
/// `[elements, heads]`.
fn rows_of(shape: &Shape, n: usize) -> Result<[usize; 2], ShapeError> {
    match *shape.axes() {
        [rows, d] if rows == n => Ok([1, d]),
        [rows, heads, d] if rows == n => Ok([heads, d]),
        _ => Err(ShapeError::new(format!("rows [{n}, d] or [{n}, heads, d] are needed, not {shape}"))),
    }
}

/// One sparse matrix, or one for each head, times a dense one.
pub(crate) struct SparseMatmul {
    pub(crate) sparsity: Arc<Sparsity>,
}

impl SparseMatmul {
    /// Heads, width, and the shape of the result.
    pub(crate) fn sizes(&self, inputs: &[&Shape]) -> Result<([usize; 2], Shape), ShapeError> {
        let (weights, dense) = (inputs[0], inputs[1]);
        let sizes = rows_of(dense, self.sparsity.columns())?;
        if *weights != dense.rows().with(0, self.sparsity.pairs().len()) {
            let count = self.sparsity.pairs().len();
            return Err(ShapeError::new(format!(
                "{count} elements, for each head, are needed, not {weights}, for {dense}"
            )));
        }
        Ok((sizes, dense.with(0, self.sparsity.rows())))
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(self.sizes(inputs)?.1)
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (sizes, _) = self.sizes(&shapes(inputs)).expect("checked");
        products(self.sparsity.by_row(), sizes, inputs[0].data, &Terms::Rows(inputs[1].data), out);
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let (sizes, _) = self.sizes(&shapes(inputs)).expect("checked");
        let [weights, dense] = grads else { unreachable!("two inputs") };
        if let Some(weights) = weights.as_deref_mut() {
            sampled(&self.sparsity, Pairing::Dot, sizes, [g, inputs[1].data], weights);
        }
        if let Some(dense) = dense.as_deref_mut() {
            products(self.sparsity.by_column(), sizes, inputs[0].data, &Terms::Rows(g), dense);
        }
    }
}

/// Softmax of the rows of sparse matrices.
pub(crate) struct SegmentSoftmax {
    pub(crate) sparsity: Arc<Sparsity>,
}

impl SegmentSoftmax {
    /// The number of matrices with elements at the same places.
    pub(crate) fn heads(shape: &Shape) -> usize {
        shape.axes()[1..].iter().product()
    }

    /// Calls `work` with the rows of each piece and their elements in `out`.
    fn for_each_piece<T: Storage>(
        &self,
        heads: usize,
        mut out: &mut [T],
        work: impl Fn(std::ops::Range<usize>, &mut [T]) + Sync,
    ) {
        let lists = self.sparsity.by_row();
        let mean = lists.elements.len() / lists.len().max(1) + 1;
        let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(lists.len(), 1, 4 * mean * heads)
            .into_iter()
            .map(|range| {
                let count = lists.starts[range.end] - lists.starts[range.start];
                (range, split_front(&mut out, count as usize * heads))
            })
            .collect();
        parallel::run(&mut jobs, |(range, out)| work(range.clone(), out));
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        let (shape, count) = (inputs[0], self.sparsity.pairs().len());
        match shape.axes() {
            [elements, ..] if *elements == count => Ok(shape.clone()),
            _ => {
                let needed = format!("scores [{count}, …] of the elements are needed");
                Err(ShapeError::new(format!("{needed}, not {shape}")))
            }
        }
    }

    pub(crate) fn compute<T: Storage>(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let (x, heads) = (inputs[0].data, Self::heads(inputs[0].shape));
        let lists = self.sparsity.by_row();
        self.for_each_piece(heads, out, |rows, out| {
            dispatch(
                #[inline(always)]
                || {
                    let lowest = T::nearest(f64::NEG_INFINITY);
                    let mut largest: SmallVec<[T; 16]> = SmallVec::from_elem(lowest, heads);
                    let mut sums: SmallVec<[f64; 16]> = SmallVec::from_elem(0.0, heads);
                    let mut remaining = &mut *out;
                    for i in rows.clone() {
                        let range = lists.range(i);
                        let y = split_front(&mut remaining, range.len() * heads);
                        let x = &x[range.start * heads..range.end * heads];
                        largest.fill(lowest);
                        for x in x.chunks_exact(heads.max(1)) {
                            for (max, x) in largest.iter_mut().zip(x) {
                                if *x > *max || x.is_nan() {
                                    *max = *x;
                                }
                            }
                        }
                        for (y, x) in y.chunks_exact_mut(heads.max(1)).zip(x.chunks_exact(heads.max(1))) {
                            for ((y, x), max) in y.iter_mut().zip(x).zip(&largest) {
                                // Scores that are all −∞ keep their weights of 0.
                                *y = if *max == lowest { lowest } else { *x - *max };
                            }
                        }
                        line_exp(y);
                        sums.fill(0.0);
                        for y in y.chunks_exact(heads.max(1)) {
                            sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += y.to_f64());
                        }
                        for y in y.chunks_exact_mut(heads.max(1)) {
                            for (y, sum) in y.iter_mut().zip(&sums) {
                                *y = if *sum == 0.0 { T::zero() } else { T::nearest(y.to_f64() / sum) };
                            }
                        }
                    }
                },
            );
        });
    }

    pub(crate) fn pullback<T: Storage>(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Some(dx) = grads[0].as_deref_mut() else { return };
        let heads = Self::heads(inputs[0].shape);
        let lists = self.sparsity.by_row();
        self.for_each_piece(heads, dx, |rows, dx| {
            let mut dots: SmallVec<[f64; 16]> = SmallVec::from_elem(0.0, heads);
            let mut remaining = dx;
            for i in rows {
                let range = lists.range(i);
                let dx = split_front(&mut remaining, range.len() * heads);
                let place = range.start * heads..range.end * heads;
                let (y, g) = (&outcome.out[place.clone()], &g[place]);
                dots.fill(0.0);
                for (k, (y, g)) in y.iter().zip(g).enumerate() {
                    dots[k % heads] += y.to_f64() * g.to_f64();
                }
                for (k, (dx, (y, g))) in dx.iter_mut().zip(y.iter().zip(g)).enumerate() {
                    *dx = T::nearest(y.to_f64() * (g.to_f64() - dots[k % heads]));
                }
            }
        });
    }
}

/// Scores of a pair formula at the elements of a sparse matrix.
pub(crate) struct SparsePairs<T: Storage> {
    pub(crate) score: &'static dyn PairKernel<T>,
    pub(crate) sparsity: Arc<Sparsity>,
}

impl<T: Storage> SparsePairs<T> {
    /// Heads, width, and the shape of the result.
    pub(crate) fn sizes(&self, inputs: &[&Shape]) -> Result<([usize; 2], Shape), ShapeError> {
        let (x, y) = (inputs[0], inputs[1]);
        let [l, r, _] = self.score.counts();
        let [sizes_x, sizes_y] = [rows_of(x, self.sparsity.rows())?, rows_of(y, self.sparsity.columns())?];
        if sizes_x != sizes_y || sizes_x[1] == 0 {
            return Err(ShapeError::new(format!("rows {x} and {y} do not go together")));
        }
        let (left, others) = inputs[2..].split_at(l);
        let (right, params) = others.split_at(r);
        if !left.iter().all(|s| **s == x.rows()) || !right.iter().all(|s| **s == y.rows()) {
            let given = inputs[2..2 + l + r].iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
            return Err(ShapeError::new(format!(
                "numbers of rows must be {} and {}, not {given}",
                x.rows(),
                y.rows()
            )));
        }
        if !params.iter().all(|s| s.elements() == 1) {
            return Err(ShapeError::new("parameters must be single numbers"));
        }
        Ok((sizes_x, x.rows().with(0, self.sparsity.pairs().len())))
    }

    /// The numbers of the rows of some elements, head by head: left ones, then right ones.
    fn numbers(
        &self,
        inputs: &[View<'_, T>],
        heads: usize,
        elements: std::ops::Range<usize>,
    ) -> SmallVec<[Vec<T>; 4]> {
        let [l, r, _] = self.score.counts();
        let pairs = &self.sparsity.pairs()[elements];
        let gathered = |(k, view): (usize, &View<'_, T>)| {
            let rows = pairs.iter().map(|&(i, j)| if k < l { i } else { j } as usize * heads);
            rows.flat_map(|start| view.data[start..start + heads].iter().copied()).collect()
        };
        inputs[2..2 + l + r].iter().enumerate().map(gathered).collect()
    }

    /// Pairs side by side, with the numbers of their rows.
    fn tile<'a>(&self, inputs: &[View<'_, T>], numbers: &'a [Vec<T>], count: usize) -> Tile<'a, T> {
        let [l, r, _] = self.score.counts();
        let (left, right) = numbers.split_at(l);
        let params = inputs[2 + l + r..].iter();
        Tile {
            columns: count,
            matched: true,
            left: left.iter().map(|x| &**x).collect(),
            right: right.iter().map(|x| &**x).collect(),
            params: params.map(|v| v.constant.unwrap_or_else(|| v.data[0].to_f64())).collect(),
        }
    }

    pub(crate) fn result_shape(&self, inputs: &[&Shape]) -> Result<Shape, ShapeError> {
        Ok(self.sizes(inputs)?.1)
    }

    pub(crate) fn compute(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let ([heads, width], _) = self.sizes(&shapes(inputs)).expect("checked");
        if out.is_empty() {
            return;
        }
        let rows = [inputs[0].data, inputs[1].data];
        sampled(&self.sparsity, self.score.pairing(), [heads, width], rows, out);
        parallel::for_each_part(out, heads, 16, 8 * heads, |range, s| {
            let numbers = self.numbers(inputs, heads, range);
            self.score.score(&self.tile(inputs, &numbers, s.len()), s);
        });
    }

    pub(crate) fn pullback(
        &self,
        inputs: &[View<'_, T>],
        _: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let (sizes, _) = self.sizes(&shapes(inputs)).expect("checked");
        let [heads, _] = sizes;
        grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
        if g.is_empty() {
            return;
        }
        let [l, r, _] = self.score.counts();
        let (rows, number_grads) = grads.split_at_mut(2);
        let (number_grads, param_grads) = number_grads.split_at_mut(l + r);
        let data = [inputs[0].data, inputs[1].data];
        let lists = [self.sparsity.by_row(), self.sparsity.by_column()];
        let pairing = self.score.pairing();
        // For each element: its pairing; the gradient of its score, later of its pairing; and in
        // `element_grads` the gradients of its numbers.
        let (mut pairs, mut weights) = (vec![T::zero(); g.len()], g.to_vec());
        sampled(&self.sparsity, pairing, sizes, data, &mut pairs);
        let mut element_grads: SmallVec<[Option<Vec<T>>; 4]> =
            number_grads.iter().map(|grad| grad.as_ref().map(|_| vec![T::zero(); g.len()])).collect();
        let mut remaining: SmallVec<[Option<&mut [T]>; 4]> =
            element_grads.iter_mut().map(|grad| grad.as_deref_mut()).collect();
        let mut remaining_weights = &mut *weights;
        let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(g.len() / heads, 16, 24 * heads)
            .into_iter()
            .map(|range| {
                let count = range.len() * heads;
                let mut parts: SmallVec<[Option<&mut [T]>; 4]> = remaining
                    .iter_mut()
                    .map(|grad| grad.as_mut().map(|grad| split_front(grad, count)))
                    .collect();
                let right = parts.drain(l..).collect();
                let params = param_grads.iter().map(|grad| grad.as_ref().map(|_| 0.0)).collect();
                let weights = split_front(&mut remaining_weights, count);
                (range, weights, TileGradients { left: parts, right, params })
            })
            .collect();
        parallel::run(&mut jobs, |(range, weights, grads)| {
            let numbers = self.numbers(inputs, heads, range.clone());
            let pairs = &pairs[range.start * heads..range.end * heads];
            gradient(
                self.score,
                &self.tile(inputs, &numbers, pairs.len()),
                pairs,
                weights,
                grads,
                |_, _, _, _| (),
            );
        });
        for (k, grad) in param_grads.iter_mut().enumerate() {
            if let Some(grad) = grad {
                let sum: f64 = jobs.iter().map(|(_, _, grads)| grads.params[k].unwrap_or(0.0)).sum();
                grad[0] = T::nearest(sum);
            }
        }
        drop((jobs, remaining));
        for (k, (grad, by_element)) in number_grads.iter_mut().zip(&element_grads).enumerate() {
            if let (Some(grad), Some(by_element)) = (grad, by_element) {
                products(lists[usize::from(k >= l)], [heads, 1], by_element, &Terms::Ones, grad);
            }
        }
        for (k, grad) in rows.iter_mut().enumerate() {
            if let Some(grad) = grad {
                let terms = match pairing {
                    Pairing::Dot => Terms::Rows(data[1 - k]),
                    Pairing::SquaredDistance => Terms::Differences(data[k], data[1 - k]),
                };
                products(lists[k], sizes, &weights, &terms, grad);
            }
        }
    }
}

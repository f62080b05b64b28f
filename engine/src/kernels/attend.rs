//! The `attend` kernel: `softmax(scores) V`, tile by tile, never storing the n × m scores.
//!
//! A tile is some rows of the scores, small enough for the cache. The forward pass keeps one number per row, the
//! logarithm of its softmax's denominator; the reverse pass computes the scores again from it (Dao et al. 2022,
//! FlashAttention). Memory is linear in n. Any [`PairFormula`] can be the score.

use smallvec::SmallVec;

use crate::arena::Op;
use crate::formulas::ScaledDot;
use crate::kernels::gemm::{Matrix, serial};
use crate::kernels::pair::{
    ErasedPair, PairFormula, PairKernel, Part, Sizes, TileGradients, pairings, pairings_gradient, sizes,
    tile_rows,
};
use crate::kernels::reduce::{line_max, line_sum, load};
use crate::operation::{Operation, Outcome, View, shapes};
use crate::parallel::{self, PIECES, split_front};
use crate::simd::dispatch;
use crate::{Float, Lanes, Scalar, Shape, Tape, Var};

/// A gradient that is asked for, or none.
type Grad<'a, T> = Option<&'a mut [T]>;

/// Inputs: queries, keys, values, numbers of the queries, numbers of the keys, parameters of the score.
pub(crate) struct Attend<T: Float> {
    score: &'static dyn PairKernel<T>,
    causal: bool,
}

impl<'t, T: Float> Var<'t, T> {
    /// Scaled dot-product attention (Vaswani et al. 2017, eq. 1): `softmax(scale · Q Kᵀ) V` with `self` as queries
    /// `[…, n, d]`, keys `[…, m, d]`, values `[…, m, e]`: `[…, n, e]`. If `causal`, query i attends to keys up to
    /// i + m − n. A query that attends to nothing gives 0.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend(self, keys: Self, values: Self, scale: f64, causal: bool) -> Self {
        let tape = self.tape();
        tape.attend(ScaledDot, [self, keys, values], [], [], [tape.scalar(scale)], causal)
    }
}

impl<T: Float> Tape<T> {
    /// Attention whose scores are a [`PairFormula`] of queries and keys: `softmax(scores) V` for `[queries, keys,
    /// values]`, with numbers of the queries and of the keys, and parameters, as [`pairs`](Tape::pairs) has them.
    ///
    /// # Panics
    /// If the shapes do not fit.
    #[track_caller]
    pub fn attend<'t, F: PairFormula<L, R, P>, const L: usize, const R: usize, const P: usize>(
        &'t self,
        _score: F,
        [queries, keys, values]: [Var<'t, T>; 3],
        left: [Var<'t, T>; L],
        right: [Var<'t, T>; R],
        params: [Var<'t, T>; P],
        causal: bool,
    ) -> Var<'t, T> {
        let mut inputs: SmallVec<[Var<'t, T>; 6]> = SmallVec::from_slice(&[queries, keys]);
        inputs.extend(left.into_iter().chain(right).chain(params));
        inputs.push(values);
        self.record(Op::Attend(Attend { score: ErasedPair::<F, L, R, P>::kernel(), causal }), &inputs)
    }
}

/// The score's inputs, and the values.
fn split<S>(inputs: &[S]) -> (&[S], &S) {
    let (values, scored) = inputs.split_last().expect("queries, keys, values");
    (scored, values)
}

impl<T: Float> Attend<T> {
    fn sizes(&self, inputs: &[&Shape]) -> Result<(Sizes, usize, Shape), String> {
        let (scored, values) = split(inputs);
        let (s, shape) = sizes(scored, self.score.counts())?;
        if values.rows() != scored[1].rows() || scored[0].axes().len() != scored[1].axes().len() {
            let (q, k) = (scored[0], scored[1]);
            return Err(format!(
                "queries {q}, keys {k} and values {values} do not fit: […, n, d], […, m, d], […, m, e]"
            ));
        }
        let width = values.width();
        let rows = shape.rows();
        Ok((s, width, rows.with_width(width)))
    }

    /// How many keys query `i` attends to.
    fn reach(&self, s: Sizes, i: usize) -> usize {
        if self.causal { (i + 1 + s.m).saturating_sub(s.n).min(s.m) } else { s.m }
    }

    /// Scores of some queries, from their pairings.
    fn scores(&self, part: &Part<'_, T>, s: Sizes, rows: std::ops::Range<usize>, scores: &mut [T]) {
        self.score.score(&part.tile(rows.clone(), s.m), scores);
        if self.causal {
            for (i, row) in rows.zip(scores.chunks_exact_mut(s.m)) {
                row[self.reach(s, i)..].fill(T::nearest(f64::NEG_INFINITY));
            }
        }
    }
}

/// Batch entries of a job.
fn entries(s: Sizes, work: usize) -> SmallVec<[std::ops::Range<usize>; PIECES]> {
    parallel::pieces(s.batch, 1, 1 + s.n * s.m / 50 * work)
}

impl<T: Float> Operation<T> for Attend<T> {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        Ok(self.sizes(inputs)?.2)
    }

    /// The logarithm of each row's denominator.
    fn keeps(&self, inputs: &[&Shape]) -> usize {
        inputs[0].rows().len()
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], kept: &mut [T]) {
        let shapes = shapes(inputs);
        let (s, width, _) = self.sizes(&shapes).expect("checked");
        let (scored, values) = split(inputs);
        let (mut out, mut kept) = (out, kept);
        let mut jobs: SmallVec<[_; PIECES]> = entries(s, s.width + width)
            .into_iter()
            .map(|range| {
                let rows = range.len() * s.n;
                (range, split_front(&mut out, rows * width), split_front(&mut kept, rows))
            })
            .collect();
        parallel::run(&mut jobs, |(range, out, kept)| {
            let step = tile_rows(s.m);
            T::with_scratch(step * s.m, |scratch| {
                for (e, b) in range.clone().enumerate() {
                    let part = Part::of(scored, self.score.counts(), s, b, b * s.n..(b + 1) * s.n);
                    let v = &values.data[b * s.m * width..(b + 1) * s.m * width];
                    for start in (0..s.n).step_by(step) {
                        let rows = start..s.n.min(start + step);
                        let place = e * s.n + rows.start..e * s.n + rows.end;
                        let scores = &mut scratch[..rows.len() * s.m];
                        let x = &part.x[rows.start * s.width..rows.end * s.width];
                        pairings(self.score.pairing(), x, part.y, s.width, scores);
                        self.scores(&part, s, rows.clone(), scores);
                        dispatch(
                            #[inline(always)]
                            || softmax(scores, s.m, &mut kept[place.clone()]),
                        );
                        let p = Matrix::new(scores, rows.len(), s.m);
                        serial(
                            p,
                            Matrix::new(v, s.m, width),
                            false,
                            &mut out[place.start * width..place.end * width],
                        );
                    }
                }
            });
        });
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let shapes = shapes(inputs);
        let (s, width, _) = self.sizes(&shapes).expect("checked");
        let (scored, values) = split(inputs);
        let [l, r, p] = self.score.counts();
        // All but the queries' are added to.
        grads.iter_mut().flatten().for_each(|grad| grad.fill(T::zero()));
        type Grads<'a, 'b, T> = SmallVec<[(usize, &'a mut Grad<'b, T>); 6]>;
        let (dparams, others): (Grads<'_, '_, T>, Grads<'_, '_, T>) =
            grads.iter_mut().enumerate().partition(|(i, _)| (2 + l + r..2 + l + r + p).contains(i));
        // Elements of one batch entry in each of the others.
        let sizes = |i: usize| match i {
            0 => s.n * s.width,
            1 => s.m * s.width,
            i if i < 2 + l => s.n,
            i if i < 2 + l + r => s.m,
            _ => s.m * width,
        };
        let mut rest: SmallVec<[(usize, Grad<'_, T>); 6]> =
            others.into_iter().map(|(i, grad)| (sizes(i), grad.as_deref_mut())).collect();
        let mut jobs: SmallVec<[_; PIECES]> = entries(s, 3 * (s.width + width))
            .into_iter()
            .map(|range| {
                let places: SmallVec<[Option<&mut [T]>; 6]> = rest
                    .iter_mut()
                    .map(|(size, grad)| grad.as_mut().map(|grad| split_front(grad, range.len() * *size)))
                    .collect();
                let of_params: SmallVec<[Option<f64>; 4]> =
                    dparams.iter().map(|(_, grad)| grad.as_ref().map(|_| 0.0)).collect();
                (range, places, of_params)
            })
            .collect();
        parallel::run(&mut jobs, |(range, places, of_params)| {
            let step = tile_rows(s.m);
            T::with_scratch(3 * step * s.m, |scratch| {
                for (e, b) in range.clone().enumerate() {
                    let part = Part::of(scored, self.score.counts(), s, b, b * s.n..(b + 1) * s.n);
                    let v = &values.data[b * s.m * width..(b + 1) * s.m * width];
                    for start in (0..s.n).step_by(step) {
                        let rows = start..s.n.min(start + step);
                        let (count, len) = (rows.len(), rows.len() * s.m);
                        let (pairs, rest) = scratch.split_at_mut(step * s.m);
                        let (weights, upstream) = rest.split_at_mut(step * s.m);
                        let (pairs, weights, upstream) =
                            (&mut pairs[..len], &mut weights[..len], &mut upstream[..len]);
                        let all = b * s.n + rows.start..b * s.n + rows.end;
                        let (g, out) = (
                            &g[all.start * width..all.end * width],
                            &outcome.out[all.start * width..all.end * width],
                        );

                        let x = &part.x[rows.start * s.width..rows.end * s.width];
                        pairings(self.score.pairing(), x, part.y, s.width, pairs);
                        weights.copy_from_slice(pairs);
                        self.scores(&part, s, rows.clone(), weights);
                        serial(
                            Matrix::new(g, count, width),
                            Matrix::new(v, s.m, width).transposed(),
                            false,
                            upstream,
                        );
                        dispatch(
                            #[inline(always)]
                            || softmax_again(weights, s.m, &outcome.kept[all.clone()]),
                        );
                        let of_entry = |size: usize| e * size..(e + 1) * size;
                        if let Some(dv) = places.last_mut().and_then(|d| d.as_deref_mut()) {
                            let dv = &mut dv[of_entry(s.m * width)];
                            serial(
                                Matrix::new(weights, count, s.m).transposed(),
                                Matrix::new(g, count, width),
                                true,
                                dv,
                            );
                        }
                        dispatch(
                            #[inline(always)]
                            || scores_gradient(weights, upstream, g, out, s.m, width),
                        );
                        let (dx, others) = places.split_at_mut(1);
                        let (dy, others) = others.split_at_mut(1);
                        let (dleft, others) = others.split_at_mut(l);
                        let mut tile = TileGradients {
                            left: dleft
                                .iter_mut()
                                .map(|d| {
                                    d.as_deref_mut().map(|d| &mut d[e * s.n + rows.start..e * s.n + rows.end])
                                })
                                .collect(),
                            right: others[..r]
                                .iter_mut()
                                .map(|d| d.as_deref_mut().map(|d| &mut d[of_entry(s.m)]))
                                .collect(),
                            params: of_params.clone(),
                        };
                        self.score.gradient(&part.tile(rows.clone(), s.m), pairs, upstream, &mut tile);
                        *of_params = tile.params;
                        let place = (e * s.n + rows.start) * s.width..(e * s.n + rows.end) * s.width;
                        let dx = dx[0].as_deref_mut().map(|d| &mut d[place]);
                        let dy = dy[0].as_deref_mut().map(|d| &mut d[of_entry(s.m * s.width)]);
                        pairings_gradient(self.score.pairing(), (x, part.y), s.width, upstream, dx, dy);
                    }
                }
            });
        });
        for (k, (_, grad)) in dparams.into_iter().enumerate() {
            if let Some(grad) = grad {
                let sum: f64 = jobs.iter().map(|(_, _, of_params)| of_params[k].unwrap_or(0.0)).sum();
                grad[0] = T::nearest(sum);
            }
        }
    }

    /// Through the scores, which it stores.
    #[track_caller]
    fn jvp<'t>(&self, inputs: &[Var<'t, T>], _: Var<'t, T>, tangents: &[Option<Var<'t, T>>]) -> Var<'t, T> {
        let tape = inputs[0].tape();
        let (scored, values) = split(inputs);
        let mut scores = tape.operation(self.score.operation(), scored);
        if self.causal {
            let shape = scores.shape();
            let (n, m) = (shape[shape.axes().len() - 2], shape.width());
            let mask = tape.constant_with([n, m], |mask| {
                for (i, row) in mask.chunks_exact_mut(m).enumerate() {
                    for (j, x) in row.iter_mut().enumerate() {
                        *x = T::constant(f64::from(j + n >= i + 1 + m));
                    }
                }
            });
            scores = scores.masked_fill(mask, f64::NEG_INFINITY);
        }
        let stored = scores.softmax(-1).matmul(*values);
        let given: SmallVec<[(Var<'t, T>, Var<'t, T>); 6]> =
            inputs.iter().zip(tangents).filter_map(|(x, tangent)| tangent.map(|t| (*x, t))).collect();
        tape.jvp(stored, &given)
    }
}

/// Softmax of rows of scores, in place, and the logarithms of the denominators (with the maximum).
#[inline(always)]
fn softmax<T: Float>(scores: &mut [T], m: usize, logs: &mut [T]) {
    for (row, log) in scores.chunks_exact_mut(m).zip(logs) {
        let max = line_max(row);
        if max.to_f64() == f64::NEG_INFINITY {
            // Nothing is attended to.
            row.fill(T::zero());
            *log = T::nearest(f64::INFINITY);
            continue;
        }
        let lanes = Lanes::splat(max);
        for x in row.chunks_mut(8) {
            (load(x, 0.0) - lanes).exp().store(x);
        }
        let sum = line_sum(
            row,
            #[inline(always)]
            |x| x.widen(),
        );
        let scale = Lanes::splat(T::nearest(1.0 / sum));
        for x in row.chunks_mut(8) {
            (load(x, 0.0) * scale).store(x);
        }
        *log = T::nearest(max.to_f64() + sum.ln());
    }
}

/// Softmax again, from the logarithms of the denominators.
#[inline(always)]
fn softmax_again<T: Float>(scores: &mut [T], m: usize, logs: &[T]) {
    for (row, log) in scores.chunks_exact_mut(m).zip(logs) {
        let log = Lanes::splat(*log);
        for x in row.chunks_mut(8) {
            (load(x, 0.0) - log).exp().store(x);
        }
    }
}

/// With P the softmax and U the gradient of P: the gradient of the scores, `P ∘ (U − ⟨g, out⟩)`, written to U.
#[inline(always)]
fn scores_gradient<T: Float>(p: &[T], u: &mut [T], g: &[T], out: &[T], m: usize, width: usize) {
    let rows = p.chunks_exact(m).zip(u.chunks_exact_mut(m));
    for ((p, u), (g, out)) in rows.zip(g.chunks_exact(width).zip(out.chunks_exact(width))) {
        let mut dot = Lanes::splat(0.0);
        for (g, out) in g.chunks(8).zip(out.chunks(8)) {
            dot = dot + (load(g, 0.0) * load(out, 0.0)).widen();
        }
        let dot = Lanes::splat(T::nearest(dot.sum()));
        for (p, u) in p.chunks(8).zip(u.chunks_mut(8)) {
            (load(p, 0.0) * (load(u, 0.0) - dot)).store(u);
        }
    }
}

//! The `gram` kernel: row formulas.
//!
//! Every operation of geometry is a [`RowFormula`], and this kernel runs them all:
//!
//! 1. per row, the inner products (one read of the inputs, accumulated in `f64`);
//! 2. the scalar formula;
//! 3. the linear combination (one write), or the scalar itself.
//!
//! Rows go through the formula several at a time, one in each lane: their coordinates are packed into panels,
//! coordinate by coordinate, and from there on all is vector arithmetic.
//!
//! The reverse pass runs the same formula on [`Dual`] numbers. With upstream cotangent `g`, coefficient
//! `a_b` has cotangent `⟨g, v_b⟩`, the formula's Jacobian gives the cotangents `w` of the invariants, and
//! the basis vector `v_b` receives `a_b g + Σ w ∂⟨v_b, v_c⟩/∂v_b`. Nothing is derived by hand.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::domain::{Compensated, margin_of};
use crate::kernels::pieces::{Place, for_each_piece};
use crate::lanes::array;
use crate::parallel::{self, PIECES, split_front};
use crate::row_formula::{Invariant, Metric, RowFormula, Vector};
use crate::shape::Broadcast;
use crate::simd::dispatch;
use crate::{Domain, Dual, Float, Lanes};

/// Rows side by side. Four `f64` are one AVX2 register; with eight, dual numbers spill.
const ROWS: usize = 4;

/// Coordinates packed at a time: narrower rows are packed once for all passes, and the panels stay in L1.
const PANEL: usize = 64;

/// Some coordinates of `R` rows.
type Panel<const R: usize> = [Lanes<R>; PANEL];

/// Panels of the inputs, and one for what is written.
struct Scratch<const V: usize, const R: usize> {
    inputs: [Panel<R>; V],
    output: Panel<R>,
}

impl<const V: usize, const R: usize> Scratch<V, R> {
    #[inline(always)]
    fn new() -> Self {
        Scratch { inputs: [[Lanes::splat(0.0); PANEL]; V], output: [Lanes::splat(0.0); PANEL] }
    }

    /// Packs the coordinates `start..end` of every input.
    #[inline(always)]
    fn pack<T: Float>(&mut self, rows: &[[&[T]; R]; V], start: usize, end: usize) {
        for i in 0..V {
            pack(&rows[i], start, end, &mut self.inputs[i]);
        }
    }
}

#[inline(always)]
fn pack<T: Float, const R: usize>(rows: &[&[T]; R], start: usize, end: usize, panel: &mut Panel<R>) {
    if rows.iter().all(|row| std::ptr::eq(*row, rows[0])) {
        for (lanes, x) in panel.iter_mut().zip(&rows[0][start..end]) {
            *lanes = Lanes::splat(x.to_f64());
        }
    } else {
        for l in 0..R {
            for (lanes, x) in panel.iter_mut().zip(&rows[l][start..end]) {
                lanes.set(l, x.to_f64());
            }
        }
    }
}

/// The panels' ranges of coordinates.
#[inline(always)]
fn panels(width: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..width).step_by(PANEL).map(move |start| (start, width.min(start + PANEL)))
}

/// The basis vectors at coordinate `c` of the panels; `time` if that is the first coordinate of all.
#[inline(always)]
fn basis<F, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    inputs: &[Panel<R>; V],
    c: usize,
    time: bool,
) -> [Lanes<R>; B]
where
    F: RowFormula<V, B, I, O>,
{
    let mut basis = [Lanes::splat(0.0); B];
    for b in 0..B {
        basis[b] = match F::BASIS[b] {
            Vector::Input(i) => inputs[i][c],
            Vector::Sum(i, j) => inputs[i][c] + inputs[j][c],
            Vector::Difference(i, j) => inputs[i][c] - inputs[j][c],
            Vector::Flip(i) => flip_time(inputs[i][c], time),
            Vector::Time => Lanes::splat(if time { 1.0 } else { 0.0 }),
        };
    }
    basis
}

#[inline(always)]
fn flip_time<const R: usize>(x: Lanes<R>, time: bool) -> Lanes<R> {
    if time { -x } else { x }
}

#[inline(always)]
fn lower<const R: usize>(metric: Metric, x: Lanes<R>, time: bool) -> Lanes<R> {
    match metric {
        Metric::Euclidean => x,
        Metric::Minkowski => flip_time(x, time),
        Metric::Space => {
            if time {
                Lanes::splat(0.0)
            } else {
                x
            }
        }
    }
}

/// Parameters of one row: formulas have at most this many.
const PARAMS: usize = 4;

/// The formula's arguments for some rows, and the squared norms behind its margins. Leaves the last panels
/// of the inputs packed.
#[inline(always)]
fn invariants<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &[[&[T]; R]; V],
    params: &[Lanes<R>; PARAMS],
    width: usize,
    scratch: &mut Scratch<V, R>,
) -> ([Lanes<R>; I], [Lanes<R>; I])
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut dots = [Lanes::splat(0.0); I];
    let mut squares = [Compensated::default(); I];
    for (start, end) in panels(width) {
        scratch.pack(rows, start, end);
        for c in 0..end - start {
            let time = start + c == 0;
            let basis = basis::<F, V, B, I, O, R>(&scratch.inputs, c, time);
            for k in 0..I {
                match F::INVARIANTS[k] {
                    Invariant::Dot(a, b) => dots[k] = dots[k] + basis[a] * lower(F::METRIC, basis[b], time),
                    Invariant::Margin(a) => squares[k].add_square::<T>(basis[a]),
                    Invariant::Param(_) | Invariant::Epsilon => {}
                }
            }
        }
    }
    let mut norms = [Lanes::splat(0.0); I];
    for k in 0..I {
        match F::INVARIANTS[k] {
            Invariant::Dot(..) => {}
            Invariant::Margin(_) => {
                norms[k] = squares[k].sum;
                dots[k] = margin_of(squares[k], params[0]);
            }
            Invariant::Param(p) => dots[k] = params[p],
            Invariant::Epsilon => dots[k] = Lanes::splat(T::EPSILON),
        }
    }
    (dots, norms)
}

/// An operand of the kernel: rows of a vector input (of the kernel's width) or of a parameter (width 1).
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: Broadcast,
    /// A parameter that is a constant of full precision.
    pub(crate) constant: Option<f64>,
}

impl<'a, T: Float> Operand<'a, T> {
    #[inline(always)]
    fn row(&self, p: usize, width: usize) -> &'a [T] {
        let i = self.rows.at(p);
        &self.data[i * width..(i + 1) * width]
    }

    #[inline(always)]
    fn param(&self, p: usize) -> f64 {
        self.constant.unwrap_or_else(|| self.data[self.rows.at(p)].to_f64())
    }
}

/// The positions of some rows: `p`, `p + 1`, … as long as they are below `end`, then the last one again.
#[inline(always)]
fn positions<const R: usize>(p: usize, end: usize) -> [usize; R] {
    array(0, |l| (p + l).min(end - 1))
}

/// The operand row that all of some consecutive positions read, if it is held over them.
#[inline(always)]
fn shared_row<const R: usize>(rows: Broadcast, at: [usize; R]) -> Option<usize> {
    if rows.repeat < R && rows.len > 1 {
        return None;
    }
    let first = rows.at(at[0]);
    (first == rows.at(at[R - 1])).then_some(first)
}

#[inline(always)]
fn rows_at<'a, T: Float, const V: usize, const R: usize>(
    vectors: &[Operand<'a, T>],
    at: [usize; R],
    width: usize,
) -> [[&'a [T]; R]; V] {
    let mut rows = [[[].as_slice(); R]; V];
    for i in 0..V {
        if let Some(shared) = shared_row(vectors[i].rows, at) {
            rows[i] = [&vectors[i].data[shared * width..(shared + 1) * width]; R];
            continue;
        }
        for l in 0..R {
            rows[i][l] = vectors[i].row(at[l], width);
        }
    }
    rows
}

#[inline(always)]
fn params_at<T: Float, const R: usize>(parameters: &[Operand<'_, T>], at: [usize; R]) -> [Lanes<R>; PARAMS] {
    let mut params = [Lanes::splat(0.0); PARAMS];
    for (param, operand) in params.iter_mut().zip(parameters) {
        *param = Lanes::from(array(0.0, |l| operand.param(at[l])));
    }
    params
}

/// Some rows through a formula: `out` holds as many results as rows are wanted, at most `R`.
#[inline(always)]
fn forward_rows<F, T, U, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &[[&[T]; R]; V],
    params: &[Lanes<R>; PARAMS],
    width: usize,
    scratch: &mut Scratch<V, R>,
    out: &mut [U],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    U: Float,
{
    let (values, _) = invariants::<F, T, V, B, I, O, R>(rows, params, width, scratch);
    let outputs = F::eval(values);
    if !F::VECTOR {
        for (l, y) in out.iter_mut().enumerate() {
            *y = U::nearest(outputs[0].get(l));
        }
        return;
    }
    let mut squares = Compensated::default();
    for (start, end) in panels(width) {
        if width > PANEL {
            scratch.pack(rows, start, end);
        }
        for c in 0..end - start {
            let basis = basis::<F, V, B, I, O, R>(&scratch.inputs, c, start + c == 0);
            let mut y = Lanes::splat(0.0);
            for b in 0..B {
                y = y + outputs[b] * basis[b];
            }
            let y = Lanes::from(array(0.0, |l| U::nearest(y.get(l)).to_f64()));
            if F::DOMAIN == Domain::Ball {
                squares.add_square::<U>(y);
            }
            scratch.output[c] = y;
        }
        for (l, row) in out.chunks_exact_mut(width).enumerate() {
            for (x, y) in row[start..end].iter_mut().zip(&scratch.output) {
                *x = U::nearest(y.get(l));
            }
        }
    }
    // Only what rounding has put off its domain is settled.
    let margins = margin_of(squares, params[0]);
    for (l, row) in out.chunks_exact_mut(width).enumerate() {
        let settled = match F::DOMAIN {
            Domain::Free => true,
            Domain::Ball => margins.get(l) > 0.0,
            Domain::Hyperboloid => false,
        };
        if !settled {
            F::DOMAIN.settle(row, params[0].get(l));
        }
    }
}

/// A formula over `n` row positions: `width` elements each for a vector formula, one for a scalar one.
/// Parameters and results may have another element type than the vectors.
pub(crate) fn forward<F, T, P, U, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Operand<'_, P>],
    width: usize,
    out: &mut [U],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    P: Float,
    U: Float,
{
    let out_width = if F::VECTOR { width } else { 1 };
    let n = out.len() / out_width;
    let mut rest = out;
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(n, ROWS, 15 + width)
        .into_iter()
        .map(|range| (range.clone(), split_front(&mut rest, range.len() * out_width)))
        .collect();
    parallel::run(&mut jobs, |(range, out)| {
        dispatch(
            #[inline(always)]
            || {
                let mut scratch = Scratch::new();
                for (p, out) in range.clone().step_by(ROWS).zip(out.chunks_mut(ROWS * out_width)) {
                    let at: [usize; ROWS] = positions(p, range.end);
                    let rows = rows_at(vectors, at, width);
                    let params = params_at(parameters, at);
                    forward_rows::<F, T, U, V, B, I, O, ROWS>(&rows, &params, width, &mut scratch, out);
                }
            },
        );
    });
}

/// A formula on one row: the same bits as among many.
#[inline]
pub(crate) fn forward_one<F, T, U, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: [&[T]; V],
    params: &[f64],
    out: &mut [U],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    U: Float,
{
    dispatch(
        #[inline(always)]
        || {
            let mut all = [Lanes::splat(0.0); PARAMS];
            for (lanes, &param) in all.iter_mut().zip(params) {
                *lanes = Lanes::splat(param);
            }
            let mut one = [[[].as_slice()]; V];
            for i in 0..V {
                one[i] = [rows[i]];
            }
            let width = rows[0].len();
            forward_rows::<F, T, U, V, B, I, O, 1>(&one, &all, width, &mut Scratch::new(), out);
        },
    );
}

/// A row formula with its type erased, so that a tape can hold it: vector operands first, then parameters.
pub(crate) trait RowKernel<T: Float>: Send + Sync {
    fn name(&self) -> &'static str;
    /// Writes one row per position: `width` elements each for a vector formula, one for a scalar one.
    fn forward(&self, operands: &[Operand<'_, T>], width: usize, out: &mut [T]);
    /// Writes the gradient of every operand that has a place for it.
    fn backward(&self, operands: &[Operand<'_, T>], width: usize, g: &[T], grads: &mut [Option<&mut [T]>]);
}

pub(crate) struct Erased<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    PhantomData<fn() -> F>,
);

impl<F, const V: usize, const B: usize, const I: usize, const O: usize> Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
{
    const VALUE: Self = Erased(PhantomData);

    pub(crate) fn kernel<T: Float>() -> &'static dyn RowKernel<T> {
        const {
            assert!(
                O == if F::VECTOR { B } else { 1 },
                "a vector formula has one coefficient per basis vector"
            )
        };
        &Self::VALUE
    }
}

impl<F, T, const V: usize, const B: usize, const I: usize, const O: usize> RowKernel<T>
    for Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn forward(&self, operands: &[Operand<'_, T>], width: usize, out: &mut [T]) {
        let (vectors, parameters) = operands.split_at(V);
        forward::<F, T, T, T, V, B, I, O>(vectors, parameters, width, out);
    }

    fn backward(&self, operands: &[Operand<'_, T>], width: usize, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let g_width = if F::VECTOR { width } else { 1 };
        let n = g.len() / g_width;
        let reads: SmallVec<[(Broadcast, usize); 6]> =
            operands.iter().enumerate().map(|(i, o)| (o.rows, if i < V { width } else { 1 })).collect();
        for_each_piece(&reads, n, 40 + 3 * width, grads, |piece| {
            let (range, places) = (piece.range.clone(), &mut piece.places);
            dispatch(
                #[inline(always)]
                || {
                    let mut scratch = Scratch::new();
                    let mut upstream = [Lanes::splat(0.0); PANEL];
                    for p in range.clone().step_by(ROWS) {
                        backward_rows::<F, T, V, B, I, O, ROWS>(
                            operands,
                            places,
                            width,
                            p..range.end.min(p + ROWS),
                            g,
                            (&mut scratch, &mut upstream),
                        );
                    }
                },
            );
        });
    }
}

/// The reverse pass of some rows.
#[inline(always)]
fn backward_rows<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    operands: &[Operand<'_, T>],
    places: &mut [Place<'_, T>],
    width: usize,
    range: std::ops::Range<usize>,
    g: &[T],
    (scratch, g_panel): (&mut Scratch<V, R>, &mut Panel<R>),
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let g_width = if F::VECTOR { width } else { 1 };
    let n = g.len() / g_width;
    let (vectors, parameters) = operands.split_at(V);
    let at: [usize; R] = positions(range.start, range.end);
    let rows = rows_at::<T, V, R>(vectors, at, width);
    let g: [&[T]; R] = array([].as_slice(), |l| &g[at[l] * g_width..(at[l] + 1) * g_width]);
    let params = params_at(parameters, at);
    let (values, norms) = invariants::<F, T, V, B, I, O, R>(&rows, &params, width, scratch);
    let outputs = F::eval(Dual::variables(values));

    // Cotangents of the outputs.
    let mut upstream = [Lanes::splat(0.0); O];
    if F::VECTOR {
        for (start, end) in panels(width) {
            if width > PANEL {
                scratch.pack(&rows, start, end);
            }
            pack(&g, start, end, g_panel);
            for c in 0..end - start {
                let basis = basis::<F, V, B, I, O, R>(&scratch.inputs, c, start + c == 0);
                for b in 0..O {
                    upstream[b] = upstream[b] + basis[b] * g_panel[c];
                }
            }
        }
    } else {
        upstream[0] = Lanes::from(array(0.0, |l| g[l][0].to_f64()));
    }

    // Cotangents of the invariants, as a symmetric matrix over the basis and one number per parameter.
    let mut pairs = [[Lanes::splat(0.0); B]; B];
    let mut of_params = [Lanes::splat(0.0); PARAMS];
    for k in 0..I {
        let mut w = Lanes::splat(0.0);
        for o in 0..O {
            w = w + upstream[o] * outputs[o].partials[k];
        }
        match F::INVARIANTS[k] {
            Invariant::Dot(a, b) => {
                pairs[a][b] = pairs[a][b] + w;
                pairs[b][a] = pairs[b][a] + w;
            }
            Invariant::Margin(a) => {
                pairs[a][a] = pairs[a][a] + Lanes::splat(2.0) * params[0] * w;
                of_params[0] = of_params[0] + w * norms[k];
            }
            Invariant::Param(p) => of_params[p] = of_params[p] + w,
            Invariant::Epsilon => {}
        }
    }

    for (start, end) in panels(width) {
        if width > PANEL {
            scratch.pack(&rows, start, end);
            if F::VECTOR {
                pack(&g, start, end, g_panel);
            }
        }
        for i in 0..V {
            if matches!(places[i], Place::Unwanted) {
                continue;
            }
            for c in 0..end - start {
                let time = start + c == 0;
                let basis = basis::<F, V, B, I, O, R>(&scratch.inputs, c, time);
                let mut sum = Lanes::splat(0.0);
                for b in 0..B {
                    let sign = share(F::BASIS[b], i);
                    if sign == 0 {
                        continue;
                    }
                    // The cotangent of basis vector b.
                    let mut y = Lanes::splat(0.0);
                    for a in 0..B {
                        if paired(&F::INVARIANTS, a, b) {
                            y = y + pairs[b][a] * basis[a];
                        }
                    }
                    y = lower(F::METRIC, y, time);
                    if F::VECTOR {
                        y = y + outputs[b].value * g_panel[c];
                    }
                    if matches!(F::BASIS[b], Vector::Flip(_)) {
                        y = flip_time(y, time);
                    }
                    sum = if sign > 0 { sum + y } else { sum - y };
                }
                scratch.output[c] = sum;
            }
            let full = vectors[i].rows.is_full(n);
            if let Some(row) = shared_row(vectors[i].rows, at).filter(|_| range.len() == R) {
                // One row takes the sum over the lanes.
                let Some(row) = places[i].at(row, width) else { continue };
                for (x, y) in row[start..end].iter_mut().zip(&scratch.output) {
                    let before = if full { 0.0 } else { x.to_f64() };
                    *x = T::nearest(before + y.sum());
                }
                continue;
            }
            for (l, p) in range.clone().enumerate() {
                let Some(row) = places[i].at(vectors[i].rows.at(p), width) else { continue };
                for (x, y) in row[start..end].iter_mut().zip(&scratch.output) {
                    let before = if full { 0.0 } else { x.to_f64() };
                    *x = T::nearest(before + y.get(l));
                }
            }
        }
    }
    for (q, parameter) in parameters.iter().enumerate() {
        let full = parameter.rows.is_full(n);
        for (l, p) in range.clone().enumerate() {
            let Some([element]) = places[V + q].at(parameter.rows.at(p), 1) else { continue };
            let before = if full { 0.0 } else { element.to_f64() };
            *element = T::nearest(before + of_params[q].get(l));
        }
    }
}

/// How often input `i` is in a basis vector, with its sign.
#[inline(always)]
const fn share(vector: Vector, i: usize) -> i32 {
    match vector {
        Vector::Input(j) | Vector::Flip(j) => (i == j) as i32,
        Vector::Sum(j, k) => (i == j) as i32 + (i == k) as i32,
        Vector::Difference(j, k) => (i == j) as i32 - (i == k) as i32,
        Vector::Time => 0,
    }
}

/// Whether some invariant is of the basis vectors `a` and `b`.
#[inline(always)]
const fn paired(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        match invariants[k] {
            Invariant::Dot(c, d) if (a == c && b == d) || (a == d && b == c) => return true,
            Invariant::Margin(c) if a == c && b == c => return true,
            _ => {}
        }
        k += 1;
    }
    false
}

//! The `gram` kernel: row formulas.
//!
//! Every operation of geometry is a [`RowFormula`], and this kernel runs them all:
//!
//! 1. per row, the inner products (one read of the inputs, accumulated in `f64`);
//! 2. the scalar formula;
//! 3. the linear combination (one write), or the scalar itself.
//!
//! The first and the last are vector arithmetic along the coordinates of a row; the formula is evaluated for several
//! rows at a time, one in each lane.
//!
//! The reverse pass runs the same formula on [`Dual`] numbers. With upstream cotangent `g`, coefficient
//! `a_b` has cotangent `⟨g, v_b⟩`, the formula's Jacobian gives the cotangents `w` of the invariants, and
//! the basis vector `v_b` receives `a_b g + Σ w ∂⟨v_b, v_c⟩/∂v_b`. Nothing is derived by hand.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::domain::Compensated;
use crate::float::Floats;
use crate::kernels::derivative;
use crate::kernels::operands::{Operand, Operands, PARAMS, Parameter, Results, row_shape};
use crate::kernels::pieces::{Piece, Place, for_each_piece};
use crate::kernels::reduce::pairwise;
use crate::kernels::wedge::Wedge;
use crate::lanes::array;
use crate::operation::{Operation, Outcome, View};
use crate::parallel::{self, PIECES};
use crate::row_formula::{Invariant, Metric, RowFormula, Vector};
use crate::shape::Broadcast;
use crate::simd::{Avx2, Avx512, Block, LANES, dispatch_wide};
use crate::{Domain, Dual, Float, Lanes, Scalar, Shape, Var};

/// Rows whose formula is evaluated side by side. Four `f64` are one AVX2 register; with eight, dual numbers spill.
const ROWS: usize = 4;

/// `LANES` coordinates from element `at` on, of which the row has `left`; zeros beyond, put together in `end`.
#[inline(always)]
pub(super) fn read<T: Float, S: Block>(data: &[T], at: usize, left: usize, end: &mut [T; LANES]) -> S {
    let data = &data[at..];
    S::load(match data.first_chunk::<LANES>() {
        Some(block) if left >= LANES => block,
        _ => fill(&data[..left.min(LANES)], end),
    })
}

#[cold]
#[inline(never)]
fn fill<'a, T: Float>(data: &[T], end: &'a mut [T; LANES]) -> &'a [T; LANES] {
    *end = [T::zero(); LANES];
    end[..data.len()].copy_from_slice(data);
    end
}

/// Writes a block of a row's coordinates, `left` of them in the row. What is written beyond is overwritten by the
/// next row.
#[inline(always)]
fn write<T: Float, S: Block>(out: &mut [T], at: usize, left: usize, block: S) {
    let out = &mut out[at..];
    match out.first_chunk_mut::<LANES>() {
        Some(out) => block.store(out),
        None => block.lanes().narrow::<T>().store(&mut out[..left]),
    }
}

/// Adds a block of a row's coordinates, `left` of them in the row.
#[inline(always)]
fn add<T: Float, S: Block>(out: &mut [T], at: usize, left: usize, block: S) {
    let out = &mut out[at..];
    match out.first_chunk_mut::<LANES>() {
        Some(out) if left >= LANES => (S::load(out) + block).store(out),
        _ => add_part(&mut out[..left.min(LANES)], block.lanes()),
    }
}

#[cold]
#[inline(never)]
fn add_part<T: Float>(out: &mut [T], block: Lanes<LANES>) {
    for (l, x) in out.iter_mut().enumerate() {
        *x = T::nearest(x.to_f64() + block.get(l));
    }
}

/// Blocks with a 1 in one lane, and without.
static UNITS: [[f64; LANES]; LANES + 1] = {
    let mut units = [[0.0; LANES]; LANES + 1];
    let mut l = 0;
    while l < LANES {
        units[l][l] = 1.0;
        l += 1;
    }
    units
};

/// The coordinates from `c` on of the unit vector of a coordinate.
#[inline(always)]
fn unit<S: Block>(coordinate: usize, c: usize) -> S {
    S::load(&UNITS[coordinate.wrapping_sub(c).min(LANES)])
}

/// The coordinates from `c` on without one of them.
#[inline(always)]
fn without<S: Block>(x: S, coordinate: usize, c: usize) -> S {
    x * (S::splat(1.0) - unit(coordinate, c))
}

/// The first coordinate, which is time, negated.
#[inline(always)]
fn flip<S: Block>(x: S, c: usize) -> S {
    let time = unit::<S>(0, c);
    x * (S::splat(1.0) - (time + time))
}

/// The coordinates from `c` on with their index lowered by the metric.
#[inline(always)]
fn lower<S: Block>(metric: Metric, x: S, c: usize) -> S {
    match metric {
        // The basis is horizontal itself.
        Metric::Euclidean | Metric::Horizontal => x,
        Metric::Minkowski => flip(x, c),
        Metric::Space => without(x, 0, c),
    }
}

/// Some consecutive coordinates of all basis vectors of one row.
#[inline(always)]
fn basis<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    starts: &[usize; V],
    c: usize,
    width: usize,
    ends: &mut [[T; LANES]; V],
) -> [S; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut inputs = [S::splat(0.0); V];
    for i in 0..V {
        inputs[i] = read(vectors[i].data, starts[i] + c, width - c, &mut ends[i]);
    }
    if F::METRIC == Metric::Horizontal {
        for i in 0..V {
            inputs[i] = without(inputs[i], width - 1, c);
        }
    }
    let mut basis = [S::splat(0.0); B];
    for b in 0..B {
        basis[b] = match F::BASIS[b] {
            Vector::Input(i) => inputs[i],
            Vector::Sum(i, j) => inputs[i] + inputs[j],
            Vector::Difference(i, j) => inputs[i] - inputs[j],
            Vector::Flip(i) => flip(inputs[i], c),
            Vector::Time => unit(0, c),
            Vector::Height => unit(width - 1, c),
        };
    }
    basis
}

/// Where the vectors of a row position start.
#[inline(always)]
fn starts<T: Float, const V: usize>(vectors: &[Operand<'_, T>], p: usize, width: usize) -> [usize; V] {
    let mut starts = [0; V];
    for i in 0..V {
        starts[i] = vectors[i].rows.at(p) * width;
    }
    starts
}

/// What some rows are to a formula, one in each lane.
struct Rows<const I: usize, const O: usize, const R: usize> {
    /// The arguments of the formula.
    values: [Lanes<R>; I],
    /// What their derivatives are made of: the squared norm behind a margin, the norm behind a component, the
    /// products behind a wedge.
    products: [[Lanes<R>; 4]; I],
    /// The inner products of the basis vectors with the upstream cotangent, if there is one.
    upstream: [Lanes<R>; O],
    params: [Lanes<R>; PARAMS],
}

/// Reads the rows at positions `at`.
#[inline(always)]
fn survey<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    at: std::ops::Range<usize>,
    g: Option<&[T]>,
) -> Rows<I, O, R>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut rows = Rows {
        values: [Lanes::splat(0.0); I],
        products: [[Lanes::splat(0.0); 4]; I],
        upstream: [Lanes::splat(0.0); O],
        params: [Lanes::splat(0.0); PARAMS],
    };
    for (param, parameter) in rows.params.iter_mut().zip(parameters) {
        for l in 0..R {
            param.set(l, parameter.at((at.start + l).min(at.end - 1)));
        }
    }
    let (mut ends, mut end) = ([[T::zero(); LANES]; V], [T::zero(); LANES]);
    for (l, p) in at.clone().enumerate() {
        let starts = starts::<T, V>(vectors, p, width);
        let units = units::<F, T, S, V, B, I, O>(vectors, &starts, width, &mut ends);
        let mut dots = [S::splat(0.0); I];
        let mut norms = [S::splat(0.0); I];
        let mut accurate = [Compensated::<S>::default(); I];
        let mut products = [S::splat(0.0); O];
        for c in (0..width).step_by(LANES) {
            let basis = basis::<F, T, S, V, B, I, O>(vectors, &starts, c, width, &mut ends);
            for k in 0..I {
                match F::INVARIANTS[k] {
                    Invariant::Dot(a, b) => {
                        dots[k] = dots[k] + basis[a] * lower(F::METRIC, basis[b], c);
                    }
                    Invariant::Accurate(a, b) => {
                        accurate[k].add_product::<T>(basis[a], lower(F::METRIC, basis[b], c));
                    }
                    Invariant::Along(a, b) => {
                        let along = lower(F::METRIC, basis[b], c) / S::splat(units[b]);
                        dots[k] = dots[k] + basis[a] / S::splat(units[a]) * along;
                        norms[k] = norms[k] + along * along;
                    }
                    Invariant::Margin(a) => accurate[k].add_product::<T>(basis[a], basis[a]),
                    _ => {}
                }
            }
            if F::VECTOR
                && let Some(g) = g
            {
                let g: S = read(g, p * width + c, width - c, &mut end);
                for b in 0..O {
                    products[b] = products[b] + basis[b] * g;
                }
            }
        }
        for k in 0..I {
            let mut products = [0.0; 4];
            let value = match F::INVARIANTS[k] {
                Invariant::Dot(..) => pairwise(dots[k].lanes()),
                Invariant::Accurate(..) => accurate[k].total::<T>().value().get(0),
                Invariant::Along(a, b) => {
                    let norm = pairwise(norms[k].lanes()).sqrt();
                    products[0] = norm * units[b];
                    if norm > 0.0 { pairwise(dots[k].lanes()) / norm * units[a] } else { norm }
                }
                Invariant::Margin(_) => {
                    let square = accurate[k].total::<T>();
                    products[0] = square.sum.get(0);
                    square.margin(Lanes::splat(rows.params[0].get(l))).get(0)
                }
                Invariant::Wedge(a, b, c) => {
                    let mut row = [[].as_slice(); V];
                    for i in 0..V {
                        row[i] = &vectors[i].data[starts[i]..starts[i] + width];
                    }
                    let wedge = Wedge::of::<F, T, V, B, I, O>(row, [a, b, c]);
                    products = wedge.products;
                    wedge.value
                }
                Invariant::First(i) => vectors[i].data[starts[i]].to_f64(),
                Invariant::Last(i) => vectors[i].data[starts[i] + width - 1].to_f64(),
                Invariant::Param(q) => rows.params[q].get(l),
                Invariant::Epsilon => T::EPSILON,
            };
            rows.values[k].set(l, value);
            for i in 0..4 {
                rows.products[k][i].set(l, products[i]);
            }
        }
        if let Some(g) = g {
            for b in 0..O {
                let product = if F::VECTOR { pairwise(products[b].lanes()) } else { g[p].to_f64() };
                rows.upstream[b].set(l, product);
            }
        }
    }
    // Lanes without a row of their own compute the first one's again.
    for l in at.len()..R {
        for k in 0..I {
            rows.values[k].set(l, rows.values[k].get(0));
        }
    }
    rows
}

/// The largest coordinates of the basis vectors, where components are asked for: their squares may overflow.
#[inline(always)]
fn units<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    starts: &[usize; V],
    width: usize,
    ends: &mut [[T; LANES]; V],
) -> [f64; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let mut units = [f64::MIN_POSITIVE; B];
    if !const { asks_for_components(&F::INVARIANTS) } {
        return units;
    }
    let mut largest = [S::splat(0.0); B];
    for c in (0..width).step_by(LANES) {
        let basis = basis::<F, T, S, V, B, I, O>(vectors, starts, c, width, ends);
        for b in 0..B {
            largest[b] = largest[b].max_magnitude(lower(F::METRIC, basis[b], c));
        }
    }
    for b in 0..B {
        units[b] = largest[b].lanes().to_array().iter().fold(units[b], |unit, &x| unit.max(x.abs()));
    }
    units
}

/// The row positions `range` through a formula, `R` at a time.
#[inline(always)]
fn forward_rows<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: std::ops::Range<usize>,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    for p in range.clone().step_by(R) {
        let at = p..range.end.min(p + R);
        let rows: Rows<I, O, R> =
            survey::<F, T, S, V, B, I, O, R>(vectors, parameters, width, at.clone(), None);
        let outputs = F::eval(rows.values);
        for (l, p) in at.enumerate() {
            let first = p - range.start;
            match &mut out {
                Results::Scalars(out) => out.set(first, outputs[0].get(l)),
                Results::Rows(out) => {
                    let outputs = array(
                        0.0,
                        #[inline(always)]
                        |o| outputs[o].get(l),
                    );
                    let starts = starts::<T, V>(vectors, p, width);
                    let kappa = rows.params[0].get(l);
                    combine::<F, T, S, V, B, I, O>(
                        vectors,
                        &starts,
                        outputs,
                        kappa,
                        width,
                        &mut out[first * width..],
                    );
                }
            }
        }
    }
}

/// The linear combination of one row's basis, at the front of `out`.
#[inline(always)]
fn combine<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    starts: &[usize; V],
    outputs: [f64; O],
    kappa: f64,
    width: usize,
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    // A scalar formula has fewer outputs than basis vectors and never comes here.
    if !F::VECTOR {
        return;
    }
    let mut ends = [[T::zero(); LANES]; V];
    let mut squares = Compensated::<S>::default();
    for c in (0..width).step_by(LANES) {
        let basis = basis::<F, T, S, V, B, I, O>(vectors, starts, c, width, &mut ends);
        let mut y = S::splat(0.0);
        for b in 0..O {
            y = y + S::splat(outputs[b]) * basis[b];
        }
        if F::DOMAIN == Domain::Ball {
            let mut stored = [T::zero(); LANES];
            y.store(&mut stored);
            squares.add_square::<T>(S::load(&stored));
        }
        write(out, c, width - c, y);
    }
    // Only what rounding has put off its domain is settled.
    let settled = match F::DOMAIN {
        Domain::Free => true,
        Domain::Ball => squares.total::<T>().margin(Lanes::splat(kappa)).get(0) > 0.0,
        Domain::Hyperboloid | Domain::HalfSpace | Domain::Sphere => false,
    };
    if !settled {
        F::DOMAIN.settle(&mut out[..width], kappa);
    }
}

/// On the calling thread.
#[inline(never)]
fn forward_range<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: std::ops::Range<usize>,
    out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    dispatch_wide(
        (range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx512, V, B, I, O, ROWS>(vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, Avx2, V, B, I, O, ROWS>(vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| {
            forward_rows::<F, T, Lanes<LANES>, V, B, I, O, 1>(vectors, parameters, width, range, out)
        },
    );
}

/// A formula over all row positions: `width` elements each for a vector formula, one for a scalar one.
pub(crate) fn forward<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(out.len(width), ROWS, 15 + width)
        .into_iter()
        .map(|range| (range.clone(), Some(out.split_front(range.len(), width))))
        .collect();
    parallel::run(&mut jobs, |(range, out)| {
        let out = out.take().expect("once");
        forward_range::<F, T, V, B, I, O>(vectors, parameters, width, range.clone(), out);
    });
}

/// A formula on one row: the same bits as among many.
pub(crate) fn forward_one<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: [&[T]; V],
    params: &[f64],
    out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let one = Broadcast::cycled(1);
    let vectors = rows.map(|data| Operand { data, rows: one, constant: None });
    let mut parameters = [Parameter { data: Floats::F64(&[0.0]), rows: one, constant: None }; PARAMS];
    for (parameter, &value) in parameters.iter_mut().zip(params) {
        parameter.constant = Some(value);
    }
    let parameters = &parameters[..params.len()];
    forward_range::<F, T, V, B, I, O>(&vectors, parameters, rows[0].len(), 0..1, out);
}

/// A row formula as an operation: vector operands first, then parameters.
pub(crate) struct Erased<F, const V: usize, const B: usize, const I: usize, const O: usize>(
    PhantomData<fn() -> F>,
);

impl<F, const V: usize, const B: usize, const I: usize, const O: usize> Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
{
    const VALUE: Self = Erased(PhantomData);

    pub(crate) fn operation<T: Float>() -> &'static dyn Operation<T> {
        const {
            assert!(
                O == if F::VECTOR { B } else { 1 },
                "a vector formula has one coefficient per basis vector"
            )
        };
        &Self::VALUE
    }
}

impl<F, T, const V: usize, const B: usize, const I: usize, const O: usize> Operation<T>
    for Erased<F, V, B, I, O>
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn shape(&self, inputs: &[&Shape]) -> Result<Shape, String> {
        row_shape(inputs, |i| i < V, F::VECTOR)
    }

    fn forward(&self, inputs: &[View<'_, T>], out: &mut [T], _kept: &mut [T]) {
        let Operands { all, width } = Operands::of(inputs, |i| i < V);
        let (vectors, parameters) = all.split_at(V);
        let parameters: SmallVec<[Parameter<'_>; PARAMS]> =
            parameters.iter().map(Operand::parameter).collect();
        forward::<F, T, V, B, I, O>(vectors, &parameters, width, Results::new(out, F::VECTOR));
    }

    fn backward(
        &self,
        inputs: &[View<'_, T>],
        _outcome: Outcome<'_, T>,
        g: &[T],
        grads: &mut [Option<&mut [T]>],
    ) {
        let Operands { all: operands, width } = Operands::of(inputs, |i| i < V);
        let g_width = if F::VECTOR { width } else { 1 };
        let n = g.len() / g_width;
        let reads: SmallVec<[(Broadcast, usize); 6]> =
            operands.iter().enumerate().map(|(i, o)| (o.rows, if i < V { width } else { 1 })).collect();
        for_each_piece(&reads, n, 40 + 3 * width, grads, |piece| {
            dispatch_wide(
                piece,
                #[inline(always)]
                |piece| backward_piece::<F, T, Avx512, V, B, I, O, ROWS>(&operands, piece, width, g),
                #[inline(always)]
                |piece| backward_piece::<F, T, Avx2, V, B, I, O, ROWS>(&operands, piece, width, g),
                #[inline(always)]
                |piece| backward_piece::<F, T, Lanes<LANES>, V, B, I, O, 1>(&operands, piece, width, g),
            );
        });
    }

    #[track_caller]
    fn jvp<'t>(
        &self,
        inputs: &[Var<'t, T>],
        _out: Var<'t, T>,
        tangents: &[Option<Var<'t, T>>],
    ) -> Var<'t, T> {
        derivative::record::<F, T, V, B, I, O>(inputs, tangents)
    }
}

/// The reverse pass of a piece, `R` rows at a time.
#[inline(always)]
fn backward_piece<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    operands: &[Operand<'_, T>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let (vectors, parameters) = operands.split_at(V);
    let of_parameters: SmallVec<[Parameter<'_>; PARAMS]> =
        parameters.iter().map(Operand::parameter).collect();
    let n = if F::VECTOR { g.len() / width } else { g.len() };
    for p in piece.range.clone().step_by(R) {
        let at = p..piece.range.end.min(p + R);
        let rows: Rows<I, O, R> =
            survey::<F, T, S, V, B, I, O, R>(vectors, &of_parameters, width, at.clone(), Some(g));
        let (shares, of_params) = cotangents::<F, V, B, I, O, R>(&rows);
        for (l, p) in at.clone().enumerate() {
            distribute::<F, T, S, V, B, I, O, R>(vectors, &mut piece.places, &shares, (l, p), width, g);
        }
        for (q, parameter) in parameters.iter().enumerate() {
            let full = parameter.rows.is_full(n);
            for (l, p) in at.clone().enumerate() {
                let Some([element]) = piece.places[V + q].at(parameter.rows.at(p), 1) else { continue };
                let before = if full { 0.0 } else { element.to_f64() };
                *element = T::nearest(before + of_params[q].get(l));
            }
        }
    }
}

/// How the inputs' cotangents are made of the basis vectors and the upstream cotangent, a row in each lane; first
/// for most coordinates, then for the end that the formula treats apart.
struct Shares<const V: usize, const B: usize, const R: usize> {
    of_basis: [[[Lanes<R>; B]; V]; 2],
    of_upstream: [[Lanes<R>; V]; 2],
    /// What the first and the last coordinate receive besides.
    of_ends: [[Lanes<R>; V]; 2],
}

/// The shares of the inputs, and the cotangents of the parameters.
#[inline(always)]
fn cotangents<F, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &Rows<I, O, R>,
) -> (Shares<V, B, R>, [Lanes<R>; PARAMS])
where
    F: RowFormula<V, B, I, O>,
{
    let zero = Lanes::splat(0.0);
    let outputs = F::eval(Dual::variables(rows.values));
    // Cotangents of the invariants, as a symmetric matrix over the basis and one number per parameter.
    let mut pairs = [[zero; B]; B];
    let mut of_params = [zero; PARAMS];
    let mut shares =
        Shares { of_basis: [[[zero; B]; V]; 2], of_upstream: [[zero; V]; 2], of_ends: [[zero; V]; 2] };
    for k in 0..I {
        let mut w = zero;
        for o in 0..O {
            w = w + rows.upstream[o] * outputs[o].partials[k];
        }
        match F::INVARIANTS[k] {
            Invariant::Dot(a, b) | Invariant::Accurate(a, b) => {
                pairs[a][b] = pairs[a][b] + w;
                pairs[b][a] = pairs[b][a] + w;
            }
            Invariant::Margin(a) => {
                pairs[a][a] = pairs[a][a] + Lanes::splat(2.0) * rows.params[0] * w;
                of_params[0] = of_params[0] + w * rows.products[k][0];
            }
            Invariant::Along(a, b) => {
                // ∂(⟨a, b⟩/‖b‖) = (⟨∂a, b⟩ + ⟨a, ∂b⟩)/‖b‖ − (⟨a, b⟩/‖b‖) ⟨b, ∂b⟩/‖b‖².
                let norm = rows.products[k][0];
                let positive = zero.lt(norm);
                let per = Lanes::select(positive, w / norm, zero);
                let lost = Lanes::select(positive, per * (rows.values[k] / norm), zero);
                pairs[a][b] = pairs[a][b] + per;
                pairs[b][a] = pairs[b][a] + per;
                pairs[b][b] = pairs[b][b] - lost;
            }
            Invariant::Wedge(a, b, c) => {
                // The product rule on ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩.
                let [aa, ab, ac, bc] = rows.products[k];
                for (i, j, y) in [(a, a, bc), (b, c, aa), (a, b, -ac), (a, c, -ab)] {
                    pairs[i][j] = pairs[i][j] + w * y;
                    pairs[j][i] = pairs[j][i] + w * y;
                }
            }
            Invariant::First(i) => shares.of_ends[0][i] = shares.of_ends[0][i] + w,
            Invariant::Last(i) => shares.of_ends[1][i] = shares.of_ends[1][i] + w,
            Invariant::Param(p) => of_params[p] = of_params[p] + w,
            Invariant::Epsilon => {}
        }
    }
    for i in 0..V {
        for b in 0..B {
            let times = share(F::BASIS[b], i);
            if times == 0 {
                continue;
            }
            for apart in 0..2 {
                let sign = match (F::BASIS[b], F::METRIC) {
                    (_, Metric::Horizontal) if apart == 1 => continue,
                    (Vector::Flip(_), _) if apart == 1 => -times,
                    _ => times,
                };
                let share = Lanes::splat(f64::from(sign));
                let lowered = match F::METRIC {
                    Metric::Minkowski if apart == 1 => -share,
                    Metric::Space if apart == 1 => zero,
                    _ => share,
                };
                for a in 0..B {
                    if paired(&F::INVARIANTS, a, b) {
                        let of_basis = &mut shares.of_basis[apart][i][a];
                        *of_basis = *of_basis + lowered * pairs[b][a];
                    }
                }
                if F::VECTOR {
                    let of_upstream = &mut shares.of_upstream[apart][i];
                    *of_upstream = *of_upstream + share * outputs[b].value;
                }
            }
        }
    }
    (shares, of_params)
}

/// The cotangents of the inputs of row position `p`, in lane `l` of the shares.
#[inline(always)]
fn distribute<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    vectors: &[Operand<'_, T>],
    places: &mut [Place<'_, T>],
    shares: &Shares<V, B, R>,
    (l, p): (usize, usize),
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let starts = starts::<T, V>(vectors, p, width);
    let n = if F::VECTOR { g.len() / width } else { g.len() };
    let (mut ends, mut end) = ([[T::zero(); LANES]; V], [T::zero(); LANES]);
    for i in 0..V {
        let Some((slice, first)) = places[i].slice() else { continue };
        let slice = &mut slice[starts[i] - first * width..];
        let full = vectors[i].rows.is_full(n);
        let before = if full { [T::zero(); 2] } else { [slice[0], slice[width - 1]] };
        let mut of_basis = [S::splat(0.0); B];
        for a in 0..B {
            of_basis[a] = S::splat(shares.of_basis[0][i][a].get(l));
        }
        let of_upstream = S::splat(shares.of_upstream[0][i].get(l));
        for c in (0..width).step_by(LANES) {
            let left = width - c;
            let basis = basis::<F, T, S, V, B, I, O>(vectors, &starts, c, width, &mut ends);
            let mut y = S::splat(0.0);
            for a in 0..B {
                y = y + of_basis[a] * basis[a];
            }
            if F::VECTOR {
                y = y + of_upstream * read(g, p * width + c, left, &mut end);
            }
            if full { write(slice, c, left, y) } else { add(slice, c, left, y) }
        }
        if const { apart::<F, V, B, I, O>() } {
            for (which, at) in [0, width - 1].into_iter().enumerate() {
                let c = at / LANES * LANES;
                let basis = basis::<F, T, S, V, B, I, O>(vectors, &starts, c, width, &mut ends);
                let apart =
                    usize::from(if F::METRIC == Metric::Horizontal { at == width - 1 } else { at == 0 });
                let mut y = shares.of_ends[which][i].get(l);
                if width == 1 {
                    y += shares.of_ends[1 - which][i].get(l);
                }
                for a in 0..B {
                    y += shares.of_basis[apart][i][a].get(l) * basis[a].lanes().get(at - c);
                }
                if F::VECTOR {
                    y += shares.of_upstream[apart][i].get(l) * g[p * width + at].to_f64();
                }
                slice[at] = T::nearest(before[which].to_f64() + y);
            }
        }
    }
}

/// Whether a formula treats a coordinate at an end of the row apart.
const fn apart<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> bool
where
    F: RowFormula<V, B, I, O>,
{
    let mut apart = !matches!(F::METRIC, Metric::Euclidean);
    let mut b = 0;
    while b < B {
        apart |= matches!(F::BASIS[b], Vector::Flip(_));
        b += 1;
    }
    let mut k = 0;
    while k < I {
        apart |= matches!(F::INVARIANTS[k], Invariant::First(_) | Invariant::Last(_));
        k += 1;
    }
    apart
}

/// How often input `i` is in a basis vector, with its sign.
#[inline(always)]
const fn share(vector: Vector, i: usize) -> i32 {
    match vector {
        Vector::Input(j) | Vector::Flip(j) => (i == j) as i32,
        Vector::Sum(j, k) => (i == j) as i32 + (i == k) as i32,
        Vector::Difference(j, k) => (i == j) as i32 - (i == k) as i32,
        Vector::Time | Vector::Height => 0,
    }
}

const fn among(a: usize, [b, c, d]: [usize; 3]) -> bool {
    a == b || a == c || a == d
}

/// Whether some invariant is a component.
const fn asks_for_components(invariants: &[Invariant]) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        if matches!(invariants[k], Invariant::Along(..)) {
            return true;
        }
        k += 1;
    }
    false
}

/// Whether some invariant is of the basis vectors `a` and `b`.
#[inline(always)]
const fn paired(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        match invariants[k] {
            Invariant::Dot(c, d) | Invariant::Accurate(c, d) | Invariant::Along(c, d)
                if (a == c && b == d) || (a == d && b == c) =>
            {
                return true;
            }
            Invariant::Along(_, c) | Invariant::Margin(c) if a == c && b == c => return true,
            Invariant::Wedge(c, d, e) if among(a, [c, d, e]) && among(b, [c, d, e]) => return true,
            _ => {}
        }
        k += 1;
    }
    false
}

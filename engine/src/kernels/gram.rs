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
use crate::float::{Floats, FloatsMut};
use crate::kernels::derivative;
use crate::kernels::pieces::{Piece, Place, for_each_piece};
use crate::kernels::wedge::Wedge;
use crate::lanes::array;
use crate::operation::{Operation, Outcome, View, shapes};
use crate::parallel::{self, PIECES, split_front};
use crate::row_formula::{Invariant, Metric, RowFormula, Vector};
use crate::shape::Broadcast;
use crate::simd::dispatch_lanes;
use crate::{Domain, Dual, Float, Lanes, Shape, Var};

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
pub(crate) fn lower<const R: usize>(metric: Metric, x: Lanes<R>, time: bool) -> Lanes<R> {
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

/// The formula's arguments for some rows, and what their derivatives are made of: the squared norm behind a margin,
/// the products behind a wedge. Leaves the last panels of the inputs packed.
#[inline(always)]
fn invariants<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &[[&[T]; R]; V],
    params: &[Lanes<R>; PARAMS],
    width: usize,
    scratch: &mut Scratch<V, R>,
) -> ([Lanes<R>; I], [[Lanes<R>; 4]; I])
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
                    Invariant::Wedge(..) | Invariant::Param(_) | Invariant::Epsilon => {}
                }
            }
        }
    }
    let mut products = [[Lanes::splat(0.0); 4]; I];
    for k in 0..I {
        match F::INVARIANTS[k] {
            Invariant::Dot(..) => {}
            Invariant::Margin(_) => {
                products[k][0] = squares[k].sum;
                dots[k] = margin_of(squares[k], params[0]);
            }
            Invariant::Wedge(a, b, c) => {
                for l in 0..R {
                    let row = array([].as_slice(), |i| rows[i][l]);
                    let wedge = Wedge::of::<F, T, V, B, I, O>(row, [a, b, c]);
                    dots[k].set(l, wedge.value);
                    for i in 0..4 {
                        products[k][i].set(l, wedge.products[i]);
                    }
                }
            }
            Invariant::Param(p) => dots[k] = params[p],
            Invariant::Epsilon => dots[k] = Lanes::splat(T::EPSILON),
        }
    }
    (dots, products)
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
    pub(crate) fn row(&self, p: usize, width: usize) -> &'a [T] {
        let i = self.rows.at(p);
        &self.data[i * width..(i + 1) * width]
    }

    pub(crate) fn param(&self, p: usize) -> f64 {
        self.parameter().at(p)
    }

    fn parameter(&self) -> Parameter<'a> {
        Parameter { data: T::erase(self.data), rows: self.rows, constant: self.constant }
    }
}

/// A parameter of a row formula: its elements may be of another type than the vectors'.
#[derive(Clone, Copy)]
pub(crate) struct Parameter<'a> {
    pub(crate) data: Floats<'a>,
    pub(crate) rows: Broadcast,
    pub(crate) constant: Option<f64>,
}

impl Parameter<'_> {
    #[inline(always)]
    fn at(&self, p: usize) -> f64 {
        self.constant.unwrap_or_else(|| self.data.get(self.rows.at(p)))
    }
}

/// Where the results of a formula go.
pub(crate) enum Results<'a, T> {
    /// Rows of a vector formula.
    Rows(&'a mut [T]),
    /// Numbers of a scalar formula.
    Scalars(FloatsMut<'a>),
}

impl<'a, T: Float> Results<'a, T> {
    /// Results of a formula in the type of its vectors.
    fn new(out: &'a mut [T], vector: bool) -> Self {
        if vector { Results::Rows(out) } else { Results::Scalars(T::erase_mut(out)) }
    }

    fn len(&self, width: usize) -> usize {
        match self {
            Results::Rows(out) => out.len() / width,
            Results::Scalars(out) => out.len(),
        }
    }

    /// Takes the results of the first `n` rows off the front.
    fn split_front(&mut self, n: usize, width: usize) -> Self {
        match self {
            Results::Rows(out) => Results::Rows(split_front(out, n * width)),
            Results::Scalars(out) => Results::Scalars(out.split_front(n)),
        }
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
fn params_at<const R: usize>(parameters: &[Parameter<'_>], at: [usize; R]) -> [Lanes<R>; PARAMS] {
    let mut params = [Lanes::splat(0.0); PARAMS];
    for (param, parameter) in params.iter_mut().zip(parameters) {
        *param = Lanes::from(array(0.0, |l| parameter.at(at[l])));
    }
    params
}

/// The row positions `range` through a formula, `R` at a time.
#[inline(always)]
fn forward_rows<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    width: usize,
    range: std::ops::Range<usize>,
    mut out: Results<'_, T>,
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut scratch = Scratch::<V, R>::new();
    for p in range.clone().step_by(R) {
        let at: [usize; R] = positions(p, range.end);
        let rows = rows_at(vectors, at, width);
        let params = params_at(parameters, at);
        let (values, _) = invariants::<F, T, V, B, I, O, R>(&rows, &params, width, &mut scratch);
        let outputs = F::eval(values);
        let first = p - range.start;
        let count = R.min(range.end - p);
        match &mut out {
            Results::Scalars(out) => (0..count).for_each(|l| out.set(first + l, outputs[0].get(l))),
            Results::Rows(out) => {
                let out = &mut out[first * width..(first + count) * width];
                combine::<F, T, V, B, I, O, R>(&rows, outputs, &params, width, &mut scratch, out);
            }
        }
    }
}

/// The linear combinations of some rows.
#[inline(always)]
fn combine<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    rows: &[[&[T]; R]; V],
    outputs: [Lanes<R>; O],
    params: &[Lanes<R>; PARAMS],
    width: usize,
    scratch: &mut Scratch<V, R>,
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    // A scalar formula has fewer outputs than basis vectors and never comes here.
    if !F::VECTOR {
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
            for b in 0..O {
                y = y + outputs[b] * basis[b];
            }
            let y = Lanes::from(array(0.0, |l| T::nearest(y.get(l)).to_f64()));
            if F::DOMAIN == Domain::Ball {
                squares.add_square::<T>(y);
            }
            scratch.output[c] = y;
        }
        for (l, row) in out.chunks_exact_mut(width).enumerate() {
            for (x, y) in row[start..end].iter_mut().zip(&scratch.output) {
                *x = T::nearest(y.get(l));
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
    dispatch_lanes(
        (range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, V, B, I, O, ROWS>(vectors, parameters, width, range, out),
        #[inline(always)]
        |(range, out)| forward_rows::<F, T, V, B, I, O, 1>(vectors, parameters, width, range, out),
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

/// What a row formula reads.
pub(crate) struct Operands<'a, T> {
    pub(crate) all: SmallVec<[Operand<'a, T>; 6]>,
    pub(crate) width: usize,
}

/// The common leading axes of a row formula's operands, some of them vectors, the others parameters.
fn row_axes(inputs: &[&Shape], is_vector: impl Fn(usize) -> bool) -> Option<Shape> {
    let axes: SmallVec<[&[usize]; 6]> = inputs
        .iter()
        .enumerate()
        .map(|(k, s)| if is_vector(k) { &s[..s.axes().len().saturating_sub(1)] } else { s.axes() })
        .collect();
    Broadcast::common(&axes)
}

impl<'a, T: Float> Operands<'a, T> {
    pub(crate) fn of(views: &[View<'a, T>], is_vector: impl Fn(usize) -> bool) -> Self {
        let shapes = shapes(views);
        let checked = "shapes were checked when the node was made";
        let rows = row_axes(&shapes, &is_vector).expect(checked);
        let operand = |(k, view): (usize, &View<'a, T>)| {
            let own = if is_vector(k) { view.shape.rows() } else { view.shape.clone() };
            Operand {
                data: view.data,
                rows: Broadcast::new(&own, &rows).expect(checked),
                constant: view.constant,
            }
        };
        Operands { all: views.iter().enumerate().map(operand).collect(), width: views[0].shape.width() }
    }
}

/// The shape of a row formula's result: one number for each row, or one vector.
pub(crate) fn row_shape(
    inputs: &[&Shape],
    is_vector: impl Fn(usize) -> bool,
    vector_result: bool,
) -> Result<Shape, String> {
    let shapes = || inputs.iter().map(|s| s.to_string()).collect::<Vec<_>>().join(", ");
    let width = inputs[0].width();
    let fits = |(k, s): (usize, &&Shape)| !is_vector(k) || !s.axes().is_empty() && s.width() == width;
    if width == 0 || !inputs.iter().enumerate().all(fits) {
        return Err(format!("vectors of one width are needed, not {}", shapes()));
    }
    let rows = row_axes(inputs, is_vector)
        .ok_or_else(|| format!("the rows of shapes {} do not broadcast", shapes()))?;
    Ok(if vector_result { rows.with_width(width) } else { rows })
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
            dispatch_lanes(
                piece,
                #[inline(always)]
                |piece| backward_piece::<F, T, V, B, I, O, ROWS>(&operands, piece, width, g),
                #[inline(always)]
                |piece| backward_piece::<F, T, V, B, I, O, 1>(&operands, piece, width, g),
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
fn backward_piece<F, T, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    operands: &[Operand<'_, T>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let mut scratch = Scratch::<V, R>::new();
    let mut upstream = [Lanes::splat(0.0); PANEL];
    for p in piece.range.clone().step_by(R) {
        let rows = p..piece.range.end.min(p + R);
        let places = &mut piece.places;
        backward_rows::<F, T, V, B, I, O, R>(operands, places, width, rows, g, (&mut scratch, &mut upstream));
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
    let of_parameters: SmallVec<[Parameter<'_>; PARAMS]> =
        parameters.iter().map(Operand::parameter).collect();
    let params = params_at(&of_parameters, at);
    let (values, products) = invariants::<F, T, V, B, I, O, R>(&rows, &params, width, scratch);
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
                of_params[0] = of_params[0] + w * products[k][0];
            }
            Invariant::Wedge(a, b, c) => {
                // The product rule on ⟨a, a⟩⟨b, c⟩ − ⟨a, b⟩⟨a, c⟩.
                let [aa, ab, ac, bc] = products[k];
                for (i, j, y) in [(a, a, bc), (b, c, aa), (a, b, -ac), (a, c, -ab)] {
                    pairs[i][j] = pairs[i][j] + w * y;
                    pairs[j][i] = pairs[j][i] + w * y;
                }
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

#[inline(always)]
const fn among(a: usize, [b, c, d]: [usize; 3]) -> bool {
    a == b || a == c || a == d
}

/// Whether some invariant is of the basis vectors `a` and `b`.
#[inline(always)]
const fn paired(invariants: &[Invariant], a: usize, b: usize) -> bool {
    let mut k = 0;
    while k < invariants.len() {
        match invariants[k] {
            Invariant::Dot(c, d) if (a == c && b == d) || (a == d && b == c) => return true,
            Invariant::Margin(c) if a == c && b == c => return true,
            Invariant::Wedge(c, d, e) if among(a, [c, d, e]) && among(b, [c, d, e]) => return true,
            _ => {}
        }
        k += 1;
    }
    false
}

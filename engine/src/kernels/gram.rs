//! The `gram` kernel: row formulas.
//!
//! A function of k vectors that commutes with rotations is a combination of those vectors whose
//! coefficients depend on their inner products alone (first fundamental theorem of invariant theory for
//! O(n); O(1, n) with the Minkowski product). So an operation of hyperbolic, spherical or Euclidean
//! geometry is a small scalar function, written once as a [`RowFormula`], and this kernel runs them all:
//!
//! 1. per row, the inner products (one read of the inputs, accumulated in `f64`);
//! 2. the scalar formula;
//! 3. the linear combination (one write), or the scalar itself.
//!
//! The reverse pass runs the same formula on [`Dual`] numbers. With upstream cotangent `g`, coefficient
//! `a_b` has cotangent `⟨g, v_b⟩`, the formula's Jacobian gives the cotangents `w` of the invariants, and
//! the basis vector `v_b` receives `a_b g + Σ w ∂⟨v_b, v_c⟩/∂v_b`. Nothing is derived by hand.

use std::marker::PhantomData;

use smallvec::SmallVec;

use crate::domain::{Compensated, Domain, LANES, margin_of};
use crate::kernels::pieces::{Place, for_each_piece};
use crate::parallel::{self, PIECES, split_front};
use crate::shape::Broadcast;
use crate::simd::dispatch;
use crate::{Dual, Float, Scalar};

/// A basis vector of a row formula, from its input rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vector {
    /// Input `i`.
    Input(usize),
    /// The sum of inputs `i` and `j`.
    Sum(usize, usize),
    /// Input `i` minus input `j`, formed coordinate by coordinate: differences of nearby points keep
    /// their accuracy, and cotangents flow back through the difference.
    Difference(usize, usize),
    /// Input `i` with its first (time) coordinate negated.
    Flip(usize),
    /// The unit vector of the first (time) coordinate.
    Time,
}

/// What a row formula takes as an argument. Numbers are positions in its basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// The inner product of two basis vectors in the formula's metric.
    Dot(usize, usize),
    /// 1 + κ‖v‖² of a basis vector, with κ = parameter 0, accurate to an ulp near the boundary. Euclidean.
    Margin(usize),
    /// Parameter `p` of the row.
    Param(usize),
    /// The unit roundoff's double of the storage type: `T::EPSILON`.
    Epsilon,
}

/// The inner product that a formula's invariants are taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// `Σ xᵢ yᵢ`.
    Euclidean,
    /// `−x₀ y₀ + Σ xᵢ yᵢ`, the time coordinate first.
    Minkowski,
    /// `Σ xᵢ yᵢ` over the space coordinates: the time coordinate of a hyperboloid point, which they
    /// determine, is not read.
    Space,
}

/// An operation on rows as a function of their inner products.
///
/// `V` input vectors, `B` basis vectors, `I` invariants, `O` outputs: `O = 1` for a formula that returns a
/// number per row, `O = B` (one coefficient for each basis vector) for one that returns a vector.
///
/// ```
/// use cotangent_engine::{Invariant, Row, RowFormula, Rows, Scalar, Vector};
///
/// /// The reflection of y in the hyperplane orthogonal to x: y − 2⟨x, y⟩/⟨x, x⟩ x.
/// #[derive(Clone, Copy)]
/// struct Reflect;
///
/// impl RowFormula<2, 2, 2, 2> for Reflect {
///     const NAME: &'static str = "reflect";
///     const VECTOR: bool = true;
///     const BASIS: [Vector; 2] = [Vector::Input(0), Vector::Input(1)];
///     const INVARIANTS: [Invariant; 2] = [Invariant::Dot(0, 0), Invariant::Dot(0, 1)];
///     fn eval<S: Scalar>([xx, xy]: [S; 2]) -> [S; 2] {
///         [S::constant(-2.0) * xy / xx, S::one()]
///     }
/// }
///
/// let y = Row::vector(Reflect, [&Row::from([1.0, 0.0]), &Row::from([3.0, 4.0])], []);
/// assert_eq!(y[..], [-3.0, 4.0]);
/// ```
pub trait RowFormula<const V: usize, const B: usize, const I: usize, const O: usize>:
    Copy + Send + Sync + 'static
{
    /// The name shown in messages.
    const NAME: &'static str;
    /// Whether the result is a vector (a combination of the basis) or a number.
    const VECTOR: bool;
    /// The basis vectors.
    const BASIS: [Vector; B];
    /// The arguments of [`eval`](Self::eval).
    const INVARIANTS: [Invariant; I];
    /// The metric of the inner products.
    const METRIC: Metric = Metric::Euclidean;
    /// Where the resulting rows must lie; κ is parameter 0.
    const DOMAIN: Domain = Domain::Free;

    /// From invariants to coefficients, or to the one result.
    fn eval<S: Scalar>(invariants: [S; I]) -> [S; O];
}

type Block = [f64; LANES];

#[inline(always)]
fn load<T: Float>(row: &[T], start: usize) -> Block {
    if let Some(block) = row.get(start..start + LANES) {
        std::array::from_fn(|l| block[l].to_f64())
    } else {
        let mut block = [0.0; LANES];
        for (lane, x) in block.iter_mut().zip(&row[start..]) {
            *lane = x.to_f64();
        }
        block
    }
}

#[inline(always)]
fn store<T: Float>(row: &mut [T], start: usize, block: &Block) {
    let end = row.len().min(start + LANES);
    for (x, lane) in row[start..end].iter_mut().zip(block) {
        *x = T::nearest(*lane);
    }
}

#[inline(always)]
fn store_sum<T: Float>(row: &mut [T], start: usize, block: &Block) {
    let end = row.len().min(start + LANES);
    for (x, lane) in row[start..end].iter_mut().zip(block) {
        *x = T::nearest(x.to_f64() + lane);
    }
}

/// The basis vectors' coordinates `start..start + LANES`.
#[inline(always)]
fn basis<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &[&[T]; V],
    start: usize,
) -> [Block; B]
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let inputs: [Block; V] = std::array::from_fn(|i| load(rows[i], start));
    std::array::from_fn(|b| match F::BASIS[b] {
        Vector::Input(i) => inputs[i],
        Vector::Sum(i, j) => std::array::from_fn(|l| inputs[i][l] + inputs[j][l]),
        Vector::Difference(i, j) => std::array::from_fn(|l| inputs[i][l] - inputs[j][l]),
        Vector::Flip(i) => flip_time(inputs[i], start),
        Vector::Time => std::array::from_fn(|l| if start + l == 0 { 1.0 } else { 0.0 }),
    })
}

#[inline(always)]
fn flip_time(block: Block, start: usize) -> Block {
    scale_time(block, start, -1.0)
}

#[inline(always)]
fn scale_time(mut block: Block, start: usize, factor: f64) -> Block {
    if start == 0 {
        block[0] *= factor;
    }
    block
}

#[inline(always)]
fn lower(metric: Metric, block: Block, start: usize) -> Block {
    match metric {
        Metric::Euclidean => block,
        Metric::Minkowski => flip_time(block, start),
        Metric::Space => scale_time(block, start, 0.0),
    }
}

/// The formula's arguments for one row, and the squared norms behind its margins.
#[inline(always)]
fn invariants<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &[&[T]; V],
    params: &[f64],
) -> ([f64; I], [f64; I])
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let width = rows[0].len();
    let mut dots = [[0.0; LANES]; I];
    let mut squares = [Compensated::default(); I];
    for start in (0..width).step_by(LANES) {
        let basis = basis::<F, T, V, B, I, O>(rows, start);
        for k in 0..I {
            match F::INVARIANTS[k] {
                Invariant::Dot(a, b) => {
                    let right = lower(F::METRIC, basis[b], start);
                    for l in 0..LANES {
                        dots[k][l] += basis[a][l] * right[l];
                    }
                }
                Invariant::Margin(a) => squares[k].add_squares::<T>(&basis[a]),
                Invariant::Param(_) | Invariant::Epsilon => {}
            }
        }
    }
    let mut norms = [0.0; I];
    let values = std::array::from_fn(|k| match F::INVARIANTS[k] {
        Invariant::Dot(..) => sum(&dots[k]),
        Invariant::Margin(_) => {
            let (high, low) = squares[k].total();
            norms[k] = high;
            margin_of(high, low, params[0])
        }
        Invariant::Param(p) => params[p],
        Invariant::Epsilon => T::EPSILON,
    });
    (values, norms)
}

#[inline(always)]
fn sum(block: &Block) -> f64 {
    ((block[0] + block[4]) + (block[2] + block[6])) + ((block[1] + block[5]) + (block[3] + block[7]))
}

/// One row of a scalar formula.
#[inline(always)]
pub(crate) fn scalar_row<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: [&[T]; V],
    params: &[f64],
) -> f64
where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let (values, _) = invariants::<F, T, V, B, I, O>(&rows, params);
    F::eval(values)[0]
}

/// One row of a vector formula.
#[inline(always)]
pub(crate) fn vector_row<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: [&[T]; V],
    params: &[f64],
    out: &mut [T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let (values, _) = invariants::<F, T, V, B, I, O>(&rows, params);
    let coefficients = F::eval(values);
    for start in (0..out.len()).step_by(LANES) {
        let basis = basis::<F, T, V, B, I, O>(&rows, start);
        let mut block = [0.0; LANES];
        for b in 0..B {
            for l in 0..LANES {
                block[l] += coefficients[b] * basis[b][l];
            }
        }
        store(out, start, &block);
    }
    if F::DOMAIN != Domain::Free {
        F::DOMAIN.settle(out, params[0]);
    }
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

/// Parameters of one row: formulas have at most this many.
const PARAMS: usize = 4;

#[inline(always)]
fn params<T: Float>(operands: &[Operand<'_, T>], p: usize) -> [f64; PARAMS] {
    let mut values = [0.0; PARAMS];
    for (value, operand) in values.iter_mut().zip(operands) {
        *value = operand.param(p);
    }
    values
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
        let out_width = if F::VECTOR { width } else { 1 };
        let n = out.len() / out_width;
        let mut rest = out;
        let mut jobs: SmallVec<[_; PIECES]> = parallel::pieces(n, 1, 30 + width)
            .into_iter()
            .map(|range| (range.clone(), split_front(&mut rest, range.len() * out_width)))
            .collect();
        let (vectors, parameters) = operands.split_at(V);
        parallel::run(&mut jobs, |(range, out)| {
            dispatch(
                #[inline(always)]
                || {
                    for (p, out) in range.clone().zip(out.chunks_exact_mut(out_width)) {
                        let rows: [&[T]; V] = std::array::from_fn(|i| vectors[i].row(p, width));
                        let params = params(parameters, p);
                        if F::VECTOR {
                            vector_row::<F, T, V, B, I, O>(rows, &params, out);
                        } else {
                            out[0] = T::nearest(scalar_row::<F, T, V, B, I, O>(rows, &params));
                        }
                    }
                },
            );
        });
    }

    fn backward(&self, operands: &[Operand<'_, T>], width: usize, g: &[T], grads: &mut [Option<&mut [T]>]) {
        let g_width = if F::VECTOR { width } else { 1 };
        let n = g.len() / g_width;
        let reads: SmallVec<[(Broadcast, usize); 6]> =
            operands.iter().enumerate().map(|(i, o)| (o.rows, if i < V { width } else { 1 })).collect();
        for_each_piece(&reads, n, 80 + 3 * width, grads, |piece| {
            let (range, places) = (piece.range.clone(), &mut piece.places);
            dispatch(
                #[inline(always)]
                || {
                    for p in range {
                        let g = &g[p * g_width..(p + 1) * g_width];
                        backward_row::<F, T, V, B, I, O>(operands, places, width, p, n, g);
                    }
                },
            );
        });
    }
}

/// The reverse pass of row `p`.
#[inline(always)]
fn backward_row<F, T, const V: usize, const B: usize, const I: usize, const O: usize>(
    operands: &[Operand<'_, T>],
    places: &mut [Place<'_, T>],
    width: usize,
    p: usize,
    n: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
{
    let (vectors, parameters) = operands.split_at(V);
    let rows: [&[T]; V] = std::array::from_fn(|i| vectors[i].row(p, width));
    let params = params(parameters, p);
    let (values, norms) = invariants::<F, T, V, B, I, O>(&rows, &params);
    let outputs = F::eval(Dual::variables(values));

    // Cotangents of the outputs.
    let mut upstream = [0.0; O];
    if F::VECTOR {
        let mut dots = [[0.0; LANES]; O];
        for start in (0..width).step_by(LANES) {
            let basis = basis::<F, T, V, B, I, O>(&rows, start);
            let g = load(g, start);
            for b in 0..O {
                for l in 0..LANES {
                    dots[b][l] += basis[b][l] * g[l];
                }
            }
        }
        for b in 0..O {
            upstream[b] = sum(&dots[b]);
        }
    } else {
        upstream[0] = g[0].to_f64();
    }

    // Cotangents of the invariants, as a symmetric matrix over the basis and one number per parameter.
    let mut pairs = [[0.0; B]; B];
    let mut of_params = [0.0; PARAMS];
    for k in 0..I {
        let mut w = 0.0;
        for o in 0..O {
            w += upstream[o] * outputs[o].partials[k];
        }
        match F::INVARIANTS[k] {
            Invariant::Dot(a, b) => {
                pairs[a][b] += w;
                pairs[b][a] += w;
            }
            Invariant::Margin(a) => {
                pairs[a][a] += 2.0 * params[0] * w;
                of_params[0] += w * norms[k];
            }
            Invariant::Param(p) => of_params[p] += w,
            Invariant::Epsilon => {}
        }
    }

    for start in (0..width).step_by(LANES) {
        let basis = basis::<F, T, V, B, I, O>(&rows, start);
        let g = if F::VECTOR { load(g, start) } else { [0.0; LANES] };
        let cotangents: [Block; B] = std::array::from_fn(|b| {
            let mut block = [0.0; LANES];
            for a in 0..B {
                for l in 0..LANES {
                    block[l] += pairs[b][a] * basis[a][l];
                }
            }
            let mut block = lower(F::METRIC, block, start);
            if F::VECTOR {
                for l in 0..LANES {
                    block[l] += outputs[b].value * g[l];
                }
            }
            block
        });
        for i in 0..V {
            let Some(slice) = places[i].at(vectors[i].rows.at(p), width) else { continue };
            let block = to_input(F::BASIS, &cotangents, i, start);
            if vectors[i].rows.is_full(n) {
                store(slice, start, &block);
            } else {
                store_sum(slice, start, &block);
            }
        }
    }
    for (q, parameter) in parameters.iter().enumerate() {
        let Some([element]) = places[V + q].at(parameter.rows.at(p), 1) else { continue };
        let before = if parameter.rows.is_full(n) { 0.0 } else { element.to_f64() };
        *element = T::nearest(before + of_params[q]);
    }
}

/// The cotangent of input `i`, from those of the basis vectors it takes part in.
#[inline(always)]
fn to_input<const B: usize>(basis: [Vector; B], cotangents: &[Block; B], i: usize, start: usize) -> Block {
    let mut block = [0.0; LANES];
    for b in 0..B {
        let mut add = |sign: f64, part: Block| {
            for l in 0..LANES {
                block[l] += sign * part[l];
            }
        };
        match basis[b] {
            Vector::Input(j) => {
                if j == i {
                    add(1.0, cotangents[b]);
                }
            }
            Vector::Sum(j, k) => {
                if j == i {
                    add(1.0, cotangents[b]);
                }
                if k == i {
                    add(1.0, cotangents[b]);
                }
            }
            Vector::Difference(j, k) => {
                if j == i {
                    add(1.0, cotangents[b]);
                }
                if k == i {
                    add(-1.0, cotangents[b]);
                }
            }
            Vector::Flip(j) => {
                if j == i {
                    add(1.0, flip_time(cotangents[b], start));
                }
            }
            Vector::Time => {}
        }
    }
    block
}

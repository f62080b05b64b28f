//! The reverse pass: the formula on dual numbers, and what the inputs receive.

use super::survey::{Row, Rows, Survey, basis, rows_at};
use super::{GROUPS, groups};
use crate::kernels::operands::{Operand, PARAMS, Parameter};
use crate::kernels::pieces::Piece;
use crate::lanes::unrolled;
use crate::row_formula::{Invariant, Metric, RowFormula, Vector, has_invariant};
use crate::simd::{Block, LANES, add, dispatch_lanes, for_each_block, read, write};
use crate::{Dual, Float, Lanes, Scalar};

/// Bytes of rows so narrow that several groups are read before gradients are written; of wider ones, what was read is no
/// longer near by then.
const NARROW: usize = 256;

/// The reverse pass of a piece, `R` rows at a time.
#[inline(always)]
pub(super) fn backward_piece<
    F,
    T,
    S,
    const V: usize,
    const B: usize,
    const I: usize,
    const O: usize,
    const R: usize,
>(
    vectors: &[Operand<'_, T>],
    parameters: &[Parameter<'_>],
    piece: &mut Piece<'_, T>,
    width: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let vectors: &[Operand<'_, T>; V] = vectors.try_into().expect("as many vectors");
    let of_row = if F::VECTOR { width } else { 1 };
    let n = g.len() / of_row;
    let (places, of_parameters) = piece.places.split_at_mut(V);
    let mut gradients = [const { None }; V];
    for (i, place) in places.iter_mut().enumerate() {
        let full = vectors[i].rows.is_full(n);
        gradients[i] = place.slice().map(|(slice, first)| Gradient { slice, first, full });
    }
    let mut survey = Survey::<S, B, I, O, R>::new();
    let mut rows = [[[[].as_slice(); V]; R]; GROUPS];
    let mut read = [Rows::<Lanes<R>, I, O>::new(); GROUPS];
    let mut shares = [Shares::<Lanes<R>, V, B>::new(); GROUPS];
    let most = if width * size_of::<T>() <= NARROW { GROUPS } else { 1 };
    for start in piece.range.clone().step_by(most * R) {
        let groups = groups::<R>(start, piece.range.end, most);
        for (group, at) in groups.clone().enumerate() {
            rows_at::<T, V, R>(vectors, &at, width, &mut rows[group]);
            let g = &g[at.start * of_row..at.end * of_row];
            read[group].read_parameters(parameters, &at);
            survey.read::<F, T, V>(&rows[group][..at.len()], width, Some(g), &mut read[group]);
        }
        let count = groups.len();
        cotangents::<F, V, B, I, O, R>(&read[..count], &mut shares[..count]);
        for (group, at) in groups.enumerate() {
            let (rows, shares) = (&rows[group], &shares[group]);
            for (l, p) in at.clone().enumerate() {
                let mut starts = [0; V];
                for i in 0..V {
                    if let Some(gradient) = &gradients[i] {
                        let position = if gradient.full { p } else { vectors[i].rows.at(p) };
                        starts[i] = (position - gradient.first) * width;
                    }
                }
                let g = &g[p * of_row..][..of_row];
                distribute::<F, T, S, V, B, I, O, R>(&rows[l], &mut gradients, &starts, shares, l, g);
            }
            for (q, (parameter, place)) in parameters.iter().zip(&mut *of_parameters).enumerate() {
                let Some((slice, first)) = place.slice() else { continue };
                let full = parameter.rows.is_full(n);
                for (l, p) in at.clone().enumerate() {
                    let element = &mut slice[parameter.rows.at(p) - first];
                    let before = if full { 0.0 } else { element.to_f64() };
                    *element = T::nearest(before + shares.of_params[q].get(l));
                }
            }
        }
    }
}

/// Where the gradient of a vector operand goes: the rows from number `first` on. One that is read in full is written, any
/// other added to.
struct Gradient<'a, T> {
    slice: &'a mut [T],
    first: usize,
    full: bool,
}

/// How the inputs' cotangents are made of the basis vectors and the upstream cotangent, of one row or of
/// one in each lane; first for most coordinates, then for the end that the formula treats apart.
#[derive(Clone, Copy)]
pub(crate) struct Shares<S, const V: usize, const B: usize> {
    pub(crate) of_basis: [[[S; B]; V]; 2],
    pub(crate) of_upstream: [[S; V]; 2],
    /// What the first and the last coordinate receive besides.
    pub(crate) of_ends: [[S; V]; 2],
    /// The cotangents of the parameters.
    pub(crate) of_params: [S; PARAMS],
}

impl<S: Scalar, const V: usize, const B: usize> Shares<S, V, B> {
    #[inline(always)]
    fn new() -> Self {
        let zero = S::zero();
        Shares {
            of_basis: [[[zero; B]; V]; 2],
            of_upstream: [[zero; V]; 2],
            of_ends: [[zero; V]; 2],
            of_params: [zero; PARAMS],
        }
    }
}

/// The shares, of several groups of rows: as [`evaluate`](super::evaluate), in a function of its own.
#[inline(never)]
fn cotangents<F, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    read: &[Rows<Lanes<R>, I, O>],
    of_rows: &mut [Shares<Lanes<R>, V, B>],
) where
    F: RowFormula<V, B, I, O>,
{
    if R == 1 {
        for (read, of_rows) in read.iter().zip(of_rows) {
            *of_rows = shares::<F, Lanes<R>, V, B, I, O>(read);
        }
        return;
    }
    dispatch_lanes(
        of_rows,
        #[inline(always)]
        |of_rows| {
            for (read, of_rows) in read.iter().zip(of_rows) {
                *of_rows = shares::<F, Lanes<R>, V, B, I, O>(read);
            }
        },
        |_| unreachable!("several lanes only with AVX2"),
    )
}

/// The shares, in any scalar.
#[inline(always)]
pub(crate) fn shares<F, S, const V: usize, const B: usize, const I: usize, const O: usize>(
    rows: &Rows<S, I, O>,
) -> Shares<S, V, B>
where
    F: RowFormula<V, B, I, O>,
    S: Scalar,
{
    let zero = S::zero();
    let outputs = F::eval(Dual::variables(rows.values));
    // Cotangents of the invariants, as a symmetric matrix over the basis and one number per parameter.
    let mut pairs = [[zero; B]; B];
    let mut shares = Shares::new();
    let of_params = &mut shares.of_params;
    unrolled::<I>(
        #[inline(always)]
        |k| {
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
                    pairs[a][a] = pairs[a][a] + S::constant(2.0) * rows.params[0] * w;
                    of_params[0] = of_params[0] + w * rows.products[k][0];
                }
                Invariant::Along(a, b) => {
                    // ∂(⟨a, b⟩/‖b‖) = (⟨∂a, b⟩ + ⟨a, ∂b⟩)/‖b‖ − (⟨a, b⟩/‖b‖) ⟨b, ∂b⟩/‖b‖².
                    let norm = rows.products[k][0];
                    let positive = zero.lt(norm);
                    // The norm itself where it is 0 or NaN.
                    let per = S::select(positive, w / norm, norm);
                    let lost = S::select(positive, per * (rows.values[k] / norm), norm);
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
        },
    );
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
                let share = S::constant(f64::from(sign));
                let lowered = if apart == 1 && F::METRIC == Metric::Minkowski { -share } else { share };
                for a in 0..B {
                    if leaves(F::METRIC, apart) && paired(&F::INVARIANTS, a, b) {
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
    shares
}

/// The cotangents of the inputs of a row, in lane `l` of the shares. `g` is the row's upstream cotangent.
#[inline(always)]
fn distribute<F, T, S, const V: usize, const B: usize, const I: usize, const O: usize, const R: usize>(
    row: &Row<'_, T, V>,
    gradients: &mut [Option<Gradient<'_, T>>; V],
    starts: &[usize; V],
    shares: &Shares<Lanes<R>, V, B>,
    l: usize,
    g: &[T],
) where
    F: RowFormula<V, B, I, O>,
    T: Float,
    S: Block,
{
    let width = row[0].len();
    let receives = const { receivers::<F, V, B, I, O>() };
    let mut before = [[T::zero(); 2]; V];
    if const { apart::<F, V, B, I, O>() } {
        for i in 0..V {
            if let Some(Gradient { slice, full: false, .. }) = &gradients[i] {
                before[i] = [slice[starts[i]], slice[starts[i] + width - 1]];
            }
        }
    }
    for_each_block(
        width,
        row,
        Some(g).filter(|_| F::VECTOR),
        true,
        #[inline(always)]
        |c, inputs, g: S| {
            let (basis, left) = (basis::<F, S, V, B, I, O>(inputs, c, width), width - c);
            for i in 0..V {
                let Some(Gradient { slice, full, .. }) = &mut gradients[i] else { continue };
                let mut y = S::splat(0.0);
                for a in 0..B {
                    if receives[i][a] {
                        y = y + S::splat(shares.of_basis[0][i][a].get(l)) * basis[a];
                    }
                }
                if F::VECTOR {
                    y = y + S::splat(shares.of_upstream[0][i].get(l)) * g;
                }
                let at = starts[i] + c;
                if *full { write(slice, at, left, y) } else { add(slice, at, left, y) }
            }
        },
    );
    if !const { apart::<F, V, B, I, O>() } {
        return;
    }
    for (which, at) in [0, width - 1].into_iter().enumerate() {
        let c = at / LANES * LANES;
        let mut inputs = [S::splat(0.0); V];
        for i in 0..V {
            inputs[i] = read(row[i], c, width - c);
        }
        let basis = basis::<F, S, V, B, I, O>(inputs, c, width);
        let apart = usize::from(if F::METRIC == Metric::Horizontal { at == width - 1 } else { at == 0 });
        for i in 0..V {
            let Some(Gradient { slice, .. }) = &mut gradients[i] else { continue };
            let mut y = shares.of_ends[which][i].get(l);
            if width == 1 {
                y += shares.of_ends[1 - which][i].get(l);
            }
            for a in 0..B {
                if leaves(F::METRIC, apart) && receives[i][a] {
                    y += shares.of_basis[apart][i][a].get(l) * basis[a].lanes().get(at - c);
                }
            }
            if F::VECTOR {
                y += shares.of_upstream[apart][i].get(l) * g[at].to_f64();
            }
            slice[starts[i] + at] = T::nearest(before[i][which].to_f64() + y);
        }
    }
}

/// Which basis vectors each input's cotangent is made of.
const fn receivers<F, const V: usize, const B: usize, const I: usize, const O: usize>() -> [[bool; B]; V]
where
    F: RowFormula<V, B, I, O>,
{
    let mut receivers = [[false; B]; V];
    let mut i = 0;
    while i < V {
        let mut b = 0;
        while b < B {
            let mut a = 0;
            while a < B {
                receivers[i][a] |= share(F::BASIS[b], i) != 0 && paired(&F::INVARIANTS, a, b);
                a += 1;
            }
            b += 1;
        }
        i += 1;
    }
    receivers
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
    apart || has_invariant!(F, Invariant::First(_) | Invariant::Last(_))
}

/// Whether the metric leaves anything of the basis: where it does not, what is infinite there is not multiplied by 0.
const fn leaves(metric: Metric, apart: usize) -> bool {
    apart == 0 || matches!(metric, Metric::Euclidean | Metric::Minkowski)
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
